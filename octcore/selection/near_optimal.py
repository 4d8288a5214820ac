"""All trees that are nearly as good as the optimum: counted exactly, listed, drawn, narrowed."""

import importlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property, partial
from itertools import islice
from random import Random
from typing import Any

import numpy as np

from octcore.data.dataset import Dataset
from octcore.data.findings import count
from octcore.data.serial import jsonable
from octcore.data.thresholds import short_threshold
from octcore.encoding.base import Encoding
from octcore.engines.base import Outcome, StopReason
from octcore.engines.events import Clock, Event, Recorder
from octcore.errors import CancelledError, SettingsError, TooLargeError
from octcore.formulations.base import get_formulation
from octcore.formulations.shared.constraint_kinds import refuse_coupled
from octcore.formulations.shared.question import in_copies, instance_of
from octcore.formulations.shared.univariate import UnivariateObjective
from octcore.parameters import FloatRange, IntRange, at_the_door, fraction_in_words, unknown_name
from octcore.search.near_optimal.counting import TreeGraph
from octcore.search.near_optimal.instance import BORDER, Instance
from octcore.search.near_optimal.shapes import Group, Shapes
from octcore.search.near_optimal.tree_set import Conditions, TreeQuery, find_trees
from octcore.search.univariate.search import answer
from octcore.search.univariate.tree import PathTree, heap
from octcore.selection.shapes import ThresholdRange, TreeShape, shape_words
from octcore.solving.finish import finish, named
from octcore.solving.prepare import Prepared, prepare
from octcore.solving.run import Run
from octcore.solving.settings import check_settings
from octcore.solving.telling import compiling_told
from octcore.tree import metrics
from octcore.tree.constraints import Constraints
from octcore.tree.tree import Split, Tree

TOLERANCE = FloatRange(
    "tolerance", 0.02, low=0.0, high=1.0,
    help="How much a tree's objective may lie below the optimum, in accuracy.",
)  # fmt: skip
FORMULATION = "threshold-search"
"""What trees are counted of: the one that `octcore.solve` solves when nothing is said."""
SOURCE = "near-optimal trees"
MOST_REQUIRED = 6
"""Features that all trees of a restriction may have to test; each doubles the counting."""
EVENT_SECONDS = 0.1  # time between two progress events
DECIMALS = 6  # a setting of so many decimals is read as it was written, and not told again


@dataclass(frozen=True)
class NearOptimalEvent:
    """How far the search is."""

    kind: str
    """One of "optimum" (finding it), "subsets" (which rows near-optimal trees part), "counting" or
    "finished"."""
    seconds: float  # since encoding began, without those for compiling kernels
    subsets: int  # subsets of rows scored so far


@dataclass(frozen=True)
class First:
    """The first tree, in order of cost, that passes a test."""

    tree: Tree | None  # None where no tree that was looked at passes
    bound: float
    """No tree of the set that passes has a larger objective; that of `tree` where there is one."""
    looked_at: int
    is_exact: bool
    """Whether every better tree was looked at, without a tree all; else the limit came first."""


