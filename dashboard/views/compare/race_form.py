"""Choose two to four solves and start them together."""

from typing import Any

import streamlit as st

from dashboard import session
from dashboard.server import jobs
from dashboard.views.compare.presets import CUSTOM, Preset, fitting_presets, refusal, start_order
from dashboard.views.data import column_editor
from dashboard.widgets import inputs, settings_form
from octcore.data.dataset import Dataset
from octcore.plotting import text

FREE = Preset(
    CUSTOM,
    "Any formulations, encodings, depths or settings on the same rows.",
    (
        {"formulation": "flow-oct"},
        {"formulation": "bend-oct"},
        {"formulation": "path-search"},
        {"formulation": "cart", "encoding": "QT-5"},
    ),
)


def draw(data: Dataset) -> None:
    """Draw the form; the button starts all runs and compares them from then on."""
    if column_editor.asks_first():
        return
    presets = {preset.title: preset for preset in (*fitting_presets(data), FREE)}
    left, middle, right = st.columns([3, 1, 1])
    title = left.selectbox("What to compare", list(presets), **session.kept("race_preset"))
    with middle:
        limit = settings_form.limit_input("race_limit", words="For each run, from its own start.")
    with right:
        share = settings_form.share_input("race_share", 25, "The same rows for all runs.")
    preset = presets[title]
    st.caption(text.markdown(preset.question, 300))
    common: dict[str, Any] = {"time_limit": limit, **share}
    entrants = [{**entrant, **common} for entrant in _entrants(preset)]
    refusals = [refusal(settings, data) for settings in entrants]
    problems = [f"Run {number}: {words}" for number, words in enumerate(refusals, 1) if words]
    for problem in problems:
        inputs.say(problem)
    start, note = st.columns(2, vertical_alignment="center")
    label, is_wrong = f"Start {len(entrants)} runs", bool(problems)
    if inputs.wide_button(label, "play_arrow", "race_start", start, disabled=is_wrong):
        solves = {i: (data, entrants[i]) for i in start_order(entrants)}
        if started := inputs.tried(lambda: jobs.submit_all(session.token(), solves)):
            ids = [started[i] for i in range(len(entrants))]
            for run_id in reversed(ids):
                session.look_at(run_id)
            session.compare(ids)  # from now on
            st.rerun()
    cores = jobs.supervisor().cores
    if len(entrants) > cores:
        waiting = text.count(len(entrants) - cores, "run")
        words = f"{text.count(cores, 'core')}: {waiting} will wait until one is free."
        note.caption(f"This machine has {words} Each has a clock of its own.")


def _entrants(preset: Preset) -> list[dict[str, Any]]:
    """Draw one column per run; returns their settings."""
    count = len(preset.entrants)
    if preset.title == CUSTOM:
        count = st.segmented_control(
            "Number of runs", [2, 3, 4], default=2, required=True, key="race_count"
        )
    found = []
    for position, column in enumerate(st.columns(count)):
        with column.container(border=True):
            found.append(_entrant(preset, position))
    return found


def _entrant(preset: Preset, position: int) -> dict[str, Any]:
    given = preset.entrants[position]

    def key(*parts: object) -> str:
        return session.widget_key("race", preset.title, position, *parts)

    info = settings_form.formulation_input(
        key("formulation"), given["formulation"], f"Run {position + 1}"
    )
    chosen = info.key
    first, second = st.columns([3, 2])
    with first:
        encoding = settings_form.encoding_input(
            info, key("encoding", chosen), given.get("encoding", settings_form.AUTO)
        )
    with second:
        depth = settings_form.depth_input(info, key("depth", chosen), int(given.get("depth", 2)))
    params = dict(given.get("params", {})) if chosen == given["formulation"] else {}
    params = settings_form.params_popover(info, key(chosen), params)
    settings = {"formulation": chosen, "encoding": encoding, "depth": depth}
    return settings | ({"params": params} if params else {})
