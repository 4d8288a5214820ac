"""How the solve went: its trees, moved by a slider, its convergence, and what it knew inside."""

import time
from functools import partial

import numpy as np
import plotly.graph_objects as go
import streamlit as st

from dashboard import cached, session
from dashboard.server import jobs
from dashboard.widgets import chart, inputs, run_summary, thresholds
from octcore.formulations.base import objective_words
from octcore.plotting import replay, text
from octcore.plotting.gap_plot import MEANING, convergence_data, convergence_figure
from octcore.plotting.layout import curve, mark
from octcore.plotting.plane_plot import PlaneRecord, default_axes, plane_data, plane_figure
from octcore.plotting.replay import CutPicture, Frame, replay_data
from octcore.plotting.tree_view import tree_view_data
from octcore.solving.report import cut_counts
from octcore.solving.run import Run, SolvedRun

SECONDS_PER_TREE = 1.5
SLACK = 0.2  # a redraw comes about when a tree is due; a little early counts
GAP_HEIGHT = 250


def frames(run_id: str, run: SolvedRun) -> tuple[Frame, ...]:
    """All trees of the replay, first to last."""
    make = partial(replay_data, run.trace, run.encoding, run.train)
    return cached.once_per_run(run_id, "frames", make)


def shown(run_id: str, run: SolvedRun) -> Frame | None:
    """The tree that stands in place of the last one; None without a replay.

    Moves a replay on that goes by itself.
    """
    if session.panel(run_id) != session.REPLAY:
        return None
    found = frames(run_id, run)
    if not found:
        return None
    last, started = len(found) - 1, session.state().playing.get(run_id)
    if started is not None:
        now = playing_position(started[0], time.monotonic() - started[1], len(found))
        st.session_state[_slider_key(run_id)] = now
        if now == last:
            _stop(run_id)
            st.rerun()
    return found[st.session_state.setdefault(_slider_key(run_id), last)]


def draw(run_id: str, run: SolvedRun) -> None:
    """Draw the slider, what its tree is, and where it stands in the solve."""
    found = frames(run_id, run)
    if not found:
        st.info("This run kept no trees but the last one, so there is nothing to replay.")
        return
    position = 0
    if len(found) > 1:
        left, right = st.columns([1, 4], vertical_alignment="bottom", gap="medium")
        with left:
            _play_button(run_id, len(found))
        with right:
            title, when = f"Trees, from the first to the last of {len(found)}", text.seconds
            words = [when(frame.seconds) for frame in found]
            is_moving = session.state().playing.get(run_id) is not None
            position = inputs.moment(title, words, _slider_key(run_id), disabled=is_moving)
    else:
        st.caption("The first tree was already the last one.")
    frame = found[position]
    st.markdown(
        f"**Tree {position + 1} of {len(found)}**, {frame.source}, after "
        f"{text.seconds(frame.seconds)}: {text.percent(frame.accuracy)} right, "
        f"objective {text.number(frame.value)}, bound {text.number(frame.bound)}, "
        f"gap {text.gap(frame.gap)}".replace(" %", "\N{NO-BREAK SPACE}%")
    )
    optimum = known_optimum(run_id, run)
    record = convergence_data(run.trace, objective_words(run.settings), optimum, run.is_optimal)
    absolute = not any(gap is not None for gap in record.gap)
    chart.show(
        convergence_figure(record, session.palette(), absolute, frame.seconds, GAP_HEIGHT),
        key=session.widget_key("replay_gap", run_id),
        alt=f"Convergence with a line at {text.seconds(frame.seconds)}; gap there "
        f"{text.gap(frame.gap)}",
    )


def _slider_key(run_id: str) -> str:
    """Key of the slider; one that moves by itself has its own.

    A browser that is slow tells where it stood before, as if somebody had moved it back.
    """
    is_moving = session.state().playing.get(run_id) is not None
    return session.widget_key("replay", run_id, is_moving)


def _stop(run_id: str) -> None:
    """Leave a replay that goes on by itself where it is."""
    now = st.session_state.get(_slider_key(run_id))
    session.pause()
    st.session_state[_slider_key(run_id)] = now


