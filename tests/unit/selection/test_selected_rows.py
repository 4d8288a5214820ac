"""Row selection: hulls, rules, rounds; and many classes with formulations for two."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial import ConvexHull

from octcore.data.dataset import Dataset, class_versus_rest
from octcore.errors import CancelledError, DataError, SettingsError
from octcore.numerics import hulls
from octcore.numerics.hulls import balanced_choice, split_hull
from octcore.selection.one_vs_rest import signed_distance, solve_one_vs_rest
from octcore.selection.selected_training import (
    CLAIM,
    LARGEST,
    Thresholds,
    heuristic_tree,
    scaled_problem,
    select_again,
    select_rows,
    solve_selected,
)
from octcore.tree import metrics
from octcore.tree.tree import Split, Tree
from octcore.warmstart.greedy import grow

FAST = {"start_seconds": 0.1}


def _blobs(n=300, d=2, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.random((n, d))
    y = np.where(X[:, 0] + X[:, 1] > 1, "up", np.where(X[:, 0] > 0.5, "right", "left"))
    return Dataset.from_arrays(X, y)


def test_the_screening_of_directions_keeps_the_limit_too(monkeypatch):
    """Each of 154 clusters of a wide table spent half a second after the time was over."""

    def over() -> None:
        raise TimeoutError

    words = "followed a direction after the limit"
    monkeypatch.setattr(hulls, "_furthest", lambda *_: pytest.fail(words))
    with pytest.raises(TimeoutError):
        split_hull(np.random.default_rng(0).random((30, 3)), np.random.default_rng(0), over)


@pytest.mark.parametrize(("n", "d", "seed"), [(60, 1, 0), (80, 2, 1), (120, 3, 2), (150, 4, 3)])
def test_vertices_are_those_of_the_convex_hull(n, d, seed):
    rng = np.random.default_rng(seed)
    X = rng.random((n, d))
    found = split_hull(X, rng)
    wanted = {int(X.argmin()), int(X.argmax())} if d == 1 else set(ConvexHull(X).vertices)
    assert set(found.vertices) == wanted
    assert set(found.inner) == set(range(n)) - wanted
    for i, members, shares in zip(found.inner, found.members, found.multipliers, strict=True):
        assert len(members) <= d + 1
        assert set(members) <= wanted
        assert shares.sum() == pytest.approx(1.0)
        np.testing.assert_allclose(shares @ X[members], X[i], atol=1e-6)


@pytest.mark.parametrize(("d", "epsilon"), [(2, 0.02), (2, 0.1), (3, 0.1)])
def test_with_a_tolerance_fewer_vertices_stand_for_all_points(d, epsilon):
    angles = np.random.default_rng(d).normal(size=(120, d))
    X = 0.5 + 0.5 * angles / np.linalg.norm(angles, axis=1)[:, None]
    found = split_hull(X, np.random.default_rng(0), epsilon=epsilon)
    assert 2 * d <= len(found.vertices) < 60  # without it all are
    assert len(found.vertices) + len(found.inner) == 120
    for i, members, shares in zip(found.inner, found.members, found.multipliers, strict=True):
        assert set(members) <= set(found.vertices)
        assert np.abs(shares @ X[members] - X[i]).max() <= epsilon + 1e-6
    data = Dataset.from_arrays(X, ["a"] * 120)
    kept = [len(select_rows(data, thresholds=Thresholds(0.9, 1.0, e)).rows) for e in (0, epsilon)]
    assert kept[0] == 120
    assert kept[1] < 60


def test_points_in_general_and_special_position_on_a_grid():
    """Midpoints of edges and faces are no vertices; ties must not make them so."""
    X = np.array(np.meshgrid(*[[0.0, 0.5, 1.0]] * 3)).reshape(3, -1).T
    found = split_hull(X, np.random.default_rng(0))
    assert {tuple(x) for x in X[found.vertices]} == {
        (a, b, c) for a in (0.0, 1.0) for b in (0.0, 1.0) for c in (0.0, 1.0)
    }


def test_a_vertex_matters_from_a_share_of_one_in_as_many_as_a_simplex_has():
    """Of a triangle's corners those with a third of some point inside: the nearest one here."""
    X = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.3, 0.3]])
    found = select_rows(Dataset.from_arrays(X, ["a"] * 4), depth=1)
    assert found.clusters == ({"size": 4, "inside": 1, "matter": 1, "kept": 1},)
    assert list(found.rows) == [0]


