"""Near-optimal trees: counts, order, draws, restrictions and shares against plain listing."""

from collections import Counter as Tally
from fractions import Fraction
from random import Random

import numpy as np
import pytest

from octcore.search.near_optimal import counting
from octcore.search.near_optimal.instance import exact, make_instance
from octcore.search.near_optimal.tree_set import TreeGraph, TreeQuery, find_trees
from octcore.search.univariate.tree import Branch, PathTree, canonical_key
from tests.unit.search.near_optimal_reference import (
    Question,
    distinct_columns,
    errors_and_leaves,
    near_optimal_trees,
    predictions,
)

CASES = 300


def random_question(seed: int) -> Question:
    """Independent, sparse, one-hot and thermometer columns, copies and complements."""
    rng = np.random.default_rng(seed)
    depth = int(rng.choice([1, 2, 2, 3, 3, 3, 4]))
    n, p = int(rng.integers(3, 13)), int(rng.integers(1, 4 if depth == 4 else 5))
    kind = rng.integers(4)
    if kind == 0:
        X = rng.random((n, p)) < 0.5
    elif kind == 1:
        X = rng.random((n, p)) < 0.2
    elif kind == 2:
        X = rng.integers(0, p + 1, n)[:, None] == np.arange(p)
    else:
        X = rng.integers(0, p + 1, n)[:, None] > np.arange(p)
    if p > 1 and rng.random() < 0.3:
        X[:, -1] = X[:, 0] if rng.random() < 0.5 else ~X[:, 0]
    K = int(rng.integers(2, 4))
    y = rng.integers(0, K, n)
    weights = tuple(Fraction(1) for _ in range(K))
    if rng.random() < 0.3:
        weights = tuple(Fraction(int(w), 4) for w in rng.integers(1, 9, K))
    forbidden = (int(rng.integers(p)),) if rng.random() < 0.15 else ()
    kept = distinct_columns(X.astype(np.uint8), forbidden)
    roots = None
    if kept and rng.random() < 0.15:
        roots = (int(rng.choice(kept)),)
    return Question(
        X.astype(np.uint8),
        y,
        K,
        depth,
        Fraction(str(rng.choice(["0", "0.01", "0.05", "0.1", "0.123456789"]))),
        Fraction(str(rng.choice(["0", "0.05", "0.1", "0.1234567", "0.3"]))),
        weights,
        min_samples_leaf=int(rng.choice([1, 1, 1, 2, 3])),
        max_leaves=int(rng.integers(1, 6)) if rng.random() < 0.2 else None,
        forbidden=forbidden,
        roots=roots,
        kept=kept,
    )


def solve(question: Question, known_cost: Fraction | None = None) -> TreeGraph | None:
    """The graph of the trees that the reference lists."""
    q, p = question, question.X.shape[1]
    instance = make_instance(
        q.X,
        q.y,
        q.n_classes,
        q.depth,
        q.penalty,
        q.tolerance,
        class_weight=np.array([float(w) for w in q.class_weight]),
        min_samples_leaf=q.min_samples_leaf,
        max_leaves=q.max_leaves,
        forbidden=np.isin(np.arange(p), q.forbidden),
        roots=None if q.roots is None else np.isin(np.arange(p), q.roots),
    )
    if known_cost is not None:
        known_cost /= instance.weight_unit
    return find_trees(instance, lambda done: None, lambda phase, done: None, known_cost)


def solve_limited(question: Question, wanted: dict) -> TreeGraph | None:
    """With a limit on leaves the search needs the cost of some allowed tree."""
    if question.max_leaves is None or not wanted:
        return solve(question)
    total = sum(question.class_weight[label] for label in question.y)
    cost = max(errors + question.penalty * total * size for errors, size in wanted.values())
    return solve(question, cost)


def used(tree: PathTree) -> set[int]:
    """Columns a tree tests."""
    if not isinstance(tree, Branch):
        return set()
    return {tree.feature} | used(tree.left) | used(tree.right)


