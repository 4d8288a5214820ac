"""All near-optimal trees by listing every tree, without any pruning."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from octcore.search.univariate.tree import Branch, Leaf, PathTree


@dataclass(frozen=True)
class Question:
    """A small instance; weights, penalty and tolerance are exact."""

    X: np.ndarray
    y: np.ndarray
    n_classes: int
    depth: int
    penalty: Fraction
    tolerance: Fraction
    class_weight: tuple[Fraction, ...]
    min_samples_leaf: int = 1
    max_leaves: int | None = None
    forbidden: tuple[int, ...] = ()
    roots: tuple[int, ...] | None = None
    kept: tuple[int, ...] = field(default=())


def every_tree(question: Question, rows: np.ndarray, depth: int) -> Iterator[PathTree]:
    """List the trees on some rows; each side of a split has rows enough for a leaf."""
    q = question
    if len(rows) < max(1, q.min_samples_leaf):
        return
    tally = [
        sum(q.class_weight[k] for label in q.y[rows] if label == k) for k in range(q.n_classes)
    ]
    yield Leaf(tally.index(max(tally)))
    if depth == 0:
        return
    for f in q.kept:
        right = q.X[rows, f] == 1
        if right.all() or not right.any():
            continue
        rights = list(every_tree(q, rows[right], depth - 1))
        for left in every_tree(q, rows[~right], depth - 1):
            for other in rights:
                yield Branch(f, left, other)


def distinct_columns(X: np.ndarray, forbidden: tuple[int, ...]) -> tuple[int, ...]:
    """First of the columns that part all rows alike."""
    kept: list[int] = []
    for f in range(X.shape[1]):
        if f in forbidden or len(set(X[:, f])) == 1:
            continue
        if not any((X[:, f] == X[:, g]).all() or (X[:, f] != X[:, g]).all() for g in kept):
            kept.append(f)
    return tuple(kept)


def errors_and_leaves(question: Question, tree: PathTree) -> tuple[Fraction, int]:
    """Weight misclassified and number of leaves, by routing one row after the other."""
    wrong = sum(
        (question.class_weight[label] for row, label in zip(question.X, question.y, strict=True)
         if _label(tree, row) != label),
        Fraction(0),
    )  # fmt: skip
    return wrong, _leaves(tree)


def _label(tree: PathTree, row: np.ndarray) -> int:
    while isinstance(tree, Branch):
        tree = tree.right if row[tree.feature] else tree.left
    return tree.label


def _leaves(tree: PathTree) -> int:
    return 1 if isinstance(tree, Leaf) else _leaves(tree.left) + _leaves(tree.right)


def near_optimal_trees(question: Question) -> dict[PathTree, tuple[Fraction, int]]:
    """Errors and leaves of every tree within the tolerance of the best one."""
    q = question
    total = sum(q.class_weight[label] for label in q.y)
    found: dict[PathTree, tuple[Fraction, int]] = {}
    for tree in every_tree(q, np.arange(len(q.y)), q.depth):
        if q.max_leaves is not None and _leaves(tree) > q.max_leaves:
            continue
        if q.roots is not None and getattr(tree, "feature", None) not in q.roots:
            continue
        found[tree] = errors_and_leaves(q, tree)

    def cost(tree: PathTree) -> Fraction:
        return found[tree][0] / total + q.penalty * found[tree][1]

    least = min((cost(tree) for tree in found), default=Fraction(0))
    return {tree: found[tree] for tree in found if cost(tree) <= least + q.tolerance}


def predictions(question: Question, tree: PathTree) -> np.ndarray:
    """Class of every row."""
    return np.array([_label(tree, row) for row in question.X])
