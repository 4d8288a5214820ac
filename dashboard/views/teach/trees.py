"""The trees of a lesson: one at a time with its text, or all side by side."""

from collections.abc import Callable, Collection, Iterable
from functools import partial

import plotly.graph_objects as go
import streamlit as st

from dashboard import session
from dashboard.server import jobs
from dashboard.server.job_view import JobView
from dashboard.teaching import lessons
from dashboard.teaching.drawing import (
    LessonNumbers,
    Truth,
    add_truth,
    legend_parts,
    lesson_numbers,
    lesson_plane,
    truth_data,
    wide_bands,
)
from dashboard.teaching.lessons import Lesson
from dashboard.views.teach import bar as lesson_bar
from dashboard.widgets import chart, inputs, live, run_summary, thresholds
from octcore.formulations.base import get_formulation
from octcore.plotting import text
from octcore.plotting.plane_plot import plane_figure
from octcore.solving.run import SolvedRun

PER_LINE, SEEN = 3, 0.015  # trees beside each other; distance that an eye notices
ALL_NUMBERS = ("Right", "Errors", "Leaves", "Margin")


def truth_of(lesson: Lesson) -> Truth:
    """What is known about the points; nothing once they were moved by hand but the lines."""
    return truth_data(lessons.lesson_set(lesson), labels_too=lesson.points is None)


def shows_truth(lesson: Lesson) -> bool:
    """Whether the overlay is switched on."""
    return bool(st.session_state.get(session.widget_key("truth", lesson.key)))


def run_view(lesson: Lesson, key: str) -> JobView | None:
    """How the tree of a formulation stands; None when it was not asked for yet."""
    return jobs.view(session.state().lesson_runs.get(lessons.run_key(lesson, key)))


def grow(lesson: Lesson, keys: tuple[str, ...] = ()) -> bool:
    """Start the trees that are missing, by default all; says why it cannot; returns if it could."""
    with inputs.said():
        data = lessons.lesson_data(lesson)
        for key in keys or lesson.formulations:
            if run_view(lesson, key) is None:
                run = jobs.submit(session.token(), data, lessons.solve_settings(lesson, key))
                session.state().lesson_runs[lessons.run_key(lesson, key)] = run
        return True
    return False


def grow_and_step() -> None:
    """Start the trees that are missing and turn to the first; for callbacks."""
    # The lesson of now: this page may still be drawing the points that were moved a moment ago.
    lesson = session.state().lesson
    if lesson is not None and grow(lesson):
        lesson_bar.go_to(lesson, lesson.formulations[0])


def one(lesson: Lesson, key: str) -> None:
    """Draw one tree, large, with its text; it grows if it is not there."""
    draw_growing(lesson, (key,), lambda: _one(lesson, key))


def draw_growing(lesson: Lesson, keys: tuple[str, ...], draw: Callable[[], None]) -> None:
    """Start the trees that are missing, and draw them until none grows any more."""
    if grow(lesson, keys):
        live.until(lambda: live.all_final(run_view(lesson, key) for key in keys), draw)


def _one(lesson: Lesson, key: str) -> None:
    view = run_view(lesson, key)
    if view is None:
        return
    words = get_formulation(key).info.teaching_text
    left, right = st.columns([6, 7] if lesson_bar.is_presenting() else 2, gap="medium")
    with right:
        st.header(text.markdown(words.name), anchor=False)
        shown = view.solved if view.is_final else None
        if shown is not None:
            _numbers(lesson_numbers(shown))
            run_summary.small_tree(view.id, shown)
        st.markdown(words.idea)
        if shown is not None and not lesson_bar.is_presenting():
            look = words.look if shown.tree.splits else "No line is worth its price here."
            st.markdown(f":material/visibility: {look}")
            icon = ":material/account_tree:"
            if st.button("Explore this tree", icon=icon, key=f"lesson:{view.id}"):
                session.open_page("explore", view.id)
    with left:
        _legend(lesson, (key,))
        _picture(lesson, key, view)
        if shown is not None:
            _band_words(shown)
    if shown is not None and thresholds.has_moments(shown):
        st.header("Which thresholds were still open", anchor=False)
        thresholds.draw_moments(view.id, shown)


def side_by_side(lesson: Lesson) -> None:
    """Draw all trees of the lesson beside each other."""
    draw_growing(lesson, lesson.formulations, lambda: _all(lesson))


