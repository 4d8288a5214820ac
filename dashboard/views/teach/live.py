"""The tree under the points of the board, again after every move of one of them."""

from __future__ import annotations

import threading

import streamlit as st

from dashboard import session
from dashboard.server import jobs
from dashboard.server.job_view import JobView
from dashboard.teaching import lessons
from dashboard.teaching.lessons import Lesson
from dashboard.views.teach import trees as lesson_trees
from dashboard.widgets import live as part
from octcore.capabilities import Capability
from octcore.errors import OctError
from octcore.formulations.base import get_formulation
from octcore.plotting import text
from octcore.solving.run import SolvedRun
from octcore.solving.solve import solve

WAIT_SECONDS = 0.5
AT_ONCE_SECONDS = 0.3
"""What takes longer is given to a worker, and comes after the point has been put down."""
SEARCHES = frozenset(
    {
        Capability.GREEDY,
        Capability.PATH_SEARCH,
        Capability.THRESHOLD_SEARCH,
        Capability.ROUTING_SEARCH,
    }
)
_one_at_a_time = threading.Lock()


def _key(lesson: Lesson) -> str:
    return session.widget_key("lesson_live", ",".join(lesson.formulations))


def tree(lesson: Lesson, shown: Lesson) -> tuple[SolvedRun | None, JobView | None]:
    """The tree under the points, or the solve that will bring it; neither when none is wanted.

    `lesson`: with the points as they were put down.
    `shown`: with the points as they are being moved.
    """
    key = st.session_state.get(_key(lesson))
    if key is None or not lesson_trees.can_grow(shown):
        return None, None
    known = lesson_trees.run_view(lesson, key)
    if jobs.supervisor().is_warm or (known is not None and known.is_final):
        _has_kernels().set()
    if _has_kernels().is_set() and (run := _at_once(lessons.run_key(shown, key), shown, key)):
        return run, None
    if known is None:
        before = jobs.view(session.side_run("live"))
        if before is not None and not before.is_final:
            jobs.stop(before.id)  # its points have changed
        if lesson_trees.grow(lesson, (key,)):
            known = lesson_trees.run_view(lesson, key)
            session.remember_side_run(known.id if known else "", "live")
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
            run = solve(lessons.lesson_data(_lesson), **settings).solved
    except OctError:
        return None  # the worker says why
    is_final = run is not None and (run.is_optimal or run.certificate.method == "heuristic")
    return run if is_final else None


def watch(lesson: Lesson, run: SolvedRun | None, view: JobView | None) -> None:
    """Draw the choice of the tree under the points; looks again until it is there."""
    names = {key: get_formulation(key).info.teaching_text.name for key in lesson.formulations}
    st.pills(
        "Live tree under the points",
        list(names),
        format_func=lambda key: names[key],
        key=_key(lesson),
        persist_state="session",
        help="Grows again while you move a point.",
        wrap=True,
    )
    if run is not None:
        numbers = lesson_trees.numbers_of(run)
        st.caption(
            f"{text.percent(numbers.accuracy)} right, {text.count(numbers.leaves, 'leaf')}, "
            f"narrowest margin {text.number(numbers.narrowest, 2)}; {run.certificate.badge}."
        )
    elif view is not None and not view.is_final:
        key = view.id
        part.until(lambda: part.all_final([jobs.view(key)]), lambda: _wait(key), WAIT_SECONDS)


def _wait(run_id: str) -> None:
    view = jobs.view(run_id)
    if view is not None:
        st.caption(f"Growing, {text.seconds(view.elapsed)} …")
