"""The curve over the cost of asking a person, solved on a press, beside the run that asks."""

from __future__ import annotations

import streamlit as st

from dashboard import session
from dashboard.server import jobs
from dashboard.server.job_view import JobView
from dashboard.views.solve.advice import given_settings
from dashboard.widgets import chart
from octcore.plotting import text
from octcore.plotting.refer_plot import refer_figure
from octcore.selection.refer_path import STEPS, ReferPoint
from octcore.solving.run import SolvedRun
from octcore.tasks import REFER

TASK = "refer"
SECONDS_BETWEEN = 1.0
MOST_SECONDS = 20.0
"""Of one point of the curve."""


def draw(view: JobView, run: SolvedRun) -> None:
    """Draw the curve of a run whose tree may ask a person, or the press that computes it."""
    if run.asked.refer is None:
        return
    with st.expander("What if asking a person cost more or less?", icon=":material/support_agent:"):
        key = (f"{TASK}:{view.id}", session.token())
        task = jobs.followers().get(key)
        if task is None and st.button(
            "Solve for other costs of asking",
            key=session.widget_key(TASK, view.id),
            icon=":material/show_chart:",
        ):
            data = run.train if view.data is None else view.data
            settings = given_settings(run.settings)
            del settings[REFER.name]
            if view.data is None:
                settings.pop("test_size", None)
            settings["time_limit"] = min(MOST_SECONDS, run.asked.time_limit)
            seconds = (STEPS + 2) * settings["time_limit"]
            task = jobs.once(key, session.token(), data, TASK, settings, seconds)
        if task is not None:
            running = not jobs.task(task).is_final
            st.fragment(_curve, run_every=SECONDS_BETWEEN if running else None)(task, run, running)


def _curve(task: str, run: SolvedRun, was_running: bool) -> None:
    job = jobs.task(task)
    if job.is_final and was_running:
        st.rerun()
    points = [ReferPoint(**part["point"]) for part in job.parts]
    if not job.is_final:
        st.caption(f":material/hourglass_top: {len(points)} of {STEPS + 1} solved")
        if st.button("Stop", key=session.widget_key("refer_stop", task), icon=":material/stop:"):
            jobs.stop(task)
    if job.message:
        st.warning(text.markdown(job.message, 400))
    if not points:
        return
    which = "held-out" if run.n_test else "training"
    chart.show(
        refer_figure(points, session.palette(), run.asked.refer),
        key=session.widget_key("refer_curve", task),
        alt="Cost of asking a person against the share of rows that is asked about, accuracy of "
        "the others and mean cost: "
        + "; ".join(f"{p.refer:.3g}: {p.referred:.0%} asked" for p in points),
    )
    st.caption(
        f"Shares of the {which} rows. Every filled point is a tree that is proven optimal for its "
        "cost of asking; beyond the last one no tree would ask."
    )
