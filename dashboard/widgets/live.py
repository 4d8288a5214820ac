"""A job on a page: asked for once, drawn while it goes on, stopped, and asked for again."""

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import streamlit as st

from dashboard import session
from dashboard.server import jobs
from dashboard.server.job_view import HELPER, JobView, title_of
from dashboard.widgets import inputs
from octcore.data.dataset import Dataset
from octcore.plotting import text
from octcore.solving.run import SolvedRun

SECONDS_BETWEEN = 0.8
GRACE_SECONDS = 20.0  # a worker ends itself at its time limit; this much later it is ended
AT_ONCE_SECONDS = 1.0  # how long a page waits for an answer of which most take a fraction of that


def until(
    is_over: Callable[[], bool],
    draw: Callable[[], None],
    was_over: bool | None = None,
    every: float = SECONDS_BETWEEN,
) -> None:
    """Draw a part of the page, again and again until something is over.

    Then the whole page is drawn once: that ends the polling, and opens what needs the result.
    `was_over`: whether it was over when the rest of the page was drawn; by default asked now.
    """
    was_over = is_over() if was_over is None else was_over

    def part() -> None:
        has_ended = not was_over and is_over()
        draw()  # first: what was pressed a moment ago would be lost by drawing the page anew
        if has_ended:
            st.rerun()

    st.fragment(part, run_every=None if was_over else every)()


def all_final(views: Iterable[JobView | None]) -> bool:
    """Whether none of some jobs goes on."""
    return all(view is None or view.is_final for view in views)


def ask(
    what: str,
    about: str,
    data: Dataset,
    settings: Mapping[str, Any],
    seconds: float | None = None,
    pressed: bool | None = None,
    run: SolvedRun | None = None,
) -> str | None:
    """The task that answers a question; started once for all who ask it.

    `what`: key of a task of `octcore.selection.tasks`; it is ended after so many `seconds`, by
    default a little after its own time limit.
    `about`: the run, or a hash of the rows, that the question is about.
    `pressed`: whether the button of the question was pressed just now; without one the task starts
    by itself, and after a failure the page says why and offers to try again.
    `run`: goes with the settings of the task, if that needs more of it than its rows.
    """
    key = (f"{what}:{json.dumps(dict(settings), sort_keys=True, default=str)}", about)
    if pressed is None and (message := jobs.failure(key)):
        st.warning(text.markdown(message, 400), icon=":material/error:")
        if again(*key):
            del jobs.followers()[key]
            st.rerun()  # without what the failure said
        return None
    if pressed is False:
        return jobs.follower(key)
    limit = settings["time_limit"] + GRACE_SECONDS if seconds is None else seconds
    given = (key, session.token(), data, what, settings, limit, run, pressed is None)
    return inputs.tried(lambda: jobs.once(*given))


def answer(
    *question: Any,
    draw: Callable[[JobView], None],
    doing: str = "",
    at_once: bool = False,
    **more: Any,
) -> str | None:
    """Ask as `ask` does and draw the task as `task` does, `at_once`: most often with its answer."""
    key = ask(*question, **more)
    if key is not None and at_once and jobs.supervisor().wait(key, AT_ONCE_SECONDS):
        key = ask(*question, **more)  # it may have failed by now: that is said with a way to go on
    if key is not None:
        task(key, draw, doing)
    return key


def press(label: str, *question: Any, run: SolvedRun | None = None, **look: Any) -> None:
    """Draw the button that asks a question, unless it is being answered or has its answer."""
    known = ask(*question, pressed=False)
    if known is not None and not jobs.task(known).message:
        return
    key = session.widget_key(*question[:2])
    if st.button(label, key=key, **look) and (asked := ask(*question, pressed=True, run=run)):
        jobs.supervisor().wait(asked, AT_ONCE_SECONDS)  # what stands above may show the answer too
        st.rerun()  # without the button


def solve(what: str, about: str, data: Dataset, settings: Mapping[str, Any]) -> JobView | None:
    """The solve that belongs to a question about a run; started once for all who ask it."""
    known = jobs.view(jobs.followers().get((what, about)))
    if known is not None:
        return known
    name = f"{HELPER} of What if or Alternatives) {title_of(settings, data.name)}"
    started = inputs.tried(lambda: jobs.submit(session.token(), data, settings, name))
    if started is not None:
        jobs.followers()[what, about] = started
    return jobs.view(started)


def wait(view: JobView) -> None:
    """Say what a solve does until it has ended."""
    key = view.id

    def words() -> None:
        if now := jobs.view(key):
            st.caption(text.markdown(now.words))

    until(lambda: all_final([jobs.view(key)]), words, view.is_final)


def task(key: str, draw: Callable[[JobView], None], doing: str = "") -> None:
    """Draw a task: what it does with a Stop, why it has no result, and what it has told so far.

    `draw`: draws the task once it has a result, or parts of one.
    `doing`: what it does, in words; a task that says it in its own way has none.
    """

    def part() -> None:
        job = jobs.task(key)
        if not job.is_final and doing:
            st.info(f"{doing}: {text.markdown(job.words, 200)}", icon=":material/hourglass_top:")
            stop(job)
        if job.message:
            st.warning(text.markdown(job.message, 400), icon=":material/error:")
        if job.result is not None or job.parts:
            draw(job)

    until(lambda: jobs.task(key).is_final, part)


def no_result(job: JobView, otherwise: str, question: tuple[str, str] | None = None) -> None:
    """Say why a job that has ended has no result; `otherwise` where it does not know.

    `question`: what it answers, and about which run; the reader may have it asked anew.
    """
    st.warning(text.markdown(job.error.message if job.error else otherwise, 500))
    if question is not None and again(job.id):
        jobs.followers().pop(question, None)
        st.rerun()


def again(*parts: object, label: str = "Try again") -> bool:
    """Draw the button that tries once more; returns whether it was pressed."""
    return st.button(label, icon=":material/refresh:", key=session.widget_key("again", *parts))


def stop(*stopped: JobView, words: str = "", width: Any = "content") -> None:
    """Draw the button that stops a job, or several; `words` say what is kept."""
    if st.button(
        "Stop",
        key=session.widget_key("stop", *[job.id for job in stopped]),
        icon=":material/stop_circle:",
        width=width,
        disabled=all(job.state == "stopping" for job in stopped),
        help=words or None,
    ):
        for job in stopped:
            jobs.supervisor().stop(job.id)
        # Not of the part alone: pressed while the page is redrawn, the button is part of that.
        st.rerun()
