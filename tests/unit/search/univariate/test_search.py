"""The search against exhaustive recursion, its bounds, its restrictions and the edge cases."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from octcore.search.univariate import search
from octcore.search.univariate.bounds import INFINITE
from octcore.search.univariate.depth_two import MANY_COLUMNS, Terms, depth_two
from octcore.search.univariate.lane_rows import Rows
from octcore.search.univariate.lane_search import LaneSearch, kernel_rows
from octcore.search.univariate.question import Question, Report
from octcore.search.univariate.search import answer
from octcore.search.univariate.table import Inquiry
from octcore.tree.tree import Tree
from tests.enumeration import best_by_leaves
from tests.fuzz.questions import Truth, answered_by


def random_question(rng: np.random.Generator, depth: int, **settings: Any) -> Question:
    """Return a small random question with repeated columns, rows and conflicts now and then."""
    n_samples, n_features = int(rng.integers(2, 17)), int(rng.integers(1, 5 if depth < 3 else 4))
    X = rng.integers(0, 2, (n_samples, n_features)).astype(np.uint8)
    if n_features > 2 and rng.random() < 0.5:
        X[:, -1] = X[:, 0] if rng.random() < 0.5 else 1 - X[:, 0]
    n_classes = int(rng.integers(2, 4))
    y = rng.integers(0, n_classes, n_samples)
    penalty = float(rng.choice([0.0, 0.01, 0.05, 0.12]))
    return Question(X, y, n_classes, depth, penalty, **settings)


def enumerated(question: Question, roots: tuple[int, ...] | None = None) -> float:
    """Best objective by exhaustive recursion; minus infinite if there is no tree."""
    X, y, weights, depth = question.X, question.y, question.weights, question.depth
    weights = np.ones(len(y)) if weights is None else weights
    may = np.ones(X.shape[1], bool) if question.forbidden is None else ~question.forbidden
    least = max(1, question.min_samples_leaf)

    def below(rows: np.ndarray, depth: int) -> dict[int, float]:
        if not rows.any():
            return {}
        found = best_by_leaves(
            X[rows][:, may], y[rows], question.n_classes, depth, weights[rows], least
        )
        return {leaves: right for leaves, (right, _) in found.items()}

    if roots is None:
        found = below(np.ones(len(y), bool), depth)
    else:
        found = {}
        for root in roots if depth else ():
            sides = [below(X[:, root] == side, depth - 1) for side in (0, 1)] if may[root] else [{}]
            for i, a in sides[0].items():
                for j, b in sides[1].items():
                    found[i + j] = max(a + b, found.get(i + j, 0.0))
    most = question.max_leaves or 2**depth
    share = 1 / weights.sum()
    values = [v * share - question.leaf_penalty * k for k, v in found.items() if k <= most]
    return max(values, default=-np.inf)


def objective(question: Question, tree: Tree | None) -> float:
    """Objective by routing of a tree that keeps all restrictions."""
    assert tree is not None
    return Truth(question).value(tree)


def check(question: Question) -> None:
    """Solve and compare objective, tree, bound and restrictions with enumeration."""
    found = answer(question)
    expected = enumerated(question, question.roots)
    if expected == -np.inf:
        assert found.status == "infeasible"
        assert found.tree is None
        assert found.bound is None
        return
    assert found.status == "optimal"
    assert found.objective == pytest.approx(expected, abs=1e-9)
    assert found.bound == pytest.approx(expected, abs=1e-9)
    assert objective(question, found.tree) == pytest.approx(expected, abs=1e-9)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("depth", [0, 1, 2, 3])
def test_equals_enumeration(depth: int, kernel: str) -> None:
    rng = np.random.default_rng(depth)
    for _ in range(25):
        check(random_question(rng, depth))


# Fractions have kernels of their own, which compile for longer than all other tests here take.
@pytest.mark.parametrize(
    "kind", ["counts", "zeros", pytest.param("fractions", marks=pytest.mark.long)]
)
def test_weights(kind: str, kernel: str) -> None:
    rng = np.random.default_rng(len(kind))
    for trial in range(20):
        question = random_question(rng, 2 + trial % 2)
        weights = rng.integers(1, 6, len(question.y)).astype(float)
        if kind == "fractions":
            weights = rng.random(len(question.y)) + 0.01
        elif kind == "zeros":
            weights[1:] *= rng.integers(0, 2, len(question.y) - 1)
        check(replace(question, weights=weights))


def test_minimum_leaf_size_with_and_without_weights(kernel: str) -> None:
    rng = np.random.default_rng(5)
    for trial in range(60):
        least = int(rng.integers(2, 6))
        question = random_question(rng, 1 + trial % 3, min_samples_leaf=least)
        if trial % 2:
            question = replace(question, weights=rng.integers(1, 9, len(question.y)) / 4)
        check(question)


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_leaf_limit(depth: int, kernel: str) -> None:
    rng = np.random.default_rng(10 + depth)
    for trial in range(25):
        most = int(rng.integers(1, 2**depth + 1))
        least = 1 if trial % 3 else 2
        check(random_question(rng, depth, max_leaves=most, min_samples_leaf=least))


def test_forbidden_features(kernel: str) -> None:
    rng = np.random.default_rng(20)
    for trial in range(30):
        question = random_question(rng, 1 + trial % 3)
        check(replace(question, forbidden=rng.random(question.X.shape[1]) < 0.4))


@pytest.mark.parametrize("depth", [0, 1, 2, 3])
def test_a_forced_root_parts_the_rows(depth: int, kernel: str) -> None:
    """Also one of several, a complement of another column, or one that is constant."""
    rng = np.random.default_rng(21)
    infeasible = 0
    for trial in range(24):
        settings = {"max_leaves": int(rng.integers(1, 6))} if trial % 2 else {}
        if trial % 5 == 0:
            settings["min_samples_leaf"] = 2
        question = random_question(rng, depth, **settings)
        if trial % 4 == 0:
            question.X[:, 0] = trial % 8 // 4
        roots = tuple(rng.integers(question.X.shape[1], size=1 + trial % 3 // 2).tolist())
        check(replace(question, roots=roots))
        infeasible += enumerated(question, roots) == -np.inf
    assert infeasible
    check(replace(question, roots=(), max_leaves=None))


@pytest.mark.sampled(2)
@pytest.mark.parametrize("least", [0, 1, 3])
def test_root_values_are_exact_or_upper_bounds(least: int, kernel: str) -> None:
    rng = np.random.default_rng(30)
    for trial in range(30):
        depth = 1 + trial % 3
        wanted = random_question(rng, depth, min_samples_leaf=least, all_roots=True)
        if trial % 6 == 0:
            wanted.X[:, 0] = trial % 12 // 6  # parts no rows: no tree begins with it
        exact, bounds = answer(wanted), answer(replace(wanted, all_roots=False))
        for f in range(wanted.X.shape[1]):
            value = enumerated(wanted, (f,))
            assert exact.root_exact[f]
            assert exact.root_values[f] == pytest.approx(value, abs=1e-9)
            assert bounds.root_values[f] >= value - 1e-9
            if bounds.root_exact[f]:
                assert bounds.root_values[f] == pytest.approx(value, abs=1e-9)


def parity(n_bits: int, repeats: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """Parity of ``n_bits`` bits: only a full tree of depth ``n_bits`` is right everywhere."""
    X = np.array([[(k >> b) & 1 for b in range(n_bits)] for k in range(2**n_bits)], np.uint8)
    X = np.repeat(X, repeats, axis=0)
    return X, X.sum(axis=1) % 2


@pytest.mark.parametrize("depth", [3, 4, 5, 6])
def test_parity_needs_the_full_depth(depth: int, kernel: str) -> None:
    X, y = parity(depth)
    full = answer(Question(np.hstack([X, 1 - X]), y, 2, depth, 0.001))
    assert full.objective == pytest.approx(1 - 0.001 * 2**depth)
    assert full.status == "optimal"


@pytest.mark.sampled(2)
def test_depth_four_and_five_equal_search_over_the_roots(kernel: str) -> None:
    rng = np.random.default_rng(41)
    for trial in range(12):
        depth = 4 + trial % 2
        X = rng.integers(0, 2, (40, 5)).astype(np.uint8)
        y = rng.integers(0, 3, 40)
        question = Question(X, y, 3, depth, 0.01)
        best = max(_two_sides(question, f) for f in range(5))
        single = np.bincount(y).max() / len(y) - 0.01
        found = answer(question)
        assert found.objective == pytest.approx(max(best, single), abs=1e-9)
        forced = answer(replace(question, roots=(2,)))
        assert forced.objective == pytest.approx(_two_sides(question, 2), abs=1e-9)


def _two_sides(question: Question, f: int) -> float:
    """Objective with ``f`` at the root from two independent searches one level down."""
    value = 0.0
    for side in (0, 1):
        rows = question.X[:, f] == side
        share = rows.mean()
        below = Question(
            question.X[rows], question.y[rows], question.n_classes, question.depth - 1,
            question.leaf_penalty / share,
        )  # fmt: skip
        found = answer(below).objective
        assert found is not None
        value += share * found
    return value


def hard_question() -> Question:
    """A random question whose proof takes far longer than any test may."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (900, 260)).astype(np.uint8)
    return Question(X, rng.integers(0, 2, 900), 2, 4, 0.0001)


