"""Routing search from depth 3 on: the two trees below the root are searched for by themselves.

Once it is known which samples go left and which right, the best trees below the root do not depend
on each other.  A state fixes sides at the root for some samples, and holds for either side the open
states of the search for the tree of its samples; its bound is the QP of the root and the least
bound of either side.  So what is found out about one side is not found out again for every state of
the other one.  The open states of a side stay valid for more samples: a sample that joins is free
in each of them.
"""

from __future__ import annotations

import heapq
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from octcore.numerics.node_qp.factor import copy_node, new_bank, node_of
from octcore.numerics.node_qp.rows import load_rows
from octcore.numerics.node_qp.solver import PIVOT_LIMIT
from octcore.search.margot.branching import (
    AGAIN,
    COMPLETE,
    PRUNED,
    branch,
    new_desk,
    process,
)
from octcore.search.margot.core import EAGER_STATES, EVERY, RoutingSearch
from octcore.search.margot.frame import SHARE
from octcore.search.margot.incumbent import Tracker
from octcore.search.margot.neighbourhood import Neighbourhoods
from octcore.search.margot.open_states import OpenState
from octcore.search.margot.root_rows import (
    choose_root_row,
    complete_routing,
    rate_root,
    restore_root,
    send,
)
from octcore.search.margot.start import node_membership, strip_shift
from octcore.search.margot.state import (
    clear_bank,
    lower_bound,
    pack,
    solve_all_chunks,
    solve_bank,
    unpack,
)

# Open states of a side that are worked on before a sample is sent to a side of the root.
_BELOW = 4
_SIDES = (0, 1)
# States of the search for a tree of one level less, which becomes a start.
_FEWER_LEVELS_STATES = 500


