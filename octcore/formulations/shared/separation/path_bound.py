"""What the rows of a path can gain at most below its end: path bounds, value rows, probing.

A path fixes the splits from the root to a node u.  ``relax`` is 0 iff a tree takes that path and
has depth two at most below u, and at least 1 otherwise::

    relax = sum_q (sum_{f != f_q} b[m_q, f] + p[m_q]) + sum of p over nodes deeper than two below u

With the best depth-two subtree on the rows of the path (value v; right rows J+, wrong rows J-)::

    basic       sum_{rows} theta                <= |J+| + |J-| relax
    negative    sum_{J-} theta                  <= |J-| relax
    structure   deviations from that subtree    <= (number of its nodes) relax
    objective   sum_{rows} theta - a sum_{below u} p  <= v + (|rows| - v) relax

The first three may cut off optimal trees, but never the canonical one; they need the objective
"correct rows minus price per leaf" and independent subtrees.  The objective form holds for every
tree.

At a node u of height three the best tree that starts with feature g has an exact value, two optima
of depth two::

    V_g = v(rows of the path, g = 0) + v(rows of the path, g = 1)

and a leaf at u has a value too.  One equation says that u takes one of these splits or is a leaf,
so ``sum_{rows} theta - a sum_{below u} p <= sum_g V_g b[u, g] + V_leaf p[u] + M relax`` holds for
every tree, also at lower nodes: the *value rows*.  With them depth three closes within a few nodes
and depth four comes down to an enumeration of root features.  They are ours; a proof that uses them
rests on the depth-two search as well as on the linear programs.

*Probing* writes no row.  Where the bounds of a search node decide the path to u, it tries the
splits of u one by one, as a solver probes the binaries of such an equation: those that cannot
improve on the best tree are fixed at zero, and the best of the others bounds what the part below u
gains.  Parts below different nodes share no row of the data, so their bounds add up.

References
----------
Keegan et al., "Acceleration techniques for learning optimal classification trees": relax (23),
basic (24), negative samples (25), structure (26).  Ours: the objective form; paths not quite taken.
Savelsbergh, "Preprocessing and probing techniques for mixed integer programming problems", 1994.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from octcore.formulations.shared.separation.tree_rows import (
    Instance,
    RowBuilder,
    TreeLayout,
    TreePoint,
)
from octcore.program import Cuts
from octcore.search.univariate.tree import Branch, PathTree

if TYPE_CHECKING:  # its kernels take a while to import
    from octcore.search.univariate.canonical import BestSubtree

LIFE = 200
"""Path bound rows pay off late: they are kept for this many linear programs without effect."""
REACH = 3  # height up to which values by split are exact: one split above two subtrees of depth two


@dataclass(frozen=True, eq=False)
class TreePath:
    """A path from the root."""

    steps: tuple[tuple[int, int, int], ...]
    """Node, tested feature and side taken (0 left, 1 right), from the root."""
    end: int  # node that the path leads to
    rows: np.ndarray  # which hits take the path, boolean, shape ``(n_hits,)``

    @classmethod
    def root(cls, instance: Instance) -> "TreePath":
        """Make the empty path."""
        return cls((), 1, instance.weight > 0)

    def step(self, feature: int, instance: Instance) -> "tuple[TreePath, TreePath]":
        """Go on to both children of a split."""
        right, child = instance.is_one[:, feature], 2 * self.end
        first, second = ((*self.steps, (self.end, feature, side)) for side in (0, 1))
        left = TreePath(first, child, self.rows & ~right)
        return left, TreePath(second, child + 1, self.rows & right)

    def picture(self, instance: Instance) -> dict[str, object]:
        """Steps in encoded columns, and the end."""
        steps = [(m, int(instance.feature[f]), side) for m, f, side in self.steps]
        return {"path": steps, "node": self.end}


def relaxation_terms(
    path: TreePath, layout: TreeLayout, free_levels: int
) -> tuple[float, np.ndarray, np.ndarray]:
    """Constant, positions and coefficients of ``relax``.

    `free_levels`: levels below the end of the path that may be used freely.
    """
    positions, values, constant = [], [], 0.0
    for node, feature, _ in path.steps:
        if node == 1:
            constant += 1.0
        else:
            positions.append(layout.mass(node // 2))
            values.append(1.0)
        positions.append(layout.branch(node, feature))
        values.append(-1.0)
    deep = layout.leaf(layout.below(path.end, free_levels + 1))
    positions += deep.tolist()
    values += [1.0] * len(deep)
    return constant, np.array(positions, np.int64), np.array(values)


def open_relaxed(
    builder: RowBuilder, rhs: float, factor: float, relax: tuple[float, np.ndarray, np.ndarray]
) -> int:
    """Open the row ``... <= rhs + factor * relax``."""
    constant, positions, values = relax
    row = builder.open_row(rhs + factor * constant)
    builder.add(row, positions, -factor * values)
    return row


@dataclass(frozen=True)
class PathBoundForms:
    """Which forms are used."""

    basic: bool = False
    negative: bool = True
    structure: bool = True
    objective: bool = False
    """`basic`, `negative`, `structure`, `objective`: see the module; `objective` for all paths, not
    only the empty one."""


@dataclass(frozen=True, eq=False)
class PathBoundCuts:
    """Finds path bound cuts."""

    layout: TreeLayout
    instance: Instance
    subtree: "Callable[[np.ndarray], BestSubtree]"
    """Canonical best subtree of depth two on the hits of a boolean mask."""
    penalty: float  # price of a leaf on the scale of the weights
    forms: PathBoundForms
    kind = "path-bound"
    LEAST_MASS = 0.3  # paths are followed while their own mass stays above this
    MOST_PATHS, MOST_SUBTREES = 40, 200
    """Most paths that one call finds, and most subtrees that it computes."""

    def rows(self, paths: Iterable[TreePath]) -> list[Cuts]:
        """Write the rows of some paths; paths without rows say nothing."""
        layout, instance, forms = self.layout, self.instance, self.forms
        builder = RowBuilder(layout)
        for path in paths:
            if not path.rows.any():
                continue
            best, hits = self.subtree(path.rows), np.flatnonzero(path.rows)
            weight, of_wrong = instance.weight[hits], instance.weight[best.wrong]
            total, wrong = float(weight.sum()), float(of_wrong.sum())
            relax = relaxation_terms(path, layout, 2)
            if forms.objective or not path.steps:
                row = open_relaxed(builder, best.value, total - best.value, relax)
                builder.add(row, layout.hit(hits), weight)
                builder.add(row, layout.leaf(layout.below(path.end)), -self.penalty)
            if forms.negative and len(best.wrong):
                row = open_relaxed(builder, 0.0, wrong, relax)
                builder.add(row, layout.hit(best.wrong), of_wrong)
            if forms.basic:
                row = open_relaxed(builder, total - wrong, wrong, relax)
                builder.add(row, layout.hit(hits), weight)
            if forms.structure:
                nodes = list(_walk(best.tree, path.end))
                row = open_relaxed(builder, 0.0, float(len(nodes)), relax)
                for m, part in nodes:
                    builder.add(row, *self._deviation(m, part))
            if len(builder.pictures) < 2:
                samples = np.unique(instance.sample[instance.pattern[path.rows]])[:50].tolist()
                picture = {"value": best.value, "samples": samples}
                builder.pictures.append(path.picture(instance) | picture)
        return builder.finish(self.kind, LIFE)

    def _deviation(self, m: int, part: PathTree) -> tuple[np.ndarray, np.ndarray]:
        """Terms that are 0 iff node m is as in the subtree (given that it exists), else 1."""
        layout = self.layout
        if isinstance(part, Branch):
            places = [layout.mass(m), layout.branch(m, part.feature), layout.leaf(m)]
            return np.array(places), np.array([1.0, -1.0, 1.0])
        places, values = [layout.leaf(m), layout.label(m, part.label)], [1.0, -1.0]
        if m <= layout.n_branch:
            places.append(layout.mass(m))
            values.append(1.0)
        return np.array(places), np.array(values)

    def separate(self, point: TreePoint, tolerance: float = 1e-3) -> list[Cuts]:
        """Return the rows of paths of which at least one form is violated."""
        found: list[TreePath] = []
        looked = 0
        queue = [(TreePath.root(self.instance), 0.0)]
        # Effort only: the model is right without these rows.
        while queue and len(found) < self.MOST_PATHS and looked < self.MOST_SUBTREES:
            path, relax = queue.pop(0)
            if path.steps and path.rows.any():
                deep = float(point.leaf[self.layout.below(path.end, 3) - 1].sum())
                if relax + deep < 1 - self.LEAST_MASS:
                    looked += 1
                    if self._is_violated(point, path, relax + deep, tolerance):
                        found.append(path)
            if self.layout.height(m := path.end) <= 2:
                continue
            arrives = 1.0 if m == 1 else float(point.mass[m // 2 - 1])
            for feature in np.flatnonzero(point.branch[m - 1] > self.LEAST_MASS):
                lost = relax + arrives - float(point.branch[m - 1, feature])
                if lost < 1 - self.LEAST_MASS:
                    queue += [(child, lost) for child in path.step(int(feature), self.instance)]
        return self.rows(found)

    def _is_violated(
        self, point: TreePoint, path: TreePath, relax: float, tolerance: float
    ) -> bool:
        best, weight = self.subtree(path.rows), self.instance.weight
        total = float(weight[path.rows].sum())
        gained = float((weight * point.hit)[path.rows].sum())
        if self.forms.objective:
            below = float(point.leaf[self.layout.below(path.end) - 1].sum())
            limit = best.value + (total - best.value) * relax
            if gained - self.penalty * below > limit + 0.1 * tolerance * max(10.0, total):
                return True
        wrong = float(weight[best.wrong].sum())
        if self.forms.negative and wrong:
            if float((weight * point.hit)[best.wrong].sum()) / wrong > relax + tolerance:
                return True
        if self.forms.basic and gained > total - wrong + wrong * relax + tolerance * total:
            return True
        if not self.forms.structure:
            return False
        nodes = list(_walk(best.tree, path.end))
        deviation = sum(
            float(values @ point.flat[places])
            for places, values in (self._deviation(m, part) for m, part in nodes)
        )
        return deviation > len(nodes) * relax + tolerance

    def fixed_paths(self, upper: np.ndarray) -> list[TreePath]:
        """Paths that upper bounds (flat order) decide already, without the empty one."""
        known = paths_along(self.layout, self.instance, 2, lambda m: decided(self.layout, m, upper))
        return [path for path in known if path.steps]


def paths_along(
    layout: TreeLayout, instance: Instance, height: int, features: Callable[[int], Iterable[int]]
) -> Iterator[TreePath]:
    """Yield the empty path and its longer ones, along some features of nodes above a height."""
    queue = [TreePath.root(instance)]
    while queue:
        path = queue.pop()
        yield path
        if layout.height(path.end) > height:
            for feature in features(path.end):
                queue += path.step(int(feature), instance)


def decided(layout: TreeLayout, node: int, upper: np.ndarray) -> list[int]:
    """The only feature that upper bounds (flat order) leave to a node which cannot be a leaf.

    Empty where there is still a choice.
    """
    if upper[layout.leaf(node)] > 0.5:  # binary: what is allowed has the bound 1
        return []
    start = layout.branch(node, 0)
    left = np.flatnonzero(upper[start : start + layout.n_features] > 0.5)
    return left.tolist() if len(left) == 1 else []


def _walk(tree: PathTree, node: int) -> Iterable[tuple[int, PathTree]]:
    """Node numbers and parts of a subtree whose root stands at a node."""
    yield node, tree
    if isinstance(tree, Branch):
        yield from _walk(tree.left, 2 * node)
        yield from _walk(tree.right, 2 * node + 1)


@dataclass(frozen=True, eq=False)
class ValueRows:
    """Writes the value row of every node that the search has come to."""

    layout: TreeLayout
    instance: Instance
    values: Callable[[np.ndarray, int], np.ndarray]
    """``(mask, height) -> array`` of the best value with every feature at the root of a subtree of
    that height on the hits of a boolean mask."""
    penalty: float  # price of a leaf on the scale of the weights
    _done: set[tuple[tuple[int, int, int], ...]] = field(default_factory=set)
    kind = "value-row"
    DECIDED = 0.9  # mass of a feature above which its path counts as chosen

    def separate(self, point: TreePoint) -> list[Cuts]:
        """Return the rows of all paths that a point has chosen and that have none yet."""
        return self._along(lambda m: np.flatnonzero(point.branch[m - 1] > self.DECIDED))

    def decided(self, upper: np.ndarray) -> list[Cuts]:
        """Return the rows of all paths that upper bounds (flat order) leave no choice about."""
        return self._along(lambda m: decided(self.layout, m, upper))

    def _along(self, features: Callable[[int], Iterable[int]]) -> list[Cuts]:
        builder = RowBuilder(self.layout)
        for path in paths_along(self.layout, self.instance, REACH, features):
            is_new = path.steps not in self._done and path.rows.any()
            if self.layout.height(path.end) <= REACH and is_new:
                self._done.add(path.steps)
                self._write(builder, path)
        return builder.finish(self.kind, None)

    def _write(self, builder: RowBuilder, path: TreePath) -> None:
        layout, weight, m = self.layout, self.instance.weight, path.end
        hits = np.flatnonzero(path.rows)
        height = layout.height(m)
        leaf = float(np.bincount(self.instance.target[hits], weight[hits]).max()) - self.penalty
        values = self.values(path.rows, height) if height else np.zeros(0)
        total = float(weight[hits].sum())
        # Where the path is not taken the left side is at most the weight of the rows, and the
        # values on the right side may be negative.
        big = total - min(0.0, leaf, float(values.min(initial=0.0)))
        row = open_relaxed(builder, 0.0, big, relaxation_terms(path, layout, height))
        builder.add(row, layout.hit(hits), weight[hits])
        builder.add(row, layout.leaf(layout.below(m)), -self.penalty)
        if height:
            builder.add(row, layout.branch(m, np.arange(layout.n_features)), -values)
        builder.add(row, layout.leaf(m), -leaf)
        best = max(leaf, float(values.max(initial=-np.inf)))
        builder.pictures.append({**path.picture(self.instance), "best_value": best})


@dataclass(frozen=True, eq=False)
class Part:
    """A subtree that the bounds leave open, and what its first decision can gain."""

    node: int
    features: np.ndarray  # splits that are allowed at its root
    values: np.ndarray  # what is gained at most with each of them
    otherwise: float  # what is gained at most without a split of `features`

    @property
    def best(self) -> float:
        """What is gained at most."""
        return max(self.otherwise, float(self.values.max(initial=-np.inf)))


@dataclass(frozen=True, eq=False)
class PathProbe:
    """Probes the nodes whose path is decided."""

    layout: TreeLayout
    instance: Instance
    value: Callable[[np.ndarray], float]
    """That of the best subtree of depth two on the hits of a boolean mask."""
    penalty: float  # price of a leaf on the scale of the weights

    def __call__(self, upper: np.ndarray, needed: float) -> tuple[float, np.ndarray]:
        """Bound the value of all trees that upper bounds (flat order) allow.

        Returns the bound, infinite while the root is undecided, and the flat positions of splits
        that no tree takes whose value is larger than `needed`.
        """
        if not decided(self.layout, 1, upper):
            return np.inf, np.zeros(0, np.int64)
        parts = self._parts(upper)
        bound = sum(part.best for part in parts)
        if not np.isfinite(bound):
            return -np.inf, np.zeros(0, np.int64)
        # With such a split all gain no more than that, whatever the other parts do.
        refused = [
            self.layout.branch(part.node, part.features[bound - part.best + part.values <= needed])
            for part in parts
        ]
        return bound, np.concatenate(refused)

    def _parts(self, upper: np.ndarray) -> list[Part]:
        def only(node: int) -> list[int]:
            return decided(self.layout, node, upper)

        return [
            self._part(path, upper)
            for path in paths_along(self.layout, self.instance, REACH, only)
            if self.layout.height(path.end) <= REACH or not only(path.end)
        ]

    def _part(self, path: TreePath, upper: np.ndarray) -> Part:
        layout, rows, none = self.layout, path.rows, np.zeros(0, np.int64)
        height = layout.height(path.end)
        if height < REACH:  # where less than two levels are left, more are allowed: no less
            return Part(path.end, none, np.zeros(0), self.value(rows))
        tally = np.bincount(self.instance.target[rows], self.instance.weight[rows])
        if height > REACH:  # all right with a single leaf: nothing gains more
            return Part(path.end, none, np.zeros(0), float(tally.sum()) - self.penalty)
        start = layout.branch(path.end, 0)
        features = np.flatnonzero(upper[start : start + layout.n_features] > 0.5)
        right = self.instance.is_one[:, features].T
        values = np.array([self.value(rows & ~one) + self.value(rows & one) for one in right])
        leaf = -np.inf
        if upper[layout.leaf(path.end)] > 0.5:
            leaf = float(tally.max(initial=0.0)) - self.penalty
        return Part(path.end, features, values, leaf)
