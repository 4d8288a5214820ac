"""The scikit-learn classes: its own checks, its tools, weights, and no silent heuristics."""

from __future__ import annotations

import pickle
import re
import subprocess
import sys
import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.tree import DecisionTreeClassifier, export_graphviz, export_text, plot_tree
from sklearn.utils.estimator_checks import check_estimator

import octcore
from octcore.errors import DataError, ModelFileError, SettingsError
from octcore.estimator import classifier, named
from octcore.formulations.base import FormulationInfo, get_formulation, list_formulations
from octcore.tree.export.to_sklearn import SinglePrecisionWarning
from tests.estimator_cases import CASES, Case


def _named(key: str, **settings: Any) -> Any:
    return getattr(octcore, get_formulation(key).info.class_name)(**settings)


def _check(model: Any, expected: Mapping[str, str] | None = None) -> None:
    """Run scikit-learn's checks: those named must fail, all others pass, and they did run."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = check_estimator(model, expected_failed_checks=expected, on_fail=None)
    failed = [f"{r['check_name']}: {r['exception']}" for r in results if r["status"] == "failed"]
    assert failed == []
    assert {r["check_name"] for r in results if r["status"] == "xfail"} == set(expected or ())
    assert sum(result["status"] == "passed" for result in results) >= 40


@pytest.fixture
def rows() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(4)
    X = rng.normal(size=(60, 3))
    return X, ((X[:, 0] > 0) ^ (X[:, 1] > 0.3)).astype(int)


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(case, marks=getattr(pytest.mark, case.cost) if case.cost else ())
        for case in CASES
    ],
    ids=lambda case: case.key,
)
def test_every_check_of_scikit_learn_passes_but_those_named(case: Case) -> None:
    _check(case.model(), case.expected)


@pytest.mark.long
def test_checks_of_the_general_class() -> None:
    _check(octcore.OptimalTreeClassifier())


@pytest.mark.parametrize("encoder", [octcore.QuantileBuckets(), octcore.QuantileThresholds(3)])
def test_checks_of_the_encoders(encoder: Any) -> None:
    _check(encoder)


def test_every_formulation_has_a_class_with_its_own_parameters() -> None:
    for info in list_formulations():
        model = _named(info.key)
        own = {p.name: p.default for p in info.hyperparameters}
        assert own.items() <= model.get_params().items()
        assert "formulation" not in model.get_params()
        assert type(clone(model)) is type(model)
    assert octcore.FlowOCTClassifier is named.FlowOCTClassifier
    assert octcore.OptimalTreeClassifier is classifier.OptimalTreeClassifier
    with pytest.raises(AttributeError, match="NoSuchClassifier"):
        _ = octcore.NoSuchClassifier
    with pytest.raises(TypeError):
        octcore.FlowOCTClassifier(penalty=1)


def test_named_and_general_class_agree(rows: tuple[np.ndarray, np.ndarray]) -> None:
    X, y = rows
    general = octcore.OptimalTreeClassifier("path-search", params={"leaf_penalty": 0.02})
    named = octcore.PathSearchClassifier(leaf_penalty=0.02)
    assert named.fit(X, y).tree_ == general.fit(X, y).tree_
    assert named.objective_ == pytest.approx((named.predict(X) == y).mean() - 0.02 * 4)
    assert named.status_ == "optimal"
    assert named.is_optimal_
    assert (named.gap_, named.bound_) == (0.0, named.objective_)
    assert named.run_.certificate.verified is None
    assert named.run_.verify().verified
    assert named.get_depth() == 2
    assert named.get_n_leaves() == len(set(named.apply(X)))


@pytest.mark.parametrize("key", ["margot", "hfs-margot", "sfs-margot"])
def test_deeper_trees_of_margot_are_stored(key: str, rows: tuple[np.ndarray, np.ndarray]) -> None:
    """It broke on what a tree is worth without one of its splits."""
    X, y = rows[0][:20], rows[1][:20]
    model = _named(key, max_depth=2, time_limit=5).fit(X, y)
    assert model.tree_.n_splits == 3
    assert (model.feature_importances_ > 0).any()
    assert (pickle.loads(pickle.dumps(model)).predict(X) == model.predict(X)).all()


def test_split_weight_of_a_named_class_replaces_the_default_penalty(
    rows: tuple[np.ndarray, np.ndarray],
) -> None:
    """It was refused: "leaf_penalty = 0.01 and split_weight = 0.2 were both given"."""
    general = octcore.OptimalTreeClassifier("path-search", params={"split_weight": 0.2})
    named = octcore.PathSearchClassifier(split_weight=0.2)
    assert named.fit(*rows).objective_ == general.fit(*rows).objective_
    with pytest.raises(SettingsError, match="both given"):
        octcore.PathSearchClassifier(split_weight=0.2, leaf_penalty=0.02).fit(*rows)


@pytest.mark.long
def test_pickled_models_predict_in_another_process(
    rows: tuple[np.ndarray, np.ndarray], tmp_path: Any
) -> None:
    X, y = rows
    models = [_named(key, max_depth=1, time_limit=20.0).fit(X, y) for key in ("cart", "margot")]
    (tmp_path / "models.pickle").write_bytes(pickle.dumps(models))
    code = (
        "import pickle, sys, numpy as np\n"
        "X = np.random.default_rng(4).normal(size=(60, 3))\n"
        "for model in pickle.load(open(sys.argv[1], 'rb')):\n"
        "    print(''.join(map(str, model.predict(X))), model.is_optimal_, model.tree_.n_leaves)"
    )
    shown = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "models.pickle")],
        capture_output=True, text=True, check=True, timeout=120,
    ).stdout.splitlines()  # fmt: skip
    assert shown == [
        f"{''.join(map(str, m.predict(X)))} {m.is_optimal_} {m.tree_.n_leaves}" for m in models
    ]


def test_pipeline_and_grid_search(rows: tuple[np.ndarray, np.ndarray]) -> None:
    X, y = rows
    model = make_pipeline(octcore.QuantileThresholds(), octcore.PathSearchClassifier())
    model.set_params(pathsearchclassifier__encoding="none")
    grid = {"quantilethresholds__q": [2, 6], "pathsearchclassifier__leaf_penalty": [0.0, 0.4]}
    search = GridSearchCV(model, grid, cv=3).fit(X, y)
    assert search.best_params_ == {
        "quantilethresholds__q": 6,
        "pathsearchclassifier__leaf_penalty": 0.0,
    }
    assert search.best_score_ > 0.8
    assert cross_val_score(search.best_estimator_, X, y, cv=3).min() > 0.6


def test_encoders_name_their_columns_in_any_container(
    rows: tuple[np.ndarray, np.ndarray],
) -> None:
    frame = pd.DataFrame(rows[0], columns=["size", "age", "mass"])
    encoder = octcore.QuantileBuckets(3).set_output(transform="pandas").fit(frame)
    out = encoder.transform(frame)
    assert list(out.columns) == list(encoder.get_feature_names_out())
    assert out.columns[0].startswith("size")
    assert (out.iloc[:, :3].sum(axis=1) == 1).all()
    model = octcore.PathSearchClassifier(encoding="none").fit(out, rows[1])
    assert list(model.feature_names_in_) == list(out.columns)


def test_sample_weight_is_routed_through_a_pipeline(rows: tuple[np.ndarray, np.ndarray]) -> None:
    X, y = rows
    weights = np.where(y == 1, 5.0, 1.0)
    with sklearn.config_context(enable_metadata_routing=True):
        tree = octcore.PathSearchClassifier(encoding="none", max_depth=1)
        tree.set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
        model = make_pipeline(octcore.QuantileThresholds(), tree)
        model.fit(X, y, sample_weight=weights)
        share = model.score(X, y, sample_weight=weights)
    assert model[-1].objective_ + 0.0 == pytest.approx(
        share - model[-1].leaf_penalty * model[-1].get_n_leaves()
    )
    assert share == pytest.approx(np.average(model.predict(X) == y, weights=weights))


SLOW = {"svm1-odt", "oct-h"}
WEIGHTED = [info.key for info in list_formulations() if "class_weight" in info.constraints]


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    "key",
    [pytest.param(k, marks=[pytest.mark.long] if k in SLOW else []) for k in WEIGHTED],
)
def test_weights_are_the_same_as_repeated_rows(key: str) -> None:
    rng = np.random.default_rng(8)
    X = rng.integers(0, 2, (14, 3)).astype(float)
    y = (X[:, 0] + (rng.random(14) < 0.3)).astype(int) % 2
    weights = rng.integers(1, 4, 14)
    model = _named(key, max_depth=1, time_limit=60.0)
    weighted = clone(model).fit(X, y, sample_weight=weights)
    repeated = clone(model).fit(np.repeat(X, weights, axis=0), np.repeat(y, weights))
    assert weighted.status_ == repeated.status_
    assert weighted.objective_ == pytest.approx(repeated.objective_, rel=2e-4, abs=1e-6)
    again = np.average(weighted.predict(X) == y, weights=weights)
    if key in {"path-search", "flow-oct"}:
        assert again == pytest.approx(np.average(repeated.predict(X) == y, weights=weights))


def test_weights_are_refused_where_the_formulation_has_none(
    rows: tuple[np.ndarray, np.ndarray], monkeypatch: pytest.MonkeyPatch
) -> None:
    """All of today's formulations take weights, so the declaration of one is replaced."""
    from dataclasses import replace

    from octcore.formulations import base

    model = octcore.OptimalTreeClassifier()
    known = base.get_formulation(model.formulation)
    info: FormulationInfo = replace(known.info, constraints=frozenset())
    monkeypatch.setitem(base._REGISTRY, model.formulation, base.Formulation(info, known.build))
    with pytest.raises(SettingsError, match="does not take sample weights") as caught:
        model.fit(*rows, sample_weight=np.ones(60))
    assert caught.value.setting == "sample_weight"
    assert model.fit(*rows).is_optimal_


