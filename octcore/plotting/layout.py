"""The frame that all plotly figures share."""

from typing import Any

import plotly.graph_objects as go

from octcore.plotting.palette import Palette

FONT = '"Source Sans", "Source Sans Pro", "Segoe UI", sans-serif'


def base_layout(
    palette: Palette, height: int = 360, has_legend: bool = True, **extra: Any
) -> go.Layout:
    """Make the common layout: transparent ground, readable axes, legend above.

    `height`: in pixels; Streamlit stretches the width.
    `has_legend`: whether room for a legend is left at the top.
    """
    axis = {
        "gridcolor": palette.grid,
        "linecolor": palette.muted,
        "zeroline": False,
        "ticks": "outside",
        "tickcolor": palette.grid,
        "tickfont": {"color": palette.text, "size": 12},
        "title": {"font": {"color": palette.text, "size": 13}},
        "automargin": True,
    }
    return go.Layout(
        {
            "height": height,
            "margin": {"l": 8, "r": 12, "t": 34 if has_legend else 8, "b": 8},
            "paper_bgcolor": "rgba(0,0,0,0)",
            "plot_bgcolor": "rgba(0,0,0,0)",
            "font": {"family": FONT, "size": 13, "color": palette.text},
            "legend": {
                "orientation": "h",
                "traceorder": "normal",
                "x": 0,
                "y": 1.02,
                "yanchor": "bottom",
                "font": {"color": palette.text, "size": 12},
                "bgcolor": "rgba(0,0,0,0)",
            },
            "modebar": {
                "bgcolor": "rgba(0,0,0,0)",
                "color": palette.muted,
                "activecolor": palette.text,
            },
            "hoverlabel": {
                "bgcolor": palette.surface,
                "bordercolor": palette.muted,
                "font": {"color": palette.text},
            },
            "xaxis": axis,
            "yaxis": axis,
            **extra,
        }
    )


CONFIG: dict[str, Any] = {
    "displaylogo": False,
    "modeBarButtonsToRemove": ["select2d", "lasso2d", "autoScale2d", "sendDataToCloud"],
    "toImageButtonOptions": {"format": "svg", "scale": 2},
    "showEditInChartStudio": False,
    "plotlyServerURL": "",
}
"""Options of every plotly chart: nothing is ever sent to a cloud."""
