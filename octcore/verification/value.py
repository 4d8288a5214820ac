"""What errors and leaves are worth in the words of a formulation."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from octcore.verification.base import Guard, Proven, WrongError
from octcore.verification.claim import Array, Claim, Routed, scores

METHOD = "conflicting rows"
TOLERANCE, ROUNDING = 1.001e-9, 5e-13
"""Shares of the total weight: what searches take for equal, and rounding of sums."""
OF_A_SOLVER = 1e-6  # by what share of the total weight a solver of models may miss the optimum
ROUNDING_OF_SCORES = 1e-9  # where margins are 1, and rounding is some 1e-16 of the weights
GAP_TOLERANCE = 1e-3  # relative, of empty strips: a solver's tolerance


@dataclass(frozen=True)
class Value:
    """Objective as a linear function: constant + per_error x errors + per_leaf x leaves.

    Errors are what the answers cost, without costs the weight that is misclassified.
    """

    constant: float
    per_error: float
    per_leaf: float  # `constant`, `per_error`, `per_leaf`: errors are weights of misclassified rows

    def of(self, errors: Any, leaves: Any) -> Any:
        """Objective of a number of errors and leaves, or of arrays of them."""
        return self.constant + self.per_error * errors + self.per_leaf * leaves

    @property
    def price(self) -> float:
        """Price of a leaf in weight of misclassified rows."""
        return self.per_leaf / self.per_error

    @property
    def is_maximised(self) -> bool:
        """Whether more is better."""
        return self.per_error < 0


def value_of(claim: Claim) -> Value:
    """Read the objective of a formulation that counts errors and leaves."""
    params, total = claim.params, claim.total
    if claim.formulation == "bin-oct":
        return Value(0.0, 1.0, 0.0)
    if claim.formulation in {"oct", "s-oct"}:
        alpha = float(params.get("alpha") or 0.0)
        if claim.formulation == "oct":
            of_majority = weight_of_minorities(claim)
            total = of_majority if of_majority > 0 else 1.0
        elif alpha == 0:  # objective A of S-OCT
            return Value(total, -1.0, 0.0)
        return Value(-alpha, 1.0 / total, alpha)
    weight = params.get("split_weight")  # else accuracy - leaf_penalty x leaves, or its twin
    if weight is None:
        return Value(1.0, -1.0 / total, -float(params["leaf_penalty"]))
    return Value((1 - weight) * total + weight, -(1.0 - weight), -float(weight))


def value_of_gains(claim: Claim) -> Value:
    """`value_of` as a function of the gains that a tree misses."""
    value = value_of(claim)
    return replace(value, constant=value.constant - value.per_error * claim.surplus)


def slack(claim: Claim, objective: float) -> float:
    """Tolerance of the searches: a share of the total weight, in the objective."""
    return TOLERANCE * claim.span * abs(value_of(claim).per_error) + rounding(claim, objective)


def rounding(claim: Claim, objective: float) -> float:
    """By how much sums of the weights may differ, and differences of such sums that cancel."""
    value = value_of(claim)
    of_sums = claim.span * abs(value.per_error) + abs(objective)
    of_leaves = abs(value.constant) + abs(value.per_leaf) * 2.0**claim.depth
    return ROUNDING * of_sums + np.finfo(float).eps * of_leaves


def worth(claim: Claim, routed: Routed) -> float:
    """Objective of the claimed tree, from what its answers cost and its leaves."""
    errors = float((claim.weights * claim.costs[claim.y, routed.predicted]).sum())
    return float(value_of(claim).of(errors, len(claim.tree.labels)))


def worth_by_columns(claim: Claim, routed: Routed) -> float:
    """`worth` of a tree whose splits test one column each."""
    for node, split in claim.tree.splits.items():
        one_column = len(split.weights) == 1 and split.weights[0][1] == 1.0
        if split.offset is not None or split.unit_margin or not one_column:
            raise WrongError(f"the split of node {node} is none of one column")
    return worth(claim, routed)


def worth_with_gaps(claim: Claim, routed: Routed) -> float:
    """`worth` of a tree of S-OCT, whose splits leave strips of width epsilon empty."""
    refuse_thin_gaps(claim, node_gaps(claim, routed))
    for node, rows in routed.rows.items():
        split = claim.tree.splits[node]
        at = scores(split, claim.X[rows])
        apart = (at + split.solved_offset) * np.where(at > split.threshold, 1.0, -1.0)
        if apart.min(initial=0.0) < -ROUNDING_OF_SCORES:
            raise WrongError(f"the plane of node {node} as solved parts other rows")
    return worth(claim, routed)


def refuse_thin_gaps(claim: Claim, gaps: Mapping[int, float]) -> None:
    """Refuse a tree with a strip narrower than epsilon, by a `WrongError`."""
    for node, gap in gaps.items():
        if gap < float(claim.params["epsilon"]) * (1 - GAP_TOLERANCE):
            raise WrongError(f"the gap of node {node} is below epsilon")


def node_gaps(
    claim: Claim, routed: Routed, counted: Callable[[Array], Array] = lambda weights: weights > 0
) -> dict[int, float]:
    """Width of the empty strip around every split, for weights of 1-norm 1.

    `counted`: which rows keep off a strip, by their weights.
    """
    gaps = {}
    for node, rows in routed.rows.items():
        split = claim.tree.splits[node]
        at = scores(split, claim.X[rows[counted(claim.weights[rows])]])
        right = at > split.threshold
        norm = sum(abs(weight) for _, weight in split.weights)
        if right.any() and not right.all():
            gaps[node] = float((at[right].min() - at[~right].max()) / norm)
    return gaps


def by_conflicts(claim: Claim, guard: Guard) -> Proven:
    """Bound by identical rows of several classes, which err in every tree.

    A single leaf errs on all but its class; a tree with a split has two leaves at least.
    """
    value = value_of(claim)
    return Proven(best_of(claim, value, conflict_errors(claim.X, claim.of_rows, guard)), METHOD)


def weight_of_minorities(claim: Claim) -> float:
    """What a single leaf costs, where it gives its best answer."""
    return float(claim.of_rows.sum(axis=0).min())


def best_of(claim: Claim, value: Value, errors: float) -> float:
    """Bound on trees of which those with a split have so many errors at least."""
    both = float(value.of(weight_of_minorities(claim), 1)), float(value.of(errors, 2))
    return max(both) if value.is_maximised else min(both)


def equal_rows(X: Array, guard: Callable[[], None]) -> Array:
    """Number of every row, the same for equal rows; column by column, or 64 columns of 0 and 1."""
    if ((X == 0) | (X == 1)).all():
        packed = np.packbits(X.astype(bool), axis=1)
        padded = np.zeros((len(X), -(-packed.shape[1] // 8) * 8), np.uint8)
        padded[:, : packed.shape[1]] = packed
        X = padded.view(np.uint64)
    group = np.zeros(len(X), np.int64)
    for column in X.T:
        guard()
        values, number = np.unique(column, return_inverse=True)
        if group.any():  # else the first column that tells rows apart has numbered them
            _, number = np.unique(group * len(values) + number, return_inverse=True)
        group = number
        if group.max(initial=-1) + 1 == len(X):
            break  # every row is alone, whatever comes
    return group


def conflict_errors(X: Array, of_rows: Array, guard: Callable[[], None]) -> float:
    """What the answers of every tree cost, because identical rows get the same.

    `of_rows`: cost of every answer to every row, shape ``(n_samples, n_answers)``.
    """
    group = equal_rows(X, guard)
    found = np.zeros((group.max() + 1, of_rows.shape[1]))
    np.add.at(found, group, of_rows)
    return float(found.min(axis=1).sum())
