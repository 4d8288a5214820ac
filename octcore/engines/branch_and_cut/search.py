"""LP-based branch and cut on one warm HiGHS LP.

HiGHS takes neither lazy constraints nor user cuts inside its own tree (measured with 1.15), so
programs whose rows arrive from separators are solved by this engine: it owns the tree, HiGHS solves
the linear programs.  Cuts, branching, rounding and tree reading come with the program; the engine
knows no formulation.

Everything is minimised here: the value of a node is the value of its LP.  A node is closed when its
value shows that it holds nothing better than the incumbent by at least the granularity.
"""

import heapq
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

import highspy
import numpy as np

from octcore.engines.base import Attempt, Outcome, StopReason, TimeUpError
from octcore.engines.branch_and_cut.lp import Basis, LpStatus, PersistentLp
from octcore.engines.events import Recorder
from octcore.engines.highs import CompiledModel
from octcore.engines.model_run import ModelRun
from octcore.errors import CancelledError
from octcore.program import Child, Columns, Cuts, Point, Program, PyomoModel, SearchState, Sense
from octcore.tree.tree import Tree

INTEGRAL = 1e-6  # largest distance of a binary from an integer that counts as integral
ROOT_ROUNDS, NODE_ROUNDS = 50, 3  # most separation rounds at fractional points
ROOT_STALLS = 4  # rounds with little progress after which the root is left
KEEP = np.iinfo(np.int64).max
PICTURES_PER_FAMILY = 6  # teaching views need a few examples of each family, not all of them


@dataclass(frozen=True, eq=False)
class Node:
    """A part of the search space."""

    bound: float  # no solution in it has a smaller value
    depth: int  # number of branchings that lead to it
    changes: tuple[Child, ...] = ()  # bounds that differ from those of the whole problem
    basis: Basis | None = None
    separates: bool = True  # whether cuts are worth their time here

    def tightened(
        self, lower: np.ndarray, upper: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray] | None:
        """Bounds of the columns at this node; None if they contradict each other."""
        lower, upper = lower.copy(), upper.copy()
        for columns, low, high in self.changes:
            lower[columns] = np.maximum(lower[columns], low)
            upper[columns] = np.minimum(upper[columns], high)
        return None if (lower > upper).any() else (lower, upper)


@dataclass(eq=False)
class OpenNodes:
    """Nodes that wait, the best first, and the bounds of those that were given up unsolved."""

    unresolved: list[float] = field(default_factory=list)
    _heap: list[tuple[float, int, Node]] = field(default_factory=list)
    _pushed: int = 0

    def __len__(self) -> int:
        return len(self._heap)

    def push(self, nodes: Iterable[Node]) -> None:
        """Let nodes wait; of two with the same bound the earlier one comes first."""
        for node in nodes:
            self._pushed += 1
            heapq.heappush(self._heap, (node.bound, self._pushed, node))

    def pop(self, cutoff: float) -> Node | None:
        """Take the node with the best bound; None, and nothing left, once it reaches the cutoff."""
        if not self._heap or self._heap[0][0] >= cutoff:
            self._heap.clear()
            return None
        return heapq.heappop(self._heap)[2]

    def least(self, current: float | None = None) -> float:
        """Smallest bound of all that is not solved; `current` is that of the node in hand."""
        values = [*self.unresolved, *(entry[0] for entry in self._heap[:1])]
        return min(values if current is None else [*values, current], default=np.inf)


def fixings(
    value: float,
    costs: np.ndarray,
    cutoff: float,
    lower: np.ndarray,
    upper: np.ndarray,
    integer: np.ndarray,
) -> tuple[Child, ...]:
    """Bounds of binaries whose reduced cost alone would carry the LP value past the cutoff.

    `value`, `cutoff`: value of the LP, and the value from which nothing is worth having.
    `costs`, `lower`, `upper`: reduced costs and bounds of the columns, shape ``(n_columns,)``.
    """
    free = integer[upper[integer] - lower[integer] > 0.5]
    slack = cutoff - value
    if not len(free) or not np.isfinite(slack):
        return ()
    down, up = free[costs[free] > slack + 1e-6], free[costs[free] < -slack - 1e-6]
    return tuple(
        (columns, fixed[columns], fixed[columns])
        for columns, fixed in ((down, lower), (up, upper))
        if len(columns)
    )


