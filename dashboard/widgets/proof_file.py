"""The proof of an optimum to take away, for checkers that know nothing of trees."""

import base64

import streamlit as st

from dashboard import session
from dashboard.server.job_view import JobView
from dashboard.widgets import inputs, live
from octcore.errors import SettingsError
from octcore.plotting import text
from octcore.solving.proving import refuse_unproven
from octcore.solving.run import SolvedRun

LARGEST, SECONDS = 60e6, 900.0
"""Bytes of formula and proof before compression; for making and following it."""


def draw(run_id: str, run: SolvedRun, proven: str) -> None:
    """Draw the button that makes the proof of a run, and its download once it is made.

    `proven`: what is proven, in a clause.
    """
    try:
        refuse_unproven(run)
        why_not = ""
    except SettingsError as error:
        why_not = error.message
    pressed = st.button(
        "Make a proof file",
        key=session.widget_key("prove", run_id),
        icon=":material/workspace_premium:",
        disabled=bool(why_not),
        help=text.markdown(why_not, 400)
        or "A formula and its proof in a standard format, for a checker that others wrote and that "
        "knows nothing of trees. Help, *Prove an optimum to somebody else*, says how to use it.",
    )
    if why_not:
        return
    asked = {"size_limit": LARGEST}
    task = live.ask("prove", run_id, run.train, asked, SECONDS, pressed, run)
    if task is None:
        return

    def made(job: JobView) -> None:
        packed = base64.b64decode((job.result or {})["zip"])
        key = session.widget_key("proof", run_id)
        inputs.download("Download proof", "proof.zip", lambda: packed, key, width="content")
        st.caption(
            f"{len(packed) / 1e3:,.0f} kB prove that {proven}. The small checker of this package "
            "has followed every line; VeriPB, which is not ours, checks it without us: the README "
            "inside has the command."
        )

    live.task(task, made, "Writing the proof and following it")
