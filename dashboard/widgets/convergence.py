"""The convergence of a finished run."""

from __future__ import annotations

import streamlit as st

from dashboard import session, text
from dashboard.figures.gap import convergence_data, convergence_figure
from dashboard.widgets import chart
from octcore.formulations.base import get_formulation
from octcore.run import Run


def draw(run_id: str, run: Run) -> None:
    """Draw gap or incumbent and bound over time, and where the time went.

    Parameters
    ----------
    run_id : str
        The run.
    run : Run
        Finished.
    """
    absolute = scale_switch()
    optimum = run.objective if run.is_optimal and run.certificate.proven else None
    record = convergence_data(
        run.trace, "gap", get_formulation(run.formulation).info.objective, optimum, run.is_optimal
    )
    if not absolute and not any(g is not None for g in record.gap):
        st.caption("This run has no bound, so there is no gap to draw; nothing is proven.")
        absolute = True
    chart.show(
        convergence_figure([record], session.palette(), absolute),
        key=session.widget_key("convergence", run_id, absolute),
        alt=f"Convergence over {text.seconds(record.end)}; final gap {text.gap(run.gap)}",
    )
    spent = [f"{name} {text.seconds(value)}" for name, value in run.timings.items()]
    st.caption("Where the time went: " + ", ".join(spent) + ".")


def scale_switch() -> bool:
    """Draw the switch between the scales; returns whether absolute values are wanted."""
    chosen = st.segmented_control(
        "Scale",
        ["relative gap (log)", "incumbent and bound"],
        default="relative gap (log)",
        required=True,
        key=session.widget_key("gap_scale"),
        persist_state="session",
        label_visibility="collapsed",
    )
    return chosen == "incumbent and bound"
