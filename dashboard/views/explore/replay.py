"""Replay in the app: one slider moves tree, plane and gap chart; another one shows the cuts."""

from __future__ import annotations

import time

import plotly.graph_objects as go
import streamlit as st

from dashboard import cached, session
from dashboard.views.explore import convergence, linked_views
from dashboard.widgets import chart, open_thresholds, run_summary
from dashboard.widgets.tree_component import show_tree
from octcore.formulations.base import get_formulation
from octcore.plotting import text
from octcore.plotting.cut_tree import cut_tree_figure
from octcore.plotting.gap_plot import convergence_data, convergence_figure
from octcore.plotting.plane_plot import default_axes, plane_data, plane_figure
from octcore.plotting.replay import (
    CutPicture,
    Frame,
    alike_rows,
    counts_figure,
    cut_counts,
    cut_pictures,
    family_words,
    points_only,
    replay_data,
)
from octcore.plotting.tree_view import component_data
from octcore.solving.run import Run, SolvedRun

SECONDS_PER_TREE = 1.5
SLACK = 0.2
"""A redraw comes about when a tree is due; a little early counts."""
GAP_HEIGHT = 250


def draw(run_id: str, run: SolvedRun) -> None:
    """Draw the replay of a finished run."""
    train, y = run.train, run.train.codes
    X = cached.once_per_run(run_id, "encoded", lambda: run.encoding.transform(train.frame))
    frames = cached.once_per_run(run_id, "frames", lambda: replay_data(run.trace, X, y))
    if not frames:
        st.info("This run kept no trees but the last one, so there is nothing to replay.")
        return
    if len(frames) > 1:
        _play_button(run_id, len(frames))
    every = SECONDS_PER_TREE if session.playing(run_id) else None
    st.fragment(_frames, run_every=every)(run_id, run, frames)
    if open_thresholds.has_moments(run):
        st.subheader("What was still open", anchor=False)
        st.fragment(open_thresholds.draw)(run_id, run)
    counts = cut_counts(run.trace)
    if not counts:
        st.caption(
            "This run added no cuts. BendOCT, accelerated BendOCT and S-OCT do, and show them here."
        )
        return
    pictures = cached.once_per_run(
        run_id, "cuts", lambda: cut_pictures(run.trace, run.encoding, X, train.classes)
    )
    st.subheader("The cuts", anchor=False)
    st.fragment(_cuts)(run_id, run, pictures)


def _slider_key(run_id: str) -> str:
    return session.widget_key("replay", run_id)


def _play_button(run_id: str, n_frames: int) -> None:
    """Draw the button; it stands outside the part that is redrawn while the replay goes on."""

    def start() -> None:
        shown = st.session_state.get(_slider_key(run_id), n_frames - 1)
        session.play(run_id, 0 if shown >= n_frames - 1 else shown)

    is_playing = session.playing(run_id) is not None
    st.button(
        "Pause" if is_playing else "Play",
        key=session.widget_key("play", run_id),
        icon=":material/pause:" if is_playing else ":material/play_arrow:",
        on_click=session.pause if is_playing else start,
        help="Shows the trees one after the other, as the solve found them.",
    )


def playing_position(first: int, elapsed: float, n_frames: int) -> int:
    """Tree that a replay shows so many seconds after its start."""
    return min(first + int(elapsed / SECONDS_PER_TREE + SLACK), n_frames - 1)


def _position(run_id: str, frames: tuple[Frame, ...]) -> int:
    """Draw the slider, moved on while the replay goes on by itself; returns the tree to show."""
    key, last = _slider_key(run_id), len(frames) - 1
    started = session.playing(run_id)
    if started is not None:
        now = playing_position(started[0], time.monotonic() - started[1], len(frames))
        st.session_state[key] = now
        if now == last:
            session.pause()
            st.rerun()
    st.session_state.setdefault(key, last)
    return st.select_slider(
        f"Trees, from the first to the last of {len(frames)}",
        range(len(frames)),
        format_func=lambda k: f"{k + 1}: {text.seconds(frames[k].seconds)}",
        key=key,
        on_change=session.pause,
    )


def _frames(run_id: str, run: SolvedRun, frames: tuple[Frame, ...]) -> None:
    position = 0
    if len(frames) > 1:
        position = _position(run_id, frames)
    else:
        st.caption("The first tree was already the last one; only the bound moved.")
    frame = frames[position]
    left, right = st.columns([3, 1], vertical_alignment="center")
    left.markdown(
        f"**Tree {position + 1} of {len(frames)}**, {frame.source}, after "
        f"{text.seconds(frame.seconds)}: {text.percent(frame.accuracy)} right, "
        f"objective {text.number(frame.value)}, bound {text.number(frame.bound)}, "
        f"gap {text.gap(frame.gap)}"
    )
    with right:
        absolute = convergence.scale_switch()
    _gap(run_id, run, frame, absolute)
    axes = default_axes(run.tree, run.encoding, run.train)
    is_beside = axes and not any(linked_views.needs_width(frame.tree) for frame in frames)
    left, right = st.columns([3, 2], gap="medium") if is_beside else [st.container()] * 2
    with left:
        _tree(run_id, run, frames, position)
    if axes is not None:
        with right:
            _plane(run_id, run, frames, position, axes)


