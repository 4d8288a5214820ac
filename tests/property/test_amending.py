"""Amended trees on random rows, against every tree that one change makes, one by one."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from octcore.program import ENDLESS, Patience, Problem
from octcore.tree.tree import Split, Tree, grown
from octcore.warmstart import amending
from octcore.warmstart.amending import amended
from tests.brute import make_problem
from tests.referee import by_order

PRICE = 0.15
CASES = range(11)
SUMS = ("recall", "recalls", "parity", "recall+parity")
KINDS = (
    *SUMS, "features", "pairs", "once", "monotone", "recall+leaves", "parity+size",
    "monotone+recall", "root+recall", "forbidden+parity", "recall+splits", "impossible-root+recall",
)  # fmt: skip
WAYS = ("up", "down")
THRESHOLDS = np.arange(0.5, 4.0)


def draw(rng: np.random.Generator, kind: str, depth: int, n: int = 10) -> Problem:
    """Rows of 0 and 1, as one-hot, steps or at random, or of few numbers; weights of 0 among them.

    Limits look at rows of weight 0 as at others.
    """
    sort = str(rng.choice(["binary", "one-hot", "steps", *3 * ["numbers"]]))
    X = rng.integers(0, 5, (n, 2)).astype(float)
    if sort == "binary":
        X = rng.integers(0, 2, (n, 4)).astype(np.uint8)
    elif sort == "one-hot":
        X = np.eye(4, dtype=np.uint8)[rng.integers(0, 4, n)]
    elif sort == "steps":
        X = (rng.integers(0, 5, n)[:, None] > np.arange(4)).astype(np.uint8)
    classes = 2 if "parity" in kind else int(rng.choice([2, 3]))
    y = rng.permutation(np.arange(n) % classes)
    names = [f"f{j}" for j in range(X.shape[1])]
    some = lambda: str(rng.choice(names))  # noqa: E731
    gaps, shares = [0.0, 0.0, 0.1, 0.3], [0.0, 0.3, 0.6, 1.0]
    asked: dict[str, Any] = {}
    if "recall" in kind:
        labels = rng.permutation(classes)[: 1 + ("recalls" in kind)]
        asked["min_recall"] = {int(k): float(rng.choice(shares)) for k in labels}
    if "parity" in kind:
        asked["statistical_parity"] = {"attribute": some(), "max_gap": float(rng.choice(gaps))}
    if "features" in kind:
        asked["max_features"] = int(rng.integers(0, 3))
    if "pairs" in kind:
        asked["forbidden_pairs"] = [tuple(rng.permutation(names)[:2].tolist())]
    if "once" in kind:
        asked["feature_once_per_path"] = True
    if "monotone" in kind:
        asked["monotone"] = {some(): str(rng.choice(WAYS))}
    if "leaves" in kind:
        asked["max_leaves"] = int(rng.integers(1, 4))
    if "splits" in kind:
        asked["max_splits"] = int(rng.integers(0, 3))
    if "size" in kind:
        asked["min_samples_leaf"] = int(rng.integers(1, 4))
    if "root" in kind:
        asked["root_feature"] = some()
    if "impossible" in kind:  # a column that parts no rows
        X[:, names.index(asked["root_feature"])] = 1
    if "forbidden" in kind:
        asked["forbidden_features"] = [some()]
    weights = rng.choice([0.0, 1.0, 1.0, 2.5], n)
    codes = {name: np.unique(X[:, j], return_inverse=True)[1] for j, name in enumerate(names)}
    formulation = "flow-oct" if X.dtype == np.uint8 else "threshold-search"
    return make_problem(
        X, y, classes, depth, constraints=asked, weights=weights, attributes=codes,
        formulation=formulation,
    )  # fmt: skip


def grow(rng: np.random.Generator, problem: Problem, depth: int) -> by_order.Nested:
    """Draw a tree; some of its splits part no rows, as those of other trees do after a change."""
    if depth == 0 or rng.random() < 0.2:
        return (int(rng.integers(problem.n_classes)),)
    column = int(rng.integers(problem.n_features))
    threshold = 0.5 if problem.X.dtype == np.uint8 else float(rng.choice(THRESHOLDS))
    return (column, threshold, *(grow(rng, problem, depth - 1) for _ in range(2)))


def part_of(tree: by_order.Nested) -> amending.Part:
    """The same as nodes and sides."""
    if len(tree) == 1:
        return tree
    return (Split.on_feature(*tree[:2]), part_of(tree[2]), part_of(tree[3]))


def nested(part: amending.Part) -> by_order.Nested:
    """And back."""
    if len(part) == 1:
        return part
    return (part[0].features[0], part[0].threshold, nested(part[1]), nested(part[2]))


def of_tree(tree: Tree, node: int = 1) -> by_order.Nested:
    """A tree by its root and sides."""
    if node in tree.labels:
        return (tree.labels[node],)
    split = tree.splits[node]
    return (split.features[0], split.threshold, *(of_tree(tree, 2 * node + s) for s in (0, 1)))


def worth(problem: Problem, tree: by_order.Nested) -> float:
    """Weight of correct rows without what leaves cost."""
    right = by_order.predict(tree, problem.X) == problem.y
    return float(problem.weights[right].sum()) - PRICE * len(by_order.paths(tree))


def missing(problem: Problem, tree: by_order.Nested) -> float:
    """By how much floors and limits between groups are not kept, in all."""
    asked, predicted, found = problem.constraints, by_order.predict(tree, problem.X), 0.0
    for label, floor in (asked.min_recall or {}).items():
        of_class = problem.y == label
        share = (predicted[of_class] == label).mean() if of_class.any() else 1.0
        found += max(0.0, floor - share)
    if asked.statistical_parity is not None:
        groups = problem.context.attributes[asked.statistical_parity.attribute]
        shares = [(predicted[groups == g] == 1).mean() for g in np.unique(groups)]
        gaps = (abs(a - b) for a, b in itertools.combinations(shares, 2))
        found += sum(max(0.0, gap - asked.statistical_parity.max_gap) for gap in gaps)
    return found


def keeps(problem: Problem, tree: by_order.Nested) -> bool:
    """Whether a tree keeps everything that was asked."""
    asked, names = problem.constraints.to_dict(), list(problem.context.raw_features)
    tested = {names[j] for path in by_order.paths(tree) for j in path}
    limit = asked.pop("max_splits", None)
    if limit is not None and len(by_order.paths(tree)) > limit + 1:
        return False
    if tested & set(asked.get("forbidden_features", ())):
        return False
    root = asked.get("root_feature")
    if root is not None and len(tree) > 1:
        if len(np.unique(problem.X[:, tree[0]] <= tree[1])) == 1:
            return False
    asked = {"min_samples_leaf": 0} | asked  # a leaf without rows breaks nothing else
    return by_order.keeps(tree, problem.X, problem.y, names, asked)


def changes(
    problem: Problem, tree: by_order.Nested, path: tuple[int, ...], here: np.ndarray, smallest: int
) -> Iterator[by_order.Nested]:
    """Every tree that another node at the end of a path makes.

    It may become a leaf, one of its sides, or any split with leaves or its own sides below.
    """
    if path:
        column, threshold, *sides = tree
        left = problem.X[:, column] <= threshold
        below = here & (~left if path[0] == 2 else left)
        for new in changes(problem, sides[path[0] - 1], path[1:], below, smallest):
            yield (
                column,
                threshold,
                *(new if k == path[0] - 1 else s for k, s in enumerate(sides)),
            )
        return
    leaves = [(label,) for label in range(problem.n_classes)]
    kept = [[side] if len(side) > 1 else [] for side in (tree[2:] or (tree, tree))]
    yield from (*leaves, *kept[0], *kept[1])
    for column, threshold in itertools.product(range(problem.n_features), THRESHOLDS):
        left = here & (problem.X[:, column] <= threshold)
        right = here & ~left
        if not left.any() or not right.any():
            continue
        for a, b in itertools.product([*leaves, *kept[0]], [*leaves, *kept[1]]):
            enough = left.sum() >= smallest * len(by_order.paths(a))
            if enough and right.sum() >= smallest * len(by_order.paths(b)):
                yield (column, threshold, a, b)


def ways(tree: by_order.Nested, path: tuple[int, ...] = ()) -> Iterator[tuple[int, ...]]:
    """Paths to all nodes."""
    yield path
    for side, below in enumerate(tree[2:], 1):
        yield from ways(below, (*path, side))


@pytest.mark.parametrize("exchange", [None, 0.7])
@pytest.mark.parametrize("kind", SUMS)
def test_a_node_becomes_what_is_best_for_the_whole_tree(kind: str, exchange: float | None) -> None:
    for number in CASES:
        rng = np.random.default_rng((number, len(kind)))
        problem = draw(rng, kind, int(rng.integers(1, 4)))
        search = amending._Amending(problem, PRICE, ENDLESS)
        search.exchange = exchange

        def value(tree: by_order.Nested, of: Problem = problem) -> tuple[float, float]:
            short = missing(of, tree)
            if exchange is None:
                return short, -worth(of, tree)
            return 0.0, exchange * short - worth(of, tree)

        tree = grow(rng, problem, problem.depth)
        start = search.value(part_of(tree))
        assert start[0] == 0
        assert start[1:] == pytest.approx(value(tree), abs=1e-7)
        everything = np.ones(problem.n_samples, bool)
        for path in ways(tree):
            if len(path) == problem.depth:
                continue  # no split there
            made = changes(problem, tree, path, everything, 1)
            best = min(value(tree), *map(value, made))
            found, part = search._best(part_of(tree), path, start)
            case = number, path, tree, nested(part)
            assert found[1:] == pytest.approx(value(nested(part)), abs=1e-7), case
            # Of trees that all miss as much, rounding chooses one.
            is_tied = exchange is None and best[0] > 0
            assert found[1:][: 1 + (not is_tied)] == pytest.approx(best[: 1 + (not is_tied)]), case


@pytest.mark.sampled(3)
@pytest.mark.parametrize("kind", KINDS)
def test_a_change_is_worth_what_it_is_taken_for(kind: str) -> None:
    """Whatever is asked, a value is that of the tree; a leaf gets the best allowed split."""
    for number in CASES:
        rng = np.random.default_rng((number, len(kind), 1))
        problem = draw(rng, kind, int(rng.integers(1, 4)))
        search = amending._Amending(problem, PRICE, ENDLESS)
        tree = grow(rng, problem, problem.depth)
        start = search.value(part_of(tree))
        for path in ways(tree):
            found, part = search._best(part_of(tree), path, start)
            new = nested(part)
            assert found <= start
            assert found[1:] == pytest.approx(
                (missing(problem, new), -worth(problem, new)), abs=1e-7
            )
            assert (found[0] == 0 and found[1] == 0) == keeps(problem, new), (number, tree, new)
            assert max(map(len, by_order.paths(new))) <= problem.depth
        leaf, smallest = (0,), problem.constraints.min_samples_leaf or 1
        made = list(changes(problem, leaf, (), np.ones(problem.n_samples, bool), smallest))
        kept = [-worth(problem, new) for new in made if keeps(problem, new)]
        found, _ = search._best(leaf, (), search.value(leaf))
        assert not kept or found[:2] == (0, 0.0)
        assert not kept or found[2] == pytest.approx(min(kept), abs=1e-7), (number, kept)


@pytest.mark.long
@pytest.mark.sampled(15)
@pytest.mark.parametrize("kind", KINDS)
def test_trees_keep_everything_and_rise(kind: str) -> None:
    """Up to depth 5, from trees that break what they can; rarely far from the best of depth 2."""
    found, possible, lost = 0, 0, []
    for number in CASES[:7]:
        rng = np.random.default_rng((number, len(kind), 2))
        problem = draw(rng, kind, 2 if number < 5 else int(rng.integers(0, 6)))
        given = [grow(rng, problem, problem.depth) for _ in range(3)]
        shape = (problem.n_features, problem.n_classes)
        parts = [grown(part_of(tree), lambda p: p[0] if len(p) == 1 else p) for tree in given]
        starts = [Tree(*part, *shape) for part in parts]
        trees = [of_tree(tree) for tree in amended(problem, PRICE, starts)]
        values = [worth(problem, tree) for tree in trees]
        assert all(keeps(problem, tree) for tree in trees), (number, trees)
        assert all(a < b for a, b in itertools.pairwise(values))
        assert all(max(map(len, by_order.paths(t))) <= problem.depth for t in trees)
        good = [worth(problem, tree) for tree in given if keeps(problem, tree)]
        assert not good or values[-1] >= max(good) - 1e-9, (number, "a start is better")
        if problem.depth == 2 and problem.n_classes == 2:
            every = by_order.every_tree(problem.X, 2, 2, np.ones(problem.n_samples, bool))
            kept = [worth(problem, tree) for tree in every if keeps(problem, tree)]
            assert bool(kept) >= bool(values)
            possible += bool(kept)
            found += bool(values)
            if values:
                assert values[-1] <= max(kept) + 1e-9
                lost.append(max(kept) - values[-1])
    assert found >= possible - 1
    assert sum(loss < 1e-9 for loss in lost) >= len(lost) / 2, lost


@pytest.mark.parametrize("is_last", [True, False])
def test_the_best_threshold_leaves_enough_rows_on_both_sides(is_last: bool) -> None:
    """The heaviest row alone would be worth more, and there is no other column."""
    X = np.arange(6.0)[:, None] * (1 if is_last else -1)
    y, weights = np.array([0, 0, 0, 0, 0, 1]), np.array([1.0, 1.0, 1.0, 1.0, 1.0, 3.0])
    problem = make_problem(X, y, 2, 1, constraints={"min_samples_leaf": 2}, weights=weights)
    search = amending._Amending(problem, PRICE, ENDLESS)
    found, _ = search._best((0,), (), search.value((0,)))
    assert found == pytest.approx((0, 0, 2 * PRICE - 7))


def test_trees_to_begin_with_are_among_those_that_are_changed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """No single change of a leaf begins a parity of three columns."""
    monkeypatch.setattr(amending, "ROUNDS", 0)
    X = np.array(list(itertools.product([0, 1], repeat=3)), np.uint8)
    asked = {"min_recall": {0: 1.0, 1: 1.0}}
    problem = make_problem(X, X.sum(axis=1) % 2, 2, 3, constraints=asked)
    tests = {m: Split.on_feature(m.bit_length() - 1, 0.5) for m in range(1, 8)}
    tree = Tree(tests, {m: m.bit_count() % 2 ^ 1 for m in range(8, 16)}, 3, 2)
    assert list(amended(problem, PRICE, [tree])) == [tree]
    assert not list(amended(problem, PRICE, []))


def test_a_node_is_drawn_anew_within_the_depth_and_the_columns() -> None:
    for number in CASES:
        rng = np.random.default_rng(number)
        problem = draw(rng, "forbidden+root+recall", 2)
        search, tree = amending._Amending(problem, PRICE, ENDLESS), (0,)
        for _ in range(40):
            tree = nested(search.shaken(part_of(tree), rng))
            assert max(map(len, by_order.paths(tree))) <= 2
            banned = np.flatnonzero(problem.forbidden_columns)
            assert not {j for path in by_order.paths(tree) for j in path} & set(banned.tolist())
            assert len(tree) == 1 or f"f{tree[0]}" == problem.constraints.root_feature


class Ticking:
    """Seconds that are left, fewer by one part of a second whenever somebody asks."""

    def __init__(self, seconds: float, tick: float) -> None:
        self.seconds, self.tick = seconds, tick

    def __call__(self) -> float:
        self.seconds -= self.tick
        return max(0.0, self.seconds)


@pytest.mark.parametrize(("limit", "share"), [(4.0, 0.5), (400.0, 0.05)])
def test_time_without_a_tree_is_limited(
    limit: float, share: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Equal rows of both classes: no tree finds all of either, however long it is looked for."""
    monkeypatch.setattr(amending, "FRUITLESS", 10**6)
    monkeypatch.setattr(amending, "ROUNDS", 10**6)
    X, y = np.array([[0.0], [0.0], [1.0], [1.0]]), np.array([0, 1, 0, 1])
    problem = make_problem(X, y, 2, 2, constraints={"min_recall": {0: 1.0, 1: 1.0}})
    clock = Ticking(limit, limit / 4000)
    assert not list(amended(problem, PRICE, [], Patience(clock)))
    assert share * limit <= limit - clock.seconds < share * limit * 1.1


