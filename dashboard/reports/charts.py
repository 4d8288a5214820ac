"""Plane and convergence as static SVG for the report: no script, no network, good in print."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

import numpy as np

from octcore.plotting import text
from octcore.plotting.gap_plot import GAP_FLOOR, TIME_TITLE, Convergence
from octcore.plotting.palette import CLASS_COLOURS, CLASS_MARKERS, LIGHT, Palette
from octcore.plotting.plane_plot import PlaneRecord
from octcore.plotting.race import TIME_TITLE as RACE_TIME_TITLE
from octcore.plotting.race import Race
from octcore.tree.polygons import Polygon

WIDTH, LEFT, RIGHT, TOP, BOTTOM = 680, 74, 14, 34, 48
MOST_DOTS = 1500
Ticks = Sequence[tuple[float, str]]
"""Place and words of every tick of an axis."""


@dataclass(frozen=True)
class Frame:
    """The axes of a chart: data units to pixels."""

    x_range: tuple[float, float]
    y_range: tuple[float, float]
    height: int

    def x(self, value: float) -> float:
        """Pixels from the left."""
        low, high = self.x_range
        return LEFT + (value - low) / ((high - low) or 1.0) * (WIDTH - LEFT - RIGHT)

    def y(self, value: float) -> float:
        """Pixels from the top."""
        low, high = self.y_range
        share = (value - low) / ((high - low) or 1.0)
        return self.height - BOTTOM - share * (self.height - TOP - BOTTOM)

    def at(self, x: float, y: float) -> str:
        """Point for a path."""
        return f"{self.x(x):.1f},{self.y(y):.1f}"


def ticks(low: float, high: float, about: int = 6) -> list[float]:
    """Round numbers inside a range."""
    step = 10.0 ** math.floor(math.log10((high - low or 1.0) / about))
    step *= next(f for f in (1, 2, 5, 10) if (high - low or 1.0) / (f * step) <= about)
    first = math.ceil(low / step - 1e-9)
    return [k * step for k in range(first, math.floor(high / step + 1e-9) + 1)]


def plane_svg(record: PlaneRecord, palette: Palette = LIGHT) -> str:
    """Draw regions, hyperplanes, margins, rows and errors.

    Parameters
    ----------
    record : PlaneRecord
        From `octcore.plotting.plane_plot.plane_data`.
    palette : Palette
        Colours.
    """
    frame = Frame(record.x_range, record.y_range, 470)
    parts = [
        _polygon(frame, region.polygon, palette.class_tint(region.code, 0.26))
        for region in record.regions
    ]
    for node in sorted(record.last_level & set(record.lines)):
        lines = record.lines[node]
        parts += [_polygon(frame, band, "rgba(136,145,160,0.32)") for band in lines.band]
        for segments in (lines.low, lines.high):
            parts += _segments(frame, segments, palette.muted, 1.2, "5 4")
    for lines in record.lines.values():
        parts += _segments(frame, lines.line, palette.text, 2.0)
    parts += _dots(frame, record, palette)
    legend = [
        (str(label), palette.class_colour(k), palette.class_marker(k))
        for k, label in enumerate(record.classes[:7])
    ]
    title = f"Plane of {record.x} and {record.y}"
    across, up = record.places.across, record.places.up
    scales = across.ticks or _numbers(frame.x_range), up.ticks or _numbers(frame.y_range)
    return _svg(frame, parts, title, (across.title, up.title), scales, palette, legend)


def _polygon(frame: Frame, polygon: Polygon, fill: str) -> str:
    points = " ".join(frame.at(x, y) for x, y in polygon)
    return f'<polygon points="{points}" fill="{fill}"/>'


def _segments(
    frame: Frame, segments: Sequence, colour: str, width: float, dash: str = ""
) -> list[str]:
    return [
        f'<line x1="{frame.x(x1):.1f}" y1="{frame.y(y1):.1f}" x2="{frame.x(x2):.1f}" '
        f'y2="{frame.y(y2):.1f}" stroke="{colour}" stroke-width="{width}"'
        + (f' stroke-dasharray="{dash}"/>' if dash else "/>")
        for (x1, y1), (x2, y2) in segments
    ]


def _dots(frame: Frame, record: PlaneRecord, palette: Palette) -> list[str]:
    dots, parts = record.dots, []
    masks = [mask for node, mask in dots.support.items() if node in record.last_level]
    support = np.logical_or.reduce(masks) if masks else np.zeros(len(dots.row), dtype=bool)
    step = max(1, -(-len(dots.row) // MOST_DOTS))
    for i in range(0, len(dots.row), step):
        x, y, code = frame.x(dots.x[i]), frame.y(dots.y[i]), int(dots.code[i])
        parts.append(marker(x, y, palette.class_marker(code), palette.class_colour(code), palette))
        if support[i]:
            parts.append(
                f'<circle cx="{x:.1f}" cy="{y:.1f}" r="7.5" fill="none" stroke="{palette.text}"/>'
            )
        if dots.wrong[i]:
            cross = f"M {x - 4:.1f} {y - 4:.1f} l 8 8 m 0 -8 l -8 8"
            parts.append(
                f'<path d="{cross}" stroke="#fff" stroke-width="4"/>'
                f'<path d="{cross}" stroke="#000" stroke-width="1.8"/>'
            )
    return parts


def marker(x: float, y: float, shape: str, colour: str, palette: Palette) -> str:
    """Draw one mark of a class."""
    style = f'fill="{colour}" stroke="{palette.outline}" stroke-width="0.7"'
    corners = {
        "square": ((-4, -4), (4, -4), (4, 4), (-4, 4)),
        "triangle-up": ((0, -5), (5, 4), (-5, 4)),
        "triangle-down": ((0, 5), (5, -4), (-5, -4)),
        "diamond": ((0, -5.5), (5.5, 0), (0, 5.5), (-5.5, 0)),
        "cross": ((-1.6, -5), (1.6, -5), (1.6, -1.6), (5, -1.6), (5, 1.6), (1.6, 1.6), (1.6, 5),
                  (-1.6, 5), (-1.6, 1.6), (-5, 1.6), (-5, -1.6), (-1.6, -1.6)),
    }.get(shape)  # fmt: skip
    if corners is None:
        return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4.3" {style}/>'
    points = " ".join(f"{x + dx:.1f},{y + dy:.1f}" for dx, dy in corners)
    return f'<polygon points="{points}" {style}/>'


def convergence_svg(record: Convergence, absolute: bool, palette: Palette = LIGHT) -> str:
    """Draw the gap on a log axis, or incumbent and bound; empty text when there is nothing.

    Parameters
    ----------
    record : Convergence
        From `octcore.plotting.gap_plot.convergence_data`.
    absolute : bool
        Incumbent and bound instead of the gap.
    palette : Palette
        Colours.
    """
    if absolute:
        lines = [
            ("incumbent", _known(record, record.incumbent), palette.incumbent, ""),
            ("bound", _known(record, record.bound), palette.bound, "7 4"),
        ]
    else:
        gaps = [None if g is None else math.log10(max(g, GAP_FLOOR)) for g in record.gap]
        lines = [("gap", _known(record, gaps), palette.incumbent, "")]
    heights = [value for _, points, _, _ in lines for _, value in points]
    if not heights:
        return ""
    low, high = min(heights), max(heights)
    room = 0.06 * (high - low) or max(0.05 * abs(high), 0.05)
    frame = Frame((0.0, max(record.end, 1e-3) * 1.03), (low - room, high + room), 300)
    parts = [_steps(frame, points, colour, dash) for _, points, colour, dash in lines if points]
    for mark in record.marks if absolute else ():
        parts.append(
            marker(frame.x(mark.seconds), frame.y(mark.value), "circle", palette.incumbent, palette)
        )
    title = record.objective if absolute else "relative gap"
    legend = [(name, colour, "line") for name, _, colour, _ in lines] if absolute else []
    scales = _numbers(frame.x_range), _numbers(frame.y_range) if absolute else _gaps(frame.y_range)
    return _svg(frame, parts, f"{title} over time", (TIME_TITLE, title), scales, palette, legend)


def race_svg(race: Race, palette: Palette = LIGHT) -> str:
    """Draw the lines of several solves over each other; empty text when there are none.

    Parameters
    ----------
    race : Race
        From `octcore.plotting.race.race_data`.
    palette : Palette
        Colours.
    """
    if not race.series:
        return ""
    is_gap = race.scale == "gap"
    lines = [
        (series, [math.log10(max(v, GAP_FLOOR)) if is_gap else v for v in series.values])
        for series in race.series
    ]
    heights = [value for _, values in lines for value in values]
    low, high = min(heights), max(heights)
    room = 0.06 * (high - low) or max(0.05 * abs(high), 0.05)
    frame = Frame((0.0, max(race.end, 1e-3) * 1.03), (low - room, high + room), 320)
    parts = []
    for series, values in lines:
        points = list(zip(series.seconds, values, strict=True))
        colour = CLASS_COLOURS[series.index % len(CLASS_COLOURS)]
        parts.append(_steps(frame, points, colour, "7 4" if series.is_bound else ""))
        if series.is_closed and not series.is_bound:
            shape = CLASS_MARKERS[series.index % len(CLASS_MARKERS)]
            parts.append(marker(frame.x(points[-1][0]), frame.y(points[-1][1]), shape, colour,
                                palette))  # fmt: skip
    drawn = dict.fromkeys((s.label, CLASS_COLOURS[s.index % len(CLASS_COLOURS)], "line")
                          for s in race.series)  # fmt: skip
    scales = _numbers(frame.x_range), _gaps(frame.y_range) if is_gap else _numbers(frame.y_range)
    titles = (RACE_TIME_TITLE, race.title)
    return _svg(frame, parts, f"{race.title} over time", titles, scales, palette, list(drawn))


def _known(record: Convergence, values: Sequence[float | None]) -> list[tuple[float, float]]:
    return [(s, v) for s, v in zip(record.seconds, values, strict=True) if v is not None]


def _gap_label(power: float) -> str:
    return "0 (proven)" if 10**power <= GAP_FLOOR * 1.01 else f"{100 * 10**power:.3g} %"


def _steps(frame: Frame, points: Sequence[tuple[float, float]], colour: str, dash: str) -> str:
    path = [f"M {frame.at(*points[0])}"]
    for x, y in points[1:]:
        path.append(f"H {frame.x(x):.1f} V {frame.y(y):.1f}")
    style = f' stroke-dasharray="{dash}"' if dash else ""
    return f'<path d="{" ".join(path)}" fill="none" stroke="{colour}" stroke-width="2.4"{style}/>'


def _svg(
    frame: Frame,
    parts: Sequence[str],
    title: str,
    titles: tuple[str, str],
    scales: tuple[Ticks, Ticks],
    palette: Palette,
    legend: Sequence[tuple[str, str, str]],
) -> str:
    bottom = frame.height - BOTTOM
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {frame.height}" '
        f'role="img" font-family="sans-serif" font-size="12" fill="{palette.text}">',
        f"<title>{_label(title, 120)}</title>",
    ]
    for value, words in scales[0]:
        x = frame.x(value)
        lines.append(
            f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{TOP}" y2="{bottom}" stroke="{palette.grid}"/>'
            f'<text x="{x:.1f}" y="{bottom + 17}" text-anchor="middle">{escape(words)}</text>'
        )
    for value, words in scales[1]:
        y = frame.y(value)
        lines.append(
            f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}" '
            f'stroke="{palette.grid}"/>'
            f'<text x="{LEFT - 7}" y="{y + 4:.1f}" text-anchor="end">{_label(words, 11)}</text>'
        )
    lines += parts
    middle = (TOP + bottom) / 2
    lines.append(
        f'<text x="{(LEFT + WIDTH - RIGHT) / 2}" y="{frame.height - 10}" '
        f'text-anchor="middle">{_label(titles[0])}</text>'
        f'<text transform="translate(14 {middle}) rotate(-90)" '
        f'text-anchor="middle">{_label(titles[1])}</text>'
    )
    return "\n".join([*lines, _legend(legend, palette), "</svg>"])


def _numbers(span: tuple[float, float]) -> Ticks:
    return [(value, text.minus(f"{value:g}")) for value in ticks(*span)]


def _gaps(span: tuple[float, float]) -> Ticks:
    powers = range(math.ceil(span[0]), math.floor(span[1]) + 1)
    return [(value, _gap_label(value)) for value in map(float, powers)] or [
        (span[1], _gap_label(span[1]))
    ]


def _legend(entries: Sequence[tuple[str, str, str]], palette: Palette) -> str:
    parts, x = [], float(LEFT)
    for label, colour, shape in entries:
        words = text.printable(label, 24)
        if shape == "line":
            parts.append(
                f'<line x1="{x - 2:.0f}" x2="{x + 12:.0f}" y1="16" y2="16" stroke="{colour}" '
                'stroke-width="3"/>'
            )
        else:
            parts.append(marker(x + 5, 16, shape, colour, palette))
        parts.append(f'<text x="{x + 17:.0f}" y="20">{escape(words)}</text>')
        x += 34 + 7.0 * len(words)
    return "".join(parts)


def _label(words: object, at_most: int = 60) -> str:
    return escape(text.printable(words, at_most))
