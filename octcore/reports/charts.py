"""A plotly figure of lines, marks and areas as static SVG, for reports and what is redrawn often.

No script and no network; Streamlit makes every plotly chart anew that changes, which flickers.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape, unescape
from typing import TYPE_CHECKING, Any

from octcore.plotting import text
from octcore.plotting.layout import round_step
from octcore.plotting.palette import LIGHT

if TYPE_CHECKING:
    import plotly.graph_objects as go

WIDTH, LEFT, RIGHT, BOTTOM, LINE = 680, 74, 14, 48, 22
LETTER = 6.4  # pixels of a letter
DASHES = {"dash": "7 4", "dot": "2 3", "dashdot": "7 3 2 3"}
STAR = tuple(
    (-r * math.sin(k * math.pi / 5), -r * math.cos(k * math.pi / 5))
    for k in range(10)
    for r in [1.2 if k % 2 == 0 else 0.5]
)
CORNERS = {
    "square": ((-1, -1), (1, -1), (1, 1), (-1, 1)),
    "triangle-up": ((0, -1.2), (1.2, 1), (-1.2, 1)),
    "triangle-down": ((0, 1.2), (1.2, -1), (-1.2, -1)),
    "diamond": ((0, -1.3), (1.3, 0), (0, 1.3), (-1.3, 0)),
    "cross": ((-0.4, -1.2), (0.4, -1.2), (0.4, -0.4), (1.2, -0.4), (1.2, 0.4), (0.4, 0.4),
              (0.4, 1.2), (-0.4, 1.2), (-0.4, 0.4), (-1.2, 0.4), (-1.2, -0.4), (-0.4, -0.4)),
    "star": STAR,
    "hexagon": ((0, -1.1), (0.95, -0.55), (0.95, 0.55), (0, 1.1), (-0.95, 0.55), (-0.95, -0.55)),
    "pentagon": ((0, -1.1), (1.05, -0.34), (0.65, 0.89), (-0.65, 0.89), (-1.05, -0.34)),
    "hourglass": ((-1, -1), (1, -1), (-1, 1), (1, 1)),
    "bowtie": ((-1, -1), (-1, 1), (1, -1), (1, 1)),
}  # fmt: skip
"""Corners of plotly's symbols, in radii; other symbols become circles."""


@dataclass(frozen=True)
class Scale:
    """One axis: its numbers in pixels, and its ticks."""

    low: float
    high: float
    start: float
    end: float
    """`low`, `high`: ends in units of the axis, powers of ten on a logarithmic one; `start`, `end`:
    their places in pixels."""
    is_log: bool
    layout: Mapping[str, Any]

    @classmethod
    def of(cls, layout: Mapping[str, Any], values: Sequence[float], start: float, end: float):
        """Read the axis of a figure; where it has no range, make it of what is drawn."""
        is_log = layout.get("type") == "log"
        if "range" in layout:
            low, high = layout["range"]
        else:
            placed = [math.log10(v) if is_log else v for v in values]
            low, high = min(placed), max(placed)
            room = 0.06 * (high - low) or max(0.05 * abs(high), 0.05)
            low, high = low - room, high + room
        return cls(low, high, start, end, is_log, layout)

    def at(self, value: float, ref: str = "") -> float:
        """Pixels of a number, or of a share of the axis where `ref` names its domain."""
        if ref.endswith("domain"):
            share = value
        else:
            share = (math.log10(value) if self.is_log else value) - self.low
            share /= (self.high - self.low) or 1.0
        return self.start + share * (self.end - self.start)

    @property
    def ticks(self) -> list[tuple[float, str]]:
        """Pixels and words of the ticks: those of the figure, else round numbers."""
        if not self.layout.get("visible", True):
            return []
        if "tickvals" in self.layout:
            pairs = zip(self.layout["tickvals"], self.layout["ticktext"], strict=True)
        elif "%" in str(self.layout.get("tickformat")):
            pairs = ((v, f"{100 * v:.4g} %") for v in round_numbers(self.low, self.high))
        else:
            values = round_numbers(self.low, self.high, self.layout.get("dtick", 0))
            pairs = ((v, text.minus(f"{v:g}")) for v in values)
        found = [(self.at(value), words) for value, words in pairs]
        ends = sorted((self.start, self.end))
        return [(place, words) for place, words in found if ends[0] - 1 <= place <= ends[1] + 1]


