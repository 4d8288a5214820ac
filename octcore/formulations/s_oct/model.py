"""The S-OCT model: variables, numbered equations, and the way from points to trees and back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
import pyomo.environ as pyo

from octcore.formulations.s_oct.branching import LabelsThenRouting, SearchRounding
from octcore.formulations.s_oct.cuts import INIT_ROUNDS, Variant
from octcore.formulations.shared import tree_equations as equations
from octcore.formulations.shared.oblique import (
    CountObjective,
    Starts,
    add_big_m,
    leaf_table,
    plane_values,
    sibling_leaves,
)
from octcore.formulations.shared.rows import linear
from octcore.formulations.shared.tree_sets import TreeSets
from octcore.program import ModelSize, Point, Problem, PyomoModel, Sense
from octcore.separation.chains import ChainBound, chain_bound
from octcore.separation.shattering import ShatteringSeparator, table_columns
from octcore.tree.tree import Tree
from octcore.warmstart.points import (
    IntArray,
    centred_planes,
    leaf_counts,
    leaf_labels,
    tree_leaves,
)

CHAINS_PROVE = (
    "rows along lines, whose classes change more often than leaves do, bound all trees",
)


@dataclass(frozen=True, eq=False)
class SOct:
    """Sets and builders of the model."""

    problem: Problem
    objective: CountObjective
    variant: Variant
    starts: Starts

    @cached_property
    def sets(self) -> TreeSets:
        """Points, K, B and L."""
        columns = list(range(self.problem.n_features))
        points = self.objective.points
        return TreeSets(points, columns, self.problem.depth, self.problem.n_classes)

    @property
    def visited(self) -> range:
        """Nodes with routing variables: all but the root, which everybody visits."""
        return range(2, 2 ** (self.problem.depth + 1))

    @cached_property
    def hits(self) -> list[tuple[int, int]]:
        """Pairs (point, class) with weight."""
        return [(int(i), int(k)) for i, k in np.argwhere(self.objective.points.counts > 0)]

    @property
    def counts_splits(self) -> bool:
        """Whether the number of splits matters."""
        return self.objective.alpha > 0 or self.objective.max_splits < len(self.sets.B)

    @property
    def size(self) -> ModelSize:
        """Estimate from the counts of points and nodes."""
        sets = self.sets
        n, p, h = len(self.objective.points), self.problem.n_features, len(self.hits)
        branch, leaves, planes = len(sets.B), len(sets.L), len(self.variant.big_m_nodes)
        splits = n * branch if self.counts_splits else 0
        return ModelSize(
            rows=n * branch + 2 * h * leaves + leaves + planes * (2 * n + 2 * p + 1) + splits,
            columns=n * len(self.visited) + (h + len(sets.K)) * leaves + planes * (2 * p + 1),
            binaries=n * leaves,
            nonzeros=3 * n * branch
            + 4 * h * leaves
            + leaves * len(sets.K)
            + planes * (2 * n * (p + 2) + 5 * p)
            + 2 * splits,
        )

    def build(self, guard: Callable[[], None]) -> PyomoModel:
        """Build variables, numbered equations and the objective."""
        model: Any = pyo.ConcreteModel("S-OCT")
        self._variables(model)
        self._constraints(model, guard)
        self._objective(model)
        separator = self._separator(model)
        chains = self._chains(model, guard)
        return PyomoModel(
            model,
            partial(self.read_tree, model),
            partial(self.start_values, model),
            separators=(separator,) if self.variant.nodes else (),
            branching=LabelsThenRouting(
                model.c, model.w, len(self.objective.points), self.sets.L, separator.tension
            ),
            rounding=SearchRounding(self.starts, partial(self.leaves, model)),
            values={"chains": self._described(chains)} if chains else {},
            bound=self.objective.best_with(chains.correct) if chains else None,
            claims=CHAINS_PROVE if chains else (),
        )

    def _separator(self, model: Any) -> ShatteringSeparator:
        points = self.objective.points
        return ShatteringSeparator(
            points.X,
            table_columns(model.w, len(points), self.visited),
            self.variant.examined,
            self.objective.epsilon,
            self.variant.n_cuts,
            rounds=None if self.variant.is_lazy else INIT_ROUNDS,
        )

    def _variables(self, model: Any) -> None:
        sets = self.sets
        points, hits = sets.I, range(len(self.hits))
        model.w = pyo.Var(
            points,
            self.visited,
            domain=lambda _, i, t: pyo.Binary if t in sets.L else pyo.UnitInterval,
            doc="w_it: point i visits node t",
        )
        model.z = pyo.Var(
            hits, sets.L, domain=pyo.UnitInterval, doc="z_ht: leaf t classifies h correctly"
        )
        model.c = pyo.Var(
            sets.L, sets.K, domain=pyo.UnitInterval, doc="c_tk: leaf t predicts class k"
        )
        if self.counts_splits:
            model.d = pyo.Var(sets.B, domain=pyo.UnitInterval, doc="d_t: node t splits")

    def _constraints(self, model: Any, guard: Callable[[], None]) -> None:
        sets = self.sets
        points, hits = sets.I, range(len(self.hits))
        w, z, c = model.w, model.z, model.c

        def conservation(_: Any, i: int, t: int) -> Any:
            if t == 1:
                guard()
                return 1.0, linear((1.0, 1.0), (w[i, 2], w[i, 3])), 1.0
            return 0.0, linear((1.0, -1.0, -1.0), (w[i, t], w[i, 2 * t], w[i, 2 * t + 1])), 0.0

        model.routing = pyo.Constraint(
            points,
            sets.B,
            rule=conservation,
            doc="(1b), (1c) w_it = w_i,2t + w_i,2t+1, w_i1 = 1",
        )
        equations.add_one_label(model, sets, c, doc="(1d) a leaf predicts one class")
        model.correct_if_there = pyo.Constraint(
            hits,
            sets.L,
            rule=lambda _, h, t: (None, linear((1.0, -1.0), (z[h, t], w[self.hits[h][0], t])), 0.0),
            doc="(1e) z_ht <= w_it",
        )
        model.correct_if_label = pyo.Constraint(
            hits,
            sets.L,
            rule=lambda _, h, t: (None, linear((1.0, -1.0), (z[h, t], c[t, self.hits[h][1]])), 0.0),
            doc="(1f) z_ht <= c_tk",
        )
        if self.counts_splits:
            self._splits(model)
        if self.variant.big_m_nodes:
            add_big_m(
                model,
                self.variant.big_m_nodes,
                self.objective.points.X,
                self.objective.epsilon,
                lambda i, t: w[i, 2 * t],
                lambda i, t: w[i, 2 * t + 1],
                guard,
            )
        if self.problem.params["symmetry_breaking"]:
            self._symmetry(model)

    def _splits(self, model: Any) -> None:
        sets = self.sets
        points, w, d = sets.I, model.w, model.d
        model.right_needs_split = pyo.Constraint(
            points,
            sets.B,
            rule=lambda _, i, t: (None, linear((1.0, -1.0), (w[i, 2 * t + 1], d[t])), 0.0),
            doc="(1g) without a split everything goes left",
        )
        model.split_limit = pyo.Constraint(
            rule=lambda _: pyo.quicksum(d[t] for t in sets.B) <= self.objective.max_splits,
            doc="(1h) at most beta splits",
        )
        doc = "(ours) no split below an unsplit node: the subtree could move up"
        equations.add_split_below_split(model, sets, d, doc)

    def _symmetry(self, model: Any) -> None:
        """Order sibling leaves by label, and fix the side of the first point above them."""
        if self.problem.depth > 1:
            model.first_point_left = pyo.Constraint(
                expr=model.w[0, 2] == 1, doc="(ours) the first point goes left at the root"
            )
        pairs = sibling_leaves(self.problem.depth)
        model.label_order = pyo.Constraint(
            range(len(pairs)),
            rule=lambda m, r: (
                pyo.quicksum(k * (m.c[pairs[r][0], k] - m.c[pairs[r][1], k]) for k in self.sets.K)
                <= 0
            ),
            doc="(ours) of two sibling leaves the left one has the smaller label",
        )

    def _chains(self, model: Any, guard: Callable[[], None]) -> ChainBound | None:
        """Add the chains of rows along lines that bound every tree, where cuts are used at all."""
        if not self.variant.nodes:
            return None
        points, leaves = self.objective.points, self.objective.max_splits + 1
        found = chain_bound(points.X, points.counts, leaves, self.objective.epsilon, guard)
        hit = {pair: h for h, pair in enumerate(self.hits)}
        members = [[hit[pair] for pair in chain.members] for chain in found.chains]
        model.chain = pyo.Constraint(
            range(len(members)),
            rule=lambda m, r: (
                pyo.quicksum(m.z[h, t] for h in members[r] for t in self.sets.L)
                <= found.chains[r].most_right(leaves)
            ),
            doc="(ours) a line meets every leaf in one interval",
        )
        return found if found.chains else None

    def _described(self, found: ChainBound) -> list[dict[str, Any]]:
        """Chains by training rows, so that others can check them."""
        row_of = np.flatnonzero(self.problem.weights > 0)[self.objective.points.first_rows]
        return [
            {
                "rows": row_of[list(chain.points)].tolist(),
                "classes": list(chain.classes),
                "multiplier": chain.multiplier,
            }
            for chain in found.chains
        ]

    def _objective(self, model: Any) -> None:
        counts, total = self.objective.points.counts, self.objective.points.total
        terms = [
            (float(counts[hit]), model.z[h, t])
            for h, hit in enumerate(self.hits)
            for t in self.sets.L
        ]
        if self.objective.sense is Sense.MAXIMISE:
            weights, variables = zip(*terms, strict=True)
            model.objective = pyo.Objective(
                expr=linear(weights, variables),
                sense=pyo.maximize,
                doc="(1a) weight of the points classified correctly",
            )
            return
        terms = [(-weight / total, variable) for weight, variable in terms]
        terms += [(self.objective.alpha, model.d[t]) for t in self.sets.B]
        weights, variables = zip(*terms, strict=True)
        model.objective = pyo.Objective(
            expr=1.0 + linear(weights, variables),
            sense=pyo.minimize,
            doc="(section 2.2) share of errors plus alpha per split",
        )

    def leaves(self, model: Any, point: Point) -> IntArray:
        """Leaf of every point, the largest value where it is fractional."""
        w = point.table(model.w, len(self.objective.points), len(self.visited))
        first = self.sets.L.start - self.visited.start
        return w[:, first:].argmax(axis=1) + self.sets.L.start

    def read_tree(self, model: Any, point: Point) -> Tree:
        """Read the routing and give every node its widest gap; leaves get their majority."""
        return self.starts.tree_of(self.leaves(model, point))

    def start_values(self, model: Any, tree: Tree) -> list[tuple[Any, np.ndarray]]:
        """Values of all variables for a tree."""
        sets = self.sets
        points, depth = self.objective.points, self.problem.depth
        leaf = tree_leaves(tree, points.X, depth)
        labels = leaf_labels(leaf_counts(points, leaf, depth), depth)
        if self.problem.params["symmetry_breaking"]:
            leaf, labels = self._canonical(leaf, labels)
        w = leaf_table(leaf, depth)
        c = np.zeros((len(sets.L), len(sets.K)))
        c[np.arange(len(sets.L)), labels[sets.L.start :]] = 1.0
        at, label = np.array(self.hits).T
        z = w[at][:, sets.L.start - 1 :] * c[:, label].T
        values = [(model.w, w[:, 1:]), (model.c, c), (model.z, z)]
        if self.counts_splits:
            d = np.array([w[:, 2 * t].any() for t in sets.B], float)
            for t in reversed(sets.B[1:]):
                d[t // 2 - 1] = max(d[t // 2 - 1], d[t - 1])
            values.append((model.d, d))
        nodes = self.variant.big_m_nodes
        if nodes:
            planes, _ = centred_planes(points, leaf, depth)
            a, b = plane_values(planes, nodes, self.objective.epsilon)
            values += [(model.a, a), (model.a_size, np.abs(a)), (model.b, b)]
        return values

    def _canonical(self, leaf: IntArray, labels: IntArray) -> tuple[IntArray, IntArray]:
        """Exchange subtrees until the symmetry-breaking rows hold."""
        sets = self.sets
        depth, leaf, labels = self.problem.depth, leaf.copy(), labels.copy()
        if depth > 1 and leaf[0] >= 3 * 2 ** (depth - 1):
            flip = 2 ** (depth - 1)
            leaf ^= flip
            labels[sets.L.start :] = labels[np.arange(sets.L.start, sets.L.stop) ^ flip]
        for left, right in sibling_leaves(depth):
            if labels[left] > labels[right]:
                at_left, at_right = leaf == left, leaf == right
                if at_right.any():
                    leaf[at_left], leaf[at_right] = right, left
                    labels[[left, right]] = labels[[right, left]]
                else:  # no split here: the empty right leaf may predict anything
                    labels[right] = labels[left]
        return leaf, labels
