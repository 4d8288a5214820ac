"""The price of asking a person against who is asked, how right the others are, and the cost."""

from collections.abc import Sequence

import plotly.graph_objects as go

from octcore.plotting.layout import base_layout
from octcore.plotting.palette import ASK_COLOUR, CLASS_COLOURS, Palette
from octcore.selection.refer_path import ReferPoint


def refer_figure(
    points: Sequence[ReferPoint], palette: Palette, at: float | None = None
) -> go.Figure:
    """Draw the points; a filled one is proven optimal."""
    figure = go.Figure(layout=base_layout(palette, height=300))
    lines = (
        ("a person is asked", [p.referred for p in points], ASK_COLOUR, "circle", ".1%"),
        ("accuracy of the others", [p.accuracy for p in points], CLASS_COLOURS[0], "square", ".1%"),
        ("mean cost", [p.mean_cost for p in points], CLASS_COLOURS[1], "diamond", ".3f"),
    )
    for name, values, colour, symbol, form in lines:
        figure.add_scatter(
            x=[p.refer for p in points],
            y=values,
            mode="lines+markers",
            line={"color": colour, "width": 2},
            marker={
                "size": 8,
                "symbol": [symbol if p.is_proven else f"{symbol}-open" for p in points],
            },
            name=name,
            yaxis="y2" if name == "mean cost" else "y",
            hovertemplate=f"asking costs %{{x:.3g}}: %{{y:{form}}} {name}<extra></extra>",
        )
    if at is not None:
        figure.add_vline(x=at, line={"color": palette.muted, "dash": "dot", "width": 1.5})
    figure.update_xaxes(title_text="cost of asking a person")
    figure.update_layout(
        margin={"r": 64},
        yaxis={"title": {"text": "share of rows"}, "tickformat": ".0%", "rangemode": "tozero"},
        yaxis2={
            "title": {"text": "mean cost"},
            "overlaying": "y",
            "side": "right",
            "rangemode": "tozero",
            "showgrid": False,
        },
    )
    return figure
