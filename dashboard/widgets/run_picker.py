"""Choose among the runs that this session started or opened."""

import streamlit as st

from dashboard import session
from dashboard.server import jobs
from dashboard.server.job_view import JobView
from dashboard.widgets import data_thread, inputs, live
from dashboard.widgets.frame import draw_title
from dashboard.widgets.start import start_button
from octcore.plotting import text
from octcore.solving.run import SolvedRun

LOADED = ""  # stands for the data that are loaded among the runs that a page may ask about


def pick(
    title: str, none_yet: str, goes_on: str, solves: bool = False
) -> tuple[JobView, SolvedRun] | None:
    """Draw the heading of a page about a run, and the choice of it; returns it with its result.

    Without a tree, draws why and where to go, in the page's own words.
    `solves`: whether the page solves again, which counts every row alike.
    """
    view = choose(title)
    if view is None:
        st.info(none_yet)
        start_button("Find an optimal tree", key="start_from_page")
        return None
    if solves and weighs_rows(view):
        return None
    if view.is_final and view.solved is not None:
        return view, view.solved
    if view.is_final:
        live.no_result(view, "This run ended without a tree.")
    else:
        st.info(goes_on)
        live.wait(view)
    label = "Solve again" if view.is_final else "Watch it"
    st.page_link("screens/solve.py", label=label, query_params=session.run_query())
    return None


def weighs_rows(view: JobView) -> bool:
    """Whether a run weighs row by row, as no solve of a page does; says so."""
    weighs = view.run is not None and view.run.sample_weight is not None
    if weighs:
        st.info("This run weighs row by row, and here rows would count alike; ask in Python.")
    return weighs


def choose(title: str, or_loaded: bool = False) -> JobView | None:
    """Draw the heading of a page and the choice of its run; returns it, at first that in the URL.

    The heading names the data of the run, which the page asks about, whatever is loaded.
    `or_loaded`: whether it may be about loaded data that are not those of the run; None then.
    """
    head = st.container()
    view = _choice(or_loaded)
    with head:
        draw_title(title, None if view is None else jobs.rows_of(view))
    return view


def _choice(or_loaded: bool) -> JobView | None:
    current = session.run_id()
    known = [view for key in session.state().runs if (view := jobs.view(key)) is not None]
    if not known:
        return None
    titles = {
        view.id: f"{len(known) - i}: {view.title} ({view.run.badge if view.run else view.state})"
        for i, view in enumerate(known)
    }
    if or_loaded and (current is None or data_thread.is_other(jobs.view(current))):
        titles[LOADED] = f"Loaded data: {text.printable(session.dataset().name, 40)}"
        current = current or LOADED
    if current is None:
        session.look_at(current := known[0].id)
    picked = inputs.among("Run", titles, current, session.look_at)
    chosen = next((view for view in known if view.id == picked), None)
    if chosen is not None:
        data_thread.strip(chosen)
    return chosen
