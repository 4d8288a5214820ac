"""Near-optimal trees: what random cases do not reach; those are in `tests/fuzz`."""

from collections import Counter
from collections.abc import Iterable
from fractions import Fraction
from random import Random

import numpy as np
import pytest

from octcore.errors import TooLargeError
from octcore.search.near_optimal import counting
from octcore.search.near_optimal import instance as instances
from octcore.search.near_optimal.instance import Instance, make_instance
from octcore.search.near_optimal.tree_set import Conditions, TreeQuery, find_trees
from octcore.search.univariate.question import Question
from octcore.search.univariate.search import answer
from tests.fuzz import near_optimal
from tests.fuzz.campaign import numbered
from tests.stages import later


def query(instance: Instance) -> TreeQuery:
    """All trees within the tolerance."""
    tree = answer(instance.question).tree
    assert tree is not None
    known = instance.cost_of(tree)
    graph = find_trees(instance, lambda done: None, lambda phase, done: None, known)
    return TreeQuery(graph, Conditions(instance.tolerance))


@pytest.mark.parametrize("numbers", [(5, 6, 9), *later(range(80))], ids=["few", "many"])
@pytest.mark.parametrize(
    ("limit", "value"),
    [("EXACT", 0.0), ("GRID_BYTES", 1)],
    ids=["every count is made in Python's integers", "variants are counted two by two"],
)
def test_what_only_large_sets_need(
    limit: str, value: float, numbers: Iterable[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(counting, limit, value)
    cases = [numbered("near-optimal", 1, number) for number in numbers]
    deep = [case for case in cases if case.depth > 2]
    assert len(deep) > len(cases) // 4
    for case in deep:
        near_optimal.check(case)


@pytest.mark.parametrize("depth", [2, 3])
def test_trees_of_depth_two_beyond_what_doubles_count_are_refused(
    depth: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    X = np.arange(5.0)[:, None]
    instance = make_instance(Question(X, np.zeros(5, int), 1, depth), Fraction(0), Fraction(1))
    monkeypatch.setattr(counting, "EXACT", 0.0)
    # T(n, d) = 1 + sum_k T(k, d - 1) T(n - k, d - 1) trees part n values.
    assert query(instance).count == {2: 21, 3: 43}[depth]
    monkeypatch.setattr(counting, "LARGEST_CELL", 3.0)
    with pytest.raises(TooLargeError, match="counted exactly"):
        query(instance)


@pytest.mark.parametrize("least", [1, 2, 3, 4])
def test_sets_along_sorted_columns_are_those_of_rows_as_bits(
    least: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """More rows on one side may be split where fewer were too few: then they cost less."""
    for seed in range(6):
        rng = np.random.default_rng(seed)
        X, y = rng.integers(0, 20, (26, 2)).astype(float), rng.integers(0, 2, 26)
        question = Question(X, y, 2, 3, 0.01, min_samples_leaf=least)
        cells = []
        for by_bits in (True, False):
            monkeypatch.setattr(instances, "suits_bits", lambda table, chosen=by_bits: chosen)
            cells.append(query(make_instance(question, Fraction(1, 100), Fraction(1, 25))).cells)
        assert cells[0] == cells[1]


@pytest.mark.slow
def test_draws_are_uniform() -> None:
    rng = np.random.default_rng(5)
    X, y = rng.integers(0, 2, (14, 4)).astype(np.uint8), rng.integers(0, 2, 14)
    found = query(make_instance(Question(X, y, 2, 3), Fraction(1, 50), Fraction(1, 10)))
    source = Random(1)
    draws = 200 * found.count
    tally = Counter(found.draw(source) for _ in range(draws))
    assert len(tally) == found.count > 5
    spread = sum((n - 200) ** 2 / 200 for n in tally.values())
    assert spread < found.count + 5 * np.sqrt(2 * found.count)


@pytest.mark.parametrize(
    ("tolerance", "count", "near"),
    [("0.2", 2, (0, 0)), ("0.1999999999999", 1, (0, 1)), ("0.2000000001", 2, (1, 0)),
     ("0.19999999", 1, (0, 0))],
)  # fmt: skip
def test_a_tree_on_the_border_is_in(tolerance: str, count: int, near: tuple[int, int]) -> None:
    # Ten rows, penalty 0.1: the leaf costs 0.4 + 0.1, the split 0.1 + 0.2; they are 0.2 apart.
    X = np.array([[0]] * 7 + [[1]] * 3, np.uint8)
    y = np.array([0] * 6 + [1] + [1] * 3)
    found = query(make_instance(Question(X, y, 2, 1), Fraction(1, 10), Fraction(tolerance)))
    assert (found.count, found.near_border) == (count, near)


def test_no_scaled_cost_wraps() -> None:
    """Prices of many digits leave a power of two as scale, whatever the depth and the rows."""
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 2, (400, 12)).astype(np.uint8), rng.integers(0, 2, 400)
    for depth in (1, 4, 20):
        for price in (Fraction(1, 3), Fraction(0.1234567890123), Fraction(10**15 - 1, 10**15)):
            weights = np.array([40_000.0, 1.0])
            asked = Question(X, y, 2, depth, weights=weights[y])
            instance = make_instance(asked, price, Fraction(1, 7 * 400))
            leaves = instance.most_leaves(depth)
            largest = instance.unit * instance.total + instance.price * leaves
            assert 0 < largest < 2**58
            exact = instance.unit * instance.penalty
            assert exact - 1 < instance.price <= exact


def test_thresholds_that_part_the_rows_alike_are_one() -> None:
    X = np.array([[0.0, 0.0, 7.0], [1.0, 0.0, 5.0], [2.0, 1.0, 6.0], [3.0, 5.0, 4.0]])
    question = Question(X, np.array([0, 1, 0, 1]), 2, 2)
    found = make_instance(question, Fraction(1, 50), Fraction(1, 10)).thresholds
    # The second column parts them like the first one, 4.5 and 6.5 of the third the other way.
    assert found.column.tolist() == [0, 0, 0, 2]
    assert found.value.tolist() == [0.5, 1.5, 2.5, 5.5]
