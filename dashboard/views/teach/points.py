"""The first step of a lesson: the points, by recipe or by hand."""

from __future__ import annotations

from typing import Any

import streamlit as st

from dashboard import session
from dashboard.teaching import lessons
from dashboard.teaching.drawing import Truth, board_data, lesson_plane
from dashboard.teaching.lessons import CLASSES, MOST_POINTS, Lesson, Points
from dashboard.views.teach import bar as lesson_bar
from dashboard.views.teach import live
from dashboard.views.teach import trees as lesson_trees
from dashboard.widgets import inputs
from dashboard.widgets.drawing_board import show_board
from dashboard.widgets.parameter_form import help_of, label_of
from octcore.errors import OctError
from octcore.parameters import FloatRange, IntRange, Parameter
from octcore.plotting import text
from octcore.solving.run import SolvedRun

LABELS = {
    "n": "Number of points",
    "gamma": "Room at the lines",
    "noise": "Noise on the place",
    "flip": "Noise on the class",
    "seed": "Seed",
    "depth": "Depth of the trees",
    "leaf_penalty": "Price of a leaf",
    "C_upper": "Price of slack, upper lines",
    "C_last": "Price of slack, last lines",
}
MOST_SLIDER = 400
"""Sliders end here even where a recipe takes more: more points hide each other."""


def draw(lesson: Lesson) -> None:
    """Draw board and sliders."""
    left, right = st.columns([3, 2], gap="large")
    if not lesson_bar.is_presenting():
        with right:
            lesson = _settings(lesson)
    moving = session.board(_origin(lesson))[1]
    shown = lesson if moving is None else lessons.with_points(lesson, moving)
    tree, solve = live.tree(lesson, shown)
    with left:
        _board(lesson, shown, tree)
    with right:
        _, codes = lessons.lesson_points(lesson)
        counts = [int((codes == k).sum()) for k in range(len(CLASSES))]
        parts = [f"{n} of class {name}" for n, name in zip(counts, CLASSES, strict=True)]
        st.markdown(f"**{text.count(sum(counts), 'point')}**: {', '.join(parts)}")
        if lesson_trees.truth_of(lesson).is_known and not lesson_bar.is_presenting():
            st.toggle(
                "Show the truth",
                key=session.widget_key("truth", lesson.key),
                persist_state="session",
                help="The lines that made the labels, and points whose label was turned over.",
            )
        live.watch(lesson, tree, solve)
        lesson_trees.grow_button(lesson)


def _settings(lesson: Lesson) -> Lesson:
    made = lessons.generator(lesson.key)
    record = {k: v for k, v in lessons.to_dict(lesson).items() if k not in {"format", "version"}}
    before = dict(record)
    if made is not None:
        st.caption(text.markdown(made.summary, 200))
    if made is not None and lesson.points is not None:
        st.caption(":material/draw: Edited by hand.")
        if st.button("As generated again", key="regenerate", icon=":material/restart_alt:"):
            record.pop("points")
    declared = () if made is None else made.parameters
    simple = [p for p in lessons.SETTINGS if not p.name.startswith("C_")]
    columns = st.columns(2)
    for position, parameter in enumerate((*declared, *simple)):
        with columns[position % 2]:
            record[parameter.name] = _slider(parameter, record[parameter.name], lesson.key)
    with st.expander("Margin trees"):
        for place, parameter in zip(st.columns(2), lessons.SETTINGS[len(simple) :], strict=True):
            with place:
                record[parameter.name] = _slider(parameter, record[parameter.name], lesson.key)
    if record != before:
        if any(record[p.name] != before[p.name] for p in declared):
            record.pop("points", None)
        try:
            lesson = lessons.lesson_from(record)
            lessons.lesson_points(lesson)
        except OctError as error:
            inputs.say(error, 300)
            return session.lesson() or lesson
        lesson_bar.keep(lesson)
    return lesson


def _label(parameter: Parameter) -> str:
    symbol = f" $\\,{parameter.symbol}$" if parameter.symbol else ""
    name = LABELS.get(parameter.name)
    return label_of(parameter) if name is None else name + symbol


def _slider(parameter: Parameter, value: Any, owner: str) -> Any:
    common: dict[str, Any] = {
        "label": _label(parameter),
        "key": session.widget_key("lesson", session.lesson_opened(), owner, parameter.name),
        "help": help_of(parameter),
    }
    if parameter.name == "seed" and isinstance(parameter, IntRange):
        return st.number_input(value=value, min_value=0, max_value=parameter.high, **common)
    if isinstance(parameter, IntRange):
        high = min(parameter.high or MOST_SLIDER, max(MOST_SLIDER, int(value)))
        return st.slider(value=int(value), min_value=parameter.low, max_value=high, **common)
    assert isinstance(parameter, FloatRange)
    if parameter.log:
        return st.number_input(
            value=float(value), min_value=parameter.low, max_value=parameter.high,
            step=float(value), format="%g", **common,
        )  # fmt: skip
    high = 0.2 if parameter.name == "leaf_penalty" else parameter.high
    step = 0.005 if high <= 0.2 else 0.01
    return st.slider(
        value=float(value), min_value=parameter.low, max_value=max(high, float(value)), step=step,
        **common,
    )  # fmt: skip


def _origin(lesson: Lesson) -> str:
    """Where the points of the board come from; its own changes are no other origin."""
    recipe = sorted(lesson.recipe.items())
    return session.widget_key(session.lesson_opened(), lesson.key, recipe)


def _board(lesson: Lesson, shown: Lesson, tree: SolvedRun | None) -> None:
    points, codes = lessons.lesson_points(shown)
    palette = session.palette()
    truth = lesson_trees.truth_of(lesson) if lesson_trees.shows_truth(lesson) else Truth()
    if len(points) > MOST_POINTS:
        st.info(
            f"Up to {MOST_POINTS} points can be moved by hand; these are {len(points)}. Choose "
            "fewer points to draw."
        )
        return
    origin = _origin(lesson)
    key = session.widget_key("board", session.lesson_opened())
    data = board_data(
        points,
        codes,
        truth,
        palette,
        origin,
        session.board(origin)[0],
        None if tree is None else lesson_plane(tree.tree, tree.encoding, tree.train),
    )

    def drawn(serial: int, points: Points, is_moving: bool) -> None:
        session.keep_board(origin, serial, points if is_moving else None)
        if not is_moving:
            try:
                lesson_bar.keep(lessons.with_points(lesson, points))
            except OctError as error:
                inputs.say(error, 300)

    show_board(data, key, drawn)
