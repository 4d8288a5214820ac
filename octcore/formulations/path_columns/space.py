"""From a problem with side constraints to the columns of `octcore.search.univariate.columns`."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from octcore.constraints import TOLERANCE
from octcore.formulations.shared.constraint_kinds import recall_floors
from octcore.formulations.shared.side_constraints import allowed_columns, parity_limits
from octcore.formulations.shared.univariate import UnivariateObjective
from octcore.program import Problem
from octcore.search.univariate.columns import Channel, ColumnSpace
from octcore.search.univariate.tree import PathTree, heap, map_features
from octcore.tree.tree import Tree


@dataclass(frozen=True, eq=False)
class LinearRows:
    """Rows ``sum_i coefficient(class of prediction, kind of row i) >= rhs`` about predictions."""

    kind_of: np.ndarray
    """Kind of every row, by class and protected groups, shape ``(n_samples,)``."""
    class_of: np.ndarray
    """Class of every kind, shape ``(n_kinds,)``."""
    coefficients: np.ndarray
    """Whole numbers, shape ``(n_rows, n_classes, n_kinds)``."""
    rhs: np.ndarray
    """Shape ``(n_rows,)``."""

    @classmethod
    def of(cls, problem: Problem) -> LinearRows:
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
            row[context.positive_class] = (
                kinds[:, 1 + 2 * place] * sizes[1] - kinds[:, 2 + 2 * place] * sizes[0]
            ) / unit
            most = math.floor((gap + TOLERANCE) * sizes[0] * sizes[1] / unit)
            coefficients += [row, -row]
            rhs += [-float(most)] * 2
        shape = (0, problem.n_classes, len(kinds))
        stacked = np.stack(coefficients) if coefficients else np.zeros(shape)
        return cls(kind_of.ravel(), kinds[:, 0], stacked, np.array(rhs))

    def excess(self, predicted: np.ndarray) -> np.ndarray:
        """Left side minus right side for predictions of all rows, shape ``(n_rows,)``."""
        if not len(self.rhs):
            return np.zeros(0)
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

        Columns that say the same as another column of the same raw feature are left out, and so
        are constant ones.
        """
        X, groups = self.problem.X, self.problem.groups
        place = np.full(X.shape[1], -1)
        flipped = np.zeros(X.shape[1], dtype=bool)
        kept: list[int] = []
        seen: dict[tuple[int, bytes], tuple[int, bool]] = {}
        for j in allowed_columns(self.problem):
            column = X[:, j].astype(bool)
            if not 0 < column.sum() < len(column):
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
        X = problem.X[:, self.kept].astype(np.float32)
        channels, gains, sizes = self._channels(X)
        groups, roots = problem.groups[self.kept], np.ones(len(self.kept), dtype=bool)
        if wanted.root_feature is not None:
            roots = groups == problem.context.raw_index(wanted.root_feature)
        return ColumnSpace(
            channels=channels,
            gains=gains,
            rhs=self.rows.rhs,
            sizes=sizes,
            groups=groups,
            roots=roots,
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
        value = np.zeros((n_classes, n_kinds))
        gains = np.concatenate([value[None], rows.coefficients])
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
        """Column of the space that says the same as an encoded column, and whether reversed.

        The column is -1 where there is none.
        """
        return int(self._columns[1][feature]), bool(self._columns[2][feature])
