"""A race: one chart for all runs, and below it how each of them stands."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from dashboard import session
from dashboard.server import jobs
from dashboard.server.job_view import JobView
from dashboard.views.compare.race_entrants import entrants_of
from dashboard.views.compare.swatch import swatch
from dashboard.widgets import chart, inputs, live, open_thresholds, run_summary
from octcore.plotting import text
from octcore.plotting.race import (
    Entrant,
    Race,
    Scale,
    known_optimum,
    race_data,
    race_figure,
    ran_together,
)

SECONDS_BETWEEN = 1.0
SCALES: dict[str, Scale] = {
    "relative gap": "gap",
    "incumbent and bound": "objective",
    "accuracy": "accuracy",
}


def draw(views: Sequence[JobView]) -> None:
    """Draw the race; polls only while a run goes on."""
    ids = [view.id for view in views]

    def now() -> list[JobView]:
        return [view for key in ids if (view := jobs.view(key)) is not None]

    live.until(lambda: live.all_final(now()), lambda: _race(now()), SECONDS_BETWEEN)


def _race(views: Sequence[JobView]) -> None:
    scale = SCALES[inputs.switch("Scale", list(SCALES), "race_scale")]
    entrants = entrants_of(views, scale == "accuracy")
    _chart(race_data(entrants, scale), live.all_final(views))
    _words(entrants, scale)
    for place, view, entrant, index in zip(
        st.columns(len(views)), views, entrants, range(len(views)), strict=True
    ):
        with place.container(border=True):
            _standing(view, entrant, index)


def _chart(race: Race, done: bool) -> None:
    if not race.series:
        words = "None of these runs has a bound, so there is no gap to draw; look at accuracy."
        st.info(words if done else "The lines start with the first tree and the first bound.")
        return
    words = f"{race.title} of {len(race.labels)} runs over {text.seconds(race.end)}"
    chart.show(race_figure(race, session.palette()), key=f"race_{race.scale}", alt=words)
    if race.left_out:
        names = ", ".join(text.markdown(label) for label in race.left_out)
        st.caption(
            f"Not drawn: {names}. Their objective is another one; accuracy and gap compare all."
        )


def _words(entrants: Sequence[Entrant], scale: Scale) -> None:
    words = [text.markdown(ran_together(entrants), 500)]
    optimum, by = known_optimum(entrants)
    if optimum is not None:
        words.append(f"The optimum {optimum:.5g} is proven by {text.markdown(by)}.")
        others = [text.markdown(e.label) for e in entrants if e.problem != entrants[0].problem]
        if others:
            words.append(
                f"It is not that of {', '.join(others)}, with other features, depth or objective."
            )
    if scale == "objective":
        words.append("Thin lines are bounds.")
    if any(e.proven is not None for e in entrants):
        words.append("A star marks a proof.")
    st.caption(" ".join(words))


def _standing(view: JobView, entrant: Entrant, index: int) -> None:
    """Say how one run stands, with its own Stop."""
    swatch(index, entrant.label)
    last = view.trace.events[-1] if len(view.trace) else None
    first, second = st.columns(2)
    if view.run is not None and view.run.tree is not None:
        (name, share, words), _, leaves = run_summary.headline_entries(view.run)
        first.metric(name, share, help=words)
        second.metric(leaves[0], leaves[1])
    else:
        first.metric("Best so far", text.number(last.incumbent if last else None))
        second.metric("Gap", text.gap(last.gap if last else None))
    st.caption(f"{standing_words(view)} · {text.seconds(_seconds(view))}")
    if view.run is not None:
        for sentence in view.run.certificate.sentences[:1]:
            st.caption(text.markdown(sentence[:1].upper() + sentence[1:], 300))
    if not view.is_final:
        open_thresholds.draw_live(view)
        live.stop(view, "Ends this run and keeps its best tree.", "stretch")


def _seconds(view: JobView) -> float | None:
    """Seconds on the clock of the chart: from the start of encoding."""
    return view.elapsed if view.run is None else view.run.timings.get("total")


def standing_words(view: JobView) -> str:
    """Say in a few words how a run stands."""
    if view.state == "queued":
        return f"waiting, place {view.position} in the queue"
    if view.run is not None:
        return text.markdown(view.run.badge)
    if view.error is not None:
        return text.markdown(view.error.message, 200)
    phases = {"build": "building the model", "compile": "compiling the model"}
    return text.markdown(phases.get(view.phase, view.phase) or view.state)
