"""Claims of SVM1-ODT, OCT-H and MM-SVM-OCT: their trees by routing, their bounds; those of S-OCT.

SVM1-ODT and OCT-H are bounded by replayed assignments of rows to leaves.  Limits of OCT-H on leaves
leave trees out, so that a bound without them holds all the same.

S-OCT is bounded by chains: rows along lines whose classes change more often than leaves do.  Of
three rows of a chain the middle one lies so close to the segment between the others that no split
with the claimed gap parts it from both.  The rows of a chain that go left at a node are then its
first or its last ones, so a tree with ``I`` leaves gives the chain ``I`` runs of labels at most.
An error removes two changes of class at most, which leaves an error for every two changes beyond
``I - 1``.  Multipliers of chains add up to a bound by weak duality, checked row by row.
"""

import math
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np

from octcore.verification import value
from octcore.verification.assignment import AssignmentData, check_steps
from octcore.verification.base import Guard, NotProvenError, Proven, WrongError
from octcore.verification.claim import Array, Claim, Routed, found_again, scores
from octcore.verification.margot import STRIP_TOLERANCE
from octcore.verification.sheet import make_sheet
from octcore.verification.value import best_of, equal_rows, value_of

STRICT_DISTANCE, STRICT_ROWS, LEAST_DISTANCE, TIE_DISTANCE = 1e-4, 2_000, 1e-5, 1e-9
"""Of SVM1-ODT: distance of right-goers, rows from which on it shrinks, its least; without strict
mode, that of rows that lie on a plane."""
WEIGHT_BOX = 1e3  # largest weight of a plane of SVM1-ODT
SCORE_TOLERANCE = 2e-6  # how far a row may miss its side: a solver's tolerance, and rounding
LEAF_SHARE = 0.05  # rows of a leaf of OCT-H where none are asked for, as published
COUNTS = "counts of rows and classes"
BY_SOLVER = "the bound was proven by a solver of models, which is not replayed"


def right_distance(claim: Claim) -> float:
    """Distance that right-goers of SVM1-ODT keep from a plane in strict mode."""
    thinned = STRICT_DISTANCE * min(1.0, STRICT_ROWS / max(1, len(claim.y)))
    return max(LEAST_DISTANCE, thinned) * float(claim.params["big_m"])


def svm1_worth(claim: Claim, routed: Routed) -> float:
    """Errors, missing margins and norms of the claimed tree of SVM1-ODT."""
    missing, norm, epsilon = _svm1_prices(claim)
    distance = right_distance(claim) if claim.params["strict"] else 0.0
    total = float(claim.weights[routed.predicted != claim.y].sum())
    for node, rows in routed.rows.items():
        split = claim.tree.splits[node]
        if _is_subset(claim, split):
            continue
        at = scores(split, claim.X)
        right = at > split.threshold
        score = -split.solved_offset - (distance / 2 or TIE_DISTANCE) - at
        if np.abs(score).max() > float(claim.params["big_m"]) * (1 + SCORE_TOLERANCE) or (
            max((abs(weight) for _, weight in split.weights), default=0.0) > WEIGHT_BOX
        ):
            raise WrongError(f"scores or weights of node {node} are too large")
        if np.where(right, -score - distance, score)[rows].min(initial=0.0) < -SCORE_TOLERANCE:
            raise WrongError(f"a row is on the wrong side of the plane of node {node}")
        lacking = np.maximum(0.0, epsilon - np.where(right, -score, score)[rows])
        total += missing * float(claim.weights[rows] @ lacking)
        total += norm * sum(abs(weight) for _, weight in split.weights)
    return total


def _svm1_prices(claim: Claim) -> tuple[float, float, float]:
    """alpha1, alpha2 and epsilon."""
    params, epsilon = claim.params, float(claim.params["epsilon"])
    pairs = ("margin_price", "alpha1"), ("norm_price", "alpha2")
    asked = [(params.get(name), params[usual]) for name, usual in pairs]
    first, second = (float(usual if own is None else own / epsilon) for own, usual in asked)
    return first, second, epsilon


def _has_subsets(claim: Claim) -> Array:
    """Whether a raw feature may be split by sets of its values."""
    levels = np.bincount(claim.group, minlength=len(claim.raw_features)) > 1
    return levels & (claim.params["categorical"] == "subsets")


