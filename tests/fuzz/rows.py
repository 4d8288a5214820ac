"""Rows with the properties that bounds and reductions stumble over."""

from __future__ import annotations

import numpy as np

KINDS = ("independent", "sparse", "one-hot", "thermometer", "few distinct", "mixed", "categories")
LABELS = ("tree", "noise", "parity", "imbalance")
WEIGHTS = ("none", "counts", "zeros", "fractions")
SHARP_WEIGHTS = (*WEIGHTS, "near ties", "wide")
"""For objectives that are sums of weights, and exact."""
MOST_UNITS = 1 << 24
"""Total weight, in the largest unit that all weights are multiples of, that can be counted."""
EDGES = (2**15, 2**16, 2**30, 2**31)
"""Totals near which sums change the width of the integers that hold them."""


def draw_columns(
    rng: np.random.Generator, kind: str, n: int, p: int
) -> dict[str, tuple[object, ...]]:
    """Draw raw columns ``f0``, ``f1``, …; text when the kind is "categories", numbers
    when it is "numbers" or "neighbours".

    Parameters
    ----------
    rng : numpy.random.Generator
        Source of everything random.
    kind : str
        One of `KINDS`, or of those for numbers.
    n, p : int
        Rows, and about how many binary columns.
    """
    if kind == "categories":
        return _categories(rng, n, p)
    if kind == "numbers":
        return _numbers(rng, n, p)
    if kind == "neighbours":
        return _neighbours(rng, n, p)
    X = draw_binary(rng, kind, n, p)
    return {f"f{j}": tuple(X[:, j].tolist()) for j in range(X.shape[1])}


