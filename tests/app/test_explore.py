"""Explore: one row's path, the slice, scoring a file and the replay, without pixels."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from dashboard.views.explore import replay, scoring
from octcore.data.samples import load_sample
from octcore.plotting import text
from octcore.solving.run import JobState
from octcore.solving.solve import solve
from tests.app.history_case import open_page, shown


@pytest.fixture
def finches(server):
    """A finished run on a mixed set with held-out rows."""
    data = load_sample("finches")
    settings = {"formulation": "cart", "depth": 3, "test_size": 0.25, "encoding": "QT-5"}
    return server.submit("me", data, settings)


def open_row(run):
    app = open_page("explore", run=run)
    mode = next(b for b in app.button_group if "Path of one row" in b.options)
    mode.set_value("Path of one row").run()
    assert not app.exception
    return app


def number(app, label):
    return next(n for n in app.number_input if n.label.startswith(label))


@pytest.mark.long
def test_a_row_is_picked_by_its_line_wherever_it_is_and_its_leaf_becomes_the_selected_node(server):
    data = load_sample("finches")
    data = data.subset(np.delete(np.arange(data.n_samples), 3))  # line 5 is left out
    run = server.submit("me", data, {"depth": 3, "test_size": 0.25, "encoding": "QT-5"})
    app = open_row(run)
    parts = set()
    for asked, line in ((4, 4), (5, 6), (5, 4), *((k, k) for k in range(6, 16))):
        number(app, "Line, 2 to").set_value(asked).run()
        assert not app.exception
        found = re.search(r"Line (\d+), a (.+) row, ends in \*\*leaf (\d+)", shown(app))
        assert found is not None
        assert int(found[1]) == line
        assert int(found[3]) == app.session_state["state"].nodes[run]
        parts.add(found[2])
    assert parts == {"training", "held-out"}


def test_counts_of_rows_have_separators(finches):
    app = open_page("explore", run=finches)
    tables = [json.loads(d.proto.columns) for d in app.dataframe if d.proto.columns]
    config = next(columns for columns in tables if "share of training rows" in columns)
    for name in ("training", "held out"):
        assert config[name]["type_config"]["format"] == "%,d"


@pytest.mark.long
def test_back_of_the_browser_leads_to_the_node_before(finches):
    app = open_page("explore", run=finches, node="2")
    assert "**Node 2** ·" in shown(app)
    app.query_params["node"] = "3"
    assert "**Node 3** ·" in shown(app.run())
    app.query_params["node"] = "2"  # as the browser leaves it
    assert "**Node 2** ·" in shown(app.run())
    del app.query_params["node"]
    assert "**Root: all training rows** ·" in shown(app.run())
    app.query_params["node"] = "3"
    app.run()
    app.switch_page("screens/runs.py").run()
    app.query_params.clear()  # by the menu, whose links name no run
    assert "**Node 3** ·" in shown(app.switch_page("screens/explore.py").run())


@pytest.mark.slow
def test_a_typed_row_starts_as_the_picked_one_and_follows_its_inputs(finches):
    app = open_row(finches)
    source = next(b for b in app.button_group if "Typed row" in b.options)
    source.set_value("Typed row").run()
    assert "The typed row ends in" in shown(app)
    before = app.session_state["state"].nodes[finches]
    beak = number(app, "beak length")
    assert f"{beak.value:.5g}" in {str(v) for v in app.dataframe[0].value["this row"]}
    leaves = set()
    for value in (8.0, 30.0):
        number(app, "beak length").set_value(value).run()
        assert not app.exception
        leaves.add(app.session_state["state"].nodes[finches])
    assert len(leaves | {before}) >= 2


@pytest.mark.slow
def test_values_of_the_other_features_are_prefilled_and_can_be_chosen(finches):
    app = open_page("explore", run=finches)
    across = next(s for s in app.selectbox if s.label == "Across")
    across.set_value("wing length (mm)").run()
    held = [n for n in app.number_input if n.label.startswith(("beak", "weight"))]
    assert held
    first = f"{held[0].value:.5g}"
    assert first in shown(app)
    held[0].set_value(held[0].value + 3).run()
    assert not app.exception
    assert f"{float(first) + 3:.5g}" in shown(app)


def score_tab(run, content: bytes):
    app = open_page("explore", run=run)
    app.session_state["explore_tabs"] = "Score a file"
    app.run()
    app.file_uploader[0].upload("new.csv", content, "text/csv")
    app.run()
    assert not app.exception
    return app


@pytest.mark.slow
def test_a_second_file_is_scored(finches):
    row = load_sample("finches").frame.iloc[:4].to_csv(index=False).encode()
    app = score_tab(finches, row)
    values = {m.label: m.value for m in app.metric}
    assert values["Rows"] == "4"
    assert "Right" not in values
    assert "Mean confidence" in values
    assert any(d.value.columns[0] == "prediction" for d in app.dataframe)


@pytest.mark.slow
def test_wrong_columns_are_one_sentence(finches):
    app = score_tab(finches, b"beak length (mm),wing\n14.1,70\n15,71\n")
    assert len(app.error) == 1
    assert "lack 2 columns that the tree tests" in app.error[0].value.replace("\\", "")


@pytest.mark.slow
def test_extra_columns_and_labels_are_said(finches):
    frame = load_sample("finches").frame.iloc[:5].copy()
    data = load_sample("finches")
    frame["species"] = [str(data.classes[k]) for k in data.y[:5]]
    frame["note"] = "=1+1"
    app = score_tab(finches, frame.to_csv(index=False).encode())
    words = " ".join(w.value for w in app.warning).replace("\\", "")
    assert "“note” is not a column of the model" in words
    assert "Right" in {m.label for m in app.metric}


@pytest.mark.slow
def test_optimum_that_another_run_proved_is_drawn_for_one_that_did_not(server):
    data = load_sample("monks-1")
    proven = solve(data, "path-search", depth=2)
    given = {"formulation": "path-search", "encoding": "QT-5", "depth": 2}
    first = server.store.begin(data, given, "the exact one", "me")
    server.store.finish(first, JobState.DONE, proven)
    given = {**given, "formulation": "flow-oct"}
    greedy = solve(data, "cart", encoding="QT-5", depth=2)
    resolved = {**greedy.settings, "formulation": "flow-oct", "engine": "highs", "params": {}}
    open_run = replace(greedy, settings=resolved)
    second = server.store.begin(data, given, "unfinished", "me")
    server.store.append(second, open_run.trace.events)
    server.store.finish(second, JobState.DONE, open_run)
    app = open_page("explore", run=first)
    app.query_params["run"] = second
    app.session_state["explore_tabs"] = "Convergence"
    app.run()
    assert not app.exception
    assert replay.known_optimum(second, open_run) == proven.objective
    assert "Scale" not in {control.label for control in app.segmented_control}  # it has no gap


@pytest.mark.long
def test_the_replay_shows_which_thresholds_were_still_open(server):
    data, settings = load_sample("iris"), {"formulation": "threshold-search", "depth": 3}
    run = solve(data, **settings)
    run_id = server.store.begin(data, settings, "all thresholds", "me")
    server.store.append(run_id, run.trace.events)
    server.store.finish(run_id, JobState.DONE, run)
    app = open_page("explore", run=run_id)
    app.session_state["explore_tabs"] = "Inside the search"
    app.run()
    assert "A better tree may still begin with" in shown(app)
    moments = next(s for s in app.select_slider if s.label.startswith("Moments"))
    moments.set_value(len(moments.options) - 1).run()
    assert not app.exception
    assert "can begin a better tree any more" in shown(app)


@pytest.mark.long
def test_cuts_of_a_tree_that_may_ask_a_person_are_told_without_rows_that_are_none(server):
    data = load_sample("iris")
    settings = {"formulation": "bend-oct", "depth": 2, "encoding": "QT-5", "refer": 0.2}
    run = solve(data, **settings, time_limit=20)
    run_id = server.store.begin(data, settings, "asks", "me")
    server.store.append(run_id, run.trace.events)
    server.store.finish(run_id, JobState.DONE, run)
    app = open_page("explore", run=run_id)
    app.session_state["explore_tabs"] = "Inside the search"
    assert not app.run().exception
    assert "no pictures of these cuts" in shown(app)


def test_a_single_leaf_scores_any_file(server):
    data = load_sample("iris")
    leaf = solve(data, depth=1, params={"leaf_penalty": 0.9})
    run = server.supervisor.keep("me", data, leaf, "a leaf")
    app = score_tab(run, b"any,class\n1,setosa\n2,virginica\n")
    assert "Any CSV file, since the tree tests no column" in shown(app)
    assert {m.label: m.value for m in app.metric}["Rows"] == "2"


def _thresholds() -> None:
    """What thresholds of one column are worth; runs as a script of its own."""
    import streamlit as st

    from dashboard.server.job_view import JobView
    from dashboard.widgets import thresholds
    from octcore.data.samples import load_sample
    from octcore.solving.solve import solve

    run, result = solve(load_sample("iris"), depth=1).needed, {"points": st.session_state["points"]}
    thresholds._drawn(run, "petal length (cm)", 1, JobView("c", "", {}, "done", result=result))


def test_the_best_threshold_is_one_that_was_searched():
    names = ("low", "high", "value", "is_exact")
    app = AppTest.from_function(_thresholds, default_timeout=120)
    app.session_state["points"] = [
        dict(zip(names, point, strict=True)) for point in ((1, 2, -0.5, True), (2, 3, 0.0, True))
    ]
    assert "Best between 2 and 3." in shown(app.run())
    as_good = [dict(zip(names, (k, k + 1, 0.0, True), strict=True)) for k in (4, 5)]
    app.session_state["points"] += as_good
    assert "Best between 2 and 3, or between 4 and 6." in shown(app.run())
    app.session_state["points"][2:] = [dict(zip(names, (3, 4, 0.9, False), strict=True))]
    assert "Best of those that were searched between 2 and 3." in shown(app.run())
    app.session_state["points"] = app.session_state["points"][2:]
    assert "No threshold was searched to its end." in shown(app.run())
    assert not app.exception


def _rules() -> None:
    """The rules of a tree on a long name; runs as a script of its own, so imports are inside."""
    import octcore
    from dashboard.views.explore.metrics_view import rules_table

    rows = "\n".join(f"{i},{'ab'[i > 9]}" for i in range(20))
    content = f"{'a long name of a column ' * 5}*,class\n{rows}\n".encode()
    run = octcore.solve(octcore.read_csv(content, target="class"), "cart", depth=1).needed
    rules_table("run-1", run)


def test_a_rule_with_long_names_is_told_whole_in_a_table_whose_words_wrap():
    app = AppTest.from_function(_rules, default_timeout=120).run()
    assert not app.exception
    rules = [rule.replace("\\", "") for rule in app.table[0].value["if"]]
    name = f"{'a long name of a column ' * 5}*"
    assert rules == [f"{name} ≤ 9.5", f"{name} > 9.5"]


def test_a_file_is_scored_once_and_not_at_every_redraw(finches, monkeypatch):
    read, table = [], scoring.read_table
    monkeypatch.setattr(scoring, "read_table", lambda *a, **k: read.append(a) or table(*a, **k))
    frame = load_sample("finches").frame
    app = score_tab(finches, frame.to_csv(index=False).encode())
    assert f"{len(frame):,}" in {metric.value for metric in app.metric if metric.label == "Rows"}
    for _ in range(2):
        app.run()
    assert len(read) == 1
    assert f"{len(frame):,}" in {metric.value for metric in app.metric if metric.label == "Rows"}


def _headline() -> None:
    """The headline of a run whose tree may ask a person; runs as a script of its own."""
    import streamlit as st

    from dashboard.widgets.run_summary import headline
    from octcore.data.samples import load_sample
    from octcore.solving.solve import solve

    settings = {"depth": 1, "refer": 0.2, "test_size": st.session_state["test_size"]}
    st.session_state["run"] = run = solve(load_sample("iris"), "threshold-search", **settings)
    headline("run", run)


@pytest.mark.parametrize("test_size", [0.0, 0.4])
def test_costs_and_questions_are_those_of_held_out_rows_where_there_are_some(test_size):
    app = AppTest.from_function(_headline, default_timeout=120)
    app.session_state["test_size"] = test_size
    told = {metric.label: metric.value for metric in app.run().metric}
    run = app.session_state["run"]
    cost, asked = run.mean_cost, run.referred
    if test_size:
        assert (run.test_mean_cost, run.test_referred) != (cost, asked)
        cost, asked = run.test_mean_cost, run.test_referred
    assert told == {"Mean cost": text.number(cost), "A person is asked": text.percent(asked)}
