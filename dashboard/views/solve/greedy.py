"""CART beside a run, on the one split of its rows."""

import streamlit as st

from dashboard import cached, session
from dashboard.views.solve import advice
from dashboard.widgets import chart
from octcore.plotting import text
from octcore.solving.run import SolvedRun

ON_NUMBERS = "raw"
"""Columns of numbers as they are, texts as 0/1 columns: what CART is usually given."""


def beside_greedy(run_id: str, run: SolvedRun) -> None:
    """Compare with CART on the numbers and, where they differ, on the features of the run."""
    if run.certificate.method == "heuristic":
        return
    numbers = cached.greedy_baseline(run_id, run, ON_NUMBERS)
    if isinstance(numbers, str):
        st.caption(text.markdown(numbers, 300))
        return
    names = [*FACTS, COST] if run.asked.has_task else list(FACTS)
    columns = {"": names, "this tree": facts(run, run), "CART": facts(numbers, run)}
    if advice.is_binary(run):
        same = cached.greedy_baseline(run_id, run)
        if not isinstance(same, str):
            columns["CART on the same 0/1 features"] = facts(same, run)
    words = advice.gain_words(run, numbers)
    unseen = [tree.accuracy_on(run.test) for tree in (run, numbers)]
    if unseen[0] is not None and unseen[1] is not None and not run.asked.has_task:
        words = f"{advice.held_out_words(unseen[0], unseen[1])} {words}"
    st.markdown(f"**CART beside it** {text.markdown(words, 400)}")
    chart.table(columns, session.widget_key("greedy", run_id), "This tree beside CART")
    price = " and at the same price of a leaf" * ("leaf_penalty" in run.params)
    st.caption(
        f"CART grows its tree split by split on the numbers themselves, to the same depth{price}."
    )


COST = "mean cost, training"
FACTS = ("accuracy, held out", "accuracy, training", "errors, training", "leaves")


def facts(run: SolvedRun, rows_of: SolvedRun) -> list[str]:
    """Held-out and training accuracy, errors and leaves, on the rows of another run."""
    errors = "–" if run.accuracy is None else f"{round((1 - run.accuracy) * run.n_answered):,}"
    shares = [text.percent(share) for share in (run.accuracy_on(rows_of.test), run.accuracy)]
    known = [*shares, errors, str(run.tree.n_leaves)]
    return [*known, text.number(run.mean_cost)] if rows_of.asked.has_task else known
