"""SVM1-ODT: strictness, prices, inequalities and subsets of values."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from octcore.data.dataset import Dataset
from octcore.engines.highs import compile_model
from octcore.errors import SettingsError
from octcore.formulations.base import get_formulation
from octcore.program import ENDLESS, Point, SearchState
from octcore.solving.solve import solve
from octcore.tree.tree import Split, Tree
from tests.brute import make_problem, run
from tests.model_point import check_start, check_starts

RNG = np.random.default_rng(1)
CODES = RNG.integers(0, 3, 24)
X = np.column_stack([RNG.random((24, 2)), np.eye(3)[CODES]])
Y = ((X[:, 0] + X[:, 1] > 1).astype(int) + (CODES == 1)).astype(np.int64)
PAIRS = np.array([[0.3, 0.3], [0.3, 0.3], [0.7, 0.7], [0.7, 0.7]])


def _problem(params=None, depth=2, X=X, y=Y, categorical=((2, 3, 4),), n_classes=3):
    params = {"start_seconds": 0.2, **(params or {})}
    groups = np.array([0, 1, 2, 2, 2])[: X.shape[1]]
    problem = make_problem(X, y, n_classes, depth, params, groups=groups, formulation="svm1-odt")
    return replace(problem, categorical=categorical if X.shape[1] == 5 else ())


@pytest.mark.sampled(3)
@pytest.mark.parametrize("labels", ["binary", "published"])
@pytest.mark.parametrize("strict", [True, False])
@pytest.mark.parametrize("categorical", ["subsets", "one-hot"])
def test_starts_are_points_of_the_model(labels, strict, categorical):
    """Cuts are on: a start that satisfies all rows is not cut off."""
    problem = _problem({"labels": labels, "strict": strict, "categorical": categorical})
    program = get_formulation("svm1-odt").build(problem)
    assert check_starts(program) >= 2


def _random_tree(rng, n_classes, depth):
    """A random tree with majority labels nowhere: labels are random too."""
    branch = range(1, 2**depth)
    splits = {m: Split.on_plane(rng.normal(size=2) / 9, float(rng.normal() / 9)) for m in branch}
    labels = {m: int(rng.integers(n_classes)) for m in range(2**depth, 2 ** (depth + 1))}
    return Tree(splits, labels, 2, n_classes)


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("n_classes", "depth"), [(5, 1), (5, 2), (3, 2), (2, 1)])
def test_inequalities_on_classes_cut_off_no_tree(n_classes, depth):
    rng = np.random.default_rng(n_classes)
    points = rng.random((12, 2))
    y = np.append(np.arange(n_classes), rng.integers(0, n_classes, 12 - n_classes))
    program = get_formulation("svm1-odt").build(
        _problem({"strict": False}, depth, points, y, n_classes=n_classes)
    )
    kept = 0
    for _ in range(20):
        tree = _random_tree(rng, n_classes, depth)
        if program.evaluate(tree) is not None:
            check_start(program, tree, 1e-5)
            kept += 1
    assert kept >= 5


def test_cuts_of_one_row_per_class_are_violated_and_cut_off_no_tree():
    rng = np.random.default_rng(4)
    points, y = rng.random((10, 2)), np.append(np.arange(5), rng.integers(0, 5, 5))
    asked = {"labels": "published", "strict": False}
    program = get_formulation("svm1-odt").build(_problem(asked, 1, points, y, n_classes=5))
    built = program.build(lambda: None)
    compiled, (cuts,) = compile_model(built.model), built.separators
    empty = np.full(compiled.columns.n_columns, np.nan)
    drawn = [_random_tree(rng, 5, 1) for _ in range(40)]
    kept = [tree for tree in drawn if program.evaluate(tree) is not None]
    trees = [compiled.placed(built.start_values(tree), empty.copy()) for tree in kept]
    x = np.mean(trees, axis=0)
    x[compiled.columns.of(built.model.c)] = 0.0
    (rows,) = cuts.separate(Point(compiled.columns, x), SearchState(False, True, 0))
    assert (rows.matrix @ x > rows.rhs + 0.1).all()
    sides = np.array([rows.matrix @ own - rows.rhs for own in trees])
    assert sides.max() == pytest.approx(0)


def test_rows_on_a_plane_cannot_cheat_in_strict_mode():
    y = np.array([0, 1, 0, 1])
    problem = _problem({"alpha1": 30.0, "epsilon": 8e-4}, 1, PAIRS, y, n_classes=2)
    _, recorder, events = run(problem, "svm1-odt", time_limit=30)
    assert recorder.objective == pytest.approx(2.0)
    assert recorder.best_bound == pytest.approx(2.0)
    assert not [event for event in events if event.kind == "note"]


def test_without_strict_mode_a_row_on_a_plane_must_cost_an_error():
    params = {"alpha1": 30.0, "epsilon": 8e-4, "strict": False}
    problem = _problem(params, 1, PAIRS, np.array([0, 1, 0, 1]), n_classes=2)
    with pytest.raises(SettingsError, match=r"alpha1 x epsilon = 0\.024"):
        get_formulation("svm1-odt").build(problem)


def test_a_margin_beyond_all_scores_is_refused():
    """A node without a plane lacks it, too: the model's bound was 722 beside a tree of 4."""
    problem = _problem({"epsilon": 1.0, "big_m": 0.01})
    with pytest.raises(SettingsError, match=r"epsilon = 1, .* big_m = 0\.01"):
        get_formulation("svm1-odt").build(problem)
    get_formulation("svm1-odt").build(_problem({"epsilon": 1.0, "big_m": 1.0}))


