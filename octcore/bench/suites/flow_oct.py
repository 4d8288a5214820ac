"""Table 2 of the FlowOCT paper: test accuracy; reference: the paper's, in `reference_accuracy`.

Protocol: 50 % training, 25 % validation, 25 % test, five times; the weight of splits is chosen on
the validation rows, the winner trained again on training and validation rows.  The paper's splits
are not published, so its figures are comparable in level only.  Exact search solves the problem of
FlowOCT, so the figure of FlowOCT stands beside it.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from octcore.bench.data_files import encoded, encoded_file
from octcore.bench.suite import Instance, Published, Suite, published
from octcore.formulations.base import get_formulation
from octcore.selection.protocols import get_protocol

SETS = (
    "monk3", "monk1", "monk2", "house-votes-84", "balance-scale", "tic-tac-toe",
    "car_evaluation", "kr-vs-kp",
)  # fmt: skip
SAME = {"path-search": "flow-oct"}
"""Whose figure stands beside a formulation that the paper does not have."""
DEPTHS = (2, 3, 4, 5)
WEIGHTS = tuple(round(0.1 * i, 1) for i in range(10))


def instances(folder: Path, study: str, formulations: tuple[str, ...]) -> list[Instance]:
    """Every set, depth and repetition."""
    found = []
    figures = {
        (row["dataset"], int(row["depth"]), row["formulation"]): float(row["test_acc_pct"]) / 100
        for row in published("flow-oct")
    }
    depths = DEPTHS if study == "main" else (int(study.removeprefix("depth-")),)
    for dataset in SETS:
        load = encoded(folder, dataset, "none")
        data = load()
        splits = get_protocol("repeated").make(data.codes, 0)
        found += [
            Instance(dataset, "none", key, depth, load, {"encoding": "none"}, f"repeat={repeat}",
                     Published(accuracy=figures.get((dataset, depth, SAME.get(key, key)))),
                     (train, validation, split.test), grid(key, len(train)))
            for depth in depths
            for repeat, split in enumerate(splits)
            for train, validation in split.inner
            for key in formulations
        ]  # fmt: skip
    return found


def grid(formulation: str, n_rows: int) -> tuple[Mapping[str, Any], ...]:
    """The paper's ten weights, as the setting that a formulation has for them.

    (1 - w) correct - w splits is accuracy - a leaves with a = w / (n (1 - w)).
    """
    names = {parameter.name for parameter in get_formulation(formulation).info.hyperparameters}
    if "split_weight" in names:
        return tuple({"split_weight": weight} for weight in WEIGHTS)
    if "leaf_penalty" in names:
        return tuple({"leaf_penalty": w / (n_rows * (1 - w))} for w in WEIGHTS)
    return ({},)


SUITE = Suite(
    key="flow-oct",
    title="FlowOCT, table 2: test accuracy after choosing the weight of splits",
    formulations=("flow-oct", "bend-oct", "oct-binary", "bin-oct", "path-search"),
    needs=tuple(encoded_file(dataset, "none") for dataset in SETS),
    instances=instances,
    studies=("main", "depth-2", "depth-3", "depth-4", "depth-5"),
)
