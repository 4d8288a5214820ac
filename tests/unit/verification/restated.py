"""Runs that claim something else, and are consistent in all that follows from it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from octcore.engines.events import Trace, relative_gap
from octcore.solving.run import COST_FIELDS, Run
from octcore.tree import metrics
from octcore.tree.tree import Tree


def restated(run: Run, *, tree: Tree, objective: float, bound: float, **changes: Any) -> Run:
    """The run with another tree, every number about it right, and the bound that is given."""
    assert run.train is not None
    X = run.encoding.transform(run.train.frame)
    return replace(
        run,
        tree=tree,
        objective=objective,
        bound=bound,
        gap=relative_gap(objective, bound),
        accuracy=metrics.accuracy(tree, X, run.train.codes),
        balanced_accuracy=metrics.balanced_accuracy(tree, X, run.train.codes),
        **dict.fromkeys(COST_FIELDS),
        extras={},
        trace=Trace(),
        certificate=replace(run.certificate, statements=()),
        **changes,
    )


def only_bound(run: Run, bound: float | None, status: str = "no_solution") -> Run:
    """The run without a tree, which claims a bound, or that there is no tree."""
    proven = status == "infeasible"
    return replace(
        run,
        status=status,
        stop_reason="infeasible" if proven else "time_limit",
        objective=None,
        bound=bound,
        gap=None,
        tree=None,
        accuracy=None,
        balanced_accuracy=None,
        **dict.fromkeys(COST_FIELDS),
        extras={name: run.extras[name] for name in ("chains",) if name in run.extras},
        trace=Trace(),
        certificate=replace(run.certificate, proven=proven, statements=()),
    )
