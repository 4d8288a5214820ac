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
    """

    X: np.ndarray  # (n_samples, n_features) finite numbers
    y: np.ndarray  # (n_samples,) class indices below ``n_classes``
    n_classes: int
    depth: int  # most splits on a path, 0 or more
    leaf_penalty: float = 0.0  # on the accuracy scale
    weights: np.ndarray | None = None  # (n_samples,), 0 or more; accuracy is a share of them
    counts: np.ndarray | None = None
    """(n_samples,) int64, how many rows a row stands for where leaf sizes are counted; ones by
    default."""
    min_samples_leaf: int = 1  # rows, whatever their weight, of a leaf; no leaf is empty
    max_leaves: int | None = None
    forbidden: np.ndarray | None = None  # (n_features,) bool, columns that no split may test
    roots: tuple[int, ...] | None = None  # columns one of which the root must test
    all_roots: bool = False
    """Whether the value of every column at the root is wanted exactly; where 0/1 columns serve the
    question and leaves are limited, bounds are all there is."""
    threads: int = 1  # they change no result
    by_leaves: bool = False
    """Whether the best tree of every number of leaves is wanted, at no price, if one search can
    find them all: on 0/1 columns."""

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
    """The search at one moment."""

    seconds: float  # by `kernels.now`
    value: float  # objective of the best tree
    bound: float  # no tree has a larger objective
    root: tuple[int, float] | None  # column and threshold with which the best tree begins
    open: Mapping[int, tuple[tuple[float, float], ...]]
    """By column of the question: between which thresholds, both included, the root of a better tree
    may still lie.  Of many columns only those that stay open longest are told at all."""


@dataclass(frozen=True)
class Report:
    """One thing that happened."""

    kind: Literal["started", "incumbent", "bound", "progress"]
    """"progress" when nothing else happened for a while."""
    bound: float | None = None  # no tree has a larger objective
    tree: Tree | None = None  # with an incumbent
    subtrees: int = 0  # subtrees solved so far
    latest: Callable[[], Moment | None] = lambda: None
    """Makes the last moment that was kept of the search; None while there is none."""


@dataclass(frozen=True, eq=False)
class Answer:
    """Best tree, proof and by-products."""

    status: Status
    """"infeasible": no tree keeps the restrictions; "error": it came to its end, but not within the
    tolerance."""
    tree: Tree | None  # best tree that the search found
    objective: float | None  # of the tree, by its routing
    bound: float | None  # no tree has a larger objective; None where there is no tree at all
    root_values: np.ndarray = field(default_factory=lambda: np.zeros(0))
    """(n_features,) upper bound on the objective with each column at the root; minus infinite if
    there is no such tree."""
    root_exact: np.ndarray = field(default_factory=lambda: np.zeros(0, bool))
    """(n_features,) bool, where True, the root value is attained, or there is no such tree."""
    subtrees: int = 0  # subtrees solved
    search_seconds: float = 0.0  # wall-clock time, without that of compiling
    plain: bool = False  # whether plain array operations did the search, without compiled kernels
    moments: Callable[[], tuple[Moment, ...]] = tuple
    """Makes what was open while the root was searched, at some moments; none up to depth two, where
    the root is searched in one go, and on 0/1 columns."""
    by_leaves: tuple[tuple[int, float, Tree], ...] = ()
    """Most leaves, accuracy and the best tree, where it was asked for and found; numbers of leaves
    for which there is no tree are left out."""


class State:
    """What a search knows so far, in units of weight; it writes here and yields it now and then."""

    def __init__(self, n_columns: int) -> None:
        # By column at the root: lower bound, and least cost found.
        self.by_column, self.reached = np.zeros(n_columns), np.full(n_columns, INFINITE)
        self.work = np.zeros(2, np.int64)  # subtrees solved, row visits
        self.best, self.lower = INFINITE, 0.0  # least cost; lower bound on all trees that cost less
        self.tree: PathTree = Leaf(0)  # of the least cost, in numbers of thresholds of the table
        self.by_leaves: list[tuple[int, float, PathTree]] = []  # most leaves, errors, the best tree
