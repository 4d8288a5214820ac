"""Inputs for what answers cost: a table by class, and the cost of asking a person."""

from collections.abc import Mapping
from itertools import permutations
from typing import Any

import streamlit as st

from dashboard import session
from dashboard.widgets.parameter_form import help_of, label_of
from octcore.data.dataset import Dataset
from octcore.formulations.base import FormulationInfo
from octcore.plotting import text
from octcore.tasks import COSTS, LARGEST, ORDINAL, REFER

MOST_CLASSES = 4
"""More make a table of too many inputs."""
ORDER = "order"


def cost_form(info: FormulationInfo, data: Dataset) -> dict[str, Any]:
    """Draw the inputs; returns `costs` and `refer` where they are not as usual."""
    if not info.has_costs:
        st.caption("This formulation counts errors only.")
        return {}
    asked: dict[str, Any] = {}
    in_order = data.n_classes > 2 and st.toggle(
        "The further apart the classes, the dearer",
        key=input_key(ORDER),
        persist_state="session",
        help=help_of(COSTS),
    )
    table = {} if in_order else _table(data)
    refer = st.number_input(
        label_of(REFER),
        value=None,
        min_value=0.0,
        max_value=LARGEST,
        step=0.05,
        format="%g",
        placeholder="nobody is asked",
        help=help_of(REFER),
        key=input_key(REFER.name),
        persist_state="session",
    )
    if in_order or table:
        asked[COSTS.name] = ORDINAL if in_order else table
    if refer is not None:
        asked[REFER.name] = refer
    return asked


def _table(data: Dataset) -> dict[str, dict[str, float]]:
    """Draw one line for every true class with the costs of the other answers."""
    if data.n_classes > MOST_CLASSES:
        st.caption(
            f"A table of {data.n_classes} classes is given in Python (`costs=`) or on the command "
            "line (`--costs`)."
        )
        return {}
    table: dict[str, dict[str, float]] = {}
    per_line = data.n_classes - 1
    columns = st.columns(max(1, per_line), vertical_alignment="bottom")
    for place, (true, answer) in enumerate(permutations(data.classes, 2)):
        cost = columns[place % per_line].number_input(
            f"{text.markdown(true, 24)} called {text.markdown(answer, 24)}",
            value=1.0,
            min_value=0.0,
            max_value=LARGEST,
            step=0.5,
            format="%g",
            key=cell_key(data, true, answer),
            persist_state="session",
        )
        if cost != 1:
            table.setdefault(str(true), {})[str(answer)] = cost
    return table


def input_key(*parts: object) -> str:
    """Key of an input."""
    return session.form_key("costs", *parts)


def cell_key(data: Dataset, true: object, answer: object) -> str:
    """Key of a cell of the table: a stale number must not meet new classes."""
    return input_key(data.classes.index(true), data.classes.index(answer), hash(data.classes))


def filled_in(offered: Mapping[str, Any], data: Dataset) -> dict[str, Any]:
    """Values of the inputs by key for settings that another page offers."""
    costs = offered.get(COSTS.name)
    table = costs if isinstance(costs, Mapping) else {}
    return {
        input_key(ORDER): costs == ORDINAL,
        input_key(REFER.name): offered.get(REFER.name),
        **{
            cell_key(data, true, answer): float(table.get(str(true), {}).get(str(answer), 1.0))
            for true, answer in permutations(data.classes, 2)
        },
    }