@pytest.mark.parametrize("block", range(10))
def test_against_listing(block: int) -> None:
    for seed in range(block * CASES // 10, (block + 1) * CASES // 10):
        question = random_question(seed)
        wanted = near_optimal_trees(question)
        graph = solve_limited(question, wanted)
        if not wanted:
            assert graph is None, seed
            continue
        assert graph is not None, seed
        compare(question, graph, wanted, seed)


def compare(question: Question, graph: TreeGraph, wanted: dict, seed: int) -> None:
    """Everything a query says, against the list of all trees."""
    instance = graph.instance
    kept = instance.columns.kept
    query = TreeQuery(graph, instance.tolerance, groups=np.arange(len(kept)))
    cells = Tally((e / instance.weight_unit, size) for e, size in wanted.values())
    assert {cell[:2]: n for cell, n in query.cells.items()} == cells, seed
    listed = [tree for _, tree in query.in_order()]
    assert set(listed) == set(wanted), seed
    assert len(listed) == len(wanted), seed
    total = sum(question.class_weight[label] for label in question.y)
    keys = [
        (wanted[t][0] + question.penalty * total * wanted[t][1], wanted[t][1], canonical_key(t))
        for t in listed
    ]
    assert keys == sorted(keys), seed
    roots = Tally(getattr(tree, "feature", -1) for tree in wanted)
    assert {int(kept[f]) if f >= 0 else -1: n for f, n in query.roots().items()} == roots, seed
    features = query.features(list(range(len(kept))))
    for k, f in enumerate(kept):
        assert features[k] == sum(f in used(tree) for tree in wanted), seed
    shares = np.zeros((len(question.y), question.n_classes))
    for tree in wanted:
        shares[np.arange(len(question.y)), predictions(question, tree)] += 1 / len(wanted)
    assert np.allclose(query.class_shares(), shares, atol=1e-9), seed
    source = Random(seed)
    assert all(query.draw(source) in wanted for _ in range(5)), seed
    compare_narrower(question, graph, wanted, seed)


def compare_narrower(question: Question, graph: TreeGraph, wanted: dict, seed: int) -> None:
    """A query with required and banned features, fewer leaves and a smaller tolerance."""
    rng = np.random.default_rng(seed)
    instance = graph.instance
    kept = [int(f) for f in instance.columns.kept]
    roles = rng.integers(0, 4, len(kept))
    required = tuple(int(k) for k in np.flatnonzero(roles == 0))
    banned = tuple(int(k) for k in np.flatnonzero(roles == 1))
    leaves, margin = int(rng.integers(1, 7)), instance.tolerance * Fraction(int(rng.integers(3)), 2)
    query = TreeQuery(graph, margin, leaves, np.arange(len(kept)), required, banned)
    inside = {
        tree
        for tree, (errors, size) in wanted.items()
        if size <= leaves
        and instance.cost(0, size) + errors / instance.weight_unit <= graph.optimum + margin
        and {kept[k] for k in required} <= used(tree)
        and not {kept[k] for k in banned} & used(tree)
    }
    assert query.count == len(inside), seed
    assert {tree for _, tree in query.in_order()} == inside, seed
    if inside:
        assert query.draw(Random(seed)) in inside, seed
        shares = np.zeros((len(question.y), question.n_classes))
        for tree in inside:
            shares[np.arange(len(question.y)), predictions(question, tree)] += 1 / len(inside)
        assert np.allclose(query.class_shares(), shares, atol=1e-9), seed


def test_counts_beyond_doubles_are_exact(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counting, "EXACT", 0.0)  # every count goes to Python's integers
    for seed in range(60):
        question = random_question(seed)
        if question.depth < 3:
            continue
        wanted = near_optimal_trees(question)
        graph = solve_limited(question, wanted)
        if graph is not None:
            compare(question, graph, wanted, seed)


def test_draws_are_uniform() -> None:
    rng = np.random.default_rng(5)
    X, y = rng.integers(0, 2, (14, 4)).astype(np.uint8), rng.integers(0, 2, 14)
    instance = make_instance(X, y, 2, 3, exact(0.02), exact(0.1))
    graph = find_trees(instance, lambda done: None, lambda phase, done: None)
    assert graph is not None
    query = TreeQuery(graph, instance.tolerance)
    source = Random(1)
    draws = 200 * query.count
    tally = Tally(query.draw(source) for _ in range(draws))
    assert len(tally) == query.count > 5
    spread = sum((n - 200) ** 2 / 200 for n in tally.values())
    assert spread < query.count + 5 * np.sqrt(2 * query.count)


def test_a_tree_on_the_border_is_in() -> None:
    # Ten rows, penalty 0.1: the leaf costs 0.4 + 0.1, the split 0.1 + 0.2; they are 0.2 apart.
    X = np.array([[0]] * 7 + [[1]] * 3, np.uint8)
    y = np.array([0] * 6 + [1] + [1] * 3)
    for tolerance, count in (("0.2", 2), ("0.1999999999999", 1)):
        instance = make_instance(X, y, 2, 1, exact(0.1), Fraction(tolerance))
        graph = find_trees(instance, lambda done: None, lambda phase, done: None)
        assert graph is not None
        assert TreeQuery(graph, instance.tolerance).count == count


def test_weights_of_any_scale_are_read_exactly() -> None:
    X = np.array([[0], [0], [1], [1], [1]], np.uint8)
    y = np.array([0, 1, 1, 1, 0])
    question = Question(
        X, y, 2, 1, Fraction(1, 10), Fraction(1, 2), (Fraction(1, 3), Fraction(5, 7)), kept=(0,)
    )
    graph = solve(question)
    assert graph is not None
    wanted = near_optimal_trees(question)
    unit = graph.instance.weight_unit
    assert {(c[0] * unit, c[1]) for c in TreeQuery(graph, graph.instance.tolerance).cells} == {
        errors_and_leaves(question, tree) for tree in wanted
    }
