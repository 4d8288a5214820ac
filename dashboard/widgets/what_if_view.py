"""The answer of a what-if: root values, price, and both trees with their differences."""

from __future__ import annotations

import json
from typing import Any

import pandas as pd
import streamlit as st

from dashboard import jobs, session, text, what_if
from dashboard.figures.difference import (
    Difference,
    change_words,
    difference_data,
    mark,
    price_data,
    price_words,
)
from dashboard.figures.root_values import RootValue, root_values_data, root_values_figure
from dashboard.figures.tree_view import component_data
from dashboard.jobs import RunView
from dashboard.widgets import chart, run_summary, what_if_form
from dashboard.widgets.tree_component import show_tree
from octcore.data.dataset import Dataset
from octcore.errors import OctError
from octcore.formulations.base import get_formulation
from octcore.run import Run

SECONDS_BETWEEN = 0.8


def draw(view: RunView, run: Run) -> None:
    """Draw question and answer for a finished run.

    Parameters
    ----------
    view : RunView
        The run.
    run : Run
        Its result, with a tree.
    """
    data = what_if.rows_of(view)
    if data is None or data.y is None:
        st.warning("The rows of this run are gone; load the data and solve again.")
        return
    reference = _reference(view, run, data)
    if reference is None:
        return
    is_live = not reference.is_final
    st.fragment(_page, run_every=SECONDS_BETWEEN if is_live else None)(view.id, is_live)


def _reference(view: RunView, run: Run, data: Dataset) -> RunView | None:
    """The exact search that values the root features; started once for every run."""
    known = jobs.view(session.side_run("reference", view.id))
    if known is not None:
        return known
    try:
        started = jobs.submit(session.token(), data, what_if.reference_settings(run, data))
    except OctError as error:
        st.error(text.markdown(error.message, 400), icon=":material/error:")
        return None
    session.remember_side_run(started, "reference", view.id)
    return jobs.view(started)


def _page(run_id: str, was_live: bool) -> None:
    view = jobs.view(run_id)
    reference = jobs.view(session.side_run("reference", run_id))
    answer = jobs.view(session.side_run("answer", run_id))
    if view is None or view.run is None or reference is None:
        st.rerun()
    if was_live and all(v is None or v.is_final for v in (reference, answer)):
        st.rerun()
    run, data = view.run, what_if.rows_of(view)
    assert data is not None
    searched = reference.run if reference.is_final else None
    values = () if searched is None else root_values_data(searched.values, searched.encoding)
    left, right = st.columns(2, gap="large")
    with left:
        st.subheader("Conditions", anchor=False)
        asked = what_if_form.draw(run_id, run, data, values)
        _ask(run_id, run, data, asked)
    with right:
        _values(run, reference, values)
    before = run if what_if.is_comparable(run) else searched
    if answer is not None:
        st.fragment(_answer, run_every=None if answer.is_final else SECONDS_BETWEEN)(
            run_id, before, answer.is_final
        )
    elif before is not None and before is not run:
        _other_base(before)


def _ask(run_id: str, run: Run, data: Dataset, asked: dict[str, Any]) -> None:
    together = what_if.together(run, asked)
    able = what_if.candidates(together, min(int(run.settings["depth"]), 5))
    if not asked:
        st.caption("Choose at least one condition; the tree is then solved again under it.")
        return
    if not able:
        st.warning("No formulation can express all of these at this depth; ask for less.")
        return
    titles = {key: get_formulation(key).info.title for key in able}
    formulation = st.selectbox(
        "Solved by",
        able,
        format_func=titles.__getitem__,
        key=session.widget_key("whatif", run_id, "by", len(able)),
        help="Formulations that can express these conditions, the quickest first; all have the "
        "same objective.",
    )
    if st.button(
        "What does it cost?",
        type="primary",
        icon=":material/sell:",
        width="stretch",
        key=session.widget_key("whatif", run_id, "ask"),
    ):
        try:
            settings = what_if.variant_settings(run, data, asked, formulation)
            started = jobs.submit(session.token(), data, settings)
        except OctError as error:
            st.error(text.markdown(error.message, 400), icon=":material/error:")
            return
        session.remember_side_run(started, "answer", run_id)
        session.remember_side_run(json.dumps(asked, default=str), "asked", run_id)
        st.rerun()


