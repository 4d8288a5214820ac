"""Shattering inequalities: sides that no hyperplane can give to a few points.

If no plane (with a gap of at least epsilon) sends the points of I to the sides lambda, then at
every branch node t::

    sum_{i in I, lambda_i = left} w_i,2t + sum_{i in I, lambda_i = right} w_i,2t+1 <= |I| - 1

where ``w`` says which rows visit a node: (13) of Boutilier, Michini and Zhou, found as (17) at a
point whose system (16) has no solution.  Minimal sets have at most p + 2 points.  A set found at
one node holds at all nodes, and with the sides exchanged.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix

from octcore.numerics.hulls import SUPPORT, HullDistance
from octcore.numerics.linear import FloatArray, IntArray, sparse_rows
from octcore.program import Columns, Cuts, Point, SearchState

Routing = Mapping[int, tuple[IntArray, IntArray]]
"""By branch node, the columns whose sum says that a point goes left, and right: shape
``(n_points, n_columns_per_point)``."""

RELATIVE_TOLERANCE = 1e-4
"""Hulls nearer than epsilon by less than this are left alone: the linear program has an error."""
VIOLATION = 1e-5  # ten times what solvers of linear programs leave
REDUCIBLE_SIZE = 8
"""Supports up to this size are made irreducible, one small linear program per point."""
STEERING = 0.05  # added to the price of used points, so that the next set is another one
MEMORY = 0.5  # weight of the past in the prices that steer towards points not used yet


@dataclass(frozen=True)
class ShatteredSet:
    """Points that cannot be divided like this."""

    left: tuple[int, ...]
    right: tuple[int, ...]

    def __len__(self) -> int:
        return len(self.left) + len(self.right)

    @property
    def mirrored(self) -> "ShatteredSet":
        """The same points with the sides exchanged."""
        return ShatteredSet(self.right, self.left)


class SetFinder:
    """Finds shattered sets among points that are sent left and right.

    `epsilon`: gap that every plane must have; not 0, because a linear program cannot tell hulls
    apart that are nearer than its tolerance.
    """

    def __init__(self, X: FloatArray, epsilon: float) -> None:
        self.X, self.epsilon = X, epsilon
        self.prices = np.zeros(len(X))

    def find(self, left: IntArray, right: IntArray, count: int) -> list[ShatteredSet]:
        """Up to `count` different sets; none if a plane divides the points with gap epsilon.

        The first support is any vertex; the next ones prefer points that were rarely used, by
        prices that halve at every step and grow by one for the points of a set.
        """
        hulls = self._hulls(left, right)
        if hulls is None:
            return []
        at = np.concatenate([left, right])
        found: list[ShatteredSet] = []
        multipliers: FloatArray | None = hulls.multipliers
        seen: set[ShatteredSet] = set()
        while multipliers is not None:
            raw = _support(multipliers, left, right)
            if raw in seen or set(raw.left) & set(raw.right):
                break
            seen.add(raw)
            reduced = self.irreducible(raw)
            if reduced not in found:
                found.append(reduced)
            if len(found) >= count:
                break
            self.prices *= MEMORY
            self.prices[[*raw.left, *raw.right]] += 1.0
            # Hulls nearer than epsilon are enough; the least distance need not be met again.
            multipliers = hulls.cheapest(self.prices[at], 0.999 * self.epsilon)
        return found

    def find_fractional(
        self, left: IntArray, right: IntArray, lack: FloatArray, count: int
    ) -> list[ShatteredSet]:
        """Sets among points that go a side only in part, by the multipliers that lack least.

        `left`, `right`: candidates for the two sides; a point may be among both.
        `lack`: what a candidate lacks to going its side entirely, left ones first.  A set is
        violated when its members lack less than 1 together.
        """
        hulls = self._hulls(left, right)
        if hulls is None:
            return []
        found: list[ShatteredSet] = []
        prices = lack.copy()
        for _ in range(count):
            multipliers = hulls.cheapest(prices, 0.999 * self.epsilon)
            if multipliers is None:
                break
            used = multipliers > SUPPORT
            chosen = _support(multipliers, left, right)
            if lack[used].sum() >= 1.0 - VIOLATION or set(chosen.left) & set(chosen.right):
                break
            found.append(self.irreducible(chosen))
            prices[used] += STEERING
        return list(dict.fromkeys(found))

    def irreducible(self, found: ShatteredSet) -> ShatteredSet:
        """Drop points that the set does not need; large sets stay as they are."""
        if len(found) > REDUCIBLE_SIZE:
            return found
        for point in (*found.left, *found.right):
            left = [i for i in found.left if i != point]
            right = [i for i in found.right if i != point]
            if self._hulls(np.array(left), np.array(right)) is not None:
                found = ShatteredSet(tuple(left), tuple(right))
        return found

    def _hulls(self, left: IntArray, right: IntArray) -> HullDistance | None:
        """Hulls of two sets that no plane divides with gap epsilon; None if one does."""
        if not len(left) or not len(right):
            return None
        hulls = HullDistance(self.X[left], self.X[right])
        return hulls if hulls.distance < self.epsilon * (1 - RELATIVE_TOLERANCE) else None


def _support(multipliers: FloatArray, left: IntArray, right: IntArray) -> ShatteredSet:
    used = multipliers > SUPPORT
    return ShatteredSet(
        tuple(sorted(left[used[: len(left)]].tolist())),
        tuple(sorted(right[used[len(left) :]].tolist())),
    )


class ShatteringSeparator:
    """Separates shattering inequalities at some nodes of a perfect tree.

    `routing`: columns of the routing variables of all branch nodes.
    `nodes`: where the sides of the points are examined; what is found is used at all nodes.
    `epsilon`: gap that every plane must have.
    `n_cuts`: most sets per node and round.
    `rounds`: largest number of rounds; None for no limit.
    """

    kind = "shattering"
    LIFE = 40  # LPs that a slack row survives; sets are remembered and come back when violated
    PICTURES = 6

    def __init__(
        self,
        X: FloatArray,
        routing: Callable[[Columns], Routing],
        nodes: Iterable[int],
        epsilon: float,
        n_cuts: int,
        rounds: int | None = None,
    ) -> None:
        self.X, self.nodes, self.n_cuts = X, tuple(nodes), n_cuts
        self.rounds = rounds
        self.finder = SetFinder(X, epsilon)
        self.sets: list[ShatteredSet] = []
        self._known: set[ShatteredSet] = set()
        self._make_routing = routing
        self._routing: Routing | None = None
        self._incidence = (csr_matrix((0, len(X))), csr_matrix((0, len(X))))
        self._pictured = 0

    def separate(self, point: Point, state: SearchState) -> list[Cuts]:
        """Return violated inequalities: remembered sets first, then new ones."""
        if self.rounds is not None and state.round >= self.rounds:
            return []
        sides, first = self._sides(point), 0
        rows = self._violated(sides, first)
        if not rows:
            first = len(self.sets)
            for node in self.nodes:
                for found in self._find(*sides[node]):
                    self._remember(found)
            rows = self._violated(sides, first)
        return [self._cuts(rows, point.columns.n_columns)] if rows else []

    def tension(self, point: Point) -> dict[int, FloatArray]:
        """How much deciding a point at a branch node would decide for others: positive, by point.

        A set that is nearly tight forces its other members when one more goes its side; what a
        point forces on the left is multiplied by what it forces on the right.
        """
        found: dict[int, FloatArray] = {}
        left_of, right_of = self._incidence
        limits = np.array([len(s) - 1 for s in self.sets], float)
        for node, (goes_left, goes_right) in self._sides(point).items():
            # A little for points of no set yet: they may have to be decided, too.
            force = [np.full(len(self.X), 0.01), np.full(len(self.X), 0.01)]
            for a, b in ((left_of, right_of), (right_of, left_of)):
                tight = np.exp(-4.0 * np.maximum(0.0, limits - a @ goes_left - b @ goes_right))
                force[0] += a.T @ tight
                force[1] += b.T @ tight
            found[node] = force[0] * force[1]
        return found

    def _sides(self, point: Point) -> dict[int, tuple[FloatArray, FloatArray]]:
        if self._routing is None:
            self._routing = self._make_routing(point.columns)
        return {
            node: (point.x[left].sum(axis=1), point.x[right].sum(axis=1))
            for node, (left, right) in self._routing.items()
        }

    def _find(self, goes_left: FloatArray, goes_right: FloatArray) -> list[ShatteredSet]:
        p = self.X.shape[1]
        # A set has p + 2 points at most, so that those above this lack less than 1 together: what
        # is found is violated.
        threshold = (p + 1) / (p + 2)
        left = np.flatnonzero(goes_left > threshold)
        right = np.flatnonzero(goes_right > threshold)
        found = self.finder.find(left, right, self.n_cuts)
        left = np.flatnonzero(goes_left > VIOLATION)
        right = np.flatnonzero(goes_right > VIOLATION)
        lack = np.concatenate([1 - goes_left[left], 1 - goes_right[right]])
        if (lack > VIOLATION).any():
            found += self.finder.find_fractional(left, right, lack, self.n_cuts)
        return found

    def _remember(self, found: ShatteredSet) -> None:
        if found in self._known:
            return
        self._known |= {found, found.mirrored}
        self.sets.append(found)
        self._incidence = tuple(  # type: ignore[assignment]
            _with_row(matrix, points, len(self.X))
            for matrix, points in zip(self._incidence, (found.left, found.right), strict=True)
        )

    def _violated(
        self, sides: Mapping[int, tuple[FloatArray, FloatArray]], first: int
    ) -> list[tuple[int, ShatteredSet]]:
        """Node and (perhaps mirrored) set of every violated inequality, the worst first."""
        left_of, right_of = (matrix[first:] for matrix in self._incidence)
        sets = self.sets[first:]
        limits = np.array([len(s) - 1 for s in sets], float) + VIOLATION
        found: list[tuple[float, int, ShatteredSet]] = []
        for node, (goes_left, goes_right) in sides.items():
            for a, b, mirrored in ((left_of, right_of, False), (right_of, left_of, True)):
                excess = a @ goes_left + b @ goes_right - limits
                for k in np.flatnonzero(excess > 0):
                    chosen = sets[k].mirrored if mirrored else sets[k]
                    found.append((float(excess[k]), node, chosen))
        found.sort(key=lambda entry: (-entry[0], entry[1], entry[2].left))
        most = max(20, 4 * self.n_cuts * len(self.nodes))
        return [(node, chosen) for _, node, chosen in found[:most]]

    def _cuts(self, rows: list[tuple[int, ShatteredSet]], n_columns: int) -> Cuts:
        assert self._routing is not None
        indices: list[IntArray] = []
        rhs, pictures = [], []
        for node, chosen in rows:
            left, right = self._routing[node]
            columns = [left[list(chosen.left)].ravel(), right[list(chosen.right)].ravel()]
            indices.append(np.concatenate(columns))
            rhs.append(len(chosen) - 1.0)
            pictures.append({"node": node, "left": list(chosen.left), "right": list(chosen.right)})
        matrix = sparse_rows(indices, n_columns)
        return Cuts(self.kind, matrix, np.array(rhs), self.LIFE, tuple(pictures[: self.PICTURES]))


def _with_row(matrix: csr_matrix, points: tuple[int, ...], n_points: int) -> csr_matrix:
    """Append an incidence row; the arrays are extended, nothing is sorted again."""
    count = len(points)
    indices = np.append(matrix.indices, np.array(points, dtype=matrix.indices.dtype))
    ends = np.append(matrix.indptr, matrix.indptr[-1] + count)
    entries = np.append(matrix.data, np.ones(count)), indices, ends
    return csr_matrix(entries, (len(matrix.indptr), n_points))


def table_columns(component: Any, n_points: int, nodes: range) -> Callable[[Columns], Routing]:
    """Routing of a model with one variable per point and node, in that index order."""

    def routing(columns: Columns) -> Routing:
        table = columns.of(component).reshape(n_points, len(nodes))
        return {
            node: (table[:, [nodes.index(2 * node)]], table[:, [nodes.index(2 * node + 1)]])
            for node in range(1, (nodes.stop) // 2)
        }

    return routing
