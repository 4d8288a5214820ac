"""What can be asked of a solved tree: settings of the run to compare with, and of the new one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dashboard.jobs import RunView
from octcore.data.dataset import Dataset
from octcore.formulations.base import get_formulation, list_formulations
from octcore.run import Run

ABLE = ("path-search", "path-columns", "accelerated-bend-oct", "flow-oct", "bend-oct")
"""Formulations of one objective, accuracy minus a price per leaf, in the order of preference."""
TIME_LIMIT = 60.0
FALLBACK_ENCODING = "QT-5"


def rows_of(view: RunView) -> Dataset | None:
    """Rows to solve again: all of them while the server has them, else the training rows."""
    if view.data is not None:
        return view.data
    return None if view.run is None else view.run.train


def base_settings(run: Run, data: Dataset) -> dict[str, Any]:
    """Settings that the run and its variants share.

    Parameters
    ----------
    run : Run
        The solved tree.
    data : Dataset
        From `rows_of`; without the held-out rows nothing is held out again.
    """
    settings = run.settings
    binary = all(column.is_binary for column in run.encoding.columns)
    params = dict(settings.get("params", {}))
    kept = {name: params[name] for name in ("leaf_penalty", "split_weight") if params.get(name)}
    if "leaf_penalty" in params and "leaf_penalty" not in kept:
        kept["leaf_penalty"] = params["leaf_penalty"] or 0.0
    if "split_weight" in kept:
        kept.pop("leaf_penalty", None)
    has_all = data.n_samples == run.n_train + run.n_test
    return {
        "encoding": settings["encoding"] if binary else FALLBACK_ENCODING,
        "depth": min(int(settings["depth"]), 5),
        "params": kept,
        "time_limit": TIME_LIMIT,
        "test_size": float(settings.get("test_size", 0.0)) if has_all else 0.0,
        "seed": int(settings.get("seed", 0)),
    }


def is_comparable(run: Run) -> bool:
    """Whether the run itself is a proven optimum of the common objective."""
    binary = all(column.is_binary for column in run.encoding.columns)
    return run.formulation in ABLE and binary and run.is_optimal and run.certificate.proven


def reference_settings(run: Run, data: Dataset) -> dict[str, Any]:
    """The exact search that values every root feature and is compared with.

    Constraints of the run that the search cannot express are left out.
    """
    settings = base_settings(run, data)
    settings["params"] = {**settings["params"], "exact_root_values": True}
    able = get_formulation("path-search").info.constraints
    given = dict(run.settings.get("constraints", {}))
    return settings | {
        "formulation": "path-search",
        "constraints": {name: value for name, value in given.items() if name in able},
    }


def candidates(constraints: Mapping[str, Any], depth: int) -> tuple[str, ...]:
    """Formulations that can express all constraints at this depth, best first."""
    infos = {info.key: info for info in list_formulations()}
    return tuple(
        key
        for key in ABLE
        if key in infos
        and set(constraints) <= infos[key].constraints
        and depth <= infos[key].max_depth
    )


def variant_settings(
    run: Run, data: Dataset, asked: Mapping[str, Any], formulation: str
) -> dict[str, Any]:
    """Settings of the tree under the asked conditions, besides those that the run had."""
    return base_settings(run, data) | {
        "formulation": formulation,
        "constraints": together(run, asked),
    }


def together(run: Run, asked: Mapping[str, Any]) -> dict[str, Any]:
    """The run's own constraints and the asked ones; lists of forbidden features are joined."""
    given = dict(run.settings.get("constraints", {}))
    joined = {**given, **asked}
    if "forbidden_features" in given and "forbidden_features" in asked:
        names = [*given["forbidden_features"], *asked["forbidden_features"]]
        joined["forbidden_features"] = list(dict.fromkeys(names))
    return joined
