"""Compile or load the kernels of the search ahead of time, and tell whether they are compiled."""

from __future__ import annotations

from typing import Any

import numpy as np

from octcore.search.thresholds.depth_two import Rows, Terms, depth_two
from octcore.search.thresholds.node import open_node, search

_KINDS = {2: np.int16, 4: np.int32, 8: np.int64}
_loaded: set[tuple[int, bool]] = set()


def is_loaded(width: int, deep: bool) -> bool:
    """Whether the kernels for integers of ``width`` bytes are in memory, also those below two."""
    return (width, deep) in _loaded


def kernels_are_ready(width: int, deep: bool) -> bool:
    """Whether the kernels for integers of ``width`` bytes need no compiling."""
    needed = (depth_two, search) if deep else (depth_two,)
    return is_loaded(width, deep) or all(_is_cached(kernel, width) for kernel in needed)


def _is_cached(kernel: Any, width: int) -> bool:
    """Whether numba's cache on disk has a kernel for rows of this width.

    There is no public question for this; if numba answers no more, the kernels count as missing.
    """
    wanted = f"int{8 * width}"
    try:
        entries = kernel._cache._cache_file._load_index()
        return any(str(key[0][0].types[1].dtype) == wanted for key in entries)
    except (AttributeError, IndexError, KeyError, OSError, TypeError):
        return False


def warm_up(width: int = 2, deep: bool = True) -> None:
    """Run the kernels once on a few rows; what was compiled before is read from disk.

    Parameters
    ----------
    width : int
        Bytes of the integers: 2 serve all problems of up to 32,000 rows without odd weights.
    deep : bool
        Whether trees of depth three and more are needed as well.
    """
    if is_loaded(width, deep):
        return
    kind = _KINDS[width]
    sequence = np.array([[1, 3, 5, 6]], np.int32)
    ones = np.ones(4, kind)
    rows = Rows(
        sequence, np.arange(4, dtype=kind)[None, :], np.array([0, 1, 0, 1], np.int32),
        ones, np.array([1, -1, 1, -1], kind), ones,
    )  # fmt: skip
    terms = Terms(2, 0.1, 1e-9, np.zeros(1, np.uint8), np.zeros(2, np.int64))
    plan, score = np.zeros((8, 4), np.int32), np.zeros(1)
    depth_two(rows, terms, 4, 1, 1e300, np.ones(1, np.uint8), 1, score, plan[:4])
    _loaded.add((width, False))
    if deep:
        node = open_node(rows, 0.1, 3, 8, 1)
        search(rows, terms, node, 3, 1, 1e300, 1e300, score, -1, -1, plan)
        _loaded.add((width, True))
