"""S-OCT against brute force over routings, and its variants against one another."""

from __future__ import annotations

from functools import cache
from itertools import product

import numpy as np
import pytest

from octcore.engines.highs import HighsModel, SolverSettings, compile_model
from octcore.formulations.base import get_formulation
from octcore.numerics.hulls import widest_gap
from octcore.program import ENDLESS, Point, Problem, SearchState
from octcore.tree import metrics
from tests.brute import make_problem, run
from tests.stages import later

pytestmark = pytest.mark.long

EPSILON = 0.1
"""Large, so that it forbids many divisions of a few points."""
XOR = np.array([[0, 0], [1, 1], [0, 1], [1, 0.0]])
XOR_LABELS = np.array([0, 0, 1, 1])


def s_oct(X, y, depth, **params) -> Problem:
    return make_problem(
        X, y, int(max(y)) + 1, depth, {"start_seconds": 0.2, **params}, formulation="s-oct"
    )


def best_by_enumeration(
    X: np.ndarray, y: np.ndarray, depth: int, epsilon: float, alpha: float = 0.0, beta: int = 99
) -> float:
    """Most correct rows minus alpha n per split over all routings that planes can make."""

    @cache
    def divisions(rows: tuple[int, ...]) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
        found = []
        for sides in product((0, 1), repeat=len(rows) - 1):
            right = tuple(r for r, s in zip(rows[1:], sides, strict=True) if s)
            left = (rows[0], *(r for r, s in zip(rows[1:], sides, strict=True) if not s))
            if not right:
                continue
            gap = widest_gap(X[list(left)], X[list(right)])
            if gap is not None and gap.width >= epsilon:
                found.append((left, right))
        return found

    @cache
    def best(rows: tuple[int, ...], levels: int, splits: int) -> float:
        leaf = float(np.bincount(y[list(rows)]).max())
        if levels == 0 or splits == 0 or leaf == len(rows):
            return leaf
        options = [
            best(left, levels - 1, a) + best(right, levels - 1, splits - 1 - a) - alpha * len(y)
            for left, right in divisions(rows)
            for a in range(splits)
        ]
        return max([leaf, *options])

    return best(tuple(range(len(X))), depth, min(beta, 2**depth - 1))


def solve(problem: Problem, starts: bool = False):
    program = get_formulation("s-oct").build(problem)
    engine = "branch-and-cut" if "benders" in problem.params["cuts"] else "highs"
    outcome, recorder, _ = run(problem, "s-oct", engine, starts=starts)
    assert outcome.stop_reason.value == "optimal"
    assert recorder.tree is not None
    assert program.evaluate(recorder.tree) == pytest.approx(recorder.objective)
    assert recorder.best_bound == pytest.approx(recorder.objective)
    return recorder.objective, recorder.tree


def tiny(seed: int, n: int = 6) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.random((n, 1 + seed % 2)) if seed % 3 else rng.integers(0, 4, (n, 2)) / 3
    y = rng.integers(0, 2 + seed % 2, n)
    y[:2] = [0, y.max() or 1]
    return X, y


@cache
def expected_optimum(seed: int, alpha: float = 0.0, beta: int = 99) -> float:
    """Enumerated once for all variants."""
    return best_by_enumeration(*tiny(seed), 2, EPSILON, alpha, beta)


@pytest.mark.parametrize("cuts", ["baseline", "init-1", "benders-last-10", "benders-all-1"])
@pytest.mark.parametrize("seed", [0, 1, *later(2, 3)])
def test_optimum_of_all_routings(seed, cuts):
    X, y = tiny(seed)
    expected = expected_optimum(seed)
    for starts in (False, True):
        objective, tree = solve(s_oct(X, y, 2, cuts=cuts, epsilon=EPSILON), starts)
        assert objective == expected
        assert metrics.accuracy(tree, X, y) * len(y) == pytest.approx(expected)


@pytest.mark.parametrize("cuts", ["baseline", "benders-last-10", "benders-all-10"])
@pytest.mark.parametrize("alpha", [0.05, 0.2, 1 / 7])
def test_price_of_splits(alpha, cuts):
    X, y = tiny(5)
    expected = expected_optimum(5, alpha)
    objective, tree = solve(s_oct(X, y, 2, cuts=cuts, epsilon=EPSILON, alpha=alpha))
    assert objective == pytest.approx(1 - expected / len(y))
    share = metrics.accuracy(tree, X, y)
    assert objective == pytest.approx(1 - share + alpha * tree.n_splits)


@pytest.mark.parametrize("cuts", ["baseline", "benders-all-10"])
def test_limit_of_splits(cuts):
    X, y = tiny(1)
    for beta in (1, 2):
        problem = make_problem(
            X, y, int(y.max()) + 1, 2, {"cuts": cuts, "epsilon": EPSILON, "start_seconds": 0.2},
            {"max_splits": beta}, formulation="s-oct",
        )  # fmt: skip
        objective, tree = solve(problem)
        assert tree.n_splits <= beta
        assert objective == expected_optimum(1, beta=beta)


@pytest.mark.parametrize("seed", [0, *later(1, 2)])
def test_baseline_and_cuts_have_one_optimum(seed):
    rng = np.random.default_rng(100 + seed)
    X, y = rng.random((8, 2)), rng.integers(0, 2, 8)
    y[:2] = [0, 1]
    values = {
        cuts: solve(s_oct(X, y, 2, cuts=cuts, epsilon=EPSILON))[0]
        for cuts in ("baseline", "benders-last-1", "benders-root-5", "user-last-1")
    }
    assert len(set(values.values())) == 1, values


