"""The frame of every report: one HTML file with its own style, no network, no script but ours."""

import base64
import hashlib
import re
from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path

from octcore.plotting import text
from octcore.solving.report import export_tree
from octcore.solving.run import Run

STYLE = Path(__file__).with_suffix(".css").read_text(encoding="utf-8")
POLICY = "default-src 'none'; style-src 'unsafe-inline'"


def page(name: str, sections: Iterable[str], script: str = "") -> str:
    """Put escaped sections into one file that needs no network; only the script given may run."""
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode("ascii")
    policy = POLICY + (f"; script-src 'sha256-{digest}'" if script else "")
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escaped(name)}</title><style>{STYLE}</style></head>\n<body>\n"
        + "\n".join(section for section in sections if section)
        + "\n</body></html>\n"
    )


def escaped(value: object, at_most: int = 400) -> str:
    """Text that is safe inside HTML, shortened."""
    return escape(text.printable(value, at_most))


def table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table with escaped cells; without a head when its names are empty."""
    head = "".join(f"<th>{escape(name)}</th>" for name in header) if any(header) else ""
    body = "".join(
        "<tr>" + "".join(f"<td>{escaped(cell, 900)}</td>" for cell in row) + "</tr>" for row in rows
    )
    return f"<table>{f'<tr>{head}</tr>' if head else ''}{body}</table>"


def badge(run: Run) -> str:
    """What is proven of a run."""
    return f'<span class="badge{" proven" * run.is_proven}">{escaped(run.badge)}</span>'


def pictures(drawn: Iterable[str]) -> str:
    """Charts; those that could not be drawn are empty and left out."""
    return "".join(f'<div class="picture chart">{picture}</div>' for picture in drawn if picture)


LEGIBLE = 0.65
"""A wide tree shrinks with the page to this share of its size; what is wider then is scrolled."""


def tree_picture(run: Run) -> str:
    """The tree of a run, which has one."""
    drawn = export_tree(run, "svg")
    width = re.search(r'width="(\d+)"', drawn)
    least = LEGIBLE * int(width[1]) if width else 0.0
    counts = " / ".join(text.printable(label, 40) for label in run.classes)
    return f'<div class="picture" style="--least: {least:.0f}px">{drawn}</div>' + weak(
        f"The counts are rows of {counts}."
    )


def listed(sentences: Iterable[str]) -> str:
    """Sentences as a list."""
    return f"<ul>{''.join(f'<li>{escaped(words, 900)}</li>' for words in sentences)}</ul>"


def weak(words: str) -> str:
    """A remark."""
    return f'<p class="weak">{escaped(words, 900)}</p>'