@pytest.mark.slow
@pytest.mark.parametrize(("limit", "share"), [(4.0, 0.25), (400.0, 0.005)])
def test_time_with_a_tree_is_limited(
    limit: float, share: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(amending, "FRUITLESS", 10**6)
    monkeypatch.setattr(amending, "ROUNDS", 10**6)
    problem = draw(np.random.default_rng(0), "once", 2)
    clock = Ticking(limit, limit / 20000)
    assert list(amended(problem, PRICE, [], Patience(clock)))
    assert share * limit <= limit - clock.seconds < share * limit * 1.5


def test_without_time_nothing_is_amended() -> None:
    problem = draw(np.random.default_rng(0), "once", 2)
    assert not list(amended(problem, PRICE, [], Patience(lambda: 0.0)))
    assert not list(amended(problem, PRICE, [], Patience(cancel=lambda: True)))


def test_time_may_end_while_one_node_is_changed() -> None:
    """However many columns there are, nobody tries them all."""
    problem = draw(np.random.default_rng(3), "recall", 2)
    search = amending._Amending(problem, PRICE, Patience(cancel=lambda: True))
    rows, outside = np.arange(len(search.X)), np.zeros(search.terms.shape[2])
    leaves: list[amending.Part] = [(0,), (1,)]
    assert not list(search._splits(rows, (), outside, 0.0, leaves, leaves, leaves))
    worst = 99, 0.0, 0.0
    assert search._best((0,), (), worst) == (worst, (0,))
