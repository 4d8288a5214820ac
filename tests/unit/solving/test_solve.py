"""`octcore.solve`: refusals before anything is built, true numbers, honest ends."""

from __future__ import annotations

import json
import math
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import pytest

import octcore
from octcore.data.dataset import Dataset
from octcore.engines.events import Event
from octcore.errors import DataError, ModelFileError, SettingsError
from octcore.solving.prepare import split_rows
from octcore.solving.report import run_report
from octcore.solving.run import Run
from octcore.tree import metrics
from octcore.tree.tree import Split, Tree

IRIS = octcore.load_sample("iris")


@pytest.mark.parametrize(
    ("settings", "setting"),
    [
        ({"formulation": "flowoct"}, "flowoct"),
        ({"depth": 0}, "depth"),
        ({"depth": 2.5}, "depth"),
        ({"depth": "3; import os"}, "depth"),
        ({"depth": 21}, "depth"),
        ({"time_limit": -5}, "time_limit"),
        ({"time_limit": float("nan")}, "time_limit"),
        ({"time_limit": float("inf")}, "time_limit"),
        ({"test_size": 1.0}, "test_size"),
        ({"seed": 2**63}, "seed"),
        ({"params": {"leaf_penalty": -0.1}}, "leaf_penalty"),
        ({"params": {"leaf_penalty": "nan"}}, "leaf_penalty"),
        ({"params": {"lambda": 0.1}}, "lambda"),
        ({"constraints": {"min_samples_leaf": 1_000_000}}, "min_samples_leaf"),
        ({"constraints": {"forbidden_features": ["petal"]}}, "petal"),
        ({"encoding": "QT-1"}, None),
        ({"formulation": "flow-oct", "encoding": "scaled"}, "encoding"),
        ({"engine": "cplex"}, "engine"),
        ({"formulation": "margot"}, "formulation"),
        ({"formulation": "cart", "constraints": {"max_features": 2}}, "max_features"),
        ({"params": {"leaf_penalty": 0.1, "split_weight": 0.1}}, "split_weight"),
    ],
)
def test_wrong_settings_are_refused_in_one_sentence(settings: dict, setting: str | None) -> None:
    with pytest.raises(SettingsError) as caught:
        octcore.solve(IRIS, **settings)
    assert caught.value.message.endswith((".", "?"))
    assert "\n" not in caught.value.message
    if setting is not None:
        assert caught.value.setting == setting


def test_every_number_is_recomputed_by_routing() -> None:
    run = octcore.solve(
        IRIS, "path-search", depth=2, params={"leaf_penalty": 0.01}, test_size=0.3, seed=5
    )
    assert run.train is not None
    assert run.test is not None
    assert run.tree is not None
    assert (run.n_train, run.n_test) == (105, 45)
    predicted = run.predict(run.train.frame)
    truth = np.array(run.classes)[run.train.y]
    assert run.accuracy == pytest.approx((predicted == truth).mean())
    assert run.objective == pytest.approx(run.accuracy - 0.01 * run.tree.n_leaves)
    held = run.predict(run.test.frame) == np.array(run.classes)[run.test.y]
    assert run.test_accuracy == pytest.approx(held.mean())
    assert run.status == run.stop_reason == "optimal"
    assert run.certificate.method == "path-search"
    assert any("QT-5" in text for text in run.certificate.statements)


def test_the_parts_of_the_time_add_up_where_first_trees_take_long() -> None:
    run = octcore.solve(octcore.load_sample("4-partitions"), "svm1-odt", depth=2, verify=False)
    parts = sum(run.timings[name] for name in ("encode", "warm_start", "solve"))
    assert 0.7 * run.timings["total"] < parts < run.timings["total"]
    assert run.timings["warm_start"] > 0.1 * run.timings["total"]