def test_a_fit_without_proof_says_so(rows: tuple[np.ndarray, np.ndarray]) -> None:
    X, y = rows
    model = octcore.FlowOCTClassifier(max_depth=3, time_limit=0.001, leaf_penalty=0.01)
    with pytest.warns(ConvergenceWarning, match="not proven optimal"):
        model.fit(X, y)
    assert model.status_ == "feasible"
    assert not model.is_optimal_
    assert model.run_.stop_reason == "time_limit"
    greedy = octcore.CARTClassifier().fit(X, y)
    assert not greedy.is_optimal_
    assert greedy.run_.certificate.method == "heuristic"


@pytest.mark.parametrize("labels", [[None, 1, 0, 1], ["a", None, "b", "a"], [1, np.nan, 0, 1]])
def test_a_row_without_label_is_named(labels: list[Any]) -> None:
    row = 1 + [pd.isna(label) for label in labels].index(True)
    numbers = np.arange(8.0).reshape(4, 2)
    for X in (numbers, pd.DataFrame({"number": numbers[:, 0], "text": list("abab")})):
        with pytest.raises(DataError, match=f"Row {row} has no label"):
            octcore.OptimalTreeClassifier().fit(X, np.array(labels, dtype=object))
        for wrong, kinds in ((["a", 1, "b", 2], "int and str"), ([b"a", b"b"] * 2, "bytes")):
            with pytest.raises(DataError, match=f"The labels are {kinds}; make all of them text"):
                octcore.OptimalTreeClassifier().fit(X, np.array(wrong, dtype=object))


