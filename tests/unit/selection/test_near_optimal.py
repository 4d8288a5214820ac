"""`octcore.near_optimal`, its exports and its command."""

from __future__ import annotations

import json
import math
import pickle
import re
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

import octcore
from octcore.cli import main
from octcore.data.dataset import Dataset
from octcore.data.samples import sample_bytes
from octcore.errors import CancelledError, SettingsError, TooLargeError
from octcore.plotting import text
from octcore.search.near_optimal import ground
from octcore.search.near_optimal.in_order import _same_thresholds
from octcore.search.near_optimal.instance import make_instance
from octcore.search.univariate.question import Question
from octcore.selection.alternatives import alternatives, model_reliance, shape_lines, tree_reliance
from octcore.selection.near_optimal import NearOptimalTrees
from octcore.selection.near_optimal_export import rules_table, timbertrek
from octcore.tree.tree import Tree


@pytest.fixture(scope="module")
def iris() -> NearOptimalTrees:
    return octcore.near_optimal(octcore.load_sample("iris"), depth=3, tolerance=0.02)


def test_the_best_tree_is_that_of_the_exact_search(iris: NearOptimalTrees) -> None:
    run = octcore.solve(octcore.load_sample("iris"), depth=3)
    best = iris.trees(1)[0]
    assert run.objective is not None
    assert iris.optimum == pytest.approx(run.objective, abs=1e-12)
    assert iris.objective(best) == pytest.approx(iris.optimum, abs=1e-12)


@pytest.mark.slow
@pytest.mark.long
def test_counts_agree_with_each_other_and_with_the_trees(iris: NearOptimalTrees) -> None:
    assert iris.count == sum(iris.counts.values()) == sum(iris.by_leaves.values())
    assert iris.count == sum(n for _, _, n in iris.by_tolerance)
    trees = iris.trees(iris.count + 1)
    assert len(set(trees)) == len(trees) == iris.count
    objectives = [iris.objective(tree) for tree in trees]
    assert objectives == sorted(objectives, reverse=True) or np.allclose(
        objectives, sorted(objectives, reverse=True), atol=1e-12
    )
    assert objectives[-1] >= iris.optimum - iris.tolerance - 1e-12
    groups, names = iris.encoding.groups, iris.encoding.raw_features
    for f, name in enumerate(names):
        used = sum(f in {int(groups[j]) for j in tree.used_features} for tree in trees)
        assert iris.features[name] == used
        at_root = sum(int(groups[t.splits[1].features[0]]) == f for t in trees if t.n_splits)
        assert iris.roots[name] == at_root


def test_its_short_form_is_one_line(iris: NearOptimalTrees) -> None:
    assert repr(iris).startswith(f"<NearOptimalTrees: {iris.count:,} trees of depth {iris.depth}")
    assert len(repr(iris)) < 100


@pytest.mark.long
def test_restrictions_are_subsets(iris: NearOptimalTrees) -> None:
    narrow = iris.restrict(["sepal length (cm)"], ["sepal width (cm)"], 6, 0.015)
    groups, names = iris.encoding.groups, iris.encoding.raw_features
    inside = []
    for tree in iris.trees(iris.count):
        used = {names[int(groups[j])] for j in tree.used_features}
        if "sepal length (cm)" not in used or "sepal width (cm)" in used or tree.n_leaves > 6:
            continue
        if iris.objective(tree) >= iris.optimum - 0.015 - 1e-9:
            inside.append(tree)
    assert narrow.count == len(inside) > 0
    assert set(narrow.trees(10_000)) == set(inside)
    assert narrow.optimum == iris.optimum
    assert narrow.features["sepal width (cm)"] == 0
    assert narrow.features["sepal length (cm)"] == narrow.count
    assert set(narrow.sample(20, seed=1)) <= set(inside)
    assert iris.restrict(max_leaves=1).count == 0
    assert iris.restrict(max_leaves=1).smallest() is None
    smallest = iris.smallest()
    assert smallest is not None
    assert smallest.n_leaves == min(iris.by_leaves)


