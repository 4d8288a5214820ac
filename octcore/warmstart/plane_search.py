"""Local search for one plane: the exact best step along a line for the weighted 0-1 loss.

Every point has a gain (positive or negative) for going right.  Along a direction in the space of
planes each score is linear in the step, so the best step follows from one sort (the idea of OC1).

Everywhere `X` holds the points, shape ``(n_points, n_features)``, `gains` their gains, shape
``(n_points,)``, and `weights` those of the plane, shape ``(n_features,)``.
"""

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]


def best_step(
    scores: FloatArray, slopes: FloatArray, gains: FloatArray, least_gap: float = 0.0
) -> tuple[float, float]:
    """Step that maximises the gain of the points with ``scores + step * slopes >= 0``.

    `scores`, `slopes`, `gains`: shape ``(n_points,)``.
    `least_gap`: shortest interval between critical steps in which a step may lie.
    Returns the step in the middle of its interval, and the gain; among equal gains the widest
    interval wins.  Without an admissible interval the gain is ``-inf``.
    """
    moves = np.abs(slopes) > 1e-12  # columns lie in [0, 1]: else no step that counts moves them
    fixed = float(gains[~moves][scores[~moves] >= 0].sum())
    if not moves.any():
        return 0.0, fixed
    slope, gain = slopes[moves], gains[moves]
    critical = -scores[moves] / slope
    order = np.argsort(critical)
    critical = critical[order]
    start = fixed + float(gain[slope < 0].sum())
    value = np.append(start, start + np.cumsum((np.sign(slope) * gain)[order]))
    reach = max(1.0, float(critical[-1] - critical[0]))
    ends = np.concatenate([[critical[0] - reach], critical, [critical[-1] + reach]])
    width = np.diff(ends)
    value = np.where(width > max(least_gap, 1e-12), value, -np.inf)
    width[0] = width[-1] = 0.0  # one-sided splits only when they are strictly better
    best = np.flatnonzero(value >= value.max() - 1e-9)  # equal but for rounding of the sums
    k = best[width[best].argmax()]
    return float(ends[k] + ends[k + 1]) / 2, float(value[k])


def shift_into_gap(
    X: FloatArray, weights: FloatArray, gains: FloatArray, least_gap: float
) -> tuple[float, float]:
    """Best offset for given weights (1-norm 1) whose strip of width `least_gap` holds no point.

    Returns the offset of the score ``weights @ x + offset``, and the gain.
    """
    return best_step(X @ weights, np.ones(len(X)), gains, least_gap)


def improve_strip(
    X: FloatArray,
    weights: FloatArray,
    gains: FloatArray,
    least_gap: float,
    rng: np.random.Generator,
    steps: int = 200,
) -> tuple[FloatArray, float]:
    """Turn a plane by small random steps, always with an empty strip of width `least_gap`.

    `X`: all points at the node: those without a gain must leave the strip empty too.
    `gains`: worth of going right, shape ``(n_points,)``.
    `least_gap`: width of the strip for weights of 1-norm 1.
    Returns the weights of 1-norm 1, and the offset in the middle of the strip.
    """
    p = X.shape[1]
    weights = weights / np.abs(weights).sum()
    offset, best = shift_into_gap(X, weights, gains, least_gap)
    ideal = float(gains[gains > 0].sum())
    for _ in range(steps):
        if best >= ideal - 1e-9:
            break
        step = np.zeros(p)
        if rng.random() < 0.5:
            step[rng.integers(p)] = rng.normal()
        else:
            step = rng.normal(size=p) / np.sqrt(p)
        trial = weights + 10.0 ** rng.uniform(-3.0, -0.3) * step
        trial = trial / np.abs(trial).sum()
        shift, value = shift_into_gap(X, trial, gains, least_gap)
        if value >= best:
            weights, offset, best = trial, shift, value
    return weights, offset


def improve_plane(
    X: FloatArray,
    weights: FloatArray,
    offset: float,
    gains: FloatArray,
    rng: np.random.Generator,
    rounds: int = 3,
) -> tuple[FloatArray, float]:
    """Walk along coordinates, the offset and random directions while the gain does not fall.

    Returns the weights and offset of the best plane seen.
    """
    p = X.shape[1]
    weights = weights.astype(float).copy()
    size = np.abs(weights).sum()
    if size > 0:
        weights, offset = weights / size, offset / size
    scores = X @ weights + offset
    best, most = (weights.copy(), offset), float(gains[scores >= 0].sum())
    now, ideal = most, float(gains[gains > 0].sum())
    for _ in range(rounds):
        before = most
        for k in rng.permutation(2 * p + 1):
            direction, shift = _direction(int(k), p, X, rng)
            slopes = X @ direction + shift
            step, value = best_step(scores, slopes, gains)
            if value < now - 1e-9:
                continue
            now = value
            weights, offset = weights + step * direction, offset + step * shift
            scores = scores + step * slopes
            if value > most + 1e-9:
                best, most = (weights.copy(), offset), value
            if value >= ideal - 1e-9:
                return best
        if most <= before + 1e-9:
            break
    return best


def _direction(k: int, p: int, X: FloatArray, rng: np.random.Generator) -> tuple[FloatArray, float]:
    """Coordinate ``k``, the offset (``k = p``), or a random rotation about a random point."""
    if k < p:
        return np.eye(p)[k], -float(X[rng.integers(len(X)), k]) * float(rng.random() < 0.5)
    if k == p:
        return np.zeros(p), 1.0
    direction = rng.normal(size=p) * (rng.random(p) < 0.7)
    return direction, -float(X[rng.integers(len(X))] @ direction)