def _is_subset(claim: Claim, split: object) -> bool:
    """Whether a split sends some values of one raw feature left."""
    raws = {int(claim.group[j]) for j, _ in split.weights}  # type: ignore[attr-defined]
    weights = {weight for _, weight in split.weights}  # type: ignore[attr-defined]
    return len(raws) == 1 and bool(_has_subsets(claim)[list(raws)].all()) and weights == {-1.0}


def svm1_by_steps(claim: Claim, guard: Guard) -> Proven:
    """Bound of SVM1-ODT by replayed assignments; subsets of values are no planes."""
    if _has_subsets(claim).any():
        raise NotProvenError(BY_SOLVER)
    missing, norm, epsilon = _svm1_prices(claim)
    unit, clearance = epsilon, 0.0
    if claim.params["strict"] and missing * epsilon < 1:  # else a row on a plane is an error rather
        unit = epsilon if missing else right_distance(claim)
        clearance = right_distance(claim) / unit
    X = np.asarray(claim.X, float)
    big_m, size = float(claim.params["big_m"]), np.abs(X).sum(axis=1).min(initial=np.inf)
    prices = missing * unit, norm * unit
    box = (big_m + WEIGHT_BOX * float(size)) / unit, WEIGHT_BOX / unit
    of_rows = X, claim.y, claim.weights, claim.n_classes
    data = AssignmentData(*of_rows, claim.depth, *prices, box, clearance=clearance)
    assert claim.bound is not None
    slack = svm1_slack(claim, claim.bound) + _rounded_scores(claim)
    return check_steps(data, found_again(claim, guard, svm1_worth, slack), claim.bound, guard)


def svm1_by_counts(claim: Claim, guard: Guard) -> Proven:
    """Bound by conflicting rows and by classes that no leaf can name."""
    sizes = np.sort(np.bincount(claim.y, claim.weights, claim.n_classes))
    unnamed = float(sizes[: max(0, len(sizes) - 2**claim.depth)].sum())
    return Proven(max(value.conflict_errors(claim.X, claim.of_rows, guard), unnamed), COUNTS)


def _rounded_scores(claim: Claim) -> float:
    """By how much planes of one tree may differ: scores up to big-M at the price of margins."""
    missing, _, _ = _svm1_prices(claim)
    big_m = max(1.0, float(claim.params["big_m"]))
    return 2 * float(np.finfo(float).eps) * big_m * missing * claim.total


def svm1_rounding(claim: Claim, objective: float) -> float:
    """By how much a tree that is proven optimal may be worth more than what is proven."""
    return 5e-7 * max(1e-9, abs(objective)) + _rounded_scores(claim)


def svm1_slack(claim: Claim, objective: float) -> float:
    """By how much values may differ: as in a closed solve, and by rounding of the weights."""
    return max(5e-7 * abs(objective), value.TOLERANCE) + 1e-12 * claim.total


def oct_h_worth(claim: Claim, routed: Routed) -> float:
    """Errors and features of the claimed tree of OCT-H, whose splits leave strips empty."""
    value.refuse_thin_gaps(claim, value.node_gaps(claim, routed, lambda weights: weights >= 0))
    sizes = np.bincount(routed.leaf, minlength=max(claim.tree.labels) + 1)
    if sizes[list(claim.tree.labels)].min() < leaf_rows(claim):
        raise WrongError("a leaf holds too few rows")
    wrong = float(claim.weights[routed.predicted != claim.y].sum())
    used = sum(len(split.weights) for split in claim.tree.splits.values())
    return wrong / _majority_errors(claim) + float(claim.params["alpha"]) * used


def leaf_rows(claim: Claim) -> int:
    """Rows of a leaf at least."""
    asked = claim.limits.get("min_samples_leaf")
    return max(1, int(LEAF_SHARE * len(claim.y))) if asked is None else int(asked)


def _majority_errors(claim: Claim) -> float:
    """Weight that the majority rule gets wrong, 1 if there is none: the unit of the objective."""
    return value.weight_of_minorities(claim) or 1.0


def oct_h_by_counts(claim: Claim, guard: Guard) -> Proven:
    """Bound by conflicting rows, by classes that no leaf can name, and by the best stump.

    With k features there are k splits and k + 1 leaves at most, and with one it is a stump.
    """
    sizes = np.sort(np.bincount(claim.y, claim.weights, claim.n_classes))
    price = float(claim.params["alpha"]) * _majority_errors(claim)
    conflicts = value.conflict_errors(claim.X, claim.of_rows, guard)
    leaves = _most_leaves(claim)
    best = float(sizes[:-1].sum())
    for k in range(1, max(leaves - 1, 2) + 1 if leaves > 1 else 1):
        unnamed = float(sizes[: max(0, len(sizes) - min(k + 1, leaves))].sum())
        errors = max(conflicts, unnamed, _stump_errors(claim, guard) if k == 1 else 0.0)
        best = min(best, errors + price * k)
    return Proven(best / _majority_errors(claim), COUNTS)


