"""Tree, plane, feature usage and rows, linked by one selected node."""

from __future__ import annotations

import streamlit as st

from dashboard import cached, session, text
from dashboard.figures.feature_usage import usage_data, usage_figure
from dashboard.figures.plane import (
    PlaneRecord,
    default_axes,
    numeric_columns,
    plane_data,
    plane_figure,
)
from dashboard.widgets import chart, node_panel, run_summary
from octcore.run import Run

DEEPEST_BESIDE, LEAVES_BESIDE = 3, 8
"""A tree beyond these gets the whole width; the plane moves below."""


def draw(run_id: str, run: Run) -> None:
    """Draw the linked views; a click redraws them alone and not the page.

    Parameters
    ----------
    run_id : str
        The run.
    run : Run
        With tree and training rows.
    """
    run_summary.numbers(run)
    st.fragment(_views)(run_id, run)


def _views(run_id: str, run: Run) -> None:
    assert run.tree is not None
    assert run.train is not None
    axes = default_axes(run.tree, run.encoding, run.train)
    is_wide = run.tree.max_depth > DEEPEST_BESIDE or run.tree.n_leaves > LEAVES_BESIDE
    if is_wide or axes is None:
        run_summary.small_tree(run_id, run)
    left, right = st.columns([3, 2], gap="medium")
    with left:
        if not is_wide and axes is not None:
            run_summary.small_tree(run_id, run)
        node_panel.draw(run_id, run)
    with right:
        if axes is not None:
            _plane(run_id, run, axes)
        _usage(run_id, run)


def _plane(run_id: str, run: Run, axes: tuple[str, str]) -> None:
    assert run.tree is not None
    assert run.train is not None
    x, y = axes
    names = numeric_columns(run.train)
    if len(names) > 2:
        first, second = st.columns(2)
        x = first.selectbox(
            "Across", names, index=names.index(x), key=session.widget_key("plane_x", run_id)
        )
        others = [name for name in names if name != x]
        y = second.selectbox(
            "Up",
            others,
            index=others.index(y) if y in others else 0,
            key=session.widget_key("plane_y", run_id, x),
        )
    tree, train = run.tree, run.train
    record = cached.once_per_run(
        run_id, f"plane {x!r} {y!r}", lambda: plane_data(tree, run.encoding, train, x, y)
    )
    all_margins = False
    if record.has_margins:
        all_margins = st.toggle(
            "Margins of all nodes",
            key=session.widget_key("margins", run_id),
            help="By default only splits right above leaves show their margin band; the bands of "
            "upper nodes are wide and overlap.",
        )
    palette = session.palette()
    selected = session.selected_node(run_id)
    key = session.widget_key("plane", run_id)

    def clicked() -> None:
        points = st.session_state[key]["selection"]["points"]
        if points and points[0].get("customdata"):
            session.select_node(run_id, int(points[0]["customdata"][0]))

    chart.show(
        plane_figure(record, palette, run_summary.accent(palette), selected, all_margins),
        key=key,
        on_select=clicked,
        alt=plane_words(record),
    )
    _slice_words(record)


def plane_words(record: PlaneRecord) -> str:
    """Describe the plane for readers who do not see it."""
    wrong = int(record.dots.wrong.sum())
    return (
        f"Plane of {record.x} and {record.y}: {len(record.regions)} regions, "
        f"{len(record.dots.row)} rows, {wrong} of them misclassified"
    )


def _slice_words(record: PlaneRecord) -> None:
    if record.held:
        held = ", ".join(
            f"{text.markdown(name)} = {text.markdown(_value(value))}"
            for name, value in record.held.items()
        )
        st.caption(
            f"Regions are a slice at {held}; the rows have their own values there, so some dots "
            "lie on regions of another class without being errors. Errors carry a cross."
        )
    if len(record.dots.row) < record.n_rows:
        st.caption(f"{len(record.dots.row):,} of {record.n_rows:,} rows are drawn.")


def _value(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _usage(run_id: str, run: Run) -> None:
    assert run.tree is not None
    if not run.tree.splits:
        st.caption("The tree is a single leaf; it tests no feature.")
        return
    record = usage_data(run.tree, run.encoding, run_summary.node_words(run))
    st.markdown("**Features by node**")
    chart.show(
        usage_figure(record, session.palette(), session.selected_node(run_id)),
        key=session.widget_key("usage", run_id),
        alt=f"{len(record.features)} features used at {len(record.nodes)} branch nodes",
    )
    if record.unused:
        names = ", ".join(text.markdown(name, 30) for name in record.unused[:12])
        more = f" and {len(record.unused) - 12} more" if len(record.unused) > 12 else ""
        st.caption(f"Not used: {names}{more}.")