def test_a_gap_matters_where_a_split_tests_the_column_only() -> None:
    run = octcore.solve(IRIS, "path-search", depth=1)
    (used,) = {run.encoding.columns[j].raw for j in run.final_tree.used_features}
    rows = IRIS.frame.astype(object)
    gaps = rows.assign(**{name: [None, "?", "x"] * 50 for name in rows if name != used})
    assert (run.predict(gaps) == run.predict(rows)).all()
    assert (run.predict(rows[[used]]) == run.predict(rows)).all()
    assert run.explain(gaps.head(1)) == run.explain(rows.head(1))
    rows.loc[3, used] = None
    with pytest.raises(DataError, match=r"Row 4 .* has nothing in column “petal length"):
        run.predict(rows)


def test_no_training_row_lies_on_a_threshold() -> None:
    run = octcore.solve(IRIS, "cart", depth=3)
    assert run.tree is not None
    X = run.encoding.transform(IRIS.frame)
    for node, rows in run.tree.node_rows(X).items():
        if node in run.tree.splits:
            split = run.tree.splits[node]
            assert np.abs(split.project(X[rows]) - split.threshold).min() > 1e-9


def test_a_tiny_time_limit_still_gives_a_tree_and_no_bound_of_its_own() -> None:
    run = octcore.solve(IRIS, "flow-oct", depth=3, time_limit=0.001)
    assert run.tree is not None
    assert run.status == "feasible"
    assert run.stop_reason == "time_limit"
    assert run.accuracy is not None


def test_a_stop_keeps_the_incumbent() -> None:
    run = octcore.solve(IRIS, "flow-oct", depth=3, cancel=lambda: True)
    assert run.stop_reason == "cancelled"
    assert run.tree is not None


def test_a_run_says_which_class_is_positive_where_it_is_not_the_one_that_matters() -> None:
    """ "nein" rose with x, beside reports on how many rows of "ja" are found."""
    frame = pd.DataFrame({"x": range(8), "g": [*"abababab"]})
    up, even = {"monotone": {"x": "up"}}, {"attribute": "g", "max_gap": 0.5}
    for names, constraints, told in (
        (("ja", "nein"), up, "so monotone is about the last, “nein”"),
        (("ja", "nein"), {"equal_opportunity": even}, "so equal_opportunity is about the last"),
        (("ja", "nein"), {"statistical_parity": even}, None),
        (("no", "yes"), up, None),
    ):
        data = Dataset.from_arrays(frame, [names[k > 4] for k in range(8)])
        found = octcore.solve(data, depth=1, constraints=constraints).findings
        assert [(told or "") in text for text in found] == [True] * (told is not None)


def test_the_trace_is_monotone_and_survives_storage() -> None:
    seen = []
    run = octcore.solve(
        IRIS, "flow-oct", depth=1, params={"leaf_penalty": 0.02}, on_event=seen.append
    )
    assert run.status == "optimal"
    assert tuple(seen) == run.trace.events
    seconds = [event.seconds for event in run.trace]
    assert seconds == sorted(seconds)
    incumbents = [event.incumbent for event in run.trace.incumbents]
    assert incumbents == sorted(incumbents)
    bounds = [event.bound for event in run.trace if event.bound is not None]
    assert bounds == sorted(bounds, reverse=True)
    assert min(bounds) >= max(incumbents) - 1e-9
    again = [Event.from_dict(json.loads(line)) for line in run.trace.to_json_lines().splitlines()]
    assert [e.to_dict() for e in again] == [e.to_dict() for e in run.trace]
    assert [event.kind for event in run.trace][-2:] == ["finished", "verified"]


def test_a_run_survives_json() -> None:
    run = octcore.solve(IRIS, "cart", depth=2)
    record = json.loads(json.dumps(run.to_dict(), allow_nan=False))
    again = Run.from_dict(record, run.trace, run.train, run.test)
    assert again.to_dict() == run.to_dict()
    assert again.tree == run.tree


