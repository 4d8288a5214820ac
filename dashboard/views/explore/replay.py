"""Replay in the app: one slider moves the tree of the page, its plane and a gap chart."""

import time

import streamlit as st

from dashboard import cached, session
from dashboard.views.explore import convergence
from dashboard.widgets import chart, inputs, run_summary
from octcore.formulations.base import get_formulation
from octcore.plotting import text
from octcore.plotting.gap_plot import convergence_data, convergence_figure
from octcore.plotting.replay import Frame, replay_data
from octcore.solving.run import SolvedRun

SECONDS_PER_TREE = 1.5
SLACK = 0.2
"""A redraw comes about when a tree is due; a little early counts."""
GAP_HEIGHT = 250


def frames(run_id: str, run: SolvedRun) -> tuple[Frame, ...]:
    """All trees of the replay, first to last."""
    train, y = run.train, run.train.codes
    X = cached.once_per_run(run_id, "encoded", lambda: run.encoding.transform(train.frame))
    return cached.once_per_run(run_id, "frames", lambda: replay_data(run.trace, X, y))


def shown(run_id: str, run: SolvedRun) -> Frame | None:
    """The tree that stands in place of the last one; None without a replay.

    Moves a replay on that goes by itself.
    """
    if session.panel(run_id) != session.REPLAY:
        return None
    found = frames(run_id, run)
    if not found:
        return None
    key, last = _slider_key(run_id), len(found) - 1
    started = session.state().playing.get(run_id)
    if started is not None:
        now = playing_position(started[0], time.monotonic() - started[1], len(found))
        st.session_state[key] = now
        if now == last:
            session.pause()
            st.rerun()
    return found[st.session_state.setdefault(key, last)]


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
            position = inputs.moment(title, words, _slider_key(run_id), on_change=session.pause)
    else:
        st.caption("The first tree was already the last one; only the bound moved.")
    frame = found[position]
    st.markdown(
        f"**Tree {position + 1} of {len(found)}**, {frame.source}, after "
        f"{text.seconds(frame.seconds)}: {text.percent(frame.accuracy)} right, "
        f"objective {text.number(frame.value)}, bound {text.number(frame.bound)}, "
        f"gap {text.gap(frame.gap)}"
    )
    optimum, _ = convergence.known_optimum(run_id, run)
    objective = get_formulation(run.formulation).info.objective
    record = convergence_data(run.trace, "gap", objective, optimum, run.is_optimal)
    absolute = not any(gap is not None for gap in record.gap)
    chart.show(
        convergence_figure(record, session.palette(), absolute, frame.seconds, GAP_HEIGHT),
        key=session.widget_key("replay_gap", run_id),
        alt=f"Convergence with a line at {text.seconds(frame.seconds)}; gap there "
        f"{text.gap(frame.gap)}",
    )


def _slider_key(run_id: str) -> str:
    return session.widget_key("replay", run_id)


def _play_button(run_id: str, n_frames: int) -> None:
    def start() -> None:
        shown = st.session_state.get(_slider_key(run_id), n_frames - 1)
        first = 0 if shown >= n_frames - 1 else shown
        session.state().playing = {run_id: (first, time.monotonic())}

    is_playing = session.state().playing.get(run_id) is not None
    if st.button(
        "Pause" if is_playing else "Play",
        key=session.widget_key("play", run_id),
        icon=":material/pause:" if is_playing else ":material/play_arrow:",
        on_click=session.pause if is_playing else start,
        help="Shows the trees one after the other, as the solve found them.",
        width="stretch",
    ):
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
    train = run.train
    view = cached.once_per_run(
        run_id,
        f"replay tree {position}",
        lambda: run_summary.view_of(frame.tree, run.encoding, train, words, proven),
    )
    key = session.widget_key("replay_tree", run_id)
    run_summary.still_tree(view, key, f"replay:{run_id}")
