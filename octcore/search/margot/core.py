"""Exact search for MARGOT trees over routings of the samples.

A state fixes a path prefix for every sample (`routing_state`); its bound is the sum of the node
QPs over the samples that are known to pass. Branching sends one sample one step down, so only
two QPs change and all are warm. States are explored by diving on the cheaper side and by best
bound on backtracking. The bound is the least bound over open states, less the most that the
bias penalty of the node QPs can amount to, so it holds whenever the search stops.
Several threads may share the open states, each with QPs of its own; the first one publishes.
"""

import copy
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import NDArray

from octcore.numerics.node_qp.rows import load_rows, node_of
from octcore.numerics.node_qp.solver import GAVE_UP, OPTIMAL, PIVOT_LIMIT
from octcore.search.margot.branching import AGAIN, COMPLETE, PRUNED, branch
from octcore.search.margot.frame import RoutingFrame
from octcore.search.margot.records import OpenStates, Planes, Status
from octcore.search.margot.start import local_svm, node_membership
from octcore.search.margot.state import (
    restart_node,
    solve_all_chunks,
    solve_chunk,
    start_evaluation,
)

# Effort only: route by the current planes in each of the first states, then in every tenth.
EAGER_STATES, EVERY = 200, 10
# Effort only: states after which better trees are looked for near the incumbent.
_FIRST_NEARBY = 200
# Shares of the rows that are routed anew, in turn; states of one try; fruitless tries in a row, at
# depth 3 and more in the first round: the next ones, after twice the work, take longer each.
_SHARES = (0.25, 0.4, 0.6)
_STATES, _PATIENCE = 100, 6


