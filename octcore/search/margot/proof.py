"""What proves a bound on MARGOT trees: closed states that cover all routings, with multipliers.

A search of its own, depth first towards a bound that is given.  A state fixes path prefixes and,
under feature budgets, per node features that are kept and features that are allowed.  Whatever is
inferred in passing (a sample has only one side left) is a closed state of its own here: the state
with the sample on the other side.  At its multipliers the dual values of the node problems of a
state add up to its bound; beyond the budget of a node every feature is forbidden, which raises the
dual value by half its squared weight, or paid for, whichever is cheaper.
"""

from collections.abc import Callable, Generator, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from octcore.numerics.node_qp.plane import NodeProblem
from octcore.numerics.node_qp.rows import copy_node, load_rows, node_of
from octcore.search.margot import records
from octcore.search.margot.branching import AGAIN, BRANCH, PRUNED, branch
from octcore.search.margot.frame import RoutingFrame
from octcore.search.margot.start import node_membership, tree_objective
from octcore.search.margot.state import extend_path, lower_bound, solve_bank
from octcore.tree.tree import Tree

# Where no plane routes the rows of a node its dual value grows along a ray; so many bounds to be
# proven are enough of it, and far out rounding would be all that is left.
_FAR = 2.0


class ClosedState(NamedTuple):
    """A state whose trees are no better than the bound, and what says so.

    Rows are the distinct pairs of features and label in the order of `numpy.unique`.
    """

    prefix: NDArray[np.int64]  # deepest node to which the path of each row is known (0-based heap)
    multipliers: NDArray[np.float64]
    """Of the slack rows and of the routing rows, shape ``(n_nodes, 2 * n_rows)``."""
    kept: records.Masks
    allowed: records.Masks
    """`kept`, `allowed`: features that every plane of the state is charged for, and those that it
    may use, shape ``(n_nodes, n_features)``."""


def prove(
    problem: records.RoutingProblem,
    target: float,
    stop: Callable[[], bool],
    to_tree: Callable[[records.Planes], Tree],
) -> Generator[ClosedState | Tree, None, bool]:
    """Close states until they cover all routings, each with a bound that reaches `target`.

    `stop`: asked often; a true answer ends the proof before it covers everything.

    Yields closed states, those too that do not reach the target, where rounding leaves them open;
    and a tree better than the target, after which nothing comes.
    """
    merged, _ = records.merged_rows(problem)
    tracker = records.Tracker(stop=lambda _: stop())
    tracker.objective = target  # only trees that are better matter
    prover = _Prover(merged, target, tracker)
    yield from prover.run()
    if prover.better is not None:
        yield to_tree(prover.better)
    return prover.is_proven and not (tracker.stopped or len(prover.states))


