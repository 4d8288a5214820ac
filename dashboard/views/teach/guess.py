"""Where would you cut?  A tree by hand, its errors at once, then the greedy and the optimal one."""

from collections.abc import Mapping

import streamlit as st

from dashboard import session
from dashboard.teaching import lessons
from dashboard.teaching.drawing import guess_data, lesson_numbers
from dashboard.teaching.lessons import GUESS, Lesson
from dashboard.views.teach import trees as lesson_trees
from dashboard.widgets import live
from dashboard.widgets.drawing_board import show_guess
from octcore.formulations.base import baseline, of_common_objective
from octcore.plotting import text

DEEPEST = 2


def draw(lesson: Lesson) -> None:
    """Draw the cuts to drag, and on request the errors of the trees."""
    cuts = lessons.guess_from(st.query_params.get(GUESS), lesson.depth)
    left, right = st.columns([3, 2], gap="large")
    with left:
        key = session.widget_key("guess", session.state().lessons_opened, len(cuts))
        data = guess_data(*lessons.lesson_points(lesson), cuts, session.palette())
        show_guess(data, key, lambda c: st.query_params.update({GUESS: lessons.guess_words(c)}))
    with right:
        st.subheader("Where would you cut?", anchor=False)
        st.markdown(
            "Drag the lines. Each part takes the class that most of its points have; the others "
            "are errors."
        )
        _compare(lesson)


def _compare(lesson: Lesson) -> None:
    if not st.toggle("Show greedy and optimal", key="guess_reveal", persist_state="session"):
        return
    keys = {"Greedy": baseline().key, "Optimal": of_common_objective()[0].key}
    lesson_trees.draw_growing(lesson, tuple(keys.values()), lambda: _others(lesson, keys))
    price = float(lesson.settings["leaf_penalty"])
    if price:
        st.caption(
            f"The optimal tree counts {text.percent(price)} of the points for every leaf, so that "
            "a larger tree may have fewer errors."
        )
    if lesson.depth > DEEPEST:
        st.caption(f"These trees have depth {lesson.depth}; yours has depth {DEEPEST}.")


def _others(lesson: Lesson, keys: Mapping[str, str]) -> None:
    views = {name: lesson_trees.run_view(lesson, key) for name, key in keys.items()}
    is_live = not live.all_final(views.values())
    for place, (name, view) in zip(st.columns(2), views.items(), strict=True):
        run = None if view is None or not view.is_final else view.solved
        if run is None:
            place.caption(f"{name}: growing …" if is_live else f"{name}: there is no tree.")
            continue
        numbers = lesson_numbers(run)
        place.metric(f"{name}: errors", numbers.errors, help=text.count(numbers.leaves, "leaf"))
