"""Question, answer and events of the exact univariate search, as frozen records."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from octcore.errors import DataError, SettingsError
from octcore.search.checks import check_ranges, check_rows
from octcore.search.univariate.tree import PathTree, count_leaves, leaf_sizes, predict, tree_depth

Status = Literal["optimal", "time_limit", "cancelled", "infeasible"]


@dataclass(frozen=True, eq=False)
class PathProblem:
    """Maximise weighted accuracy minus ``leaf_penalty`` per leaf over trees on binary features.

    Attributes
    ----------
    X : ndarray of shape (n_samples, n_features), values 0 and 1
        A row with value 0 goes left.
    y : ndarray of shape (n_samples,)
        Class indices below ``n_classes``.
    n_classes : int
    depth : int
        Most splits on a path, 0 or more.
    leaf_penalty : float
        On the accuracy scale.
    weights : ndarray of shape (n_samples,) or None
        Nonnegative; accuracy is normalised by their sum.
    min_samples_leaf : int
        Rows a leaf must have, whatever their weight; with 0 a leaf may be empty.
    max_leaves : int or None
    forbidden_features : ndarray of shape (n_features,), bool, or None
        Columns that may not be split on.
    root_feature : int or None
        Feature the root must split on.
    start : Leaf or Branch or None
        Warm start in the features of ``X``; ignored if it breaks a restriction.
    start_value : float or None
        Objective known to be attainable; only speeds the search up.
    all_root_values : bool
        Continue until the value of every root feature is exact.
    threads : int
        Used at depth 3 and more; they change the time and nothing else.
    """

    X: np.ndarray
    y: np.ndarray
    n_classes: int
    depth: int
    leaf_penalty: float = 0.0
    weights: np.ndarray | None = None
    min_samples_leaf: int = 0
    max_leaves: int | None = None
    forbidden_features: np.ndarray | None = None
    root_feature: int | None = None
    start: PathTree | None = None
    start_value: float | None = None
    all_root_values: bool = False
    threads: int = 1

    def check(self) -> None:
        """Refuse a problem that makes no sense.

        Raises
        ------
        DataError
            If the arrays do not fit together or are not binary.
        SettingsError
            If a setting is out of range.
        """
        X, y = np.asarray(self.X), np.asarray(self.y)
        check_rows(X, y, self.n_classes)
        if not ((X == 0) | (X == 1)).all():
            raise DataError("NOT_BINARY", "Every feature must be 0 or 1; encode the data first.")
        self._check_settings(X.shape[1])

    def _check_settings(self, n_features: int) -> None:
        check_ranges(
            {
                "depth": (self.depth, 0, np.inf),
                "leaf_penalty": (self.leaf_penalty, 0, np.inf),
                "min_samples_leaf": (self.min_samples_leaf, 0, np.inf),
                "max_leaves": (self.max_leaves, 1, np.inf),
                "threads": (self.threads, 1, np.inf),
                "root_feature": (self.root_feature, 0, n_features - 1),
            }
        )
        forbidden = self.forbidden_features
        if forbidden is None:
            return
        if np.shape(forbidden) != (n_features,):
            raise SettingsError(
                "BAD_SHAPE",
                f"forbidden_features must have {n_features} entries, got {np.shape(forbidden)}.",
                "forbidden_features",
            )
        if self.root_feature is not None and forbidden[self.root_feature]:
            raise SettingsError(
                "CONFLICT",
                f"Feature {self.root_feature} is forbidden and cannot be the root; free one.",
                "root_feature",
            )

    def objective(self, tree: PathTree) -> float:
        """Weighted accuracy minus penalty times leaves of a tree in the features of ``X``."""
        share = np.ones(len(self.y)) if self.weights is None else np.asarray(self.weights, float)
        correct = share[predict(tree, self.X) == self.y].sum()
        return float(correct / share.sum()) - self.leaf_penalty * count_leaves(tree)

    def allows(self, tree: PathTree) -> bool:
        """Tell whether a tree respects depth, leaves, leaf size, features and root."""
        if tree_depth(tree) > self.depth:
            return False
        if self.max_leaves is not None and count_leaves(tree) > self.max_leaves:
            return False
        if self.forbidden_features is not None:
            used = features_of(tree)
            if any(self.forbidden_features[f] for f in used):
                return False
        if self.root_feature is not None and getattr(tree, "feature", -1) != self.root_feature:
            return False
        return min(leaf_sizes(tree, self.X)) >= self.min_samples_leaf


def features_of(tree: PathTree) -> set[int]:
    """Return the features a tree splits on."""
    if not hasattr(tree, "feature"):
        return set()
    return {tree.feature} | features_of(tree.left) | features_of(tree.right)  # pyright: ignore


@dataclass(frozen=True)
class PathEvent:
    """One thing that happened, with the state after it.

    Attributes
    ----------
    kind : str
        "started", "incumbent", "bound" or "finished".
    seconds : float
        Since the call.
    objective, bound : float or None
        Best objective and its upper bound so far.
    tree : Leaf or Branch or None
        With an incumbent: its tree.
    source : str
        Where an incumbent came from: "warm start" or "search".
    runs : int
        D2S calls so far.
    """

    kind: Literal["started", "incumbent", "bound", "finished"]
    seconds: float
    objective: float | None = None
    bound: float | None = None
    tree: PathTree | None = None
    source: str = ""
    runs: int = 0


@dataclass(frozen=True, eq=False)
class PathSearchResult:
    """Best tree, proof and by-products.

    Attributes
    ----------
    status : str
        "optimal", "time_limit", "cancelled", or "infeasible" (no tree respects the restrictions).
    tree : Leaf or Branch or None
        In the features of the problem.
    objective : float or None
        Recomputed by routing.
    bound : float or None
        No tree has a larger objective.
    root_values : ndarray of shape (n_features,)
        Best objective with each feature at the root; minus infinity if there is no such tree.
    root_exact : ndarray of shape (n_features,), bool
        Where False, the root value is only an upper bound.
    leaf_value : float or None
        Objective of the best single leaf, None if its size is not allowed.
    ceiling : float
        Largest accuracy of any tree of any depth (equal rows with different classes).
    nodes, runs : int
        Literal nodes opened, D2S calls.
    compile_seconds, search_seconds : float
        Wall-clock time.
    events : tuple of PathEvent
    """

    status: Status
    tree: PathTree | None
    objective: float | None
    bound: float | None
    root_values: np.ndarray
    root_exact: np.ndarray
    leaf_value: float | None
    ceiling: float
    nodes: int = 0
    runs: int = 0
    compile_seconds: float = 0.0
    search_seconds: float = 0.0
    events: tuple[PathEvent, ...] = field(default=())
