"""The frame that all plotly figures share, and the lines and marks in it."""

import math
from collections.abc import Iterable, Sequence
from typing import Any

import plotly.graph_objects as go

from octcore.plotting.palette import Palette

FONT = '"Source Sans", "Source Sans Pro", "Segoe UI", sans-serif'


def base_layout(
    palette: Palette, height: int = 360, has_legend: bool = True, **extra: Any
) -> go.Layout:
    """Make the common layout: transparent ground, readable axes, room for a legend above."""
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
    ink = {"color": palette.text}
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
                # Hung from the top: one that stands on the plot stays too low when a widened chart
                # needs fewer lines for it.
                "yref": "container",
                "y": 1,
                "yanchor": "top",
                "font": {"color": palette.text, "size": 12},
                "bgcolor": "rgba(0,0,0,0)",
            },
            "modebar": {
                "bgcolor": palette.background,  # on narrow charts it comes to lie on the legend
                "color": palette.muted,
                "activecolor": palette.text,
            },
            "hoverlabel": {"bgcolor": palette.surface, "bordercolor": palette.muted, "font": ink},
            "xaxis": axis,
            "yaxis": axis,
            **extra,
        }
    )


def framed(
    palette: Palette,
    height: int = 360,
    has_legend: bool = True,
    x: dict[str, Any] | str | None = None,
    y: dict[str, Any] | str | None = None,
    **extra: Any,
) -> go.Figure:
    """Make an empty figure in the common layout; its axes by their titles or what they have more.

    `extra`: further parts of the layout.
    """
    figure = go.Figure(layout=base_layout(palette, height, has_legend, **extra))
    for axis, look in (("xaxis", x), ("yaxis", y)):
        figure.layout[axis].update({"title_text": look} if isinstance(look, str) else look or {})
    return figure


def mark(symbol: Any, size: Any, colour: Any, edge: Any = None, width: Any = 1) -> dict[str, Any]:
    """Look of marks, which have an edge where it has a colour; one of each for all or for each."""
    line = {"width": width} if edge is None else {"color": edge, "width": width}
    return {"symbol": symbol, "size": size, "color": colour, "line": line}


BREAK = (None, None)  # between the points of one piece of a line and those of the next


def curve(
    figure: go.Figure,
    points: Iterable[Sequence[Any]],
    name: str = "",
    hover: str = "",
    extra: str = "",
    **look: Any,
) -> None:
    """Draw points as a line, as marks or as both: what `line` and `marker` of `look` are given for.

    `hover`: what the pointer tells of a point, and `extra` beside it; nothing without it.
    """
    found = list(points)
    x, y = zip(*found, strict=True) if found else ((), ())
    mode = "+".join(f"{part}s" for part in ("line", "marker") if part in look)
    told = {"hovertemplate": f"{hover}<extra>{extra}</extra>"} if hover else {"hoverinfo": "skip"}
    figure.add_scatter(x=x, y=y, mode=mode, name=name, **told, **look)


def round_step(least: float) -> float:
    """Smallest of 1, 2 and 5 times a power of ten that is not below a positive number."""
    power = 10.0 ** math.floor(math.log10(least))
    return next(power * step for step in (1, 2, 5, 10) if power * step >= least)


def silent(figure: go.Figure, x: Sequence[Any], y: Sequence[Any], **look: Any) -> None:
    """Draw what the legend does not name and the pointer does not tell of."""
    figure.add_scatter(x=x, y=y, hoverinfo="skip", showlegend=False, **look)


def ruler(
    figure: go.Figure, x: Sequence[Any], y: Sequence[Any], name: str | None = None, **line: Any
) -> None:
    """Draw a silent line, or several with None between them."""
    silent(figure, x, y, mode="lines", name=name, line=line)


def words_at(
    figure: go.Figure, x: float, y: float, words: str, size: int, color: str, **look: Any
) -> None:
    """Write words at a place, without an arrow; `look` as plotly's annotations take it."""
    font = {"size": size, "color": color}
    figure.add_annotation(x=x, y=y, text=words, showarrow=False, font=font, **look)


def area(figure: go.Figure, corners: Sequence[tuple[float, float]], fill: str, **line: Any) -> None:
    """Fill a polygon; it has an edge where `line` says so."""
    x, y = zip(*corners, corners[0], strict=True)
    look = {"fill": "toself", "fillcolor": fill, "line": line or {"width": 0}}
    silent(figure, x, y, mode="lines", **look)


CONFIG: dict[str, Any] = {
    "displaylogo": False,
    # A drag zooms in and a double click out; what is left fits beside the legend.
    "modeBarButtonsToRemove": (
        "zoomIn2d zoomOut2d select2d lasso2d autoScale2d sendDataToCloud".split()
    ),
    "toImageButtonOptions": {"format": "svg", "scale": 2},
    "showEditInChartStudio": False,
    "plotlyServerURL": "",
}
"""Options of every plotly chart: nothing is ever sent to a cloud."""
