"""Numbers to [0, 1] for oblique formulations, and numbers that are used as they are.

`numbers` are the training values of one column, shape ``(n_samples,)``.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from octcore.data.findings import quote
from octcore.encoding.base import EncodedColumn
from octcore.errors import DataError


def scaled_column(
    raw: str, numbers: npt.NDArray[np.float64], levels: tuple[object, ...] = ()
) -> EncodedColumn:
    """Make the column that maps the range of the training values to [0, 1].

    Raises
    ------
    DataError
        If the range is not a finite number.
    """
    low, high = float(numbers.min()), float(numbers.max())
    with np.errstate(over="ignore"):
        scale = float(np.subtract(high, low))
    if not np.isfinite(scale) or scale <= 0:
        raise DataError(
            "RANGE_TOO_WIDE",
            f"Column {quote(raw)} goes from {low:g} to {high:g}, too far apart to scale; "
            "use another unit or leave it out.",
            column=raw,
        )
    return EncodedColumn(raw, "scaled", shift=low, scale=scale, levels=levels)


def is_indicator(numbers: npt.NDArray[np.float64]) -> bool:
    """Whether the values are 0 and 1 and both occur."""
    return bool(np.isin(numbers, (0.0, 1.0)).all()) and len(np.unique(numbers)) == 2


def plain_column(
    raw: str, numbers: npt.NDArray[np.float64], levels: tuple[object, ...] = ()
) -> EncodedColumn:
    """Make the column that passes numbers on; 0 and 1 are known to be binary."""
    if not levels and is_indicator(numbers):
        return EncodedColumn(raw, "level", level=1.0, other=0.0)
    return EncodedColumn(raw, "value", levels=levels)
