"""How far a threshold may move without any training row changing its side."""

from __future__ import annotations

import numpy as np

from octcore.encoding.base import Encoding
from octcore.tree.tree import Tree


def threshold_intervals(
    tree: Tree, X: np.ndarray, encoding: Encoding
) -> dict[int, tuple[float, float]]:
    """Largest value left and smallest value right at every branch node, in raw units.

    Any threshold from the first value up to, but without, the second one sends the same training
    rows left.  For a category the values are those of its indicator, 0 and 1; for ordered
    categories they are ranks.

    Returns
    -------
    dict of int to (float, float)
        Branch nodes that send rows both ways, ascending.
    """
    found: dict[int, tuple[float, float]] = {}
    for node, rows in tree.node_rows(X).items():
        if node not in tree.splits:
            continue
        split = tree.splits[node]
        right = split.goes_right(X[rows])
        if right.all() or not right.any():
            continue
        values = X[rows, split.features[0]]
        column = encoding.columns[split.features[0]]
        ends = (float(values[~right].max()), float(values[right].min()))
        found[node] = (
            column.shift + column.scale * ends[0],
            column.shift + column.scale * ends[1],
        )
    return dict(sorted(found.items()))