def default_children(
    x: np.ndarray, integer: np.ndarray, lower: np.ndarray, upper: np.ndarray
) -> list[Child]:
    """Branch on the most fractional integer column; the rounded side comes first.

    `x`, `lower`, `upper`: point and bounds of the columns, shape ``(n_columns,)``.
    `integer`: columns that must be integral; one at least is fractional at `x`.
    """
    values = x[integer]
    fraction = np.abs(values - np.rint(values))
    column = integer[int(fraction.argmax())]
    floor = np.floor(x[column])
    one = np.array([column])
    down = (one, lower[one], np.array([floor]))
    up = (one, np.array([floor + 1]), upper[one])
    return [up, down] if x[column] - floor > 0.5 else [down, up]


class CutPool:
    """Rows that separators added to an LP: how long they have been idle, which may go.

    Keeping every cut makes each LP slow, so rows whose dual value stayed zero for as many LPs as
    their family allows are deleted.  Rows age only when the LP value changed; otherwise a plateau
    would drop and find the same rows for ever.

    `least`: no purge while fewer cuts than this are in the LP.
    """

    DUAL_TOLERANCE = 1e-9
    LEAST_SHARE = 0.2  # a purge costs a refactorisation: only when this share of the cuts goes

    def __init__(self, lp: PersistentLp, least: int) -> None:
        self.lp, self.least = lp, least
        self.added: Counter[str] = Counter()
        self.purged = 0
        self._age = np.zeros(0, np.int64)
        self._life = np.zeros(0, np.int64)
        self._pictured: Counter[str] = Counter()
        self._new_counts: Counter[str] = Counter()
        self._new_pictures: list[object] = []

    def add(self, found: list[Cuts]) -> int:
        """Add all rows and return how many there were."""
        total = 0
        for cuts in found:
            count = len(cuts.rhs)
            if not count:
                continue
            self.lp.add_rows(cuts.matrix, cuts.rhs)
            life = KEEP if cuts.life is None else cuts.life
            self._age = np.concatenate([self._age, np.zeros(count, np.int64)])
            self._life = np.concatenate([self._life, np.full(count, life)])
            self.added[cuts.kind] += count
            self._new_counts[cuts.kind] += count
            room = max(0, PICTURES_PER_FAMILY - self._pictured[cuts.kind])
            pictures = [{"kind": cuts.kind, **picture} for picture in cuts.pictures[:room]]
            self._new_pictures += pictures
            self._pictured[cuts.kind] += len(pictures)
            total += count
        return total

    def age_and_purge(self) -> None:
        """Count one more LP for idle rows and delete those that were idle for too long."""
        duals = self.lp.row_duals()[self.lp.n_base :]
        idle = np.abs(duals) < self.DUAL_TOLERANCE
        self._age = np.where(idle[: len(self._age)], self._age + 1, 0)
        old = np.flatnonzero(self._age >= self._life)
        if len(self._age) < self.least or len(old) <= self.LEAST_SHARE * len(self._age):
            return
        self.lp.delete_rows(old + self.lp.n_base)
        self._age, self._life = np.delete(self._age, old), np.delete(self._life, old)
        self.purged += len(old)

    def news(self) -> tuple[dict[str, int], tuple[object, ...]]:
        """Counts by family and pictures since the last call."""
        counts, pictures = dict(self._new_counts), tuple(self._new_pictures)
        self._new_counts, self._new_pictures = Counter(), []
        return counts, pictures


@dataclass(frozen=True, eq=False)
class Relaxation:
    """The compiled model and the way from LP values to objective values."""

    lp: highspy.HighsLp  # a minimisation
    columns: Columns
    integer: np.ndarray
    factor: float
    constant: float
    """`factor`, `constant`: ``objective of the program = factor * (LP value) + constant``."""

    def objective(self, value: float) -> float:
        """Objective of the program for a value of the LP."""
        return self.factor * value + self.constant

    def value(self, objective: float) -> float:
        """Value of the LP for an objective of the program."""
        return (objective - self.constant) / self.factor


