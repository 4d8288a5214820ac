"""Least costs of subsets against plain enumeration, and searches that use them and are stopped."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pytest

from octcore.numerics import kernels
from octcore.search.near_optimal import ground as grounds
from octcore.search.near_optimal import warm_up
from octcore.search.near_optimal.combining import make_cells
from octcore.search.near_optimal.ground import Ground, Node
from octcore.search.near_optimal.instance import Instance, make_instance
from octcore.search.near_optimal.tree_set import find_trees
from octcore.search.univariate import subsets
from octcore.search.univariate import warm_up as path_warm_up
from octcore.search.univariate.bit_search import BitSearch
from octcore.search.univariate.bit_table import make_bits
from octcore.search.univariate.literal_node import LiteralNode, SearchState
from octcore.search.univariate.literals import Terms
from octcore.search.univariate.question import Question, State
from octcore.search.univariate.search import to_tree
from octcore.search.univariate.subsets import FAR, BitSubsets
from octcore.search.univariate.table import make_inquiry
from tests.referee.literal_bounds import fewest_errors

UNIT = 10


@pytest.fixture(scope="module", autouse=True)
def _compiled() -> None:
    narrow = path_warm_up.bit_sets(1, 5)
    kernels.require(*narrow, *warm_up.ALL)


@pytest.mark.parametrize("depth", [2, 3, 4])
@pytest.mark.parametrize("values", [(2, 2, 2, 2), (2,)], ids=["many", "one"])
def test_nothing_is_compiled_while_trees_are_counted(values: tuple[int, ...], depth: int) -> None:
    """This comes first: what another test has compiled would hide it."""
    compiled = (subsets.side_costs, grounds.count_bottom, grounds.lane_kernels.solve)
    if not hasattr(grounds.count_bottom, "stats"):
        pytest.skip("kernels run as Python")

    def misses() -> int:
        return sum(sum(kernel.stats.cache_misses.values()) for kernel in compiled)

    before, rng = misses(), np.random.default_rng(0)
    X = np.stack([rng.integers(0, n, 30) for n in values], axis=1)
    y = rng.integers(0, 2, 30)
    instance = make_instance(Question(X, y, 2, depth), Fraction(1, 50), Fraction(1, 50))
    assert instance.by_bits
    find_trees(instance, lambda done: None, lambda phase, done: None, None)
    assert misses() == before


@dataclass(frozen=True, eq=False)
class Case:
    """Subsets of a table that know each other, and what they cost by enumeration."""

    found: BitSubsets
    usable: np.ndarray

    @property
    def n_rows(self) -> int:
        """Number of kernel rows."""
        return len(self.found.bits.rows.block)

    def size(self, marked: np.ndarray) -> int:
        """Rows of a subset, as leaf sizes count them."""
        rows = self.found.bits.rows
        channel, scale = rows.block_channel[rows.block], rows.block_scale[rows.block]
        counts = channel == channel.max() if channel.max() == rows.shape[0] else channel >= 0
        return int(scale[marked & counts].sum())

    @cache  # noqa: B019
    def exact(self, packed: bytes, depth: int) -> float:
        """Least cost of a subset; infinite where it has too few rows."""
        marked = np.frombuffer(packed, bool)
        errors = fewest_errors(self.found.bits.rows, np.flatnonzero(marked), depth)
        leaves = np.arange(1, len(errors) + 1)
        return float((UNIT * errors + self.found.bits.price * leaves).min())

    def sides(self, marked: np.ndarray, f: int) -> tuple[np.ndarray, np.ndarray]:
        """Rows on both sides of a threshold."""
        right = self.found.bits.rows.columns[f] > 0
        return marked & ~right, marked & right

    def side_costs(self, marked: np.ndarray, depth: int) -> tuple[np.ndarray, np.ndarray]:
        """What `BitSubsets.side_costs` returns where all is within the budget."""
        place, smallest = self.found.bits.place, max(1, int(self.found.bits.rows.shape[1]))
        cost, many = np.full((2, len(place)), FAR, float), np.zeros(len(place), int)
        first: tuple[int, bytes] | None = None
        for f in np.flatnonzero(self.usable).tolist():
            sides = self.sides(marked, f)
            if min(map(self.size, sides)) < smallest:
                continue
            if first is None or (place[f], sides[1].tobytes()) != (
                place[first[0]],
                first[1],
            ):
                first = f, sides[1].tobytes()
                cost[:, f] = [self.exact(side.tobytes(), depth - 1) for side in sides]
            many[first[0]] += 1
        return cost, many


def drawn(seed: int, price: int, smallest: int, classes: int = 2, depth: int = 4) -> Case:
    """Few rows, twice or with weights, on columns of two to four values; some follow a rule."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(8, 40))
    X = np.stack([rng.integers(0, levels, n) for levels in (2, 2, 3, 2, 3)[seed % 2 :]], axis=1)
    X[:, 0] = np.where(rng.random(n) < 0.5, X[:, 0], X[:, 1])
    y = np.where(rng.random(n) < 0.5, rng.integers(0, classes, n), X.sum(axis=1) % classes)
    weights = rng.choice([1.0, 1.0, 2.0, 5.0], n) if seed % 2 else np.ones(n)
    counts = rng.integers(1, 4, n) if seed % 4 > 1 else np.ones(n, int)
    question = Question(
        X, y, classes, depth, weights=weights, counts=counts, min_samples_leaf=smallest
    )
    inquiry = make_inquiry(question)
    bits = make_bits(inquiry.table, inquiry.roots, inquiry.smallest)
    stop = np.zeros(1, np.uint8)
    place = bits.column if seed % 3 else np.zeros(len(bits.column), np.int64)
    found = BitSubsets(bits.rows, np.ascontiguousarray(place), UNIT, price, depth, stop)
    return Case(found, (rng.random(len(place)) < 0.9).astype(np.uint8))


