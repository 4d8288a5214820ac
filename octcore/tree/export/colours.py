"""Fills of leaves in static exports: light tints in the order of the Okabe-Ito palette."""

from __future__ import annotations

from collections.abc import Sequence

LEAF_COLOURS = (
    "#9fc9e8", "#f0b490", "#93d6c0", "#e6bcd3", "#f4d48c", "#bfe3f7", "#f7f1a1",
)  # fmt: skip
"""Blue, vermilion, green, purple, orange, sky and yellow, light enough for black text."""


def class_colour(label: int, colours: Sequence[str] = LEAF_COLOURS) -> str:
    """Colour of a class index; colours repeat when there are more classes."""
    return colours[label % len(colours)]