def test_warning_only_where_margins_are_cheap():
    assert not get_formulation("svm1-odt").build(_problem()).findings
    cheap = get_formulation("svm1-odt").build(_problem({"alpha1": 10.0, "epsilon": 0.05}))
    assert "alpha1 x epsilon = 0.5" in cheap.findings[0]


def test_run_reports_the_warning():
    data = Dataset.from_arrays(PAIRS, ["a", "b", "a", "b"])
    run_ = solve(data, "svm1-odt", depth=1, params={"alpha1": 30.0, "epsilon": 8e-4}, time_limit=10)
    assert any("alpha1 x epsilon" in text for text in run_.findings)
    assert run_.accuracy == 0.5
    assert run_.status == "optimal"


def test_subsets_send_unseen_values_right():
    problem = _problem(depth=1, y=(CODES == 1).astype(np.int64), n_classes=2)
    _, recorder, _ = run(problem, "svm1-odt", time_limit=30)
    assert recorder.objective == pytest.approx(0.0)
    tree = recorder.tree
    assert tree is not None
    assert set(tree.splits[1].features) <= {2, 3, 4}
    unseen = np.array([[0.5, 0.5, 0.0, 0.0, 0.0]])
    assert tree.apply(unseen)[0] == 3


def test_planes_may_not_use_indicators_unless_asked():
    mixed = Tree({1: Split.on_plane([0.5, 0, 0.5, 0, 0], -0.3)}, {2: 0, 3: 1}, 5, 3)
    assert get_formulation("svm1-odt").build(_problem()).evaluate(mixed) is None
    open_ = _problem({"categorical": "one-hot", "strict": False})
    assert get_formulation("svm1-odt").build(open_).evaluate(mixed) is not None


def test_shattering_cuts_keep_the_optimum():
    rng = np.random.default_rng(5)
    points, y = rng.random((6, 1)), rng.integers(0, 2, 6)
    values = []
    for switch in (False, True):
        problem = _problem({"shattering_cuts": switch}, 2, points, y, n_classes=2)
        _, recorder, _ = run(problem, "svm1-odt", time_limit=40)
        values.append(recorder.objective)
        assert recorder.best_bound == pytest.approx(recorder.objective, abs=1e-4)
    assert values[0] == pytest.approx(values[1], abs=1e-5)


def test_shattering_cuts_keep_trees_between_rows_that_are_close():
    near = 4e-6 * np.array([[0, 0], [0, 0], [0, 0], [1, -1], [2, -2]])
    points = np.array([[0, 0], [1, 1], [2, 2], [1, 1], [1, 1]]) / 2 + near
    y = np.array([0, 0, 0, 1, 1])
    program = get_formulation("svm1-odt").build(
        _problem({"alpha1": 0.0, "shattering_cuts": True}, 1, points, y, n_classes=2)
    )
    plane = Split.on_plane([50.0, -50.0], -2e-4)
    tree = Tree({1: plane}, {2: 0, 3: 1}, 2, 2)
    assert program.evaluate(tree) == pytest.approx(300)
    built = program.build(lambda: None)
    compiled = compile_model(built.model)
    x = compiled.placed(built.start_values(tree), np.full(compiled.columns.n_columns, np.nan))
    at, state = Point(compiled.columns, x), SearchState(True, True, 0)
    assert [found for cut in built.separators for found in cut.separate(at, state)] == []


def test_reported_accuracy_is_the_routed_one():
    problem = _problem(depth=2)
    program = get_formulation("svm1-odt").build(problem)
    assert program.improve is not None
    for _, tree in program.starts(ENDLESS):
        value = program.evaluate(tree)
        if value is not None:
            wrong = (tree.predict_codes(X) != Y).sum()
            assert wrong <= value + 1e-9
            after = program.evaluate(program.improve(tree, ENDLESS))
            assert after is not None
            assert after <= value + 1e-6


@pytest.mark.parametrize(
    ("sizes", "depth", "prices", "objective"),
    [
        # one row lacks .01, three lack .0099, and the plane has weight 1e-4
        ((3, 1), 1, {"alpha1": 10.0, "alpha2": 100.0}, 10 * (0.01 + 3 * 0.0099) + 0.01),
        # 11 rows lack .01 at the root and below it, less 1e-4 where they go right, and once more
        # for the six that are one column farther from the root's plane; planes have weight 3e-4
        ((1, 2, 3, 5), 2, {"alpha1": 1.0, "alpha2": 20.0}, 0.22 - 1e-4 * (8 + 7 + 6) + 3 * 0.006),
    ],
)
def test_the_side_with_more_rows_lies_where_less_of_the_margin_is_wanted(
    sizes, depth, prices, objective
):
    """Rows on the right keep a distance, which counts as margin: trees have no mirror images."""
    where = np.repeat(np.arange(len(sizes)), sizes)
    for x in (where, where.max() - where):
        for y in (where % 2, 1 - where % 2):
            data = Dataset.from_arrays(x[:, None].astype(float), y)
            params = {**prices, "start_seconds": 0.1}
            found = solve(data, "svm1-odt", depth=depth, params=params, verify=False)
            assert (found.status, found.objective) == (
                "optimal",
                pytest.approx(objective, abs=1e-6),
            )
