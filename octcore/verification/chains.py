"""Rows along lines, whose classes change more often than leaves do: the chains of S-OCT, checked.

Of three rows of a chain the middle one lies so close to the segment between the others that no
split with the claimed gap parts it from both.  The rows of a chain that go left at a node are then
its first or its last ones, so a tree with ``I`` leaves gives the chain ``I`` runs of labels at
most.  An error removes two changes of class at most, which leaves an error for every two changes
beyond ``I - 1``.  Multipliers of chains add up to a bound by weak duality, checked row by row.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np

from octcore.verification.base import Guard, NotProvenError, Proven
from octcore.verification.claim import Array, Claim
from octcore.verification.value import best_of, equal_rows, value_of

METHOD = "chains of rows along lines"
ACCEPTED = 1.2e-3
"""Relative: splits count whose gap misses epsilon by less, so middle rows must be closer still."""


def by_chains(claim: Claim, guard: Guard) -> Proven:
    """Bound that the chains of a run prove; not what a search proved beyond it."""
    if not claim.values.get("chains"):
        raise NotProvenError("no other check is there for trees that conflicting rows do not prove")
    errors = fewest_errors(claim, claim.values["chains"], guard)
    if errors is None:
        raise NotProvenError("rows that were said to lie along a line do not")
    return Proven(best_of(claim, value_of(claim), errors), METHOD)


def fewest_errors(claim: Claim, chains: Sequence[Mapping[str, Any]], guard: Guard) -> float | None:
    """Weight that every tree gets wrong, by some chains; None if one of them is none."""
    try:
        read = [_read(claim, chain) for chain in chains]
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
        errors = max(0, (len(rows) - claim.leaf_limit + 1) // 2)
        most += multiplier * (len(rows) - errors)
        np.subtract.at(worth, (group[rows], classes), multiplier)
    most += float(np.maximum(worth.max(axis=1), 0.0).sum())
    return claim.total - _rounded_down(most, claim.weights)


def _read(claim: Claim, chain: Mapping[str, Any]) -> tuple[Array, Array, float]:
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
    return float(step * np.floor(most / step + 1e-6))


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