def round_numbers(low: float, high: float, least: float = 0) -> list[float]:
    """About six round numbers inside a range, apart by a step of `least` or more."""
    step = max(least, round_step((high - low or 1.0) / 6))
    first = math.ceil(low / step - 1e-9)
    return [k * step for k in range(first, math.floor(high / step + 1e-9) + 1)]


def figure_svg(figure: go.Figure, title: str, width: int = WIDTH) -> str:
    """Draw lines, areas, marks and rulers of a figure with two axes; empty text without any.

    `title`: description for readers who do not see it.
    `width`: in pixels at which letters have their size.
    """
    data: Any = figure.data
    records = [trace.to_plotly_json() for trace in data]
    traces = [t for t in records if any(v is not None for v in t.get("y", ()))]
    if not traces:
        return ""
    layout = figure.layout.to_plotly_json()
    named = [t for t in records if t.get("showlegend", True) and t.get("name")]
    legend, top = _legend(named, width)
    has_scale = layout["xaxis"].get("visible", True)
    bottom = top + layout["height"] - (80 if has_scale else 0)
    values = [[v for t in traces for v in t[axis] if v is not None] for axis in "xy"]
    y = Scale.of(layout["yaxis"], values[1], bottom, top)
    left = max(LEFT, *(16 + LETTER * min(len(words), 28) for _, words in y.ticks))
    x = Scale.of(layout["xaxis"], values[0], left, width - RIGHT)
    drawn = [_shape(shape, x, y) for shape in layout.get("shapes", ())]
    drawn += [part for trace in traces for part in _trace(trace, x, y)]
    frame = f"frame{zlib.crc32(''.join(drawn).encode()):x}"  # a page holds several pictures
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} '
            f'{bottom + (BOTTOM if has_scale else 4)}" role="img" font-family="sans-serif" '
            f'font-size="12" fill="{layout["font"]["color"]}">',
            f"<title>{_label(title, 120)}</title>",
            *_axes(x, y),
            f'<clipPath id="{frame}"><rect x="{left - 4}" y="{top - 4}" '
            f'width="{width - left - RIGHT + 8}" height="{bottom - top + 8}"/></clipPath>',
            f'<g clip-path="url(#{frame})">',
            *drawn,
            "</g>",
            *legend,
            "</svg>",
        ]
    )


def _axes(x: Scale, y: Scale) -> list[str]:
    bottom, top, grid = y.start, y.end, x.layout["gridcolor"]
    lines = [
        f'<line x1="{at:.1f}" x2="{at:.1f}" y1="{top}" y2="{bottom}" stroke="{grid}"/>'
        f'<text x="{at:.1f}" y="{bottom + 17}" text-anchor="middle">{_label(words)}</text>'
        for at, words in x.ticks
    ]
    lines += [
        f'<line x1="{x.start}" x2="{x.end}" y1="{at:.1f}" y2="{at:.1f}" stroke="{grid}"/>'
        f'<text x="{x.start - 7}" y="{at + 4:.1f}" text-anchor="end">{_label(words, 28)}</text>'
        for at, words in y.ticks
    ]
    across, up = (axis.layout.get("title", {}).get("text", "") for axis in (x, y))
    return [
        *lines,
        f'<text x="{(x.start + x.end) / 2}" y="{bottom + 38}" text-anchor="middle">'
        f"{_label(across)}</text>",
        f'<text transform="translate(14 {(top + bottom) / 2}) rotate(-90)" '
        f'text-anchor="middle">{_label(up)}</text>',
    ]


def _shape(shape: Mapping[str, Any], x: Scale, y: Scale) -> str:
    x0, x1 = (x.at(shape[end], shape.get("xref", "x")) for end in ("x0", "x1"))
    y0, y1 = (y.at(shape[end], shape.get("yref", "y")) for end in ("y0", "y1"))
    corners = [(x0, y0), (x1, y1)]
    if shape["type"] == "rect":
        corners = [(x0, y0), (x1, y0), (x1, y1), (x0, y1)]
    return _path([corners], shape.get("line", {}), str(shape.get("fillcolor", "none")))


