"""What every search asks of its rows and settings before it starts."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from octcore.errors import DataError, SettingsError


def check_rows(X: np.ndarray, y: np.ndarray, n_classes: int) -> None:
    """Refuse rows (n, p) and class indices (n,) that do not fit together, by a `DataError`."""
    if X.ndim != 2 or y.shape != (len(X),) or len(X) == 0:
        raise DataError(
            "BAD_SHAPE",
            f"The search needs X of shape (n, p) and y of shape (n,) with n >= 1, "
            f"got {X.shape} and {y.shape}; check the data.",
        )
    if y.min() < 0 or y.max() >= n_classes:
        raise DataError(
            "BAD_CLASSES",
            f"Class indices must be 0..{n_classes - 1}, got {y.min()}..{y.max()}; renumber the "
            "classes.",
        )


def check_ranges(ranges: Mapping[str, tuple[float | None, float, float]]) -> None:
    """Refuse by a `SettingsError` what is outside (value, lowest, highest); None is no value."""
    for name, (value, low, high) in ranges.items():
        if value is not None and not low <= value <= high:
            words = f"at least {low}" if high == np.inf else f"from {low} to {high}"
            raise SettingsError("OUT_OF_RANGE", f"{name} must be {words}, got {value}.", name)
