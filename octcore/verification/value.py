"""What errors and leaves are worth in the words of a formulation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from octcore.verification.claim import Array, Claim, Routed

ACCURACY = frozenset(
    {
        "path-search", "threshold-search", "path-columns", "flow-oct", "bend-oct",
        "accelerated-bend-oct", "oct-binary",
    }
)  # fmt: skip
"""Formulations of accuracy - leaf_penalty x leaves, or of its twin with split_weight."""
UNIVARIATE = ACCURACY | {"oct", "bin-oct"}
COUNTING = UNIVARIATE | {"s-oct"}
"""Formulations whose objective is a function of errors and leaves alone."""


@dataclass(frozen=True)
class Value:
    """Objective as a linear function: constant + per_error x errors + per_leaf x leaves."""

    constant: float
    per_error: float
    per_leaf: float
    """`constant`, `per_error`, `per_leaf`: errors are weights of misclassified rows."""

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

    def excess(self, better: float, worse: float) -> float:
        """By how much one value is better than another; negative if it is worse."""
        return better - worse if self.is_maximised else worse - better


def value_of(claim: Claim) -> Value:
    """Read the objective of a formulation that counts errors and leaves."""
    params, total = claim.params, claim.total
    if claim.formulation in ACCURACY:
        weight = params.get("split_weight")
        if weight is None:
            return Value(1.0, -1.0 / total, -float(params["leaf_penalty"]))
        return Value((1 - weight) * total + weight, -(1.0 - weight), -float(weight))
    if claim.formulation == "bin-oct":
        return Value(0.0, 1.0, 0.0)
    alpha = float(params.get("alpha") or 0.0)
    if claim.formulation == "oct":
        shares = np.bincount(claim.y, claim.weights, claim.n_classes)
        of_majority = float(shares.sum() - shares.max())
        return Value(-alpha, 1.0 / (of_majority if of_majority > 0 else 1.0), alpha)
    if alpha == 0:  # S-OCT, objective A
        return Value(total, -1.0, 0.0)
    return Value(-alpha, 1.0 / total, alpha)


def errors_of(claim: Claim, routed: Routed) -> float:
    """Weight that the claimed tree misclassifies."""
    return float(claim.weights[routed.predicted != claim.y].sum())


def equal_rows(X: Array) -> Array:
    """Number of every row, the same for equal rows; column by column, or 64 columns of 0 and 1."""
    if ((X == 0) | (X == 1)).all():
        packed = np.packbits(X.astype(bool), axis=1)
        padded = np.zeros((len(X), -(-packed.shape[1] // 8) * 8), np.uint8)
        padded[:, : packed.shape[1]] = packed
        X = padded.view(np.uint64)
    group = np.zeros(len(X), np.int64)
    for column in X.T:
        values, number = np.unique(column, return_inverse=True)
        _, group = np.unique(group * len(values) + number, return_inverse=True)
    return group


def conflict_errors(X: Array, y: Array, weights: Array, n_classes: int) -> float:
    """Weight that every tree misclassifies, because identical rows differ in their class."""
    group = equal_rows(X)
    by_class = np.zeros((group.max() + 1, n_classes))
    np.add.at(by_class, (group, y), weights)
    return float(by_class.sum() - by_class.max(axis=1).sum())
