"""The plane of two chosen columns; the others are held at values that can be chosen, too."""

from functools import partial
from typing import Any

import numpy as np
import streamlit as st

from dashboard import cached, session
from dashboard.views.explore import node_panel
from dashboard.widgets import chart, inputs
from octcore.plotting import text
from octcore.plotting.plane_axes import Places, make_axis, plane_columns
from octcore.plotting.plane_plot import PlaneRecord, plane_data, plane_figure, typical_values
from octcore.plotting.row_path import value_text
from octcore.solving.run import Run, SolvedRun
from octcore.tree.tree import Tree


def draw(run_id: str, run: SolvedRun, axes: tuple[str, str], replayed: Tree | None = None) -> None:
    """Draw the plane, of an earlier tree if one is replayed; a click on a row shows its path."""
    x, y = chart.axes(plane_columns(run.train), *axes, session.widget_key("plane_axes", run_id))
    train, tree = run.train, replayed or run.tree
    held = _held(run_id, run, tree, (x, y))
    recentred = None if replayed is not None else _recentred(run_id, run)
    if recentred is not None:
        tree = recentred
    selected = 0 if replayed is not None else session.selected_node(run_id)
    places = _places(run_id, run, x, y)
    record = cached.once_per_run(
        run_id,
        f"plane {x!r} {y!r} {sorted(held.items())!r} {recentred is not None} {places.is_straight} "
        f"{replayed is not None and replayed.to_dict()}",
        lambda: plane_data(tree, run.encoding, train, x, y, held, run.formulation, places),
    )
    all_margins = False
    if record.has_margins:
        all_margins = st.toggle(
            "Margins of all nodes",
            key=session.widget_key("margins", run_id),
            help="By default only the selected split and those right above leaves show their "
            "margin band; the bands of upper nodes are wide and overlap.",
        )
    palette = session.palette()
    key = session.widget_key("plane", run_id)
    figure = plane_figure(record, palette, selected, all_margins, _place_of_row(run_id, record))

    def clicked() -> None:
        points = st.session_state[key]["selection"]["points"]
        if points and points[0].get("customdata"):
            node_panel.choose_line(run_id, run, int(points[0]["customdata"][1]))

    chart.show(figure, key=key, on_select=clicked, alt=plane_words(record))
    hidden = band_words(record, selected)
    if hidden:
        st.caption(hidden)
    _slice_words(record)


def _recentred(run_id: str, run: Run) -> Tree | None:
    """Tree with every split in the middle of its own margin, if there is one and it is wanted."""
    stored = run.extras.get("recentred")
    if stored is None or not st.toggle(
        "Every split in the middle of its margin",
        key=session.widget_key("recentred", run_id),
        help="The formulation widens the narrowest margin only and leaves the other splits "
        "anywhere within it. The picture changes, the rows' ways and the numbers do not.",
    ):
        return None
    return Tree.from_dict(stored).named(run.classes, run.encoding.names)


def _places(run_id: str, run: SolvedRun, x: str, y: str) -> Places:
    """Both axes; where numbers crowd they are spread, unless somebody wants them as they are."""
    spread = cached.once_per_run(
        run_id,
        f"axes {x!r} {y!r}",
        lambda: Places(make_axis([run.train], x), make_axis([run.train], y)),
    )
    if spread.is_straight or st.toggle(
        "Spread crowded numbers",
        value=True,
        key=session.widget_key("spread", run_id, x, y),
        help="Half of the rows stand on a small part of an axis. It is drawn logarithmically, or "
        "by rank, so that they can be told apart; regions and rows stay exact.",
    ):
        return spread
    return Places(make_axis([run.train], x, False), make_axis([run.train], y, False))


def _held(run_id: str, run: SolvedRun, tree: Tree, axes: tuple[str, str]) -> dict[str, Any]:
    """Values of the columns that the tree tests besides the axes: typical, typed or of a row."""
    used = run.encoding.tested(tree.used_features)
    names = [name for name in used if name not in axes]
    if not names:
        return {}
    row = session.chosen_row(run_id)
    if row is not None and st.toggle(
        "Slice through the chosen row",
        value=True,
        key=session.widget_key("slice_row", run_id),
        help="Holds the other features at the values of the row, so that its region is true.",
    ):
        return {name: row.frame[name].iloc[0] for name in names}
    made = partial(slice_values, run, names, axes)
    typical = cached.once_per_run(run_id, f"typical {names!r} {axes!r}", made)
    with st.popover("Values of the other features", icon=":material/tune:", width="stretch"):
        words = "The plane is a slice at these values; at first the median or most common of"
        st.caption(f"{words} the rows at the largest split by an axis.")
        key = partial(session.widget_key, "held", run_id, *axes)
        return {n: inputs.column_input(run.train, n, typical[n], key(n)) for n in names}


def slice_values(run: SolvedRun, names: list[str], axes: tuple[str, str]) -> dict[str, Any]:
    """Typical values of the rows at the largest split by an axis: a slice that shows the split."""
    tree, tested = run.tree, run.encoding.tested
    reached = tree.node_rows(tree.encoded(run.encoding, run.train.frame))
    cut = [reached[node] for node, s in tree.splits.items() if {*axes} & {*tested(s.features)}]
    largest = max(cut, key=len, default=())
    return typical_values(run.train.subset(largest) if len(largest) else run.train, names)


def _place_of_row(run_id: str, record: PlaneRecord) -> tuple[float, float] | None:
    row = session.chosen_row(run_id)
    if row is None:
        return None
    drawn = np.flatnonzero(record.dots.row == row.position)
    if row.source == "training" and len(drawn):
        return float(record.dots.x[drawn[0]]), float(record.dots.y[drawn[0]])
    return record.places.of_rows(row.frame)[0]


def plane_words(record: PlaneRecord) -> str:
    """Describe the plane for readers who do not see it."""
    wrong = int(record.dots.wrong.sum())
    return (
        f"Plane of {record.places.words}: {len(record.regions)} regions, "
        f"{len(record.dots.row):,} rows, {wrong:,} of them misclassified"
    )


def band_words(record: PlaneRecord, node: int) -> str:
    """Say so where the margin of a node has no line in the picture; empty otherwise."""
    lines = record.lines.get(node)
    if lines is None or lines.kind == "none" or lines.low or lines.high:
        return ""
    return f"The margin band of node {node} is wider than the picture, so its edges are not seen."


def _slice_words(record: PlaneRecord) -> None:
    if record.held:
        known = ((name, value_text(value)) for name, value in record.held.items())
        held = ", ".join(f"{text.markdown(name)} = {text.markdown(told)}" for name, told in known)
        st.caption(
            f"Regions are a slice at {held}; the rows have their own values there, so some dots "
            "lie on regions of another class without being errors. Errors carry a cross."
        )
    if len(record.dots.row) < record.n_rows:
        st.caption(
            f"{len(record.dots.row):,} of {record.n_rows:,} rows are drawn, chosen at random; all "
            "numbers count all rows."
        )
