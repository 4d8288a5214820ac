"""Good trees before the search: greedy from the top, with a look at the best shallow trees below.

What the kernels solve at once, two or three levels, is solved exactly, above the leaves and at
every node on the way there: of the columns that promise most at its root some are tried as a split.
A search that ends before its proof, on many rows or at large depths, rarely has a better tree.

References
----------
Babbar, McTavish, Rudin and Seltzer, "Near-optimal decision trees in a SPLIT second", ICML 2025:
there the top is exact and greedy what lies below.
"""

from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any

from octcore.search.univariate.tree import Branch, PathTree, count_leaves

WIDTHS = (3, 2, 1)
"""Splits that are tried at the top, one level below, and from there on: six ways down."""


Look = tuple[float, Callable[[], PathTree | None], Iterable[tuple[int, Any, Any]]]
"""Cost of the best shallow tree on some rows, the tree (None when stopped), and how the rows may be
split for deeper ones, the most promising first: number, rows left, rows right."""


def deeper_trees(
    look: Callable[[Any, int, int], Look], rows: Any, depth: int, leaves: int, level: int = 0
) -> Iterator[tuple[float, PathTree | None]]:
    """Yield cost and tree, each cheaper than the one before; at least one.

    `look`: gets rows, depth and most leaves.
    """
    best, tree, splits = look(rows, depth, leaves)
    is_better = False
    for number, left, right in islice(splits, WIDTHS[min(level, len(WIDTHS) - 1)]):
        *_, (cost, one) = deeper_trees(look, left, depth - 1, leaves - 1, level + 1)
        if one is None or cost >= best:
            continue
        rest = leaves - count_leaves(one)
        *_, (more, other) = deeper_trees(look, right, depth - 1, rest, level + 1)
        if other is not None and cost + more < best:
            best, is_better = cost + more, True
            yield best, Branch(number, one, other)
    if not is_better:
        yield best, tree()
