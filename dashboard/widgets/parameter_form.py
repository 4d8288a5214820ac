"""Inputs generated from the declarations of settings; knows nothing of their meaning."""

import itertools
import math
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any

import streamlit as st

from dashboard import session
from octcore.parameters import Choice, Flag, FloatRange, IntRange, Names, Parameter

NOT_USED = "not used"
NOTHING: Mapping[str, Any] = MappingProxyType({})
SPEED_UPS = frozenset(
    {
        "class_cuts", "search_start", "value_row", "feature_fixing",
        "strengthened_cuts", "solution_polishing", "eqp", "eqp_disaggregated",
        "eqp_group_selection", "eqp_split_size", "path_bound_cuts", "bound_negative_samples",
        "bound_structure", "probing", "shattering_cuts", "symmetry_breaking", "disaggregated",
    }
)  # fmt: skip
"""Switches of the papers' accelerations and of ours; the optimum is the same with and without."""


def parameter_form(
    declared: Iterable[Parameter], owner: str, source: str, given: Mapping[str, Any]
) -> dict[str, Any]:
    """Draw an input for every setting, kept by owner; returns values that differ from defaults.

    `given`: what they start from, besides defaults.
    """
    declared = tuple(declared)

    def grid(some: list[Parameter]) -> dict[str, Any]:
        """Two inputs a line: numbers and words first, then switches."""
        found: dict[str, Any] = {}
        for is_switch in (False, True):
            columns = itertools.cycle(st.columns(2))
            for parameter in (p for p in some if isinstance(p, Flag) == is_switch):
                with next(columns):
                    key = session.widget_key(owner, "param", parameter.name)
                    found[parameter.name] = parameter_input(parameter, key, source, given=given)
        return found

    quick = [p for p in declared if p.name in SPEED_UPS]
    basic = [p for p in declared if not p.advanced and p not in quick]
    advanced = [p for p in declared if p.advanced and p not in quick]
    values = grid(basic)
    if quick:
        with st.expander(f"Speed-ups ({len(quick)})", icon=":material/speed:"):
            st.caption("They change how soon the proof ends, never what is optimal.")
            values |= grid(quick)
    if advanced:
        with st.expander(f"More settings ({len(advanced)})", icon=":material/more_horiz:"):
            values |= grid(advanced)
    defaults = {parameter.name: parameter.default for parameter in declared}
    return {name: value for name, value in values.items() if value != defaults[name]}


def label_of(parameter: Parameter) -> str:
    """Label of an input: what it is called, its symbol and its unit."""
    symbol = f" {parameter.symbol}" if parameter.symbol else ""
    unit = f" ({parameter.unit})" if parameter.unit else ""
    return f"{parameter.title}{symbol}{unit}"


def help_of(parameter: Parameter, source: str = "") -> str:
    """Help text: what it does, its range, its default and where it comes from."""
    default = NOT_USED if parameter.default is None else f"{parameter.default}"
    lines = [
        parameter.help,
        f"`{parameter.name}`: {parameter.describe_range()}; default {default}.",
    ]
    if source:
        lines.append(f"*{source}*")
    return "\n\n".join(line for line in lines if line)


def parameter_input(
    parameter: Parameter,
    key: str,
    source: str = "",
    none: str = NOT_USED,
    given: Mapping[str, Any] = NOTHING,
    **look: Any,
) -> Any:
    """Draw the input of one setting and return its value.

    `none`: words of an empty one.
    `given`: what settings start from, by name; others from their defaults.
    `look`: what is otherwise for the input of a number than its declaration makes it.
    """
    first = given.get(parameter.name, parameter.default)
    common: dict[str, Any] = {
        "label": label_of(parameter),
        "help": help_of(parameter, source),
        **session.kept(key),
    }
    if isinstance(parameter, Flag):
        return st.toggle(value=bool(first), **common)
    if isinstance(parameter, Choice):
        index = parameter.options.index(str(first)) if first else None
        return st.selectbox(options=parameter.options, index=index, **common)
    if isinstance(parameter, IntRange):
        return st.number_input(
            value=first,
            min_value=parameter.low,
            max_value=parameter.high,
            step=1,
            placeholder=none,
            **common,
        )
    if isinstance(parameter, FloatRange):
        numbers: dict[str, Any] = {
            "value": None if first is None else float(first),
            "min_value": None if math.isinf(parameter.low) else float(parameter.low),
            "max_value": None if math.isinf(parameter.high) else float(parameter.high),
            "step": _step(parameter),
            "format": "%g",
            "placeholder": none,
        }
        return st.number_input(**common | numbers | look)
    value = "" if first is None else first
    names = ", ".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)
    text = st.text_input(value=names, placeholder=none, **common)
    return parameter.check(text) if isinstance(parameter, Names) else text or None


def _step(parameter: FloatRange) -> float:
    """Choose a step that fits the size of the default: a tenth, at most one of the range."""
    if parameter.default:
        size = abs(float(parameter.default))  # type: ignore[arg-type]
        return 10.0 ** (math.floor(math.log10(size)) - (0 if size < 1 else 1))
    span = parameter.high - parameter.low
    if math.isinf(span) or span <= 0:
        return 0.1
    return min(0.1, 10.0 ** math.floor(math.log10(span / 10)))
