"""A finished run where the eye is: answer and tree, what to do next, other splits, the proof."""

from collections.abc import Callable
from pathlib import Path

import streamlit as st

from dashboard import cached, session
from dashboard.server.job_view import JobView
from dashboard.views.solve import advice, greedy, new_rows, refer_view
from dashboard.views.solve.advice import Step
from dashboard.widgets import run_summary, start, verification
from octcore.plotting import text
from octcore.solving.run import SolvedRun

PAGES = Path(__file__).parents[2]


def draw(view: JobView, run: SolvedRun, curve: Callable[[], None]) -> None:
    """Draw a finished run that has a tree.

    `curve`: draws how incumbent and bound met.
    """
    run_summary.headline(view.id, run)
    run_summary.small_tree(view.id, run)
    numbers = cached.greedy_baseline(view.id, run, greedy.ON_NUMBERS)
    found = run_summary.known_summary(view.id, run)
    missed = None if found is None or 2 * found.tally.found >= found.tally.named else found.focus
    what_now(view.id, advice.after(run, None if isinstance(numbers, str) else numbers, missed))
    refer_view.draw(view, run)
    new_rows.draw(view, run)

    def more() -> None:
        verification.draw(view.id, run, with_words=False)
        curve()

    run_summary.proof(run, more)


def what_now(run_id: str, found: advice.Advice) -> None:
    """Draw what can be done next: a sentence and its buttons, the best first."""
    steps = [step for step in found.steps if not step.page or (PAGES / step.page).exists()]
    st.markdown(f"**What now?** {text.markdown(found.sentence, 400)}")
    with st.container(horizontal=True, gap="small"):
        for position, step in enumerate(steps):
            _step(run_id, step, position)


def _step(run_id: str, step: Step, position: int) -> None:
    pressed = st.button(
        step.label,
        key=session.widget_key("next", run_id, step.label),
        icon=step.icon,
        type="primary" if position == 0 else "secondary",
        width="content",
    )
    if not pressed:
        return
    if step.page:
        st.switch_page(step.page, query_params=session.run_query())
    if start.start(step.settings or {}):
        st.rerun()
