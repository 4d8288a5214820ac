"""Trees of SVM1-ODT: how they are judged by routing, found and polished."""

import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from octcore.errors import SettingsError
from octcore.formulations.shared import terminals
from octcore.formulations.shared.oblique import labelled_tree, least
from octcore.formulations.shared.tree_model import TreeSets
from octcore.numerics.margin_lp import WEIGHT_BOX, MarginPrices, margin_plane
from octcore.program import ENDLESS, Patience, Problem
from octcore.search.assignment import search as assignment
from octcore.tree import topology
from octcore.tree.tree import Split, Tree, grown
from octcore.warmstart.greedy import greedy_starts
from octcore.warmstart.margin_search import MarginGoal, MarginSearch
from octcore.warmstart.points import PlaneTree, count_classes

STRICT_DISTANCE = 1e-4
"""Distance of right-goers from the plane in strict mode, where scores are bounded by M = 1."""
STRICT_ROWS = 2_000
"""Rows from which on it shrinks with their number: planes between dense rows leave less room."""
LEAST_DISTANCE = 1e-5  # ten times what solvers leave, else rows would not be off the plane
SAMPLED_ROWS = 2_000  # rows that first trees are searched on, where there are more
SAMPLE_SHARE = 0.3  # share of the time for first trees that goes to a sample of the rows
TIE_DISTANCE = 1e-9  # scores closer to the plane go left without strict mode
SCORE_TOLERANCE = 1e-6  # solvers keep rows up to this
GAP = 1e-6  # relative gap that counts as closed
POLISH_SECONDS = 0.5  # effort only: for one tree of the solver


@dataclass(frozen=True, eq=False)
class SplitSpace:
    """Which columns planes may use, and which belong to categorical raw columns."""

    X: np.ndarray  # rows as numbers, shape ``(n_samples, n_features)``
    groups: tuple[tuple[int, ...], ...]  # indicator columns of every categorical raw column

    @cached_property
    def columns(self) -> list[int]:
        """Columns of planes: numeric and not constant."""
        grouped = {j for group in self.groups for j in group}
        X = self.X
        return [j for j in range(X.shape[1]) if j not in grouped and np.ptp(X[:, j]) > 0]

    def values(self, X: np.ndarray) -> np.ndarray:
        """Value of every row in every group, -1 for none; shape ``(n_rows, n_groups)``."""
        found = np.full((len(X), len(self.groups)), -1)
        for g, group in enumerate(self.groups):
            part = X[:, list(group)]
            found[:, g] = np.where(part.any(axis=1), part.argmax(axis=1), -1)
        return found

    def subset_plane(self, columns: list[int]) -> tuple[np.ndarray, float]:
        """Plane that sends the rows of some values left, all others and unseen ones right."""
        weights = np.zeros(self.X.shape[1])
        weights[columns] = -1.0
        return weights, 0.5

    def group_of(self, split: Split) -> int | None:
        """Group whose values a split tests; None for a plane."""
        for g, group in enumerate(self.groups):
            if split.weights and set(split.features) <= set(group):
                return g
        return None

    def is_subset(self, split: Split) -> bool:
        """Whether a split tests a set of values of one categorical column."""
        return (
            self.group_of(split) is not None
            and all(value == -1.0 for _, value in split.weights)
            and -1.0 <= split.threshold < 0.0
        )

    def with_subsets(self, tree: Tree) -> Tree:
        """Same tree with every test of a single indicator written as a subset, mirrored."""

        def part(node: int) -> int | tuple[Split, int, int]:
            if node in tree.labels:
                return tree.labels[node]
            split = tree.splits[node]
            if self.group_of(split) is not None and split.is_univariate:
                plane = self.subset_plane([split.features[0]])
                return Split.on_plane(*plane), 2 * node + 1, 2 * node
            return split, 2 * node, 2 * node + 1

        return Tree(*grown(1, part), tree.n_features, tree.n_classes)