def draw_binary(rng: np.random.Generator, kind: str, n: int, p: int) -> np.ndarray:
    """Draw zeros and ones of shape ``(n, p)``, some columns related to others."""
    if kind == "mixed":
        half = max(1, p // 2)
        kinds = rng.choice([k for k in KINDS if k not in {"mixed", "categories"}], 2)
        sizes = (half, p - half)
        parts = [draw_binary(rng, str(k), n, s) for k, s in zip(kinds, sizes, strict=True) if s]
        X = np.hstack(parts)[:, rng.permutation(p)]
    elif kind == "sparse":
        X = rng.random((n, p)) < rng.uniform(0.08, 0.3)
    elif kind == "one-hot":
        X = np.hstack([_block(rng, n) for _ in range(p)])[:, :p]
    elif kind == "thermometer":
        X = np.hstack([_ladder(rng, n) for _ in range(p)])[:, :p]
    elif kind == "few distinct":
        distinct = rng.integers(0, 2, (int(rng.integers(2, 7)), p))
        X = distinct[rng.integers(0, len(distinct), n)]
    else:
        X = rng.random((n, p)) < rng.uniform(0.25, 0.75)
    return related(rng, X.astype(np.uint8))


def related(rng: np.random.Generator, X: np.ndarray) -> np.ndarray:
    """Make some columns copies, complements or near-copies of others, or constant."""
    X = X.copy()
    p = X.shape[1]
    for j in range(p):
        if rng.random() > 0.12:
            continue
        other = X[:, int(rng.integers(0, p))]
        change = rng.integers(0, 4)
        if change == 0:
            X[:, j] = other
        elif change == 1:
            X[:, j] = 1 - other
        elif change == 2:
            X[:, j] = other
            X[int(rng.integers(0, len(X))), j] ^= 1
        else:
            X[:, j] = rng.integers(0, 2)
    return X


def _block(rng: np.random.Generator, n: int) -> np.ndarray:
    levels = int(rng.integers(2, 5))
    return np.eye(levels, dtype=np.uint8)[rng.integers(0, levels, n)]


def _ladder(rng: np.random.Generator, n: int) -> np.ndarray:
    steps = int(rng.integers(2, 5))
    return (rng.integers(0, steps + 1, n)[:, None] > np.arange(steps)).astype(np.uint8)


def _numbers(rng: np.random.Generator, n: int, p: int) -> dict[str, tuple[object, ...]]:
    """Numbers with ties, now and then beside a column of zeros and ones or of text."""
    columns: dict[str, tuple[object, ...]] = {}
    for j in range(p):
        sort = rng.integers(0, 6)
        if sort == 0:
            cells = rng.integers(0, 2, n).tolist()
        elif sort == 1:
            cells = ["abc"[v] for v in rng.integers(0, 3, n)]
        elif sort == 2:
            cells = np.round(rng.normal(0, 3, n), 2).tolist()
        else:
            cells = rng.integers(0, int(rng.integers(3, 8)), n).tolist()
        columns[f"f{j}"] = tuple(cells)
    return columns


def _neighbours(rng: np.random.Generator, n: int, p: int) -> dict[str, tuple[object, ...]]:
    """Draw numbers, no other one between two of them: midpoints round to one of both.

    No column is constant; some have the smallest numbers that there are.
    """
    columns: dict[str, tuple[object, ...]] = {}
    for j in range(p):
        ladder = [float(rng.choice([0.0, 1.0, -1.0, 0.1, -1 / 3, 2.0**-1022, 1e15, 7e-310]))]
        for _ in range(int(rng.integers(2, 7))):
            ladder.append(float(np.nextafter(ladder[-1], np.inf)))
        columns[f"f{j}"] = (ladder[0], ladder[1], *rng.choice(ladder, n - 2).tolist())
    return columns


def _categories(rng: np.random.Generator, n: int, p: int) -> dict[str, tuple[object, ...]]:
    """Text columns whose levels make about `p` encoded columns."""
    columns: dict[str, tuple[object, ...]] = {}
    left = p
    while left > 0:
        levels = min(int(rng.integers(2, 5)), max(2, left))
        cells = rng.integers(0, levels, n)
        columns[f"f{len(columns)}"] = tuple("abcd"[v] for v in cells)
        left -= 1 if levels == 2 else levels
    return columns


def draw_labels(rng: np.random.Generator, kind: str, X: np.ndarray, classes: int) -> np.ndarray:
    """Draw class numbers that a tree, a parity or nothing explains."""
    n, p = X.shape
    if kind == "noise" or p == 0:
        y = rng.integers(0, classes, n)
    elif kind == "imbalance":
        y = np.where(rng.random(n) < 0.85, 0, rng.integers(0, classes, n))
    elif kind == "parity":
        chosen = rng.choice(p, min(p, int(rng.integers(2, 4))), replace=False)
        y = X[:, chosen].sum(axis=1).astype(int) % classes
    else:
        leaf = np.ones(n, int)
        for _ in range(int(rng.integers(1, 4))):
            leaf = 2 * leaf + X[:, rng.integers(0, p, 64)][np.arange(n), leaf % 64].astype(int)
        y = rng.integers(0, classes, 64)[leaf % 64]
    noisy = rng.random(n) < rng.choice([0.0, 0.1, 0.25])
    return np.where(noisy, rng.integers(0, classes, n), y)


def draw_weights(
    rng: np.random.Generator, kind: str, n: int, edges: tuple[int, ...] = EDGES
) -> tuple[float, ...] | None:
    """Draw weights of a kind.

    Counts; zeros among ones; fractions over seven decades; ones that differ by a little, so that
    trees do; or large counts whose sum lies at an edge of a width of integers.
    """
    if kind == "none":
        return None
    if kind == "near ties":
        step = float(rng.choice([1e-3, 1e-5]))
        return tuple((rng.integers(1, 4, n) + step * rng.integers(-2, 3, n)).tolist())
    if kind == "wide":
        total = int(rng.choice(edges)) + int(rng.integers(-3, 4))
        return tuple((rng.multinomial(total - n, rng.dirichlet(np.ones(n))) + 1.0).tolist())
    if kind == "counts":
        return tuple(rng.integers(1, 6, n).astype(float).tolist())
    if kind == "zeros":
        weights = rng.choice([0.0, 0.0, 1.0, 2.0], n)
    else:
        weights = 10.0 ** rng.uniform(-3.5, 3.5, n)
        weights[rng.random(n) < 0.2] = 0.0
    if not weights.any():
        weights[0] = 1.0
    return tuple(weights.tolist())