def test_time_limit_gives_a_tree_and_a_valid_bound(kernel: str) -> None:
    question = hard_question()
    found = answer(question, time_limit=1.5)
    assert found.status == "time_limit"
    assert found.tree is not None
    assert found.objective is not None
    assert found.bound is not None
    right = (found.tree.predict_codes(question.X) == question.y).mean()
    assert right - 0.0001 * found.tree.n_leaves == pytest.approx(found.objective)
    assert found.bound > found.objective


def test_a_deep_search_of_few_rows_can_be_stopped(kernel: str) -> None:
    """One piece of it took 20 s on the thread that looks at the clock."""
    rng = np.random.default_rng(1)
    question = Question(rng.random((60, 4)).round(3), rng.integers(0, 2, 60), 2, 8, 0.01)
    found = answer(question, time_limit=0.3)
    assert found.status == "time_limit"
    assert found.search_seconds < 4


def test_bounds_are_valid_when_stopped_early(kernel: str) -> None:
    rng = np.random.default_rng(2)
    X = (rng.random((200, 30)) < 0.4).astype(np.uint8)
    y = (X[:, 0] ^ X[:, 3] ^ (rng.random(200) < 0.2)).astype(int)
    question = Question(X, y, 2, 4, 0.002)
    optimum = answer(question).objective
    assert optimum is not None
    for calls in (0, 1, 2, 4):
        asked: list[int] = []

        def cancel(asked: list[int] = asked, calls: int = calls) -> bool:
            asked.append(1)
            return len(asked) > calls

        found = answer(question, cancel=cancel)
        assert found.bound is not None
        assert found.bound >= optimum - 1e-9
        if found.tree is not None:
            assert found.objective is not None
            assert found.objective <= optimum + 1e-9
        assert found.root_values.max() >= optimum - 1e-9


