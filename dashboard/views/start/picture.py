"""The picture of the start: a plane of points, cut by a tree of two questions."""

from html import escape

import streamlit as st

from dashboard import session
from octcore.plotting.palette import Palette
from octcore.reports.charts import marker

ALT = "Points of three classes, cut by a tree of two questions"
WIDTH, HEIGHT = 460, 330
POINTS = (
    ((34, 40), (62, 74), (40, 112), (84, 44), (70, 132), (104, 92), (38, 158), (96, 164)),
    ((160, 34), (196, 58), (226, 38), (176, 86), (214, 84)),
    ((158, 128), (190, 152), (224, 124), (210, 170), (168, 172)),
)
"""Places of the points of three classes in the drawing."""
CUT_ACROSS, CUT_UP, SIDE, LOW = 132, 106, 246, 196


def draw() -> None:
    """Draw the picture in the colours of the theme."""
    st.image(picture(session.palette()), width="stretch", alt=ALT)


def picture(palette: Palette) -> str:
    """Make the picture: an illustration, not a result."""
    line = f'stroke="{palette.text}" stroke-width="2.5"'
    parts = [
        f'<rect x="12" y="16" width="{SIDE}" height="{LOW - 6}" rx="8" fill="{palette.surface}"/>',
        f'<path d="M{CUT_ACROSS},16V{LOW + 10}M{CUT_ACROSS},{CUT_UP}H{SIDE + 12}" {line} '
        'stroke-dasharray="7 5" fill="none"/>',
    ]
    for k, places in enumerate(POINTS):
        parts += [_mark(k, x, y, palette) for x, y in places]
    parts += [
        f'<path d="M330,62L292,140M330,62L384,140M384,172L348,250M384,172L424,250" '
        f'stroke="{palette.muted}" stroke-width="4" fill="none"/>',
        _box(330, 46, "x ≤ 3 ?", palette.muted, palette),
        _box(384, 156, "y ≤ 2 ?", palette.muted, palette),
        _box(286, 156, "", palette.class_colour(0), palette),
        _box(348, 266, "", palette.class_colour(2), palette),
        _box(424, 266, "", palette.class_colour(1), palette),
        _mark(0, 286, 156, palette),
        _mark(2, 348, 266, palette),
        _mark(1, 424, 266, palette),
        f'<text x="14" y="250" font-size="17" font-weight="600" fill="{palette.optimum}">'
        "✓ proven: no tree</text>"
        f'<text x="14" y="274" font-size="17" font-weight="600" fill="{palette.optimum}">'
        "of this size does better</text>",
    ]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" '
        f'height="{HEIGHT}" role="img" font-family="sans-serif" '
        f'aria-label="{ALT}">{"".join(parts)}'
        "</svg>"
    )


def _mark(k: int, x: int, y: int, palette: Palette) -> str:
    look = {"symbol": palette.class_marker(k), "size": 14, "color": palette.class_colour(k)}
    return marker((x, y), look | {"line": {"color": palette.outline}})


def _box(x: int, y: int, words: str, border: str, palette: Palette) -> str:
    half = 36 if words else 20
    return (
        f'<rect x="{x - half}" y="{y - 16}" width="{2 * half}" height="32" rx="7" '
        f'fill="{palette.surface}" stroke="{border}" stroke-width="2.2"/>'
        f'<text x="{x}" y="{y + 5}" font-size="14" text-anchor="middle" fill="{palette.text}">'
        f"{escape(words)}</text>"
    )
