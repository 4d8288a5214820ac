"""The chart of a race that goes on, in Altair: it redraws without a flicker."""

from __future__ import annotations

from typing import Any

import altair as alt
import pandas as pd

from octcore.plotting.gap_plot import GAP_FLOOR
from octcore.plotting.palette import Palette
from octcore.plotting.race import (
    SHAPES,
    TIME_TITLE,
    Race,
    colour_of,
    optimum_words,
    powers_around,
)

DASHES = ((1, 0), (7, 3), (2, 2), (9, 3, 2, 3))


def race_rows(race: Race) -> pd.DataFrame:
    """Rows of the live chart: seconds, value, run, line, closed."""
    rows = [
        (second, value, series.label, "bound" if series.is_bound else "incumbent")
        for series in race.series
        for second, value in zip(series.seconds, series.values, strict=True)
    ]
    return pd.DataFrame(rows, columns=["seconds", "value", "run", "line"])


def proof_rows(race: Race) -> pd.DataFrame:
    """Rows of the stars: end of every line that is proven optimal."""
    rows = [
        (series.seconds[-1], series.values[-1], series.label)
        for series in race.series
        if series.is_closed and not series.is_bound
    ]
    return pd.DataFrame(rows, columns=["seconds", "value", "run"])


def race_chart(race: Race, palette: Palette) -> alt.LayerChart | alt.FacetChart:
    """Draw a race that goes on, in Altair, which redraws without a flicker.

    Parameters
    ----------
    race : Race
        What to draw.
    palette : Palette
        Colours.
    """
    labels = list(race.labels)
    colours = [colour_of(i) for i in range(len(labels))]
    legend = alt.Legend(
        orient="top", title=None, labelLimit=320, symbolStrokeWidth=0, symbolSize=90
    )
    base = alt.Chart(race_rows(race)).encode(
        x=alt.X("seconds:Q", title=TIME_TITLE).scale(domainMin=0).axis(tickCount=8),
        y=_altair_axis(race),
        color=alt.Color("run:N", scale=alt.Scale(domain=labels, range=colours), legend=legend),
        detail="line:N",
        tooltip=[
            alt.Tooltip("run:N"),
            alt.Tooltip("seconds:Q", format=".2f"),
            alt.Tooltip("value:Q", format=".4g", title=race.scale),
        ],
    )
    dashes = [list(DASHES[i % 4]) for i in range(len(labels))]
    dash = alt.StrokeDash("run:N", scale=alt.Scale(domain=labels, range=dashes), legend=legend)
    shapes = [SHAPES[i % 4] for i in range(len(labels))]
    shape = alt.Shape("run:N", scale=alt.Scale(domain=labels, range=shapes), legend=legend)
    width = alt.StrokeWidth(
        "line:N", scale=alt.Scale(domain=["incumbent", "bound"], range=[2.8, 1.3]), legend=None
    )
    layers: list[Any] = [
        base.mark_line(interpolate="step-after", clip=True).encode(
            strokeDash=dash, strokeWidth=width
        ),
        base.mark_point(filled=True, size=40, opacity=1, clip=True).encode(shape=shape),
    ]
    proofs = proof_rows(race)
    if len(proofs):
        star = alt.Chart(proofs).mark_text(text="★", fontSize=24, baseline="middle")
        layers.append(star.encode(x="seconds:Q", y="value:Q", color="run:N"))
    if race.optimum is not None:
        rule = pd.DataFrame({"value": [race.optimum], "words": [optimum_words(race)]})
        line = alt.Chart(rule).mark_rule(color=palette.optimum, strokeDash=[2, 3], strokeWidth=2)
        note = alt.Chart(rule).mark_text(
            color=palette.optimum, align="left", dx=6, dy=-7, x=0, fontSize=12
        )
        layers += [line.encode(y="value:Q"), note.encode(y="value:Q", text="words:N")]
    return alt.layer(*layers).properties(height=300)


def _altair_axis(race: Race) -> alt.Y:
    axis = alt.Y("value:Q", title=race.title)
    if race.scale == "gap":
        words = f"datum.value <= {GAP_FLOOR * 1.01} ? '0 (proven)' : format(datum.value, '~%')"
        powers = powers_around(race)
        heights = [value for series in race.series for value in series.values] or [1.0]
        domain = [min(heights) / 1.5, max(heights) * 1.5]
        scale = axis.scale(type="log", nice=False, domain=domain)
        return scale.axis(labelExpr=words, values=[p for p in powers if p <= domain[1]])
    axis = axis.scale(domain=list(race.span), nice=False, zero=False)
    return axis.axis(format="~%") if race.scale == "accuracy" else axis
