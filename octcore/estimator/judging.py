"""What the scikit-learn classes refuse before a fit, and what they work out after it."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from sklearn.exceptions import ConvergenceWarning

from octcore.errors import SettingsError
from octcore.formulations.base import FormulationInfo, get_formulation, list_formulations
from octcore.program import Program, Sense
from octcore.solving.prepare import problem_of
from octcore.solving.run import Run, SolvedRun
from octcore.solving.settings import DEPTH
from octcore.tree.metrics import feature_usage
from octcore.tree.tree import Tree


def seed_of(random_state: Any) -> Any:
    """Seed that a random state of scikit-learn stands for."""
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31 - 1))
    return 0 if random_state is None else random_state


def raw_numbers(frame: pd.DataFrame) -> np.ndarray:
    """Raw columns as numbers, shape ``(n_samples, n_raw_features)``."""
    for name in frame.columns:
        if not pd.api.types.is_numeric_dtype(frame[name].dtype):
            raise SettingsError(
                "NOT_A_THRESHOLD",
                f"Column {name!r} holds text, which scikit-learn's trees do not take; convert the "
                "tree with encoded=True.",
            )
    return frame.to_numpy(dtype=np.float64)


def warn_unproven(run: Run) -> None:
    """Say that a fit found no proof, unless its formulation never gives one."""
    if run.is_optimal or run.certificate.method == "heuristic":
        return
    gap = "no bound" if run.gap is None else f"a gap of {run.gap:.2%}"
    warnings.warn(
        f"{run.formulation} stopped by {run.stop_reason} with {gap}: the tree is the best one "
        "found and not proven optimal; raise time_limit or simplify the problem.",
        ConvergenceWarning,
        stacklevel=3,
    )


def require_depth(max_depth: Any) -> None:
    """Refuse what is no depth, and a tree of any depth, which scikit-learn's own trees allow."""
    if max_depth is None:
        raise SettingsError(
            "NO_DEPTH",
            "max_depth=None is a tree of any depth, for which there is no proof; say how deep the "
            "tree may be, such as max_depth=3.",
            "max_depth",
        )
    replace(DEPTH, name="max_depth").check(max_depth)


def require_two_classes(info: FormulationInfo, n_classes: int) -> None:
    """Refuse more classes than two in scikit-learn's own words, which its tools look for."""
    if info.max_classes != 2 or n_classes <= 2:
        return
    able = [i.key for i in list_formulations() if i.max_classes is None]
    raise SettingsError(
        "TOO_MANY_CLASSES",
        "Only binary classification is supported. The type of the target is multiclass: "
        f"{info.key} separates 2 classes, y has {n_classes}; use {', '.join(able)}.",
        "formulation",
    )


def require_weights(info: FormulationInfo) -> None:
    """Refuse sample weights where the formulation has no use for them."""
    if "class_weight" in info.constraints:
        return
    able = [i.key for i in list_formulations() if "class_weight" in i.constraints]
    raise SettingsError(
        "WEIGHTS_NOT_EXPRESSIBLE",
        f"{info.key} does not take sample weights; {', '.join(able)} do.",
        "sample_weight",
    )


def _value(program: Program, tree: Tree) -> float:
    value = program.evaluate(tree)
    assert value is not None, "without side constraints every tree has an objective"
    return value


def feature_losses(run: SolvedRun) -> dict[str, float]:
    """Mean loss of the objective when a split is undone, by encoded-from raw column.

    To undo a split is to make its node a leaf with the class that most of its training rows have
    by weight.  Side constraints are left aside: without the split they may not hold any more.  A
    split's loss belongs to its columns by their shares of the absolute weights; the mean is over
    all splits of the tree.
    """
    weighing = {"class_weight": run.constraints.get("class_weight")}
    problem, tree = problem_of(run, constraints=weighing), run.tree
    program = get_formulation(run.formulation).build(problem)
    sign = 1.0 if program.sense is Sense.MAXIMISE else -1.0
    whole, node_rows = _value(program, tree), tree.node_rows(problem.X)
    names = run.encoding.raw_features
    found = dict.fromkeys(names, 0.0)
    for node, usage in feature_usage(tree, run.encoding.groups).items():
        rows = node_rows[node]
        shares = np.bincount(problem.y[rows], problem.weights[rows], problem.n_classes)
        undone = tree.collapse(node, int(shares.argmax()))
        loss, total = sign * (whole - _value(program, undone)), sum(usage.values())
        for raw, weight in usage.items():
            found[names[raw]] += loss / tree.n_splits * weight / total
    return found


def joined(given: Mapping[str, Any] | None, where: str, **others: Any) -> Mapping[str, Any] | None:
    """What a mapping and parameters of their own say together (``GIVEN_TWICE``)."""
    said = {name: value for name, value in others.items() if value is not None}
    for name in said:
        if name in (given or {}):
            message = f"{name} was given twice, by a parameter and in {where}; give one of them."
            raise SettingsError("GIVEN_TWICE", message, name)
    return {**(given or {}), **said} if said else given


def ways_of(
    asked: Mapping[str, int] | Sequence[int] | None, names: Sequence[str]
) -> dict[str, str] | None:
    """Directions of columns, in the words of the constraint ``monotone``.

    Raises `SettingsError` for another number of columns, or a way that is none of -1, 0 and 1.
    """
    if asked is None:
        return None
    if not isinstance(asked, Mapping):
        if len(asked) != len(names):
            message = f"monotonic_cst has {len(asked)} entries for {len(names)} columns."
            raise SettingsError("BAD_CONSTRAINT", message, "monotonic_cst")
        asked = dict(zip(names, asked, strict=True))
    ways = {1: "up", -1: "down", 0: ""}
    bad = next((way for way in asked.values() if way not in ways), None)
    if bad is not None:
        message = f"monotonic_cst has {bad!r}; give 1 (only up), -1 (only down) or 0."
        raise SettingsError("BAD_CONSTRAINT", message, "monotonic_cst")
    return {name: ways[way] for name, way in asked.items() if way} or None