def test_dates_with_a_time_zone_are_days() -> None:
    days = pd.date_range("2024-03-20", periods=20, tz="Europe/Berlin")  # summer time begins
    late = np.arange(20) > 9
    with pytest.warns(UserWarning, match="days since 2024-03-20"):
        model = octcore.OptimalTreeClassifier(max_depth=1).fit(pd.DataFrame({"day": days}), late)
    assert model.score(pd.DataFrame({"day": days}), late) == 1.0
    assert model.score(pd.DataFrame({"day": days.tz_localize(None)}), late) == 1.0


def test_a_method_for_two_classes_names_those_for_more() -> None:
    X, y = sklearn.datasets.load_iris(return_X_y=True)
    with pytest.raises(ValueError, match="Only binary classification") as caught:
        octcore.MargotClassifier().fit(X, y)
    assert "s-oct" in str(caught.value)


def test_univariate_trees_become_scikit_learn_trees() -> None:
    frame, y = sklearn.datasets.load_iris(return_X_y=True, as_frame=True)
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    model = octcore.PathSearchClassifier(max_depth=2, leaf_penalty=0.01).fit(frame, names)
    twin = model.to_sklearn()
    assert (twin.predict(frame.to_numpy()) == model.predict(frame)).all()
    text = export_text(twin, feature_names=list(frame.columns))
    assert "petal" in text
    assert "setosa" in text
    drawn = str(export_graphviz(twin, feature_names=list(frame.columns), class_names=True))
    assert drawn.count("[label=") == model.tree_.n_leaves + model.tree_.n_splits
    encoded = model.to_sklearn(encoded=True)
    X = model.encoding_.transform(frame)
    assert (encoded.predict(X) == model.predict(frame)).all()


