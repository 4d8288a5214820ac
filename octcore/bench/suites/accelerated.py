"""Instances of the accelerated BendOCT experiment; reference: proven optimum, Gurobi's best time.

Studies: ``main``; ``value-rows`` (as published, and with our value rows); ``ablation`` (every
technique off in turn, and the plain model); ``variants`` (the forms of the equivalent-point
inequalities and of the path bound cuts); ``penalties`` (every encoded set at depth 3 and 4 with
every penalty that occurs in the published rows, the paper's 1620 instances among them);
``depth-5`` (every encoded set at leaf_penalty 0.01).
"""

import itertools
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from octcore.bench.data_files import encoded, encoded_file
from octcore.bench.suite import Instance, Published, Suite, encoded_sets, number, published

Settings = Mapping[str, Any]
Plans = Mapping[str, tuple[str, Settings]]
Case = tuple[str, str, int, float]  # data set, encoding, depth and penalty
ACCELERATED = "accelerated-bend-oct"
ABLATION: Plans = {
    "all techniques": (ACCELERATED, {}),
    "no polishing": (ACCELERATED, {"solution_polishing": False}),
    "no equivalent points": (ACCELERATED, {"eqp": "off"}),
    "no path bounds": (ACCELERATED, {"path_bound_cuts": False}),
    "no probing": (ACCELERATED, {"probing": False}),
    "with strengthened cuts": (ACCELERATED, {"strengthened_cuts": True}),
    "ours: value rows": (ACCELERATED, {"value_row": True}),
    "plain": ("bend-oct", {}),
}
VALUE_ROWS: Plans = {name: ABLATION[name] for name in ("all techniques", "ours: value rows")}
_EQUIVALENT: Plans = {
    f"{eqp}, {'separate' if apart else 'summed'}, {'choice' if group else 'bound'}, |S|<={size}": (
        ACCELERATED,
        {"eqp": eqp, "eqp_disaggregated": apart, "eqp_group_selection": group,
         "eqp_split_size": size},
    )
    for eqp in ("basic", "chain", "recursive")
    for apart in (False, True)
    for group in (False, True)
    for size in (1, 2)
}  # fmt: skip
VARIANTS: Plans = {
    **_EQUIVALENT,
    "path bounds: plain": (
        ACCELERATED,
        {"bound_negative_samples": "off", "bound_structure": "off"},
    ),
    "path bounds: negative rows": (ACCELERATED, {"bound_structure": "off"}),
    "path bounds: structure": (ACCELERATED, {"bound_negative_samples": "off"}),
}
STUDIES = {"ablation": ABLATION, "value-rows": VALUE_ROWS, "variants": VARIANTS}
PENALTIES, DEPTH_5 = "penalties", "depth-5"


def instances(folder: Path, study: str, formulations: tuple[str, ...]) -> list[Instance]:
    """Every published row by every formulation, or by every variant of a study."""
    if study in (PENALTIES, DEPTH_5):
        return _grid(folder, study, formulations)
    wanted: Plans = {key: (key, {}) for key in formulations}
    plans = STUDIES.get(study, wanted)
    return [
        replace(_instance(folder, _case(row), key, params, row), label=name * (study in STUDIES))
        for row in published("accelerated")
        for name, (key, params) in plans.items()
    ]


def _case(row: Mapping[str, str]) -> Case:
    return row["dataset"], row["encoding"], int(row["depth"]), float(row["lambda"])


def _instance(
    folder: Path, case: Case, key: str, params: Settings, row: Mapping[str, str] | None
) -> Instance:
    dataset, encoding, depth, penalty = case
    reference = Published()
    if row is not None:
        reference = Published(float(row["objective"]), 0.0, number(row["paper_best_time_s"]))
    settings = {"encoding": "none", "params": {"leaf_penalty": penalty, **params}}
    load = encoded(folder, dataset, encoding)
    return Instance(dataset, encoding, key, depth, load, settings, published=reference)


def _grid(folder: Path, study: str, formulations: tuple[str, ...]) -> list[Instance]:
    """Every encoded set with every depth and penalty; optima where they are published."""
    rows = list(published("accelerated"))
    known = {_case(row): row for row in rows}
    penalties = sorted({float(row["lambda"]) for row in rows}) if study == PENALTIES else [0.01]
    depths = (3, 4) if study == PENALTIES else (5,)
    every = itertools.product(encoded_sets(), depths, penalties, formulations)
    cases = (((*names, depth, penalty), key) for names, depth, penalty, key in every)
    return [_instance(folder, case, key, {}, known.get(case)) for case, key in cases]


SUITE = Suite(
    key="accelerated",
    title="Accelerated BendOCT: proven optima and the best time of Gurobi over all variants",
    formulations=("path-search", ACCELERATED),
    needs=tuple(encoded_file(*names) for names in encoded_sets()),
    instances=instances,
    studies=("main", *STUDIES, PENALTIES, DEPTH_5),
)