class BranchAndCut:
    """One run of the search."""

    def __init__(self, relaxation: Relaxation, model: PyomoModel, attempt: Attempt) -> None:
        self.relaxation, self.model, self.attempt = relaxation, model, attempt
        self.program, self.recorder = attempt.program, attempt.recorder
        self.lp = PersistentLp(relaxation.lp, attempt.threads, attempt.seed)
        self.pool = CutPool(self.lp, least=max(200, self.lp.n_columns // 5))
        self.lower, self.upper = self.lp.lower.copy(), self.lp.upper.copy()
        self.step = self.program.granularity / abs(relaxation.factor)
        self.nodes = 0
        self.root_value: float | None = None
        self._open = OpenNodes()
        self._seen: set[Tree] = set()
        self._last_flush = -np.inf

    @property
    def tolerance(self) -> float:
        """Error of LP values: absolute, growing slowly with their size, well below the step."""
        best = self.recorder.objective
        size = abs(self.relaxation.value(best)) if best is not None else 1.0
        error = 1e-6 * max(1.0, 1e-2 * size)
        return min(error, 0.25 * self.step) if self.step > 0 else 1e-7 * max(1.0, size)

    @property
    def cutoff(self) -> float:
        """A node whose value reaches this holds nothing better than the incumbent."""
        best = self.recorder.objective
        if best is None:
            return np.inf
        value = self.relaxation.value(best)
        return value - self.step + self.tolerance if self.step > 0 else value - self.tolerance

    def remaining(self) -> float:
        """Seconds that may still be used; 0 when a stop was asked for."""
        return 0.0 if self.attempt.cancel() else self.attempt.clock.remaining

    def _report_bound(self, current: float | None) -> None:
        best = self.recorder.objective
        incumbent = np.inf if best is None else self.relaxation.value(best)
        value = min(self._open.least(current), incumbent)
        if np.isfinite(value):
            self.recorder.bound(
                best if value == incumbent else self.relaxation.objective(value), self.nodes
            )

    def _flush(self, force: bool = False) -> None:
        self.recorder.progress(self.nodes, open_nodes=len(self._open), rows=self.lp.n_rows)
        now = self.attempt.clock.elapsed
        if force or now - self._last_flush >= Recorder.PROGRESS_SECONDS:
            self._last_flush = now
            counts, pictures = self.pool.news()
            if counts:
                self.recorder.cut_round(counts, pictures)

    def run(self) -> StopReason:
        """Search until the tree is empty or a limit is reached."""
        node: Node | None = Node(-np.inf, 0)
        reason: StopReason | None = None
        while True:
            node = node if node is not None else self._open.pop(self.cutoff)
            if node is None:
                break
            reason = self.attempt.reached(self.nodes)
            if reason is not None:
                self._open.unresolved.append(node.bound)
                break
            entered = node.bound
            try:
                node = self._process(node)
            except (TimeUpError, CancelledError):  # a separator asked its guard
                self._open.unresolved.append(entered)
                reason = self.attempt.reached(self.nodes) or StopReason.TIME_LIMIT
                break
            self._report_bound(None if node is None else node.bound)
            self._flush()
        self._flush(force=True)
        self._report_bound(None)
        if reason is not None:
            return reason
        if self._open.unresolved:
            return self.attempt.reached(self.nodes) or StopReason.ERROR
        return StopReason.INFEASIBLE if self.recorder.objective is None else StopReason.OPTIMAL

    def _process(self, node: Node) -> Node | None:
        """Solve one node; open nodes are pushed, and the node to dive into is returned."""
        self.nodes += 1
        entered = self._enter(node)
        if entered is None:
            return None
        node = entered
        bound, first, last = node.bound, None, np.inf
        rounds, stalls = 0, 0
        is_root = node.depth == 0
        while True:
            status = self.lp.solve(self.cutoff, self.remaining)
            if status is LpStatus.STOPPED:
                self._open.unresolved.append(bound)
                return None
            if status is not LpStatus.OPTIMAL:
                if is_root and status is LpStatus.CUT_OFF and self.recorder.objective is not None:
                    self.root_value = self.relaxation.value(self.recorder.objective)
                return None
            value, x = self.lp.value, self.lp.x
            bound = max(bound, value)
            first = value if first is None else first
            if is_root:
                self.root_value = value
                self._report_bound(value)
            if rounds == 0 or value > last + 1e-6 * max(1.0, abs(last)):
                self.pool.age_and_purge()
            point = Point(self.relaxation.columns, x)
            if self.model.rounding is not None:
                rounded = self.model.rounding(point, self.attempt.patience)
                if rounded is not None:
                    self._offer(rounded, "rounding")
            if bound >= self.cutoff:
                return None
            binaries = x[self.relaxation.integer]
            integral = np.abs(binaries - np.rint(binaries)).max(initial=0.0) <= INTEGRAL
            if not integral:
                limit = ROOT_ROUNDS if is_root else NODE_ROUNDS
                stalls = stalls + 1 if self._stalled(value, last) else 0
                if rounds >= limit or not node.separates:
                    break
                if stalls >= (ROOT_STALLS if is_root else 1):
                    break
            last = value
            state = SearchState(is_root, bool(integral), rounds)
            separators = self.model.separators
            found = self.pool.add([c for sep in separators for c in sep.separate(point, state)])
            rounds += 1
            self._flush()
            if not found:
                if integral:
                    return self._accept(point, bound)
                break
        return self._branch(node, bound, first, point)

    def _enter(self, node: Node) -> Node | None:
        """Set the bounds, basis and rows of a node; None if it holds nothing worth having."""
        bounds = node.tightened(self.lower, self.upper)
        if bounds is not None and self.model.probing is not None:
            node = self._probed(node, *bounds)
            bounds = node.tightened(self.lower, self.upper) if node.bound < self.cutoff else None
        if bounds is None:
            return None
        self.lp.set_bounds(*bounds)
        if node.basis is not None:
            self.lp.set_basis(node.basis)
        if self.model.node_rows is not None:
            self.pool.add(self.model.node_rows(self.relaxation.columns, *bounds))
        return node

    def _probed(self, node: Node, lower: np.ndarray, upper: np.ndarray) -> Node:
        """The node with what probing says: it may be closed before its first linear program."""
        assert self.model.probing is not None
        needed = self.relaxation.objective(self.cutoff)
        reach, kept = self.model.probing(self.relaxation.columns, lower, upper, needed)
        bound = max(node.bound, self.relaxation.value(reach))
        return replace(node, bound=bound, changes=(*node.changes, kept))

    def _stalled(self, value: float, last: float) -> bool:
        if not np.isfinite(last):
            return False
        if not np.isfinite(self.cutoff):
            return value - last < 1e-4 * max(1.0, abs(value))
        return value - last < 2e-3 * max(self.step, 1e-9, abs(self.cutoff - value))

    def _offer(self, tree: Tree, source: str) -> None:
        if tree in self._seen:
            return
        self._seen.add(tree)
        self.attempt.offer(tree, source)
        if self.program.improve is not None:
            self.attempt.offer(self.program.improve(tree, self.attempt.patience), "polish")

    def _accept(self, point: Point, bound: float) -> None:
        """Take the tree of an integral point that satisfies everything; its node is done."""
        tree = self.model.read_tree(point)
        self._offer(tree, "solver")
        if bound < self.cutoff - 1e-6 * max(1.0, abs(bound)):
            # Routing the rows denies what the LP says: the node stays open, the gap stays honest.
            self._open.unresolved.append(bound)
            message = "An integral point claims more than its tree reaches; its node stays open."
            self.recorder.note(message, claimed=self.relaxation.objective(bound))

    def _branch(self, node: Node, bound: float, first: float, point: Point) -> Node:
        """Go on with the first child; the others wait until a dead end."""
        x, lower, upper = self.lp.x, self.lp.lower, self.lp.upper
        children: list[Child] = []
        if self.model.branching is not None:
            children = list(self.model.branching(point, lower, upper))
        if not children:
            children = default_children(x, self.relaxation.integer, lower, upper)
        changes = node.changes
        if np.isfinite(self.cutoff):
            costs, room = self.lp.reduced_costs(), self.cutoff + self.tolerance
            changes += fixings(self.lp.value, costs, room, lower, upper, self.relaxation.integer)
        separates = node.depth == 0 or bound - first > 0.02 * max(0.0, self.cutoff - first)
        basis = self.lp.basis()
        made = [
            Node(bound, node.depth + 1, (*changes, child), basis, separates or k == 0)
            for k, child in enumerate(children)
        ]
        self._open.push(made[1:])
        # The LP still stands at the parent's basis.
        return Node(bound, made[0].depth, made[0].changes)


@dataclass(eq=False)
class _SearchRun(ModelRun):
    def solve(self) -> Outcome:
        self.build()
        self.compile()
        relaxation = relax(self.compiled, self.program)
        with self.phase("solve"):
            search = BranchAndCut(relaxation, self.built, self)
            reason = search.run()
        self.recorder.progress(search.nodes)
        if search.root_value is not None:
            self.root_bound = relaxation.objective(search.root_value)
        self.values |= {
            "nodes": search.nodes,
            "linear_programs": search.lp.solves,
            "cuts_by_family": dict(search.pool.added),
            "cuts_purged": search.pool.purged,
        }
        return self.outcome(reason)


def branch_and_cut(attempt: Attempt) -> Outcome:
    """Solve a mixed-integer linear program whose rows arrive from separators."""
    attempt.say_one_thread("Branch and cut")
    return _SearchRun(**vars(attempt)).supervise()


def relax(compiled: CompiledModel, program: Program) -> Relaxation:
    """Drop the integrality and turn the model into a minimisation."""
    sign = -1.0 if compiled.sense is Sense.MAXIMISE else 1.0
    return Relaxation(
        compiled.linear(sign),
        compiled.columns,
        np.flatnonzero(compiled.integer),
        program.scale * sign * compiled.unit,
        program.scale * compiled.offset + program.shift,
    )