def test_in_later_rounds_rows_that_stand_for_others_outweigh_all_errors():
    problem = scaled_problem(_blobs(80), 1)
    tree, X = grow(problem), np.asarray(problem.X, float)
    wrong = np.flatnonzero(tree.predict_codes(X) != problem.y)
    found = select_again(problem, tree, X, Thresholds(0.9, 1.0), 60.0)
    assert set(wrong) < set(found.rows)
    assert (found.weights[np.isin(found.rows, wrong)] == 1).all()
    assert set(found.weights) == {1.0, len(wrong) + 1.0}


def test_a_duplicated_vertex_is_kept_once():
    X = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.2, 0.2], [0.0, 0.0]])
    data = Dataset.from_arrays(X, ["a"] * 5)
    kept = select_rows(data, depth=1, thresholds=Thresholds(0.9, 1.0)).rows
    assert list(kept) == [0, 1, 2]


def test_balanced_choice_is_no_worse_than_all_vertices():
    rng = np.random.default_rng(4)
    X = rng.random((14, 2))
    chosen = balanced_choice(X, 0.0, 10.0)
    hull = ConvexHull(X)
    gain_of_all = (len(X) - len(hull.vertices)) - len(hull.vertices)
    covered = 0
    if len(chosen) > 2:
        inner = split_hull(np.vstack([X[chosen]]), rng)
        assert len(inner.vertices) == len(chosen)
    for i in np.setdiff1d(np.arange(len(X)), chosen):
        both = np.vstack([X[chosen], X[i]])
        covered += len(both) - 1 not in set(split_hull(both, rng).vertices)
    assert covered - len(chosen) >= max(0, gain_of_all)


@pytest.mark.long
def test_clusters_are_those_of_a_tree_whose_planes_are_where_the_classes_part():
    """Two slanted planes that cuts along the columns cannot follow."""
    rng = np.random.default_rng(0)
    X = rng.random((2000, 6))
    up = (X - 0.5) @ rng.normal(size=(6, 2)) > 0
    y = np.where(up[:, 0], np.where(up[:, 1], "a", "b"), "c")
    problem = scaled_problem(Dataset.from_arrays(X, y), 2)
    tree = heuristic_tree(problem)
    assert metrics.accuracy(grow(problem), problem.X, problem.y) < 0.8
    assert metrics.accuracy(tree, problem.X, problem.y) > 0.95


def test_shares_limit_what_is_kept():
    data = _blobs()
    few = select_rows(data, depth=2, thresholds=Thresholds(0.1, 0.05))
    many = select_rows(data, depth=2, thresholds=Thresholds(0.1, 1.0))
    assert len(few.rows) < len(many.rows) < data.n_samples
    assert set(few.rows) <= set(many.rows)
    assert sum(c["size"] for c in few.clusters) == data.n_samples
    assert (few.weights == 1).all()
    assert few.share == len(few.rows) / data.n_samples


def test_large_clusters_are_cut(monkeypatch):
    monkeypatch.setitem(LARGEST, "hull", 40)
    data = _blobs()
    found = select_rows(data, depth=2, thresholds=Thresholds(0.1, 0.3))
    sizes = [cluster["size"] for cluster in found.clusters]
    assert max(sizes) <= 40
    assert sum(sizes) == data.n_samples
    assert len(found.rows) == len(set(found.rows)) == sum(c["kept"] for c in found.clusters)


@pytest.mark.long
def test_processes_select_what_one_selects():
    data = _blobs()
    one, two = (select_rows(data, depth=2, n_jobs=n) for n in (1, 2))
    np.testing.assert_array_equal(one.rows, two.rows)
    assert one.clusters == two.clusters
    with pytest.raises(CancelledError):
        select_rows(data, depth=2, n_jobs=2, cancel=lambda: True)