def test_the_first_yes_of_cancel_ends_the_search(kernel: str) -> None:
    answers = [False] * 5 + [True]
    found = answer(hard_question(), cancel=lambda: answers.pop(0))
    assert found.status == "cancelled"
    assert not answers


def test_reports_are_monotone_and_end_together(kernel: str) -> None:
    rng = np.random.default_rng(6)
    X = (rng.random((150, 20)) < 0.4).astype(np.uint8)
    y = (X[:, 0] & X[:, 3]) ^ (rng.random(150) < 0.2)
    reports: list[Report] = []
    question = Question(X, y.astype(int), 2, 4, 0.003)
    found = answer(question, reports.append)
    bounds = [report.bound for report in reports if report.bound is not None]
    trees = [report.tree for report in reports if report.tree is not None]
    rights = [(tree.predict_codes(X) == y).mean() - 0.003 * tree.n_leaves for tree in trees]
    assert bounds == sorted(bounds, reverse=True)
    assert rights == sorted(rights)
    assert rights[-1] == pytest.approx(found.objective, abs=1e-12)
    assert bounds[-1] == pytest.approx(found.objective, abs=1e-9)
    assert found.bound == found.objective
    assert trees[-1] == found.tree
    assert [report.kind for report in reports].index("started") == 0
    assert all((report.kind == "incumbent") == (report.tree is not None) for report in reports)


