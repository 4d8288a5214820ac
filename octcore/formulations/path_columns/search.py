"""What is known before the column program: the unconstrained optimum, good feasible trees, prices.

The unconstrained optimum comes from path-search with the exact value of every root feature.
Feasible trees come from subsets of raw features around the best ones, and from trees that are
optimal when the rows about predictions are priced; the same prices give bounds for every root.
"""

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from octcore.formulations.shared.constraint_kinds import recall_floors
from octcore.formulations.shared.question import question_of
from octcore.formulations.shared.side_constraints import allowed_columns, parity_limits
from octcore.formulations.shared.univariate import UnivariateObjective
from octcore.program import ENDLESS, Patience, Problem
from octcore.search.univariate.columns import (
    Channel,
    ColumnSpace,
    best_tree,
    restrict,
    root_scores,
    whole_leaf,
)
from octcore.search.univariate.question import Answer, Question
from octcore.search.univariate.search import answer
from octcore.search.univariate.tree import PathTree, heap, map_features
from octcore.tree.constraints import TOLERANCE
from octcore.tree.tree import Tree
from octcore.warmstart.amending import first_trees

SEARCH_SECONDS = 10.0
"""Depth three takes two seconds at most on the published sets; a bound is left in any case."""
ROUNDS = 4  # rows whose price is set one after the other
STEPS = 14  # steps along one price; the last lines usually meet after six
PROMISING = 12  # roots of largest value on which prices are tried
MOST_SUBSETS = 120  # effort only: a search each
SLACK, ROUNDING = 1e-7, 1e-14
"""On the scale of counts, and as a share of their sum: far below one row, far above rounding."""


@dataclass(frozen=True, eq=False)
class LinearRows:
    """Rows ``sum_i coefficient(class of prediction, kind of row i) >= rhs`` about predictions."""

    kind_of: np.ndarray  # kind of every row, by class and protected groups, shape ``(n_samples,)``
    class_of: np.ndarray  # class of every kind, shape ``(n_kinds,)``
    coefficients: np.ndarray  # whole numbers, shape ``(n_rows, n_classes, n_kinds)``
    rhs: np.ndarray  # shape ``(n_rows,)``

    @classmethod
    def of(cls, problem: Problem) -> "LinearRows":
        """Recall floors and fairness limits as rows of whole numbers.

        A gap of shares ``|c_A / |A| - c_B / |B|| <= d`` becomes
        ``| |B| c_A - |A| c_B | <= floor(d |A| |B|)``, divided by the common divisor of the sizes.
        """
        context = problem.context
        limits = parity_limits(problem)
        member = [mask for first, second, _ in limits for mask in (first, second)]
        table = np.column_stack([problem.y, *member]).astype(np.int64)
        kinds, kind_of = np.unique(table, axis=0, return_inverse=True)
        coefficients: list[np.ndarray] = []
        rhs: list[float] = []
        for k, least in recall_floors(problem).items():
            row = np.zeros((problem.n_classes, len(kinds)))
            row[k, kinds[:, 0] == k] = 1.0
            coefficients.append(row)
            rhs.append(float(least))
        for place, (first, second, gap) in enumerate(limits):
            sizes = int(first.sum()), int(second.sum())
            unit = math.gcd(*sizes)
            row = np.zeros((problem.n_classes, len(kinds)))
            ours, theirs = kinds[:, 1 + 2 * place], kinds[:, 2 + 2 * place]
            row[context.positive_class] = (ours * sizes[1] - theirs * sizes[0]) / unit
            most = math.floor((gap + TOLERANCE) * sizes[0] * sizes[1] / unit)
            coefficients += [row, -row]
            rhs += [-float(most)] * 2
        shape = (0, problem.n_classes, len(kinds))
        stacked = np.stack(coefficients) if coefficients else np.zeros(shape)
        return cls(kind_of.ravel(), kinds[:, 0], stacked, np.array(rhs))

    def excess(self, predicted: np.ndarray) -> np.ndarray:
        """Left side minus right side for predictions of all rows, shape ``(n_rows,)``."""
        return self.coefficients[:, predicted, self.kind_of].sum(axis=1) - self.rhs


