"""What formulations with a plane at every branch node share: trees of planes, and signed rows.

Two classes are coded -1 and +1; +1 is the positive class, and the leaves on its right.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

import numpy as np

from octcore.formulations.shared.rows import MergedRows, merge_rows
from octcore.formulations.shared.univariate import drop_idle_splits
from octcore.program import Problem
from octcore.tree import metrics
from octcore.tree.planes import drop_pass_through, tree_from_planes
from octcore.tree.tree import Tree


def labelled_tree(
    planes: Mapping[int, tuple[np.ndarray, float]],
    leaves: Iterable[int],
    X: np.ndarray,
    problem: Problem,
) -> Tree:
    """Make the tree of planes, right where ``w.x + b >= 0``, with the best labels.

    Parameters
    ----------
    X : numpy.ndarray
        Rows as the planes see them, shape ``(n_samples, n_features)``.
    """
    tree = tree_from_planes(planes, dict.fromkeys(leaves, 0), X, problem.n_classes)
    tree = drop_pass_through(tree)
    labels = metrics.majority_labels(tree, X, problem.y, problem.weights)
    return drop_idle_splits(tree.with_labels(labels), problem)


def least(evaluate: Callable[[Tree], float | None], *trees: Tree) -> Tree:
    """The tree of least objective, the first one where all are outside the model."""
    judged = [(value, k) for k, tree in enumerate(trees) if (value := evaluate(tree)) is not None]
    return trees[min(judged)[1]] if judged else trees[0]


def is_decided(problem: Problem) -> bool:
    """Whether there is nothing to separate: one class only, or no column."""
    return problem.n_features == 0 or len(np.unique(problem.y)) < 2


def signs_of(problem: Problem) -> np.ndarray:
    """-1 or +1 of every row."""
    return np.where(problem.y == problem.context.positive_class, 1.0, -1.0)


def merged_by_sign(problem: Problem) -> tuple[MergedRows, np.ndarray]:
    """Rows merged by features and sign, and the signs of the merged rows."""
    signs = (signs_of(problem) > 0).astype(np.int64)
    rows = merge_rows(np.asarray(problem.X, dtype=np.float64), signs, problem.weights)
    return rows, np.where(rows.y > 0, 1.0, -1.0)


def coding_claims(problem: Problem, *others: str) -> tuple[str, ...]:
    """What a proof covers: how the classes are coded, if there are two, after other claims."""
    classes, positive = problem.context.classes, problem.context.positive_class
    if len(classes) < 2:
        return (f"all rows are {classes[positive]}",)
    coding = f"{classes[1 - positive]} is coded -1 (left leaves), {classes[positive]} +1 (right)"
    return *others, coding
