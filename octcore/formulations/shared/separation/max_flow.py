"""Benders cuts of flow-based trees by one walk over the nodes, at integer and fractional points.

A pattern with its class is a unit of flow from the root to the leaves that predict that class.  An
arc to a child carries at most the branching mass that sends the pattern there, and a leaf accepts
at most its label.  On a tree the minimum cut is a recursion from the terminal nodes upwards::

    cut(m) = label[m, k] + min(capacity left, cut(2m)) + min(capacity right, cut(2m + 1))

and reading off which side of every minimum was smaller gives ``hit <= capacity of that cut``.  On
ties the arc is cut, which keeps the row short and gives the paper's cut at integer points.

References
----------
Aghaei, Gomez, Vayanos, "Strong optimal classification trees"; Keegan et al., "Acceleration
techniques": the cuts are (9) and (10) there, the strengthened form at terminal nodes is (12).
"""

from dataclasses import dataclass

import numpy as np

from octcore.formulations.shared.separation.tree_rows import (
    Instance,
    RowBuilder,
    TreeLayout,
    TreePoint,
)
from octcore.program import Cuts

TIE = 1e-9  # capacities closer than this are equal
LIFE = 3  # Benders rows go after three linear programs without effect (measured: much faster)


@dataclass(frozen=True, eq=False)
class Flow:
    """Minimum cuts of all hits at one point."""

    value: np.ndarray  # largest feasible value of every hit, shape ``(n_hits,)``
    cuts_left: np.ndarray
    cuts_right: np.ndarray
    """`cuts_left`, `cuts_right`: whether the arc to the child is in the cut, shape ``(n_branch + 1,
    n_hits)``; only meaningful for nodes above the cut."""


