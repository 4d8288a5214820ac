"""One input for one raw column: a number, or a choice among the levels."""

import math
from collections.abc import Callable
from typing import Any

import streamlit as st

from octcore.data.dataset import Dataset
from octcore.plotting import text

STEPS_ACROSS = 40


def draw(
    data: Dataset, name: str, value: Any, key: str, on_change: Callable[[], None] | None = None
) -> Any:
    """Draw the input; returns the value, typed as in the data."""
    column = data.column(name)
    label = text.markdown(name, 40)
    if column.kind == "numeric":
        values = data.frame[name].to_numpy(dtype=float)
        low, high = float(values.min()), float(values.max())
        # Crosses the range in some tens of clicks.
        width = high - low
        step = 10.0 ** math.floor(math.log10(width / STEPS_ACROSS)) if width > 0 else 1.0
        return st.number_input(
            label,
            value=float(value),
            step=step,
            format="%g",
            key=key,
            on_change=on_change,
            help=f"In training from {low:.6g} to {high:.6g}.",
        )
    levels = list(column.levels)
    return st.selectbox(
        label,
        levels,
        index=levels.index(value) if value in levels else 0,
        format_func=lambda level: text.printable(_level(level)),
        key=key,
        on_change=on_change,
    )


def _level(level: Any) -> str:
    return f"{level:g}" if isinstance(level, float) else str(level)
