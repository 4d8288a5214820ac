"""The line style of a run beside its name, as in the race chart."""

from __future__ import annotations

import html

import streamlit as st

from octcore.plotting import text
from octcore.plotting.race import colour_of

MARKS = "●■▲◆"
STYLES = ("solid", "dashed", "dotted", "double")
"""Streamlit lets no SVG into its HTML, but borders come in these styles."""


def swatch(index: int, label: str) -> None:
    """Draw colour, dash and mark of the run at a position, and its name."""
    colour, mark, style = colour_of(index), MARKS[index % 4], STYLES[index % 4]
    line = f'<span style="width:.9rem;flex:none;border-top:3px {style} {colour}"></span>'
    st.html(
        '<div style="display:flex;align-items:center;gap:.15rem;font-weight:600;line-height:1.25">'
        f'{line}<span style="color:{colour}" aria-hidden="true">{mark}</span>{line}'
        f'<span style="margin-left:.45rem">{html.escape(text.printable(label, 80))}</span></div>'
    )
