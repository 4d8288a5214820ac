"""What the exact search is asked, what it reports on the way, and what it answers."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from octcore.search.univariate.bounds import INFINITE
from octcore.search.univariate.tree import Leaf, PathTree
from octcore.tree.tree import Tree

Status = Literal["optimal", "time_limit", "cancelled", "infeasible", "error"]


@dataclass(frozen=True, eq=False)
class Question:
    """Maximise weighted accuracy minus ``leaf_penalty`` per leaf; every split tests one column.

    Every split parts the rows that arrive at a threshold of one column; a column of 0 and 1 is one
    with a single threshold.

    `X`: (n_samples, n_features) finite numbers.
    `y`: (n_samples,) class indices below ``n_classes``.
    `n_classes`, `depth`: number of classes; most splits on a path, 0 or more.
    `leaf_penalty`: on the accuracy scale.
    `weights`: (n_samples,) or None, not negative; accuracy is normalised by their sum.
    `counts`: (n_samples,) int64, or None, how many rows a row stands for where leaf sizes are
        counted; ones by default.
    `min_samples_leaf`: rows, whatever their weight, that a leaf must have; no leaf is empty.
    `max_leaves`: largest number of leaves.
    `forbidden`: (n_features,) bool, or None, columns that no split may test.
    `roots`: columns one of which the root must test; None for no requirement.
    `all_roots`: whether the value of every column at the root is wanted exactly; where 0/1 columns
        serve the question and leaves are limited, bounds are all there is.
    `threads`: threads that compute; they change no result.
    `by_leaves`: whether the best tree of every number of leaves is wanted, at no price, if one
        search can find them all: on 0/1 columns.
    """

    X: np.ndarray
    y: np.ndarray
    n_classes: int
    depth: int
    leaf_penalty: float = 0.0
    weights: np.ndarray | None = None
    counts: np.ndarray | None = None
    min_samples_leaf: int = 1
    max_leaves: int | None = None
    forbidden: np.ndarray | None = None
    roots: tuple[int, ...] | None = None
    all_roots: bool = False
    threads: int = 1
    by_leaves: bool = False

    @property
    def smallest_leaf(self) -> int:
        """Rows that a leaf must have."""
        return max(1, self.min_samples_leaf)

    @property
    def leaf_limit(self) -> int:
        """Most leaves that depth and `max_leaves` allow."""
        most = 2**self.depth
        return most if self.max_leaves is None else min(most, self.max_leaves)


@dataclass(frozen=True)
class Moment:
    """The search at one moment.

    `seconds`: since the search began.
    `value`, `bound`: objective of the best tree; no tree has a larger one than the bound.
    `root`: column of the question and threshold with which the best tree begins.
    `open`: by column of the question: between which thresholds, both included, the root of a better
        tree may still lie.  Of many columns only those that stay open longest are told at all.
    """

    seconds: float
    value: float
    bound: float
    root: tuple[int, float] | None
    open: Mapping[int, tuple[tuple[float, float], ...]]


@dataclass(frozen=True)
class Report:
    """One thing that happened.

    `kind`: "started", "incumbent", "bound", or "progress" when nothing else happened for a while.
    `bound`: no tree has a larger objective.
    `tree`: with an incumbent.
    `subtrees`: subtrees solved so far.
    `latest`: makes the last moment that was kept of the search; None while there is none.
    """

    kind: Literal["started", "incumbent", "bound", "progress"]
    bound: float | None = None
    tree: Tree | None = None
    subtrees: int = 0
    latest: Callable[[], Moment | None] = lambda: None


@dataclass(frozen=True, eq=False)
class Answer:
    """Best tree, proof and by-products.

    `status`: "optimal", "time_limit", "cancelled", "infeasible" (no tree keeps the restrictions),
        or "error" (it came to its end, but not within the tolerance).
    `tree`: best tree that the search found.
    `objective`: of the tree, by its routing.
    `bound`: no tree has a larger objective; None where there is no tree at all.
    `root_values`: (n_features,) upper bound on the objective with each column at the root; minus
        infinite if there is no such tree.
    `root_exact`: (n_features,) bool, where True, the root value is attained, or there is no such
        tree.
    `leaf_value`: objective of the best single leaf; None if it is not allowed.
    `subtrees`: subtrees solved.
    `search_seconds`: wall-clock time, without that of compiling.
    `plain`: whether plain array operations did the search, without compiled kernels.
    `recorded`: makes `moments`.
    `by_leaves`: most leaves, accuracy and the best tree, where it was asked for and found; numbers
        of leaves for which there is no tree are left out.
    """

    status: Status
    tree: Tree | None
    objective: float | None
    bound: float | None
    root_values: np.ndarray = field(default_factory=lambda: np.zeros(0))
    root_exact: np.ndarray = field(default_factory=lambda: np.zeros(0, bool))
    leaf_value: float | None = None
    subtrees: int = 0
    search_seconds: float = 0.0
    plain: bool = False
    recorded: Callable[[], tuple[Moment, ...]] = tuple
    by_leaves: tuple[tuple[int, float, Tree], ...] = ()

    @property
    def moments(self) -> tuple[Moment, ...]:
        """What was open while the root was searched, at some moments.

        None up to depth two, where the root is searched in one go, and on 0/1 columns.
        """
        return self.recorded()


class State:
    """What a search knows so far, in units of weight; it writes here, and yields it now and then.

    `by_column`, `reached`: (n_columns,) lower bound, and least cost found, with every column of the
        table at the root.
    `work`: (2,) int64, subtrees solved, row visits.
    `best`, `lower`: least cost found, and lower bound on every tree that costs less.
    `tree`: the tree of the least cost, in numbers of thresholds of the table.
    `by_leaves`: most leaves, errors and the best tree for every number of leaves for which there is
        one; filled where the search had to look at them.
    """

    def __init__(self, n_columns: int) -> None:
        self.by_column, self.reached = np.zeros(n_columns), np.full(n_columns, INFINITE)
        self.work = np.zeros(2, np.int64)
        self.best, self.lower = INFINITE, 0.0
        self.tree: PathTree = Leaf(0)
        self.by_leaves: list[tuple[int, float, PathTree]] = []