class RoutingSearch(RoutingFrame):
    """One run of the search on merged rows; see `routing_search`."""

    alive: bool  # whether the current state is open; the other open ones are on the heap
    number: int = 0  # of the thread; 0 is the one that began
    patience: float = 0.02
    """Seconds that a thread waits for a state of another one before it looks around."""
    _nearby: "Neighbourhoods | None" = None
    _next_nearby: float = _FIRST_NEARBY

    def start(self) -> None:
        """First incumbents; fixes the bias scale and makes the QPs."""
        problem = self.problem
        self.states, self.alive = OpenStates(), True
        planes, routing = local_svm(problem, self.tracker.stop)
        self.offer(planes, routing, "warm start")
        self.allocate()
        self.try_routing(routing, "warm start")

    def run(self) -> Status:
        """Search until proven or stopped."""
        if self.tracker.objective <= 0.0:
            return "optimal"
        self.prefix = np.zeros(len(self.problem.y), np.int64)
        self.alive, self.inherited = True, 0.0
        self._load_root()
        if not self.settle():
            self.report_bound(self.value())
            return "stopped"
        self.report_bound(self.value())
        self.improve()
        self.descend()
        self.states.hold(self.number, self.value())
        helpers = [self._helper(number) for number in range(1, self.problem.threads)]
        self.team = [self, *helpers]
        with ThreadPoolExecutor(len(self.team)) as pool:
            tasks = [pool.submit(helper.help) for helper in helpers]
            try:
                return self._lead()
            finally:
                self.states.over = True
                for task in tasks:
                    task.result()

    def _load_root(self) -> None:
        load_rows(node_of(self.bank, 0), np.zeros(len(self.prefix), np.int8))

    def _lead(self) -> Status:
        """Work on open states, and say how far all threads are."""
        reported = -np.inf
        while True:
            lowest = self._lowest()
            self.tracker.states = sum(one.nodes for one in self.team)
            cutoff = self.cutoff()
            if lowest != reported or lowest >= cutoff:
                self.report_bound(lowest)
                reported = lowest
            # No open state holds a tree better than the gap allows, and maybe none given up does.
            if lowest >= cutoff:
                return "optimal" if self.least_abandoned() >= self.finished() else "stalled"
            if self.tracker.stop():
                return "stopped"
            if self.nodes >= self._next_nearby:
                self.seek_nearby()
            self._step()

    def seek_nearby(self) -> None:
        """Look for better trees near the incumbent, again when the work has doubled."""
        if self._nearby is None:
            self._nearby = self._make_nearby()
        states = self._nearby.improve()
        self._next_nearby = 2 * max(self.nodes, states)

    def _make_nearby(self) -> "Neighbourhoods":
        return Neighbourhoods(self)

    def advance(self) -> bool:
        """Process one state, or take one up; False when nothing is left."""
        if self._lowest() >= self.cutoff():
            return False
        self._step()
        return True

    def help(self) -> None:
        """Work on open states until nothing is left to do; other threads do the same."""
        try:
            while not (self.states.over or self.tracker.stop()) and self.advance():
                if self.nodes >= self._next_nearby and self.problem.depth > 2:
                    self.seek_nearby()
        except BaseException:
            self.tracker.stopped = True
            raise
        if self.alive:
            self._leave()

    def _helper(self, number: int) -> "RoutingSearch":
        """Make the same search for another thread: what it reads is shared, what it writes not."""
        helper = copy.copy(self)
        helper.number, helper.nodes, helper.alive = number, 0, False
        helper.make_banks()
        return helper

    def _lowest(self) -> float:
        return self.states.hold(self.number, self.value() if self.alive else np.inf)

    def _step(self) -> None:
        if self.alive and RoutingFrame.check is not None:
            RoutingFrame.check(self)
        self.alive = self._expand() if self.alive else self._pop()

    def _leave(self) -> None:
        """Put the current state back among the open ones."""
        self.keep_open(self.value(), self.prefix, self.current)

    def settle(self, cold: bool = False) -> bool:
        """Solve the current QPs to the end; False if stopped.

        With ``cold``, QPs that rounding spoilt are solved once more from scratch.
        """
        code = solve_all_chunks(self.bank, self.data, self.chunk)
        if code == OPTIMAL or (code == GAVE_UP and not cold):
            return True
        return all(self._settle_node(node, cold) for node in range(self.problem.n_nodes))

    def _settle_node(self, node: int, cold: bool) -> bool:
        for _ in range(2):
            code = solve_chunk(self.bank, self.data, node, np.inf, self.chunk)
            while code == PIVOT_LIMIT:
                if self.tracker.stop():
                    return False
                code = solve_chunk(self.bank, self.data, node, np.inf, self.chunk)
            if code != GAVE_UP or not cold:
                break
            restart_node(self.bank, self.prefix, node)
        return True

    def _pop(self) -> bool:
        state = self.states.pop(self.number, self.patience)
        # The state of least bound: one that reaches the cutoff is dropped, and so will the others.
        if state is None or state.bound >= self.cutoff():
            return False
        self.restore(state)
        self.inherited = state.bound
        if not self.settle():
            self._leave()
            return False
        return self.value() < self.cutoff()

    def _expand(self) -> bool:
        """Process the current state; True when a state to continue with is in place."""
        code = self.process(self.rounds)
        if code == AGAIN:
            return True
        self.nodes += 1
        if code == PRUNED or self._is_closed_exactly():
            return False
        if code == COMPLETE:
            return self._finish_complete()
        if self.nodes <= EAGER_STATES or self.nodes % EVERY == 0:
            self.descend()
        return self._split()

    def _split(self) -> bool:
        far_prefix = np.empty_like(self.prefix)
        arguments = (self.bank, self.pair, self.data, self.prefix)
        far, near = branch(*arguments, self.cutoff(), self.desk.choice, far_prefix)
        if far < np.inf:
            self.keep_open(far, far_prefix, self.pair)
        return bool(near)

    def _finish_complete(self) -> bool:
        """A state whose planes already route all samples without further cost."""
        settled = self.settle(cold=True)
        if settled:
            self.descend()
        if self.value() >= self.cutoff():
            return False
        if settled and self.choose_nearest():
            return self._split()
        self._close_routing(self.prefix)
        return False

    def _is_closed_exactly(self) -> bool:
        """Whether a state that only its bias penalties keep open is closed without them."""
        if not self.finished() <= self.value() < self.cutoff():
            return False
        return sum(one.bound for one in self.solve_nodes(self.prefix)) >= self.finished()

    def _close_routing(self, routing: NDArray[np.int64]) -> None:
        """Close a complete routing by cold solves, as far as rounding lets; its tree is offered."""
        found = self.solve_nodes(routing)
        planes = Planes.of([one.plane for one in found])
        if self.keeps_routing(planes, routing):
            self.offer(planes, routing, "search")
        self.give_up(sum(one.bound for one in found))

    def give_up(self, exact: float) -> None:
        """Remember a state in which nothing is left to decide, unless its bound closes it."""
        if exact < self.finished():
            # Without bias penalties, which amount to less and less as the incumbent falls.
            self.abandoned = min(self.abandoned, max(self.value() - self.correction(), exact))


