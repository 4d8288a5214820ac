"""Which cases of a test come with the long oracles, as they repeat on others what CI has seen."""

from __future__ import annotations

from typing import Any

import pytest


def later(*values: Any) -> list[Any]:
    """Values of a parameter that only ``pytest -m slow`` tries."""
    return [pytest.param(value, marks=pytest.mark.slow) for value in values]
