"""Inputs for side constraints, class weights and what answers cost, from their declarations."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from itertools import combinations, permutations
from typing import Any

import numpy as np
import streamlit as st

from dashboard import session
from dashboard.widgets.parameter_form import NOTHING, help_of, label_of, parameter_input
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
from octcore.tree.constraints import MAX_GAP, ParityLimit

MOST_PAIR_FEATURES = 20
MOST_CLASSES = 12
MOST_COSTED = 4  # more classes make a table of too many inputs
ORDER = "order"
OWN_WEIGHTS = "one for every class"
Key = Callable[..., str]
"""Makes the key of an input from the name of the constraint and further parts."""


def constraint_inputs(
    declared: Iterable[Parameter],
    data: Dataset,
    key: Key,
    per_line: int = 2,
    given: Mapping[str, Any] = NOTHING,
) -> dict[str, Any]:
    """Draw inputs of some constraints; returns their values, None where nothing is asked for.

    `given`: what they start from, by name, as far as these data have it.
    """
    declared = tuple(declared)
    asked: dict[str, Any] = {}
    numbers = [p for p in declared if isinstance(p, IntRange)]
    columns = st.columns(per_line, vertical_alignment="bottom") if numbers else []
    for position, parameter in enumerate(numbers):
        with columns[position % per_line]:
            asked[parameter.name] = parameter_input(
                parameter, key(parameter.name), none="no limit", given=given
            )
    for parameter in declared:
        draw = DRAW.get(type(parameter))
        if draw is not None:
            asked[parameter.name] = draw(parameter, data, key, given.get(parameter.name))
    return asked | _fairness([p for p in declared if isinstance(p, ParityLimit)], data, key, given)


def asked_for(values: dict[str, Any]) -> dict[str, Any]:
    """Leave out what was not asked for."""
    return {
        name: value
        for name, value in values.items()
        if value is not None and value is not False and value not in ({}, [])
    }


def columns_stamp(data: Dataset) -> int:
    """Changes with the columns: a stale choice must not meet new options."""
    return hash((data.feature_names, data.classes))


def _choice(
    pick: Callable[..., Any],
    options: Callable[[Dataset], Sequence[Any]],
    first: Callable[[Any, Sequence[Any]], Any],
    **look: Any,
) -> Callable[..., Any]:
    """What draws a choice among names of columns, or among pairs of them.

    `first`: what it starts from, by what is given and what there is.
    """

    def draw(parameter: Parameter, data: Dataset, key: Key, given: Any) -> Any:
        known, stamped = options(data), key(parameter.name, columns_stamp(data))
        start = first(given, known)
        kept = session.kept(stamped)
        return pick(label_of(parameter), known, start, help=help_of(parameter), **kept, **look)

    return draw


def _directions(parameter: Parameter, data: Dataset, key: Key, given: Any) -> dict[str, str]:
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
            [name for name in ordered if (given or {}).get(name) == way],
            placeholder="none",
            wrap=True,
            help=help_of(parameter),
            **session.kept(key(f"{parameter.name}:{way}", columns_stamp(data))),
        )
        found |= {name: way for name in names if name not in found}
    return found


def _by_class(
    parameter: ByClass, data: Dataset, key: Key, given: Any
) -> str | dict[Any, float] | None:
    """Draw a word that stands for numbers, or a number for every class; it may stay empty."""
    has_few = data.n_classes <= MOST_CLASSES
    if not parameter.words:
        if not has_few:
            return {}
        st.caption(f"{label_of(parameter)} (`{parameter.name}`)")
        look = {"max_value": parameter.high, "step": 0.05, "placeholder": "none"}
        floors = _numbers(parameter, data, key, given, None, min_value=0.0, **look)
        return {label: floor for label, floor in floors.items() if floor is not None}
    options = [*parameter.words, *([OWN_WEIGHTS] if has_few else [])]
    word = OWN_WEIGHTS if isinstance(given, Mapping) else given
    picked = st.selectbox(
        label_of(parameter),
        options,
        options.index(word) if word in options else None,
        placeholder="every row counts the same",
        help=help_of(parameter),
        **session.kept(key(parameter.name)),
    )
    if picked != OWN_WEIGHTS:
        return picked
    look = {"max_value": 1000.0, "step": 0.5, "format": "%g"}
    weights = _numbers(parameter, data, key, given, 1.0, min_value=0.01, **look)
    return weights if len(set(weights.values())) > 1 else None


def _numbers(
    parameter: ByClass, data: Dataset, key: Key, given: Any, value: float | None, **look: Any
) -> dict[Any, Any]:
    """Draw one number for every class, three a line; `value`: what is not given starts from."""
    columns = st.columns(min(3, max(1, data.n_classes)))
    words = "Weight of {}" if parameter.words else "{}"
    numbers = {str(k): v for k, v in given.items()} if isinstance(given, Mapping) else {}
    return {
        label: columns[k % len(columns)].number_input(
            words.format(text.markdown(label, 24)),
            value=numbers.get(str(label), value),
            **session.kept(key(f"{parameter.name}:{k}", columns_stamp(data))),
            **look,
        )
        for k, label in enumerate(data.classes)
    }


DRAW: dict[type[Parameter], Callable[..., Any]] = {
    Names: _choice(
        st.multiselect,
        lambda data: data.feature_names,
        lambda given, names: [name for name in given or () if name in names],
        placeholder="none",
    ),
    Column: _choice(
        st.selectbox,
        lambda data: data.feature_names,
        lambda given, names: names.index(given) if given in names else None,
        placeholder="free",
    ),
    NamePairs: _choice(
        st.multiselect,
        lambda data: list(combinations(data.feature_names[:MOST_PAIR_FEATURES], 2)),
        lambda given, pairs: [p for p in pairs if set(p) in map(set, given or ())],
        format_func=" with ".join,
        placeholder="none",
    ),
    Directions: _directions,
    Flag: lambda parameter, data, key, given: parameter_input(
        parameter, key(parameter.name), given={parameter.name: given}
    ),
    ByClass: _by_class,
}
"""What draws a constraint, by its kind; whole numbers and fairness limits stand together."""


def _fairness(
    declared: Sequence[ParityLimit], data: Dataset, key: Key, given: Mapping[str, Any]
) -> dict[str, Any]:
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
    limits = [given.get(parameter.name) or {} for parameter in declared]
    first = next((limit for limit in limits if limit.get("attribute") in grouping), {})
    limit: Any = st.selectbox(
        "Fairness limit",
        declared,
        limits.index(first) if first else None,
        placeholder="none",
        format_func=lambda parameter: parameter.title.lower(),
        help="\n\n".join(f"**{p.title.lower()}**: {p.help}" for p in declared),
        **session.kept(key("fairness")),
    )
    if limit is None:
        return {}

    def column(label: str, name: str, names: list[str]) -> str:
        kept = session.kept(key(f"fairness_{name}", columns_stamp(data)))
        index = names.index(first[name]) if first.get(name) in names else 0
        return st.selectbox(label, names, index, **kept)

    left, right = st.columns(2)
    with left:
        attribute = column("Groups", "attribute", grouping)
    with right:
        gap = parameter_input(MAX_GAP, key("fairness_gap"), given=first, step=0.01)
    asked: dict[str, Any] = {"attribute": attribute, "max_gap": gap}
    if limit.has_given:
        others = [name for name in grouping if name != attribute]
        if not others:
            st.caption(f"{limit.title} needs a second column of groups; there is only one.")
            return {}
        asked["given"] = column("Within every level of", "given", others)
    return {limit.name: asked}


def cost_form(info: FormulationInfo, data: Dataset) -> dict[str, Any]:
    """Draw the inputs of Solve; returns `costs` and `refer` where they are not as usual."""
    if not info.has_costs:
        st.caption("This formulation counts errors only.")
        return {}
    key, given = partial(session.form_key, session.SOLVE, "costs"), session.filled_in(session.SOLVE)
    asked: dict[str, Any] = {}
    in_order = data.n_classes > 2 and st.toggle(
        "The further apart the classes, the dearer",
        given.get(COSTS.name) == ORDINAL,
        **session.kept(key(ORDER)),
        help=help_of(COSTS),
    )
    table = {} if in_order else _cost_table(data, key, given.get(COSTS.name))
    refer = parameter_input(REFER, key(REFER.name), none="nobody is asked", given=given, step=0.05)
    if in_order or table:
        asked[COSTS.name] = ORDINAL if in_order else table
    if refer is not None:
        asked[REFER.name] = refer
    return asked


def _cost_table(data: Dataset, key: Key, given: Any) -> dict[str, dict[str, float]]:
    """Draw one line for every true class with the costs of the other answers."""
    if data.n_classes > MOST_COSTED:
        st.caption(
            f"A table of {data.n_classes} classes is given in Python (`costs=`) or on the command "
            "line (`--costs`)."
        )
        return {}
    first = given if isinstance(given, Mapping) else {}
    table: dict[str, dict[str, float]] = {}
    per_line = data.n_classes - 1
    columns = st.columns(max(1, per_line), vertical_alignment="bottom")
    for place, (true, answer) in enumerate(permutations(data.classes, 2)):
        cost = columns[place % per_line].number_input(
            f"{text.markdown(true, 24)} called {text.markdown(answer, 24)}",
            value=float(first.get(str(true), {}).get(str(answer), 1.0)),
            min_value=0.0,
            max_value=LARGEST,
            step=0.5,
            format="%g",
            # A stale number must not meet new classes.
            **session.kept(key(*map(data.classes.index, (true, answer)), hash(data.classes))),
        )
        if cost != 1:
            table.setdefault(str(true), {})[str(answer)] = cost
    return table