def test_disagreement_is_counted_not_sampled(iris: NearOptimalTrees) -> None:
    narrow = iris.restrict(tolerance=0.01)
    X = iris.prepared.problem.X
    shares = np.zeros((len(X), 3))
    for tree in narrow.trees(narrow.count):
        shares[np.arange(len(X)), tree.predict_codes(X)] += 1
    shares /= narrow.count
    assert np.allclose(narrow.class_shares(), shares, atol=1e-12)
    assert 0 < shares.max(axis=1).min() < 1


def test_reliance_is_the_mean_over_all_shifted_rows(iris: NearOptimalTrees) -> None:
    problem, groups = iris.prepared.problem, iris.encoding.groups
    X, y = problem.X, problem.y
    for tree in iris.trees(40)[::8]:
        wrong = (tree.predict_codes(X) != y).mean()
        for f, loss in tree_reliance(tree, X, y, groups).items():
            rates = []
            for shift in range(len(X)):
                moved = X.copy()
                moved[:, groups == f] = np.roll(X[:, groups == f], shift, axis=0)
                rates.append((tree.predict_codes(moved) != y).mean())
            assert loss == pytest.approx(np.mean(rates) - wrong, abs=1e-12)
    narrow = iris.restrict(tolerance=0.005)
    exact = {use.name: use for use in model_reliance(narrow)}
    assert all(use.is_exact for use in exact.values())
    for f, use in enumerate(exact.values()):
        losses = [tree_reliance(tree, X, y, groups).get(f, 0.0) for tree in narrow.walk()]
        assert (use.low, use.high) == (min(losses), max(losses))
    drawn = {use.name: use for use in model_reliance(narrow, most=5)}
    assert not all(use.is_exact for use in drawn.values())
    assert all(drawn[f].high <= exact[f].high + 1e-12 for f in exact)


def test_copies_and_complements_count_once_and_are_named() -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.integers(0, 2, 30), "b": rng.integers(0, 2, 30)})
    y = (frame.a ^ (rng.random(30) < 0.2)).tolist()
    plain = octcore.near_optimal(Dataset.from_arrays(frame, y), "none", depth=2, tolerance=0.1)
    more = frame.assign(c=frame.a, d=1 - frame.b)
    doubled = octcore.near_optimal(Dataset.from_arrays(more, y), "none", depth=2, tolerance=0.1)
    assert doubled.counts == plain.counts
    assert doubled.same_columns == {"a": ("c",), "b": ("not d",)}
    assert doubled.features["c"] == 0


def test_a_split_that_two_features_make_alike_is_told(iris: NearOptimalTrees) -> None:
    """The first species is parted by the petal's length or width, and counted by the length."""
    data, name = octcore.load_sample("iris"), "petal length (cm)"
    others = octcore.near_optimal(
        data, depth=iris.depth, tolerance=0.01, constraints={"forbidden_features": [name]}
    )
    assert others.optimum > iris.optimum - 0.01
    assert iris.restrict(without_features=[name], tolerance=0.01).count == 0
    words = "a split that several features make alike counts for the first of them"
    assert any(line.startswith(words) for line in iris.statements)


def test_class_weights_are_exact_and_limits_hold() -> None:
    data = octcore.load_sample("iris")
    for weights in ("balanced", {"setosa": 0.1, "virginica": 0.3}):
        constraints = {"class_weight": weights, "max_leaves": 4, "min_samples_leaf": 5}
        found = octcore.near_optimal(data, depth=3, constraints=constraints, tolerance=0.01)
        run = octcore.solve(data, depth=3, constraints=constraints)
        assert run.objective is not None
        assert found.optimum == pytest.approx(run.objective, abs=1e-9)
        for tree in found.trees(200):
            assert tree.n_leaves <= 4
            assert found.objective(tree) >= found.optimum - 0.01 - 1e-9