def test_a_damaged_record_is_read_whole_or_refused_in_words() -> None:
    run = octcore.solve(IRIS, "cart", depth=2)
    record = json.loads(json.dumps(run.to_dict()))
    places = [(record, name) for name in record]
    places += [(part, name) for part in record.values() if isinstance(part, dict) for name in part]
    places += [(node, name) for node in record["tree"]["nodes"] for name in node]
    for damage in (None, {}, [], "x", -1, True, float("nan"), 10**400, "gone"):
        n_refused = 0
        for part, name in places:
            kept = part.pop(name)
            if damage != "gone":
                part[name] = damage
            try:
                run_report(Run.from_dict(record, run.trace, run.train, run.test))
            except ModelFileError:
                n_refused += 1
            part[name] = kept
        assert n_refused > 4
    assert Run.from_dict(record).to_dict() == run.to_dict()


def test_one_class_and_no_usable_feature_give_a_leaf() -> None:
    from octcore.data.dataset import Dataset

    constant = Dataset.from_arrays(np.zeros((6, 2)), np.array([0, 1, 1, 1, 0, 1]))
    for formulation in ("path-search", "flow-oct"):
        run = octcore.solve(constant, formulation, depth=2)
        assert run.status == "optimal"
        assert run.accuracy == pytest.approx(4 / 6)
        assert run.tree is not None
        assert run.tree.n_leaves == 1


def test_held_out_rows_are_stratified_and_seeded() -> None:
    train, test, notes = split_rows(IRIS, 0.2, 1)
    assert test is not None
    assert test.class_counts == (10, 10, 10)
    assert train.n_samples == 120
    assert notes == ()
    again = split_rows(IRIS, 0.2, 1)[1]
    assert again is not None
    assert (again.row_lines == test.row_lines).all()
    one = split_rows(IRIS.subset([0, 1, 50, 51, 100]), 0.2, 1)[1]
    assert one is not None
    assert one.n_samples == 1


def test_balanced_class_weights_change_the_accuracy_term() -> None:
    rng = np.random.default_rng(0)
    from octcore.data.dataset import Dataset

    X = rng.integers(0, 2, (60, 4)).astype(float)
    y = (rng.random(60) < 0.2).astype(int)
    data = Dataset.from_arrays(X, y)
    run = octcore.solve(
        data, "path-search", encoding="none", depth=2,
        params={"leaf_penalty": 0.0}, constraints={"class_weight": "balanced"},
    )  # fmt: skip
    assert run.tree is not None
    balanced = metrics.balanced_accuracy(run.tree, X, y)
    assert run.objective == pytest.approx(balanced)


def test_balanced_classes_go_by_rows_whatever_they_weigh_as_in_scikit_learn() -> None:
    from sklearn.utils.class_weight import compute_sample_weight

    rng = np.random.default_rng(0)
    X, y, w = rng.integers(0, 2, (60, 4)), (rng.random(60) < 0.2).astype(int), rng.random(60)
    model = octcore.PathSearchClassifier(max_depth=2, leaf_penalty=0.0, class_weight="balanced")
    found = model.fit(X, y, sample_weight=w).predict(X)
    weights = w * compute_sample_weight("balanced", y)
    assert model.objective_ == pytest.approx(np.average(found == y, weights=weights))


def test_a_stop_while_the_model_is_built_is_no_error_in_the_log(caplog):
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 2, (600, 12)), rng.integers(0, 2, 600)
    data = Dataset.from_arrays(pd.DataFrame(X, columns=list("abcdefghijkl")), y)
    phases = []
    asked = []

    def stop():
        if "build" in phases:
            asked.append(True)
        return len(asked) > 3  # the rules of the model have begun

    run = octcore.solve(
        data,
        "flow-oct",
        encoding="none",
        on_event=lambda event: phases.append(event.source) if event.kind == "phase" else None,
        cancel=stop,
    )
    assert run.stop_reason == "cancelled"
    assert "build" in phases
    assert not [r for r in caplog.records if r.name.startswith("pyomo")]


def test_where_no_tree_can_be_there_is_no_bound_and_nothing_optimal() -> None:
    run = octcore.solve(
        IRIS,
        "path-search",
        depth=2,
        constraints={"min_samples_leaf": 80, "root_feature": "petal length (cm)"},
    )
    assert run.status == "infeasible"
    assert run.bound is None
    assert not any("optimal" in statement for statement in run.certificate.statements)