def _trace(trace: Mapping[str, Any], x: Scale, y: Scale) -> list[str]:
    points = [
        None if v is None else (x.at(u), y.at(v))
        for u, v in zip(trace["x"], trace["y"], strict=True)
    ]
    parts = []
    mode, line = str(trace.get("mode", "lines")), trace.get("line", {})
    if "lines" in mode:
        pieces: list[list[tuple[float, float]]] = [[]]
        for point in points:
            if point is None:
                pieces.append([])
                continue
            if line.get("shape") == "hv" and pieces[-1]:
                pieces[-1].append((point[0], pieces[-1][-1][1]))
            pieces[-1].append(point)
        fill = str(trace["fillcolor"]) if trace.get("fill") == "toself" else "none"
        parts.append(_path(pieces, line, fill))
    if "markers" in mode:
        look = trace.get("marker", {})
        parts += [_marker(point, look, k) for k, point in enumerate(points) if point is not None]
    return parts


def _path(
    pieces: Sequence[Sequence[tuple[float, float]]], line: Mapping[str, Any], fill: str
) -> str:
    drawn = (" L".join(f"{u:.1f},{v:.1f}" for u, v in piece) for piece in pieces if piece)
    width = line.get("width", 2) if line.get("color") else 0
    dash = DASHES.get(str(line.get("dash")))
    style = f' stroke-dasharray="{dash}"' if dash else ""
    stroke = f'stroke="{line["color"]}" stroke-width="{width}"{style}' if width else ""
    return f'<path d="{" ".join(f"M{piece}" for piece in drawn)}" fill="{fill}" {stroke}/>'


def _marker(place: tuple[float, float], look: Mapping[str, Any], k: int = 0) -> str:
    """Draw one mark as plotly does; every property is one for all marks or one for each."""

    def own(name: str, default: Any, record: Mapping[str, Any] = look) -> Any:
        value = record.get(name, default)
        return value if isinstance(value, (str, int, float)) else value[k]

    (x, y), radius, colour = place, own("size", 6) / 2, own("color", LIGHT.text)
    symbol, line = own("symbol", "circle"), look.get("line", {})
    is_open, edge = symbol.endswith("-open"), own("color", colour, line)
    style = f'fill="{"none" if is_open else colour}" stroke="{colour if is_open else edge}" '
    style += f'stroke-width="{own("width", 1, line)}" opacity="{own("opacity", 1):g}"'
    if symbol == "x-thin":
        cross = f"M {x - radius:.1f} {y - radius:.1f} l {2 * radius} {2 * radius} "
        return f'<path d="{cross}m 0 {-2 * radius} l {-2 * radius} {2 * radius}" {style}/>'
    corners = CORNERS.get(symbol.removesuffix("-open"))
    if corners is None:
        return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius}" {style}/>'
    points = " ".join(f"{x + radius * dx:.1f},{y + radius * dy:.1f}" for dx, dy in corners)
    return f'<polygon points="{points}" {style}/>'


def _legend(traces: Sequence[Mapping[str, Any]], width: int) -> tuple[list[str], int]:
    """Draw names of traces above the figure; returns also where that ends."""
    parts: list[str] = []
    x, y = float(LEFT), 16
    if not traces:
        return [], 6
    for trace in traces:
        words = text.printable(unescape(trace["name"]), 60)
        if x > LEFT and x + 22 + LETTER * len(words) > width:
            x, y = float(LEFT), y + LINE
        if "lines" in trace["mode"]:
            parts.append(_path([[(x - 2, y), (x + 12, y)]], trace["line"], "none"))
        else:
            parts.append(_marker((x + 5, y), trace["marker"]))
        parts.append(f'<text x="{x + 17:.0f}" y="{y + 4}">{escape(words)}</text>')
        x += 34 + LETTER * len(words)
    return parts, y + 18


def _label(words: object, at_most: int = 60) -> str:
    """Words of a figure, which plotly reads as HTML, as text."""
    return escape(text.printable(unescape(str(words)), at_most))
