"""Placing a figure or a table: our own fonts and colours, and always a description."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Literal

import pandas as pd
import plotly.graph_objects as go
import streamlit as st

from dashboard.widgets import inputs
from octcore.data.export import frame_to_csv
from octcore.plotting.layout import CONFIG
from octcore.reports.charts import figure_svg

ROWS_SHOWN = 200
PHONE = 360  # width of a picture on a phone, in pixels


def show(
    figure: go.Figure,
    key: str,
    alt: str,
    on_select: Callable[[], None] | None = None,
    height: Literal["content", "stretch"] = "content",
) -> None:
    """Place a figure; `height` as `st.plotly_chart` takes it."""
    options: dict[str, Any] = {"key": key, "config": CONFIG, "alt": alt, "theme": None}
    options["height"] = height
    if _is_phone():
        # Else a finger on it moves what is drawn, and the page stays where it is.
        square: dict[str, Any] = {"height": PHONE} if height == "stretch" else {}
        figure = go.Figure(figure).update_layout(dragmode=False, **square)
    elif on_select is not None:
        options |= {"on_select": on_select, "selection_mode": "points"}
    st.plotly_chart(figure, **options)


def live(figure: go.Figure, alt: str, width: int) -> None:
    """Place a figure that changes every second, as a picture: it is redrawn without a flicker."""
    if _is_phone():  # else letters shrink with the picture
        width = min(width, PHONE)
    st.image(figure_svg(figure, alt, width), width="stretch", alt=alt)


def _is_phone() -> bool:
    return "Mobi" in st.context.headers.get("User-Agent", "")


def numbers(
    entries: Iterable[tuple[str, str, str | None]], width: Literal["content"] | int = "content"
) -> None:
    """Place numbers in a line: name, value and what it says, of each; `width` of one in pixels."""
    with st.container(horizontal=True, gap="small"):
        for label, value, words in entries:
            st.metric(label, value, help=words, width=width)


def rows(
    table: pd.DataFrame, key: str, alt: str, file: tuple[str, str, pd.DataFrame], **options: Any
) -> None:
    """Place the first rows of a table; a button saves all: its words, file name and table."""
    st.dataframe(table.head(ROWS_SHOWN), hide_index=True, key=key, alt=alt, **options)
    left, right = st.columns([3, 1], vertical_alignment="center")
    if len(table) > ROWS_SHOWN:
        left.caption(f"The first {ROWS_SHOWN} of {len(table):,} rows; the download has all.")
    label, name, whole = file
    with right:
        inputs.download(label, name, lambda: frame_to_csv(whole), f"save_{key}")


def axes(names: Sequence[str], x: str, y: str, key: str) -> tuple[str, str]:
    """Draw the choice of the columns of a plane; with two there is none."""
    if len(names) <= 2:
        return x, y
    first, second = st.columns(2)
    x = first.selectbox("Across", names, index=names.index(x), key=f"{key}:x")
    others = [name for name in names if name != x]
    at = others.index(y) if y in others else 0
    return x, second.selectbox("Up", others, index=at, key=f"{key}:y:{x}")


def table(
    rows: Any,
    key: str,
    alt: str,
    columns: Sequence[str] | None = None,
    wide: str = "",
    shares: Collection[str] = (),
    counts: Collection[str] = (),
    column_config: Mapping[str, Any] = MappingProxyType({}),
    **options: Any,
) -> Any:
    """Place a table, given as `pandas.DataFrame` takes it.

    `wide`: the column that gets most room; `shares`: those of shares, which are told in percent;
    `counts`: those of numbers that may be large, which get separators.
    """
    frame = pd.DataFrame(rows, columns=columns)  # pyright: ignore[reportArgumentType]
    config: dict[str, Any] = {wide: st.column_config.TextColumn(width="large")} if wide else {}
    for name in frame.columns.intersection([*shares]):
        frame[name] = 100 * frame[name].astype(float)
        config[name] = st.column_config.NumberColumn(format="%.1f %%")
    config |= dict.fromkeys(counts, st.column_config.NumberColumn(format="%,d"))
    config |= column_config
    return st.dataframe(frame, hide_index=True, key=key, alt=alt, column_config=config, **options)
