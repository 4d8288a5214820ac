"""What an independent check says about a run, and its proof to take away."""

import base64

import streamlit as st

from dashboard import session
from dashboard.server.job_view import JobView
from dashboard.server.supervisor import VERIFY_TASK
from dashboard.widgets import inputs, live
from octcore.errors import refusal
from octcore.plotting import text
from octcore.solving.proving import refuse_unproven
from octcore.solving.run import Run, SolvedRun

VERIFY_SECONDS = 1800.0
"""Seconds for a check that is asked for; what is expected to take longer is not offered."""


def verification(run_id: str, run: SolvedRun, with_words: bool = True) -> None:
    """Say how the claim was verified, in words unless its statements are listed; offer to do it."""
    found, verified = run.certificate.verification, run.certificate.verified
    if verified is False and found is not None:
        st.error(text.markdown(found.statement, 600), icon=":material/gpp_bad:")
    elif verified and found is not None and with_words:
        st.success(text.markdown(found.statement, 400), icon=":material/verified:")
    elif found is not None and with_words:
        st.caption(text.markdown(found.statement, 400))
    if not can_be_verified(run):
        return
    asked = {"run_id": run_id, "time_limit": VERIFY_SECONDS}
    question = (VERIFY_TASK, run_id, run.train, asked, 1.2 * VERIFY_SECONDS)
    help_text = "Derive the optimum again by plain means that share no code with the search."
    live.press("Verify", *question, run=run, icon=":material/policy:", help=help_text)
    live.answer(*question, False, draw=lambda job: None, doing="Verifying")


def can_be_verified(run: Run) -> bool:
    """Whether there is no answer yet, and a check that would end in time."""
    found = run.certificate.verification
    if run.train is None or run.certificate.method == "heuristic":
        return False
    if run.certificate.verified is not None:
        return False
    return found is None or (found.estimate is not None and found.estimate < VERIFY_SECONDS)


LARGEST, SECONDS = 60e6, 900.0
"""Bytes of formula and proof before compression; for making and following it."""


def file(run_id: str, run: SolvedRun, proven: str) -> None:
    """Draw the button that makes a proof file, then its download; `proven` says of what."""
    label, icon = "Make a proof file", ":material/workspace_premium:"
    if why_not := refusal(refuse_unproven, run):
        key = session.widget_key("prove", run_id)
        st.button(label, key=key, disabled=True, help=text.markdown(why_not, 400), icon=icon)
        return

    def made(job: JobView) -> None:
        found = job.result or {}
        packed = base64.b64decode(found["zip"])
        key = session.widget_key("proof", run_id)
        inputs.download("Download proof", "proof.zip", lambda: packed, key, width="content")
        followed = "has followed every line"
        if found["is_late"]:
            followed = "did not follow it to its end in time, so nothing has checked it yet"
        st.caption(
            f"{len(packed) / 1e3:,.0f} kB prove that {proven}. The small checker of this package "
            f"{followed}; VeriPB, which is not ours, checks it without us: the README inside has "
            "the command."
        )

    question = ("prove", run_id, run.train, {"size_limit": LARGEST}, SECONDS)
    help_text = (
        "A formula and its proof in a standard format, for a checker that others wrote and that "
        "knows nothing of trees. Help, *Prove an optimum to somebody else*, says how to use it."
    )
    live.press(label, *question, run=run, help=help_text, icon=icon)
    live.answer(*question, False, draw=made, doing="Writing the proof and following it")