def _play_button(run_id: str, n_frames: int) -> None:
    def start() -> None:
        shown = st.session_state.get(_slider_key(run_id), n_frames - 1)
        first = 0 if shown >= n_frames - 1 else shown
        session.state().playing = {run_id: (first, time.monotonic())}

    is_playing = session.state().playing.get(run_id) is not None
    label, icon, press = (
        ("Pause", "pause", partial(_stop, run_id)) if is_playing else ("Play", "play_arrow", start)
    )
    key = session.widget_key("play", run_id)
    words = "Shows the trees one after the other, as the solve found them."
    if inputs.wide_button(label, icon, key, is_first=False, on_click=press, help=words):
        st.rerun()  # the whole page, which says how often this part of it is drawn


def playing_position(first: int, elapsed: float, n_frames: int) -> int:
    """Tree that a replay shows so many seconds after its start."""
    return min(first + int(elapsed / SECONDS_PER_TREE + SLACK), n_frames - 1)


def main_tree(run_id: str, run: SolvedRun, frame: Frame) -> None:
    """Draw a tree of the replay in place of the last one."""
    found = frames(run_id, run)
    position = next(k for k, own in enumerate(found) if own is frame)
    is_last = position == len(found) - 1
    proven = is_last and run.is_proven
    words = run_summary.badge_words(run) if is_last else f"{frame.source}; not the last one"
    draw = partial(tree_view_data, frame.tree, run.encoding, run.train, words, proven)
    view = cached.once_per_run(run_id, f"replay tree {position}", draw)
    run_summary.still_tree(view, session.widget_key("replay_tree", run_id), f"replay:{run_id}")


def convergence(run_id: str, run: Run) -> None:
    """Draw gap or incumbent and bound over time, and where the time went."""
    optimum = known_optimum(run_id, run)
    record = convergence_data(run.trace, objective_words(run.settings), optimum, run.is_optimal)
    absolute, scales = True, ["relative gap (log)", "incumbent and bound"]
    if any(gap is not None for gap in record.gap):
        absolute = inputs.switch("Scale", scales, "gap_scale") == scales[1]
    else:
        st.caption("This run told no bound on its way, so there is no gap to draw.")
    chart.show(
        convergence_figure(record, session.palette(), absolute),
        key=session.widget_key("convergence", run_id, absolute),
        alt=f"Convergence over {text.seconds(record.end)}; final gap {text.gap(run.gap)}",
    )
    times = ((words, run.timings.get(name)) for name, words in TIMES.items())
    spent = [f"{words} {text.seconds(value)}" for words, value in times if value]
    told = MEANING["objective" if absolute else "gap"]
    st.caption(f"{told} Where the time went: {', '.join(spent)}.")


TIMES = {
    "start": "starting a worker",
    "compile_kernels": "preparing the search, once per installation",
    "encode": "encoding the columns",
    "warm_start": "finding first trees",
    "build": "building the model",
    "solve": "solving",
    "verify": "checking the proof",
    "total": "encoding to tree altogether",
}
"""What was done, by the names that runs give their times; in the order of a solve."""


def known_optimum(run_id: str, run: Run) -> float | None:
    """True optimum of the problem of a run, which another run may have proven."""
    if run.is_proven:
        return run.objective
    found = jobs.proof(run_id)
    return None if found is None else float(found.summary["objective"])


def inside(run_id: str, run: SolvedRun) -> None:
    """Draw what a search knew on its way, as far as it kept that."""
    has_moments = thresholds.has_moments(run)
    if has_moments:
        st.header("What was still open", anchor=False)
        st.fragment(thresholds.draw_moments)(run_id, run)
    if cut_counts(run.trace):
        pictures = ()
        if not run.asked.has_task:  # else cuts speak of copies of the rows by answer
            make = partial(replay.cut_pictures, run.trace, run.encoding, run.train)
            pictures = cached.once_per_run(run_id, "cuts", make)
        st.header("The cuts", anchor=False)
        st.fragment(_cuts)(run_id, run, pictures)
    elif not has_moments:
        st.caption(
            "This run kept nothing of its way but its trees; **Replay**, under the tree above, "
            "shows them."
        )


def _cuts(run_id: str, run: SolvedRun, pictures: tuple[CutPicture, ...]) -> None:
    counts = cut_counts(run.trace)
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
            st.caption("There are no pictures of these cuts, only their numbers.")
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