@dataclass(frozen=True, eq=False)
class NearOptimalTrees:
    """Every tree whose objective is at least the optimum minus the tolerance.

    A tree is a leaf, or a split that leaves rows on both sides with a tree on each; a leaf predicts
    the heaviest class of its rows, the first of equal ones.  Two trees differ if they differ as
    trees, also where they predict alike.  A split tests a column near the middle between two of its
    neighbouring values among all rows; thresholds that part all rows alike, or the other way
    round, count once, by the first of them, in whatever column, those of a required root before
    others (`same_columns` names columns of which all do).  Such a split tests that column alone, in
    `features`, `roots` and `restrict` too; with the column among ``forbidden_features`` of the
    search, it counts for the others.  Penalty and tolerance are read as
    `octcore.parameters.as_fraction` says and compared as fractions: a tree exactly on the border is
    in.

    Parameters
    ----------
    prepared : Prepared
        Rows, encoding and checked settings.
    graph : TreeGraph
        The trees.
    seconds : float
        Time of the search, without compiling.
    """

    prepared: Prepared
    graph: TreeGraph
    seconds: float
    _asked: Conditions = field(repr=False)

    def __repr__(self) -> str:
        return (
            f"<NearOptimalTrees: {count(self.count, 'tree')} of depth {self.depth} within "
            f"{self.tolerance:g} of the optimum {self.optimum:.6g}>"
        )

    @property
    def encoding(self) -> Encoding:
        """Encoding of the trees' columns."""
        return self.prepared.encoding

    @property
    def depth(self) -> int:
        """Largest depth."""
        return self.prepared.settings.depth

    @property
    def leaf_penalty(self) -> float:
        """Price of a leaf in accuracy."""
        return float(self._in_rows(self._instance.penalty))

    @property
    def optimum(self) -> float:
        """Best objective of an allowed tree, proven; also of the set this one was narrowed from."""
        problem = self.prepared.problem
        share = self._in_rows(self._instance.total - self.graph.optimum)
        return float(share) + problem.offset / problem.total_weight

    @property
    def tolerance(self) -> float:
        """How far below the optimum a tree of the set may be."""
        return float(self._in_rows(self._asked.margin))

    def _in_rows(self, cost: Fraction | int) -> Fraction:
        """A cost in units of the instance as a share of the weight of all rows."""
        share = Fraction(cost) / self._instance.total
        return share / in_copies(self.prepared.problem, Fraction(1))

    @property
    def statements(self) -> tuple[str, ...]:
        """How settings were read, if not as written, what else counts, and trees at the border."""
        read = {"price of a leaf": self._instance.penalty, "tolerance": self._asked.margin}
        found = [
            f"the {what} is {fraction_in_words(share)}"
            for what, cost in read.items()
            if 10**DECIMALS % (share := self._in_rows(cost)).denominator
        ]
        known, groups = self._instance.thresholds, self.encoding.groups
        place, rank = np.nonzero(known.alike >= 0)
        own, stand = self._instance.table.original[place], known.column[known.alike[place, rank]]
        if self.same_columns or (groups[own] != groups[stand]).any():
            found.append(
                "a split that several features make alike counts for the first of them; to count "
                "it for the others, forbid that one in the search"
            )
        inside, outside = self._query.near_border
        if inside or outside:
            found.append(
                f"a border case: {inside:,} of the trees and {outside:,} others lie within "
                f"{float(BORDER):g} of the tolerance, and not exactly on it"
            )
        return tuple(found)

    @property
    def count(self) -> int:
        """Exact number of trees."""
        return self._query.count

    @property
    def counts(self) -> dict[tuple[int | Fraction, int], int]:
        """Exact number of trees by errors and leaves.

        Errors are weights of misclassified rows, whole numbers without class weights; with costs,
        what the answers cost.
        """
        surplus = self.prepared.problem.fraction(self.prepared.problem.surplus)
        found: dict[tuple[int | Fraction, int], int] = {}
        for (errors, leaves), n in self._query.cells.items():
            exact = errors * self._instance.weight_unit - surplus
            found[int(exact) if exact.denominator == 1 else exact, leaves] = n
        return found

    @property
    def by_leaves(self) -> dict[int, int]:
        """Exact number of trees by number of leaves."""
        found: dict[int, int] = {}
        for (_, leaves), n in self._query.cells.items():
            found[leaves] = found.get(leaves, 0) + n
        return dict(sorted(found.items()))

    @property
    def by_tolerance(self) -> tuple[tuple[float, int, int], ...]:
        """Steps of the count: distance from the optimum, leaves, and trees at it, ascending."""
        steps: dict[tuple[Fraction, int], int] = {}
        for (errors, leaves), n in self._query.cells.items():
            loss = self._in_rows(self._instance.cost(errors, leaves) - self.graph.optimum)
            steps[loss, leaves] = steps.get((loss, leaves), 0) + n
        return tuple((float(loss), leaves, n) for (loss, leaves), n in sorted(steps.items()))

    @cached_property
    def roots(self) -> dict[str, int]:
        """Number of trees with a raw feature at the root; single leaves are in none."""
        found = dict.fromkeys(self.encoding.raw_features, 0)
        for column, n in self._query.roots().items():
            if column >= 0:
                group = self.encoding.groups[self._instance.table.original[column]]
                found[self.encoding.raw_features[group]] += n
        return found

    @cached_property
    def features(self) -> dict[str, int]:
        """Number of trees that test a raw feature anywhere."""
        numbers = self._query.features(list(range(len(self.encoding.raw_features))))
        return {self.encoding.raw_features[f]: n for f, n in numbers.items()}

    @property
    def same_columns(self) -> dict[str, tuple[str, ...]]:
        """Encoded columns that part all rows like another one, by the one that stands for them."""
        table, names, X = self._instance.table, self.encoding.names, self.prepared.problem.X
        found: dict[str, list[str]] = {}
        for j, position in enumerate(table.twin):
            if position < 0 or (kept := table.original[position]) == j:
                continue
            low = X[:, kept].argmin()  # where the other column is largest if it is turned round
            turned = X[low, j] > X[:, j].min()
            found.setdefault(names[kept], []).append(f"not {names[j]}" if turned else names[j])
        return {kept: tuple(others) for kept, others in found.items()}

    @at_the_door
    def trees(self, k: int) -> tuple[Tree, ...]:
        """Return the best `k` trees, or all if there are fewer.

        Trees are ordered by objective; of equal ones the tree with fewer leaves comes first, then
        the first in the order "leaf, column, left subtree, right subtree".
        """
        return tuple(islice(self.walk(), IntRange("k").check(k)))

    def walk(self) -> Iterator[Tree]:
        """All trees, in the order of `trees`."""
        return map(self._tree, self._query.in_order())

    @at_the_door
    def first(self, test: Callable[[Tree], bool], most: int = 100_000) -> First:
        """Find the first tree in order of cost that passes a test: exact for any test.

        Parameters
        ----------
        test : callable
            ``test(tree)`` says whether a tree will do.
        most : int
            Trees to look at before it is given up.
        """
        for n, tree in enumerate(self.walk()):
            if n == most:
                return First(None, self.objective(tree), n, False)
            if test(tree):
                return First(tree, self.objective(tree), n + 1, True)
        return First(None, self.optimum - self.tolerance, self.count, True)

    def shapes(self) -> tuple[TreeShape, ...]:
        """The trees by shape: the columns asked at each place, whatever the thresholds.

        The shape of the best tree comes first; of shapes that are as good that with most trees.

        Raises
        ------
        TooLargeError
            If there are more trees, or shapes, than can be told apart.
        """
        chosen, table, shapes = self._asked, self._instance.table, self._shapes
        names = [self.encoding.names[j] for j in table.original]
        group_of = self.encoding.groups[table.original]
        found = []
        for shape, group in shapes.groups().items():
            used = {int(group_of[column]) for column in shape.columns}
            if not set(chosen.required) <= used or used & set(chosen.banned):
                continue
            columns = tuple(names[column] for column in sorted(shape.columns))
            errors, leaves, _ = group.best
            cost = self._instance.cost(errors, leaves)
            objective = self.optimum - float(self._in_rows(cost - self.graph.optimum))
            words, ranges = shape_words(shape, names), partial(self._ranges, group)
            tree = lambda best=group.best: self._tree(next(shapes.trees(best)))  # noqa: E731
            found.append(TreeShape(words, columns, group.count, objective, leaves, tree, ranges))
        return tuple(sorted(found, key=lambda shape: (-shape.objective, -shape.count)))

    def _ranges(self, group: Group) -> tuple[ThresholdRange, ...]:
        """Thresholds of a shape by column and place."""
        parts = []
        for place, counted in self._shapes.by_threshold(group).items():
            numbers, where = sorted(counted), ", ".join(place[:-1])
            column = int(self._instance.table.original[place[-1]])
            values = np.array([self._threshold(n) for n in numbers])
            counts = np.array([counted[n] for n in numbers], object)
            name = self.encoding.names[column]
            parts.append(ThresholdRange(where, column, name, values, counts))
        return tuple(parts)

    @cached_property
    def _shapes(self) -> Shapes:
        return Shapes(self._query)

    @at_the_door
    def sample(self, k: int, seed: int = 0) -> tuple[Tree, ...]:
        """Draw `k` trees with replacement, every tree equally likely."""
        source, drawn = Random(seed), IntRange("k").check(k) if self.count else 0
        return tuple(self._tree(self._query.draw(source)) for _ in range(drawn))

    def smallest(self) -> Tree | None:
        """Return the best of the trees with fewest leaves; None if the set is empty."""
        fewest = min(self.by_leaves, default=None)
        return None if fewest is None else self.restrict(max_leaves=fewest).trees(1)[0]

    def objective(self, tree: Tree) -> float:
        """Weighted accuracy minus penalty times leaves, recomputed by routing the rows."""
        problem = self.prepared.problem
        hit = tree.predict_codes(problem.X) == problem.y
        right = float(problem.weights[hit].sum()) + problem.offset
        return right / problem.total_weight - self.leaf_penalty * tree.n_leaves

    @at_the_door
    def restrict(
        self,
        with_features: Iterable[str] = (),
        without_features: Iterable[str] = (),
        max_leaves: int | None = None,
        tolerance: float | None = None,
        gain: bool = False,
    ) -> "NearOptimalTrees":
        """Return the trees of this set that meet further conditions, as a set of the same kind.

        Parameters
        ----------
        with_features, without_features : sequence of str
            Raw features that every tree must test, and that none may.  A split that other features
            could make as well tests the first of them alone, see above.
        tolerance : float or None
            Distance from the optimum, at most that of this set.
        gain : bool
            Whether every split has to lower the errors: one that does not costs a leaf for nothing.

        Raises
        ------
        SettingsError
            For an unknown feature, or a tolerance beyond what was searched.
        """
        old = self._asked
        margin = old.margin
        if tolerance is not None:
            TOLERANCE.check(tolerance)
            problem = self.prepared.problem
            margin = in_copies(problem, problem.fraction(tolerance)) * self._instance.total
            if margin > old.margin:
                message = f"These trees lie within {self.tolerance:g} of the optimum; search again "
                message += f"for those within {tolerance:g}."
                raise SettingsError("TOLERANCE_TOO_LARGE", message, "tolerance")
        required = tuple(sorted({*old.required, *map(self._feature, with_features)}))
        banned = tuple(sorted({*old.banned, *map(self._feature, without_features)}))
        if len(required) > MOST_REQUIRED:
            message = f"At most {MOST_REQUIRED} features can be required at once; name fewer."
            raise SettingsError("TOO_MANY_FEATURES", message, "with_features")
        limits = [limit for limit in (old.max_leaves, max_leaves) if limit is not None]
        most = min(limits, default=None)
        new = Conditions(margin, most, required, banned, old.gain or gain)
        return replace(self, _asked=new)

    def class_shares(self) -> np.ndarray:
        """Share of the trees that give a training row a class, shape ``(n_samples, n_classes)``.

        From the counts, not from a sample: exact up to the rounding of a division where the set
        before the features asked for has at most 2**53 trees.  Counts beyond that are rounded to
        some 15 digits of that set; of a part of it that is smaller by as much, nothing is known.
        """
        return self._query.class_shares()[self.prepared.problem.counts > 0]

    def to_dict(self, trees: int = 0) -> dict[str, Any]:
        """Return plain data for JSON, with the first `trees` trees."""
        own = (
            "depth", "leaf_penalty", "optimum", "tolerance", "count", "roots", "features",
            "same_columns", "seconds", "statements",
        )  # fmt: skip
        return jsonable(
            {
                "format": "octcore-near-optimal",
                "version": 1,
                "encoding": self.prepared.settings.encoding,
                "constraints": self.prepared.settings.constraints,
                "n_samples": len(self.prepared.problem.context.y),
                "with_features": self._names(self._asked.required),
                "without_features": self._names(self._asked.banned),
                "max_leaves": self._asked.max_leaves,
                "gain": self._asked.gain,
                **{name: getattr(self, name) for name in own},
                "counts": [
                    {"errors": int(e) if e == int(e) else float(e), "leaves": leaves, "trees": n}
                    for (e, leaves), n in self.counts.items()
                ],
                "trees": [{"objective": value, "tree": tree} for tree, value in self.listed(trees)],
            }
        )

    def listed(self, k: int) -> tuple[tuple[Tree, float], ...]:
        """The best `k` trees with their objectives."""
        return tuple((tree, self.objective(tree)) for tree in self.trees(k))

    def run_of(self, tree: Tree) -> Run:
        """Make a run of one of the trees, whose certificate says how far it is from the optimum.

        Parameters
        ----------
        tree : Tree
            On the columns of `encoding`; its numbers are recomputed by routing all rows.
        """
        return run_of_tree(self.prepared, tree, self.optimum, self.seconds)

    @property
    def _instance(self) -> Instance:
        return self.graph.instance

    @cached_property
    def _query(self) -> TreeQuery:
        groups = self.encoding.groups[self._instance.thresholds.column]
        return TreeQuery(self.graph, self._asked, groups)

    def _tree(self, nested: PathTree) -> Tree:
        problem, known = self.prepared.problem, self._instance.thresholds
        split = lambda k: Split.on_feature(int(known.column[k]), self._threshold(k))  # noqa: E731
        tree = heap(nested, problem.n_features, problem.n_classes, split)
        return named(tree, self.prepared)

    def _threshold(self, k: int) -> float:
        """Number of a threshold as it is read: 0.15, not the middle 0.15000000000000002."""
        known = self._instance.thresholds
        between = self._instance.table.values[known.place[k]][known.rank[k] :][:2]
        return short_threshold(float(known.value[k]), *map(float, between))

    def _feature(self, name: str) -> int:
        features = self.encoding.raw_features
        if name not in features:
            raise unknown_name("UNKNOWN_COLUMN", "feature", name, features, "the data")
        return features.index(name)

    def _names(self, features: tuple[int, ...]) -> list[str]:
        return [self.encoding.raw_features[f] for f in features]


