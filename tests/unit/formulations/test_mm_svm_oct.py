"""MM-SVM-OCT: prices by level, relabelling, starts and re-centred planes."""

from __future__ import annotations

import json

import numpy as np
import pytest

import octcore
from octcore.data.dataset import Dataset
from octcore.errors import SettingsError
from octcore.formulations import mm_svm_oct
from octcore.formulations.base import get_formulation
from octcore.formulations.mm_svm_oct import MMSVMTrees
from octcore.numerics import kernels
from octcore.numerics.node_qp import plane
from octcore.numerics.node_qp.solver import solve_node
from octcore.program import ENDLESS, Patience
from octcore.solving.solve import solve
from octcore.tree.tree import Split, Tree
from tests.brute import make_problem, run
from tests.model_point import check_start, check_starts

RNG = np.random.default_rng(2)
X = RNG.random((20, 2))
Y = ((X[:, 0] > 0.5) ^ (X[:, 1] > 0.5)).astype(np.int64)


def _problem(params=None, depth=2, X=X, y=Y):
    params = {"start_seconds": 0.2, **(params or {})}
    return make_problem(X, y, 2, depth, params, formulation="mm-svm-oct")


@pytest.mark.sampled(10)
@pytest.mark.parametrize("relabel", [False, True])
@pytest.mark.parametrize("depth", [1, 2, 3])
def test_starts_are_points_of_the_model(relabel, depth):
    program = get_formulation("mm-svm-oct").build(_problem({"relabel": relabel}, depth))
    assert check_starts(program) >= 3


def test_rows_elsewhere_may_lie_between_a_plane_and_its_threshold():
    """Node 2 routes at 0.25, between its own rows; the row at 0.45 goes another way."""
    points = np.array([[0.1, 0.1], [0.4, 0.1], [0.3, 0.9], [0.9, 0.9]])
    planes = {
        1: Split.on_plane([0.0, 2.0], -1.0, True),
        2: Split(((0, 4.0),), 1.0, -1.4, True),
        3: Split.on_plane([2.0, 0.0], -1.2, True),
        **{t: Split.on_plane([1.0, 0.0], -0.5, True) for t in (4, 5, 6, 7)},
    }
    labels = {t: t % 2 for t in range(8, 16)}
    tree = Tree(planes, labels, 2, 2)
    problem = _problem({}, 3, points, np.array([0, 1, 0, 1]))
    check_start(get_formulation("mm-svm-oct").build(problem), tree)


def test_rows_pay_at_every_level_below_a_leaf():
    program = get_formulation("mm-svm-oct").build(_problem({"c1": 3.0}))
    minority = (Y == 0).sum()
    assert program.evaluate(Tree.leaf(1, 2, 2)) == pytest.approx(2 * 2 * 3.0 * minority)


def test_cheap_relabelling_beats_slack():
    program = get_formulation("mm-svm-oct").build(_problem({"c1": 3.0, "c2": 0.5, "relabel": True}))
    minority = (Y == 0).sum()
    assert program.evaluate(Tree.leaf(1, 2, 2)) == pytest.approx(2 * 0.5 * minority)


def test_planes_below_a_node_without_one_are_refused():
    planes = {
        1: Split.on_plane([0.0, 0.0], 1.0, True),
        2: Split.on_plane([0.0, 0.0], 1.0, True),
        3: Split.on_plane([1.0, 0.0], -0.5, True),
    }
    tree = Tree(planes, {4: 0, 5: 1, 6: 0, 7: 1}, 2, 2)
    assert get_formulation("mm-svm-oct").build(_problem()).evaluate(tree) is None


def test_narrowest_margin_counts_once():
    planes = {
        1: Split.on_plane([0.0, 2.0], -1.0, True),
        2: Split.on_plane([1.0, 0.0], -0.5, True),
        3: Split.on_plane([3.0, 0.0], -1.5, True),
    }
    tree = Tree(planes, {4: 0, 5: 1, 6: 0, 7: 1}, 2, 2)
    program = get_formulation("mm-svm-oct").build(_problem({"c1": 1e-9, "c3": 0.25}))
    assert program.evaluate(tree) == pytest.approx(4.5 + 0.75, abs=1e-6)