CASES = [
    (seed, price, smallest, 2 + seed % 2)
    for seed in (0, 1, 8)
    for price, smallest in ((0, 1), (3, 1), (7, 1), (4, 2), (2, 3))
] + [
    (652, 1, 2, 2),
    (702, 0, 2, 2),
    (104, 1, 2, 2),
    (101, 0, 2, 2),
]  # a side costs less than what it lacks says, for its leaves


@pytest.fixture(params=["large", "small"])
def _table(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """A table of known subsets that grows, or one that is emptied often."""
    monkeypatch.setattr(subsets, "FIRST_SIZE", 8)
    if request.param == "small":
        monkeypatch.setattr(subsets, "MOST_BYTES", 1)


def parts(case: Case, rng: np.random.Generator) -> Iterator[np.ndarray]:
    """All rows, those below some literals, and any of which equal ones stay together."""
    _, group = np.unique(case.found.bits.rows.columns, axis=1, return_inverse=True)
    yield np.ones(case.n_rows, bool)
    for k in range(6):
        marked = np.ones(case.n_rows, bool)
        for f in rng.permutation(len(case.usable))[: k % 3]:
            marked = case.sides(marked, int(f))[int(rng.integers(2))]
        share = 0.6 if k < 5 else 0.2
        yield marked if k < 4 else (rng.random(group.max() + 1) < share)[group.ravel()]


def side_costs(
    case: Case, marked: np.ndarray, depth: int, budget: int = FAR, margin: int = FAR
) -> tuple[np.ndarray, np.ndarray]:
    """What `BitSubsets.side_costs` says of one subset."""
    budgets, masks = np.full(1, budget), case.found.words(marked[None])
    cost, many = case.found.side_costs(masks, depth, budgets, margin, case.usable)
    return cost[0], many[0]


@pytest.mark.usefixtures("_table")
@pytest.mark.parametrize("asked", CASES, ids=lambda asked: "-".join(map(str, asked)))
def test_least_costs_within_the_room(asked: tuple[int, int, int, int]) -> None:
    """Exact where they are within the room, and else bounds beyond it, in whatever order."""
    case, rng = drawn(*asked), np.random.default_rng(asked[0])
    smallest = max(1, int(case.found.bits.rows.shape[1]))
    questions = [
        (marked, depth, room)
        for marked in parts(case, rng)
        if case.size(marked) >= smallest
        for depth in (2, 3, 4)
        for room in (-12, -1, 4, None)
    ]
    for k in rng.permutation(len(questions)):
        marked, depth, beyond = questions[k]
        exact = case.exact(marked.tobytes(), depth)
        room = FAR if beyond is None else int(exact) + beyond
        said = case.found.least(marked, depth, room)
        assert said == exact if exact <= room else room < said <= exact


@pytest.mark.sampled(3)
@pytest.mark.usefixtures("_table")
@pytest.mark.parametrize("asked", CASES, ids=lambda asked: "-".join(map(str, asked)))
def test_costs_of_both_sides_within_the_budget(asked: tuple[int, int, int, int]) -> None:
    """A budget may be given, or be what is beyond the best split; else costs are bounds."""
    case, rng = drawn(*asked), np.random.default_rng(asked[0])
    for marked in parts(case, rng):
        for depth in rng.permutation([2, 3, 4]).tolist():
            exact, many = case.side_costs(marked, depth)
            best = int(exact.sum(axis=0).min())
            for budget, margin in ((FAR, FAR), (FAR, 0), (best - 1, FAR), (best + 9, 4)):
                cost, stands = side_costs(case, marked, depth, budget, margin)
                assert stands.tolist() == many.tolist()
                within = exact.sum(axis=0) <= min(budget, best + margin)
                assert (cost[:, within] == exact[:, within]).all()
                assert (cost <= exact).all()
                assert (cost.sum(axis=0) > min(budget, best + margin))[~within].all()


def test_what_is_stopped_is_not_kept() -> None:
    case = drawn(4, 3, 1)
    every = np.ones(case.n_rows, bool)
    for depth in (2, 3, 4):
        case.found.bits.stop[0] = 1
        case.found.least(every, depth, FAR)
        side_costs(case, every, depth)
        case.found.bits.stop[0] = 0
        assert case.found.least(every, depth, FAR) == case.exact(every.tobytes(), depth)


def test_a_table_stays_small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subsets, "FIRST_SIZE", 8)
    case = drawn(3, 1, 1)
    least = case.found.stored_bytes
    monkeypatch.setattr(subsets, "MOST_BYTES", 4 * least)
    for most, grows in ((4 * least, True), (least, False)):
        monkeypatch.setattr(subsets, "MOST_BYTES", most)
        case.found.forget()
        for marked in parts(case, np.random.default_rng(0)):
            side_costs(case, marked, 4)
            assert case.found.stored_bytes <= most
        assert (case.found.stored_bytes > least) == grows


