"""First trees of full depth: what they are said to cost, and that they keep every limit."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

from octcore.search.univariate.bit_search import BitSearch
from octcore.search.univariate.bounds import INFINITE
from octcore.search.univariate.lane_search import LaneSearch
from octcore.search.univariate.lookahead import deeper_trees
from octcore.search.univariate.question import Question, Report
from octcore.search.univariate.search import answer
from octcore.search.univariate.table import Table, make_inquiry
from octcore.search.univariate.tree import Leaf, PathTree


def leaves_of(tree: PathTree, table: Table, rows: np.ndarray) -> list[tuple[int, np.ndarray]]:
    """Label and rows of every leaf, of a tree in numbers of thresholds."""
    if isinstance(tree, Leaf):
        return [(tree.label, rows)]
    column, rank = (int(one[tree.feature]) for one in table.column_and_rank)
    left = table.rank[column, rows] <= rank
    sides = ((tree.left, rows[left]), (tree.right, rows[~left]))
    return [leaf for side, mine in sides for leaf in leaves_of(side, table, mine)]


def noisy(rng: np.random.Generator, n: int, values: int) -> tuple[np.ndarray, np.ndarray]:
    """Five columns, and three classes that some of them tell with noise."""
    X = rng.integers(0, values, (n, 5))
    score = X[:, 0] * 3 + (X[:, 1] > X[:, 2]) * 4 - X[:, 3] * (X[:, 4] > 0)
    return X, np.digitize(score + rng.normal(size=n), np.quantile(score, [0.3, 0.7]))


@pytest.mark.parametrize("seed", range(30))
@pytest.mark.parametrize("values", [2, 12])
def test_costs_are_those_of_the_trees_and_limits_are_kept(values: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    X, y = noisy(rng, int(rng.integers(20, 160)), values)
    question = Question(
        X.astype(np.uint8 if values == 2 else float), y, 3, 4 + seed % 2,
        0.3 if seed % 10 == 3 else float(rng.choice([0.0, 0.004, 0.03])),
        weights=rng.integers(0, 4, len(y)).astype(float) if seed % 4 == 1 else None,
        min_samples_leaf=1 + 6 * (seed % 3 == 2),
        roots=(1, 3) if seed % 5 == 3 else None,
        max_leaves=int(rng.integers(4, 12)) if values > 2 and seed % 2 else None,
    )  # fmt: skip
    inquiry = make_inquiry(question)
    table, least, before = inquiry.table, INFINITE, INFINITE
    if values == 2:
        bits = BitSearch(inquiry)
        look, rows, named = bits._look, None, bits.bits.of_table
    else:
        lanes = LaneSearch(inquiry)
        look, rows, named = lanes._look, lanes.rows, lambda tree: tree
        least = lanes.first_tree.two(rows, min(4, question.leaf_limit), lanes.roots, True)[0]
    for cost, tree in deeper_trees(look, rows, question.depth, question.leaf_limit):
        leaves = leaves_of(named(tree), table, np.arange(table.rank.shape[1]))
        wrong = sum(int(table.weight[own][table.y[own] != label].sum()) for label, own in leaves)
        assert cost == pytest.approx(wrong + inquiry.price * len(leaves))
        assert len(leaves) <= question.leaf_limit
        assert min(int(table.count[own].sum()) for _, own in leaves) >= inquiry.smallest
        if question.roots is not None:
            assert inquiry.roots[table.column_and_rank[0][named(tree).feature]]
        assert cost < before
        before = cost
    if question.roots is None and values > 2:
        assert before <= least + inquiry.slack


@pytest.mark.parametrize("values", [2, 50])
def test_a_search_without_its_proof_has_a_better_tree_than_a_greedy_one(values: int) -> None:
    rng = np.random.default_rng(1)
    X = rng.integers(0, values, (2000, 40))
    y = (X[:, :9] > values / 2 - 1).sum(axis=1) + rng.integers(0, 2, 2000)
    y = np.digitize(y, [4, 6])
    trees = []

    def receive(report: Report) -> None:
        trees.append(report.tree)

    def is_enough() -> bool:
        return any(tree is not None and tree.n_leaves > 16 for tree in trees)

    found = answer(
        Question(X.astype(np.uint8 if values == 2 else float), y, 3, 5), receive, is_enough
    )
    assert found.status == "cancelled"
    greedy = DecisionTreeClassifier(max_depth=5, random_state=0).fit(X, y).score(X, y)
    assert found.objective is not None
    assert found.objective > greedy + 0.01
