"""Tree, plane, feature usage and rows, linked by one selected node or one chosen row."""

from __future__ import annotations

import streamlit as st

from dashboard import session
from dashboard.views.explore import node_panel, plane_panel, row_panel
from dashboard.widgets import chart, run_summary
from octcore.plotting import text
from octcore.plotting.feature_usage import usage_data, usage_figure
from octcore.plotting.plane_plot import default_axes
from octcore.solving.run import SolvedRun
from octcore.tree.tree import Tree

DEEPEST_BESIDE, LEAVES_BESIDE = 3, 5
"""A tree beyond these gets the whole width; the plane moves below."""
NODE, ROW = "Rows of the node", "Path of one row"


def draw(run_id: str, run: SolvedRun) -> None:
    """Draw the linked views; a click redraws them alone and not the page."""
    run_summary.headline(run)
    st.fragment(_views)(run_id, run)


def _views(run_id: str, run: SolvedRun) -> None:
    axes = default_axes(run.tree, run.encoding, run.train)
    is_wide = needs_width(run.tree)
    path = row_panel.path_nodes(run_id, run)
    if is_wide or axes is None:
        run_summary.small_tree(run_id, run, path)
    left, right = st.columns([3, 2], gap="medium")
    with left:
        if not is_wide and axes is not None:
            run_summary.small_tree(run_id, run, path)
        _panel(run_id, run)
    with right:
        if axes is not None:
            plane_panel.draw(run_id, run, axes)
        _usage(run_id, run)


def needs_width(tree: Tree) -> bool:
    """Whether a tree can be read only at the whole width of the page."""
    return tree.max_depth > DEEPEST_BESIDE or tree.n_leaves > LEAVES_BESIDE


def _panel(run_id: str, run: SolvedRun) -> None:
    """Draw what belongs to the selection: the rows of the node, or the path of the row."""
    key = session.widget_key("panel", run_id)
    st.session_state[key] = ROW if session.is_row_shown(run_id) else NODE

    def changed() -> None:
        if st.session_state[key] == ROW:
            row_panel.choose_first(run_id, run)
        else:
            session.show_row(run_id, False)

    st.segmented_control(
        "Show", [NODE, ROW], required=True, key=key, on_change=changed, label_visibility="collapsed"
    )
    if session.is_row_shown(run_id):
        row_panel.draw(run_id, run)
    else:
        node_panel.draw(run_id, run)


def _usage(run_id: str, run: SolvedRun) -> None:
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