def _all(lesson: Lesson) -> None:
    names = lessons.tree_names(lesson.formulations)
    keys = list(names)
    _legend(lesson, keys)
    for start in range(0, len(keys), PER_LINE):
        line = keys[start : start + PER_LINE]
        for place, key in zip(st.columns(min(PER_LINE, len(keys)), gap="medium"), line):  # noqa: B905
            view = run_view(lesson, key)
            if view is None:
                continue
            with place:
                st.header(text.markdown(names[key]), anchor=False)
                _picture(lesson, key, view, lesson_bar.SMALL_PLANE)
                if view.is_final and view.solved is not None:
                    _numbers(lesson_numbers(view.solved), ("Right", "Errors", "Margin"))
                    run_summary.badge(view.solved)
                    _band_words(view.solved)


def _legend(lesson: Lesson, keys: Iterable[str]) -> None:
    """One legend for all pictures: they mean the same."""
    truth = truth_of(lesson) if shows_truth(lesson) else None
    with_margins = any(get_formulation(key).info.has_margins for key in keys)
    parts = legend_parts(session.palette(), truth, with_margins)
    size = "1.05rem" if lesson_bar.is_presenting() else "0.9rem"
    st.html(f'<div style="display:flex;flex-wrap:wrap;gap:4px 18px;font-size:{size}">{parts}</div>')


def _picture(lesson: Lesson, key: str, view: JobView, height: int = lesson_bar.PLANE) -> None:
    if not view.is_final:
        st.info(f"Growing: {text.markdown(view.words)}", icon=":material/hourglass_top:")
        return
    run = view.solved
    if run is None:
        no_tree(lesson, key, view)
        return
    palette = session.palette()
    record = lesson_plane(run.tree, run.encoding, run.train, run.formulation)
    figure = plane_figure(record, palette)
    if shows_truth(lesson):
        add_truth(figure, truth_of(lesson), palette)
    words = f"Plane of the lesson with the tree by {key}: {len(record.regions)} regions, "
    words += f"{len(record.dots.row)} points, {record.dots.wrong.sum()} of them misclassified"
    show_plane(figure, session.widget_key("lesson_plane", key, height), words, height)


def no_tree(lesson: Lesson, key: str, view: JobView) -> None:
    """Say why a tree did not grow, and offer to try once more."""
    forget = partial(session.state().lesson_runs.pop, lessons.run_key(lesson, key), None)
    live.no_result(view, "This ended without a tree.", forget)


def _band_words(run: SolvedRun) -> None:
    """Say how lines are drawn; last of all, so that what stands beside it is level."""
    if wide := wide_bands(run.tree, run.encoding, run.train):
        words = f"{text.count(len(wide), 'line')} without a band: the margin is wider than a fifth "
        change = " The prices of slack can be changed at the points."  # of MARGOT, that is
        st.caption(f"{words}of the picture.{change * ('C_upper' in run.settings['params'])}")
    banded = [s for n, s in run.tree.splits.items() if s.unit_margin and n not in wide]
    if any(abs(s.threshold + s.solved_offset) > SEEN * s.norm for s in banded):
        words = "Colours change between the nearest points of both sides, not always at a line"
        st.caption(f"{words} in the middle of a band: there new points part.")


def show_plane(figure: go.Figure, key: str, alt: str, height: int = lesson_bar.PLANE) -> None:
    """Place a plane of at least this height; on a projector it grows with the screen."""
    figure.update_layout(height=height, showlegend=False, margin={"t": 8})
    figure.update_yaxes(scaleanchor="x", constrain="domain")
    if lesson_bar.is_presenting():
        figure.update_layout(font={"size": 18})
        for update in (figure.update_xaxes, figure.update_yaxes):
            update(tickfont={"size": 18}, title_font={"size": 20})
    with st.container(key=f"plane_{height}_{key}"):
        chart.show(figure, key=key, alt=alt, height="stretch")


def _numbers(numbers: LessonNumbers, shown: Collection[str] = ALL_NUMBERS) -> None:
    words = "Width of the narrowest empty strip around a line right above two leaves, in units of "
    words += "the axes; points that do not come to that line do not count."
    entries = (
        ("Right", text.percent(numbers.accuracy), None),
        ("Errors", str(numbers.errors), None),
        ("Leaves", str(numbers.leaves), None),
        ("Margin", text.number(numbers.narrowest, 2), words),
    )
    chart.numbers(entry for entry in entries if entry[0] in shown)
