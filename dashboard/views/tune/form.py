"""What a model selection tries: formulation, values of its settings, protocol, and how long."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import streamlit as st

from dashboard import session
from dashboard.server import history, jobs
from dashboard.server.tunings import (
    CHOICES,
    Plan,
    Work,
    axes_of,
    first_axes,
    suggested,
    values_of,
    work_of,
)
from dashboard.widgets import inputs, settings_form
from dashboard.widgets.parameter_form import help_of, label_of
from octcore.data.dataset import Dataset
from octcore.errors import OctError
from octcore.formulations.base import FormulationInfo, of_common_objective
from octcore.parameters import Parameter
from octcore.plotting import text
from octcore.plotting.tuning_plot import value_words
from octcore.selection.protocols import get_protocol

FIRST = of_common_objective()[0].key
"""Proves a small tree in an instant, so that a newcomer sees a whole table at once."""
PROTOCOLS = ("k-fold", "10-fold", "repeated", "nested", "75/25", "80/20")


def draw(data: Dataset) -> Plan | None:
    """Draw the form; returns None while something in it cannot be used, and says what."""
    offered = session.take_offer(session.TUNE)
    if offered is not None:
        st.session_state.update(_inputs_of(offered))
    info = settings_form.formulation_input("tune_formulation", FIRST)
    axes = {axis.name: axis for axis in axes_of(info)}
    varied = st.multiselect(
        "Try several values of",
        list(axes),
        default=first_axes(info),
        format_func=lambda name: name.replace("_", " "),
        key=session.widget_key("tune_axes", info.key),
        persist_state="session",
        help="Every combination of the values below is one candidate.",
    )
    problems: list[str] = []
    grid = {name: _values(axes[name], info, problems) for name in axes if name in varied}
    params, depth, encoding = _fixed(info, varied)
    protocol, choice = _protocol(data)
    limit, seed = st.columns(2)
    with limit:
        seconds = settings_form.limit_input(
            "tune_limit", 10.0, "For every single training; those that end by it are not proven."
        )
    number = seed.number_input(
        "Seed of the splits", value=0, min_value=0, max_value=2**31 - 1, key="tune_seed",
        persist_state="session",
    )  # fmt: skip
    for problem in problems:
        inputs.say(problem)
    if problems or not varied:
        if not varied:
            st.info("Choose at least one setting to vary.")
        return None
    return Plan(info.key, grid, protocol, choice, depth, encoding, params, seconds, int(number))


def _inputs_of(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Inputs of the form by their keys, as they were when this model selection was started."""
    formulation, grid = settings["formulation"], settings["grid"]
    values = {
        session.widget_key("tune_values", formulation, name): [
            str(v).lower() if isinstance(v, bool) else value_words(v) for v in tried
        ]
        for name, tried in grid.items()
    }
    return {
        "tune_formulation": formulation,
        session.widget_key("tune_axes", formulation): list(grid),
        **values,
        "tune_limit": settings["time_limit"],
        "tune_seed": settings["seed"],
    }


def _values(axis: Parameter, info: FormulationInfo, problems: list[str]) -> tuple[Any, ...]:
    options, first = suggested(axis, info)
    picked = st.multiselect(
        label_of(axis),
        options,
        default=first,
        accept_new_options=True,
        key=session.widget_key("tune_values", info.key, axis.name),
        persist_state="session",
        help=f"{help_of(axis)}\n\nType other values.",
    )
    try:
        return values_of(axis, picked)
    except OctError as error:
        problems.append(error.message)
        return ()


def _fixed(info: FormulationInfo, varied: list[str]) -> tuple[dict[str, Any], int, str]:
    """Draw what stays the same for all candidates, folded in a button."""
    depth, encoding = 2, settings_form.AUTO
    key = session.widget_key("tune_fixed", info.key)
    with st.expander("What stays the same", icon=":material/push_pin:"):
        if "depth" not in varied:
            depth = settings_form.depth_input(info, session.widget_key(key, "depth"))
        if "encoding" not in varied:
            encoding = settings_form.encoding_input(info, session.widget_key(key, "encoding"))
        params = settings_form.params_popover(info, key, {}, "Other settings", varied)
    return params, depth, encoding


def _protocol(data: Dataset) -> tuple[str, str]:
    protocol = st.selectbox(
        "Protocol",
        PROTOCOLS,
        format_func=lambda key: get_protocol(key).title,
        key="tune_protocol",
        persist_state="session",
        accept_new_options=True,
        help="Which rows train, choose and test; stratified by class. Only protocols with test "
        "rows give an accuracy that the choice has not seen. Type 7-fold for other numbers.",
    )
    choice = st.segmented_control(
        "Choose by",
        list(CHOICES),
        default="accuracy",
        required=True,
        format_func=CHOICES.__getitem__,
        key="tune_choice",
        persist_state="session",
        help="Fewest features: of the candidates within 2.5 % of the best mean accuracy, the one "
        "with fewest features, as in the MARGOT paper. One standard error: the same among those "
        "within one standard error of the best.",
    )
    return protocol, choice


def start_button(data: Dataset, plan: Plan) -> bool:
    """Say how much work it is and draw the button; returns whether it was pressed."""
    work = inputs.tried(lambda: work_of(plan, data))
    if work is None:
        return False
    label = f"Try {text.count(work.candidates, 'candidate')}"
    pressed = inputs.wide_button(label, "play_arrow", "tune_start")
    st.caption(work_words(work, _known_seconds(plan.formulation, data)))
    return pressed


def work_words(work: Work, known: tuple[float, int] | None) -> str:
    """Say how many trainings there are and how long they take at most, and probably.

    `known`: median seconds of earlier runs, and how many.
    """
    finals = text.count(work.finals, "final training")
    words = (
        f"{text.count(work.candidates, 'candidate')} × {text.count(work.folds, 'split')} + "
        f"{finals} = **{text.count(work.trainings, 'training')}**, one after the other; at most "
        f"{text.seconds(work.longest)} if each takes its whole {text.seconds(work.time_limit)}."
    )
    if known is None:
        return words
    seconds, count = known
    expected = text.seconds(work.trainings * min(seconds, work.time_limit))
    return (
        f"{words} {text.count(count, 'earlier run')} of this formulation on these data took "
        f"{text.seconds(seconds)} (median), so **about {expected}**."
    )


def _known_seconds(formulation: str, data: Dataset) -> tuple[float, int] | None:
    try:
        found = history.entries(jobs.supervisor(), session.token())
    except OctError:
        return None
    seconds = [
        float(entry.summary["seconds"])
        for entry in found
        if entry.settings.get("formulation") == formulation
        and f" on {data.name}," in entry.title
        and entry.summary.get("seconds")
    ]
    return (float(np.median(seconds)), len(seconds)) if seconds else None
