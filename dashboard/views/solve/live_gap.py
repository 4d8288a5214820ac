"""The convergence chart of a solve that is going on, in Altair: it redraws without a flicker."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import altair as alt
import pandas as pd

from octcore.plotting.gap_plot import GAP_FLOOR, TIME_TITLE, Convergence
from octcore.plotting.palette import CLASS_COLOURS, Palette

MOST_POINTS = 400
"""Enough for any screen; the chart is sent once a second."""


def live_rows(records: Sequence[Convergence], absolute: bool = False) -> pd.DataFrame:
    """Rows of the live chart: seconds, value, series.

    Parameters
    ----------
    records : sequence of Convergence
        One for every run.
    absolute : bool
        Incumbent and bound instead of the relative gap.
    """
    rows: list[tuple[float, float, str]] = []
    for record in records:
        prefix = f"{record.label}: " if len(records) > 1 else ""
        if absolute:
            for name, values in (("incumbent", record.incumbent), ("bound", record.bound)):
                rows += _points(record.seconds, values, prefix + name)
        else:
            raised = [None if g is None else max(g, GAP_FLOOR) for g in record.gap]
            rows += _points(record.seconds, raised, record.label or "gap")
    return pd.DataFrame(rows, columns=["seconds", "value", "series"])


def _points(
    seconds: Sequence[float], values: Sequence[float | None], series: str
) -> list[tuple[float, float, str]]:
    points = [(s, v, series) for s, v in zip(seconds, values, strict=True) if v is not None]
    step = -(-len(points) // MOST_POINTS)
    return points if step <= 1 else [*points[::step], points[-1]]


def live_chart(
    records: Sequence[Convergence], palette: Palette, absolute: bool = False, now: float = 0.0
) -> alt.Chart:
    """Draw the live chart: steps over the seconds of the solve.

    Parameters
    ----------
    records : sequence of Convergence
        One for every run.
    palette : Palette
        Colours.
    absolute : bool
        Incumbent and bound instead of the relative gap.
    now : float
        Seconds on the clock; the axis and the lines always reach it.
    """
    rows = live_rows(records, absolute)
    rows = _held_until(rows, now)
    series = list(dict.fromkeys(rows["series"]))
    colours = _colours(series, palette, absolute and len(records) == 1)
    y: Any = alt.Y(
        "value:Q", title=records[0].objective if records and absolute else "relative gap"
    )
    if absolute:
        y = y.scale(zero=False)
    else:
        heights = [value for value in rows["value"] if value > 0]
        ticks = gap_ticks(min(heights, default=0.01), max(heights, default=1.0))
        y = y.scale(type="log", nice=False, domain=[ticks[0], ticks[-1]])
        words = f"datum.value <= {GAP_FLOOR * 1.01} ? '0 (proven)' : format(datum.value, '~%')"
        y = y.axis(values=ticks, labelExpr=words)
    legend = alt.Legend(orient="top", title=None) if len(series) > 1 else None
    return (
        alt.Chart(rows, height=230)
        .mark_line(interpolate="step-after", strokeWidth=2.5, point={"size": 28})
        .encode(
            x=alt.X("seconds:Q", title=TIME_TITLE).scale(domainMin=0),
            y=y,
            color=alt.Color(
                "series:N", scale=alt.Scale(domain=series, range=colours), legend=legend
            ),
            tooltip=[
                alt.Tooltip("seconds:Q", format=".2f", title="seconds"),
                alt.Tooltip("value:Q", format=".4g"),
                alt.Tooltip("series:N"),
            ],
        )
    )


def gap_ticks(low: float, high: float) -> list[float]:
    """Ticks of one digit around a range of gaps: decades, or 1-2-5 where these are too few.

    Parameters
    ----------
    low, high : float
        Positive ends of the range.
    """
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    steps = (1,) if last - first > 2 else (1, 2, 5)
    every = [step * 10.0**power for power in range(first, last + 1) for step in steps]
    below = max((t for t in every if t <= low * 1.001), default=every[0])
    above = min((t for t in every if t >= high * 0.999), default=every[-1])
    if below == above:
        above = next((t for t in every if t > below), 2 * below)
    return [round(t, 12) for t in every if below <= t <= above]


def _held_until(rows: pd.DataFrame, now: float) -> pd.DataFrame:
    """Draw every line on to the present: a gap that does not move is seen not to."""
    last = rows.groupby("series", sort=False).tail(1)
    later = last[last["seconds"] < now].assign(seconds=now)
    return pd.concat([rows, later], ignore_index=True) if len(later) else rows


def _colours(series: Sequence[str], palette: Palette, is_pair: bool) -> list[str]:
    if is_pair:
        return [palette.bound if name == "bound" else palette.incumbent for name in series]
    if len(series) <= 1:
        return [palette.incumbent] * len(series)
    return [CLASS_COLOURS[i % len(CLASS_COLOURS)] for i in range(len(series))]
