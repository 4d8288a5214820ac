"""What if and Size through AppTest, with a supervisor that solves at once."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import streamlit as st

from dashboard.server import jobs
from dashboard.server.job_view import JobView
from dashboard.widgets import run_summary
from octcore.data.samples import load_sample
from octcore.errors import EngineError
from octcore.selection.tasks import TASKS
from octcore.solving.solve import solve
from tests.app.history_case import button, open_page, shown


@pytest.fixture
def views(monkeypatch):
    """A solved run on iris, and solves that end at once."""
    data = load_sample("iris")
    run = solve(data, "path-search", depth=2)
    known = {
        "base": JobView("base", "x", run.settings, "done", data=data, run=run, trace=run.trace)
    }

    def submit(owner, data, settings, title=""):
        solved = solve(data, **settings)
        key = f"run-{len(known)}"
        known[key] = JobView(key, title, settings, "done", data=data, run=solved)
        return key

    monkeypatch.setattr(jobs, "warm_up", lambda: None)
    monkeypatch.setattr(jobs, "submit", submit)

    tasks = {}

    def once(key, owner, data, what, settings, seconds, run=None, is_look=False):
        task = jobs.followers().setdefault(key, f"task-{len(tasks)}")
        if task not in tasks:
            settings = settings if run is None else settings | {"run": run.to_dict()}
            result = TASKS[what](data, settings, lambda part: None, lambda: False)
            tasks[task] = known[key] = JobView(
                task, what, settings, "done", data=data, task=what, result=result
            )
        return task

    monkeypatch.setattr(jobs, "task", tasks.__getitem__)
    monkeypatch.setattr(jobs, "view", known.get)
    monkeypatch.setattr(jobs, "once", once)
    yield known
    st.cache_resource.clear()


def test_without_a_run_it_says_what_to_do(views):
    app = open_page("whatif")
    assert "no solved tree yet" in shown(app)
    assert any(b.label == "Find an optimal tree" for b in app.button)


@pytest.mark.parametrize("page", ["whatif", "alternatives", "path"])
def test_a_run_with_weights_of_rows_is_asked_nothing_that_counts_them_alike(page, views):
    run = views["base"].run
    weighted = replace(run, sample_weight=np.ones(run.n_train))
    views["base"] = replace(views["base"], run=weighted)
    assert "weighs row by row" in shown(open_page(page, run="base"))
    assert list(views) == ["base"]


def test_an_answer_of_the_link_that_is_gone_is_said(views):
    assert "answer of this link is not on this server" in shown(
        open_page("whatif", run="base", answer="gone")
    )


def test_the_price_of_a_feature_in_words(views):
    app = open_page("whatif", run="base")
    assert views["run-1"].settings["params"]["exact_root_values"] is True
    assert views["run-1"].title.startswith("(helper of What if or Alternatives) Exact search")
    assert not any(b.label == "What does it cost?" for b in app.button)
    next(m for m in app.multiselect if m.label == "Drop features").select("petal width (cm)").run()
    next(b for b in app.button if b.label == "What does it cost?").click()
    app.run()
    assert not app.exception
    assert "Dropping petal width (cm) costs 3.3 accuracy points" in shown(app)
    answer = app.session_state["state"].answers["base"]
    solved, views[answer] = views[answer], replace(views[answer], state="running", run=None)
    other = open_page("whatif", run="base", answer=answer)  # its form holds no condition
    assert "Solving with Exact search, dropping petal width (cm): running" in shown(other)
    views[answer] = solved
    assert "Both trees are proven optimal" in shown(app)
    next(b for b in app.button if b.label == "Make a proof file").click().run()
    assert not app.exception
    assert "kB prove that no tree under the condition is better" in shown(app)
    assert not any(b.label == "Make a proof file" for b in app.button)  # nothing is left to press


def test_a_global_condition_goes_to_a_formulation_that_can_express_it(views):
    app = open_page("whatif", run="base")
    next(n for n in app.number_input if n.label == "Most features").set_value(1).run()
    solver = next(s for s in app.selectbox if s.label == "Solved by")
    assert solver.value == "path-columns"
    assert "path-search" not in [str(option) for option in solver.options]


@pytest.mark.slow
def test_values_that_leave_out_constraints_say_so_and_the_price_counts_them(views):
    data = load_sample("iris")
    run = solve(data, "flow-oct", depth=1, constraints={"max_features": 1}, time_limit=30)
    greedy = solve(data, "cart", depth=2, encoding="QT-5")
    limited = replace(greedy, settings={**greedy.settings, "constraints": {"max_features": 1}})
    views["proven"] = JobView("proven", "x", run.settings, "done", data=data, run=run)
    views["limited"] = JobView("limited", "y", limited.settings, "done", data=data,
                                    run=limited)  # fmt: skip
    app = open_page("whatif", run="proven")
    assert "There are none for your run" in shown(app)
    assert "using at most 1 feature" in shown(app)
    app = open_page("whatif", run="limited")
    base = views[jobs.followers()["base", "limited"]]
    assert base.settings["constraints"] == {"max_features": 1}
    next(n for n in app.number_input if n.label == "Most leaves").set_value(2).run()
    next(b for b in app.button if b.label == "What does it cost?").click()
    app.run()
    assert "Your tree is a heuristic's" in shown(app)
    assert "Both keep to what your run asked for: using at most 1 feature" in shown(app)
    before = views[jobs.followers()["base", "limited"]].run
    assert f"{100 * before.accuracy:.1f} % becomes" in shown(app).replace("\N{NO-BREAK SPACE}", " ")


def test_columns_that_no_tree_may_begin_with_are_not_late(views):
    forbidden = {"forbidden_features": ["petal width (cm)"]}
    run = solve(load_sample("iris"), "path-search", depth=1, constraints=forbidden)
    views["base"] = replace(views["base"], settings=run.settings, run=run)
    told = shown(open_page("whatif", run="base"))
    assert "Value of every root feature" in told
    assert "no value was proven" not in told


@pytest.mark.slow
def test_an_optimum_to_count_from_whose_worker_died_is_solved_once_more(views):
    run = solve(load_sample("iris"), "path-columns", depth=1, constraints={"max_features": 1})
    run = replace(run, status="feasible")
    views["base"] = replace(views["base"], settings=run.settings, run=run)
    app = open_page("whatif", run="base")
    next(m for m in app.multiselect if m.label == "Drop features").select("petal width (cm)").run()
    button(app, "What does it cost?").click().run()
    key = jobs.followers()["base", "base"]
    died = EngineError("WORKER_DIED", "The worker was ended by signal SIGKILL.")
    views[key] = replace(views[key], run=None, state="failed", error=died)
    assert "SIGKILL" in shown(app.run())
    button(app, "Try again").click().run()
    assert not app.exception
    assert "Dropping petal width (cm)" in shown(app)


@pytest.mark.long
def test_an_optimum_to_count_from_that_was_stopped_can_be_searched_again(views):
    run = solve(load_sample("iris"), "path-columns", depth=1, constraints={"max_features": 1})
    proven, run = run, replace(run, status="feasible")
    views["base"] = replace(views["base"], settings=run.settings, run=run)
    app = open_page("whatif", run="base")
    next(m for m in app.multiselect if m.label == "Drop features").select("petal width (cm)").run()
    button(app, "What does it cost?").click().run()
    again = "Search the tree without the condition again"
    assert again not in {b.label for b in app.button}
    key = jobs.followers()["base", "base"]
    stopped = replace(proven, status="feasible", stop_reason="cancelled")
    views[key] = replace(views[key], run=stopped)
    app.run()
    assert "not proven" in shown(app)
    button(app, again).click().run()
    assert jobs.followers()["base", "base"] != key
    assert again not in {b.label for b in app.button}


def test_class_weights_of_one_s_own(views):
    app = open_page("whatif", run="base")
    next(s for s in app.selectbox if s.label == "Class weights").select("one for every class")
    app.run()
    next(n for n in app.number_input if n.label == "Weight of setosa").set_value(5.0).run()
    next(b for b in app.button if b.label == "What does it cost?").click()
    app.run()
    asked = list(views.values())[-1].settings["constraints"]
    assert asked == {"class_weight": {"setosa": 5.0, "versicolor": 1.0, "virginica": 1.0}}
    assert "The weights change what is optimised" in shown(app)


def test_size_page_says_what_to_do_before_it_computes(views):
    app = open_page("path")
    assert "Compute" in shown(app)
    assert not next(b for b in app.button if b.label == "Compute").disabled


def test_costs_on_the_size_page_reach_its_trees(views):
    app = open_page("path")
    name = "versicolor called virginica"
    next(n for n in app.number_input if n.label == name).set_value(5.0).run()
    next(n for n in app.number_input if n.label == "Depth").set_value(1).run()
    next(b for b in app.button if b.label == "Compute").click().run()
    assert not app.exception
    asked = next(view.settings for view in views.values() if view.task == "path")
    assert asked["costs"] == {"versicolor": {"virginica": 5.0}}
    assert "1 - mean cost against size" in shown(app)


def test_every_threshold_of_a_column_has_its_value(views):
    app = open_page("whatif", run="base")
    next(s for s in app.selectbox if s.label == "Every threshold of").select("petal length (cm)")
    app.run()
    assert not app.exception
    points = next(view.result for view in views.values() if view.task == "curve")["points"]
    best = max(points, key=lambda point: point["value"])
    assert f"Best between {best['low']:.4g} and {best['high']:.4g}." in shown(app)


@pytest.mark.long
def test_explore_says_how_far_a_threshold_may_move(views):
    app = open_page("explore", run="base")
    run = views["base"].run
    button(app, "How far may this threshold move?").click().run()
    assert not app.exception
    points = next(view.result for view in views.values() if view.task == "curve")["points"]
    good = [p for p in points if p["value"] > run.objective - 0.01 + 1e-9]
    assert f"Best between {max(points, key=lambda p: p['value'])['low']:.4g}" in shown(app)
    ends = f"Between {good[0]['low']:.4g} and {good[-1]['high']:.4g} every threshold"
    assert ends in shown(app)


@pytest.mark.long
def test_how_far_a_threshold_may_move_is_in_the_tree_at_once(views, monkeypatch):
    waited, drawn, done, with_spans = [], [], jobs.task, run_summary.with_spans
    supervisor = SimpleNamespace(
        wait=lambda key, seconds: waited.append(key) is None,
        **{name: getattr(jobs.supervisor(), name) for name in ("family", "get", "jobs")},
    )

    def task(key):  # an answer is there only once it was waited for
        return done(key) if key in waited else replace(done(key), state="running", result=None)

    monkeypatch.setattr(jobs, "task", task)
    monkeypatch.setattr(jobs, "supervisor", lambda: supervisor)
    kept = lambda view, spans: drawn.append(spans) or with_spans(view, spans)  # noqa: E731
    monkeypatch.setattr(run_summary, "with_spans", kept)
    app = open_page("explore", run="base")
    button(app, "How far may this threshold move?").click().run()
    assert "a band in the tree shows it" in shown(app)
    assert set(drawn[-1]) == {1}


@pytest.mark.slow
def test_the_root_is_marked_among_the_features_where_it_is_one_of_them(views):
    told = "The feature at the root of your tree is green."
    assert told in shown(open_page("whatif", run="base"))
    run = solve(load_sample("iris"), "s-oct", depth=1, time_limit=1.0)
    assert not run.tree.splits[1].is_univariate
    views["planes"] = replace(views["base"], id="planes", settings=run.settings, run=run)
    assert told not in shown(open_page("whatif", run="planes"))
