"""The claim of a run of the MARGOT family: its tree by routing and plane by plane, its bound.

A stored tree has no branch nodes that all rows pass, which the perfect tree of the model has.  Such
a node has the plane without weights that is best for its rows; as the level that it stood on is
not stored, every level is tried.
"""

from __future__ import annotations

import numpy as np

from octcore.verification.again import found_again
from octcore.verification.base import Guard, Proven, WrongError
from octcore.verification.claim import Claim, Routed, scores
from octcore.verification.margot import MargotData, check_states
from octcore.verification.value import METHOD, conflict_errors

STRIP_TOLERANCE = 2e-7
"""How far a row may stand inside the strip of an upper plane: a solver's tolerance."""


def worth(claim: Claim, routed: Routed) -> float:
    """Objective of the claimed tree, plane by plane."""
    if not all(split.unit_margin for split in claim.tree.splits.values()):
        raise WrongError("a split lacks the margins of its formulation")
    found = _worth(claim, routed, 1, 0, np.arange(len(claim.y)))
    if not np.isfinite(found):
        raise WrongError(
            "a row stands in the strip of an upper plane, a label is on the wrong side, or a plane "
            "uses too many features"
        )
    return float(found)


def by_conflicts(claim: Claim, guard: Guard) -> Proven:
    """Bound by equal rows of both classes, whose slacks sum to two at least on every level."""
    paired = conflict_errors(claim.X, claim.of_rows, guard)
    of_levels = sum(2.0 * _penalty(claim, level) * paired for level in range(claim.depth))
    return Proven(of_levels, METHOD)


def by_states(claim: Claim, guard: Guard) -> Proven:
    """Bound by states that cover all trees, with the multipliers that close each of them."""
    params = claim.params
    budgets = None
    if "budget_upper" in params:
        budgets = int(params["budget_upper"]), int(params["budget_last"])
    data = MargotData(
        np.asarray(claim.X, float),
        _signs(claim),
        claim.weights,
        claim.depth,
        float(params["C_upper"]),
        float(params["C_last"]),
        float(params["epsilon"]),
        budgets,
        float(params["alpha"]) if "alpha" in params else None,
    )
    assert claim.bound is not None
    return check_states(data, found_again(claim, guard, worth), claim.bound, guard)


def _signs(claim: Claim) -> np.ndarray:
    return np.where(claim.y == claim.positive_class, 1.0, -1.0)


def _worth(claim: Claim, routed: Routed, node: int, level: int, rows: np.ndarray) -> float:
    """Least cost of what is below a node of the tree, if it stands on a level of the perfect one.

    Infinite if it cannot stand there.
    """
    is_leaf = node in claim.tree.labels
    if level == claim.depth:
        return 0.0 if is_leaf else np.inf
    label = claim.tree.labels[node] if is_leaf else None
    passed = _without_weights(claim, level, rows, label)
    passed += _worth(claim, routed, node, level + 1, rows)
    if is_leaf or not _labels_fit(claim, node, level):
        return passed
    cost = _plane_cost(claim, routed, node, level)
    for child in (2 * node, 2 * node + 1):
        is_split = child in routed.rows
        below = routed.rows[child] if is_split else np.flatnonzero(routed.leaf == child)
        cost += _worth(claim, routed, child, level + 1, below)
    return min(passed, cost)


def _labels_fit(claim: Claim, node: int, level: int) -> bool:
    """Below a plane of the last level the second class is on the right, the first on the left."""
    if level < claim.depth - 1:
        return True
    labels = [claim.tree.labels.get(child) for child in (2 * node, 2 * node + 1)]
    return labels == [1 - claim.positive_class, claim.positive_class]


def _penalty(claim: Claim, level: int) -> float:
    return float(claim.params["C_last" if level == claim.depth - 1 else "C_upper"])


def _without_weights(claim: Claim, level: int, rows: np.ndarray, label: int | None) -> float:
    """Slack of rows that a plane without weights sends to one side, on the last level the label's.

    Its offset is -1 or 1, where only rows of the other class pay.
    """
    signs, weights = _signs(claim)[rows], claim.weights[rows]
    wrong = [2.0 * float(weights[signs != sign].sum()) for sign in (-1.0, 1.0)]
    if level == claim.depth - 1 and label is not None:
        cost = min(wrong[int(label == claim.positive_class)], float(weights.sum()))
    else:
        cost = min(wrong)
    return _penalty(claim, level) * cost


def _plane_cost(claim: Claim, routed: Routed, node: int, level: int) -> float:
    """Half the squared norm of a plane as solved, and the slack of the rows that pass."""
    split, rows = claim.tree.splits[node], routed.rows[node]
    at = scores(split, claim.X[rows])
    score, right = at + split.solved_offset, at > split.threshold
    misses = np.where(right, -score, score + float(claim.params["epsilon"]))
    if level < claim.depth - 1 and (misses > STRIP_TOLERANCE).any():
        return np.inf
    square = sum(weight * weight for _, weight in split.weights)
    slack = np.maximum(0.0, 1.0 - _signs(claim)[rows] * score)
    price = _features_beyond(claim, len(split.weights), level)
    return price + 0.5 * square + _penalty(claim, level) * float(claim.weights[rows] @ slack)


def _features_beyond(claim: Claim, used: int, level: int) -> float:
    """Price of the features of a plane beyond the budget of its level."""
    budget = claim.params.get("budget_last" if level == claim.depth - 1 else "budget_upper")
    if budget is None or used <= int(budget):
        return 0.0
    return float(claim.params.get("alpha", np.inf)) * (used - int(budget))