@pytest.mark.slow
def test_scikit_learn_draws_the_converted_tree(rows: tuple[np.ndarray, np.ndarray]) -> None:
    pytest.importorskip("matplotlib", reason="plot_tree draws with matplotlib")
    model = octcore.PathSearchClassifier().fit(*rows)
    assert len(plot_tree(model.to_sklearn())) >= model.tree_.n_leaves + model.tree_.n_splits


def test_scikit_learn_trees_refuse_planes_text_and_say_what_float32_loses() -> None:
    X = np.array([[0.0], [1.0], [1.0 + 1e-9], [2.0]] * 3)
    y = np.array([0, 0, 1, 1] * 3)
    model = octcore.PathSearchClassifier(encoding="class-change", max_depth=1).fit(X, y)
    assert (model.predict(X) == y).all()
    with pytest.warns(SinglePrecisionWarning, match="3 of 12 rows"):
        model.to_sklearn()
    oblique = octcore.MargotClassifier(max_depth=1).fit(
        np.array([[0.0, 0.0], [1.0, 0.2], [0.2, 1.0], [1.0, 1.0]]), np.array([0, 0, 1, 1])
    )
    with pytest.raises(SettingsError, match="test exactly one"):
        oblique.to_sklearn(encoded=True)
    frame = pd.DataFrame({"colour": ["red", "blue"] * 4, "size": range(8)})
    text = octcore.PathSearchClassifier(max_depth=1).fit(frame, ["a", "b"] * 4)
    with pytest.raises(SettingsError, match="'colour' holds text"):
        text.to_sklearn()
    assert text.to_sklearn(encoded=True).predict(text.encoding_.transform(frame))[0] == "a"


def test_frames_with_text_columns_keep_their_words() -> None:
    frame = pd.DataFrame({"colour": ["red", "blue", "green"] * 6, "size": range(18)})
    y = (frame["colour"] == "red").to_numpy()
    model = octcore.OptimalTreeClassifier(max_depth=1).fit(frame, y)
    assert model.score(frame, y) == 1.0
    assert model.predict(pd.DataFrame({"colour": ["red", "blue"], "size": [3, 4]})).tolist() == [
        True,
        False,
    ]


@pytest.mark.slow
def test_familiar_parameters_are_the_constraints_they_name(rows) -> None:
    X, y = rows[0].round(), rows[1]
    pairs: list[tuple[dict[str, Any], dict[str, Any]]] = [
        ({"min_samples_leaf": 17}, {"constraints": {"min_samples_leaf": 17}}),
        ({"max_leaf_nodes": 3}, {"constraints": {"max_leaves": 3}}),
        ({"monotonic_cst": [-1, 0, 0]}, {"constraints": {"monotone": {"x0": "down"}}}),
        ({"monotonic_cst": np.array([-1, 0, 0])}, {"constraints": {"monotone": {"x0": "down"}}}),
        ({"monotonic_cst": {"x1": 1}}, {"constraints": {"monotone": {"x1": "up"}}}),
        ({"leaf_penalty": 0.3}, {"params": {"leaf_penalty": 0.3}}),
    ]
    free = octcore.OptimalTreeClassifier().fit(X, y)
    for familiar, own in pairs:
        one, other = (octcore.OptimalTreeClassifier(**given).fit(X, y) for given in (familiar, own))
        assert one.tree_ == other.tree_ != free.tree_
        assert one.objective_ == other.objective_


def test_familiar_parameters_that_cannot_be_are_refused_by_their_names(rows) -> None:
    refused: list[tuple[dict[str, Any], str]] = [
        ({"max_leaf_nodes": 2, "constraints": {"max_leaves": 3}}, "max_leaves was given twice"),
        ({"leaf_penalty": 0.2, "params": {"leaf_penalty": 0.1}}, "leaf_penalty was given twice"),
        ({"monotonic_cst": [1]}, "1 entries for 3 columns"),
        ({"monotonic_cst": {"x0": 2}}, "monotonic_cst has 2"),
        ({"min_samples_leaf": 0.5}, "0.5 was given"),
    ]
    for given, words in refused:
        with pytest.raises(SettingsError, match=words):
            octcore.OptimalTreeClassifier(**given).fit(*rows)