def _most_leaves(claim: Claim) -> int:
    """Leaves of a tree of OCT-H, which are limited, and hold rows."""
    return max(1, min(claim.leaf_limit, len(claim.y) // max(1, leaf_rows(claim))))


def _stump_errors(claim: Claim, guard: Guard) -> float:
    """Errors of the best tree with one split on one column, whose leaves hold enough rows."""
    every = np.arange(claim.X.shape[1])
    sheet, _ = make_sheet(claim.X, claim.gains, every, claim.group, guard)
    split = sheet.best_splits(np.ones((1, len(sheet.number)), bool), leaf_rows(claim))
    return min(value.weight_of_minorities(claim), float(split[0]))


def oct_h_by_steps(claim: Claim, guard: Guard) -> Proven:
    """Bound of OCT-H by replayed assignments; limits on leaves only say how deep trees are."""
    unit = _majority_errors(claim)
    X, depth = claim.X[:, claim.columns], min(claim.depth, max(1, _most_leaves(claim) - 1))
    strip, feature = float(claim.params["epsilon"]), float(claim.params["alpha"]) * unit
    of_rows = np.asarray(X, float), claim.y, claim.weights, claim.n_classes
    data = AssignmentData(*of_rows, depth, strip=strip, feature=feature)
    assert claim.bound is not None
    found = check_steps(data, found_again(claim, guard, oct_h_worth), claim.bound * unit, guard)
    assert found.bound is not None
    return Proven(found.bound / unit, found.method)


def largest_norm_worth(claim: Claim, routed: Routed) -> float:
    """Largest half squared norm, slacks, flipped labels and planes of a tree of MM-SVM-OCT."""
    params, positive = claim.params, claim.positive_class
    signs = np.where(claim.y == positive, 1.0, -1.0)

    def cost(rows: Array, score: Array) -> float:
        paid = float(params["c1"]) * np.maximum(0.0, 1.0 - signs[rows] * score)
        if params["relabel"]:
            flipped = float(params["c1"]) * np.maximum(0.0, 1.0 + signs[rows] * score)
            paid = np.minimum(paid, float(params["c2"]) + flipped)
        return float(claim.weights[rows] @ paid)

    total = largest = 0.0
    for node, rows in routed.rows.items():
        split = claim.tree.splits[node]
        at = scores(split, claim.X[rows])
        score, right = at + split.solved_offset, at > split.threshold
        is_upper = node.bit_length() < claim.depth
        misses = np.where(right, -score, score + float(params["epsilon"]) * is_upper)
        if (misses > STRIP_TOLERANCE).any():
            raise WrongError(f"a row stands in the strip of node {node}")
        if split.weights and node > 1 and not claim.tree.splits[node // 2].weights:
            raise WrongError(f"node {node} has a plane below a node without one")
        largest = max(largest, sum(weight * weight for _, weight in split.weights) / 2)
        total += cost(rows, score) + float(params["c3"]) * bool(split.weights)
    for leaf, label in claim.tree.labels.items():
        levels = claim.depth - leaf.bit_length() + 1
        if levels == 0 and (leaf % 2 == 1) != (label == positive):
            raise WrongError(f"leaf {leaf} predicts the other side")
        rows = np.flatnonzero(routed.leaf == leaf)
        total += levels * cost(rows, np.full(len(rows), 1.0 if label == positive else -1.0))
    return total + largest


def largest_norm_by_counts(claim: Claim, guard: Guard) -> Proven:
    """Bound by equal rows of both classes: on every level margins of two, or a label flipped.

    Without a plane the rows of the smaller class do so on every level.
    """
    params = claim.params
    missed = 2.0 * float(params["c1"])
    if params["relabel"]:
        missed = min(missed, float(params["c2"]))
    paired = value.conflict_errors(claim.X, claim.of_rows, guard)
    without = claim.depth * missed * value.weight_of_minorities(claim)
    return Proven(min(without, claim.depth * missed * paired + float(params["c3"])), COUNTS)


def largest_norm_reach(claim: Claim, objective: float) -> float:
    """Least big-M of MM-SVM-OCT that forbids no tree of an objective, nor a better one.

    The norm of a plane is bounded by the objective, and some row has a score of -1 to 1, so that no
    score is farther from 0 than the norm times the distance of rows, and 1; a slack is 1 larger.
    """
    return 2.0 + math.sqrt(2.0 * objective) * float(np.linalg.norm(np.ptp(claim.X, axis=0)))


def by_solver(claim: Claim, guard: Guard) -> Proven:
    """Nothing: what a solver proved is not proven again."""
    raise NotProvenError(BY_SOLVER)


BY_LINES = "chains of rows along lines"
ACCEPTED = 1.2e-3
"""Relative: splits count whose gap misses epsilon by less, so middle rows must be closer still."""


def by_chains(claim: Claim, guard: Guard) -> Proven:
    """Bound that the chains of a run prove; not what a search proved beyond it."""
    if not claim.values.get("chains"):
        raise NotProvenError("no other check is there for trees that conflicting rows do not prove")
    errors = fewest_errors(claim, claim.values["chains"], guard)
    if errors is None:
        raise NotProvenError("rows that were said to lie along a line do not")
    return Proven(best_of(claim, value_of(claim), errors), BY_LINES)


def fewest_errors(claim: Claim, chains: Sequence[Mapping[str, Any]], guard: Guard) -> float | None:
    """Weight that every tree gets wrong, by some chains; None if one of them is none."""
    try:
        read = [_read_chain(claim, chain) for chain in chains]
    except (KeyError, TypeError, ValueError):
        return None
    reach = float(claim.params["epsilon"]) * (1 - ACCEPTED)
    group = equal_rows(claim.X, guard)
    worth = np.zeros((int(group.max()) + 1, claim.n_classes))
    np.add.at(worth, (group, claim.y), claim.weights)
    most = 0.0
    for rows, classes, multiplier in read:
        if not _is_chain(claim.X[rows], classes, reach, guard):
            return None
        most += multiplier * (len(rows) - max(0, (len(rows) - claim.leaf_limit + 1) // 2))
        np.subtract.at(worth, (group[rows], classes), multiplier)
    most += float(np.maximum(worth.max(axis=1), 0.0).sum())
    return claim.total - _rounded_down(most, claim.weights)


def _read_chain(claim: Claim, chain: Mapping[str, Any]) -> tuple[Array, Array, float]:
    """Rows, classes and multiplier of a chain; a ValueError where they cannot be."""
    rows, classes = (np.array(chain[name], dtype=int) for name in ("rows", "classes"))
    multiplier = float(chain["multiplier"])
    inside = ((rows >= 0) & (rows < len(claim.y))).all()
    inside = inside and ((classes >= 0) & (classes < claim.n_classes)).all()
    if rows.ndim != 1 or rows.shape != classes.shape or not inside:
        raise ValueError("rows or classes that do not exist")
    if not 0.0 <= multiplier < math.inf:
        raise ValueError("a multiplier is a finite number, and not negative")
    return rows, classes, multiplier


def _rounded_down(most: float, weights: Array) -> float:
    """Largest sum of weights that is not more."""
    whole = np.round(weights).astype(int)
    if np.abs(weights - whole).max(initial=0.0) > 1e-9:
        return most
    step = int(np.gcd.reduce(whole)) or 1
    return float(step * np.floor(most / step + 1e-6))  # multipliers are rounded


def _is_chain(X: Array, classes: Array, reach: float, guard: Guard) -> bool:
    """Whether neighbours differ in their class, and all middle rows are near their segments."""
    if (classes[1:] == classes[:-1]).any():
        return False
    for i, j in combinations(range(len(X)), 2):
        guard()
        if not all(_is_between(X[i], X[j], X[k], reach) for k in range(j + 1, len(X))):
            return False
    return True


def _is_between(first: Array, middle: Array, last: Array, reach: float) -> bool:
    """Whether a point of the segment is within reach of the middle row in every column."""
    low, high = 0.0, 1.0
    for start, at, end in zip(first.tolist(), middle.tolist(), last.tolist(), strict=True):
        if start == end:
            if abs(at - start) > reach:
                return False
            continue
        steps = sorted(((at - start - reach) / (end - start), (at - start + reach) / (end - start)))
        low, high = max(low, steps[0]), min(high, steps[1])
    return low <= high
