"""A race: one chart for all runs, and below it how each of them stands."""

import html
import json
import time
from collections.abc import Sequence
from functools import partial

import streamlit as st

from dashboard import cached, session
from dashboard.server import jobs
from dashboard.server.job_view import JobView
from dashboard.views.compare.presets import short_labels
from dashboard.views.solve.advice import given_settings
from dashboard.widgets import chart, inputs, live, thresholds
from octcore.data.dataset import Dataset
from octcore.encoding.base import Encoding
from octcore.errors import OctError
from octcore.formulations.base import objective_words
from octcore.plotting import gap_plot, text
from octcore.solving.settings import question
from octcore.tree import metrics
from octcore.tree.tree import Tree

LIVE_WIDTH = 1180
SCALES: dict[str, gap_plot.Scale] = {
    "relative gap": "gap",
    "incumbent and bound": "objective",
    "accuracy": "accuracy",
}


def draw(views: Sequence[JobView]) -> list[JobView]:
    """Draw the race; polls only while a run goes on.  Returns how the runs stand after it."""
    ids = [view.id for view in views]

    def now() -> list[JobView]:
        return [view for key in ids if (view := jobs.view(key)) is not None]

    def part() -> None:
        if len(known := now()) < len(ids):
            st.rerun()  # the page says that some were deleted meanwhile
        _race(known)

    live.until(lambda: live.all_final(now()), part)
    return now()  # those that ended since the page began draw nothing again by themselves


def _race(views: Sequence[JobView]) -> None:
    scale = SCALES[inputs.switch("Scale", list(SCALES), "race_scale")]
    entrants = entrants_of(views, scale == "accuracy")
    _chart(gap_plot.race_data(entrants, scale), live.all_final(views))
    st.caption(text.markdown(gap_plot.race_words(entrants, scale), 1200))
    for place, view, entrant, index in zip(
        st.columns(len(views)), views, entrants, range(len(views)), strict=True
    ):
        with place.container(border=True):
            _standing(view, entrant, index)


def _chart(race: gap_plot.Race, done: bool) -> None:
    if not race.series:
        words = "None of these runs has a bound, so there is no gap to draw; look at accuracy."
        st.info(words if done else "The lines start with the first tree and the first bound.")
        return
    words = f"{race.title} of {len(race.labels)} runs over {text.seconds(race.end)}"
    figure = gap_plot.race_figure(race, session.palette())
    if done:
        chart.show(figure, key=f"race_{race.scale}", alt=words)
    else:
        chart.live(figure, words, LIVE_WIDTH)
    if race.left_out:
        names = ", ".join(text.markdown(label) for label in race.left_out)
        st.caption(
            f"Not drawn: {names}. Their objective is another one; accuracy and gap compare all."
        )


def _standing(view: JobView, entrant: gap_plot.Entrant, index: int) -> None:
    """Say how one run stands, with its own Stop."""
    swatch(index, entrant.label)
    last = view.trace.events[-1] if len(view.trace) else None
    first, second = st.columns(2)
    if view.run is not None and view.run.tree is not None:
        part, share = ("held out", view.run.test_accuracy) if view.run.n_test else (
            "training", view.run.accuracy
        )  # fmt: skip
        first.metric(f"Accuracy, {part}", text.percent(share))
        second.metric("Leaves", view.run.tree.n_leaves)
    else:
        first.metric("Best so far", text.number(last.incumbent if last else None))
        second.metric("Gap", text.gap(last.gap if last else None))
    words = view.words if view.error is None else view.error.message
    if view.run is not None:  # on the clock of the chart: from the start of encoding
        words = f"{view.run.badge} · {text.seconds(view.run.timings.get('total'))}"
    st.caption(text.markdown(words, 500))
    if not view.is_final:
        thresholds.draw_live(view)
        live.stop(view, words="Ends this run and keeps its best tree.", width="stretch")
    elif view.run is None and live.again(view.id) and (started := _again(view)):
        session.compare([started if key == view.id else key for key in session.compared()])
        st.rerun()


