"""Inside a search: the cuts that it added, and the thresholds that were open meanwhile."""

import numpy as np
import plotly.graph_objects as go
import streamlit as st

from dashboard import cached, session
from dashboard.widgets import chart, inputs, thresholds
from octcore.plotting import replay, text
from octcore.plotting.layout import curve, mark
from octcore.plotting.plane_plot import PlaneRecord, default_axes, plane_data, plane_figure
from octcore.plotting.replay import CutPicture
from octcore.solving.run import SolvedRun


def draw(run_id: str, run: SolvedRun) -> None:
    """Draw what a search knew on its way, as far as it kept that."""
    has_moments = thresholds.has_moments(run)
    if has_moments:
        st.subheader("What was still open", anchor=False)
        st.fragment(thresholds.draw_moments)(run_id, run)
    if replay.cut_counts(run.trace):
        train = run.train
        X = cached.once_per_run(run_id, "encoded", lambda: run.encoding.transform(train.frame))
        pictures = cached.once_per_run(
            run_id, "cuts", lambda: replay.cut_pictures(run.trace, run.encoding, X, train.classes)
        )
        st.subheader("The cuts", anchor=False)
        st.fragment(_cuts)(run_id, run, pictures)
    elif not has_moments:
        st.caption(
            "This run kept nothing of its way but its trees; **Replay**, under the tree above, "
            "shows them. BendOCT, accelerated BendOCT and S-OCT show their cuts here, the exact "
            "search on all thresholds what was still open."
        )


def _cuts(run_id: str, run: SolvedRun, pictures: tuple[CutPicture, ...]) -> None:
    counts = replay.cut_counts(run.trace)
    end = run.trace.events[-1].seconds
    title, key = f"Cuts with a picture, {len(pictures)} of them", session.widget_key("cut", run_id)
    place = inputs.moment(title, [replay.family_words(cut.family) for cut in pictures], key)
    chosen = pictures[place] if pictures else None
    left, right = st.columns(2, gap="large")
    with right:
        total = sum(totals[-1] for _, totals in counts.values())
        chart.show(
            replay.counts_figure(
                counts, session.palette(), end, chosen.seconds if chosen else None
            ),
            key=session.widget_key("cut_counts", run_id),
            alt=f"Cuts over time, {total} altogether: "
            + ", ".join(f"{replay.family_words(f)} {t[-1]}" for f, (_, t) in counts.items()),
        )
    with left:
        if chosen is None:
            st.caption("This run kept no pictures of its cuts, only their numbers.")
            return
        family = replay.family_words(chosen.family)
        family = family[0].upper() + family[1:]
        st.markdown(f"**{family}.** {text.markdown(chosen.words, 600)}")
        _picture(run_id, run, chosen)


def _picture(run_id: str, run: SolvedRun, chosen: CutPicture) -> None:
    palette = session.palette()
    key = session.widget_key("cut_picture", run_id)
    if chosen.nodes:
        depth = run.depth
        figure = replay.cut_tree_figure(chosen, depth, palette)
        chart.show(figure, key=key, alt=f"Tree of depth {depth} with the cut marked")
        return
    if not chosen.right:
        alt = "Rows that look the same, with the columns in which they differ"
        rows = replay.alike_rows(chosen, run.train)
        chart.table(rows, session.widget_key("cut_rows", run_id), alt)
        st.caption("≠ marks the split set: only a split on it can part these rows.")
    axes = default_axes(run.tree, run.encoding, run.train)
    if axes is None:
        return
    record = replay.points_only(plane_data(run.tree, run.encoding, run.train, *axes))
    figure = plane_figure(record, palette)
    _mark(figure, record, chosen.left, "circle-open", palette.accent, "one side")
    _mark(figure, record, chosen.right, "square-open", palette.accent, "other side")
    chart.show(figure, key=key, alt="Plane with the rows that the cut speaks of marked")


def _mark(
    figure: go.Figure,
    record: PlaneRecord,
    rows: tuple[int, ...],
    symbol: str,
    colour: str,
    name: str,
) -> None:
    if not rows:
        return
    # The first point once more closes the line around three and more of them.
    wanted = [*rows, *(rows[:1] if len(rows) > 2 else ())]
    dots = np.concatenate([np.flatnonzero(record.dots.row == row) for row in wanted])
    points = zip(record.dots.x[dots].tolist(), record.dots.y[dots].tolist(), strict=True)
    line = {"color": colour, "width": 2, "dash": "dash" if "square" in symbol else "solid"}
    curve(figure, points, name, line=line, marker=mark(symbol, 20, colour, width=3))