def _tree(run_id: str, run: SolvedRun, frames: tuple[Frame, ...], position: int) -> None:
    frame, is_last = frames[position], position == len(frames) - 1
    proven = is_last and run.is_optimal and run.certificate.proven
    words = run_summary.badge_words(run) if is_last else f"{frame.source}; not the last one"
    train = run.train
    view = cached.once_per_run(
        run_id,
        f"replay tree {position}",
        lambda: run_summary.view_of(frame.tree, run.encoding, train, words, proven),
    )
    palette = session.palette()
    data = component_data(view, palette, run_summary.accent(palette), 0, f"replay:{run_id}")
    show_tree(data, session.widget_key("replay_tree", run_id), lambda _: None)


def _plane(
    run_id: str, run: SolvedRun, frames: tuple[Frame, ...], position: int, axes: tuple[str, str]
) -> None:
    frame = frames[position]
    palette, train = session.palette(), run.train
    record = cached.once_per_run(
        run_id,
        f"replay plane {position}",
        lambda: plane_data(frame.tree, run.encoding, train, *axes, formulation=run.formulation),
    )
    chart.show(
        plane_figure(record, palette, run_summary.accent(palette)),
        key=session.widget_key("replay_plane", run_id),
        alt=f"Plane of {axes[0]} and {axes[1]} with this tree: "
        f"{text.percent(frame.accuracy)} of the rows right",
    )


def _gap(run_id: str, run: Run, frame: Frame, absolute: bool) -> None:
    optimum, _ = convergence.known_optimum(run_id, run)
    objective = get_formulation(run.formulation).info.objective
    record = convergence_data(run.trace, "gap", objective, optimum, run.is_optimal)
    absolute = absolute or not any(gap is not None for gap in record.gap)
    figure = convergence_figure(record, session.palette(), absolute, at=frame.seconds)
    chart.show(
        figure.update_layout(height=GAP_HEIGHT),
        key=session.widget_key("replay_gap", run_id),
        alt=f"Convergence with a line at {text.seconds(frame.seconds)}; gap there "
        f"{text.gap(frame.gap)}",
    )


def _cuts(run_id: str, run: SolvedRun, pictures: tuple[CutPicture, ...]) -> None:
    counts = cut_counts(run.trace)
    end = run.trace.events[-1].seconds
    chosen = _choose(run_id, pictures)
    left, right = st.columns(2, gap="large")
    with right:
        total = sum(totals[-1] for _, totals in counts.values())
        chart.show(
            counts_figure(counts, session.palette(), end, chosen.seconds if chosen else None),
            key=session.widget_key("cut_counts", run_id),
            alt=f"Cuts over time, {total} altogether: "
            + ", ".join(f"{family_words(f)} {t[-1]}" for f, (_, t) in counts.items()),
        )
    with left:
        if chosen is None:
            st.caption("This run kept no pictures of its cuts, only their numbers.")
            return
        st.markdown(
            f"**{_capital(family_words(chosen.family))}.** {text.markdown(chosen.words, 600)}"
        )
        _picture(run_id, run, chosen)


def _capital(words: str) -> str:
    return words[0].upper() + words[1:]


def _choose(run_id: str, pictures: tuple[CutPicture, ...]) -> CutPicture | None:
    if len(pictures) < 2:
        return pictures[0] if pictures else None
    position = st.select_slider(
        f"Cuts with a picture, {len(pictures)} of them",
        range(len(pictures)),
        format_func=lambda k: f"{k + 1}: {family_words(pictures[k].family)}",
        key=session.widget_key("cut", run_id),
    )
    return pictures[position]


def _picture(run_id: str, run: SolvedRun, chosen: CutPicture) -> None:
    palette = session.palette()
    accent = run_summary.accent(palette)
    key = session.widget_key("cut_picture", run_id)
    if chosen.nodes:
        depth = run.depth
        figure = cut_tree_figure(chosen, depth, palette, accent)
        chart.show(figure, key=key, alt=f"Tree of depth {depth} with the cut marked")
        return
    if not chosen.right:
        st.dataframe(
            alike_rows(chosen, run.train),
            hide_index=True,
            key=session.widget_key("cut_rows", run_id),
            alt="Rows that look the same, with the columns in which they differ",
        )
        st.caption("≠ marks the split set: only a split on it can part these rows.")
    axes = default_axes(run.tree, run.encoding, run.train)
    if axes is None:
        return
    figure = plane_figure(
        points_only(plane_data(run.tree, run.encoding, run.train, *axes)), palette, accent
    )
    _mark(figure, run, axes, chosen.left, "circle-open", accent, "one side")
    _mark(figure, run, axes, chosen.right, "square-open", accent, "other side")
    chart.show(figure, key=key, alt="Plane with the rows that the cut speaks of marked")


def _mark(
    figure: go.Figure,
    run: SolvedRun,
    axes: tuple[str, str],
    rows: tuple[int, ...],
    symbol: str,
    colour: str,
    name: str,
) -> None:
    if not rows:
        return
    # The first point once more closes the line around three and more of them.
    frame = run.train.frame.iloc[[*rows, *(rows[:1] if len(rows) > 2 else ())]]
    figure.add_scatter(
        x=frame[axes[0]], y=frame[axes[1]], mode="lines+markers", name=name, hoverinfo="skip",
        line={"color": colour, "width": 2, "dash": "dash" if "square" in symbol else "solid"},
        marker={"symbol": symbol, "size": 20, "color": colour, "line": {"width": 3}},
    )  # fmt: skip
