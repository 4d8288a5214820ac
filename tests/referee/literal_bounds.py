"""``OCTCORE_CHECK=1``: bounds of the search on 0/1 columns against plain enumeration, by samples.

Without the variable nothing is looked at.
"""

from __future__ import annotations

import os

import numpy as np

from octcore.search.univariate.literal_node import LiteralNode
from octcore.search.univariate.pairs import Rows
from tests.referee.univariate import error_table

VARIABLE = "OCTCORE_CHECK"
_PAIRS = 2
"""Table entries looked at whenever a literal was worked on."""
_SHARE = 0.25
"""Share of the literals worked on that are looked at themselves."""
_IMPOSSIBLE = 1e17
"""Costs from here on mean that there is no tree; weights stay far below."""
_MOST_WORK = 5e5
"""Largest size of one enumeration: paths times cells of their tables, and 1000 per path."""
_random = np.random.default_rng(0)


def look(node: LiteralNode, literal: int) -> None:
    """Look at a literal of a node that has just been worked on.

    Raises
    ------
    AssertionError
        If a bound is larger than the exact cost, or a known cost is not exact.
    """
    if os.environ.get(VARIABLE) != "1":
        return
    rows = node.literal_rows(literal)
    if node.depth == 4:
        for other in _random.integers(0, 2 * node.n_features, _PAIRS).tolist():
            if other >> 1 != literal >> 1:
                both = rows[node.state.rows.columns[other >> 1, rows] == (other & 1)]
                known = bool(node.known[literal, other])
                compare(
                    node.table[literal, other], _costs(node, both, 2), known, node.state.terms.slack
                )
    if _random.random() < _SHARE:
        exact = _costs(node, rows, node.depth - 1)[: node.child_length]
        compare(node.lower[literal], exact, False, node.state.terms.slack)
        compare(exact, node.upper[literal], False, node.state.terms.slack)


def compare(bounds: np.ndarray, exact: np.ndarray, is_known: bool, slack: float) -> None:
    """Assert ``bounds <= exact``, with equality for what counts as known; NaN says nothing."""
    bounds, exact = np.minimum(bounds, _IMPOSSIBLE), np.minimum(exact, _IMPOSSIBLE)
    assert not (bounds > exact + 2 * slack).any(), f"a bound of {bounds} on costs of {exact}"
    is_wrong = is_known and (exact > bounds + 2 * slack).any()
    assert not is_wrong, f"{exact} is known as {bounds}"


def _costs(node: LiteralNode, subset: np.ndarray, depth: int) -> np.ndarray:
    """Least costs in the form of the search; NaN if that is too much work."""
    state, n = node.state, node.n_features
    if float(2 * n) ** (depth - 1) * (1000 + n * len(subset)) > _MOST_WORK:
        return np.full(2**depth if state.terms.step else 1, np.nan)
    errors = fewest_errors(state.rows, subset, depth)
    if state.terms.step:
        return errors
    return (errors + state.terms.penalty * np.arange(1, len(errors) + 1)).min(keepdims=True)


def fewest_errors(rows: Rows, subset: np.ndarray, depth: int) -> np.ndarray:
    """Least weight misclassified with at most 1, 2, ... leaves; infinite where no tree is allowed.

    Parameters
    ----------
    rows : Rows
    subset : numpy.ndarray
        Kernel rows.
    depth : int
        Most splits on a path.
    """
    if not len(subset):
        return np.full(2**depth, np.inf)
    n_classes, smallest = rows.shape.tolist()
    block = rows.block[subset]
    channel, scale = rows.block_channel[block], rows.block_scale[block]
    is_count = channel == n_classes  # where a channel of its own counts the rows
    counts = np.where(is_count, scale, 0) if rows.block_channel.max() == n_classes else scale
    return error_table(
        rows.columns[:, subset].T, np.where(is_count, 0, channel), depth,
        np.where(is_count, 0, scale), smallest, counts=counts,
    ).by_leaves[1:]  # fmt: skip


LiteralNode.check = look