class Neighbourhoods:
    """Better trees near the incumbent: most rows keep their way, a short search routes the rest.

    The search finds its best trees late where bounds are weak, and every state that a better tree
    would have closed early is work for nothing.  The short searches have QPs of their own; the open
    states of the search whose incumbent is to be improved are not touched.
    """

    def __init__(self, search: RoutingSearch) -> None:
        self._search = copy.copy(search)
        self._search.make_banks()
        self._random = np.random.default_rng(search.number)
        self._tries, self._patience = 0, 0

    def improve(self) -> int:
        """Try neighbourhoods until some in a row gave nothing; returns the states processed."""
        search, idle, before = self._search, 0, self._search.nodes
        if self._patience == 0 or search.problem.depth > 2:
            self._patience += _PATIENCE
        while idle < self._patience and not search.tracker.stop():
            objective = search.tracker.objective
            # All states of a short search may be lost: it only offers trees, and claims no bound.
            self._route_anew(self._prefix())
            self._tries += 1
            idle = 0 if search.tracker.objective < objective * (1.0 - 1e-6) else idle + 1
        return search.nodes - before

    def _prefix(self) -> NDArray[np.int64]:
        """How far the ways of the rows are kept: all but some rows, or all but one branch."""
        search = self._search
        routing = search.tracker.routing
        if search.problem.depth <= 2 or self._tries % 3 < 2:
            return np.where(self._free_rows(), 0, routing)
        node = 1 + self._tries // 3 % (search.problem.n_upper - 1)
        return np.where(node_membership(routing, node) < 2, node, routing)

    def _free_rows(self) -> NDArray[np.bool_]:
        """Rows nearest to a plane on their way, or any rows; rows with equal features together."""
        search = self._search
        problem, routing = search.problem, search.tracker.routing
        weight = self._random.random(len(routing))
        if self._tries % 2 == 0:
            planes = search.tracker.planes
            scores = np.abs(problem.x @ planes.weights.T + planes.biases)
            nearest, node = np.full(len(routing), np.inf), routing
            while node.max() > 0:
                above = np.maximum(node - 1, 0) // 2
                score = scores[np.arange(len(routing)), above]
                nearest = np.where(node > 0, np.minimum(nearest, score), nearest)
                node = above
            weight = nearest * (0.5 + weight)
        free = weight <= np.quantile(weight, _SHARES[self._tries // 2 % len(_SHARES)])
        twins = search.data.twin[free]
        free[twins[twins >= 0]] = True
        return free

    def _route_anew(self, prefix: NDArray[np.int64]) -> None:
        search = self._search
        search.prefix = prefix
        search.states, search.team = OpenStates(), [search]
        search.alive, search.inherited = True, 0.0
        start_evaluation(search.bank, search.warm, search.prefix)
        if not search.settle():
            return
        last = search.nodes + _STATES
        while search.nodes < last and search.advance() and not search.tracker.stop():
            pass
