"""Costs of answers against the table itself: copies, referees, refusals, and what is stored."""

from __future__ import annotations

import json
import pickle
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

import octcore
from octcore.cli import main
from octcore.data.dataset import Dataset
from octcore.data.tasks import ASK, Task, task_of
from octcore.numerics.games import game_value
from octcore.plotting.accuracy import confusion_data
from octcore.selection.refer_path import refer_path
from octcore.solving.run import Run
from octcore.store.models import load_model, model_to_dict, score
from octcore.tree.tree import Tree

CLASSES = ("a", "b", "c")
FREE = {a: {b: 0.0 for b in CLASSES if b != a} for a in CLASSES}
COSTS = {"a": {"b": 5.0}, "c": {"a": 0.25, "b": 0.0}}


def rows(seed: int = 0, n: int = 40) -> Dataset:
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"x": rng.integers(0, 6, n), "z": rng.integers(0, 5, n)})
    y = np.where(rng.random(n) < 0.6, frame["x"] // 2, rng.integers(0, 3, n))
    return Dataset.from_arrays(frame, [CLASSES[int(k)] for k in y])


def drawn_task(rng: np.random.Generator) -> Task:
    costs = {
        a: {b: float(rng.choice([0, 0.2, 1, 3, 1 / 3])) for b in CLASSES if b != a} for a in CLASSES
    }
    costs["a"]["b"] = 2.0
    return task_of(costs, None if rng.random() < 0.5 else 0.1, CLASSES)


def test_copies_of_light_rows_weigh_what_they_do() -> None:
    """No short fraction is 1e-9, and the nearest one is 0: the row would count for nothing."""
    copies = task_of({"a": {"b": 0.5}}, None, ("a", "b")).copies(
        np.array([0, 1]), np.array([1e-9, 0.3])
    )
    assert copies.weight.tolist() == [5e-10, 0.3]


def test_where_there_is_one_class_no_answer_needs_to_cost() -> None:
    assert task_of(None, None, ("a",)).is_errors


def test_a_step_that_is_rounding_of_the_objective_proves_nothing() -> None:
    """The bound of a better tree, a step of 2.5e-13 below 1, looked nearer than it was."""
    X = [[int(bit) for bit in f"{row:04b}"] for row in (6, 10, 11, 1, 7, 9, 0, 15)]
    data = Dataset.from_arrays(np.array(X), [1, 0, 1, 0, 1, 0, 1, 1])
    costs = {0: {1: 2e-12}, 1: {0: 2e-12}}
    asked = {"depth": 2, "params": {"leaf_penalty": 0.0}, "costs": costs, "verify": False}
    run = octcore.solve(data, "bend-oct", "none", **asked)
    assert run.is_optimal
    assert run.mean_cost == 0.0


@pytest.mark.parametrize("formulation", ["flow-oct", "bend-oct"])
def test_costs_below_the_tolerance_of_a_solver_count(formulation: str) -> None:
    X = np.array([[0, 0], [0, 1], [1, 0], [1, 1]] * 3)
    data = Dataset.from_arrays(pd.DataFrame(X, columns=["f", "g"]), (X[:, 0] ^ X[:, 1]).tolist())
    costs, free = {k: {1 - k: 1e-8} for k in (0, 1)}, {"leaf_penalty": 0.0}
    asked = {"depth": 2, "params": free, "costs": costs, "warm_start": "none"}
    run = octcore.solve(data, formulation, "none", **asked)
    assert run.is_optimal
    assert run.accuracy == 1.0


@pytest.mark.parametrize("seed", range(20))
def test_copies_that_are_right_weigh_what_the_answers_save(seed: int) -> None:
    rng = np.random.default_rng(seed)
    task, y = drawn_task(rng), rng.integers(0, 3, 30)
    weights = rng.choice([0.0, 0.5, 1.0, 3.0], 30)
    copies = task.copies(y, weights)
    assert np.bincount(copies.row, copies.count).tolist() == [1] * 30
    assert (copies.label[copies.count > 0] == y).all()
    for answer in range(len(task.answers)):
        cost = float(weights @ task.matrix[y, answer])
        right = copies.weight[copies.label == answer].sum()
        assert right + copies.offset == pytest.approx(copies.total - cost)


def test_balanced_classes_and_a_person_have_a_common_unit() -> None:
    """4/5 of 432/290 was taken of its digits, which no short fraction has; the set was refused."""
    weight = float(Fraction(432, 290))
    copies = task_of(None, 0.2, ("no", "yes")).copies(np.array([0]), np.array([weight]))
    assert copies.weight.tolist() == [weight, float(Fraction(432, 290) * Fraction(4, 5))]
    balanced = {"class_weight": "balanced"}
    data = octcore.load_sample("monks-2")
    found = octcore.near_optimal(data, depth=1, constraints=balanced, refer=0.2)
    run = octcore.solve(data, depth=1, constraints=balanced, refer=0.2)
    assert found.optimum == pytest.approx(run.objective, abs=1e-12)


def test_errors_change_no_row() -> None:
    task = task_of(None, None, CLASSES)
    copies = task.copies(np.array([0, 2, 1]), np.array([1.0, 2.0, 0.0]))
    assert task.is_errors
    assert copies.row.tolist() == [0, 1, 2]
    assert copies.weight.tolist() == [1.0, 2.0, 0.0]
    assert copies.offset == 0.0


def test_a_further_task_is_one_small_function() -> None:
    assert task_of("ordinal", None, CLASSES).matrix.tolist() == [[0, 1, 2], [1, 0, 1], [2, 1, 0]]
    assert task_of({"a": {"b": 1 / 3}}, None, CLASSES).costs[0][1] == Fraction(1, 3)


@pytest.mark.parametrize(
    ("given", "code", "words"),
    [
        ({"costs": {"a": {"d": 1.0}}}, "UNKNOWN_CLASS", "'d'"),
        ({"costs": {"a": {"a": 1.0}}}, "BAD_COSTS", "must cost 0"),
        ({"costs": {"a": {"b": -1.0}}}, "BAD_COSTS", "-1.0"),
        ({"costs": {"a": {"b": float("nan")}}}, "BAD_COSTS", "nan"),
        ({"costs": {"a": {"b": "dear"}}}, "BAD_COSTS", "dear"),
        ({"costs": {"a": 3.0}}, "BAD_COSTS", "table"),
        ({"costs": "cheap"}, "BAD_COSTS", "ordinal"),
        ({"costs": FREE}, "BAD_COSTS", "No answer"),
        ({"refer": 0.7}, "OUT_OF_RANGE", "0.666667"),
        ({"refer": -0.1}, "OUT_OF_RANGE", "refer"),
        ({"refer": 0.1, "formulation": "margot"}, "COSTS_NOT_EXPRESSIBLE", "threshold-search"),
        ({"refer": 0.1, "formulation": "flow-oct", "constraints": {"min_recall": {"a": 0.5}}},
         "COSTS_WITH_SHARES", "(threshold-search) can"),
        ({"refer": 0.1, "constraints": {"monotone": {"x": "up"}}}, "COSTS_WITH_SHARES", "person"),
    ],
)  # fmt: skip
def test_what_makes_no_sense_is_refused_in_words(
    given: dict[str, Any], code: str, words: str
) -> None:
    with pytest.raises(octcore.SettingsError) as refusal:
        octcore.solve(rows(), **given)
    assert refusal.value.code == code
    assert words in refusal.value.message


@pytest.mark.parametrize("refer", [0.1, None])
@pytest.mark.parametrize("other", ["yes", "all"])
def test_a_class_with_the_name_of_asking_is_refused(refer: float | None, other: str) -> None:
    # As the last class it was counted as rows that are left to a person, and the run "refuted".
    data = Dataset.from_arrays(pd.DataFrame({"x": [0, 1, 2, 3]}), [other, ASK, other, ASK])
    with pytest.raises(octcore.SettingsError, match="rename the class"):
        octcore.solve(data, refer=refer)


@pytest.mark.parametrize("seed", range(10))
def test_the_largest_price_of_asking_is_that_of_the_worst_mixture(seed: int) -> None:
    rng = np.random.default_rng(seed)
    costs = rng.choice([0.5, 1.0, 2.0, 4.0], (3, 3)) * (1 - np.eye(3))
    shares = rng.dirichlet(np.ones(3), 20_000)
    best = (shares @ costs).min(axis=1).max()
    assert best <= game_value(costs) + 1e-9
    assert best >= game_value(costs) - 0.05


@pytest.fixture(scope="module")
def run() -> Run:
    return octcore.solve(rows(), depth=2, costs=COSTS, refer=0.2, test_size=0.25)


def test_a_run_says_what_its_answers_cost(run: Run) -> None:
    task, tree = task_of(COSTS, 0.2, CLASSES), run.needed.tree
    for part, of in ((run.train, ""), (run.test, "test_")):
        assert part is not None
        answers = tree.predict_codes(run.encoding.transform(part.frame))
        told = answers < 3
        assert getattr(run, f"{of}mean_cost") == pytest.approx(
            task.matrix[part.codes, answers].mean()
        )
        assert getattr(run, f"{of}referred") == pytest.approx(1 - told.mean())
        right = (answers == part.codes)[told].mean()
        assert getattr(run, f"{of}accuracy") == pytest.approx(right)
    assert run.mean_cost is not None
    assert run.referred is not None
    assert run.objective == pytest.approx(1 - run.mean_cost - 0.01 * tree.n_leaves)
    assert run.accuracy_ceiling is None
    assert run.certificate.verified
    assert "a a called b costs 5" in run.certificate.statements
    assert "asking a person costs 0.2" in run.certificate.statements
    assert 0 < run.referred < 1


def test_a_run_is_read_back_and_verified_again(run: Run) -> None:
    record = json.loads(json.dumps(run.to_dict()))
    again = Run.from_dict(record, run.trace, run.train, run.test)
    assert again.mean_cost == run.mean_cost
    assert again.verify().verified
    for name in ("mean_cost", "referred", "test_mean_cost", "accuracy"):
        forged = Run.from_dict(
            {**record, name: record[name] + 1e-3}, run.trace, run.train, run.test
        )
        assert forged.verify().verified is False
    cheaper = {**record, "settings": {**record["settings"], "refer": 0.1}}
    assert Run.from_dict(cheaper, run.trace, run.train, run.test).verify().verified is False


def test_older_runs_have_no_costs(run: Run) -> None:
    record = octcore.solve(rows()).to_dict()
    for name in ("mean_cost", "referred", "test_mean_cost", "test_referred"):
        del record[name]
    del record["settings"]["costs"], record["settings"]["refer"]
    old = Run.from_dict(record, train=rows())
    assert old.mean_cost is None
    assert not old.asked.has_task
    assert str(old)


def test_words_pictures_and_models_know_the_answer_of_asking(run: Run) -> None:
    assert any(rule.label == ASK for rule in run.rules())
    assert "a person is asked about" in str(run)
    assert ASK in run._repr_html_()
    table = confusion_data(run.needed.tree, run.encoding, run.needed.train)
    assert {len(row) for row in table.counts} == {4}
    assert sum(row[3] for row in table.counts) == run.n_train - run.n_answered
    model = load_model(model_to_dict(run))
    frame = rows().frame
    assert (model.predict(frame) == run.predict(frame)).all()
    scored = score(model, frame.assign(target=[CLASSES[k] for k in rows().codes]))
    assert (scored.labels == ASK).any()
    assert "left to a person" in " ".join(scored.findings)


def test_labels_of_numbers_stay_numbers_beside_asking() -> None:
    tree = Tree({}, {1: 0}, 1, 3, (0, 1, ASK))
    assert tree.predict(np.zeros((2, 1))).tolist() == [0, 0]
    assert (tree.n_targets, tree.class_of(2)) == (2, -1)


def test_scikit_learn_fits_clones_and_chooses() -> None:
    data = rows()
    X, y = data.frame, np.array(CLASSES)[data.codes]
    model: Any = octcore.OptimalTreeClassifier(max_depth=2, costs=COSTS, refer=0.2)
    fitted = pickle.loads(pickle.dumps(clone(model).fit(X, y)))
    assert fitted.score(X, y) == pytest.approx(1 - fitted.run_.mean_cost)
    assert octcore.ASK in fitted.predict(X)
    assert fitted.predict_proba(X).shape == (len(X), 3)
    search = GridSearchCV(
        octcore.PathSearchClassifier(costs=COSTS), {"leaf_penalty": [0.01, 0.3]}, cv=2
    )
    assert search.fit(X, y).best_score_ <= 1
    with pytest.raises(octcore.SettingsError, match="fit did not know"):
        fitted.score(X, ["d"] * len(X))


@pytest.mark.parametrize("key", ["oct", "bin-oct", "path-columns", "cart", "bend-oct"])
def test_the_best_single_answer_may_be_asking(key: str) -> None:
    """All rows alike: every answer is one leaf, and its cost is that of the column of the table."""
    frame = pd.DataFrame({"x": [0, 0, 0, 0, 1, 1], "z": [0, 1] * 3})
    data = Dataset.from_arrays(frame, ["no", "yes", "no", "yes", "no", "yes"])
    found = octcore.solve(data, key, depth=1, refer=0.4, constraints={"forbidden_features": ["z"]})
    assert found.mean_cost == pytest.approx(0.4)
    assert found.referred == 1.0
    assert found.accuracy is None
    assert found.certificate.verified in (True, None)


@pytest.mark.slow
def test_leaf_sizes_count_rows_and_not_their_copies() -> None:
    data = rows(3, 24)
    for key in ("threshold-search", "path-search", "oct-binary", "flow-oct", "cart"):
        encoding = "auto" if key in {"threshold-search", "cart"} else "QT-3"
        found = octcore.solve(
            data, key, encoding, depth=2, refer=0.3, constraints={"min_samples_leaf": 6},
            params={"leaf_penalty": 0.0},
        )  # fmt: skip
        assert found.tree is not None
        sizes = np.bincount(found.tree.apply(found.encoding.transform(data.frame)))
        assert sizes[list(found.tree.labels)].min() >= 6


@pytest.mark.parametrize("key", ["flow-oct", "accelerated-bend-oct"])
def test_models_that_a_search_tightens_have_the_same_optimum(key: str) -> None:
    asked: dict[str, Any] = {"encoding": "QT-3", "depth": 2, "costs": COSTS, "refer": 0.2}
    asked["constraints"] = {"min_samples_leaf": 4}
    switches = {"search_start": True, "value_row": True, "feature_fixing": True}
    plain = octcore.solve(rows(7, 30), "path-search", **asked)
    found = octcore.solve(rows(7, 30), key, params=switches, **asked)
    assert found.is_optimal
    assert found.objective == pytest.approx(plain.objective)


def test_greedy_leaves_count_rows_too() -> None:
    """Six rows: a leaf of the first row alone would be best, and holds two copies of it."""
    data = Dataset.from_arrays(pd.DataFrame({"x": range(6)}), ["b", "a", "a", "a", "a", "a"])
    limits = {"min_samples_leaf": 2}
    found = octcore.solve(data, "cart", depth=1, refer=0.2, constraints=limits)
    assert found.mean_cost == pytest.approx(0.4 / 6)


def test_near_optimal_trees_take_costs_of_true_classes() -> None:
    part = rows(5).subset(rows(5).codes < 2)
    data = Dataset.from_arrays(part.frame, [CLASSES[k] for k in part.codes])
    y, costs = data.codes, {"a": {"b": 4.0}}
    found = octcore.near_optimal(data, "QT-4", 2, tolerance=0.05, costs=costs)
    weights = np.where(y == 0, 4.0, 1.0)
    share = len(y) / weights.sum()
    same = octcore.near_optimal(
        data, "QT-4", 2, {"leaf_penalty": 0.01 * share}, {"class_weight": {"a": 4.0}},
        tolerance=0.05 * share,
    )  # fmt: skip
    assert found.count == same.count > 1
    assert found.counts == same.counts
    task = task_of(costs, None, data.classes)
    for tree in found.trees(5):
        answers = tree.predict_codes(found.encoding.transform(data.frame))
        worth = 1 - task.mean_cost(y, answers) - 0.01 * tree.n_leaves
        assert found.objective(tree) == pytest.approx(worth)
        assert found.optimum - 0.05 - 1e-9 <= worth <= found.optimum + 1e-9


def every_tree(rows: np.ndarray, of_rows: np.ndarray, cuts: list, depth: int, least: int) -> list:
    """Cost and leaves of all trees whose splits leave enough rows on both sides."""
    if rows.sum() < least:
        return []
    found = [(float(of_rows[rows].sum(axis=0).min()), 1)]
    for cut in cuts if depth else ():
        if (rows & cut).any() and (rows & ~cut).any():
            left, right = (
                every_tree(rows & side, of_rows, cuts, depth - 1, least) for side in (cut, ~cut)
            )
            found += [(a + b, m + n) for a, m in left for b, n in right]
    return found


@pytest.mark.sampled(3)
@pytest.mark.parametrize("seed", range(40))
def test_near_optimal_trees_are_those_of_enumeration(seed: int) -> None:
    rng = np.random.default_rng(seed)
    data, task = rows(seed, int(rng.integers(8, 30))), drawn_task(rng)
    n = len(CLASSES)
    given = {
        "costs": {
            true: {a: float(task.matrix[c, k]) for k, a in enumerate(CLASSES) if k != c}
            for c, true in enumerate(CLASSES)
        },
        "refer": float(task.matrix[0, n]) if task.can_ask else None,
    }
    least, encoding = int(rng.choice([1, 1, 3])), str(rng.choice(["QT-3", "raw"]))
    found = octcore.near_optimal(
        data, encoding, 2, tolerance=0.0301, constraints={"min_samples_leaf": least}, **given
    )
    y, X = data.codes, found.encoding.transform(data.frame)
    parts = {tuple((x > v) == (x[0] > v)) for x in X.T for v in np.unique(x)[:-1]}
    cuts = [np.array(part) for part in parts]
    trees = every_tree(np.ones(len(y), bool), task.matrix[y], cuts, 2, least)
    worth = np.array([1 - cost / len(y) - 0.01 * leaves for cost, leaves in trees])
    good = worth >= worth.max() - 0.0301
    assert found.optimum == pytest.approx(worth.max())
    assert found.count == good.sum()
    said = {(round(float(cost), 6), leaves): k for (cost, leaves), k in found.counts.items()}
    there = [(round(cost, 6), leaves) for (cost, leaves), g in zip(trees, good, strict=True) if g]
    assert said == {cell: there.count(cell) for cell in there}
    assert found.class_shares().shape == (len(y), len(task.answers))
    for tree, objective in found.listed(5):
        mean_cost = task.mean_cost(y, tree.predict_codes(X))
        assert objective == pytest.approx(1 - mean_cost - 0.01 * tree.n_leaves)


@pytest.mark.parametrize("asked", [{"costs": COSTS}, {"costs": COSTS, "refer": 0.1}])
def test_the_penalty_path_is_that_of_the_costs(asked: dict[str, Any]) -> None:
    data = rows(4)
    path = octcore.penalty_path(data, depth=2, constraints={"class_weight": "balanced"}, **asked)
    common: dict[str, Any] = {"depth": 2, "constraints": {"class_weight": "balanced"}, **asked}
    for leaves in range(1, 5):
        limits = {**common["constraints"], "max_leaves": leaves}
        run = octcore.solve(
            data, **{**common, "constraints": limits, "params": {"leaf_penalty": 0.0}}
        )
        reached = max(step.worth for step in path.steps if step.leaves <= leaves)
        assert reached == pytest.approx(run.objective)
    for penalty in (0.0, 0.01, 0.03, 0.1, *(p + 1e-6 for p in path.breakpoints)):
        run = octcore.solve(data, params={"leaf_penalty": penalty}, **common)
        step = path.at(penalty)
        assert step.worth - penalty * step.leaves == pytest.approx(run.objective)
    assert path.from_dict(json.loads(json.dumps(path.to_dict()))).steps == path.steps


def test_costs_of_rows_without_weight_alone_are_refused() -> None:
    data = Dataset.from_arrays(pd.DataFrame({"x": [0.0, 1.0, 2.0]}), ["a", "b", "b"])
    costs = {"a": {"b": 0.5}, "b": {"a": 0.0}}
    with pytest.raises(octcore.SettingsError, match="costs more than another"):
        octcore.solve(data, costs=costs, sample_weight=np.array([0.0, 1.0, 1.0]))


def test_tuning_chooses_by_cost() -> None:
    result = octcore.tune(
        rows(2), "threshold-search", {"leaf_penalty": [0.0, 0.4]}, "2-fold", refer=0.1,
    )  # fmt: skip
    table = result.table()
    assert "mean cost" in table
    assert bool(table.loc[table["mean cost"].idxmin(), "chosen"])


def test_the_curve_over_the_cost_of_asking_ends_where_nobody_is_asked() -> None:
    points = refer_path(rows(), steps=3, depth=1)
    assert [round(p.refer, 6) for p in points] == [0, 0.222222, 0.444444, 0.666667]
    assert (points[0].referred, points[0].mean_cost, points[0].accuracy) == (1.0, 0.0, None)
    assert all(a.referred >= b.referred for a, b in pairwise(points))
    assert all(p.is_proven for p in points)
    for point in refer_path(rows(), steps=1, depth=1, test_size=0.4):
        run = octcore.solve(rows(), depth=1, test_size=0.4, refer=point.refer)
        told = (point.accuracy, point.referred, point.mean_cost)
        assert told == (run.test_accuracy, run.test_referred, run.test_mean_cost)
        assert told != (run.accuracy, run.referred, run.mean_cost) or point.referred == 1.0


@pytest.mark.slow
def test_the_command_line_takes_a_file_and_words(tmp_path: Path, capsys: Any) -> None:
    data = rows()
    table = data.frame.assign(y=[CLASSES[k] for k in data.codes])
    table.to_csv(tmp_path / "rows.csv", index=False)
    (tmp_path / "costs.json").write_text(json.dumps(COSTS))
    solve = ["solve", str(tmp_path / "rows.csv"), "--target", "y", "--refer", "0.2", "--json", "-"]
    outputs = []
    for costs in (str(tmp_path / "costs.json"), json.dumps(COSTS)):
        assert main([*solve, "--costs", costs]) == 0
        outputs.append(json.loads(capsys.readouterr().out))
    assert outputs[0]["objective"] == outputs[1]["objective"]
    assert outputs[0]["settings"]["costs"] == COSTS
    assert main([*solve, "--costs", str(tmp_path / "none.json")]) == 2
    assert "cannot be read" in capsys.readouterr().err


def test_weights_times_costs_have_the_digits_they_are_written_with() -> None:
    """.8 of 11671 in doubles is 9336.800000000001, of which no whole number of units is made."""
    copies = task_of(None, 0.2, ["a", "b"]).copies(np.array([0, 1]), np.array([11671.0, 1.998]))
    assert copies.weight.tolist() == [11671.0, 9336.8, 1.998, 1.5984]


def test_many_different_weights_are_multiplied_at_once() -> None:
    weights = np.random.default_rng(1).random(1200) + 0.1
    copies = task_of(None, 0.2, ["a", "b"]).copies(np.arange(1200) % 2, weights)
    np.testing.assert_allclose(copies.weight.reshape(-1, 2), weights[:, None] * [1.0, 0.8])


def test_a_dear_person_is_asked_where_rows_may_not_get_their_class() -> None:
    """No group may be positive more often: to ask about two rows costs 1.2, two errors cost 2."""
    frame = pd.DataFrame({"group": ["a", "a", "b", "b"]})
    data = Dataset.from_arrays(frame, ["yes", "yes", "no", "no"])
    data = replace(data, positive_class="yes")
    parity = {"statistical_parity": {"attribute": "group", "max_gap": 0.0}}
    run = octcore.solve(data, depth=1, refer=0.6, constraints=parity)
    assert (run.status, run.referred) == ("optimal", 0.5)
    assert run.objective == pytest.approx(1 - 1.2 / 4 - 0.02)


def test_of_no_row_with_a_class_no_share_is_right() -> None:
    run = octcore.solve(rows(), depth=1, refer=0.0)
    assert run.referred == 1.0
    assert run.accuracy is None
    assert run.accuracy_on(run.train) is None
