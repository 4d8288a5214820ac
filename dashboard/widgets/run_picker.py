"""Choose among the runs that this session started or opened."""

import streamlit as st

from dashboard import session
from dashboard.server import jobs
from dashboard.server.job_view import JobView
from dashboard.widgets import data_thread, inputs, live
from dashboard.widgets.start import start_button
from octcore.solving.run import SolvedRun


def pick(none_yet: str, goes_on: str) -> tuple[JobView, SolvedRun] | None:
    """Draw the choice of a run; returns it with its result.

    Without a tree, draws why and where to go, in the page's own words.
    """
    view = _choice()
    if view is None:
        st.info(none_yet)
        start_button("Find an optimal tree", key="start_from_page")
        return None
    if view.is_final and view.solved is not None:
        return view, view.solved
    if view.is_final:
        live.no_result(view, "This run ended without a tree.")
    else:
        st.info(goes_on)
        live.wait(view)
    label = "Solve again" if view.is_final else "Watch it"
    st.page_link("pages/solve.py", label=label, query_params=session.run_query())
    return None


def _choice() -> JobView | None:
    """Draw the choice when there is one; returns the chosen run, at first that in the URL."""
    current = session.run_id()
    if current is not None and jobs.view(current) is None:
        st.warning(
            "This link names a run that is not in the history of this server. Open it on the one "
            "that made the link, or ask there for its report or scorer (Explore, Share): both are "
            "files that open anywhere.",
            icon=":material/link_off:",
        )
    known = [view for key in session.state().runs if (view := jobs.view(key)) is not None]
    if not known:
        return None
    titles = {
        view.id: f"{len(known) - i}: {view.title} ({view.run.badge if view.run else view.state})"
        for i, view in enumerate(known)
    }
    picked = inputs.among("Run", titles, current, session.look_at)
    chosen = next(view for view in known if view.id == picked)
    data_thread.strip(chosen)
    return chosen