def test_thresholds_are_written_as_they_are_read_and_part_the_same_rows() -> None:
    x, z = np.tile([0.8, 1.0, 0.7, 0.1, 0.3, 1.1], 8), np.tile([0.1, 0.2, 0.3], 16)
    data = Dataset.from_arrays(np.column_stack([x, z]), (x > 0.85).astype(int))
    found = octcore.near_optimal(data, depth=1, tolerance=0.9)
    cuts = {t.splits[1].threshold for t in found.trees(99) if t.splits}
    assert cuts == {0.2, 0.5, 0.75, 0.9, 1.05, 0.15, 0.25}
    assert {float(t) for s in found.shapes() for r in s.ranges for t in r.thresholds} == cuts
    year = np.tile(np.arange(2016, 2022), 8)
    found = octcore.near_optimal(
        Dataset.from_arrays(pd.DataFrame({"year": year}), (year > 2018).astype(int)),
        depth=1, tolerance=0.9,
    )  # fmt: skip
    told = [r.words(found.encoding) for s in found.shapes() for r in s.ranges]
    assert told == ["year 2016.5–2020.5"]


def test_a_limit_of_leaves_keeps_what_is_gone_through_shallow() -> None:
    data, limit = octcore.load_sample("iris"), {"max_leaves": 4}
    shallow = octcore.near_optimal(data, depth=3, constraints=limit)
    deep = octcore.near_optimal(data, depth=8, constraints=limit)
    assert deep.counts == shallow.counts
    assert deep.graph.ground.scored == shallow.graph.ground.scored


@pytest.mark.parametrize(
    ("settings", "code"),
    [
        ({"tolerance": -0.1}, "OUT_OF_RANGE"),
        ({"tolerance": math.nan}, None),
        ({"params": {"split_weight": 0.1}}, "NOT_ON_THIS_SCALE"),
        ({"constraints": {"max_features": 2}}, "CONSTRAINT_NOT_EXPRESSIBLE"),
        ({"constraints": {"min_recall": {"setosa": 0.9}}}, "CONSTRAINT_NOT_EXPRESSIBLE"),
        ({"constraints": {"max_splits": 0, "root_feature": "petal width (cm)"}}, "NO_TREE"),
    ],
)
def test_wrong_settings_are_refused_in_a_sentence(settings: dict, code: str | None) -> None:
    with pytest.raises(SettingsError) as caught:
        octcore.near_optimal(octcore.load_sample("iris"), **settings)
    assert caught.value.message.endswith(".")
    if code is not None:
        assert caught.value.code == code


def test_a_wider_tolerance_and_unknown_features_are_refused(iris: NearOptimalTrees) -> None:
    for arguments in ({"tolerance": 0.03}, {"with_features": ["petal"]}):
        with pytest.raises(SettingsError):
            iris.restrict(**arguments)


def test_progress_is_reported_and_a_stop_is_obeyed() -> None:
    events = []
    data = octcore.load_sample("iris")
    octcore.near_optimal(data, depth=3, on_event=events.append)
    assert events[0].kind == "optimum"
    assert events[-1].kind == "finished"
    with pytest.raises(CancelledError):
        octcore.near_optimal(data, depth=4, cancel=lambda: True)
    with pytest.raises(CancelledError):
        octcore.near_optimal(data, depth=4, time_limit=1e-4)


def test_timbertrek_form_and_rules(iris: NearOptimalTrees) -> None:
    trees, rows_of = iris.trees(20), (iris.prepared.train, iris.encoding)
    single = Tree.leaf(0, trees[0].n_features, 3), 0.0  # has no place in its form
    record = json.loads(json.dumps(timbertrek([single, *iris.listed(20)], *rows_of)))
    assert set(record) == {"trie", "featureMap", "treeMap"}
    assert len(record["treeMap"]) == 20

    def numbers(node: dict) -> set[int]:
        return {node["t"]} if node["f"] == "_" else set().union(*map(numbers, node["c"]))

    def rows(node: dict) -> int:
        return node["f"][1] if "c" not in node else sum(map(rows, node["c"]))

    assert numbers(record["trie"]) == set(range(1, 21))
    for drawn, objective, accuracy in record["treeMap"].values():
        assert rows(drawn) == drawn["f"][1] == 150
        assert objective < accuracy
    table = rules_table(iris.listed(20), *rows_of)
    for number, tree in enumerate(trees, start=1):
        own = table[table.tree == number]
        right = (tree.predict_codes(iris.prepared.problem.X) == iris.prepared.problem.y).sum()
        assert len(own) == tree.n_leaves
        assert own.rows.sum() == 150
        assert own.right.sum() == right


