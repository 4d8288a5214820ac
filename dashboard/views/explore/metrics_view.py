"""Accuracy, confusion, CART beside the optimum, rules and the model card of a run."""

import streamlit as st

from dashboard import cached, session
from dashboard.views.solve import new_rows
from dashboard.widgets import chart, proofs, run_summary
from octcore.formulations.base import get_formulation
from octcore.plotting import text
from octcore.plotting.accuracy import confusion_data, confusion_figure
from octcore.reports.run_report import settings_rows
from octcore.solving.run import SolvedRun


def draw(run: SolvedRun) -> None:
    """Draw accuracy and confusion of training and held-out rows."""
    told = (run.accuracy, run.balanced_accuracy, run.mean_cost, run.referred)
    parts = [("training rows", run.train, told)]
    if run.test is not None:
        told = (
            run.test_accuracy, run.test_balanced_accuracy, run.test_mean_cost, run.test_referred
        )  # fmt: skip
        parts.append(("held-out rows", run.test, told))
    for place, (name, data, told) in zip(st.columns(2), parts, strict=False):
        share, balanced, cost, asked = told
        with place:
            st.markdown(f"**{name.capitalize()}** ({data.n_samples:,})")
            first, second = st.columns(2)
            first.metric("Accuracy", text.percent(share))
            second.metric("Balanced accuracy", text.percent(balanced))
            if run.asked.has_task:
                first.metric("Mean cost", text.number(cost))
            if run.asked.refer is not None:
                second.metric("A person is asked", text.percent(asked))
            record = confusion_data(run.tree, run.encoding, data)
            chart.show(
                confusion_figure(record, session.palette()),
                key=session.widget_key("confusion", name),
                alt=f"Confusion of {name}: {record.n_errors:,} errors",
            )
    if run.accuracy_ceiling is not None and run.accuracy_ceiling < 1:
        st.caption(
            "Some rows of different classes are equal in all that the tree may ask: no tree on "
            f"these features exceeds {text.percent(run.accuracy_ceiling)} on the training rows."
        )


def greedy(run_id: str, run: SolvedRun) -> None:
    """Draw CART beside the run: in numbers, and its tree on the numbers themselves."""
    new_rows.beside_greedy(run_id, run)
    found = cached.greedy_baseline(run_id, run, new_rows.ON_NUMBERS)
    if not isinstance(found, str):
        key = session.widget_key("cart_tree", run_id)
        run_summary.still_tree(run_summary.tree_view(found), key, run_id)


def rules_table(run_id: str, run: SolvedRun) -> None:
    """List the leaves as IF-THEN rules in raw units."""
    found = run_summary.known_summary(run_id, run)
    rows = [
        {
            "leaf": str(rule.leaf),
            "if": text.markdown(rule.conditions, 10_000),
            "then": text.markdown(rule.label),
            "rows": f"{rule.train.rows + rule.train.asked:,}",
            "right": text.percent(rule.train.share),
        }
        for rule in (found.leaves if found else ())
    ]
    st.table(rows, border="horizontal", alt="Leaves as rules")  # whose words wrap


def model_card(run_id: str, run: SolvedRun) -> None:
    """Show what was solved: equations, size, root bound, settings and versions."""
    info = get_formulation(run.formulation).info
    left, right = st.columns(2, gap="large")
    with left:
        st.markdown(f"**{text.markdown(info.title)}** · {text.markdown(str(info.reference), 400)}")
        for formula, words in info.equations:
            st.latex(formula)
            st.caption(text.markdown(words, 200))
        for statement in run.certificate.statements:
            st.markdown(f"- {text.markdown(statement, 400)}")
        proofs.verification(run_id, run)
    with right:
        numbers = {
            "root bound": text.number(run.root_bound, 6),
            "final bound": text.number(run.bound, 6),
            "objective": text.number(run.objective, 6),
            "training rows": f"{run.n_train:,}",
            "held-out rows": f"{run.n_test:,}",
            "encoded columns": f"{len(run.encoding.columns):,}",
        }
        table, alt = [*numbers.items(), *settings_rows(run)], "Bounds, settings and size of the run"
        chart.table(table, "model_card", alt, ("", "value"), height=420)
