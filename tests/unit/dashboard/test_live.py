"""A part of a page that is drawn until something is over."""

from __future__ import annotations

from types import SimpleNamespace

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx
from streamlit.testing.v1 import AppTest

from dashboard.server import jobs
from dashboard.server.job_view import JobView
from dashboard.views.solve import progress
from dashboard.widgets import live
from octcore.data.samples import load_sample
from octcore.engines.events import Event, Trace
from octcore.errors import EngineError
from octcore.solving.solve import solve


def page() -> None:
    import streamlit as st

    from dashboard.widgets import live

    # Is it over?  No; with the press no and then yes; and yes ever after.
    runs = st.session_state.setdefault("runs", [])
    runs.append(len(runs))
    answers = iter({1: [False, False], 2: [False, True]}.get(len(runs), []))

    def draw() -> None:
        if st.button("Use it"):
            st.session_state["used"] = True

    live.until(lambda: next(answers, True), draw)


def left() -> None:
    import streamlit as st

    from dashboard import session

    def part() -> None:
        if st.button("Leave"):
            session.open_page("explore")

    st.fragment(part, run_every=60)()


def test_a_late_timer_of_a_page_that_was_left_is_refused(monkeypatch):
    """Else the browser empties the page that is drawn at that moment."""
    known: list[list[str]] = []

    def leave(page: str, query_params: object) -> None:
        context = get_script_run_ctx()
        assert context is not None
        known.append([*context.fragment_storage._fragments])  # type: ignore[attr-defined]

    monkeypatch.setattr(st, "switch_page", leave)
    app = AppTest.from_function(left, default_timeout=60).run()
    app.button[0].click().run()
    assert known == [[]]


def test_a_press_at_the_moment_of_the_end_is_not_lost():
    app = AppTest.from_function(page, default_timeout=60).run()
    app.button[0].click().run()
    assert not app.exception
    assert app.session_state["used"]
    assert len(app.session_state["runs"]) == 3  # the page is drawn once more, as it has ended


def crossing() -> None:
    """A run that passes the quick seconds while the page is drawn, and ends later."""
    import streamlit as st

    from dashboard.server import jobs
    from dashboard.server.job_view import JobView
    from dashboard.views.solve import progress

    def view(run_id: str) -> JobView:
        looks = st.session_state["looks"] = st.session_state.get("looks", 0) + 1
        return JobView(run_id, "", {}, "running", elapsed=progress.QUICK_UNTIL - 1.5 + looks)

    jobs.view = view
    progress.data_thread.strip = lambda view: None
    progress._belongs_to = lambda view: None
    progress._running = lambda view: None
    drawn = st.session_state.setdefault("drawn", [])
    fragment = st.fragment

    def noted(part, run_every):  # type: ignore[no-untyped-def]
        drawn.append(run_every)
        return fragment(part, run_every=run_every)

    st.fragment = noted
    try:
        progress.draw("one")
    finally:
        st.fragment = fragment


def test_a_page_that_is_drawn_as_the_quick_seconds_end_looks_on(monkeypatch):
    """Else it says for ever that the run goes on."""
    for module, name in (
        (jobs, "view"),
        (progress.data_thread, "strip"),
        (progress, "_belongs_to"),
        (progress, "_running"),
    ):
        monkeypatch.setattr(module, name, getattr(module, name))  # put back at the end
    app = AppTest.from_function(crossing, default_timeout=60).run()
    assert not app.exception
    assert app.session_state["drawn"] == [progress.QUICK_BETWEEN, live.SECONDS_BETWEEN]


def ended() -> None:
    import streamlit as st

    from dashboard.server import jobs
    from dashboard.server.job_view import JobView
    from dashboard.widgets import live

    runs = st.session_state.setdefault("runs", [])
    runs.append(len(runs))
    seen = JobView("one", "", {}, "done" if len(runs) > 1 else "running")
    jobs.view = lambda key: JobView("one", "", {}, "done")
    live.wait(seen)


def test_a_page_whose_run_ends_while_it_is_drawn_is_drawn_once_more(monkeypatch):
    monkeypatch.setattr(jobs, "view", jobs.view)  # put back at the end
    app = AppTest.from_function(ended, default_timeout=60).run()
    assert not app.exception
    assert app.session_state["runs"] == [0, 1]


def looked() -> None:
    import streamlit as st

    from dashboard.widgets import live

    st.text(live.ask("values", "run", None, {"time_limit": 1.0}))  # type: ignore[arg-type]


def test_a_task_that_is_tried_again_is_not_said_to_have_failed(monkeypatch):
    died = JobView("old", "", {}, "failed", error=EngineError("WORKER_DIED", "It died"))
    tasks = {"old": died, "new": JobView("new", "", {}, "running")}
    known = {('values:{"time_limit": 1.0}', "run"): "old"}
    server = SimpleNamespace(get=tasks.get, submit_task=lambda *asked: "new")
    monkeypatch.setattr(jobs, "supervisor", lambda: server)
    monkeypatch.setattr(jobs, "followers", lambda: known)
    app = AppTest.from_function(looked, default_timeout=60).run()
    assert [warning.value for warning in app.warning] == ["It died"]
    app.button[0].click().run()
    assert not app.exception
    assert not app.warning
    assert [text.value for text in app.text] == ["new"]


def test_what_is_not_kept_any_more_is_asked_anew_without_a_word(monkeypatch):
    server = SimpleNamespace(get=lambda task: None, submit_task=lambda *asked: "new")
    known = {("question", "run"): "old"}
    monkeypatch.setattr(jobs, "supervisor", lambda: server)
    monkeypatch.setattr(jobs, "followers", lambda: known)
    assert jobs.failure(("question", "run")) == ""
    data = load_sample("iris")
    assert jobs.once(("question", "run"), "me", data, "values", {}, 1.0) == "new"


def test_the_rows_of_the_best_tree_are_counted_once_however_often_the_page_looks(monkeypatch):
    data, counted, drawn = load_sample("iris"), [], []
    trees = [solve(data, formulation="cart", depth=depth).tree for depth in (1, 2)]
    events = [Event(0.1 * i, "incumbent", 0.7, tree=tree) for i, tree in enumerate(trees)]
    count = progress.tree_view_data
    monkeypatch.setattr(progress, "tree_view_data", lambda *a: counted.append(a) or count(*a))
    monkeypatch.setattr(progress.run_summary, "still_tree", lambda tree, *a: drawn.append(tree))
    settings = {"formulation": "cart", "depth": 2}
    for shown in (1, 1, 1, 2, 2):
        trace = Trace(tuple(events[:shown]))
        progress._incumbent_tree(JobView("one", "", settings, "running", trace=trace, data=data))
    assert len(counted) == 2
    assert len(drawn) == 5
    assert drawn[0] is drawn[2] is not drawn[3] is drawn[4]