def test_command_writes_what_it_counts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], iris: NearOptimalTrees
) -> None:
    source = tmp_path / "iris.csv"
    source.write_bytes(sample_bytes("iris"))
    files = {name: str(tmp_path / name) for name in ("n.json", "t.json", "r.csv")}
    command = ["near-optimal", str(source), "--target", "species", "--tolerance", "0.02"]
    outputs = ["--json", files["n.json"], "--timbertrek", files["t.json"], "--rules"]
    assert main([*command, "--trees", "4", *outputs, files["r.csv"]]) == 0
    assert f"{iris.count:,} trees" in capsys.readouterr().out
    record = json.loads(Path(files["n.json"]).read_text())
    assert record["count"] == iris.count
    assert sum(cell["trees"] for cell in record["counts"]) == iris.count
    assert (
        len(record["trees"]) == len(json.loads(Path(files["t.json"]).read_text())["treeMap"]) == 4
    )
    assert main([*command, "--without", "petal width (cm)", "--json", "-"]) == 0
    narrow = iris.restrict(without_features=["petal width (cm)"])
    assert json.loads(capsys.readouterr().out)["count"] == narrow.count > 0
    assert main([*command, "--constraint", "max_features=2"]) == 2
    assert "max_features" in capsys.readouterr().err
    impossible = ["--constraint", "max_leaves=1", "--constraint", "root_feature=petal width (cm)"]
    assert main([*command, *impossible]) == 3


def test_a_chosen_tree_becomes_a_run_that_says_how_far_it_is() -> None:
    data = octcore.load_sample("iris")
    found = octcore.near_optimal(data, depth=3, tolerance=0.02, test_size=0.2, seed=3)
    tree = found.restrict(max_leaves=5).trees(30)[-1]
    run = found.run_of(tree)
    assert run.status == "feasible"
    assert run.bound == pytest.approx(found.optimum)
    assert run.objective == pytest.approx(found.objective(tree))
    assert run.certificate.badge.startswith("within 0.0")
    assert run.badge.startswith("Within ")
    assert not run.certificate.proven
    assert run.test_accuracy is not None
    assert run.tree is not None
    assert (run.predict(data.frame) == tree.predict(found.encoding.transform(data.frame))).all()
    best = found.run_of(found.trees(1)[0])
    assert best.is_optimal
    assert best.certificate.proven


def test_a_chosen_tree_says_how_far_it_is_from_an_optimum_of_zero() -> None:
    rows = pd.DataFrame({"a": [0, 1] * 4, "b": [0, 1, 0, 1, 0, 1, 1, 0]})
    data = Dataset.from_arrays(rows, rows["a"])
    found = octcore.near_optimal(data, depth=1, params={"leaf_penalty": 0.5}, tolerance=0.5)
    assert found.optimum == 0.0
    run = found.run_of(min(found.trees(9), key=found.objective))
    assert run.badge == "Within 25 points of the proven optimum"


def test_a_kept_tree_is_the_listed_one_as_it_is_read() -> None:
    random = np.random.default_rng(4)
    frame = pd.DataFrame(random.integers(200, 240, (80, 2)) / 100, columns=["a", "b"])
    data = Dataset.from_arrays(frame, (random.random(80) < frame["a"] - 1.7).astype(int))
    found = octcore.near_optimal(data, depth=2, tolerance=0.02, test_size=0.25)
    listed = alternatives(found, listed=40).trees
    assert len(listed) > 20
    for entry in listed:
        kept = found.run_of(entry.tree)
        assert kept.tree is not None
        assert kept.test_accuracy == entry.test_accuracy
        assert kept.tree.splits == entry.tree.splits
        assert all(len(str(float(s.threshold))) <= 5 for s in kept.tree.splits.values())