def capacities(point: TreePoint, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Branching mass that sends every pattern left, and right, shape ``(n_branch, n_patterns)``.

    `values`: features of the patterns as floats, shape ``(n_patterns, n_features)``.
    """
    right = point.branch @ values.T
    return np.maximum(point.mass[:, None] - right, 0.0), np.maximum(right, 0.0)


def minimum_cuts(point: TreePoint, instance: Instance) -> Flow:
    """Solve all maximum flow problems of a point at once."""
    layout = point.layout
    left, right = capacities(point, instance.values)
    left, right = left[:, instance.pattern], right[:, instance.pattern]
    n_hits = len(instance.pattern)
    value = np.zeros((layout.n_nodes + 1, n_hits))
    cuts_left = np.zeros((layout.n_branch + 1, n_hits), bool)
    cuts_right = np.zeros((layout.n_branch + 1, n_hits), bool)
    for m in range(layout.n_nodes, 0, -1):
        value[m] = point.label[m - 1][instance.target]
        if m <= layout.n_branch:
            cuts_left[m] = left[m - 1] <= value[2 * m] + TIE
            cuts_right[m] = right[m - 1] <= value[2 * m + 1] + TIE
            value[m] += np.minimum(left[m - 1], value[2 * m])
            value[m] += np.minimum(right[m - 1], value[2 * m + 1])
    return Flow(np.minimum(1.0, value[1]), cuts_left, cuts_right)


class BendersCuts:
    """Finds violated Benders cuts.

    `strengthened`: whether cuts that end in a terminal node take the form with halved coefficients;
    the labels must be binary then, and only integral points get them.
    """

    kind = "benders"

    MOST = 300  # most cuts of one call

    def __init__(self, layout: TreeLayout, instance: Instance, strengthened: bool = False) -> None:
        self.layout, self.instance, self.strengthened = layout, instance, strengthened
        self._mostly_zero = 2 * instance.is_one.sum(axis=1) < layout.n_features

    def separate(self, point: TreePoint, tolerance: float, is_integral: bool = False) -> list[Cuts]:
        """Return cuts that the point violates by more than a tolerance, the heaviest first."""
        flow = minimum_cuts(point, self.instance)
        excess = point.hit - flow.value
        chosen = np.flatnonzero(excess > tolerance)
        if len(chosen) > self.MOST:
            weighted = (excess * np.maximum(self.instance.weight, 1e-3))[chosen]
            chosen = chosen[np.argsort(-weighted, kind="stable")[: self.MOST]]
        if not len(chosen):
            return []
        halved = np.zeros(len(chosen), np.int64)
        if self.strengthened and is_integral:
            halved = self._halved_nodes(point, chosen)
        return self._rows(flow, chosen, halved)

    def _halved_nodes(self, point: TreePoint, chosen: np.ndarray) -> np.ndarray:
        """Parent of the terminal node of every hit whose sibling leaf has another class, else 0."""
        node = np.ones(len(chosen), np.int64)
        tested = point.branch.argmax(axis=1)
        branches = point.mass > 0.5
        for _ in range(self.layout.depth):
            inside = node <= self.layout.n_branch
            at = np.where(inside, node, 1) - 1
            moves = inside & branches[at]
            node = np.where(moves, 2 * node + self.instance.is_one[chosen, tested[at]], node)
        terminal = node > self.layout.n_branch
        own = point.label[np.where(terminal, node ^ 1, 1) - 1, self.instance.target[chosen]]
        return np.where(terminal & (own < 0.5), node // 2, 0)

    def _rows(self, flow: Flow, chosen: np.ndarray, halved: np.ndarray) -> list[Cuts]:
        layout, target = self.layout, self.instance.target[chosen]
        builder = RowBuilder(layout, [0.0] * len(chosen))
        own = np.arange(len(chosen))
        builder.add(own, layout.hit(chosen), 1.0)
        above = np.zeros((layout.n_nodes + 1, len(chosen)), bool)
        above[1:2] = True
        for m in range(1, layout.n_nodes + 1):
            here = own[above[m]]
            if not len(here):
                continue
            builder.add(here, layout.label(m, target[here]), -1.0)
            if m > layout.n_branch:
                continue
            left = above[m] & flow.cuts_left[m][chosen]
            right = above[m] & flow.cuts_right[m][chosen]
            above[2 * m], above[2 * m + 1] = above[m] & ~left, above[m] & ~right
            builder.add(own[left & right], layout.mass(m), -1.0)
            for arcs, goes_right in ((left & ~right, False), (right & ~left, True)):
                half = arcs & (halved == m)
                self._add_arcs(builder, m, own[arcs & ~half], chosen, goes_right, 1.0)
                self._add_arcs(builder, m, own[half], chosen, goes_right, 0.5)
                builder.add(own[half], layout.label(2 * m + int(goes_right), target[half]), -0.5)
        builder.pictures = [self._picture(flow, above, int(h), r) for r, h in enumerate(chosen[:2])]
        return builder.finish("strengthened" if halved.any() else self.kind, LIFE)

    def _add_arcs(
        self,
        builder: RowBuilder,
        node: int,
        rows: np.ndarray,
        chosen: np.ndarray,
        goes_right: bool,
        share: float,
    ) -> None:
        """Add minus the capacity of one arc, through the mass where that has fewer terms."""
        if not len(rows):
            return
        layout = self.layout
        sparse = self._mostly_zero[chosen[rows]] == goes_right
        direct, through = rows[sparse], rows[~sparse]
        if len(direct):
            i, f = np.nonzero(self.instance.is_one[chosen[direct]] == goes_right)
            builder.add(direct[i], layout.branch(node, f), -share)
        if len(through):
            builder.add(through, layout.mass(node), -share)
            i, f = np.nonzero(self.instance.is_one[chosen[through]] != goes_right)
            builder.add(through[i], layout.branch(node, f), share)

    def _picture(self, flow: Flow, above: np.ndarray, hit: int, row: int) -> dict[str, object]:
        """Plain data of one cut: the nodes above it and the arcs in it."""
        nodes = [int(m) for m in np.flatnonzero(above[:, row])]
        inner = [m for m in nodes if m <= self.layout.n_branch]
        arcs = [(m, 2 * m) for m in inner if flow.cuts_left[m, hit]]
        arcs += [(m, 2 * m + 1) for m in inner if flow.cuts_right[m, hit]]
        return {
            "row": int(self.instance.sample[self.instance.pattern[hit]]),
            "class": int(self.instance.target[hit]),
            "nodes": nodes,
            "cut_arcs": arcs,
        }