class NestedSearch(RoutingSearch):
    """One run of the search at depth 3 or more, without feature budgets."""

    heaps: tuple[list[OpenState], list[OpenState]]
    """Heaps of the open states of either side; states share them, so none is ever changed."""
    inherited: float = 0.0
    """Bound of the state when it was made."""
    _serial: int = 0

    def start(self) -> None:
        """First incumbents; one is a good tree of one level less, each leaf split by its plane."""
        super().start()
        problem = self.problem
        fewer = replace(problem, depth=problem.depth - 1, c_last=problem.c_upper, threads=1)
        same = np.arange(len(problem.y))
        search = RoutingSearch(fewer, Tracker(same, None, self.tracker.stop, None))
        search.start()
        search.run(_FEWER_LEVELS_STATES)
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
        self.below = tuple(new_bank(size, n, dims, width) for _ in _SIDES)
        self.below_pair = new_bank(size, n, dims, width)
        self.below_desk = new_desk(n, dims, width)
        self.below_prefix = [np.full(n, -1, np.int64) for _ in _SIDES]
        self._held: list[OpenState | None] = [None, None]
        nodes = [full_node(0, node) for node in range(size)]
        self.below_data = self.data._replace(
            layer=np.zeros(size, np.int64),
            upper=np.ascontiguousarray(self.penalties[nodes]),
            trail=self.data.trail.copy(),
        )
        for bank in (self.root, *self.below):
            clear_bank(bank)

    def in_hand(self, node: int) -> tuple[NDArray[np.int8], float]:
        """Sides of the samples at a node and its value, of the states that the QPs hold."""
        if node == 0:
            return node_membership(self.prefix, 0), float(self.root.value[0, 0])
        side = (node + 1) >> ((node + 1).bit_length() - 2) & 1
        below = next(k for k in range(self.problem.n_upper) if full_node(side, k) == node)
        sides = node_membership(self.below_prefix[side], below)
        return sides, float(self.below[side].value[below, 0])

    def banks(self) -> tuple[Any, ...]:
        """All QPs of this thread."""
        own = (self.root, self.root_pair, *self.below, self.below_pair, self.below_desk.trial)
        return (*super().banks(), *own)

    def _load_root(self) -> None:
        load_rows(node_of(self.root, 0), np.zeros(len(self.prefix), np.int8))
        nothing = np.full(len(self.prefix), -1, np.int8)
        packed = np.zeros((self.problem.n_upper, (2 * len(self.prefix) + 3) // 4), np.uint8)
        empty = OpenState(0.0, 0, nothing, packed)
        self.heaps = ([empty], [empty])

    def settle(self, cold: bool = False) -> bool:
        """Solve the QP of the root to the end; False if stopped."""
        while solve_all_chunks(self.root, self.data, self.chunk) == PIVOT_LIMIT:
            if self.tracker.stop():
                return False
        return True

    def value(self) -> float:
        """Bound of the current state with its bias penalties."""
        return max(self.inherited, float(self.root.value[0, 0]) + self._low(0) + self._low(1))

    def _low(self, side: int) -> float:
        heap = self.heaps[side]
        return heap[0].bound if heap else np.inf

    def _make_nearby(self) -> Neighbourhoods:
        plain = RoutingSearch(self.problem, self.tracker)
        plain.seen = self.seen
        plain.allocate()
        return Neighbourhoods(plain)

    # -- states of the root -------------------------------------------------------------------

    def _pop(self) -> bool:
        state = self.states.pop(self.number, self.patience)
        if state is None or state.bound >= self.cutoff():
            return False
        self.prefix = state.prefix.astype(np.int64)
        restore_root(self.root, self.data, self.prefix, state.packed)
        self.heaps, self.inherited = (state.below[0], state.below[1]), state.bound
        if not self.settle():
            self._leave()
            return False
        return self.value() < self.cutoff()

    def _leave(self) -> None:
        """Put the current state back among the open ones."""
        self.states.push(self.value(), self.prefix, self._packed_root(self.root), self.heaps)

    def _packed_root(self, root: Any) -> NDArray[np.uint8]:
        packed = np.zeros((1, (2 * len(self.prefix) + 3) // 4), np.uint8)
        pack(root, packed)
        return packed

    def _expand(self) -> bool:
        """Work on both sides, then send a sample to a side of the root."""
        self.nodes += 1
        complete = [self._raise(side, _BELOW) for side in _SIDES]
        self.inherited = value = self.value()
        if value >= self.cutoff():
            return False
        room = self._root_cutoff() - float(self.root.value[0, 0])
        arguments = (self.root, *self.below, self.data, self.below_data)
        found = rate_root(*arguments, self.prefix, self.desk, room, self._ignored())
        if found == -1:
            return False
        if found == -2:
            return bool(solve_bank(self.root, self.data, self._root_cutoff()))
        if self.nodes <= EAGER_STATES or self.nodes % EVERY == 0:
            self.descend()
        if found == 0:
            return self._finish() if all(complete) else True
        choose_root_row(*arguments, self.desk, found, room)
        return self._split()

    def _root_cutoff(self) -> float:
        return self.cutoff() - self._low(0) - self._low(1)

    def _ignored(self) -> float:
        return SHARE * self.problem.gap * self.tracker.objective / len(self.prefix)

    def _split(self) -> bool:
        sample, side = int(self.desk.choice[0]), int(self.desk.choice[1])
        limit, before = self._root_cutoff(), self.value()
        copy_node(node_of(self.root, 0), node_of(self.root_pair, 0))
        far = self.prefix.copy()
        send(self.root_pair, self.data, far, sample, -side)
        if solve_bank(self.root_pair, self.data, limit):
            bound = max(before, float(self.root_pair.value[0, 0]) + self._low(0) + self._low(1))
            self.states.push(bound, far, self._packed_root(self.root_pair), self.heaps)
        send(self.root, self.data, self.prefix, sample, side)
        return bool(solve_bank(self.root, self.data, limit)) and self._dive(self.value())

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
        if len(free):
            score = self.root.score[0, free]
            nearest = int(np.argmin(np.abs(score)))
            self.desk.choice[:] = free[nearest], 1 if score[nearest] >= 0.0 else -1
            return self._split()
        for side in _SIDES:
            if self._split_nearest(side):
                return True
        exact = self._close_routing(self._routing())
        if exact < self.finished():
            self.abandoned = min(self.abandoned, max(self.value(), exact + self.correction()))
        return self._without_pair()

    def _without_pair(self) -> bool:
        """Go on without the pair of first open states: what is left is split in two."""
        first, second = self.heaps
        if len(first) > 1:
            rest = sorted(first)[1:]
            heaps = (rest, second)
            bound = float(self.root.value[0, 0]) + rest[0].bound + second[0].bound
            self.states.push(bound, self.prefix, self._packed_root(self.root), heaps)
        self.heaps = (first[:1], sorted(second)[1:])
        return len(second) > 1

    # -- states of one side -------------------------------------------------------------------

    def _raise(self, side: int, budget: int) -> bool:
        """Work on the open states of a side; whether the first one is a tree for its samples."""
        heap, complete = list(self.heaps[side]), False
        while heap and not self.tracker.stop():
            other = self._low(1 - side)
            room = self.cutoff() - float(self.root.value[0, 0]) - other
            if heap[0].bound >= room:
                heap = []
                break
            if not self._take_up(side, heap, room):
                continue
            if budget <= 0:
                break
            code = self._process_below(side, room)
            if code == PRUNED:
                heapq.heappop(heap)
            elif code == COMPLETE:
                self._keep(side, heap)
                complete = heap[0] is self._held[side]
                if complete:
                    break
            elif code != AGAIN:
                budget -= 1
                self._branch_below(side, heap, room)
        self.heaps = (heap, self.heaps[1]) if side == 0 else (self.heaps[0], heap)
        return complete

    def _take_up(self, side: int, heap: list[OpenState], room: float) -> bool:
        """Restore the first open state with all samples; False if it is the first no longer."""
        state, mine = heap[0], self.prefix == side + 1
        held = self.below_prefix[side]
        if self._held[side] is state and np.array_equal(held >= 0, mine):
            return True
        prefix = state.prefix.astype(np.int64)
        joined = mine & (prefix < 0)
        prefix[joined] = 0
        self.below_prefix[side], self._held[side] = prefix, state
        unpack(self.below[side], self.below_data, prefix, state.packed)
        if not solve_bank(self.below[side], self.below_data, room):
            self._held[side] = None
            heapq.heappop(heap)
            return False
        if not joined.any():
            return True
        self._keep(side, heap)
        return heap[0] is self._held[side]

    def _keep(self, side: int, heap: list[OpenState]) -> None:
        """Put the state in the bank in the place of the first open one."""
        heapq.heapreplace(heap, self._stored(side, heap[0]))

    def _stored(self, side: int, before: OpenState) -> OpenState:
        """State in the bank, which takes the place of another one."""
        bank, prefix = self.below[side], self.below_prefix[side]
        packed = np.zeros((self.problem.n_upper, (2 * len(prefix) + 3) // 4), np.uint8)
        pack(bank, packed)
        bound = max(before.bound, float(lower_bound(bank)))
        state = OpenState(bound, before.serial, prefix.astype(np.int8), packed)
        self._held[side] = state
        return state

    def _process_below(self, side: int, room: float) -> int:
        self._held[side] = None  # what is fixed now holds for this state of the root only
        arguments = (self.below[side], self.below_data, self.below_prefix[side])
        code, upper = AGAIN, self.problem.n_upper // 2
        while code == AGAIN and not self.tracker.stop():
            code = process(*arguments, self.below_desk, upper, room, self._ignored(), self.rounds)
        return code

    def _branch_below(self, side: int, heap: list[OpenState], room: float) -> None:
        self.nodes += 1
        first, prefix = heapq.heappop(heap), self.below_prefix[side]
        far_prefix = np.empty_like(prefix)
        packed = np.zeros((self.problem.n_upper, (2 * len(prefix) + 3) // 4), np.uint8)
        arguments = (self.below[side], self.below_pair, self.below_data, prefix, room)
        far, near = branch(*arguments, self.below_desk.choice, far_prefix, packed)
        if far < np.inf:
            self._serial += 1
            # threads never share a serial number, so that states are never compared
            serial = self._serial * self.problem.threads + self.number
            far = max(far, first.bound)
            heapq.heappush(heap, OpenState(far, serial, far_prefix.astype(np.int8), packed))
        self._held[side] = None
        if near:
            heapq.heappush(heap, self._stored(side, first))

    def _split_nearest(self, side: int) -> bool:
        """Branch on the free sample of a side's first state that is nearest to its plane."""
        prefix = self.below_prefix[side]
        free = np.flatnonzero((prefix >= 0) & (prefix < self.problem.n_upper // 2))
        if not len(free):
            return False
        score = self.below[side].score[prefix[free], free]
        nearest = int(np.argmin(np.abs(score)))
        self.below_desk.choice[:] = free[nearest], 1 if score[nearest] >= 0.0 else -1
        heap = list(self.heaps[side])
        self._branch_below(side, heap, np.inf)
        self.heaps = (heap, self.heaps[1]) if side == 0 else (self.heaps[0], heap)
        return True


def full_node(side: int, node: int) -> int:
    """Node of the whole tree that a node of the tree below the root is (0-based heaps)."""
    first = 1 << ((node + 1).bit_length() - 1)
    return node + first * (1 + side)
