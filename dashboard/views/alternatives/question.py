"""What is asked about near-optimal trees: the search that a run implies, and conditions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from dashboard.views.what_if.questions import ALL_THRESHOLDS, base_settings
from octcore.data.dataset import Dataset
from octcore.formulations.shared.constraint_kinds import BY_SUBTREE
from octcore.selection.near_optimal import FORMULATION, run_of_tree
from octcore.solving.prepare import prepare
from octcore.solving.run import Run
from octcore.solving.settings import Asked, check_settings
from octcore.tree.tree import Tree

MOST_DEPTH = 5


@dataclass(frozen=True)
class Conditions:
    """Which of the near-optimal trees are looked at; keywords of `alternatives`."""

    tolerance: float
    with_features: tuple[str, ...] = ()
    without_features: tuple[str, ...] = ()
    max_leaves: int | None = None
    attribute: str | None = None
    gain: bool = False


def search_settings(run: Run, data: Dataset, tolerance: float) -> dict[str, Any]:
    """Keywords of `octcore.near_optimal` for the problem of a run.

    `run`: the solved tree.
    `data`: the rows it is about, with or without those held out.
    `tolerance`: what is asked.
    """
    settings = base_settings(run, data)
    asked = Asked.of(settings)
    return {
        **settings,
        "params": {"leaf_penalty": _penalty(asked.params, run.n_train)},
        "depth": min(asked.depth, MOST_DEPTH),
        "constraints": {
            name: value for name, value in run.constraints.items() if name in BY_SUBTREE
        },
        "tolerance": tolerance,
    }


def _penalty(params: Mapping[str, Any], n_rows: int) -> float:
    """Price of a leaf in accuracy; the paper's weight of splits is converted."""
    weight = params.get("split_weight")
    if weight:
        return float(weight) / (n_rows * (1 - float(weight)))
    return float(params.get("leaf_penalty", 0.01))


def columns_words(encoding: str) -> str:
    """What the trees of a search may ask about."""
    return "all thresholds" if encoding == ALL_THRESHOLDS else f"{encoding} features"


def left_out(run: Run) -> tuple[str, ...]:
    """Constraints of the run under which trees cannot be counted."""
    return tuple(sorted(set(run.constraints) - BY_SUBTREE))


def task_settings(search: Mapping[str, Any], conditions: Conditions) -> dict[str, Any]:
    """Keywords of the task `alternatives`."""
    return {"search": dict(search), "conditions": asdict(conditions)}


def chosen_run(
    data: Dataset, search: Mapping[str, Any], tree: Tree, optimum: float, seconds: float
) -> Run:
    """The run of a chosen tree, on the same rows and columns as the search."""
    names = (
        "encoding", "depth", "params", "constraints", "time_limit", "test_size", "seed", "costs",
        "refer",
    )  # fmt: skip
    given = {name: search[name] for name in names if name in search}
    settings = check_settings(formulation=FORMULATION, **given)
    return run_of_tree(prepare(data, settings), tree, optimum, seconds)
