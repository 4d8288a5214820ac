"""Trees of MM-SVM-OCT: how they are judged by routing, found, polished and re-centred."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from octcore.formulations.shared.oblique import least
from octcore.formulations.shared.two_classes import TwoClassTrees
from octcore.program import Patience
from octcore.search.margot.records import RoutingProblem
from octcore.search.margot.start import local_svm
from octcore.tree import topology
from octcore.tree.tree import Tree, grown
from octcore.warmstart.goal import TreeGoal
from octcore.warmstart.plane_search import improve_plane, shift_into_gap
from octcore.warmstart.points import count_classes
from octcore.warmstart.svm_tree import TreeSearch

POLISH_SECONDS = 1.0
BALANCE_ROUNDS = 12
LEAST_SHARE = 1e-3
"""Smallest share of a node in the norm term; its margin hardly matters any more."""

Planes = dict[int, tuple[np.ndarray, float]]


@dataclass(frozen=True, eq=False)
class MMSVMTrees(TwoClassTrees):
    """Rows and prices of a problem, and the trees that fit them.

    A leaf above the last level stands for nodes without planes: all rows go to the side of its
    label, and those of the other class pay at every level that is left.
    """

    @property
    def claims(self) -> tuple[str, ...]:
        """What a proof covers."""
        relabel = "allowed" if self.problem.params["relabel"] else "off"
        return self.coding_claims(
            f"upper planes keep an empty strip of width {self.price('epsilon'):g}",
            f"relabelling is {relabel}",
        )

    @cached_property
    def spread(self) -> float:
        """Farthest that two rows can be apart."""
        return float(np.linalg.norm(np.ptp(self.X, axis=0)))

    def reach(self, objective: float) -> float:
        """Largest score of any row in a tree of at most this objective.

        Half the largest squared norm is part of the objective, and the offset of a plane can be
        such that some row that passes has a score of -1, 0 or 1 (-epsilon at most).
        """
        return 1.0 + float(np.sqrt(2.0 * objective)) * self.spread

    # --- judging ---------------------------------------------------------------------------

    def node_cost(self, signs: np.ndarray, scores: np.ndarray) -> np.ndarray:
        """Slack and relabelling of every row at a node, before weights."""
        kept = self._slack(signs, scores)
        if not self.problem.params["relabel"]:
            return kept
        return np.minimum(kept, self.price("c2") + self._slack(-signs, scores))

    def _slack(self, signs: np.ndarray, scores: np.ndarray) -> np.ndarray:
        """Price of the slack of every row with such a label."""
        return self.price("c1") * np.maximum(0.0, 1.0 - signs * scores)

    def evaluate(self, tree: Tree) -> float | None:
        """Objective by routing all rows; None for a tree outside the model."""
        visited = tree.node_rows(self.X)
        weights, norm, total = self.problem.weights, 0.0, 0.0
        for node, split in tree.splits.items():
            w, here = split.dense(self.X.shape[1]), visited[node]
            scores = self.X[here] @ w + split.solved_offset
            if not self._is_allowed(tree, node, scores):
                return None
            norm = max(norm, float(w @ w) / 2)
            total += float(weights[here] @ self.node_cost(self.signs[here], scores))
            total += self.price("c3") * bool(split.weights)
        for leaf, label in tree.labels.items():
            cost = self._leaf_cost(leaf, label, visited[leaf])
            if cost is None:
                return None
            total += cost
        return total + norm

    def _is_allowed(self, tree: Tree, node: int, scores: np.ndarray) -> bool:
        split = tree.splits[node]
        if topology.node_depth(node) >= self.problem.depth:
            return False
        if node > 1 and split.weights and not tree.splits[node // 2].weights:
            return False
        return node in self.last or self.is_strip_empty(scores)

    def _leaf_cost(self, leaf: int, label: int, here: np.ndarray) -> float | None:
        """Cost of the nodes without planes below a leaf; None for a sign of the wrong side."""
        levels = self.problem.depth - topology.node_depth(leaf)
        if levels == 0:
            return 0.0 if (leaf % 2 == 1) == (label == self.positive) else None
        sign = 1.0 if label == self.positive else -1.0
        cost = self.node_cost(self.signs[here], np.full(len(here), sign))
        return levels * float(self.problem.weights[here] @ cost)

    def tree(self, planes: Mapping[int, tuple[np.ndarray, float]], leaves: dict[int, int]) -> Tree:
        """Make the tree of planes; labels of leaves on the last level follow from their side."""
        first = 2**self.problem.depth
        labels = {
            leaf: (self.positive if leaf % 2 else 1 - self.positive) if leaf >= first else label
            for leaf, label in leaves.items()
        }
        return self.with_margins(planes, labels)

    # --- polishing -------------------------------------------------------------------------

    def improve(self, tree: Tree) -> Tree:
        """Planes that are best for the routing, alternated with moving rows and pruning."""
        deadline = time.perf_counter() + POLISH_SECONDS
        best = least(self.evaluate, tree, self.refit(tree))
        while time.perf_counter() < deadline:
            before = self.evaluate(best)
            for node in sorted(best.splits, reverse=True):
                if node not in best.splits or time.perf_counter() > deadline:
                    continue
                pruned = (self.refit(best.collapse(node, label)) for label in (0, 1))
                best = least(self.evaluate, best, *pruned)
                if node in best.splits and node in self.upper:
                    moved = self._reassigned(best, node)
                    if moved is not None:
                        best = least(self.evaluate, best, moved)
            after = self.evaluate(best)
            if before is not None and after is not None and after >= before - 1e-9:
                break
        return best

    def refit(self, tree: Tree) -> Tree:
        """Give every split the plane that is best for its rows and sides, with balanced norms.

        For fixed routing the largest squared norm is a maximum over weights (summing to 1) of the
        weighted sum, so nodes with narrow margins get more weight until the margins are level.
        """
        visited = tree.node_rows(self.X)
        splitting = [t for t in tree.splits if len(visited[t])]
        leaves = dict(tree.labels)
        share = {t: 1.0 / max(1, len(splitting)) for t in splitting}
        best, best_value = tree, self.evaluate(tree)
        for _ in range(BALANCE_ROUNDS):
            planes: Planes = {}
            for t in tree.splits:
                planes[t] = self._best_plane(tree, t, visited, share.get(t, 1.0))
            found = self.tree(planes, leaves)
            value = self.evaluate(found)
            if value is not None and (best_value is None or value < best_value):
                best, best_value = found, value
            norms = {t: max(1e-9, float(planes[t][0] @ planes[t][0])) for t in splitting}
            if len(norms) < 2 or max(norms.values()) <= min(norms.values()) * (1 + 1e-4):
                break
            share = {t: max(LEAST_SHARE, share[t] * norms[t] ** 0.5) for t in splitting}
            total = sum(share.values())
            share = {t: value / total for t, value in share.items()}
        return best

    def _best_plane(
        self, tree: Tree, node: int, visited: dict[int, np.ndarray], share: float
    ) -> tuple[np.ndarray, float]:
        """Plane of a node for its present rows and sides."""
        here = visited[node]
        relabels = self.problem.params["relabel"]
        signs = self._flipped(tree, node, here) if relabels else self.signs[here]
        penalty = self.price("c1") * self.problem.weights[here] / share
        if len(here) and node in self.last and np.ptp(signs) == 0:
            return np.zeros(self.X.shape[1]), float(signs[0])
        if len(here) and not (penalty > 0).any():
            return tree.splits[node].dense(self.X.shape[1]), tree.splits[node].solved_offset
        epsilon = self.price("epsilon") * (1 + 1e-6)
        return self.node_plane(node, visited, signs, penalty, epsilon)

    def _flipped(self, tree: Tree, node: int, here: np.ndarray) -> np.ndarray:
        """Labels at a node, flipped where the present plane makes that cheaper."""
        split, signs = tree.splits[node], self.signs[here]
        scores = split.project(self.X[here]) + split.solved_offset
        flip = self.price("c2") + self._slack(-signs, scores) < self._slack(signs, scores)
        return np.where(flip, -signs, signs)

    def _reassigned(self, tree: Tree, node: int) -> Tree | None:
        """Move an upper plane to where rows are cheaper below it, then refit all planes."""
        here = tree.node_rows(self.X)[node]
        gains = self.problem.weights[here] * (
            self._path_cost(tree, 2 * node, here) - self._path_cost(tree, 2 * node + 1, here)
        )
        if not (gains > 0).any() or not (gains < 0).any():
            return None
        split, X = tree.splits[node], self.X[here]
        rng = np.random.default_rng(self.problem.seed)
        weights, _ = improve_plane(X, split.dense(X.shape[1]), split.solved_offset, gains, rng)
        size = float(np.abs(weights).sum())
        if size <= 0:
            return None
        offset, gain = shift_into_gap(X, weights / size, gains, self.price("epsilon"))
        if not np.isfinite(gain):
            return None
        planes = {t: (s.dense(X.shape[1]), s.solved_offset) for t, s in tree.splits.items()}
        planes[node] = weights / size, offset
        return self.refit(self.tree(planes, dict(tree.labels)))

    def _path_cost(self, tree: Tree, node: int, here: np.ndarray) -> np.ndarray:
        """Cost of every row from a node on, before weights."""
        cost = np.zeros(len(here))
        for t, at in tree.node_rows(self.X[here], node).items():
            rows = here[at]
            if t in tree.labels:
                levels = self.problem.depth - topology.node_depth(t)
                sign = 1.0 if tree.labels[t] == self.positive else -1.0
                cost[at] += levels * self.node_cost(self.signs[rows], np.full(len(rows), sign))
                continue
            split = tree.splits[t]
            scores = split.project(self.X[rows]) + split.solved_offset
            cost[at] += self.node_cost(self.signs[rows], scores)
        return cost

    # --- starts ----------------------------------------------------------------------------

    def starts(self, patience: Patience) -> Iterator[tuple[str, Tree]]:
        """Yield single leaves, the local SVM tree, and accurate oblique trees, all polished."""
        shape = self.X.shape[1], 2
        for label in (1 - self.positive, self.positive):
            yield "warm start", Tree.leaf(label, *shape)
        if self.price("c1") == 0:
            return
        yield "local SVM", self.improve(self._local_svm(patience))
        points = count_classes(self.X, self.problem.y, self.problem.weights, 2)
        goal = TreeGoal(points, self.problem.depth, self.price("epsilon"), seed=self.problem.seed)
        for source, tree in TreeSearch(goal).trees(self.price("start_seconds"), patience):
            yield source, self.improve(self.adopt(tree))

    def _local_svm(self, stop: Callable[[], bool]) -> Tree:
        depth, c1, epsilon = self.problem.depth, self.price("c1"), self.price("epsilon")
        rows = self.X, self.signs
        routing = RoutingProblem(*rows, depth, c1, c1, epsilon, self.problem.weights)
        found, _ = local_svm(routing, stop)
        planes = {t: (found.weights[t - 1], float(found.biases[t - 1])) for t in self.T}
        return self.tree(planes, dict.fromkeys(topology.terminal_nodes(self.problem.depth), 0))

    def adopt(self, tree: Tree) -> Tree:
        """Turn the splits of any tree so that the second class tends to the right."""
        visited = tree.node_rows(self.X)

        def part(node: int) -> int | tuple[tuple[np.ndarray, float], int, int]:
            if node in tree.labels:
                return tree.labels[node]
            split, (left, right) = tree.splits[node], topology.children(node)
            weights, offset = split.dense(self.X.shape[1]), -split.threshold
            share = [
                self.signs[visited[child]].mean() if len(visited[child]) else 0.0
                for child in (left, right)
            ]
            if share[0] > share[1]:
                weights, offset, left, right = -weights, -offset, right, left
            # the nearest row gets a score of 1 in absolute value
            scores = self.X[visited[node]] @ weights + offset
            nearest = float(np.abs(scores).min(initial=np.inf))
            scale = 1.0 / nearest if 0 < nearest < np.inf else 1.0
            return (weights * scale, offset * scale), left, right

        return self.tree(*grown(1, part))

    def recentred(self, tree: Tree) -> Tree:
        """Same routing, every plane with its own widest margin: for pictures only.

        Planes other than the narrowest are free to lie anywhere within the largest norm; the
        objective that is reported stays that of the tree as solved.  A plane whose widest margin
        would send a row of its node elsewhere stays.
        """
        visited = tree.node_rows(self.X)
        planes = {t: self._best_plane(tree, t, visited, 1.0) for t in tree.splits}
        made, splits = self.tree(planes, dict(tree.labels)), dict(tree.splits)
        for node, own in tree.splits.items():
            rows = self.X[visited[node]]
            if (made.splits[node].goes_right(rows) == own.goes_right(rows)).all():
                splits[node] = made.splits[node]
        return replace(made, splits=splits)
