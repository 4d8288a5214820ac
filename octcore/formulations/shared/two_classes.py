"""Trees of support vector machines on two classes: what MARGOT and MM-SVM-OCT share.

Classes are signs.  A row goes right where ``w_t.x + b_t`` is not negative, and planes above the
last level keep an empty strip of width epsilon.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from octcore.formulations.shared.tree_model import MergedRows, merge_rows
from octcore.numerics.node_qp.plane import NodeProblem
from octcore.parameters import FloatRange
from octcore.program import Problem
from octcore.tree import topology

EPSILON = FloatRange(
    "epsilon",
    1e-3,
    "ε",
    "Width of the strip left of every upper plane that holds no row.",
    low=1e-5,
    high=1.0,
    advanced=True,
)
GAP = 1e-4
"""Relative gap that counts as closed: norms are solved, or bounded by tangents, up to rounding."""
STRIP_TOLERANCE = 1e-7  # routed rows may miss a strip by this much: half of HiGHS' tolerance


@dataclass(frozen=True, eq=False)
class TwoClassTrees:
    """Rows of a problem, coded by signs, and the planes that fit them."""

    problem: Problem  # two classes, columns scaled to [0, 1]

    @cached_property
    def X(self) -> np.ndarray:
        """Rows as numbers."""
        return np.ascontiguousarray(self.problem.X, dtype=np.float64)

    @property
    def positive(self) -> int:
        """Class index of +1."""
        return self.problem.context.positive_class

    @cached_property
    def signs(self) -> np.ndarray:
        """-1 or +1 of every row."""
        return np.where(self.problem.y == self.positive, 1.0, -1.0)

    @cached_property
    def rows(self) -> MergedRows:
        """Rows merged by features and class; y is 1 for the positive class."""
        return merge_rows(self.X, (self.signs > 0).astype(np.int64), self.problem.weights)

    @property
    def T(self) -> range:
        """Branch nodes."""
        return topology.branch_nodes(self.problem.depth)

    @property
    def upper(self) -> range:
        """T': branch nodes above the last level."""
        return topology.branch_nodes(self.problem.depth - 1)

    @property
    def last(self) -> range:
        """T'': branch nodes of the last level."""
        return topology.terminal_nodes(self.problem.depth - 1)

    def price(self, name: str) -> float:
        """A hyperparameter as a number."""
        return float(self.problem.params[name])

    @cached_property
    def spread(self) -> float:
        """Farthest that two rows can be apart, in the norm dual to that of the weights."""
        return float(np.linalg.norm(np.ptp(self.X, axis=0)))

    def weight_box(self, reach: float) -> float:
        """Largest weight of a plane whose scores are within a reach, some of them within 1."""
        return (reach - 1.0) / self.spread if self.spread > 0 else 1.0

    def is_strip_empty(self, scores: np.ndarray) -> bool:
        """Whether no row lies between the sides of an upper plane."""
        inside = (scores > STRIP_TOLERANCE - self.price("epsilon")) & (scores < -STRIP_TOLERANCE)
        return not inside.any()

    def node_plane(
        self,
        node: int,
        visited: Mapping[int, np.ndarray],
        signs: np.ndarray,
        penalty: np.ndarray,
        epsilon: float,
        stop: Callable[[], bool],
        columns: np.ndarray | None = None,
    ) -> tuple[np.ndarray, float]:
        """Plane of least norm and slack for the rows of a node, which keep to their sides.

        `visited`: rows by node.
        `signs`, `penalty`: of the rows at the node.
        `stop`: asked during the work; when it says so, any plane may be returned.
        `columns`: features that it may use; None for all.
        """
        here = visited[node]
        if not len(here):  # any plane will do: this one has no norm and no slack
            return np.zeros(self.X.shape[1]), -1.0 if node % 2 == 0 else 1.0
        sides = np.zeros(len(here), np.int8)
        if node in self.upper:
            sides = np.where(np.isin(here, visited[2 * node]), -1, 1).astype(np.int8)
        plane = NodeProblem(self.X[here], signs, penalty, sides, epsilon, stop).solve(columns).plane
        return plane.weights, float(plane.bias)

    def coding_claims(self, *others: str) -> tuple[str, ...]:
        """What a proof covers, and which class is which sign; that all rows are alike, if so."""
        classes, positive = self.problem.context.classes, self.positive
        if len(classes) < 2:
            return (f"all rows are {classes[positive]}",)
        coding = (
            f"{classes[1 - positive]} is coded -1 (left leaves), {classes[positive]} +1 (right)"
        )
        return *others, coding
