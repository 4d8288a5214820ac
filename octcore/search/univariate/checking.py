"""``OCTCORE_CHECK=1``: bounds of the running search against plain enumeration, by samples.

Nothing here is fast or clever on purpose, and nothing is shared with the kernels: errors are
counted with numpy on the rows that arrive, feature by feature.  Without the variable no check
exists and the search pays nothing.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import numpy as np

from octcore.search.univariate.bit_rows import Rows

if TYPE_CHECKING:
    from octcore.search.univariate.literal_node import LiteralNode, SearchState

VARIABLE = "OCTCORE_CHECK"
_PAIRS = 2
"""Table entries looked at whenever a literal was worked on."""
_SHARE = 0.25
"""Share of the literals worked on that are looked at themselves."""
_IMPOSSIBLE = 1e17
"""Costs from here on mean that there is no tree; weights stay far below."""
_MOST_WORK = 5e5
"""Largest size of one enumeration: paths times cells of their tables, and 1000 per path."""


def bound_check() -> BoundCheck | None:
    """Return the check that the environment asks for; None usually."""
    return BoundCheck() if os.environ.get(VARIABLE) == "1" else None


class BoundCheck:
    """Asserts, for sampled entries, that bounds are bounds and exact values exact."""

    def __init__(self) -> None:
        self._random = np.random.default_rng(0)

    def look(self, node: LiteralNode, literal: int) -> None:
        """Look at a literal of a node that has just been worked on.

        Raises
        ------
        AssertionError
            If a bound is larger than the exact cost, or a known cost is not exact.
        """
        state = node.state
        if node.depth == 4:
            for other in self._partners(node.n_features, literal):
                rows = _both(state.rows, node.subset, literal, other)
                exact = self._costs(state, rows, 2)
                known = bool(node.known[literal, other])
                self._compare(node.table[literal, other], exact, known, state.slack)
        if self._random.random() < _SHARE:
            exact = self._costs(state, node.literal_rows(literal), node.depth - 1)
            exact = exact[: node.child_length]
            self._compare(node.lower[literal], exact, False, state.slack)
            self._compare(exact, node.upper[literal], False, state.slack)

    def _partners(self, n_features: int, literal: int) -> list[int]:
        """Some literals of other features."""
        chosen = self._random.integers(0, 2 * n_features, _PAIRS).tolist()
        return [other for other in chosen if other >> 1 != literal >> 1]

    def _compare(self, bounds: np.ndarray, exact: np.ndarray, is_known: bool, slack: float) -> None:
        """Assert ``bounds <= exact``, with equality for what counts as known; NaN says nothing."""
        bounds, exact = np.minimum(bounds, _IMPOSSIBLE), np.minimum(exact, _IMPOSSIBLE)
        assert not (bounds > exact + 2 * slack).any(), f"a bound of {bounds} on costs of {exact}"
        is_wrong = is_known and (exact > bounds + 2 * slack).any()
        assert not is_wrong, f"{exact} is known as {bounds}"

    def _costs(self, state: SearchState, subset: np.ndarray, depth: int) -> np.ndarray:
        """Least costs in the form of the search; NaN if that is too much work."""
        errors = self._errors(state.rows, subset, depth)
        if state.by_leaves:
            return errors
        return (errors + state.penalty * np.arange(1, len(errors) + 1)).min(keepdims=True)

    def _errors(self, rows: Rows, subset: np.ndarray, depth: int) -> np.ndarray:
        """Least errors with at most 1, 2, ... leaves; NaN if that is too much work."""
        n_features = len(rows.columns)
        work = float(2 * n_features) ** (depth - 1) * (1000 + n_features * len(subset))
        if work > _MOST_WORK:
            return np.full(2**depth, np.nan)
        return fewest_errors(rows, subset, depth)


def fewest_errors(rows: Rows, subset: np.ndarray, depth: int) -> np.ndarray:
    """Least weight misclassified with at most 1, 2, ... leaves, by plain enumeration.

    Parameters
    ----------
    rows : Rows
    subset : ndarray of int64
        Kernel rows.
    depth : int
        1 or more.

    Returns
    -------
    ndarray of shape (2**depth,)
        Infinite where no tree keeps the leaf size.
    """
    columns = rows.columns[:, subset] > 0
    block = rows.block[subset]
    share = np.zeros((len(subset), int(rows.block_channel.max(initial=0)) + 1))
    share[np.arange(len(subset)), rows.block_channel[block]] = rows.block_scale[block]
    right = columns @ share
    whole = share.sum(axis=0)
    found = np.full(2**depth, np.inf)
    found[0] = _leaf_errors(rows, whole[None])[0]
    if depth == 1:
        sides = _leaf_errors(rows, right) + _leaf_errors(rows, whole - right)
        found[1] = sides.min(initial=np.inf)
        return np.minimum.accumulate(found)
    for column in columns:
        if column.all() or not column.any():
            continue
        sides = [fewest_errors(rows, subset[on], depth - 1) for on in (~column, column)]
        for i, errors in enumerate(sides[0]):
            part = found[i + 1 : i + 1 + len(sides[1])]
            np.minimum(part, errors + sides[1], out=part)
    return np.minimum.accumulate(found)


def _leaf_errors(rows: Rows, counts: np.ndarray) -> np.ndarray:
    """Errors of leaves with the given weights, shape (n_leaves, n_channels); infinite if small."""
    n_classes, smallest = (int(v) for v in rows.shape)
    own = counts[:, :n_classes]
    held = counts[:, n_classes] if counts.shape[1] > n_classes else own.sum(axis=1)
    errors = own.sum(axis=1) - own.max(axis=1)
    return np.where(held < max(1, smallest), np.inf, errors)


def _both(rows: Rows, subset: np.ndarray, a: int, b: int) -> np.ndarray:
    """Rows of a subset that satisfy two literals."""
    keep = (rows.columns[a >> 1, subset] == (a & 1)) & (rows.columns[b >> 1, subset] == (b & 1))
    return subset[keep]
