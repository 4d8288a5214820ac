"""Routing search from depth 3 on: the two trees below the root are searched for by themselves.

Once it is known which samples go left and which right, the best trees below the root do not depend
on each other.  A state fixes sides at the root for some samples, and holds for either side the open
states of the search for the tree of its samples; its bound is the QP of the root and the least
bound of either side.  So what is found out about one side is not found out again for every state of
the other one.  The open states of a side stay valid for more samples: a sample that joins is free
in each of them.
"""

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from octcore.numerics.node_qp.rows import copy_node, load_rows, new_bank, node_of
from octcore.numerics.node_qp.solver import PIVOT_LIMIT
from octcore.search.margot import below
from octcore.search.margot.branching import AGAIN, COMPLETE, new_desk
from octcore.search.margot.core import EAGER_STATES, EVERY, Neighbourhoods, RoutingSearch
from octcore.search.margot.frame import nearest
from octcore.search.margot.records import OpenState, SideStates, Tracker
from octcore.search.margot.root_rows import choose_root, complete_routing, restore_root, send
from octcore.search.margot.start import strip_shift
from octcore.search.margot.state import clear_bank, solve_all_chunks, solve_bank

# Effort only: open states of a side that are worked on before a sample is sent at the root.
_BELOW = 1
_SIDES = (0, 1)
# Effort only: leave a dive whose bound is so far from the best open bound to the incumbent.  At
# depth 2 dives go to their end: that took 3 to 16 % fewer states.
_DIVE = 0.5
# Effort only: states of the search for a tree of one level less, which becomes a start.
_FEWER_LEVELS_STATES = 500


