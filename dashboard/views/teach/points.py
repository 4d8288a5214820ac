"""The first step of a lesson: the points, by recipe or by hand, and a tree that follows them."""

import threading
from dataclasses import replace
from typing import Any

import streamlit as st

from dashboard import session
from dashboard.server import jobs
from dashboard.server.job_view import JobView
from dashboard.teaching import lessons
from dashboard.teaching.drawing import Truth, board_data, lesson_numbers, lesson_plane
from dashboard.teaching.lessons import CLASSES, MOST_POINTS, Lesson, Points
from dashboard.views.solve import advice
from dashboard.views.teach import bar as lesson_bar
from dashboard.views.teach import trees as lesson_trees
from dashboard.widgets import inputs, live
from dashboard.widgets.drawing_board import show_board
from dashboard.widgets.parameter_form import help_of, label_of
from octcore.errors import OctError
from octcore.formulations.base import get_formulation
from octcore.parameters import FloatRange, IntRange, Parameter
from octcore.plotting import text
from octcore.program import Capability
from octcore.solving.run import SolvedRun
from octcore.solving.solve import solve as solve_here

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
MOST_SLIDER = 400  # sliders end here even where a recipe takes more: more points hide each other


def draw(lesson: Lesson) -> None:
    """Draw board and sliders."""
    left, right = st.columns([3, 2], gap="large")
    with right:
        part = lessons.part_of(lesson)
        if part is not None and lesson_bar.is_presenting():
            st.caption(f"Lesson {part + 1} of {len(lessons.course())}")
            st.header(lessons.course()[part].question, anchor=False)
        place = st.container()  # of the button, above the sliders: a projector shows it at once
        if not lesson_bar.is_presenting():
            lesson = _settings(lesson)
    moving = session.state().boards.get(_origin(lesson), (0, None))[1]
    shown = lesson if moving is None else lessons.with_points(lesson, moving)
    tree, solve = _live_tree(lesson, shown)
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
                **session.kept("truth", lesson.key),
                help="The lines that made the labels, and points whose label was turned over.",
            )
        _watch(lesson, tree, solve)
    with place:
        grow = lesson_trees.grow_and_step
        inputs.wide_button("Grow the trees", "park", "grow", on_click=grow)


def _settings(lesson: Lesson) -> Lesson:
    made = lessons.generator(lesson.key)
    record = lessons.to_dict(lesson)
    before = dict(record)
    if made is not None:
        st.caption(text.markdown(made.summary, 200))
    declared = () if made is None else made.parameters
    simple = [p for p in lessons.SETTINGS if not p.name.startswith("C_")]
    columns = st.columns(2)
    for position, parameter in enumerate((*declared, *simple)):
        with columns[position % 2]:
            record[parameter.name] = _slider(parameter, record[parameter.name], lesson.key)
    if made is not None and st.button(
        "As generated again",
        key="regenerate",
        icon=":material/restart_alt:",
        disabled=lesson.points is None,
        help="Takes back what was moved by hand.",
    ):
        record.pop("points")
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
            return session.state().lesson or lesson
        return lesson_bar.keep(lesson)
    return lesson


def _slider(parameter: Parameter, value: Any, owner: str) -> Any:
    called = LABELS.get(parameter.name, parameter.label)
    common: dict[str, Any] = {
        "label": label_of(replace(parameter, label=called)),
        "key": session.widget_key("lesson", session.state().lessons_opened, owner, parameter.name),
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
    return session.widget_key(session.state().lessons_opened, lesson.key, recipe)


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
    key = session.widget_key("board", session.state().lessons_opened)
    serial, plane = session.state().boards.get(origin, (0, None))[0], None
    if tree is not None:
        plane = lesson_plane(tree.tree, tree.encoding, tree.train, tree.formulation)
    data = board_data(points, codes, truth, palette, origin, serial, plane)

    def drawn(serial: int, points: Points, is_moving: bool) -> None:
        session.state().boards = {origin: (serial, points if is_moving else None)}
        if not is_moving:
            inputs.tried(lambda: lesson_bar.keep(lessons.with_points(lesson, points)))

    show_board(data, key, drawn)


AT_ONCE_SECONDS = 0.3
"""What takes longer is given to a worker, and comes after the point has been put down."""
SEARCHES = advice.SEARCHES | {Capability.GREEDY, Capability.ROUTING_SEARCH}
_one_at_a_time = threading.Lock()


def _live_key(lesson: Lesson) -> str:
    return session.widget_key("lesson_live", ",".join(lesson.formulations))


def _live_tree(lesson: Lesson, shown: Lesson) -> tuple[SolvedRun | None, JobView | None]:
    """The tree under the points, or the solve that will bring it; neither when none is wanted.

    `lesson`: with the points as they were put down.
    `shown`: with the points as they are being moved.
    """
    key = st.session_state.get(_live_key(lesson))
    classes = set(lessons.lesson_points(shown)[1].tolist())
    if key is None or len(classes) < len(CLASSES):
        return None, None
    known = lesson_trees.run_view(lesson, key)
    if jobs.supervisor().is_warm or (known is not None and known.is_final):
        _has_kernels().set()
    if _has_kernels().is_set() and (run := _at_once(lessons.run_key(shown, key), shown, key)):
        return run, None
    if known is None:
        before = jobs.view(session.state().live_run or None)
        if before is not None and not before.is_final:
            jobs.supervisor().stop(before.id)  # its points have changed
            # Points that come back get their whole tree.
            runs = session.state().lesson_runs.items()
            session.state().lesson_runs = {k: run for k, run in runs if run != before.id}
        if lesson_trees.grow(lesson, (key,)):
            known = lesson_trees.run_view(lesson, key)
            session.state().live_run = known.id if known else ""
    return (known.solved if known is not None and known.is_final else None), known


@st.cache_resource(show_spinner=False)
def _has_kernels() -> threading.Event:
    """Set once a worker has loaded the searches, so that nothing is compiled in the server."""
    return threading.Event()


@st.cache_resource(max_entries=64, show_spinner=False)
def _at_once(run_key: str, _lesson: Lesson, key: str) -> SolvedRun | None:
    """The final tree, searched here and now: starting a worker takes longer than the search."""
    if not SEARCHES & set(get_formulation(key).info.capabilities):
        return None
    settings = lessons.solve_settings(_lesson, key)
    settings |= {"time_limit": AT_ONCE_SECONDS, "verify": False}
    try:
        with _one_at_a_time:
            run = solve_here(lessons.lesson_data(_lesson), **settings).solved
    except OctError:
        return None  # the worker says why
    is_final = run is not None and (run.is_optimal or run.certificate.method == "heuristic")
    return run if is_final else None


def _watch(lesson: Lesson, run: SolvedRun | None, view: JobView | None) -> None:
    """Draw the choice of the tree under the points; looks again until it is there."""
    names = lessons.tree_names(lesson.formulations)
    st.pills(
        "Live tree under the points",
        list(names),
        format_func=lambda key: names[key],
        **session.kept(_live_key(lesson)),
        help="Grows again while you move a point.",
        wrap=True,
    )
    if run is not None:
        numbers = lesson_numbers(run)
        st.caption(
            f"{text.percent(numbers.accuracy)} right, {text.count(numbers.leaves, 'leaf')}, "
            f"narrowest margin {text.number(numbers.narrowest, 2)}; {run.certificate.badge}."
        )
    elif view is not None and not view.is_final:
        live.wait(view)
    elif view is not None:
        lesson_trees.no_tree(lesson, str(st.session_state[_live_key(lesson)]), view)