@pytest.mark.parametrize("symmetry", [True, False])
def test_symmetry_breaking_loses_nothing(symmetry):
    for seed in (2, 4):
        X, y = tiny(seed)
        problem = s_oct(X, y, 2, cuts="benders-all-10", epsilon=EPSILON, symmetry_breaking=symmetry)
        assert solve(problem)[0] == expected_optimum(seed)


@pytest.mark.parametrize("cuts", ["baseline", "benders-all-10", "init-5"])
def test_corners_of_a_square(cuts):
    assert solve(s_oct(XOR, XOR_LABELS, 1, cuts=cuts))[0] == 3
    assert solve(s_oct(XOR, XOR_LABELS, 2, cuts=cuts))[0] == 4


@pytest.mark.parametrize("cuts", ["baseline", "benders-last-10"])
def test_identical_points_with_two_labels_cost_one_error(cuts):
    X = np.array([[0.3, 0.3], [0.3, 0.3], [0.9, 0.1]])
    y = np.array([0, 1, 1])
    problem = s_oct(X, y, 2, cuts=cuts)
    assert get_formulation("s-oct").build(problem).bound == 2
    assert solve(problem)[0] == 2


@pytest.mark.parametrize("cuts", ["baseline", "benders-last-10", "benders-all-1"])
@pytest.mark.parametrize(("epsilon", "correct"), [(0.005, 3), (1e-5, 4)])
def test_thin_alternations_need_a_small_epsilon(epsilon, correct, cuts):
    X = np.array([[0.0], [0.001], [0.002], [1.0]])
    y = np.array([0, 1, 1, 0])
    for starts in (False, True):
        assert solve(s_oct(X, y, 2, cuts=cuts, epsilon=epsilon), starts)[0] == correct


def test_description_tells_thin_gaps_from_wide_ones():
    X = np.array([[0.0], [0.001], [0.002], [1.0]])
    y = np.array([0, 1, 1, 0])
    for epsilon, kind in ((0.005, "epsilon-feasible"), (1e-5, "separable")):
        problem = s_oct(X, y, 2, epsilon=epsilon)
        program = get_formulation("s-oct").build(problem)
        _, tree = solve(problem)
        assert program.describe is not None
        _, (statement,) = program.describe(tree)
        assert statement.startswith(kind)


@pytest.mark.parametrize("seed", range(3))
def test_multi_tree_benders_reaches_the_same_optimum(seed):
    X, y = tiny(seed)
    problem = s_oct(X, y, 2, cuts="benders-all-10", epsilon=EPSILON)
    assert multi_tree_benders(problem) == expected_optimum(seed)


def multi_tree_benders(problem: Problem) -> float:
    """Solve the master problem anew after every round of cuts; its last optimum is realisable."""
    built = get_formulation("s-oct").build(problem).build
    assert built is not None
    model = built(lambda: None)
    compiled = compile_model(model.model)
    master = HighsModel(compiled)
    state = SearchState(True, True, 0)
    for _ in range(200):
        result = master.run(SolverSettings(20.0, absolute_gap=0.99))
        assert result.point is not None
        assert result.objective is not None
        point = Point(compiled.columns, np.round(result.point))
        cuts = [c for s in model.separators for c in s.separate(point, state)]
        if not cuts:
            return round(result.objective)
        for family in cuts:
            master.add_rows(family.matrix, family.rhs)
    raise AssertionError("200 rounds of cuts were not enough for a few points")


@pytest.mark.parametrize("cuts", ["baseline", "benders-last-10"])
@pytest.mark.parametrize("alpha", [0.0, 0.01])
def test_start_values_satisfy_every_row(cuts, alpha):
    rng = np.random.default_rng(7)
    X, y = rng.random((30, 3)), rng.integers(0, 3, 30)
    problem = s_oct(X, y, 3, cuts=cuts, alpha=alpha)
    program = get_formulation("s-oct").build(problem)
    assert program.build is not None
    built = program.build(lambda: None)
    compiled = compile_model(built.model)
    trees = [tree for _, tree in program.starts(ENDLESS)]
    assert trees
    for tree in trees:
        x = compiled.placed(built.start_values(tree), np.full(len(compiled.cost), np.nan))
        assert not np.isnan(x).any()
        activity = compiled.matrix @ x
        assert (activity >= compiled.row_lower - 1e-7).all()
        assert (activity <= compiled.row_upper + 1e-7).all()
        assert (x >= compiled.lower - 1e-9).all()
        assert (x <= compiled.upper + 1e-9).all()
        claimed = compiled.cost @ x + compiled.offset
        assert claimed == pytest.approx(program.evaluate(tree))
        assert built.read_tree(Point(compiled.columns, x)).n_leaves >= 1


@pytest.mark.parametrize("seed", range(3))
def test_no_cut_removes_a_realisable_routing(seed):
    rng = np.random.default_rng(seed)
    X, y = rng.random((12, 2)), rng.integers(0, 2, 12)
    problem = s_oct(X, y, 2, cuts="benders-all-10", epsilon=1e-5)
    program = get_formulation("s-oct").build(problem)
    assert program.build is not None
    built = program.build(lambda: None)
    compiled = compile_model(built.model)
    rows = []
    for _ in range(20):
        x = rng.random(len(compiled.cost))
        for separator in built.separators:
            for cuts in separator.separate(Point(compiled.columns, x), SearchState(True, True, 0)):
                assert (cuts.matrix @ x > cuts.rhs).all()
                rows.append(cuts)
    assert rows
    for _, tree in program.starts(ENDLESS):
        x = compiled.placed(built.start_values(tree), np.zeros(len(compiled.cost)))
        assert all((cuts.matrix @ x <= cuts.rhs + 1e-9).all() for cuts in rows)