class NestedSearch(RoutingSearch):
    """One run of the search at depth 3 or more, without feature budgets."""

    heaps: tuple[SideStates, SideStates]
    """Open states of either side; states of the root share them."""

    def start(self) -> None:
        """First incumbents; one is a good tree of one level less, each leaf split by its plane."""
        super().start()
        problem = self.problem
        fewer = replace(problem, depth=problem.depth - 1, c_last=problem.c_upper, threads=1)
        few = Tracker(stop=lambda n: n >= _FEWER_LEVELS_STATES or self.tracker.stop())
        search = RoutingSearch(fewer, few)
        search.start()
        search.run()
        planes, routing = search.tracker.planes, search.tracker.routing.copy()
        for node in range(fewer.n_upper, fewer.n_nodes):
            here = np.flatnonzero(routing == node)
            if len(here):
                score = problem.x[here] @ planes.weights[node] + planes.biases[node]
                score += strip_shift(score, problem.epsilon)
                routing[here] = 2 * node + 1 + (score > -0.5 * problem.epsilon)
        self.try_routing(routing, "warm start")

    def make_banks(self) -> None:
        """Make what the kernels write on; a thread has its own."""
        super().make_banks()
        n, width = self.rows.shape
        dims = self.problem.x.shape[1] + 1
        size = self.problem.n_upper
        self.root, self.root_pair = (new_bank(1, n, dims, width) for _ in range(2))
        self.current = self.root
        self.below = tuple(new_bank(size, n, dims, width) for _ in _SIDES)
        self.below_pair = new_bank(size, n, dims, width)
        self.below_desk = new_desk(n, dims, width)
        self.below_prefix = [np.full(n, -1, np.int64) for _ in _SIDES]
        self.side_desk = below.new_side_desk(n, below.width_of(size))
        self.solves = max(1, min(200, 40_000_000 // (n * dims * dims)))
        nodes = [full_node(0, node) for node in range(size)]
        self.below_data = self.data._replace(
            layer=np.zeros(size, np.int64),
            upper=np.ascontiguousarray(self.penalties[nodes]),
            trail=self.data.trail.copy(),
        )
        for bank in (self.root, *self.below):
            clear_bank(bank)

    def _load_root(self) -> None:
        load_rows(node_of(self.root, 0), np.zeros(len(self.prefix), np.int8))
        none = np.zeros(0, np.int64)
        one = np.zeros(1), np.zeros(1, np.int64), np.zeros((1, 0), np.uint8)
        empty = SideStates(0.0, none, *one)
        self.heaps = (empty, empty)

    def settle(self, cold: bool = False) -> bool:
        """Solve the QP of the root to the end; False if stopped."""
        while solve_all_chunks(self.root, self.data, self.chunk) == PIVOT_LIMIT:
            if self.tracker.stop():
                return False
        return True

    def value(self) -> float:
        """Bound of the current state with its bias penalties."""
        return max(self.inherited, float(self.root.value[0, 0]) + self._lows())

    def _lows(self) -> float:
        return self.heaps[0].low + self.heaps[1].low

    def _make_nearby(self) -> Neighbourhoods:
        plain = RoutingSearch(self.problem, self.tracker)
        plain.seen, plain.number = self.seen, self.number
        plain.allocate()
        return Neighbourhoods(plain)

    def restore(self, state: OpenState) -> None:
        """Take up a state of the root."""
        self.prefix = state.prefix.astype(np.int64)
        restore_root(self.root, self.data, self.prefix, state.packed)
        self.heaps = (state.below[0], state.below[1])

    def beside(self) -> dict[str, Any]:
        """Open states of either side."""
        return {"below": self.heaps}

    def _expand(self) -> bool:
        """Work on both sides, then send a sample to a side of the root."""
        self.nodes += 1
        complete = [self._raise(side, _BELOW) for side in _SIDES]
        self.inherited = value = self.value()
        if value >= self.cutoff():
            return False
        room = self._root_cutoff() - float(self.root.value[0, 0])
        arguments = (self.root, *self.below, self.data, self.below_data)
        found = choose_root(*arguments, self.prefix, self.desk, room, self.ignored())
        if found == -1:
            return False
        if found == -2:  # rows were sent where they have to go: the root costs more
            return bool(solve_bank(self.root, self.data, self._root_cutoff()))
        if self.nodes <= EAGER_STATES or self.nodes % EVERY == 0:
            self.descend()
        if found == 0:
            return self._finish() if all(complete) else True
        return self._split()

    def _root_cutoff(self) -> float:
        return self.cutoff() - self._lows()

    def _split(self) -> bool:
        sample, side = int(self.desk.choice[0]), int(self.desk.choice[1])
        limit, before = self._root_cutoff(), self.value()
        copy_node(node_of(self.root, 0), node_of(self.root_pair, 0))
        far = self.prefix.copy()
        send(self.root_pair, self.data, far, sample, -side)
        if solve_bank(self.root_pair, self.data, limit):
            bound = max(before, float(self.root_pair.value[0, 0]) + self._lows())
            self.keep_open(bound, far, self.root_pair)
        send(self.root, self.data, self.prefix, sample, side)
        return bool(solve_bank(self.root, self.data, limit)) and self._dive(self.value())

    def _dive(self, bound: float) -> bool:
        """Go on with the nearer side, unless its bound has climbed too far above the best one."""
        lowest = self.states.lowest()
        if bound <= lowest + _DIVE * max(0.0, self.tracker.objective - lowest):
            return True
        self._leave()
        return False

    def descend(self) -> None:
        """Route the current state by its planes, then improve."""
        routing = self._routing()
        for bank, child in ((self.root, -1), (self.below[0], 0), (self.below[1], 1)):
            for node in range(len(bank.value)):
                target = 0 if child < 0 else full_node(child, node)
                copy_node(node_of(bank, node), node_of(self.warm, target))
        if self.try_routing(routing, "search"):
            self.improve()

    def _routing(self) -> NDArray[np.int64]:
        routing = np.zeros(len(self.prefix), np.int64)
        banks = (self.root, *self.below, self.data, self.below_data)
        complete_routing(*banks, self.prefix, *self.below_prefix, routing)
        return routing

    def _finish(self) -> bool:
        """Close a state whose planes route all samples without further cost, or split it."""
        self.descend()
        if self.value() >= self.cutoff():
            return False
        free = np.flatnonzero(self.prefix == 0)
        if nearest(self.root.score[0, free], free, self.desk.choice):
            return self._split()
        for side in _SIDES:
            if self._split_nearest(side):
                return True
        self._close_routing(self._routing())
        return self._without_pair()

    def _without_pair(self) -> bool:
        """Go on without the pair of first open states: what is left is split in two."""
        first, second = self.heaps
        best, other = (np.argsort(side.bounds, kind="stable") for side in self.heaps)
        # All pairs without that one: other first states, or the same one and other second states.
        if len(best) > 1:
            heaps = (first.at(best[1:]), second)
            bound = float(self.root.value[0, 0]) + heaps[0].low + second.low
            self.keep_open(bound, self.prefix, self.root, below=heaps)
        self.heaps = (first.at(best[:1]), second.at(other[1:]))
        return len(other) > 1

    def _raise(self, side: int, splits: int, chosen: bool = False) -> bool:
        """Work on the open states of a side; whether the first one is a tree for its samples.

        With ``chosen``, it is split first, as the desk says.
        """
        states, mine = self.heaps[side], self.prefix == side + 1
        mine[states.order] = False
        joined = np.flatnonzero(mine)
        order = np.concatenate([states.order, joined]) if len(joined) else states.order
        self.side_desk = below.lay_out(self.side_desk, states, order)
        # What the root and the best state of the other side leave; both only cost more below.
        room = self.cutoff() - float(self.root.value[0, 0]) - self.heaps[1 - side].low
        arguments = (self.below[side], self.below_pair, self.below_data, self.below_prefix[side])
        self.side_desk.count[below.N_SPLITS] = splits
        code = AGAIN
        while code in (AGAIN, below.FULL) and not self.tracker.stop():
            self.side_desk.count[below.N_SOLVES] = self.solves
            given = (len(order), self.below_desk, room, self.ignored(), self.rounds, chosen)
            code = below.raise_side(*arguments, self.side_desk, *given)
            if code == below.FULL:
                self.side_desk = below.larger(self.side_desk)
            else:
                chosen = False
        self.nodes += splits - int(self.side_desk.count[below.N_SPLITS])
        found = below.collect(self.side_desk, order, below.width_of(self.problem.n_upper))
        self.heaps = (found, self.heaps[1]) if side == 0 else (self.heaps[0], found)
        return code == COMPLETE

    def _split_nearest(self, side: int) -> bool:
        """Branch on the free sample of a side's first state that is nearest to its plane."""
        prefix = self.below_prefix[side]
        free = np.flatnonzero((prefix >= 0) & (prefix < self.problem.n_upper // 2))
        scores = self.below[side].score[prefix[free], free]
        if not nearest(scores, free, self.below_desk.choice):
            return False
        self._raise(side, 1, chosen=True)
        return True


def full_node(side: int, node: int) -> int:
    """Node of the whole tree that a node of the tree below the root is (0-based heaps)."""
    first = 1 << ((node + 1).bit_length() - 1)
    return node + first * (1 + side)