def test_trees_as_good_as_the_optimum_are_no_rounding_error_away() -> None:
    data = octcore.load_sample("finches")
    found = octcore.near_optimal(data, depth=3, encoding="QT-5", tolerance=0.005)
    shown = alternatives(found).trees
    assert len(shown) == found.count
    least, *others = sorted({entry.loss for entry in shown})
    assert least == 0.0
    assert len(others) > 0
    assert min(others) > 1e-4
    nearly = next(entry for entry in shown if entry.loss == min(others))
    points = float(found.run_of(nearly.tree).badge.split()[1])
    assert points == pytest.approx(100 * min(others), rel=0.05)


def test_a_class_without_training_rows_has_no_recall() -> None:
    rows = pd.DataFrame({"a": [0, 1, 2, 3] * 5})
    data = Dataset.from_arrays(rows, [*"aabb"] * 4 + [*"aabc"]).subset(np.arange(19))
    found = octcore.near_optimal(data, depth=1, tolerance=0.1)
    assert {entry.recalls for entry in alternatives(found).trees} == {(1.0, 1.0, None)}


def test_a_tree_that_leaves_all_rows_to_a_person_has_no_share_that_is_right() -> None:
    rows = np.arange(30)
    data = Dataset.from_arrays(pd.DataFrame({"a": rows % 4}), rows % 3)
    good = octcore.near_optimal(data, depth=1, tolerance=0.1, refer=0.1, test_size=0.25)
    record = alternatives(good)
    assert {(tree.accuracy, tree.test_accuracy) for tree in record.trees} == {(None, None)}
    assert {line.accuracy for line in shape_lines(good)[1]} == {None}
    assert text.percent(math.nan) == text.percent(None)


def test_thresholds_that_only_their_keys_call_equal_are_not_alike(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rng = np.random.default_rng(2)
    X = rng.integers(0, 3, (9, 3)).astype(float)
    X[:, 2] = 2 - X[:, 0]
    question = Question(X, rng.integers(0, 2, 9), 2, 2, 0.0)
    expected = _same_thresholds(make_instance(question, Fraction(0), Fraction(0)))
    ones = SimpleNamespace(integers=lambda low, high, size, dtype: np.ones(size, dtype))
    monkeypatch.setattr(np.random, "default_rng", lambda seed: ones)
    assert _same_thresholds(make_instance(question, Fraction(0), Fraction(0))) == expected
    assert max(map(len, expected)) > 1


def test_a_refusal_names_the_largest_tolerance_that_fits(monkeypatch: pytest.MonkeyPatch) -> None:
    data, settings = octcore.load_sample("iris"), {"depth": 3, "params": {"leaf_penalty": 0.02}}
    monkeypatch.setattr(ground, "MEMORY", 60_000)
    with pytest.raises(TooLargeError) as refused:
        octcore.near_optimal(data, tolerance=0.08, **settings)
    fits = float(re.search(r"A tolerance of (\S+) fits", str(refused.value))[1])
    assert octcore.near_optimal(data, tolerance=fits, **settings).count
    with pytest.raises(TooLargeError):
        octcore.near_optimal(data, tolerance=fits + 0.005, **settings)


def test_settings_are_told_where_they_are_no_decimals() -> None:
    data = octcore.load_sample("iris")
    found = octcore.near_optimal(data, depth=1, params={"leaf_penalty": 1 / 150}, tolerance=0.01)
    assert found.statements[0] == "the price of a leaf is 1/150"


def test_a_set_survives_pickling_before_and_after_it_was_asked() -> None:
    found = octcore.near_optimal(octcore.load_sample("wine"), depth=3, tolerance=0.005)
    fresh = pickle.loads(pickle.dumps(found))
    assert fresh.count == found.count
    found.class_shares(), found.shapes()
    again = pickle.loads(pickle.dumps(found))
    for other in (fresh, again):
        assert other.trees(3) == found.trees(3)
        assert other.sample(3) == found.sample(3)
        assert other.restrict(max_leaves=3).counts == found.restrict(max_leaves=3).counts
