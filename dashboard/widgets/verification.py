"""What an independent check says about a run, and a press for those that had none."""

import streamlit as st

from dashboard import session
from dashboard.server import jobs
from dashboard.widgets import inputs, live
from octcore.plotting import text
from octcore.solving.run import Run

LIMIT = 1800.0
"""Seconds for a check that is asked for; what is expected to take longer is not offered."""


def draw(run_id: str, run: Run, with_words: bool = True) -> None:
    """Say whether and how the claim of a run was verified; offer it where that is possible.

    `with_words`: whether to say it in words; not where the statements of the run are listed anyway.
    """
    found, verified = run.certificate.verification, run.certificate.verified
    if verified is False and found is not None:
        st.error(text.markdown(found.statement, 600), icon=":material/gpp_bad:")
    elif verified and found is not None and with_words:
        st.success(text.markdown(found.statement, 400), icon=":material/verified:")
    elif found is not None and with_words:
        st.caption(text.markdown(found.statement, 400))
    if can_be_verified(run):
        _press(run_id, run)


def can_be_verified(run: Run) -> bool:
    """Whether there is no answer yet, and a check that would end in time."""
    found = run.certificate.verification
    if run.train is None or run.certificate.method == "heuristic":
        return False
    if run.certificate.verified is not None:
        return False
    return found is None or (found.estimate is not None and found.estimate < LIMIT)


def _press(run_id: str, run: Run) -> None:
    task = session.side_run("verify", run_id)
    running = task is not None and not jobs.task(task).is_final
    if not running and st.button(
        "Verify",
        key=session.widget_key("verify", run_id),
        icon=":material/policy:",
        help="Derive the optimum again by plain means that share no code with the search.",
    ):
        task = inputs.tried(lambda: jobs.start_verification(session.token(), run_id, run, LIMIT))
        if task is not None:
            session.remember_side_run(task, "verify", run_id)
            st.rerun()  # without the button
    if task is not None:
        live.task(task, lambda job: None, "Verifying")