def _again(view: JobView) -> str | None:
    """Start a run anew that has no result; returns its id."""
    data = jobs.rows(view)
    if data is None:
        inputs.say("The rows of this run are gone; load the data and start it again.")
        return None
    settings = given_settings(view.settings)
    return inputs.tried(lambda: jobs.submit(session.token(), data, settings, view.title))


def labels_of(views: Sequence[JobView]) -> tuple[str, ...]:
    """Short names of solves by what differs, the data included."""
    # A tree that somebody kept is none that its formulation's search ended with.
    kept = {i: "Near-optimal tree" for i, view in enumerate(views)
            if view.run and view.run.certificate.method == "near-optimal"}  # fmt: skip
    return short_labels([view.settings for view in views], kept, [*map(data_name, views)])


def data_name(view: JobView) -> str:
    """Name of the data of a solve."""
    if view.data is not None:
        return view.data.name
    settings = view.settings if view.run is None else view.run.settings
    return str(dict(settings.get("data") or {}).get("name", "data"))


def entrants_of(views: Sequence[JobView], with_accuracy: bool) -> tuple[gap_plot.Entrant, ...]:
    """Turn solves into what the race draws; accuracies, of every incumbent, take a while."""
    return tuple(
        gap_plot.Entrant(
            label,
            view.trace,
            objective_words(view.settings if (run := view.run) is None else run.settings),
            cached.once_per_run(view.id, "problem", partial(problem_of, view)),
            run.objective if run and run.is_proven else None,
            None if view.started is None else (view.started, view.finished or time.time()),
            _accuracies(view) if with_accuracy else (),
            0.0 if view.is_final else view.elapsed,
        )
        for view, label in zip(views, labels_of(views), strict=True)
    )


def problem_of(view: JobView) -> str:
    """Text that is equal for solves of the same problem: an optimum of one is that of the other."""
    part, run = _rows(view), view.run
    if part is None or (run is not None and run.sample_weight is not None):
        return view.id
    try:
        asked = question(view.settings)
    except OctError:
        return view.id  # of the history, with settings that are none any more
    return json.dumps([asked, cached.data_token(part[0])], sort_keys=True, default=str)


def _rows(view: JobView) -> tuple[Dataset, Encoding] | None:
    if view.run is not None and view.run.train is not None:
        return view.run.train, view.run.encoding
    if view.data is None:
        return None
    return cached.training_part(view.data, view.settings)


def _accuracies(view: JobView) -> tuple[float, ...]:
    part = _rows(view)
    if part is None:
        return ()
    train, encoding = part

    def accuracy(tree: Tree) -> float:
        return metrics.accuracy(tree, tree.encoded(encoding, train.frame), train.codes)

    trees = [event.tree for event in view.trace.incumbents if event.tree is not None]
    return tuple(
        cached.once_per_run(view.id, f"accuracy of tree {i}", partial(accuracy, tree))
        for i, tree in enumerate(trees)
    )


MARKS = "●■▲◆"
STYLES = ("solid", "dashed", "dotted", "double")
"""Streamlit lets no SVG into its HTML, but borders come in these styles."""


def swatch(index: int, label: str) -> None:
    """Draw colour, dash and mark of the run at a position, and its name."""
    colour = session.palette().class_colour(index)
    mark, style = MARKS[index % 4], STYLES[index % 4]
    line = f'<span style="width:.9rem;flex:none;border-top:3px {style} {colour}"></span>'
    st.html(
        '<div style="display:flex;align-items:center;gap:.15rem;font-weight:600;line-height:1.25">'
        f'{line}<span style="color:{colour}" aria-hidden="true">{mark}</span>{line}'
        f'<span style="margin-left:.45rem">{html.escape(text.printable(label, 80))}</span></div>'
    )
