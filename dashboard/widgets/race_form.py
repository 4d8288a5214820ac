"""Choose two to four solves and start them together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import streamlit as st

from dashboard import jobs, session, text
from dashboard.race_presets import CUSTOM, Preset, fitting_presets, start_order
from dashboard.widgets.parameter_form import parameter_form
from octcore.data.dataset import Dataset
from octcore.encoding.keys import encoding_keys
from octcore.errors import OctError
from octcore.formulations.base import FormulationInfo, list_formulations
from octcore.settings import check_against_data, check_settings

AUTO = "auto"
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
    """Draw the form; the button starts all runs and compares them from then on.

    Parameters
    ----------
    data : Dataset
        The current data.
    """
    if data.y is None:
        st.warning("Choose the column to predict on the Data page first.")
        return
    presets = {preset.title: preset for preset in (*fitting_presets(data), FREE)}
    left, middle, right = st.columns([3, 1, 1])
    title = left.selectbox(
        "What to compare", list(presets), key="race_preset", persist_state="session"
    )
    limit = middle.number_input(
        "Time limit (s)",
        value=60.0,
        min_value=1.0,
        max_value=86400.0,
        step=10.0,
        format="%g",
        key="race_limit",
        persist_state="session",
        help="For each run, from its own start.",
    )
    share = right.slider(
        "Held out",
        value=25,
        min_value=0,
        max_value=50,
        step=5,
        format="%d %%",
        key="race_share",
        persist_state="session",
        help="The same rows are held out for all runs.",
    )
    preset = presets[title]
    st.caption(preset.question)
    common: dict[str, Any] = {"time_limit": limit}
    if share:
        common["test_size"] = share / 100
    entrants = [{**entrant, **common} for entrant in _entrants(preset)]
    problems = _problems(entrants, data)
    for problem in problems:
        st.error(text.markdown(problem, 400), icon=":material/error:")
    start, note = st.columns([1, 2], vertical_alignment="center")
    if start.button(
        f"Start {len(entrants)} runs",
        key="race_start",
        type="primary",
        icon=":material/play_arrow:",
        width="stretch",
        disabled=bool(problems),
    ):
        start_race(data, entrants)
    note.caption(_cores_words(len(entrants)))


def _cores_words(n_runs: int) -> str:
    cores = jobs.cores()
    if n_runs <= cores:
        return "All of them run side by side, each on a core of its own."
    return (
        f"This machine has {text.count(cores, 'core')}: {cores} run side by side, the others wait "
        "in the queue and have a clock of their own."
    )


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
    infos = {info.key: info for info in list_formulations()}
    keys = list(infos)

    def key(*parts: object) -> str:
        return session.widget_key("race", preset.title, position, *parts)

    chosen = st.selectbox(
        f"Run {position + 1}",
        keys,
        index=keys.index(given["formulation"]),
        format_func=lambda name: infos[name].title,
        key=key("formulation"),
    )
    info = infos[chosen]
    first, second = st.columns([3, 2])
    with first:
        encoding = _encoding(info, given.get("encoding", AUTO), key("encoding", chosen))
    depth = second.number_input(
        "Depth",
        value=int(given.get("depth", 2)),
        min_value=1,
        max_value=info.max_depth,
        key=key("depth", chosen),
    )
    params = dict(given.get("params", {})) if chosen == given["formulation"] else {}
    params = _params(info, params, key(chosen))
    settings = {"formulation": chosen, "encoding": encoding, "depth": int(depth)}
    return settings | ({"params": params} if params else {})


def _encoding(info: FormulationInfo, given: str, key: str) -> str:
    options = [
        AUTO,
        *(k for k in encoding_keys() if not info.needs_binary_features or k != "scaled"),
    ]
    if given not in options:
        options.append(given)
    return st.selectbox(
        "Encoding",
        options,
        index=options.index(given),
        format_func=lambda name: f"auto ({info.default_encoding})" if name == AUTO else name,
        key=key,
        accept_new_options=True,
        help="Type QT-8 or QB-8 for other numbers of quantiles.",
    )


def _params(info: FormulationInfo, given: Mapping[str, Any], key: str) -> dict[str, Any]:
    """Draw the hyperparameters behind a button, with the preset's values filled in."""
    declared = [
        replace(parameter, default=given.get(parameter.name, parameter.default))
        for parameter in info.hyperparameters
    ]
    if not declared:
        return {}
    with st.popover("Settings", icon=":material/tune:", width="stretch", key=key):
        params = dict(given) | parameter_form(declared, key, str(info.reference))
    if params:
        st.caption(", ".join(f"{text.markdown(k)} = {text.markdown(v)}" for k, v in params.items()))
    return params


def _problems(entrants: Sequence[Mapping[str, Any]], data: Dataset) -> list[str]:
    """Say what cannot be solved, in one sentence each."""
    found = []
    for position, settings in enumerate(entrants, start=1):
        try:
            check_against_data(check_settings(**settings), data)
        except OctError as error:
            found.append(f"Run {position}: {error.message}")
    return found


def start_race(data: Dataset, entrants: Sequence[Mapping[str, Any]]) -> None:
    """Start all runs or none, and compare them from now on.

    Parameters
    ----------
    data : Dataset
        Rows for all.
    entrants : sequence of mapping
        Keywords of `octcore.solve`.
    """
    ids: dict[int, str] = {}
    try:
        for position in start_order(entrants):
            ids[position] = jobs.submit(session.token(), data, entrants[position])
    except OctError as error:
        for run_id in ids.values():
            jobs.stop(run_id)
        st.error(text.markdown(error.message, 400), icon=":material/error:")
        return
    for run_id in reversed([ids[i] for i in range(len(entrants))]):
        session.look_at(run_id)
    session.compare([ids[i] for i in range(len(entrants))])
    st.rerun()