def test_wrong_settings_are_refused():
    with pytest.raises(SettingsError, match="beta1"):
        Thresholds(beta1=1.0)
    for wrong in ({"beta1": "many"}, {"beta1": None}, {"epsilon": -1}):
        with pytest.raises(SettingsError, match=next(iter(wrong))):
            Thresholds(**wrong)
    assert Thresholds(beta1="0.5").beta1 == 0.5
    with pytest.raises(SettingsError, match="rounds"):
        solve_selected(_blobs(20), rounds="two")
    with pytest.raises(SettingsError, match="beta2"):
        Thresholds(beta2=0.0)
    with pytest.raises(SettingsError, match="rule"):
        select_rows(_blobs(20), rule="all")
    with pytest.raises(SettingsError, match="rounds"):
        solve_selected(_blobs(20), rounds=0)


@pytest.mark.long
@pytest.mark.sampled(2)
@pytest.mark.parametrize("rule", ["hull", "balanced"])
def test_trees_from_selected_rows_are_judged_on_all(rule):
    data = _blobs(240)
    found = solve_selected(
        data, rule=rule, thresholds=Thresholds(0.1, 0.1), rounds=2, time_limit=60, params=FAST
    )
    X = found.run.encoding.transform(data.frame)
    assert found.accuracy == pytest.approx(float((found.tree.predict_codes(X) == data.y).mean()))
    assert found.accuracy == max(found.rounds)
    assert found.accuracy >= 0.9
    assert CLAIM in found.run.certificate.statements
    assert found.run.n_train == len(found.selection.rows) < data.n_samples


def test_class_versus_rest_groups_and_names_the_positive_class():
    data = class_versus_rest(_blobs(), "up")
    assert data.classes == ("not up", "up")
    assert data.positive_class == "up"
    assert data.class_counts[1] == _blobs().class_counts[_blobs().classes.index("up")]
    with pytest.raises(DataError, match="none of the classes"):
        class_versus_rest(_blobs(), "down")


def test_signed_distance_is_euclidean_and_signed_by_the_leaf():
    tree = Tree({1: Split.on_plane([3.0, 4.0], -2.5)}, {2: 0, 3: 1}, 2, 2)
    X = np.array([[0.0, 0.0], [1.0, 1.0]])
    np.testing.assert_allclose(signed_distance(tree, X, 1), [-0.5, 0.9])
    leaf = Tree.leaf(1, 2, 2)
    assert (signed_distance(leaf, X, 1) == np.inf).all()


def test_one_versus_rest_predicts_by_the_largest_distance():
    data = _blobs(120)
    model = solve_one_vs_rest(data, "margot", depth=1, time_limit=9, test_size=0.25)
    assert model.n_trees == 3
    assert "3 trees" in model.summary
    assert model.accuracy is not None
    assert model.test_accuracy is not None
    assert model.accuracy > 0.7
    predicted = model.predict(data.frame)
    assert set(predicted) <= set(data.classes)
    best = model.distances(data.frame).argmax(axis=1)
    assert [data.classes[k] for k in best] == list(predicted)


def test_one_versus_rest_looks_at_the_columns_that_it_tests():
    y = np.arange(30) % 3
    data = Dataset.from_arrays(np.column_stack([y, np.zeros(30), np.arange(30)]), y)
    told = []
    model = solve_one_vs_rest(data, "path-search", depth=2, on_event=lambda *e: told.append(e))
    of_runs = zip(model.classes, model.runs, strict=True)
    assert told == [(label, event) for label, run in of_runs for event in run.trace.events]
    gaps = data.frame.astype(object).assign(x1=None, x2="?")
    assert (model.predict(gaps) == data.y).all()


@pytest.mark.slow
def test_twenty_thousand_rows_are_reduced_to_a_quarter():
    rng = np.random.default_rng(0)
    X = rng.random((20_000, 10))
    normals = rng.normal(size=(2, 10))
    scores = (X - X.mean(axis=0)) @ normals.T
    y = np.where(scores[:, 0] > 0, np.where(scores[:, 1] > 0, "a", "b"), "c")
    found = select_rows(Dataset.from_arrays(X, y), thresholds=Thresholds(0.1, 0.05))
    assert len(found.rows) <= 0.25 * len(X)
