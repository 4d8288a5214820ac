"""The rows of a branch node along what it tests, with its threshold: a small picture per node."""

import math
from dataclasses import dataclass, replace

import numpy as np

from octcore.data.dataset import Dataset
from octcore.encoding.base import Encoding
from octcore.tree.conditions import Numbers
from octcore.tree.margins import node_margins
from octcore.tree.raw_units import left_condition
from octcore.tree.tree import Tree

BINS = 14


@dataclass(frozen=True)
class NodeHistogram:
    """Rows of one branch node by class along a raw column, or along ``w.x`` of a hyperplane."""

    counts: tuple[tuple[int, ...], ...]
    """``counts[bin][class]``, ascending."""
    cuts: tuple[float, ...]
    """Where the split parts them, as a share of the width, 0 to 1."""
    ends: tuple[float, float]
    """Values at both ends of the width."""
    band: tuple[float, float] | None = None
    """Margin lines of a hyperplane, or how far a threshold may move, as shares; an end outside the
    picture is 0 or 1."""

    def with_span(self, span: tuple[float, float]) -> "NodeHistogram":
        """The same with a band between two values."""
        low, high = (_share(value, self.ends) for value in span)
        return replace(self, band=(low, high))


def node_histograms(tree: Tree, encoding: Encoding, data: Dataset) -> dict[int, NodeHistogram]:
    """Count the rows of every branch node that cuts numbers; questions about levels have none."""
    X = encoding.transform(data.frame)
    reached = tree.node_rows(X)
    margins = node_margins(tree, X, data.codes)
    found = {}
    for node, split in tree.splits.items():
        rows = reached[node]
        condition = left_condition(split, encoding)
        band = None
        if condition is None or split.unit_margin:
            values, cuts = split.project(X[rows]), [split.threshold]
            margin = margins.get(node)
            band = (margin.low, margin.high) if margin and margin.kind == "unit" else None
        elif isinstance(condition, Numbers) and condition.raw in data.frame.columns:
            if condition.levels:
                continue
            values = data.frame[condition.raw].to_numpy(dtype=float)[rows]
            cuts = [end[0] for pair in condition.intervals for end in pair]
        else:
            continue
        histogram = _count(values, data.codes[rows], tree.n_classes, cuts, band)
        if histogram is not None:
            found[node] = histogram
    return found


def _count(
    values: np.ndarray,
    codes: np.ndarray,
    n_classes: int,
    cuts: list[float],
    band: tuple[float, float] | None,
) -> NodeHistogram | None:
    cuts = [cut for cut in cuts if math.isfinite(cut)]
    values, codes = values[np.isfinite(values)], codes[np.isfinite(values)]
    if not len(values) or not cuts:
        return None
    low, high = min(values.min(), *cuts), max(values.max(), *cuts)
    if not high > low:
        return None
    ends = (float(low), float(high))
    position = (BINS * (values - low) / (high - low)).astype(int).clip(0, BINS - 1)
    table = np.zeros((BINS, n_classes), dtype=np.int64)
    np.add.at(table, (position, codes), 1)
    counts = tuple(tuple(int(v) for v in row) for row in table)
    found = NodeHistogram(counts, tuple(_share(cut, ends) for cut in cuts), ends)
    return found if band is None else found.with_span(band)


def _share(value: float, ends: tuple[float, float]) -> float:
    low, high = ends
    return round(min(1.0, max(0.0, (value - low) / (high - low))), 4)
