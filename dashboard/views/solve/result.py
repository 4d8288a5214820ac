"""A finished run where the eye is: answer and tree, what next, other splits and costs, proof."""

from collections.abc import Callable
from functools import partial

import streamlit as st

from dashboard import cached, session
from dashboard.server.job_view import JobView
from dashboard.views.solve import advice, new_rows
from dashboard.views.solve.advice import given_settings
from dashboard.widgets import chart, live, proofs, run_summary, start
from octcore.plotting import text
from octcore.plotting.price_paths import refer_figure
from octcore.selection.refer_path import STEPS, ReferPoint
from octcore.solving.run import SolvedRun
from octcore.tasks import REFER


def draw(view: JobView, run: SolvedRun, curve: Callable[[], None]) -> None:
    """Draw a finished run that has a tree.

    `curve`: draws how incumbent and bound met.
    """
    run_summary.headline(view.id, run)
    run_summary.small_tree(view.id, run)
    numbers = cached.greedy_baseline(view.id, run, new_rows.ON_NUMBERS)
    found = run_summary.known_summary(view.id, run)
    missed = None if found is None or 2 * found.tally.found >= found.tally.named else found.focus
    _what_now(view.id, advice.after(run, None if isinstance(numbers, str) else numbers, missed))
    over_costs(view, run)
    new_rows.draw(view, run)

    def more() -> None:
        proofs.verification(view.id, run, with_words=False)
        curve()

    run_summary.proof(run, more)


def _what_now(run_id: str, found: advice.Advice) -> None:
    """Draw what can be done next: a sentence and its buttons, the best first."""
    st.markdown(f"**What now?** {text.markdown(found.sentence, 400)}")
    with st.container(horizontal=True, gap="small"):
        for position, step in enumerate(found.steps):
            key = session.widget_key("next", run_id, step.label)
            kind = "primary" if position == 0 else "secondary"
            if not st.button(step.label, key=key, icon=step.icon, type=kind):
                continue
            if step.page:
                session.open_page(step.page)
            if start.start(step.settings or {}):
                st.rerun()


MOST_SECONDS = 20.0
"""Of one point of the curve."""


def over_costs(view: JobView, run: SolvedRun) -> None:
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
        question = ("refer", view.id, data, settings, (STEPS + 2) * settings["time_limit"])
        words = "Solve for other costs of asking"
        live.press(words, *question, icon=":material/show_chart:")
        words = words.replace("Solve", "Solving")
        live.answer(*question, False, draw=partial(_curve, run), doing=words)


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