class _Prover(RoutingFrame):
    """One proof, on merged rows."""

    def __init__(
        self, problem: records.RoutingProblem, target: float, tracker: records.Tracker
    ) -> None:
        super().__init__(problem, tracker)
        self.target = target
        self.states = records.OpenStates(step=-1)  # all of one bound: depth first
        self.closed: list[ClosedState] = []
        self.better: records.Planes | None = None
        self.is_proven = True  # whether all closed states reach the target

    def _trail_length(self) -> int:
        return len(self.problem.y) * self.problem.depth + 2

    def finished(self) -> float:
        """Bound that is to be proven."""
        return self.target

    def run(self) -> Iterator[ClosedState]:
        """Take up one open state after another; what closes comes out."""
        self.allocate()
        load_rows(node_of(self.bank, 0), np.zeros(len(self.prefix), np.int8))
        self._solve(self.bank)
        is_open = True
        while (is_open or len(self.states)) and not self.tracker.stop():
            if not is_open:
                state = self.states.pop(0)
                assert state is not None
                self.restore(state)
                self._solve(self.bank)
            is_open = self._advance()
            yield from self.closed
            self.closed.clear()
            if self.better is not None:
                return

    def _solve(self, bank: Any) -> None:
        """Solve the QPs that have new rows."""
        solve_bank(bank, self.data, _FAR * self.cutoff())

    def _beyond_budget(self, node: int, vector: NDArray[np.float64]) -> float:
        """Least price of the features of a node that the budget does not cover."""
        if not self.has_budgets:
            return 0.0
        n_kept = int(self.kept[node].sum())
        # The largest ones may be free; each of the others is forbidden or paid for.
        worth = np.sort(0.5 * vector[self.allowed[node] & ~self.kept[node]] ** 2)
        rest = worth[: max(0, len(worth) - max(0, int(self.budgets[node]) - n_kept))]
        beyond = n_kept - int(self.budgets[node])
        charge = self.price * beyond if beyond > 0 else 0.0
        return charge + float(np.minimum(rest, self.price).sum())

    def _rests(self, bank: Any) -> NDArray[np.float64]:
        """What features beyond their budgets cost every node at least."""
        p, nodes = self.problem.x.shape[1], range(self.problem.n_nodes)
        return np.array([self._beyond_budget(node, bank.vector[node, :p]) for node in nodes])

    def _dual(self, multipliers: NDArray[np.float64], prefix: NDArray[np.int64]) -> float:
        """Bound of a state at multipliers, without bias penalties."""
        total, n = 0.0, len(prefix)
        for node, row in enumerate(multipliers):
            used = np.flatnonzero((row[:n] != 0.0) | (row[n:] != 0.0))
            vector = np.zeros(self.problem.x.shape[1])
            if len(used):
                rows = self.problem.x[used], self.problem.y[used], self.penalties[node, used]
                qp = NodeProblem(*rows, node_membership(prefix, node)[used], self.problem.epsilon)
                value, vector = qp.dual(row[used], row[n + used])
                total += value + 0.5 * float((vector[~self.allowed[node]] ** 2).sum())
            total += self._beyond_budget(node, vector)
        return total

    def _cold_multipliers(self, prefix: NDArray[np.int64]) -> NDArray[np.float64]:
        n, multipliers = len(prefix), np.zeros((self.problem.n_nodes, 2 * len(prefix)))
        for node, found in enumerate(self.solve_nodes(prefix)):
            here = np.flatnonzero(node_membership(prefix, node) < 2)
            multipliers[node, here], multipliers[node, n + here] = np.split(found.multipliers, 2)
        return multipliers

    def _close(self, bank: Any, prefix: NDArray[np.int64], is_due: bool = False) -> bool:
        """Close a state whose bound reaches the target, or all the same where that is due."""
        multipliers, value = bank.multiplier, self._dual(bank.multiplier, prefix)
        penalised = float(lower_bound(bank) + self._rests(bank).sum())
        if value < self.target and (is_due or penalised >= self.target):
            cold = self._cold_multipliers(prefix)
            found = self._dual(cold, prefix)
            if found > value:
                multipliers, value = cold, found
        # Beyond the cutoff the search would not look at it again: it is closed, and not proven.
        if value < self.target and not is_due and penalised < self.cutoff():
            return False
        self.is_proven = self.is_proven and value >= self.target
        masks = self.kept.copy(), self.allowed.copy()
        self.closed.append(ClosedState(prefix.copy(), multipliers.copy(), *masks))
        return True

    def _close_or_keep(self, bank: Any, prefix: NDArray[np.int64]) -> None:
        if not self._close(bank, prefix):
            self.keep_open(0.0, prefix, bank)

    def _advance(self) -> bool:
        """Close the current state, tighten it or split it; True while one is in hand."""
        if self._close(self.bank, self.prefix):
            return False
        before, trail = self.prefix.copy(), self.data.trail
        for node in range(self.problem.n_nodes):
            copy_node(node_of(self.bank, node), node_of(self.pair, node))
        trail[0], trail[-1] = 0, -1
        code = self.process(1)
        stuck = int(trail[-1])
        self._close_other_sides(before, trail[1 : 1 + trail[0]].tolist())
        if code == AGAIN:
            return True
        if code != PRUNED:
            return self._split(code == BRANCH)
        if stuck < 0:
            self._close(self.bank, self.prefix, is_due=True)
            return False
        for side in (-1, 1):
            self._look_aside(self.bank, self.pair, self.prefix, stuck, side)
        return False

    def _close_other_sides(self, before: NDArray[np.int64], moved: list[int]) -> None:
        """Close the states in which a sample that was fixed goes the other way.

        ``pair`` holds the QPs of the state before and follows the fixed samples.
        """
        for sample in moved:
            if self.tracker.stop():  # of many rows one step can fix thousands
                return
            side = int(node_membership(self.prefix[[sample]], int(before[sample]))[0])
            self._look_aside(self.pair, self.complete, before, sample, -side)
            extend_path(self.pair, self.data, before, sample, side)
            self._solve(self.pair)

    def _look_aside(
        self, source: Any, target: Any, prefix: NDArray[np.int64], sample: int, side: int
    ) -> None:
        """Close or keep the state that sends one more sample of a state to a side."""
        child = prefix.copy()
        for node in range(self.problem.n_nodes):
            copy_node(node_of(source, node), node_of(target, node))
        extend_path(target, self.data, child, sample, side)
        self._solve(target)
        self._close_or_keep(target, child)

    def _split(self, has_choice: bool) -> bool:
        """Decide a feature where the budget bites, else a sample."""
        costs = self._rests(self.bank) * (self.allowed & ~self.kept).any(axis=1)
        room = max(0.0, self.cutoff() - float(lower_bound(self.bank)) - float(costs.sum()))
        node = self.biting_node(costs, room, has_choice)
        if node is not None:
            self._split_feature(node)
            return False
        if not has_choice and not self.choose_nearest():
            self._end()
            return False
        far = np.empty_like(self.prefix)
        arguments = (self.bank, self.pair, self.data, self.prefix)
        branch(*arguments, _FAR * self.cutoff(), self.desk.choice, far)
        self._close_or_keep(self.pair, far)
        return True

    def _split_feature(self, node: int) -> None:
        """Leave open the states in which a node uses its heaviest free feature, and does not."""
        free = self.allowed[node] & ~self.kept[node]
        for masks in self.feature_sides(node, free):
            self.keep_open(0.0, self.prefix, self.bank, masks=masks)

    def _end(self) -> None:
        """Nothing is left to decide: either the tree of the state is better than the target."""
        planes = records.Planes.of([one.plane for one in self.solve_nodes(self.prefix)])
        routes = self.keeps_routing(planes, self.prefix)
        if routes and tree_objective(self.problem, planes, self.prefix) < self.target:
            self.better = planes
        self._close(self.bank, self.prefix, is_due=True)