def test_same_tree_every_time_and_in_any_order_of_rows_and_threads(
    monkeypatch: pytest.MonkeyPatch, kernel: str
) -> None:
    monkeypatch.setattr("octcore.search.univariate.literal_node._SHARED_OUT", 0)
    rng = np.random.default_rng(8)
    for depth in (1, 2, 3, 3, 4, 4):
        X, y = rng.integers(0, 2, (60, 7)).astype(np.uint8), rng.integers(0, 3, 60)
        order = rng.permutation(60)
        first, again, shuffled, together = (
            answer(Question(X[rows], y[rows], 3, depth, 0.01, threads=threads))
            for rows, threads in (
                (slice(None), 1), (slice(None), 1), (order, 1), (slice(None), 3)
            )
        )  # fmt: skip
        for other in (again, shuffled, together):
            assert other.tree == first.tree
            assert other.bound == first.bound == first.objective
            assert (other.root_values == first.root_values).all()
            assert other.subtrees == first.subtrees


def test_leaf_size_beyond_half_and_beyond_all(kernel: str) -> None:
    X, y = parity(3)
    half = answer(Question(X, y, 2, 3, min_samples_leaf=5))
    assert half.tree == Tree.leaf(0, 3, 2)
    none = answer(Question(X, y, 2, 3, min_samples_leaf=9))
    assert (none.status, none.tree, none.bound) == ("infeasible", None, None)


def test_rows_may_count_twice_or_not_at_all_for_a_leaf(kernel: str) -> None:
    rng = np.random.default_rng(31)
    for trial in range(40):
        least = int(rng.choice([0, 1, 2, 4]))
        question = random_question(rng, trial % 4, min_samples_leaf=least)
        asked = replace(question, counts=rng.integers(0, 3, len(question.y)))
        truth, found = Truth(asked), answer(asked)
        best = truth.best(truth.by_leaves)
        if best == -np.inf:
            assert found.status == "infeasible"
            continue
        assert found.status == "optimal"
        assert found.objective == found.bound == pytest.approx(best, abs=1e-9)
        assert objective(asked, found.tree) == pytest.approx(best, abs=1e-9)


def test_no_value_for_columns_that_may_not_be_the_root(kernel: str) -> None:
    """Nor for a copy of one that may."""
    X = np.array([[0, 0, 0], [0, 0, 1], [1, 1, 0], [1, 1, 1]], np.uint8)
    for depth in (1, 2, 3, 4):
        found = answer(Question(X, np.array([0, 1, 1, 0]), 2, depth, 0.01, roots=(1,)))
        assert found.tree is not None
        assert found.tree.splits[1].features == (1,)
        assert found.root_exact.all()
        assert found.root_values[1] == pytest.approx(found.objective)
        assert found.root_values[[0, 2]].tolist() == [-np.inf, -np.inf]


@pytest.mark.parametrize("n_classes", [2, 3])
def test_many_columns_are_tried_at_one_threshold_first(n_classes: int) -> None:
    """Two of them tell only together; counts by pairs, which know no order, are the referee."""
    rng = np.random.default_rng(n_classes)
    settings: list[dict[str, Any]] = [
        {},
        {"all_roots": True, "weights": rng.integers(1, 9, 40)},
        {"max_leaves": 3},
        {"min_samples_leaf": 4},
        {"roots": (3, 77, 500)},
    ]
    for setting in settings:
        X = rng.integers(0, 6, (40, MANY_COLUMNS + 8)).astype(float)
        y = ((X[:, 77] > 2) ^ (X[:, 519] > 2)) + (n_classes - 2) * (X[:, 1] > 3)
        asked = Question(X, y, n_classes, 2, 0.01, **setting)
        found = answer(asked)
        assert found.status == "optimal"
        assert found.tree is not None
        right = np.average(found.tree.predict_codes(X) == y, weights=asked.weights)
        assert found.objective == pytest.approx(right - 0.01 * found.tree.n_leaves, abs=1e-9)
        with answered_by("bits"):
            other = answer(asked)
        assert found.objective == pytest.approx(other.objective, abs=1e-9)
        if asked.all_roots:
            np.testing.assert_allclose(found.root_values, other.root_values, atol=1e-9)