ONE_THREAD = {"cart", "bend-oct", "accelerated-bend-oct", "s-oct", "oct-h", "svm1-odt",
              "hfs-margot", "sfs-margot"}  # fmt: skip


@pytest.mark.sampled(7)
@pytest.mark.parametrize("key", sorted({*ONE_THREAD, "path-search", "margot", "flow-oct"}))
def test_a_method_of_one_thread_says_so(key: str) -> None:
    rng = np.random.default_rng(5)
    data = Dataset.from_arrays(rng.normal(size=(24, 2)), rng.integers(0, 2, 24))
    limits = {"time_limit": 15, "node_limit": 1}
    run = octcore.solve(data, key, depth=2, threads=2, **limits, verify=False)
    said = any("uses 1 thread, not 2" in finding for finding in run.findings)
    assert said == (key in ONE_THREAD), run.findings


def test_other_threads_solve_without_listening_to_interrupts() -> None:
    with ThreadPoolExecutor(1) as pool:
        run = pool.submit(octcore.solve, IRIS, "cart", depth=1).result()
    assert run.tree is not None
    assert 0.0 < run.timings["solve"] < run.timings["total"]  # also of engines that do not say it


def test_nothing_is_said_of_one_thread_where_one_was_asked_for() -> None:
    run = octcore.solve(octcore.load_sample("iris"), "cart", depth=1)
    assert not any("thread" in finding for finding in run.findings)


def test_class_changes_are_said_not_to_be_all_thresholds():
    """They reach 9 of these 10 rows, all thresholds 10: a run of one class has to be parted."""
    first, second = [1, 9, 2, 4, 3, 7, 5, 0, 6, 8], [1, 1, 2, 2, 0, 1, 0, 0, 0, 2]
    X, y = np.column_stack([first, second]).astype(float), [1, 1, 1, 0, 0, 1, 1, 0, 1, 0]
    data = Dataset.from_arrays(X, np.array(y))
    run = octcore.solve(data, "path-search", "class-change", params={"leaf_penalty": 0.0})
    assert (run.objective, run.certificate.verified) == (0.9, True)
    assert any("class-change features, not among all" in s for s in run.certificate.statements)
    assert octcore.solve(data, params={"leaf_penalty": 0.0}).objective == 1.0


def test_rows_without_weight_have_no_share_that_is_right():
    X, y = np.arange(4.0)[:, None], np.array([0, 0, 1, 1])
    tree = Tree({1: Split.on_feature(0, 1.5)}, {2: 0, 3: 1}, 1, 2)
    assert metrics.accuracy(tree, X, y, np.array([0.0, 0.0, 0.0, 2.0])) == 1.0
    assert math.isnan(metrics.accuracy(tree, X, y, np.zeros(4)))


@pytest.mark.parametrize("kind", ["binary", "categorical"])
@pytest.mark.parametrize("weight", [0.5, 1.0])  # whole-number weights count in quantiles
def test_what_only_rows_without_weight_have_can_be_tested(kind: str, weight: float) -> None:
    rows = b"a,b,t\n0,1,n\n0,0,y\n1,1,y\n1,1,n\n"
    data = octcore.read_csv(rows, target="t", kinds={"a": "binary", "b": kind})
    weights = weight * np.array([1, 0, 1, 1])
    asked = {"root_feature": "b"}
    run = octcore.solve(data, "path-search", constraints=asked, sample_weight=weights)
    assert run.objective == pytest.approx(2 / 3 - 0.02)


def test_what_only_rows_without_weight_have_lies_within_the_scale() -> None:
    data = octcore.read_csv(b"a,t\n0,n\n1,y\n2,y\n9,n\n", target="t")
    run = octcore.solve(data, "s-oct", depth=1, sample_weight=np.array([1.0, 1.0, 1.0, 0.0]))
    assert run.encoding.transform(data.frame).max() == 1.0