def test_a_stored_model_holds_no_training_row(rows) -> None:
    X, y = rows
    many, classes = np.repeat(X, 200, axis=0) + 0.123456789, np.repeat(y, 200)
    frame = pd.DataFrame(many, columns=["a", "b", "c"]).assign(text=np.where(classes, "u", "v"))
    model = octcore.OptimalTreeClassifier(max_depth=1).fit(frame, classes)
    stored = pickle.dumps(model)
    assert len(stored) < 20_000
    again = pickle.loads(stored)
    assert again.run_.train is None
    assert model.run_.train is not None
    assert (again.predict(frame) == model.predict(frame)).all()
    assert (again.predict_proba(frame) == model.predict_proba(frame)).all()
    assert again.feature_importances_.tolist() == model.feature_importances_.tolist()
    assert pickle.loads(pickle.dumps(again)).feature_importances_.any()
    assert again.run_.verify().status == "not verified"
    with pytest.raises(octcore.errors.ModelFileError, match="training rows"):
        again.to_sklearn(encoded=True)


def test_what_stored_models_consist_of_stays_at_home(rows) -> None:
    """A class that moves to another module makes models unreadable that were stored before."""
    stored = pickle.dumps(octcore.OptimalTreeClassifier("cart", max_depth=1).fit(*rows), protocol=3)
    named = re.findall(rb"c(octcore[\w.]*)\n(\w+)\n", stored)
    assert {f"{module.decode()}.{name.decode()}" for module, name in named} == {
        "octcore.data.columns.Column",
        "octcore.encoding.base.EncodedColumn",
        "octcore.encoding.base.Encoding",
        "octcore.engines.events.Event",
        "octcore.engines.events.Trace",
        "octcore.estimator.classifier.OptimalTreeClassifier",
        "octcore.estimator.tables.Gaps",
        "octcore.solving.run.Certificate",
        "octcore.solving.run.Run",
        "octcore.tree.tree.Split",
        "octcore.tree.tree.Tree",
    }


@pytest.mark.parametrize("name", ["_columns", "_gaps", "_read", "_shares"])
def test_an_estimator_of_an_earlier_version_is_refused_in_words(name: str, rows) -> None:
    model = octcore.OptimalTreeClassifier("cart", max_depth=1).fit(*rows)
    stored = pickle.loads(pickle.dumps(model))
    delattr(stored, name)
    with pytest.raises(ModelFileError, match="earlier version"):
        stored.predict(rows[0])


def test_shares_are_those_of_the_training_rows_whatever_was_asked_for() -> None:
    """A leaf with 30 of 100 positive rows that had to find them was said to have half."""
    X = np.repeat([0.0, 1.0], [100, 100])[:, None]
    y = np.repeat([0, 1, 0, 1], [95, 5, 70, 30])
    held = octcore.OptimalTreeClassifier(max_depth=1, constraints={"min_recall": {1: 0.8}}).fit(
        X, y
    )
    assert held.predict([[1.0]]) == [1]
    assert held.predict_proba([[1.0]]) == pytest.approx(np.array([[0.7, 0.3]]))
    weighed = octcore.OptimalTreeClassifier(max_depth=1, class_weight={1: 4.0}).fit(X, y)
    same = octcore.OptimalTreeClassifier(max_depth=1).fit(
        X, y, sample_weight=np.where(y == 1, 4.0, 1.0)
    )
    greedy = DecisionTreeClassifier(max_depth=1, class_weight={1: 4.0}).fit(X, y)
    for other in (same, greedy):
        assert weighed.predict_proba(X) == pytest.approx(other.predict_proba(X))
    assert (weighed.predict_proba(X).argmax(axis=1) == weighed.predict(X)).all()


@pytest.mark.parametrize("kind", [float, bool, np.int8, np.float32])
def test_weights_and_costs_name_labels_as_users_have_them(kind: Any) -> None:
    """Labels 0.0 and 1.0 are whole numbers in the data set, and 1 is True in scikit-learn."""
    X, y = np.arange(9.0)[:, None] % 4, np.array([0, 1, 0, 1, 1, 0, 1, 1, 0])
    labels, by_label = y.astype(kind), {"class_weight": {0: 3.0, 1: 1.0}, "costs": {0: {1: 3.0}}}
    for name, plain in by_label.items():
        expected = octcore.OptimalTreeClassifier(max_depth=1, **{name: plain}).fit(X, y)
        named = {kind(0): 3.0, kind(1): 1.0} if name == "class_weight" else {kind(0): {kind(1): 3}}
        for given in (plain, named):
            fitted = octcore.OptimalTreeClassifier(max_depth=1, **{name: given}).fit(X, labels)
            assert fitted.objective_ == expected.objective_
            assert fitted.score(X, labels) == expected.score(X, y)