@dataclass(frozen=True, eq=False)
class ColumnsProblem:
    """A problem in the words of the column search, and the way back to encoded columns."""

    problem: Problem
    objective: UnivariateObjective

    @cached_property
    def rows(self) -> LinearRows:
        """Linear rows about predictions."""
        return LinearRows.of(self.problem)

    @cached_property
    def _columns(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Kept columns, and for every encoded column its place among them and its reversal.

        Constant columns, and those that say the same as one of their raw feature, are left out.
        """
        X, groups = self.problem.X, self.problem.groups
        place = np.full(X.shape[1], -1)
        flipped = np.zeros(X.shape[1], dtype=bool)
        kept: list[int] = []
        seen: dict[tuple[int, bytes], tuple[int, bool]] = {}
        for j in allowed_columns(self.problem):
            column = X[:, j].astype(bool)
            if not 0 < column.sum() < len(column):  # such a split costs a leaf for nothing
                continue
            key, opposite = ((int(groups[j]), c.tobytes()) for c in (column, ~column))
            if key not in seen:
                seen[opposite], seen[key] = (len(kept), True), (len(kept), False)
                kept.append(j)
            place[j], flipped[j] = seen[key]
        return np.array(kept, dtype=np.int64), place, flipped

    @property
    def kept(self) -> np.ndarray:
        """Encoded column of every column of the space."""
        return self._columns[0]

    @cached_property
    def space(self) -> ColumnSpace:
        """The question for the column search."""
        problem, wanted = self.problem, self.problem.constraints
        channels, gains, sizes = self._channels(problem.X[:, self.kept].astype(np.float32))
        roots = problem.root_columns
        return ColumnSpace(
            channels=channels,
            gains=gains,
            rhs=self.rows.rhs,
            sizes=sizes,
            groups=problem.groups[self.kept],
            roots=np.ones(len(self.kept), dtype=bool) if roots is None else roots[self.kept],
            penalty=self.objective.penalty,
            depth=problem.depth,
            smallest=wanted.min_samples_leaf or 0,
            once_per_path=wanted.feature_once_per_path,
            may_be_leaf=wanted.root_feature is None,
        )

    def _channels(self, X: np.ndarray) -> tuple[tuple[Channel, ...], np.ndarray, np.ndarray]:
        """One channel per kind; weights that vary within a kind get a channel per class more."""
        problem, rows = self.problem, self.rows
        n_kinds, n_classes = len(rows.class_of), problem.n_classes
        members = [rows.kind_of == kind for kind in range(n_kinds)]
        channels = [Channel.of(X[mask], problem.counts[mask].astype(float)) for mask in members]
        gains = np.concatenate([np.zeros((n_classes, n_kinds))[None], rows.coefficients])
        of_one_weight = all(len(np.unique(problem.weights[mask])) == 1 for mask in members)
        if of_one_weight and problem.copies is None:
            for kind, mask in enumerate(members):
                gains[0, rows.class_of[kind], kind] = problem.weights[mask][0]
            return tuple(channels), gains, np.ones(n_kinds)
        for k in range(n_classes):
            channels.append(Channel.of(X[problem.y == k], problem.weights[problem.y == k]))
        extra = np.zeros((len(gains), n_classes, n_classes))
        extra[0] = np.eye(n_classes)
        sizes = np.append(np.ones(n_kinds), np.zeros(n_classes))
        return tuple(channels), np.concatenate([gains, extra], axis=2), sizes

    def tree(self, nested: PathTree, columns: np.ndarray | None = None) -> Tree:
        """Tree in encoded columns of a tree in columns of the space (or of some of them)."""
        kept = self.kept if columns is None else self.kept[columns]
        mapped = map_features(nested, lambda f: int(kept[f]))
        return heap(mapped, self.problem.n_features, self.problem.n_classes)

    def column_of(self, feature: int) -> tuple[int, bool]:
        """Column of the space that says the same as an encoded one, or -1; whether reversed."""
        return int(self._columns[1][feature]), bool(self._columns[2][feature])


@dataclass(eq=False)
class ColumnsSearch:
    """State that the starts and the model share."""

    columns: ColumnsProblem
    incumbent: float = -np.inf  # best count value of a feasible tree
    best: Tree | None = None
    multipliers: np.ndarray = field(init=False)  # prices of the linear rows
    root_bounds: np.ndarray = field(init=False)
    """Bound on the count value of feasible trees by root column of the space."""
    patience: Patience = ENDLESS
    """Of the searches."""
    _value: float = -np.inf
    _excess: np.ndarray = field(init=False)

    def __post_init__(self) -> None:
        self.multipliers = np.zeros(len(self.columns.rows.rhs))
        self._excess = np.zeros_like(self.multipliers)
        self.root_bounds = np.full(len(self.columns.kept), np.inf)

    @property
    def problem(self) -> Problem:
        """The problem."""
        return self.columns.problem

    @property
    def slack(self) -> float:
        """Values closer than this are equal."""
        return max(SLACK, ROUNDING * self.columns.objective.weight_right)

    def offer(self, tree: Tree) -> bool:
        """Keep a tree if it is feasible and better; returns whether it is."""
        objective = self.columns.objective.evaluate(tree)
        if objective is None:
            return False
        value = self.columns.objective.to_count(objective)
        if value <= self.incumbent + self.slack:
            return False
        self.incumbent, self.best = value, tree
        return True

    @property
    def bound(self) -> float:
        """No feasible tree has a larger count value."""
        objective = self.columns.objective
        leaf = float(np.bincount(self.problem.y, self.problem.weights).max()) - objective.penalty
        return max(self.incumbent, leaf, float(self.root_bounds.max(initial=-np.inf)))

    @cached_property
    def unconstrained(self) -> Answer:
        """Optimum without side constraints, and the value of every root feature."""
        free = question_of(self.problem, self.columns.objective, bare=True, all_roots=True)
        return self._answer(free)

    def _answer(self, asked: Question) -> Answer:
        return answer(asked, cancel=self.patience, time_limit=SEARCH_SECONDS)

    @property
    def unconstrained_objective(self) -> float | None:
        """Objective of the unconstrained optimum, None unless it was searched for and is proven."""
        found = vars(self).get("unconstrained")
        if found is None or found.status != "optimal" or found.objective is None:
            return None
        objective = self.columns.objective
        return objective.from_count(found.objective * objective.weight_right)

    def trees(self, patience: Patience) -> Iterator[tuple[str, Tree]]:
        """Yield feasible trees, each better than the one before, and sharpen the bounds."""
        self.patience = patience
        for source, tree in first_trees(self.problem, self.columns.objective.penalty, patience):
            if self.offer(tree):
                yield source, tree
        if patience():
            return
        for tree in self._searched():
            if self.offer(tree):
                yield "search", tree
            if patience():
                return

    def _searched(self) -> Iterator[Tree]:
        found = self.unconstrained
        if found.tree is not None:
            yield found.tree
        values = found.root_values[self.columns.kept] * self.columns.objective.weight_right
        self.root_bounds = np.minimum(self.root_bounds, values + self.slack)
        limit = (wanted := self.problem.constraints).leaf_limit
        if limit is not None:  # the optimum under it alone
            others = ~np.isin(np.arange(self.problem.n_features), self.columns.kept)
            limited = question_of(
                self.problem, self.columns.objective, bare=True, max_leaves=limit, forbidden=others
            )
            found = self._answer(limited)
            if found.tree is not None:
                yield found.tree
        if not len(self.columns.kept):
            return
        if wanted.max_features is not None or wanted.forbidden_pairs:
            yield from self._on_subsets()
        if len(self.columns.rows.rhs):
            yield from self._priced()

    def _on_subsets(self) -> Iterator[Tree]:
        """Optima on subsets of raw features: those of good trees, then exchanges of one."""
        groups = self.columns.space.groups
        ranked = list(dict.fromkeys(groups[np.argsort(-self.root_bounds, kind="stable")].tolist()))
        limit = self.problem.constraints.max_features
        size = len(ranked) if limit is None else min(limit, len(ranked))
        tried: set[frozenset[int]] = set()
        best: tuple[float, frozenset[int]] = (-np.inf, frozenset())
        for subset in self._first_subsets(ranked, size):
            if len(tried) < MOST_SUBSETS // 3 and subset not in tried:
                tried.add(subset)
                value, tree = self._optimum_on(subset)
                best = max(best, (value, subset), key=lambda pair: pair[0])
                if tree is not None:
                    yield tree
        exchanged = (
            subset
            for enters in ranked
            if enters not in best[1]
            for leaves in sorted(best[1])
            for subset in self._without_pairs(best[1] - {leaves} | {enters})
        )
        for subset in exchanged:
            if len(tried) < MOST_SUBSETS and subset not in tried:
                tried.add(subset)
                tree = self._optimum_on(subset)[1]
                if tree is not None:
                    yield tree

    def _first_subsets(self, ranked: list[int], size: int) -> Iterator[frozenset[int]]:
        used: list[int] = []
        tree = self.unconstrained.tree
        if tree is not None:
            tested = {int(self.problem.groups[j]) for s in tree.splits.values() for j in s.features}
            used = [raw for raw in ranked if raw in tested]
        pool = used + [raw for raw in ranked if raw not in used]
        if self.problem.constraints.max_features is None:
            yield from self._without_pairs(frozenset(pool))
            return
        near = pool[: max(len(used), size + 2)]
        for chosen in itertools.islice(itertools.combinations(near, size), MOST_SUBSETS):
            yield from self._without_pairs(frozenset(chosen))

    def _without_pairs(self, subset: frozenset[int]) -> Iterator[frozenset[int]]:
        """Subsets that hold no forbidden pair: one of both has to go."""
        context = self.problem.context
        for first, second in self.problem.constraints.forbidden_pairs:
            a, b = context.raw_index(first), context.raw_index(second)
            if a in subset and b in subset:
                yield from self._without_pairs(subset - {a})
                yield from self._without_pairs(subset - {b})
                return
        yield subset

    def _optimum_on(self, subset: frozenset[int]) -> tuple[float, Tree | None]:
        chosen = np.flatnonzero(np.isin(self.columns.space.groups, sorted(subset)))
        if not len(chosen):
            return -np.inf, None
        space = restrict(self.columns.space, chosen)
        found = _optimum(space, self.multipliers, np.arange(len(chosen)))
        return found.value, None if found.best is None else self.columns.tree(found.best, chosen)

    def _priced(self) -> Iterator[Tree]:
        """Raise the price of one broken row after the other until its dual optimum is found.

        The promising roots come first and lead to good prices and trees; one pass over all roots
        under the best prices then bounds each of them.
        """
        promising = np.argsort(-self.root_bounds, kind="stable")[:PROMISING]
        prices = self.multipliers.copy()
        for _ in range(ROUNDS):
            excess, value = self._excess, -np.inf
            for tree in self._tree_at(prices, promising):
                yield tree
                excess, value = self._excess, self._value
            if not np.isfinite(value) or (excess >= -SLACK).all():
                break
            yield from self._along(int(np.argmin(excess / self._row_scale)), prices, promising)
            prices = self.multipliers.copy()
        for _ in range(2):  # trees of the first pass leave fewer roots to the second
            alive = np.flatnonzero(self.root_bounds >= self.incumbent - self.slack)
            yield from self._tree_at(self.multipliers, alive)

    @cached_property
    def _row_scale(self) -> np.ndarray:
        scale = np.abs(self.columns.rows.coefficients).max(axis=(1, 2))
        return np.where(scale == 0, 1.0, scale)

    def _tree_at(self, prices: np.ndarray, roots: np.ndarray) -> Iterator[Tree]:
        """Yield the best trees under prices, the best one last; its bound and excess are kept."""
        found = _optimum(self.columns.space, prices, roots)
        if found.best is None:
            return
        if found.by_root is not None:
            bounds = found.by_root + self.slack
            self.root_bounds[roots] = np.minimum(self.root_bounds[roots], bounds)
        for nested in found.others:
            yield self.columns.tree(nested)
        tree = self.columns.tree(found.best)
        self._value = found.value
        self._excess = self.columns.rows.excess(tree.predict_codes(self.problem.X))
        yield tree

    def _along(self, row: int, prices: np.ndarray, roots: np.ndarray) -> Iterator[Tree]:
        """Minimise the Lagrangian bound along the price of one row.

        The bound is convex and piecewise linear in the price, with the excess of the best tree as
        slope: the next price is where the lines of both ends meet.
        """
        low = (float(prices[row]), self._value, float(self._excess[row]))
        high: tuple[float, float, float] | None = None
        price = low[0] + 1.0 / self._row_scale[row]
        for _ in range(STEPS):
            prices = prices.copy()
            prices[row] = price
            yield from self._tree_at(prices, roots)
            here = (price, self._value, float(self._excess[row]))
            if here[2] < 0:
                low = here
            else:
                high = here
                self.multipliers = prices
            if high is None:
                price = 4.0 * price
                continue
            meet = (high[1] - low[1] + low[2] * low[0] - high[2] * high[0]) / (low[2] - high[2])
            line = low[1] + low[2] * (meet - low[0])
            if here[1] <= line + self.slack or not low[0] < meet < high[0]:
                self.multipliers = prices
                return
            price = meet


@dataclass(frozen=True, eq=False)
class _Priced:
    """Best trees under prices of the linear rows."""

    value: float  # Lagrangian bound over the roots that were looked at
    best: PathTree | None
    others: tuple[PathTree, ...]  # best trees with the other roots, at depth three
    by_root: np.ndarray | None  # bound by root, at depth three


def _optimum(space: ColumnSpace, prices: np.ndarray, roots: np.ndarray) -> _Priced:
    """Best trees under prices, over some roots at depth three and over all below."""
    payoff = space.payoff(prices)
    constant = float(prices @ space.rhs)
    values, trees = [whole_leaf(space, payoff)], [best_tree(space, payoff, None)]
    by_root = np.full(len(space.groups), -np.inf) if space.depth == 3 else None
    for scores in root_scores(space, payoff, roots):
        if by_root is not None and scores.root is not None:
            by_root[scores.root] = scores.best - constant
        if np.isfinite(scores.best):
            values.append(scores.best)
            trees.append(best_tree(space, payoff, scores))
    place = int(np.argmax(values))
    if not np.isfinite(values[place]):
        return _Priced(-np.inf, None, (), None)
    others = tuple(tree for j, tree in enumerate(trees) if j not in (0, place))
    bounds = None if by_root is None else by_root[roots]
    return _Priced(values[place] - constant, trees[place], others, bounds)
