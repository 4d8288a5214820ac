"""Search kernels as the Python that they are written in: slow per row, but nothing compiles.

A fault in a kernel would be compiled again together with every kernel that calls it, for minutes.
The cases that notice faults are tiny, and plain Python answers them in hundredths of a second.
"""

from __future__ import annotations

import os
import warnings
from typing import Any

import numpy as np


def use_plain_kernels() -> None:
    """Let numba return functions as they are; called before anything of the package is imported."""
    os.environ["NUMBA_DISABLE_JIT"] = "1"
    from octcore import kernels
    from octcore.search.univariate import intrinsics

    stand_in: Any = intrinsics
    stand_in.shared_bits = lambda left, right: np.int64(int(left & right).bit_count())
    stand_in.insert_bit = lambda word, bit, position: type(word)(
        int(word) | int(bit) << int(position)
    )
    stand_in.plus = lambda left, right: left + right
    stand_in.minus = lambda left, right: left - right
    stand_in.times = lambda left, right: left * right
    stand_in.larger = max
    kernels.require = lambda *names, stop=None: 0.0
    # Numpy speaks of overflow and division by zero where machine code is silent.
    warnings.filterwarnings("ignore", category=RuntimeWarning)