@pytest.mark.parametrize(("leaves", "smallest"), [(4, 1), (3, 1), (4, 3), (3, 2)])
def test_the_survey_of_many_columns_changes_no_bound(leaves: int, smallest: int) -> None:
    """Columns that part no rows make a table wide; without them there is no survey."""
    rng = np.random.default_rng(10 * leaves + smallest)
    for trial in range(4):
        # Columns of two values are all solved by the survey.
        X = rng.integers(0, (9, 2)[trial // 2], (12, 18)).astype(float)
        n_classes = 2 + trial % 2
        inquiry = search.make_inquiry(
            Question(X, rng.integers(0, n_classes, 12), n_classes, 2, 0.02)
        )
        narrow, slack = kernel_rows(inquiry.table, np.int16), inquiry.slack
        m, flat = len(narrow.y), MANY_COLUMNS - len(narrow.rank)
        same = np.tile(np.arange(m, dtype=np.int32) << 1, (flat, 1))
        rank = np.vstack([narrow.rank, np.zeros((flat, m), np.int16)])
        wide = narrow._replace(sequence=np.vstack([narrow.sequence, same]), rank=rank)
        may = rng.random(MANY_COLUMNS) < 0.9

        def solve(
            rows: Rows, roots: np.ndarray, cutoff: float, stop: int = 0, asked: Inquiry = inquiry
        ) -> tuple[float, float, np.ndarray]:
            work, halt = np.zeros(2, np.int64), np.full(1, stop, np.uint8)
            terms = Terms(asked.table.n_classes, asked.price, asked.slack, halt, work)
            score, plan = np.empty(len(rows.rank)), np.zeros((4, 4), np.int32)
            given = terms, leaves, smallest, cutoff, roots[: len(score)].astype(np.uint8), 0
            return *depth_two(rows, *given, score, plan), score

        truth = np.full(MANY_COLUMNS, INFINITE)
        for g in np.flatnonzero(may[: len(narrow.rank)]):
            truth[g] = solve(narrow, np.arange(MANY_COLUMNS) == g, INFINITE)[0]
        best = truth.min()
        for cutoff in (INFINITE, best + 0.5, best, best - 0.5, best - 1.5):
            cost, lower, score = solve(wide, may, cutoff)
            assert cost >= best - slack
            assert min(best, cutoff) - 2 * slack <= lower <= best + slack
            assert (score <= truth + slack).all()
            if cutoff > best:
                assert cost == lower == pytest.approx(best, abs=slack)
            cost, lower, score = solve(wide, may, cutoff, stop=1)
            assert cost >= best - slack
            assert lower <= best + slack
            assert (score <= truth + slack).all()


def test_the_table_decides_which_kernels_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """0/1 columns have no split that parts rows of weight 0 alone from the others."""
    asked = Question(np.eye(4), np.arange(4) % 2, 2, 2)
    assert search.suits_bits(search.make_inquiry(asked).table)
    lanes: list[object] = []
    with answered_by("lanes"):  # whatever is compiled first is a search as well
        answer(asked)
    pieces = LaneSearch.pieces
    monkeypatch.setattr(LaneSearch, "pieces", lambda self: lanes.append(self) or pieces(self))
    with answered_by("bits"):
        answer(asked)
        assert not lanes
        answer(replace(asked, weights=np.array([1.0, 0, 1, 1])))
        assert len(lanes) == 1
    with answered_by("lanes"):
        answer(asked)
        assert len(lanes) == 2
    many = replace(asked, X=np.arange(4.0 * search.BITS_EACH).reshape(-1, 1))
    many = replace(many, y=np.arange(len(many.X)) % 2)
    assert not search.suits_bits(search.make_inquiry(many).table)
