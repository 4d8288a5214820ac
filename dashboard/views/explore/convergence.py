"""The convergence of a finished run."""

import streamlit as st

from dashboard import cached, session
from dashboard.server import jobs
from dashboard.views.compare.race_view import problem_of
from dashboard.widgets import chart, inputs
from octcore.formulations.base import objective_words
from octcore.plotting import text
from octcore.plotting.gap_plot import convergence_data, convergence_figure
from octcore.solving.run import Run

SAME = 1e-6
"""Objectives this close (relative) are equal; they are sums in another order."""


def draw(run_id: str, run: Run) -> None:
    """Draw gap or incumbent and bound over time, and where the time went."""
    scales = ["relative gap (log)", "incumbent and bound"]
    absolute = inputs.switch("Scale", scales, "gap_scale") == scales[1]
    optimum, by = known_optimum(run_id, run)
    record = convergence_data(
        run.trace, "gap", objective_words(run.settings), optimum, run.is_optimal
    )
    if not absolute and not any(g is not None for g in record.gap):
        st.caption("This run has no bound, so there is no gap to draw; nothing is proven.")
        absolute = True
    chart.show(
        convergence_figure(record, session.palette(), absolute),
        key=session.widget_key("convergence", run_id, absolute),
        alt=f"Convergence over {text.seconds(record.end)}; final gap {text.gap(run.gap)}",
    )
    if by and optimum is not None:
        st.caption(text.markdown(f"{optimum_words(run, optimum)}, as the run {by} proves.", 300))
    spent = [
        f"{words} {text.seconds(value)}"
        for name, words in TIMES.items()
        if (value := run.timings.get(name))
    ]
    st.caption("Where the time went: " + ", ".join(spent) + ".")


TIMES = {
    "start": "starting a worker",
    "compile_kernels": "preparing the search, once per installation",
    "encode": "encoding the columns",
    "build": "building the model",
    "solve": "solving",
    "verify": "checking the proof",
    "total": "encoding to tree altogether",
}
"""What was done, by the names that runs give their times; in the order of a solve."""


def known_optimum(run_id: str, run: Run) -> tuple[float | None, str]:
    """True optimum of the problem of a run, and the title of the other run that proved it.

    `run_id`: the run; its own proof comes first, then those of the other runs of this session.
    """
    if run.is_proven:
        return run.objective, ""
    own = jobs.view(run_id)
    if own is None:
        return None, ""
    problem = cached.once_per_run(run_id, "problem", lambda: problem_of(own))
    for other in session.state().runs:
        view = None if other == run_id else jobs.view(other)
        if view is None or view.run is None:
            continue
        if not view.run.is_proven:
            continue
        if cached.once_per_run(other, "problem", lambda view=view: problem_of(view)) == problem:
            return view.run.objective, view.title
    return None, ""


def optimum_words(run: Run, optimum: float) -> str:
    """Say how far the tree of a run is from an optimum that another run proved."""
    if run.objective is None:
        return f"The true optimum is {optimum:.6g}"
    missing = abs(optimum - run.objective)
    if missing <= SAME * max(1.0, abs(optimum)):
        return f"The tree is optimal ({optimum:.6g}) although this run did not prove it"
    return f"The true optimum is {optimum:.6g}, the tree of this run has {run.objective:.6g}"
