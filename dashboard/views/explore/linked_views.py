"""Tree, plane, feature usage and rows, linked by a selected node, a chosen row or a replay."""

import streamlit as st

from dashboard import session
from dashboard.views.explore import node_panel, plane_panel, replay
from dashboard.views.what_if import questions
from dashboard.widgets import chart, run_summary
from octcore.plotting.feature_usage import usage_data, usage_figure
from octcore.plotting.plane_plot import default_axes
from octcore.solving.run import SolvedRun
from octcore.tree.tree import Tree

DEEPEST_BESIDE, LEAVES_BESIDE = 3, 5
"""A tree beyond these gets the whole width; the plane moves below."""
PANELS = {
    session.NODE: "Rows of the node",
    session.ROW: "Path of one row",
    session.REPLAY: "Replay",
}


def draw(run_id: str, run: SolvedRun) -> None:
    """Draw the linked views; a click redraws them alone and not the page."""
    run_summary.headline(run_id, run)
    is_moving = run_id in session.state().playing
    every = replay.SECONDS_PER_TREE if is_moving else None
    st.fragment(_views, run_every=every)(run_id, run, is_moving)


def _views(run_id: str, run: SolvedRun, was_moving: bool) -> None:
    if was_moving and run_id not in session.state().playing:
        st.rerun()  # the whole page, which says how often this part of it is drawn
    axes = default_axes(run.tree, run.encoding, run.train)
    frame = replay.shown(run_id, run)
    tree = run.tree if frame is None else frame.tree
    # A tree of the replay has the place of the last one: the page keeps its shape while it moves.
    every = (run.tree, *(() if frame is None else (f.tree for f in replay.frames(run_id, run))))
    is_wide = any(t.max_depth > DEEPEST_BESIDE or t.n_leaves > LEAVES_BESIDE for t in every)

    def main_tree() -> None:
        if frame is None:
            path = node_panel.path_nodes(run_id, run)
            run_summary.small_tree(run_id, run, path, hint="Click a node to see its rows.")
        else:
            replay.main_tree(run_id, run, frame)

    if is_wide or axes is None:
        main_tree()
    left, right = st.columns([3, 2], gap="medium")
    with left:
        if not is_wide and axes is not None:
            main_tree()
        _panel(run_id, run)
    with right:
        if axes is not None:
            plane_panel.draw(run_id, run, axes, None if frame is None else tree)
        if not questions.is_valued(run):  # that says more of every node
            _usage(run_id, run, tree)


def _panel(run_id: str, run: SolvedRun) -> None:
    """Draw the rows of the node, the path of the row, or the slider of the replay."""
    key = session.widget_key("panel", run_id)
    st.session_state[key] = session.panel(run_id)

    def changed() -> None:
        if st.session_state[key] == session.ROW:
            node_panel.choose_first(run_id, run)
        else:
            session.show_panel(run_id, st.session_state[key])

    st.segmented_control(
        "Show",
        list(PANELS),
        format_func=PANELS.__getitem__,
        required=True,
        key=key,
        on_change=changed,
        label_visibility="collapsed",
        wrap=True,
    )
    parts = {session.NODE: node_panel.draw, session.ROW: node_panel.draw_row}
    parts.get(session.panel(run_id), replay.draw)(run_id, run)


def _usage(run_id: str, run: SolvedRun, tree: Tree) -> None:
    if not tree.splits:
        st.caption("The tree is a single leaf; it tests no feature.")
        return
    record = usage_data(tree, run.encoding)
    st.markdown("**Features by node**")
    chart.show(
        usage_figure(record, session.palette(), session.selected_node(run_id)),
        key=session.widget_key("usage", run_id),
        alt=f"{len(record.features)} features used at {len(record.nodes)} branch nodes",
    )
