"""How many good trees are there?  All of them counted, and their boundaries as a fan."""

from collections import Counter
from functools import partial

import plotly.graph_objects as go
import streamlit as st

from dashboard import cached, session
from dashboard.server.job_view import JobView
from dashboard.teaching import lessons
from dashboard.teaching.drawing import lesson_plane
from dashboard.teaching.lessons import Lesson
from dashboard.views.teach import trees as lesson_trees
from dashboard.widgets import inputs, live
from octcore.data.dataset import Dataset
from octcore.formulations.base import of_common_objective
from octcore.plotting import text
from octcore.plotting.palette import Palette
from octcore.plotting.plane_plot import plane_figure
from octcore.selection.alternatives import Alternatives

TASK, TASK_SECONDS = "alternatives", 60.0
ERRORS = (0, 1, 2, 3, 5)
FIRST_ERRORS = 1
FAINTEST, LEVELS = 0.15, 5
"""Opacity of a boundary that few trees have; steps up to one that all of them have."""


def draw(lesson: Lesson) -> None:
    """Draw the question, and the answer when it is there."""
    errors = st.select_slider(
        "Trees that cost at most so many errors more than the best one",
        ERRORS,
        value=FIRST_ERRORS,
        key="good_trees_errors",
        persist_state="session",
    )
    data = inputs.tried(lambda: lessons.lesson_data(lesson))
    if data is None:
        return
    tolerance = errors / data.n_samples
    solve = lessons.solve_settings(lesson, of_common_objective()[0].key)
    search = {k: solve[k] for k in ("encoding", "depth", "params", "time_limit")}
    settings = {"search": search | {"tolerance": tolerance}, "conditions": {"tolerance": tolerance}}
    question = (TASK, cached.data_token(data), data, settings, TASK_SECONDS)
    answer = partial(_answer, lesson, data, errors)
    live.answer(*question, draw=answer, doing="Counting the good trees")


def _answer(lesson: Lesson, data: Dataset, errors: int, job: JobView) -> None:
    record = cached.once_per_run(
        job.id, TASK, lambda: Alternatives.from_dict((job.result or {})["alternatives"])
    )
    left, right = st.columns([6, 5], gap="large")
    with left:
        palette = session.palette()
        figure = cached.once_per_run(
            job.id, f"fan {palette.name}", lambda: fan_figure(record, data, palette)
        )
        words = f"Points with the boundaries of {len(record.trees)} good trees"
        lesson_trees.show_plane(go.Figure(figure), "good_trees_fan", words)
    with right:
        _words(record, errors, float(lesson.settings["leaf_penalty"]) * data.n_samples)


def _words(record: Alternatives, errors: int, price: float) -> None:
    st.subheader("How many good trees are there?", anchor=False)
    counted = f"{price:g} error{'s' * (f'{price:g}' != '1')}"
    st.markdown(
        f"**{text.count(record.count, 'tree')}** of the same depth "
        + (
            "cost exactly as much as the best one."
            if errors == 0
            else f"cost at most {text.count(errors, 'error')} more than the best one."
        )
        + (f" Every leaf counts as {counted}." if price else "")
    )
    if record.count > len(record.trees):
        st.caption(f"The best {len(record.trees)} of them are drawn.")
    st.markdown(
        "Every line is a boundary of some of them, the stronger the more trees have it; "
        "where they fan out, the points do not say where to cut. The coloured ground is the best "
        "tree."
    )
    unsure = int((record.disagreement > 0).sum())
    st.markdown(
        f"**{text.count(unsure, 'point')}** of {len(record.disagreement)} would get another class "
        "from at least one of these trees."
    )


def fan_figure(record: Alternatives, data: Dataset, palette: Palette) -> go.Figure:
    """Draw the best tree, and over it the boundaries of all good trees, faint."""
    best = lesson_plane(record.trees[0].tree, record.encoding, data)
    figure = plane_figure(best, palette)
    counts = Counter(
        (start, end)
        for good in record.trees
        for lines in lesson_plane(good.tree, record.encoding, data).lines.values()
        for start, end in lines.line
    )
    levels = {s: int((n / len(record.trees)) ** 0.5 * LEVELS) for s, n in counts.items()}
    for k in range(LEVELS):
        own = [s for s, level in levels.items() if min(LEVELS - 1, level) == k]
        figure.add_scatter(
            x=[v for (a, b) in own for v in (a[0], b[0], None)],
            y=[v for (a, b) in own for v in (a[1], b[1], None)],
            mode="lines",
            name="boundaries",
            opacity=FAINTEST + (1 - FAINTEST) * k / (LEVELS - 1),
            line={"color": palette.accent, "width": 2},
            hoverinfo="skip",
        )
    return figure
