"""Tiny instances, random trees and their points in flat order."""

from __future__ import annotations

import numpy as np

from octcore.formulations.shared.separation.tree_rows import Instance, TreeLayout, TreePoint
from octcore.program import Cuts
from octcore.search.univariate.tree import Branch, Leaf, PathTree, predict


def instance_of(X: np.ndarray, y: np.ndarray, n_classes: int) -> Instance:
    """Merge rows as the formulations do."""
    patterns, sample, pattern = np.unique(X, axis=0, return_index=True, return_inverse=True)
    pairs, weight = np.unique(np.column_stack([pattern.ravel(), y]), axis=0, return_counts=True)
    return Instance(
        patterns.astype(np.uint8),
        pairs[:, 0],
        pairs[:, 1],
        weight.astype(float),
        n_classes,
        sample,
        np.arange(X.shape[1]),
    )


def random_instance(
    rng: np.random.Generator, n: int = 14, features: int = 4, classes: int = 3
) -> Instance:
    X = rng.integers(0, 2, (n, features)).astype(np.uint8)
    return instance_of(X, rng.integers(0, classes, n), classes)


def random_tree(
    rng: np.random.Generator, depth: int, features: int, classes: int, leaf: float = 0.25
) -> PathTree:
    if depth == 0 or rng.random() < leaf:
        return Leaf(int(rng.integers(classes)))
    below = [random_tree(rng, depth - 1, features, classes, leaf) for _ in range(2)]
    return Branch(int(rng.integers(features)), *below)


def flat_point(tree: PathTree, layout: TreeLayout, instance: Instance) -> np.ndarray:
    """Values of all variables at a tree, with the hits that it really makes."""
    flat = np.zeros(layout.n_variables)
    stack = [(tree, 1)]
    while stack:
        here, m = stack.pop()
        if isinstance(here, Leaf):
            flat[layout.leaf(m)] = flat[layout.label(m, here.label)] = 1.0
        else:
            flat[layout.branch(m, here.feature)] = flat[layout.mass(m)] = 1.0
            stack += [(here.left, 2 * m), (here.right, 2 * m + 1)]
    labels = predict(tree, instance.X)
    flat[layout.hit_start :] = labels[instance.pattern] == instance.target
    return flat


def mixture(
    rng: np.random.Generator, trees: list[PathTree], layout: TreeLayout, instance: Instance
) -> TreePoint:
    """Random convex combination of trees, with hits raised at random."""
    shares = rng.dirichlet(np.ones(len(trees)))
    flat = sum(
        share * flat_point(tree, layout, instance)
        for share, tree in zip(shares, trees, strict=True)
    )
    flat = np.asarray(flat)
    hits = flat[layout.hit_start :]
    flat[layout.hit_start :] = hits + rng.random(len(hits)) * (1 - hits)
    return TreePoint(layout, flat)


def slack(rows: Cuts, flat: np.ndarray) -> np.ndarray:
    """What rows leave at a point; negative where violated."""
    return rows.rhs - rows.matrix @ flat