@compiling_told()
def near_optimal(
    data: Dataset,
    encoding: str = "auto",
    depth: int = 3,
    params: Mapping[str, Any] | None = None,
    constraints: Mapping[str, Any] | Constraints | None = None,
    tolerance: float = 0.02,
    time_limit: float = 60.0,
    seed: int = 0,
    on_event: Callable[[NearOptimalEvent], None] | None = None,
    cancel: Callable[[], bool] | None = None,
    test_size: float = 0.0,
    costs: Mapping[Any, Mapping[Any, float]] | str | None = None,
    refer: float | None = None,
) -> NearOptimalTrees:
    """Find all trees whose objective is at least the optimum minus a tolerance.

    The objective is weighted accuracy minus ``leaf_penalty`` times the number of leaves, as in
    `threshold-search`; trees test one column per split, numbers against any threshold.

    Parameters
    ----------
    data : Dataset
        Rows with a target.
    encoding : str
        ``"auto"`` for the columns that `octcore.solve` uses: all thresholds of numbers, and a
        column for every category; or any other, as QT-5 for four thresholds a column.
    depth : int
        Largest depth.
    params : mapping or None
        ``leaf_penalty``, 0.01 by default; ``split_weight`` is refused.
    constraints : mapping or None
        Size limits, leaf size, forbidden features, root feature and class weights.  Constraints
        that tie subtrees together (features and pairs of the whole tree, recall, fairness) are
        refused, as subtrees could not be counted apart.
    tolerance : float
        Distance from the optimum, in accuracy; read as a fraction, as is the penalty
        (`NearOptimalTrees.statements` says which).
    time_limit : float
        Seconds from the start of encoding; half a count is none, so an early end is an error.
    seed : int
        Of the rows that are held out; the search itself draws nothing.
    on_event : callable or None
        Receives a `NearOptimalEvent` about every tenth of a second.
    cancel : callable or None
        Asked often; a true answer ends the search.
    test_size : float
        Share of the rows held out; the search never sees them, trees can be judged on them.
    costs, refer
        As in `octcore.solve`.

    Raises
    ------
    SettingsError, DataError
        For wrong settings, or if no tree keeps the constraints (code ``NO_TREE``).
    TooLargeError
        If the trees pass through more subsets of rows than fit into a gigabyte; it names the
        largest tolerance that fits if the time is enough to find it.
    CancelledError
        If it was stopped or the time ran out.
    """
    TOLERANCE.check(tolerance)
    parsed = Constraints.parse(constraints)
    refuse_coupled(parsed.active, "Near-optimal trees cannot be counted")
    if params and params.get("split_weight") is not None:  # not on the scale of the tolerance
        message = "Near-optimal trees are counted by accuracy minus leaf_penalty per leaf; give "
        message += "leaf_penalty = w / (n (1 - w)) instead of split_weight = w (rows of weight n)."
        raise SettingsError("NOT_ON_THIS_SCALE", message, "split_weight")
    settings = check_settings(
        FORMULATION, params, parsed, encoding=encoding, depth=depth, time_limit=time_limit,
        seed=seed, test_size=test_size, costs=costs, refer=refer,
    )  # fmt: skip
    if settings.test_size:
        importlib.import_module("sklearn.model_selection")  # takes a second; no clock runs yet
    clock = _Clock(settings.time_limit, on_event, cancel)
    prepared = prepare(data, settings)
    problem = prepared.problem
    objective = UnivariateObjective(problem)
    instance = instance_of(problem, objective, problem.fraction(tolerance))
    try:
        graph = _graph(instance, clock)
    except TooLargeError as error:
        fits = _largest_tolerance(prepared, tolerance, clock)
        words = "" if fits is None else f" A tolerance of {fits:.12g} fits."
        raise TooLargeError(error.code, error.message + words, error.size) from None
    if graph is None:
        message = "No tree keeps these constraints; relax one of them."
        raise SettingsError("NO_TREE", message, "constraints")
    clock.report("finished", graph.ground.scored)
    graph.ground.guard = _untimed
    return NearOptimalTrees(prepared, graph, clock.elapsed, Conditions(instance.tolerance))


