"""MM-SVM-OCT on a handful of rows: all routings, all flipped labels, all nodes without a plane.

The nodes of a tree share half the largest squared norm, so a tree is one convex program.  Its
multipliers give a bound: with v_t the weighted rows of node t, the best shares of the norm term
leave ``(sum_t ||v_t||)^2 / 2``.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from tests.referee.convex import Undecided, agree, balanced, clarabel, feasible_plane, strip_width
from tests.referee.partitions import equal_rows


@dataclass(frozen=True, eq=False)
class NodePart:
    """Rows of one node with a plane: signs after flipping, price of slack, sides.

    Parameters
    ----------
    x, y, cost : numpy.ndarray
        Rows, signs and prices of slack.
    sides : numpy.ndarray or None
        -1 or +1 per row; None on the last level.
    """

    x: np.ndarray
    y: np.ndarray
    cost: np.ndarray
    sides: np.ndarray | None


@dataclass(frozen=True, eq=False)
class LargestNorm:
    """MM-SVM-OCT of depth 1 or 2.

    Parameters
    ----------
    X, signs, weights : numpy.ndarray
        Rows, their signs and weights.
    depth : int
        1 or 2.
    c1, c2, c3 : float
        Prices of slack, of a flipped label and of a plane; c2 infinite without relabelling.
    epsilon : float
        Strip of the upper plane.
    """

    X: np.ndarray
    signs: np.ndarray
    weights: np.ndarray
    depth: int
    c1: float
    c2: float
    c3: float
    epsilon: float

    def optimum(self) -> float:
        """Least objective over all routings, flips and planes."""
        best = np.inf
        candidates = sorted(self._candidates(), key=lambda candidate: candidate[0])
        for known, parts in candidates:
            if known >= best:
                break
            if not parts:
                best = min(best, known)
                continue
            best = min(best, known + shared_norm(parts, self.epsilon))
        return best

    def _candidates(self) -> Iterator[tuple[float, list[NodePart]]]:
        """Cost that is known before any plane, and the nodes that have one."""
        everything = tuple(range(len(self.signs)))
        if self.depth == 1:
            yield from self._node(everything, None)
            return
        for left, right in self._routings():
            sides = np.array([-1 if i in left else 1 for i in everything])
            below = list(itertools.product(self._node(left, None), self._node(right, None)))
            for cost, parts in self._node(everything, sides):
                for first, second in below:
                    if not parts and (first[1] or second[1]):
                        continue  # no plane below a node without one
                    yield cost + first[0] + second[0], parts + first[1] + second[1]

    def _routings(self) -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
        groups = equal_rows(self.X)
        for pattern in itertools.product((0, 1), repeat=len(groups)):
            left = [i for g, s in zip(groups, pattern, strict=True) if not s for i in g]
            right = [i for g, s in zip(groups, pattern, strict=True) if s for i in g]
            if left and right:
                if strip_width(self.X[left], self.X[right]) <= 1e-9:
                    continue
            yield tuple(left), tuple(right)

    def _node(
        self, rows: tuple[int, ...], sides: np.ndarray | None
    ) -> list[tuple[float, list[NodePart]]]:
        """One node without a plane, and with one for every way to flip labels."""
        at = list(rows)
        y, w, x = self.signs[at], self.weights[at], self.X[at]
        found: list[tuple[float, list[NodePart]]] = [(self._constant(y, w, sides), [])]
        flips = itertools.product((1.0, -1.0), repeat=len(at)) if np.isfinite(self.c2) else [()]
        for flip in flips:
            factor = np.array(flip) if len(flip) else np.ones(len(at))
            price = self.c3 + (self.c2 * float(w[factor < 0].sum()) if (factor < 0).any() else 0.0)
            found.append((price, [NodePart(x, y * factor, self.c1 * w, sides)]))
        return found

    def _constant(self, y: np.ndarray, w: np.ndarray, sides: np.ndarray | None) -> float:
        """Least cost of a node whose score is the same for all rows."""
        if not len(y):
            return 0.0
        scores = [-1.0, 1.0]
        if sides is not None:
            if np.ptp(sides):
                return np.inf
            scores = [1.0, 0.0] if sides[0] > 0 else [-1.0, -self.epsilon]
        return min(
            float(
                w
                @ np.minimum(
                    self.c1 * np.maximum(0.0, 1 - y * s),
                    self.c2 + self.c1 * np.maximum(0, 1 + y * s),
                )
            )
            for s in scores
        )


def shared_norm(parts: list[NodePart], epsilon: float) -> float:
    """Least half the largest squared norm plus slacks; infinite where sides cannot be kept."""
    for part in parts:
        sides = part.sides
        if sides is not None and (sides < 0).any() and (sides > 0).any():
            if strip_width(part.x[sides < 0], part.x[sides > 0]) <= 1e-9:
                return np.inf
    p = parts[0].x.shape[1]
    widths = [p + 1 + len(part.y) for part in parts]
    starts = np.cumsum([1, *widths])
    size = int(starts[-1])
    linear = np.zeros(size)
    linear[0] = 1.0
    rows, limits, cones = [], [], []
    for part, start in zip(parts, starts, strict=False):
        n = len(part.y)
        linear[start + p + 1 : start + p + 1 + n] = part.cost
        block = np.zeros((2 * n if part.sides is None else 3 * n, size))
        block[:n, start : start + p] = -part.y[:, None] * part.x
        block[:n, start + p] = -part.y
        block[:n, start + p + 1 : start + p + 1 + n] = -np.eye(n)
        block[n : 2 * n, start + p + 1 : start + p + 1 + n] = -np.eye(n)
        limit = np.concatenate([-np.ones(n), np.zeros(n)])
        if part.sides is not None:
            s = part.sides.astype(float)
            block[2 * n :, start : start + p] = -s[:, None] * part.x
            block[2 * n :, start + p] = -s
            limit = np.concatenate([limit, np.where(s < 0, -epsilon, 0.0)])
        rows.append(block)
        limits.append(limit)
        cones.append(clarabel.NonnegativeConeT(len(limit)))
    for start in starts[: len(parts)]:
        # ||(w, delta - 1/2)|| <= delta + 1/2
        block = np.zeros((p + 2, size))
        block[0, 0] = block[1, 0] = -1.0
        block[2:, start : start + p] = -np.eye(p)
        rows.append(block)
        limits.append(np.concatenate([[0.5, -0.5], np.zeros(p)]))
        cones.append(clarabel.SecondOrderConeT(p + 2))
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-11
    matrix = sparse.csc_matrix(np.vstack(rows))
    found = clarabel.DefaultSolver(
        sparse.csc_matrix((size, size)), linear, matrix, np.concatenate(limits), cones, settings
    ).solve()
    point, duals = np.array(found.x), np.array(found.z)
    if not np.isfinite(point).all() or not np.isfinite(duals).all():
        raise Undecided("no solution")
    return agree(*_checked(parts, starts, point, duals, epsilon))


def _checked(
    parts: list[NodePart], starts: np.ndarray, point: np.ndarray, duals: np.ndarray, epsilon: float
) -> tuple[float, float]:
    """Value of a feasible point, and the bound of feasible multipliers."""
    upper, bound, norms, largest, row = 0.0, 0.0, 0.0, 0.0, 0
    p = parts[0].x.shape[1]
    for part, start in zip(parts, starts, strict=False):
        n = len(part.y)
        w = point[start : start + p]
        plane = feasible_plane(w, part.x, part.y, part.cost, part.sides, epsilon)
        half = float(plane.weights @ plane.weights) / 2
        upper += plane.value - half
        largest = max(largest, half)
        alpha = np.clip(duals[row : row + n], 0.0, part.cost)
        routed = np.zeros(n)
        s = np.zeros(n)
        row += 2 * n
        if part.sides is not None:
            routed, s = np.maximum(0.0, duals[row : row + n]), part.sides.astype(float)
            row += n
        alpha, routed = balanced(alpha, routed, part.y, s)
        bound += float(alpha.sum() + epsilon * routed[s < 0].sum())
        norms += float(np.linalg.norm((alpha * part.y) @ part.x + (routed * s) @ part.x))
    return upper + largest, bound - norms**2 / 2
