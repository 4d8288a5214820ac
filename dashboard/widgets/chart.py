"""Placing a figure or a table: our own fonts and colours, and always a description."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pandas as pd
import plotly.graph_objects as go
import streamlit as st

from dashboard.reports.charts import figure_svg
from octcore.plotting.layout import CONFIG


def show(
    figure: go.Figure, key: str, alt: str, on_select: Callable[[], None] | None = None
) -> None:
    """Place a figure.

    `on_select`: called before the rerun that a click on a point causes.
    """
    options: dict[str, Any] = {"key": key, "config": CONFIG, "alt": alt, "theme": None}
    if on_select is not None:
        options |= {"on_select": on_select, "selection_mode": "points"}
    st.plotly_chart(figure, **options)


def live(figure: go.Figure, alt: str, width: int) -> None:
    """Place a figure that changes every second, as a picture: it is redrawn without a flicker.

    `width`: about the pixels that it gets.
    """
    st.image(figure_svg(figure, alt, width), width="stretch", alt=alt)


def table(
    rows: Any,
    key: str,
    alt: str,
    columns: Sequence[str] | None = None,
    wide: str = "",
    **options: Any,
) -> Any:
    """Place a table, given as `pandas.DataFrame` takes it; its column `wide` gets most room."""
    if wide:
        options["column_config"] = {wide: st.column_config.TextColumn(width="large")}
    frame = pd.DataFrame(rows, columns=columns)  # pyright: ignore[reportArgumentType]
    return st.dataframe(frame, hide_index=True, key=key, alt=alt, **options)
