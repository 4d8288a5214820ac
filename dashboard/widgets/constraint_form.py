"""Inputs for side constraints, class weights and what answers cost, from their declarations."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from itertools import combinations, permutations
from typing import Any

import numpy as np
import streamlit as st

from dashboard import session
from dashboard.widgets.parameter_form import help_of, label_of, parameter_input
from octcore.data.dataset import Dataset
from octcore.data.numbers import FEW_NUMBERS
from octcore.data.tasks import COSTS, LARGEST, ORDINAL, REFER
from octcore.formulations.base import FormulationInfo
from octcore.parameters import (
    ByClass,
    Column,
    Directions,
    Flag,
    IntRange,
    NamePairs,
    Names,
    Parameter,
)
from octcore.plotting import text
from octcore.tree.constraints import ACCEPTED, MAX_GAP, ParityLimit

MOST_PAIR_FEATURES = 20
MOST_CLASSES = 12
MOST_COSTED = 4  # more classes make a table of too many inputs
ORDER = "order"
OWN_WEIGHTS = "one for every class"
Key = Callable[..., str]
"""Makes the key of an input from the name of the constraint and further parts."""


def constraint_form(info: FormulationInfo, data: Dataset) -> dict[str, Any]:
    """Draw the constraints that a formulation can express; returns those that are asked for."""
    able = [parameter for parameter in ACCEPTED if parameter.name in info.constraints]
    return asked_for(constraint_inputs(able, data, input_key))


def constraint_inputs(
    declared: Iterable[Parameter], data: Dataset, key: Key, per_line: int = 2
) -> dict[str, Any]:
    """Draw inputs of some constraints; returns their values, None where nothing is asked for."""
    declared = tuple(declared)
    asked: dict[str, Any] = {}
    numbers = [p for p in declared if isinstance(p, IntRange)]
    columns = st.columns(per_line, vertical_alignment="bottom") if numbers else []
    for position, parameter in enumerate(numbers):
        with columns[position % per_line]:
            asked[parameter.name] = parameter_input(parameter, key(parameter.name), none="no limit")
    for parameter in declared:
        draw = DRAW.get(type(parameter))
        if draw is not None:
            asked[parameter.name] = draw(parameter, data, key)
    return asked | _fairness([p for p in declared if isinstance(p, ParityLimit)], data, key)


def asked_for(values: dict[str, Any]) -> dict[str, Any]:
    """Leave out what was not asked for."""
    return {
        name: value
        for name, value in values.items()
        if value is not None and value is not False and value not in ({}, [])
    }


def input_key(*parts: object) -> str:
    """Key of an input of the Solve form."""
    return session.form_key("constraint", *parts)


def columns_stamp(data: Dataset) -> int:
    """Changes with the columns: a stale choice must not meet new options."""
    return hash((data.feature_names, data.classes))


def _choice(
    pick: Callable[..., Any], options: Callable[[Dataset], Sequence[Any]], **look: Any
) -> Callable[..., Any]:
    """What draws a choice among names of columns, or among pairs of them."""

    def draw(parameter: Parameter, data: Dataset, key: Key) -> Any:
        stamped = key(parameter.name, columns_stamp(data))
        words = help_of(parameter)
        return pick(label_of(parameter), options(data), help=words, key=stamped, **look)

    return draw


def _directions(parameter: Parameter, data: Dataset, key: Key) -> dict[str, str]:
    """Draw the columns with which the prediction may only rise, and those with which only fall."""
    ordered = [c.name for c in data.columns if c.kind == "ordinal" or c.holds_numbers]
    if not ordered:
        st.caption("Nothing can rise or fall: no column has an order.")
        return {}
    found: dict[str, str] = {}
    last = data.classes[-1] if data.positive_class is None else data.positive_class
    towards = f"towards {text.markdown(last, 24)}"
    for column, way, word in zip(st.columns(2), ("up", "down"), ("rises", "falls"), strict=True):
        names = column.multiselect(
            f"Only {word} {towards} with",
            ordered,
            placeholder="none",
            wrap=True,
            help=help_of(parameter),
            key=key(f"{parameter.name}:{way}", columns_stamp(data)),
        )
        found |= {name: way for name in names if name not in found}
    return found


def _by_class(parameter: ByClass, data: Dataset, key: Key) -> str | dict[Any, float] | None:
    """Draw a word that stands for numbers, or a number for every class; it may stay empty."""
    has_few = data.n_classes <= MOST_CLASSES
    if not parameter.words:
        if not has_few:
            return {}
        st.caption(f"{label_of(parameter)} (`{parameter.name}`)")
        share = {"value": None, "min_value": 0.0, "max_value": parameter.high, "step": 0.05}
        floors = _numbers(parameter, data, key, "{}", placeholder="none", **share)
        return {label: floor for label, floor in floors.items() if floor is not None}
    options = [*parameter.words, *([OWN_WEIGHTS] if has_few else [])]
    picked = st.selectbox(
        label_of(parameter),
        options,
        index=None,
        placeholder="every row counts the same",
        help=help_of(parameter),
        **session.kept(key(parameter.name)),
    )
    if picked != OWN_WEIGHTS:
        return picked
    weight = {"value": 1.0, "min_value": 0.01, "max_value": 1000.0, "step": 0.5, "format": "%g"}
    weights = _numbers(parameter, data, key, "Weight of {}", **weight)
    return weights if len(set(weights.values())) > 1 else None


def _numbers(
    parameter: ByClass, data: Dataset, key: Key, words: str, **look: Any
) -> dict[Any, Any]:
    """Draw one number for every class, three a line."""
    columns = st.columns(min(3, max(1, data.n_classes)))
    return {
        label: columns[k % len(columns)].number_input(
            words.format(text.markdown(label, 24)),
            key=key(f"{parameter.name}:{k}", columns_stamp(data)),
            **look,
        )
        for k, label in enumerate(data.classes)
    }


def _pairs(data: Dataset) -> list[tuple[str, str]]:
    return list(combinations(data.feature_names[:MOST_PAIR_FEATURES], 2))


DRAW: dict[type[Parameter], Callable[..., Any]] = {
    Names: _choice(st.multiselect, lambda data: data.feature_names, placeholder="none"),
    Column: _choice(st.selectbox, lambda data: data.feature_names, index=None, placeholder="free"),
    NamePairs: _choice(st.multiselect, _pairs, format_func=" with ".join, placeholder="none"),
    Directions: _directions,
    Flag: lambda parameter, data, key: parameter_input(parameter, key(parameter.name)),
    ByClass: _by_class,
}
"""What draws a constraint, by its kind; whole numbers and fairness limits stand together."""


def _fairness(declared: Collection[ParityLimit], data: Dataset, key: Key) -> dict[str, Any]:
    """Draw one fairness limit; returns it by its name."""
    if not declared:
        return {}
    grouping = [
        c.name
        for c in data.columns
        if c.kind != "numeric" or len(np.unique(data.frame[c.name])) <= FEW_NUMBERS
    ]
    if not grouping:
        st.caption("Fairness limits need a column of groups; every column here has many numbers.")
        return {}
    limit = st.selectbox(
        "Fairness limit",
        declared,
        index=None,
        placeholder="none",
        format_func=lambda parameter: parameter.title.lower(),
        help="\n\n".join(f"**{p.title.lower()}**: {p.help}" for p in declared),
        key=key("fairness"),
    )
    if limit is None:
        return {}
    stamp = columns_stamp(data)
    left, right = st.columns(2)
    attribute = left.selectbox("Groups", grouping, key=key("fairness_attribute", stamp))
    with right:
        gap = parameter_input(MAX_GAP, key("fairness_gap"), step=0.01)
    asked: dict[str, Any] = {"attribute": attribute, "max_gap": gap}
    if limit.has_given:
        others = [name for name in grouping if name != attribute]
        if not others:
            st.caption(f"{limit.title} needs a second column of groups; there is only one.")
            return {}
        asked["given"] = st.selectbox("Within every level of", others, key=key("given", stamp))
    return {limit.name: asked}


def filled_in(offered: Mapping[str, Any], data: Dataset, key: Key = input_key) -> dict[str, Any]:
    """Values of the inputs by key for constraints that another page, or the link, offers."""
    stamp, names = columns_stamp(data), data.feature_names
    values: dict[str, Any] = {key("fairness"): None}
    for parameter in ACCEPTED:
        name, given = parameter.name, offered.get(parameter.name)
        own, stamped = key(name), key(name, stamp)
        if isinstance(parameter, (IntRange, Flag)):
            values[own] = bool(given) if isinstance(parameter, Flag) else given
        elif isinstance(parameter, Column):
            values[stamped] = given if given in names else None
        elif isinstance(parameter, Names):
            values[stamped] = [column for column in given or () if column in names]
        elif isinstance(parameter, NamePairs):
            asked = [set(pair) for pair in given or ()]
            values[stamped] = [pair for pair in _pairs(data) if set(pair) in asked]
        elif isinstance(parameter, Directions):
            for way in ("up", "down"):
                columns = [c for c, own_way in (given or {}).items() if own_way == way]
                values[key(f"{name}:{way}", stamp)] = [c for c in columns if c in names]
        elif isinstance(parameter, ByClass):
            numbers = {str(k): v for k, v in given.items()} if isinstance(given, Mapping) else {}
            otherwise = 1.0 if parameter.words else None
            for k, label in enumerate(data.classes):
                values[key(f"{name}:{k}", stamp)] = numbers.get(str(label), otherwise)
            if parameter.words:
                values[own] = OWN_WEIGHTS if numbers else given
        elif isinstance(parameter, ParityLimit) and given and given["attribute"] in names:
            values[key("fairness")] = parameter
            values[key("fairness_gap")] = float(given["max_gap"])
            values[key("fairness_attribute", stamp)] = given["attribute"]
            if given.get("given") in names:
                values[key("given", stamp)] = given["given"]
    return values


def cost_form(info: FormulationInfo, data: Dataset) -> dict[str, Any]:
    """Draw the inputs; returns `costs` and `refer` where they are not as usual."""
    if not info.has_costs:
        st.caption("This formulation counts errors only.")
        return {}
    asked: dict[str, Any] = {}
    in_order = data.n_classes > 2 and st.toggle(
        "The further apart the classes, the dearer",
        **session.kept(cost_key(ORDER)),
        help=help_of(COSTS),
    )
    table = {} if in_order else _cost_table(data)
    refer = parameter_input(REFER, cost_key(REFER.name), none="nobody is asked", step=0.05)
    if in_order or table:
        asked[COSTS.name] = ORDINAL if in_order else table
    if refer is not None:
        asked[REFER.name] = refer
    return asked


def _cost_table(data: Dataset) -> dict[str, dict[str, float]]:
    """Draw one line for every true class with the costs of the other answers."""
    if data.n_classes > MOST_COSTED:
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
            **session.kept(_cell_key(data, true, answer)),
        )
        if cost != 1:
            table.setdefault(str(true), {})[str(answer)] = cost
    return table


def cost_key(*parts: object) -> str:
    """Key of an input of costs."""
    return session.form_key("costs", *parts)


def _cell_key(data: Dataset, true: object, answer: object) -> str:
    """Key of a cell of the table: a stale number must not meet new classes."""
    return cost_key(data.classes.index(true), data.classes.index(answer), hash(data.classes))


def costs_filled_in(offered: Mapping[str, Any], data: Dataset) -> dict[str, Any]:
    """Values of the inputs by key for settings that another page offers."""
    costs = offered.get(COSTS.name)
    table = costs if isinstance(costs, Mapping) else {}
    return {
        cost_key(ORDER): costs == ORDINAL,
        cost_key(REFER.name): offered.get(REFER.name),
        **{
            _cell_key(data, true, answer): float(table.get(str(true), {}).get(str(answer), 1.0))
            for true, answer in permutations(data.classes, 2)
        },
    }
