"""The curve over the cost of asking a person, solved on a press, beside the run that asks."""

from functools import partial

import streamlit as st

from dashboard import session
from dashboard.server.job_view import JobView
from dashboard.views.solve.advice import given_settings
from dashboard.widgets import chart, live
from octcore.plotting.refer_plot import refer_figure
from octcore.selection.refer_path import STEPS, ReferPoint
from octcore.solving.run import SolvedRun
from octcore.tasks import REFER

TASK = "refer"
MOST_SECONDS = 20.0
"""Of one point of the curve."""


def draw(view: JobView, run: SolvedRun) -> None:
    """Draw the curve of a run whose tree may ask a person, or the press that computes it."""
    if run.asked.refer is None:
        return
    with st.expander("What if asking a person cost more or less?", icon=":material/support_agent:"):
        data = run.train if view.data is None else view.data
        settings = given_settings(run.settings)
        del settings[REFER.name]
        if view.data is None:
            settings.pop("test_size", None)
        settings["time_limit"] = min(MOST_SECONDS, run.asked.time_limit)
        question = (TASK, view.id, data, settings, (STEPS + 2) * settings["time_limit"])
        task = live.ask(*question, pressed=False)
        if task is None and st.button(
            "Solve for other costs of asking",
            key=session.widget_key(TASK, view.id),
            icon=":material/show_chart:",
        ):
            task = live.ask(*question, pressed=True)
        if task is not None:
            live.task(task, partial(_curve, run), "Solving for other costs of asking")


def _curve(run: SolvedRun, job: JobView) -> None:
    points = [ReferPoint(**part["point"]) for part in job.parts]
    if not job.is_final:
        st.caption(f"{len(points)} of {STEPS + 1} solved")
    which = "held-out" if run.n_test else "training"
    chart.show(
        refer_figure(points, session.palette(), run.asked.refer),
        key=session.widget_key("refer_curve", job.id),
        alt="Cost of asking a person against the share of rows that is asked about, accuracy of "
        "the others and mean cost: "
        + "; ".join(f"{p.refer:.3g}: {p.referred:.0%} asked" for p in points),
    )
    st.caption(
        f"Shares of the {which} rows. Every filled point is a tree that is proven optimal for its "
        "cost of asking; beyond the last one no tree would ask."
    )