@dataclass(frozen=True, eq=False)
class SVM1Trees:
    """How trees are judged, found and polished; the mixed-integer model is in `model`."""

    problem: Problem

    @cached_property
    def space(self) -> SplitSpace:
        """Columns of planes and groups of columns of categorical subsets."""
        subsets = self.problem.params["categorical"] == "subsets"
        groups = tuple(g for g in self.problem.categorical if len(g) > 1) if subsets else ()
        return SplitSpace(np.asarray(self.problem.X, dtype=np.float64), groups)

    @cached_property
    def prices(self) -> MarginPrices:
        """alpha1, alpha2, epsilon, the distance of right-goers and M."""
        params = self.problem.params
        big_m, epsilon = float(params["big_m"]), float(params["epsilon"])
        thinned = STRICT_DISTANCE * min(1.0, STRICT_ROWS / max(1, self.problem.n_samples))
        missing, norm = (
            float(params[price] if params[scaled] is None else params[scaled] / epsilon)
            for price, scaled in (("alpha1", "margin_price"), ("alpha2", "norm_price"))
        )
        distance = max(LEAST_DISTANCE, thinned) * big_m if params["strict"] else 0.0
        return MarginPrices(missing, norm, epsilon, distance, big_m)

    @cached_property
    def sets(self) -> TreeSets:
        """I: rows merged by features and class; F_q: columns of planes."""
        return terminals.sets_of(self.problem, self.space.columns)

    @property
    def claims(self) -> tuple[str, ...]:
        """What a proof covers."""
        prices = self.prices
        within = f"scores of all rows lie within {prices.big_m:g}, weights within {WEIGHT_BOX:g}"
        apart = f"right-goers keep a distance of {prices.right:g} from the plane"
        return (within, apart) if prices.right else (within,)

    @property
    def strip(self) -> float:
        """Width that every split of the model leaves empty, for weights of 1-norm 1."""
        apart = max(TIE_DISTANCE, self.prices.right - 2 * SCORE_TOLERANCE)  # scores of two sides
        return apart / (WEIGHT_BOX * max(1, len(self.space.columns)))

    @property
    def findings(self) -> tuple[str, ...]:
        """A note where the price of a row on a plane is below that of an error."""
        if self._margin_price >= 1:
            return ()
        return (
            f"alpha1 x epsilon = {self._margin_price:g} is below 1: putting a row on a plane costs "
            "less than an error, so that planes come nearer to rows; a larger alpha1 keeps away.",
        )

    @property
    def _margin_price(self) -> float:
        """Price of a row on a plane, in errors."""
        return self.prices.missing * self.prices.margin

    @property
    def feasibility(self) -> float:
        """Tolerance of the solver, so small that the objective does not see it.

        A row kept up to it costs its weight and alpha1 times as much; a side taken up to it moves
        scores by M times as much, and the norms, at alpha2, with them.
        """
        prices = self.prices
        by_margins = 1e-3 / max(1.0, prices.missing * float(self.sets.rows.weights.max()))
        by_norms = 1e-6 / max(1.0, prices.norm * prices.big_m)
        return float(np.clip(min(by_margins, by_norms), 1e-9, 1e-6))

    def refuse_unfit(self) -> None:
        """Refuse settings at which the published model is no model of trees, as `SettingsError`.

        Without strict mode rows on a plane may go either way for less than an error; of a margin
        beyond M rows lack something at a node without a plane, too.
        """
        if self.prices.margin > self.prices.big_m:
            message = f"epsilon = {self.prices.margin:g}, the margin wanted, is beyond the largest "
            message += f"score big_m = {self.prices.big_m:g}; make epsilon at most big_m."
            raise SettingsError("MARGIN_BEYOND_SCORES", message, "epsilon")
        if not self.prices.right and self._margin_price < 1:
            message = "Without strict mode rows on a plane go either way for alpha1 x epsilon = "
            message += f"{self._margin_price:g} errors each, which no tree can do; make alpha1 x "
            message += "epsilon at least 1, or keep strict mode on."
            raise SettingsError("STRICT_NEEDED", message, "strict")

    def evaluate(self, tree: Tree) -> float | None:
        """Routed errors plus the alpha terms; None for a tree outside the model."""
        problem = self.problem
        if tree.max_depth > problem.depth:
            return None
        visited = tree.node_rows(problem.X)
        total = float(problem.weights[tree.predict_codes(problem.X) != problem.y].sum())
        for node, split in tree.splits.items():
            is_subset = self.space.is_subset(split)
            cost = 0.0 if is_subset else self._plane_cost(split, visited[node])
            if cost is None:
                return None
            total += cost
        return total

    def _plane_cost(self, split: Split, passing: np.ndarray) -> float | None:
        if not set(split.features) <= set(self.space.columns):
            return None
        prices, X = self.prices, self.space.X
        scores = self.threshold(split) - split.project(X)
        right = split.goes_right(X[passing])
        here = scores[passing]
        if np.abs(scores).max() > prices.big_m * (1 + SCORE_TOLERANCE):
            return None
        if max((abs(value) for _, value in split.weights), default=0.0) > WEIGHT_BOX:
            return None
        near = here[right] > SCORE_TOLERANCE - prices.right
        if near.any() or (here[~right] < -SCORE_TOLERANCE).any():
            return None
        margin = np.where(right, -here, here)
        missing = np.maximum(0.0, prices.margin - margin) @ self.problem.weights[passing]
        norm = sum(abs(value) for _, value in split.weights)
        return float(prices.missing * missing + prices.norm * norm)

    def threshold(self, split: Split) -> float:
        """Threshold g of the plane ``h.x <= g`` that a split was made of."""
        return -split.solved_offset - self.distance

    @property
    def distance(self) -> float:
        """How far behind ``h.x = g`` the split of a plane lies."""
        return self.prices.right / 2 or TIE_DISTANCE

    def tree(self, planes: Mapping[int, tuple[np.ndarray, float]], leaves: Iterable[int]) -> Tree:
        """Make the tree of planes, right where ``w.x + b >= 0``, with the best labels."""
        return labelled_tree(planes, leaves, self.space.X, self.problem)

    @property
    def task(self) -> assignment.AssignmentTask | None:
        """Problem of the exact search; None with subsets of values, which are no planes.

        Nor with very many labels.  Only where a row on a plane costs less than an error the
        distance of right-goers decides.
        """
        problem, prices, unit = self.problem, self.prices, self._unit
        columns = self.space.columns
        clearance = prices.right / unit if self._margin_price < 1 else 0.0
        if self.space.groups or not assignment.can_search(
            problem.n_classes, problem.depth, not clearance
        ):
            return None
        rows, reach = self.sets.rows, prices.big_m + WEIGHT_BOX * max(1, len(columns))
        merged = rows.X[:, columns], rows.y, rows.weights, problem.n_classes, problem.depth
        numbers = prices.missing * unit, prices.norm * unit, reach / unit, 0.5 * GAP
        box = WEIGHT_BOX / unit
        asked = assignment.AssignmentProblem(*merged, *numbers, clearance=clearance, box=box)
        return assignment.AssignmentTask(asked, self._of_search, rows.group_of, np.array(columns))

    @property
    def _unit(self) -> float:
        """Score that is 1 in the search: the margin, or the distance where margins are free."""
        return self.prices.margin if self.prices.missing else self.prices.right

    def _of_search(self, planes: assignment.Planes) -> Tree:
        """Tree of the planes of the search, which have margins of 1."""
        found = PlaneTree.empty(self.problem.depth, len(self.space.columns))
        for node, (weights, offset) in planes.items():
            if np.abs(weights).sum() > 0:
                found.set(node, self._unit * weights, -self._unit * offset - self.distance)
            else:
                found.set(node, 0.0, 1.0 if offset < 0 else -1.0)
        return self.improve(self._of_planes(found), ENDLESS)

    def starts(self, patience: Patience) -> Iterator[tuple[str, Tree]]:
        """Yield polished CART trees, then trees of the search in the objective itself."""
        for source, tree in greedy_starts(self.problem, 0.0, patience):
            yield source, self.polish(self.space.with_subsets(tree))
        if not len(self.space.columns):
            return
        seconds = patience.within(float(self.problem.params["start_seconds"]))
        if len(self.sets.rows.y) > SAMPLED_ROWS:
            for planes in self._from_samples(time.perf_counter() + seconds, seconds):
                yield "search on samples", self._of_planes(planes)
            return
        for planes in self.margin_search().search([], seconds):
            yield "search with margins", self._of_planes(planes)

    def _from_samples(self, deadline: float, seconds: float) -> Iterator[PlaneTree]:
        """Search on some rows, as if they were all, and improve on all rows what comes out.

        The last step of a sample may end after the deadline: a plane for all rows is not stopped.
        """
        search, rows = self.margin_search(), self.sets.rows
        rng = np.random.default_rng(self.problem.seed)
        while time.perf_counter() < deadline:
            some = np.sort(rng.choice(len(rows.y), SAMPLED_ROWS, replace=False))
            sampled = self.margin_search(some, float(rows.weights.sum() / rows.weights[some].sum()))
            starts = [] if search.best is None else [sampled.made_exact(search.best)]
            for planes in sampled.search(starts, SAMPLE_SHARE * seconds):
                if search.best is None:
                    search.keep(search.made_exact(planes))
                if search.best is not None:
                    yield search.best
            if sampled.best is None:
                return
            better = search.improve(search.made_exact(sampled.best), deadline)
            if search.keep(better):
                yield better

    def margin_search(self, some: Any = ..., scale: float = 1.0) -> MarginSearch:
        """Make the search in the objective itself, on all rows or on some with scaled weights."""
        rows, problem = self.sets.rows, self.problem
        X, weights = rows.X[some][:, self.space.columns], scale * rows.weights[some]
        points = count_classes(X, rows.y[some], weights, problem.n_classes)
        prices = self.prices, self.distance
        return MarginSearch(MarginGoal(points, problem.depth, *prices, seed=problem.seed))

    def _planes_of(self, tree: Tree) -> PlaneTree:
        """Planes of a tree without subsets; below its leaves rows go left."""
        planes = PlaneTree.empty(self.problem.depth, len(self.space.columns))
        for node, split in tree.splits.items():
            planes.set(node, split.dense(tree.n_features)[self.space.columns], split.solved_offset)
        return planes

    def _of_planes(self, found: PlaneTree) -> Tree:
        planes = {}
        for node in topology.branch_nodes(self.problem.depth):
            weights = np.zeros(self.problem.n_features)
            weights[self.space.columns] = found.weights[node]
            planes[node] = weights, float(found.offsets[node])
        return self.tree(planes, topology.terminal_nodes(self.problem.depth))

    def polish(self, tree: Tree) -> Tree:
        """Fixed routing: give every plane the least missing margin and norm."""
        visited = tree.node_rows(self.sets.rows.X)
        planes: dict[int, tuple[np.ndarray, float]] = {}
        for node, split in tree.splits.items():
            planes[node] = split.dense(self.problem.n_features), split.solved_offset
            if not self.space.is_subset(split):
                found = self.margin_plane(visited[2 * node], visited[2 * node + 1])
                planes[node] = found or planes[node]
        return self.tree(planes, tree.labels)

    def margin_plane(self, left: np.ndarray, right: np.ndarray) -> tuple[np.ndarray, float] | None:
        """Plane of least missing margin and norm between merged rows; None if there is none."""
        columns = self.space.columns
        X, weights = self.sets.rows.X[:, columns], self.sets.rows.weights
        others = np.setdiff1d(np.arange(len(X)), np.concatenate([left, right]))
        sides = X[left], X[right], (weights[left], weights[right])
        found = margin_plane(*sides, X[others], self.prices)
        if found is None:
            return None
        dense = np.zeros(self.problem.n_features)
        dense[columns] = found[0]
        return dense, -found[1] - self.distance

    def improve(self, tree: Tree, patience: Patience) -> Tree:
        """Polish a tree of the solver, and refit its nodes in the objective itself."""
        candidates = [self.polish(tree)]
        if len(self.space.columns) and not any(map(self.space.is_subset, tree.splits.values())):
            start = self._planes_of(candidates[0])
            deadline = time.perf_counter() + patience.within(POLISH_SECONDS)
            candidates.append(self._of_planes(self.margin_search().improve(start, deadline)))
        return least(self.evaluate, *candidates)