def test_no_subset_lies_deeper_than_there_are_thresholds() -> None:
    """Every threshold of a path may stand on the stack of a search that is deeper than 30."""
    n = 45
    X, y = np.arange(n)[:, None], np.random.default_rng(1).integers(0, n, n)
    inquiry = make_inquiry(Question(X, y, n, 50))
    bits = make_bits(inquiry.table, inquiry.roots, 1)
    terms = Terms(0.25, 1e-6, 0, inquiry.stop, np.zeros(1, np.int64))
    state = SearchState(bits.rows, terms)
    assert state.shares_subsets
    assert len(state.subsets._stack.mask) >= n - 1 + 2


# Searches that use them


def noisy(seed: int, n: int = 40, columns: int = 7) -> Question:
    """Rows with random classes, of which every depth gets more right."""
    rng = np.random.default_rng(seed)
    X, y = rng.integers(0, 2, (n, columns)).astype(np.uint8), rng.integers(0, 2, n)
    return Question(X, y, 2, 5, 0.002)


@pytest.mark.parametrize("asked", [(2,), (1, 60, 8)], ids=["few", "more"])
def test_no_tree_of_a_stopped_search_costs_more_than_it_says(
    asked: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Wherever a node of any depth is stopped, also while the tree of a known cost is found."""
    question, solve = noisy(*asked), LiteralNode._solve
    left = np.zeros(1, np.int64)

    def counted(node: LiteralNode, *given: Any) -> None:
        left[0] -= 1
        if left[0] == 0:
            node.state.terms.stop[0] = 1
        solve(node, *given)

    monkeypatch.setattr(LiteralNode, "_solve", counted)
    optimum, steps, known = np.inf, 0, State(7)
    for k in (0, *range(1, 100, len(asked))):
        if k > steps > 0:
            break
        inquiry = make_inquiry(question)
        left[0] = k
        for known in BitSearch(inquiry).pieces():
            tree = to_tree(known.tree, inquiry.table, question)
            wrong = int((tree.predict_codes(question.X) != question.y).sum())
            assert known.best == pytest.approx(wrong + inquiry.price * tree.n_leaves, abs=1e-5)
            assert known.lower <= min(optimum, known.best) + 1e-6
        if k == 0:
            optimum, steps = known.best, -int(left[0])
    assert steps > 25


def test_a_stopped_subset_says_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    inquiry = make_inquiry(noisy(0))
    search = BitSearch(inquiry)
    node = search._node(search.state, 5)
    before = node.lower.copy(), node.upper.copy()

    def stopped(found: BitSubsets, *given: Any) -> int:
        found.bits.stop[0] = 1
        return 0

    monkeypatch.setattr(BitSubsets, "least", stopped)
    node.tighten(0, np.full(1, np.inf))
    assert np.array_equal(node.lower, before[0])
    assert np.array_equal(node.upper, before[1])


@pytest.mark.parametrize("depth", [4, 5], ids=["pairs", "subsets"])
def test_a_stopped_search_tells_all_that_it_proved(
    depth: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where the value of every root is wanted next, and where a piece was far from done."""
    tighten, nodes = LiteralNode.tighten, list[LiteralNode]()

    def stopped(node: LiteralNode, *given: Any) -> bool:
        nodes.append(node)
        node.state.terms.stop[0] = sum(node.depth == depth for node in nodes) == 4
        return tighten(node, *given)

    monkeypatch.setattr(LiteralNode, "tighten", stopped)
    question = replace(noisy(0, 60, 12), depth=depth, all_roots=True)
    search = BitSearch(make_inquiry(question))
    for _ in search.pieces():
        pass
    lower = nodes[-1].feature_lower[:, 0]
    np.testing.assert_array_equal(search.known.by_column, search.bits.of_columns(lower))


def test_bounds_by_subsets_are_told_after_every_feature(monkeypatch: pytest.MonkeyPatch) -> None:
    tighten, since = LiteralNode.tighten, [0]

    def counted(node: LiteralNode, *given: Any) -> bool:
        since[0] += node.depth == 5
        return tighten(node, *given)

    monkeypatch.setattr(LiteralNode, "tighten", counted)
    for _ in BitSearch(make_inquiry(noisy(0))).pieces():
        assert since[0] <= 1
        since[0] = 0


# Near-optimal trees


def near(
    seed: int, price: Fraction, smallest: int = 1, depth: int = 3, classes: int = 2
) -> Instance:
    """An instance on columns of two to four values, some rows with weights."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(8, 24))
    X = np.stack([rng.integers(0, rng.choice([2, 3, 4]), n) for _ in range(3)], axis=1)
    y = np.where(rng.random(n) < 0.4, rng.integers(0, classes, n), X.sum(axis=1) % classes)
    weights = rng.choice([1.0, 2.0, 3.0], n) if seed % 2 else None
    question = Question(X, y, classes, depth, weights=weights, min_samples_leaf=smallest)
    instance = make_instance(question, price, Fraction(1, 50))
    assert instance.by_bits
    return instance


AWKWARD = Fraction(12345678912345678911, 10**21)
"""A price of so many digits that it is rounded down."""


@pytest.mark.sampled(3)
@pytest.mark.parametrize("smallest", [1, 3])
@pytest.mark.parametrize("price", [Fraction(0), Fraction(1, 40), Fraction(1, 3), AWKWARD])
def test_the_optimum_that_a_budget_is_for(price: Fraction, smallest: int) -> None:
    for seed in range(6):
        for depth in (2, 3, 4):
            instance = near(seed, price, smallest, depth, 2 + seed % 2)
            assert instance.finds_optimum
            ground = Ground(instance, lambda done: None, None)
            assert ground.bits is not None
            rows = ground.bits.bits.rows
            errors = fewest_errors(rows, np.arange(len(rows.block)), depth)
            optimum = min(
                instance.cost(int(e), k + 1) for k, e in enumerate(errors) if np.isfinite(e)
            )
            above = ground.budget - instance.budget(optimum)
            is_rounded = instance.price != instance.penalty * instance.unit
            assert is_rounded == (price == AWKWARD)
            assert 0 <= above <= (2 * instance.most_leaves(depth) if is_rounded else 0)


@pytest.mark.parametrize("smallest", [1, 3])
@pytest.mark.parametrize("gain", [False, True])
def test_trees_of_depth_two_on_bits_as_along_columns(gain: bool, smallest: int) -> None:
    for seed in range(8):
        instance = near(seed, Fraction(1, 60), smallest, 2 + seed % 2, 2 + seed % 2)
        rng = np.random.default_rng(seed)
        cost = instance.cost(instance.total // 2, 2)
        bits = Ground(instance, lambda done: None, cost)
        lanes = Ground(replace(instance, by_bits=False), lambda done: None, cost)
        n_columns, place = instance.table.n_columns, instance.thresholds.place
        allowed = np.ones((n_columns, 3))
        allowed[:, 1:] = rng.random((n_columns, 2)) < 0.6
        inside = np.ones(bits.n_rows, bool)
        some = np.packbits(rng.random((2, bits.n_rows)) < 0.7, axis=1)
        for budget in (bits.budget, bits.budget // 2):
            parts = [Node(part.tobytes(), 2, budget) for part in some]
            root = [Node(np.packbits(inside).tobytes(), 2, budget, is_root=True)]
            for share in (bits.every, allowed[place]):
                found = []
                for nodes, places in ((root, n_columns), (root, 1), (parts, 1)):
                    size = places, instance.most_leaves(2), len(bits.values), share.shape[1]
                    for ground in (bits, lanes):
                        leaves = ground.leaf_errors(nodes)
                        stands = instance.unit * leaves + instance.price <= budget
                        stands &= leaves >= 0
                        cells = make_cells(len(nodes) + places, share.shape[1])
                        terms, grid = ground.terms(2, share, gain), np.zeros(size)
                        cells = ground.count(nodes, leaves, stands, terms, grid, cells)
                        assert not grid.any()
                        n = cells.start.max()
                        found.append([cells.start, *(column[:n] for column in cells[1:])])
                    for one, other in zip(*found[-2:], strict=True):
                        np.testing.assert_array_equal(one, other)
                    assert found[0][1].size or budget < bits.budget


def test_known_subsets_count_as_memory_and_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subsets, "FIRST_SIZE", 2)
    instance = near(1, Fraction(1, 60), depth=4)
    ground = Ground(instance, lambda done: None, None)
    assert ground.bits is not None
    known = ground.bits.stored_bytes
    with monkeypatch.context() as little:
        little.setattr(grounds, "MEMORY", known + 1000)
        ground.hold(900)
        assert ground.bits.stored_bytes == known
        ground.hold(101)
    least = ground.bits.stored_bytes
    assert least < known
    graph = find_trees(instance, lambda done: None, lambda phase, done: None, None)
    assert graph.ground.bits is not None
    assert graph.ground.bits.stored_bytes == least
