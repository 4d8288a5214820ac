"""Compile or load the kernels of the search ahead of time."""

from __future__ import annotations


def warm_up() -> None:
    """Prepare what `threshold_search` runs."""