def _values(run: Run, reference: RunView, values: tuple[RootValue, ...]) -> None:
    st.subheader("Value of every root feature", anchor=False)
    if not reference.is_final:
        st.info(
            f"Searching the best tree for every root feature, {text.seconds(reference.elapsed)}",
            icon=":material/hourglass_top:",
        )
        return
    if not values:
        message = reference.error.message if reference.error else "The search ended without values."
        st.warning(text.markdown(message, 400))
        return
    root = run.tree.splits.get(1) if run.tree is not None else None
    chosen = None if root is None else run.encoding.columns[root.features[0]].raw
    best = values[0]
    chart.show(
        root_values_figure(values, session.palette(), chosen),
        key=session.widget_key("root_values", reference.id),
        alt=f"Best objective by root feature; the best is {best.feature} with {best.value:.4g}",
    )
    words = "The feature at the root of your tree is green."
    if any(not entry.is_exact for entry in values):
        words += " Open triangles are upper bounds: no tree that starts there is better."
    st.caption(words)


def _other_base(before: Run) -> None:
    st.caption(
        "Prices count from the optimal tree of thresholds at this depth "
        f"({text.percent(before.accuracy)} right), because your tree is not a proven optimum of "
        "that kind."
    )


def _answer(run_id: str, before: Run | None, was_final: bool) -> None:
    answer = jobs.view(session.side_run("answer", run_id))
    if answer is None or (answer.is_final and not was_final):
        st.rerun()
    st.divider()
    if not answer.is_final:
        st.info(
            f"Solving again: {text.markdown(answer.phase or answer.state)}, "
            f"{text.seconds(answer.elapsed)}",
            icon=":material/hourglass_top:",
        )
        if st.button("Stop and take the best so far", key=session.widget_key("stop", answer.id)):
            jobs.stop(answer.id)
        return
    after = answer.run
    if after is not None and after.status == "infeasible":
        st.error("No tree of this depth can keep to these conditions; this is proven.")
        return
    if after is None or after.tree is None or before is None or before.tree is None:
        message = answer.error.message if answer.error else "There is no tree to compare with yet."
        st.warning(text.markdown(message, 400))
        return
    asked = json.loads(session.side_run("asked", run_id) or "{}")
    _price(before, after, asked)
    _trees(run_id, before, after, answer.id)


def _price(before: Run, after: Run, asked: dict[str, Any]) -> None:
    price = price_data(before, after)
    assert price is not None
    words = text.markdown(price_words(price, change_words(asked)), 500)
    st.markdown(f"### {words}")


def _trees(run_id: str, before: Run, after: Run, answer_id: str) -> None:
    assert before.tree is not None
    assert after.tree is not None
    assert before.train is not None
    difference = difference_data(
        (before.tree, before.encoding), (after.tree, after.encoding), before.train
    )
    _difference_words(difference)
    left, right = st.columns(2, gap="medium")
    with left:
        st.markdown("**Without the condition**")
        _tree(before, difference.before, session.widget_key("whatif_before", run_id))
    with right:
        st.markdown("**With the condition**")
        _tree(after, difference.after, session.widget_key("whatif_after", answer_id))
    _table(before, after)


def _difference_words(difference: Difference) -> None:
    if difference.is_same:
        st.caption("It is the same tree.")
        return
    st.caption(
        f"Nodes with a dashed frame (≠) differ; {text.count(difference.rows, 'training row')} "
        f"{'gets' if difference.rows == 1 else 'get'} another prediction."
    )


def _tree(run: Run, nodes: frozenset[int], key: str) -> None:
    palette = session.palette()
    view = run_summary.tree_view(run)
    data = mark(component_data(view, palette, run_summary.accent(palette), 0, key), nodes)
    show_tree(data, key, lambda _: None)


def _table(before: Run, after: Run) -> None:
    rows = [
        ("Training accuracy", *(text.percent(r.accuracy) for r in (before, after))),
        ("Held-out accuracy", *(text.percent(r.test_accuracy) for r in (before, after))),
        ("Balanced accuracy", *(text.percent(r.balanced_accuracy) for r in (before, after))),
        ("Leaves", *(str(r.tree.n_leaves) if r.tree else "–" for r in (before, after))),
        ("Features used", *(_features(r) for r in (before, after))),
        ("Objective", *(text.number(r.objective) for r in (before, after))),
        ("Bound", *(text.number(r.bound) for r in (before, after))),
        ("Proof", *(r.certificate.badge for r in (before, after))),
    ]
    st.dataframe(
        pd.DataFrame(rows, columns=["", "Without the condition", "With the condition"]),
        hide_index=True,
        key=session.widget_key("whatif_table"),
        alt="Both trees in numbers",
    )


def _features(run: Run) -> str:
    if run.tree is None:
        return "–"
    used = {run.encoding.columns[j].raw for j in run.tree.used_features}
    return ", ".join(sorted(text.printable(name, 30) for name in used)) or "none"
