"""The Runs page through AppTest: history, links, rename, delete, interrupted runs, no history."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from dashboard import session
from dashboard.server import history, jobs
from dashboard.server.job_view import JobView
from dashboard.server.supervisor import Supervisor
from dashboard.views.runs import history_table
from dashboard.widgets import run_summary
from octcore.data.reading import make_dataset
from octcore.data.samples import load_sample, read_sample_table
from octcore.engines.events import Event
from octcore.selection.penalty_path import penalty_path
from octcore.solving.finish import run_from_incumbent
from octcore.solving.run import JobState
from octcore.solving.solve import solve
from octcore.store.runs import RunStore
from octcore.verification import Verification
from octcore.worker.client import WorkerPool
from tests.app.history_case import APP, PATIENCE, button, open_page, shown


@pytest.fixture
def iris():
    return load_sample("iris")


def own(app, server, data, **settings) -> str:
    return server.submit(app.session_state["state"].token, data, {"depth": 1, **settings})


def test_empty_history_offers_the_first_solve(server):
    app = open_page("runs")
    assert "Nothing has been solved from this browser" in shown(app)
    assert not button(app, "Find an optimal tree").disabled


def test_own_runs_are_listed_and_those_of_others_are_not(server, iris):
    app = open_page("runs")
    mine = own(app, server, iris)
    foreign = server.submit("somebody else", iris, {"depth": 2}, "secret name")
    app.run()
    assert not app.exception
    assert [e.id for e in history.entries(server.supervisor, app.session_state["state"].token)] \
        == [mine]  # fmt: skip
    assert "secret name" not in shown(app)
    assert "run 1" in shown(app)
    linked = open_page("runs", run=foreign)
    assert "secret name" in shown(linked)


@pytest.mark.parametrize("page", ["explore", "solve", "start"])
def test_a_run_that_is_gone_is_said_once_and_leaves_the_address(server, iris, page):
    app = open_page(page, run="gone", node="2")
    assert "is not in the history of this server" in shown(app)
    assert {"run", "node"}.isdisjoint(app.query_params)
    assert "is not in the history" not in shown(app.run())


def test_the_sizes_of_a_tree_of_planes_are_said_to_be_those_of_other_trees(server):
    data, settings = load_sample("4-partitions"), {"formulation": "margot", "depth": 1}
    run_id = server.store.begin(data, settings, "", "me")
    server.store.finish(run_id, JobState.DONE, solve(data, **settings))
    assert "these trees test one column per split" in shown(open_page("path", run=run_id))


def test_back_to_where_nothing_was_looked_at_looks_at_nothing(server, iris, monkeypatch):
    app = open_page("solve", run=server.submit("me", iris, {"depth": 1}))
    run_id = app.query_params["run"]
    app.query_params.clear()
    assert "A tree with" in shown(app.run())
    assert app.query_params["run"] == run_id  # another page keeps to the run
    app.query_params.clear()
    monkeypatch.setattr(session, "went_back", lambda: True)
    assert "A tree with" not in shown(app.run())
    assert "run" not in app.query_params


def test_a_proof_that_comes_later_is_said_of_the_run_and_on_its_tree(server, iris):
    settings = {"formulation": "path-search", "depth": 2}
    proven = solve(iris, **settings)
    found = [event for event in proven.trace.events if event.kind == "incumbent"]
    early = run_from_incumbent(iris, settings, found, "cancelled", 1.0)

    def kept(run) -> str:
        run_id = server.store.begin(iris, settings, "", "me")
        server.store.append(run_id, run.trace.events)
        server.store.finish(run_id, JobState.DONE, run)
        return run_id

    first = kept(early)
    assert "better possible" in shown(open_page("runs", run=first))
    assert "better possible" in run_summary.known_view(first, jobs.view(first).run).badge
    kept(proven)
    page = open_page("runs", run=first)
    assert "none is better" in shown(page)
    listed = page.dataframe[0].value  # says the same
    assert (*listed["state"], *listed["gap"]) == ("Best found, none is better", "0 %")
    assert "none is better" in run_summary.known_view(first, jobs.view(first).run).badge


def test_a_run_with_an_infinite_date_is_listed_without_one():
    dated, undated = (JobView("a", "a", {}, "done", submitted=at) for at in (1.5e9, float("inf")))
    column = history_table.history_frame([dated, undated])["started (UTC)"]
    assert str(column[0]).startswith("2017-07-14 02:40:00")
    assert column.isna().tolist() == [False, True]
    assert history_table.when(dated.submitted) == "2017-07-14 02:40:00"
    assert history_table.when(undated.submitted) == "on an unknown day"


def test_storage_is_shown(server, iris):
    app = open_page("runs")
    own(app, server, iris)
    app.run()
    assert "keeps 1 run:" in shown(app)
    assert "on disk" in shown(app)


@pytest.mark.slow
def test_a_run_goes_on_with_the_kinds_it_was_solved_with(server):
    table = read_sample_table("balance-scale")
    kinds = dict.fromkeys(table.names[:-1], "categorical")  # as versions before had them
    old = make_dataset(table, table.names[-1], kinds=kinds, name="balance-scale")
    run_id = server.submit("me", old, {"depth": 1, "test_size": 0.0})
    app = AppTest.from_file(APP, default_timeout=PATIENCE)
    app.query_params["run"] = run_id
    app.run()
    app.switch_page("screens/data.py").run()
    button(app, "Find an optimal tree").click().run()
    assert not app.exception
    again = next(info.id for info in server.store.list() if info.id != run_id)
    assert {column.kind for column in server.store.data(again).columns} == {"categorical"}
    app.switch_page("screens/data.py").run()
    target = next(s for s in app.selectbox if s.label == "What is predicted")
    target.set_value(table.names[0]).run()  # the table is read anew
    assert {c.kind for c in app.session_state["state"].data.columns} == {"categorical"}


@pytest.mark.long
def test_a_proof_of_one_run_bounds_every_run_of_the_question(server, iris):
    settings = {"formulation": "path-search", "encoding": "QT-5", "depth": 2, "test_size": 0.0}
    proven = solve(iris, **settings)
    stopped = {**settings, "formulation": "flow-oct", "time_limit": 5.0}
    event = Event(0.1, "incumbent", 0.5, 0.95, "start", tree=proven.tree)
    open_run = run_from_incumbent(iris, stopped, (event,), "time_limit", 5.0)
    assert "points better possible" in open_run.badge
    run_id = server.store.begin(iris, stopped, "a model", "me")
    server.store.finish(run_id, JobState.STOPPED, open_run)
    assert open_run.badge in shown(open_page("runs", run=run_id))
    assert "a better tree may exist" in shown(open_page("solve", run=run_id))
    other = server.store.begin(iris, settings, "a search", "me")
    server.store.finish(other, JobState.DONE, proven)
    app = open_page("solve", run=run_id)
    assert "it is proven that no tree is better" in shown(app)
    assert "another run of the same question, “a search”" in shown(app)
    worse = Event(
        0.1, "incumbent", 0.3, 0.95, "start", tree=solve(iris, **settings | {"depth": 1}).tree
    )
    open_run = run_from_incumbent(iris, stopped, (worse,), "time_limit", 5.0)
    run_id = server.store.begin(iris, stopped, "a model", "me")
    server.store.finish(run_id, JobState.STOPPED, open_run)
    app = open_page("solve", run=run_id)
    assert "Another run, “a search”, asks the same and has a better tree" in shown(app)
    assert "a better tree may exist" not in shown(app)
    button(app, "Look at the optimal tree").click().run()
    assert app.session_state["state"].run == other


def test_rename_is_kept_in_the_history(server, iris):
    app = open_page("runs")
    run_id = own(app, server, iris)
    app.run()
    app.text_input[0].set_value("<b>best</b> so far")
    button(app, "Save").click().run()
    assert not app.exception
    assert server.store.info(run_id).name == "<b>best</b> so far"
    assert any("best" in s.value and "<b>" not in s.value for s in app.header)


def test_a_run_that_is_deleted_meanwhile_says_so_when_it_is_renamed(server, iris):
    app = open_page("runs")
    run_id = own(app, server, iris)
    app.run()
    server.supervisor.delete(run_id)  # as another tab does
    app.text_input[0].set_value("best")
    button(app, "Save").click().run()
    assert not app.exception
    assert "may have been deleted" in app.error[0].value
    assert run_id not in shown(app)  # a person knows its name


def test_delete_asks_first(server, iris):
    app = open_page("runs")
    run_id = own(app, server, iris)
    app.run()
    button(app, "Delete").click().run()
    assert not app.exception
    assert server.store.info(run_id)
    next(b for b in app.button if b.key == "delete_yes").click().run()
    assert not app.exception
    assert server.store.list() == ()
    app.run()
    assert "Nothing has been solved" in shown(app)


def test_interrupted_run_shows_its_last_tree_and_why(server, iris):
    run_id = server.interrupted("me", iris)
    app = open_page("runs", run=run_id)
    assert "interrupted" in shown(app)
    assert "the tree is the last incumbent" in shown(app)
    assert "Gap" in {m.label for m in app.metric}
    for page in (app, open_page("explore", run=run_id)):
        assert "A tree with 1 question is right for 67" in shown(page)


@pytest.mark.parametrize("page", ["runs", "explore", "solve"])
def test_a_damaged_run_is_said_to_be_damaged_and_not_to_have_no_tree(server, iris, page):
    run_id = server.submit("me", iris, {"depth": 1})
    server.store._update(run_id, "result = ?", "{")
    told = shown(open_page(page, run=run_id))
    assert "run 1 cannot be read" in told
    assert "without a tree" not in told


def test_a_run_of_another_version_hides_no_other_run(server, iris):
    app = open_page("runs")
    odd, own_run = own(app, server, iris), own(app, server, iris)
    server.store._update(odd, "settings = ?", '{"formulation": "of-tomorrow"}')
    app.run()
    assert not app.exception
    assert [*app.dataframe[0].value["what differs"]].count("cannot be read") == 1
    assert "no formulation 'of-tomorrow'" in shown(open_page("runs", run=odd)).replace("\\", "")
    race = open_page("compare", runs=f"{odd},{own_run}")
    assert "Of 2 runs in this link, 1 cannot be found, or read" in shown(race)


def _deleted() -> None:
    """The part of Solve about a run that another tab deleted; runs as a script of its own."""
    import streamlit as st

    from dashboard.views.solve import progress

    if not st.session_state.get("was_drawn"):
        st.session_state["was_drawn"] = True
        progress._live("deleted meanwhile")
    else:
        st.text("the whole page anew")


def test_a_run_that_is_deleted_below_the_page_solve_has_it_drawn_anew(server):
    app = AppTest.from_function(_deleted, default_timeout=120).run()
    assert not app.exception
    assert [element.value for element in app.text] == ["the whole page anew"]


def test_open_leads_to_explore(server, iris):
    run_id = server.submit("me", iris, {"depth": 1})
    app = open_page("runs", run=run_id)
    button(app, "Open in Explore").click().run()
    assert not app.exception
    assert app.query_params["run"] in (run_id, [run_id])
    assert "A tree with 1 question is right for 67" in shown(app)


def test_broken_history_is_one_sentence_and_everything_else_works(server, tmp_path, monkeypatch):
    from dashboard.server import jobs

    path = tmp_path / "broken.db"
    path.write_bytes(b"this is no database" * 100)
    broken = Supervisor(cores=1, store=path, pool=WorkerPool(idle=0))
    monkeypatch.setattr(jobs, "supervisor", lambda: broken)
    app = open_page("runs")
    assert "cannot be used" in app.warning[0].value.replace("\\", "")
    assert "no history on disk" in shown(app)
    broken.close()


def test_history_is_there_after_a_restart(server, iris, tmp_path):
    run_id = server.submit("me", iris, {"depth": 2}, "kept")
    server.supervisor.close()
    again = RunStore(tmp_path / "runs.db")
    (line,) = again.list("me")
    assert (line.id, line.name) == (run_id, "kept")
    assert again.load(run_id).tree is not None
    assert json.dumps(again.export(run_id))
    again.close()


def test_a_run_that_was_checked_later_is_read_again(server):
    run_id = server.submit("somebody", load_sample("xor"), {"formulation": "cart", "depth": 1})
    before = jobs.view(run_id)
    assert before is not None
    assert before.run is not None
    assert before.run.certificate.verified is None
    refuted = Verification("refuted", "Another tree is better.")
    server.store.replace_result(run_id, before.run.with_verification(refuted))
    after = jobs.view(run_id)
    assert after is not None
    assert after.run is not None
    assert after.run.certificate.verified is False


def test_another_version_of_the_rows_of_a_run_is_told_by_what_changed(server, iris):
    app = open_page("data")
    app.query_params["run"] = own(app, server, iris.subset(np.arange(1, 150)))
    app.switch_page("screens/explore.py").run()
    assert not app.exception
    words = "This run is about **iris** (149 rows); loaded is another version of it"
    assert f"{words} (other rows, labels or kinds of columns)." in shown(app)
    dropped = ["petal width (cm)", "petal length (cm)"]
    fewer = make_dataset(read_sample_table("iris"), "species", drop=dropped, name="iris")
    app.query_params["run"] = own(app, server, fewer)
    app.switch_page("screens/explore.py").run()
    assert "another version of it (with petal length (cm), petal width (cm))." in shown(app)


@pytest.mark.slow
def test_every_door_of_a_run_asks_about_its_own_rows(server, iris, monkeypatch):
    path = penalty_path(iris, depth=1, encoding="raw", test_size=0.25).to_dict()
    ended = JobView("path", "", {}, "done", result={"path": path})
    get, asked = server.supervisor.get, []

    def submit_task(_owner, data, what, *_rest):
        asked.append((what, data.name))
        return what

    monkeypatch.setattr(server.supervisor, "submit_task", submit_task)
    monkeypatch.setattr(server.supervisor, "get", lambda k: ended if k == "path" else get(k))
    app = open_page("data")
    run = own(app, server, iris, test_size=0.25)
    next(s for s in app.selectbox if s.label == "Sample data").set_value("wine").run()
    app.query_params["run"] = run
    for page in ("explore", "alternatives", "whatif", "path"):
        app.switch_page(f"screens/{page}.py").run()
        assert not app.exception
        assert "This run is about **iris** (150 rows); loaded are other data, **wine**" in shown(
            app
        )
        assert ":material/database: **iris** · 150 rows" in shown(app)
    assert not any(
        b.label == "Compute" for b in app.button
    )  # the sizes of a tree come by themselves
    assert set(asked) == {("path", "iris"), ("repeats", "iris"), ("alternatives", "iris")}
    button(app, "Use this tree").click().run()
    assert not app.exception
    assert server.store.data(server.store.list()[0].id).name == "iris"
    app.switch_page("screens/path.py").run()
    about = next(s for s in app.selectbox if s.label == "Run")
    about.set_value("").run()
    assert "run" not in app.query_params
    assert ":material/database: **wine** · 178 rows" in shown(app)
    button(app, "Compute").click().run()
    assert asked[-1][1] == "wine"


def test_the_sizes_of_a_run_are_asked_with_its_own_settings(server, iris, monkeypatch):
    asked = []

    def submit_task(_owner, _data, what, settings, *_rest):
        asked.append(settings)
        return what

    monkeypatch.setattr(server.supervisor, "submit_task", submit_task)
    kept = {"encoding": "QT-4", "depth": 2, "test_size": 0.33, "seed": 7}
    kept["costs"] = {"versicolor": {"virginica": 3}}
    own = {"forbidden_features": ["petal width (cm)"]}
    given = {"formulation": "path-search", **kept, "constraints": {**own, "max_leaves": 2}}
    run_id = server.store.begin(iris, given, "limited", "me")
    server.store.finish(run_id, JobState.DONE, solve(iris, **given))
    app = open_page("path", run=run_id)
    searched = asked[0]
    assert {name: searched[name] for name in kept} == kept
    assert searched["constraints"] == own
    assert "Kept from your run: dropping petal width (cm)." in shown(app)


def test_a_run_that_ends_is_not_shown_as_running_any_longer(server, iris, monkeypatch):
    app = open_page("runs")
    own(app, server, iris)
    listed, early = history.entries, iter([True])

    def entries(*given):
        found = listed(*given)
        return tuple(replace(e, state="running") for e in found) if next(early, False) else found

    monkeypatch.setattr(history, "entries", entries)
    app.run()
    assert not app.exception
    assert not button(app, "Delete").disabled