def _untimed(done: int) -> None:
    """Later questions are not timed; a module function, so that a set can be stored."""


def run_of_tree(prepared: Prepared, tree: Tree, optimum: float, seconds: float) -> Run:
    """Run of a tree that was chosen among near-optimal ones, with the proven optimum as bound."""
    program = get_formulation(prepared.settings.formulation).build(prepared.problem)
    tree = metrics.tidied(tree, prepared.problem.X)
    objective = program.evaluate(tree)
    assert objective is not None, "a near-optimal tree keeps the constraints"
    events: list[Event] = []
    recorder = Recorder(
        program.sense, Clock(prepared.settings.time_limit), events.append, program.granularity
    )
    recorder.incumbent(objective, named(tree, prepared), SOURCE)
    recorder.bound(optimum)
    best = recorder.is_closed
    reason = StopReason.OPTIMAL if best else StopReason.GAP_LIMIT
    recorder.finished(reason.value)
    distance = 0.0 if best else optimum - objective
    words = f"within {distance:.4g} of the proven optimum {optimum:.6g}, chosen among good trees"
    outcome = Outcome(reason, FORMULATION if best else "near-optimal", claims=(words,))
    return finish(prepared, tuple(events), outcome, seconds, program, is_chosen=True)


class _Clock(Clock):
    """Ends the search in time, and says how far it is."""

    def __init__(
        self,
        time_limit: float,
        on_event: Callable[[NearOptimalEvent], None] | None,
        cancel: Callable[[], bool] | None,
    ) -> None:
        super().__init__(time_limit)
        self.on_event, self.cancel = on_event, cancel or (lambda: False)
        self.phase, self.last = "optimum", 0.0

    def report(self, phase: str, done: int) -> None:
        """Say what the search is at."""
        self.phase, self.last = phase, self.elapsed
        if self.on_event is not None:
            self.on_event(NearOptimalEvent(phase, self.last, done))

    def guard(self, done: int) -> None:
        """Raise when the search must stop; send an event now and then."""
        if self.cancel():
            raise CancelledError("The count of near-optimal trees was stopped.")
        if not self.remaining:
            raise CancelledError(
                f"Counting the near-optimal trees takes longer than {self.time_limit:g} s; take a "
                "smaller tolerance or depth, or more time."
            )
        if self.elapsed - self.last > EVENT_SECONDS:
            self.report(self.phase, done)


def _graph(instance: Instance, clock: _Clock) -> TreeGraph | None:
    """Graph of the near-optimal trees; None if no tree keeps the constraints.

    The tree that the exact search finds is only a starting point, as that search takes costs within
    rounding for equal: the optimum itself is the least cost among the trees counted.
    """
    clock.report("optimum", 0)
    known = None
    if not instance.finds_optimum:
        found = answer(instance.inquiry, cancel=clock.cancel, time_limit=clock.time_limit)
        clock.guard(found.subtrees)
        if found.tree is None:
            return None
        known = instance.cost_of(found.tree)
    return find_trees(instance, clock.guard, clock.report, known, clock.cancel)


def _largest_tolerance(prepared: Prepared, refused: float, clock: _Clock) -> float | None:
    """The largest sixteenth of a tolerance whose trees fit into memory, if there is time."""
    objective = UnivariateObjective(prepared.problem)
    fits, tried = None, refused / 2
    for step in range(2, 6):
        share = prepared.problem.fraction(tried)
        try:
            _graph(instance_of(prepared.problem, objective, share), clock)
        except TooLargeError:
            tried -= refused / 2**step
        except CancelledError:
            break
        else:
            fits = tried
            tried += refused / 2**step
    return fits
