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
STEPS = 24  # prices that are tried; most searches need five to fifteen
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
        stacked = np.reshape(coefficients, (-1, problem.n_classes, len(kinds)))
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
    patience: Patience = ENDLESS  # of the searches

    def __post_init__(self) -> None:
        self.multipliers = np.zeros(len(self.columns.rows.rhs))
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

        def exchanged() -> Iterator[frozenset[int]]:
            good = best[1]
            for enters, leaves in itertools.product(ranked, sorted(good)):
                if enters not in good:
                    yield from self._without_pairs(good - {leaves} | {enters})

        first = itertools.islice(self._first_subsets(ranked, size), MOST_SUBSETS // 3)
        for subset in itertools.chain(first, exchanged()):
            if subset and len(tried) < MOST_SUBSETS and subset not in tried:
                tried.add(subset)
                chosen = np.flatnonzero(np.isin(groups, sorted(subset)))
                space = restrict(self.columns.space, chosen)
                value, trees, _ = _optimum(space, self.multipliers, np.arange(len(chosen)))
                best = max(best, (value, subset), key=lambda pair: pair[0])
                if trees:
                    yield self.columns.tree(trees[-1], chosen)

    def _first_subsets(self, ranked: list[int], size: int) -> Iterator[frozenset[int]]:
        tree = self.unconstrained.tree
        tested = set() if tree is None else {*self.problem.groups[[*tree.used_features]].tolist()}
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

    def _priced(self) -> Iterator[Tree]:
        """Price the linear rows by Kelley's cutting planes, then bound every root at those prices.

        A tree is worth something linear in the prices, and the best one bounds those that keep the
        rows: where the trees met so far have their least is asked next.  The promising roots lead
        to good prices and trees.
        """
        from scipy.optimize import linprog  # few runs price rows, and it takes time to import

        promising = np.argsort(-self.root_bounds, kind="stable")[:PROMISING]
        rows, whole, least = self.columns.rows, float(self.problem.weights.sum()), np.inf
        scale = np.abs(rows.coefficients).max(axis=(1, 2))
        # At the largest price one row of data outweighs all others; in shares of the whole weight,
        # as solvers take numbers beyond 1e20 for infinite.
        between = [(None, None), *((0.0, 1.0 / max(1.0, most)) for most in scale)]
        prices, worth, planes = self.multipliers, list[float](), list[np.ndarray]()
        for _ in range(STEPS):
            value, trees = self._at(prices, promising)
            yield from trees
            if not trees:
                break
            if value < least:
                least, self.multipliers = value, prices
            excess = rows.excess(trees[-1].predict_codes(self.problem.X))
            worth.append((value - float(prices @ excess)) / whole)
            planes.append(np.append(-1.0, excess))
            lowest = linprog(np.eye(1, 1 + len(scale))[0], planes, -np.array(worth), bounds=between)
            if lowest.status or lowest.fun * whole >= least - self.slack:
                break
            prices = whole * np.maximum(lowest.x[1:], 0.0)
        for _ in range(2):  # trees of the first pass leave fewer roots to the second
            alive = np.flatnonzero(self.root_bounds >= self.incumbent - self.slack)
            yield from self._at(self.multipliers, alive)[1]

    def _at(self, prices: np.ndarray, roots: np.ndarray) -> tuple[float, list[Tree]]:
        """Bound on the trees with some roots, which is kept by root; best trees, the best last."""
        value, trees, by_root = _optimum(self.columns.space, prices, roots)
        self.root_bounds[roots] = np.minimum(self.root_bounds[roots], by_root[roots] + self.slack)
        return value, [self.columns.tree(tree) for tree in trees]


def _optimum(
    space: ColumnSpace, prices: np.ndarray, roots: np.ndarray
) -> tuple[float, list[PathTree], np.ndarray]:
    """Lagrangian bound over some roots at depth three and over all below, at prices of the rows.

    Returns it, the best trees root by root, the best one last, and bounds by root at depth three.
    """
    payoff, constant = space.payoff(prices), float(prices @ space.rhs)
    best = [(whole_leaf(space, payoff), best_tree(space, payoff, None))]
    by_root = np.full(len(space.groups), -np.inf if space.depth == 3 else np.inf)
    for scores in root_scores(space, payoff, roots):
        if np.isfinite(scores.best):
            best.append((scores.best, best_tree(space, payoff, scores)))
        if scores.root is not None:
            by_root[scores.root] = scores.best - constant
    best = sorted(best[::-1], key=lambda one: one[0])  # of equal ones the first is last
    trees = [tree for value, tree in best if np.isfinite(value)]
    return best[-1][0] - constant, trees, by_root