NOISE = np.random.default_rng(7).integers(0, 2, 20)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("y", [Y, NOISE], ids=["xor", "noise"])
def test_polishing_never_worsens_and_recentring_keeps_the_routing(y):
    problem = _problem(y=y)
    program = get_formulation("mm-svm-oct").build(problem)
    judge = MMSVMTrees(problem)
    assert program.improve is not None
    moved = 0
    for _, tree in program.starts(ENDLESS):
        before = program.evaluate(tree)
        if before is None:
            continue
        better = program.improve(tree, ENDLESS)
        after = program.evaluate(better)
        assert after is not None
        assert after <= before + 1e-9
        centred = judge.recentred(better)
        ways = better.node_rows(X)
        for node, rows in centred.node_rows(X).items():
            np.testing.assert_array_equal(rows, ways[node])
        moved += sum(centred.splits[t] != better.splits[t] for t in better.splits)
    assert moved


def test_a_run_holds_the_recentred_tree_for_the_margins_view():
    run = octcore.solve(
        octcore.load_sample("xor"), "mm-svm-oct", time_limit=2, params={"start_seconds": 0.5}
    )
    stored = Tree.from_dict(json.loads(json.dumps(run.extras["recentred"])))
    assert run.tree is not None
    assert run.train is not None
    rows = run.encoding.transform(run.train.frame)
    assert set(stored.splits) == set(run.tree.splits)
    for node, split in stored.splits.items():  # no margin is narrower than it was solved
        old, new = (
            np.linalg.norm([value for _, value in s.weights])
            for s in (run.tree.splits[node], split)
        )
        assert new <= old * (1 + 1e-4)
    assert (stored.predict_codes(rows) == run.tree.predict_codes(rows)).mean() > 0.9


def test_identical_rows_of_two_classes_leave_one_error():
    points, y = np.array([[0.3, 0.3], [0.3, 0.3], [0.9, 0.1], [0.1, 0.9]]), np.array([0, 1, 1, 0])
    _, recorder, _ = run(
        _problem({"c1": 10.0}, 1, points, y), "mm-svm-oct", "outer-approximation", gap=1e-4
    )
    assert recorder.tree is not None
    assert (recorder.tree.predict_codes(points) != y).sum() == 1


def test_a_solve_names_coding_and_limits():
    data = Dataset.from_arrays(X, np.where(Y == 1, "yes", "no"))
    found = solve(data, "mm-svm-oct", depth=1, time_limit=10, params={"start_seconds": 0.3})
    assert found.accuracy == pytest.approx(
        float(
            (
                found.tree.predict(found.encoding.transform(data.frame)) == np.where(Y, "yes", "no")
            ).mean()
        )
    )
    assert "no is coded -1 (left leaves), yes +1 (right)" in found.certificate.statements
    assert "relabelling is off" in found.certificate.statements


def test_three_classes_are_refused_in_words():
    data = Dataset.from_arrays(X, np.array(["a", "b", "c", "a"] * 5))
    with pytest.raises(SettingsError, match="one against the rest"):
        solve(data, "mm-svm-oct")


def test_polishing_ends_with_the_time_limit(monkeypatch):
    solves = []

    def counted(*arguments):
        solves.append(arguments)
        return solve_node(*arguments)

    monkeypatch.setattr(plane, "solve_node", counted)
    rng = np.random.default_rng(0)
    X = rng.random((400, 10))
    problem = _problem(X=X, y=((X[:, 0] > X[:, 1]) ^ (rng.random(400) < 0.3)).astype(int))
    program = get_formulation("mm-svm-oct").build(problem)
    first = dict(program.starts(ENDLESS))["local SVM"]
    assert program.improve is not None
    solves.clear()
    program.improve(first, Patience(lambda: 0.0))
    assert len(solves) == len(first.splits)  # one chunk of work for every plane
    made = MMSVMTrees(problem)
    monkeypatch.setattr(mm_svm_oct, "RECENTRE_SECONDS", 0.0)
    assert made.recentred(first) == first


@pytest.mark.parametrize(("key", "params"), [("mm-svm-oct", {}), ("margot", {"norm": "l1"})])
def test_kernels_of_first_trees_are_prepared_while_no_clock_runs(monkeypatch, key, params):
    asked = []

    def require(*names, stop=None):
        asked.extend(names)
        return 0.0

    monkeypatch.setattr(kernels, "require", require)
    problem = make_problem(X, Y, 2, 2, params, formulation=key)
    trees = get_formulation(key).build(problem).starts(ENDLESS)
    assert next(tree for _, tree in trees if tree.splits)
    assert plane.KERNELS in asked
