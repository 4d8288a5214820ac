"""Between the records of the search and the problems and trees of the package."""

from __future__ import annotations

from typing import Any

from octcore.program import Problem
from octcore.search.univariate.problem import PathProblem
from octcore.search.univariate.tree import Branch, Leaf, PathTree
from octcore.tree.tree import Split, Tree


def path_problem(problem: Problem, leaf_penalty: float, **settings: Any) -> PathProblem:
    """Ask the search about the rows of a problem.

    Side constraints are not looked at: which of them hold, and how, is for the caller to say.

    Parameters
    ----------
    problem : Problem
        Rows on binary columns, weights and depth.
    leaf_penalty : float
        On the accuracy scale.
    **settings
        Other fields of `PathProblem`, instead of what the problem says.
    """
    asked: dict[str, Any] = {
        "X": problem.X,
        "y": problem.y,
        "n_classes": problem.n_classes,
        "depth": problem.depth,
        "leaf_penalty": leaf_penalty,
        "weights": problem.weights,
    }
    return PathProblem(**asked | settings)


def to_tree(nested: PathTree, n_features: int, n_classes: int) -> Tree:
    """Number the nodes of a nested record as a heap."""
    splits: dict[int, Split] = {}
    labels: dict[int, int] = {}
    stack = [(nested, 1)]
    while stack:
        here, node = stack.pop()
        if isinstance(here, Leaf):
            labels[node] = here.label
        else:
            splits[node] = Split.on_feature(here.feature)
            stack += [(here.left, 2 * node), (here.right, 2 * node + 1)]
    return Tree(splits, labels, n_features, n_classes)


def from_tree(tree: Tree, node: int = 1) -> PathTree:
    """Nest a univariate tree on binary features."""
    if node in tree.labels:
        return Leaf(tree.labels[node])
    (feature,) = tree.splits[node].features
    return Branch(feature, from_tree(tree, 2 * node), from_tree(tree, 2 * node + 1))
