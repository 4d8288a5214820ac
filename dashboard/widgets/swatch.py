"""The line style of a run beside its name, as in the race chart."""

from __future__ import annotations

import html

import streamlit as st

from dashboard import text
from dashboard.figures.race import ALTAIR_DASHES, colour_of

MARKS = (
    '<circle cx="20" cy="7" r="5"/>',
    '<rect x="15.5" y="2.5" width="9" height="9"/>',
    '<path d="M20 1.5 L25.5 11.5 L14.5 11.5 Z"/>',
    '<path d="M20 0.8 L26 7 L20 13.2 L14 7 Z"/>',
)


def swatch(index: int, label: str) -> None:
    """Draw colour, dash and mark of the run at a position, and its name.

    Parameters
    ----------
    index : int
        Position in the comparison.
    label : str
        Short name; shown as plain text.
    """
    colour = colour_of(index)
    dashes = " ".join(map(str, ALTAIR_DASHES[index % 4])) if index % 4 else "none"
    st.html(
        '<div style="display:flex;align-items:center;gap:.55rem;font-weight:600;line-height:1.25">'
        f'<svg width="40" height="14" style="flex:none" fill="{colour}" aria-hidden="true">'
        f'<line x1="0" y1="7" x2="40" y2="7" stroke="{colour}" stroke-width="2.6" '
        f'stroke-dasharray="{dashes}"/>{MARKS[index % 4]}</svg>'
        f"<span>{html.escape(text.printable(label, 80))}</span></div>"
    )
