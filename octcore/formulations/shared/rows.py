"""Merging identical rows, and small helpers that keep big models quick to build."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from pyomo.core.expr.numeric_expr import LinearExpression

from octcore.data.distinct import distinct_rows


@dataclass(frozen=True, eq=False)
class MergedRows:
    """Distinct rows with multiplicities."""

    X: np.ndarray
    """Shape ``(n_groups, n_features)``."""
    y: np.ndarray
    """Class of every group, shape ``(n_groups,)``."""
    weights: np.ndarray
    """Sum of the weights, shape ``(n_groups,)``."""
    counts: np.ndarray
    """Number of original rows, shape ``(n_groups,)``."""
    group_of: np.ndarray
    """Group of every original row, shape ``(n_samples,)``."""

    def __len__(self) -> int:
        """Number of groups."""
        return len(self.y)

    @cached_property
    def signs(self) -> np.ndarray:
        """-1 and +1 for the two classes 0 and 1, shape ``(n_groups,)``."""
        return np.where(self.y > 0, 1.0, -1.0)


def merge_rows(
    X: np.ndarray, y: np.ndarray, weights: np.ndarray, counts: np.ndarray | None = None
) -> MergedRows:
    """Merge rows that agree in all columns and in the class; each counts one by default."""
    first, group_of = distinct_rows(X, y)
    return MergedRows(
        X[first],
        y[first],
        np.bincount(group_of, weights, len(first)),
        np.bincount(group_of, counts, len(first)).astype(np.int64),
        group_of,
    )


def linear(coefficients: Sequence[float], variables: Sequence[Any]) -> LinearExpression:
    """Make ``sum_j c_j x_j`` without operator overloading: half the time of ``quicksum``."""
    return LinearExpression(
        constant=0.0, linear_coefs=list(coefficients), linear_vars=list(variables)
    )


def score_terms(
    model: Any, x: np.ndarray, t: int, sign: float = 1.0
) -> tuple[list[float], list[Any]]:
    """Coefficients and variables of the score ``w_t.x + b_t`` of a row, times a sign."""
    used = np.flatnonzero(x).tolist()
    values = [sign * float(x[j]) for j in used]
    return [*values, sign], [*(model.w[t, j] for j in used), model.b[t]]
