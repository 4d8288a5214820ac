"""Which cases of a test come in the second stage of CI, as they take long."""

from __future__ import annotations

from typing import Any

import pytest


def later(*values: Any) -> list[Any]:
    """Values of a parameter that only the second stage tries."""
    return [pytest.param(value, marks=pytest.mark.long) for value in values]
