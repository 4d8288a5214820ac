"""Local search for trees of planes that leave strips empty: exact steps along lines of planes.

Along a line in the space of planes the scores of rows are linear in the step, and so is the norm of
the weights while none of them changes its sign.  Every row therefore leaves the strip of the plane
at one step and enters it at another; one sort of these steps gives the value of all planes of the
line.  The next plane is drawn among them, the better the likelier, and the more so the longer the
search runs (annealing).  Rows inside a strip are worth less than errors; what is kept are the best
trees without any.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from octcore import kernels
from octcore.kernels import inner, kernel, part
from octcore.warmstart.points import ClassCounts, FloatArray, PlaneTree

HEAT = (1.0, 0.1)
"""First and last temperature, in rows."""
FINES = (0.2, 3.0)
"""First and last price of a row inside a strip, in rows, beyond that it is not right."""
TINY = 1e-12
WIDER = 1e-6
"""Relative: strips are a little wider than asked for, so that rounding does not count."""
SMALLEST_WEIGHT = 1e-9
"""Smaller ones are zero: rounding."""
CHUNK_MOVES, CHUNK_ROWS = 500, 250_000
"""Moves between two looks at the clock, and moves x rows; a row costs a tenth of a microsecond."""
LENGTHS = (20_000, 20_000, 40_000, 20_000, 40_000, 100_000)
"""Moves of successive annealings."""


class StripSearch:
    """Anneals trees of planes with empty strips, one after another, in slices of time.

    Parameters
    ----------
    points : ClassCounts
        What is classified.
    gap : float
        Width of the strips, for weights of 1-norm 1.
    rng : numpy.random.Generator
        Source of everything random.
    """

    def __init__(self, points: ClassCounts, gap: float, rng: np.random.Generator) -> None:
        kernels.require(*ALL)
        self.gap, self.rng = gap, rng
        self._planes: FloatArray | None = None
        self._done, self._runs = 0, 0
        self._X = np.ascontiguousarray(points.X)
        self._counts = np.ascontiguousarray(points.counts, float)
        self._row = points.total / max(1, len(points))

    @property
    def is_running(self) -> bool:
        """Whether an annealing is to be gone on with."""
        return self._planes is not None

    def begin(self, start: PlaneTree) -> None:
        """Begin an annealing at a tree."""
        norm = np.maximum(np.abs(start.weights).sum(axis=1), TINY)
        scale = np.where(start.splitting, 1 / norm, 1.0)
        self._planes = np.column_stack([start.weights, start.offsets]) * scale[:, None]
        self._done = 0

    def go_on(self, deadline: float) -> PlaneTree | None:
        """Go on with the annealing; the best tree with empty strips on the way, or None."""
        assert self._planes is not None
        length = LENGTHS[self._runs % len(LENGTHS)]
        best, best_value = np.zeros_like(self._planes), -np.inf
        found = best.copy()
        chunk = int(np.clip(CHUNK_ROWS // len(self._X), 10, CHUNK_MOVES))
        while self._done < length and time.perf_counter() < deadline:
            share = np.array([self._done, self._done + chunk]) / length
            heats = HEAT[0] * (HEAT[1] / HEAT[0]) ** share
            fines = FINES[0] * (FINES[1] / FINES[0]) ** share
            schedule = np.array([*heats, *fines]) * self._row
            value = _anneal(
                self._X, self._counts, self._planes, found, self.gap / 2 * (1 + WIDER),
                schedule, chunk, int(self.rng.integers(2**31)),
            )  # fmt: skip
            if value > best_value:
                best, best_value = found.copy(), value
            self._done += chunk
        if self._done >= length:
            self._planes, self._runs = None, self._runs + 1
        if best_value == -np.inf:
            return None
        return PlaneTree(best[:, :-1].copy(), best[:, -1].copy())


@kernel()
def _anneal(
    X: FloatArray,
    counts: FloatArray,
    planes: FloatArray,
    best: FloatArray,
    reach: float,
    schedule: FloatArray,
    moves: int,
    seed: int,
) -> float:
    """Anneal `planes` in place; `best` becomes the best tree without rows in strips.

    Planes are rows ``(w, b)`` by node, with weights of 1-norm 1 or none.
    """
    random = np.empty(2, np.uint64)
    random[0], random[1] = np.uint64(seed), np.uint64(0x9E3779B97F4A7C15)
    n, p = X.shape
    nodes = len(planes)
    labels = np.zeros(2 * nodes, np.int64)
    here, worth = np.empty(n, np.int64), np.empty((n, 2))
    best_value = -np.inf
    direction, trial = np.empty(p + 1), np.empty(p + 1)
    splitting = np.empty(nodes, np.int64)
    n_split = 0
    for node in range(1, nodes):
        if _is_split(planes[node]):
            splitting[n_split] = node
            n_split += 1
    if n_split == 0:
        return best_value
    names, steps, value = np.empty(2 * n, np.int64), np.empty(2 * n), np.empty(2 * n + 1)
    for move in range(moves):
        progress = move / moves
        heat = schedule[0] * (schedule[1] / schedule[0]) ** progress
        fine = schedule[2] * (schedule[3] / schedule[2]) ** progress
        if move % 8 == 0:
            best_value = _keep(X, counts, planes, labels, reach, best, best_value)
        node = splitting[_draw(random, n_split)]
        size = 0
        for i in range(n):
            if _arrives(X, planes, node, i, reach):
                here[size] = i
                for side in range(0 if 2 * node >= nodes else 2):
                    worth[size, side] = _worth(
                        X, counts, planes, labels, 2 * node + side, i, reach, fine
                    )
                size += 1
        if size < 2:
            continue
        _draw_direction(random, X, planes[node], here[:size], direction)
        low, high = _range(planes[node], direction)
        found = _sweep(
            X, counts, planes[node], direction, here[:size], worth, low, high, reach,
            2 * node >= nodes, fine, names, steps, value,
        )  # fmt: skip
        step = _choose(random, steps[:found], value[: found + 1], low, high, heat)
        norm = 0.0
        for j in range(p + 1):
            trial[j] = planes[node, j] + step * direction[j]
            if j < p:
                if abs(trial[j]) < SMALLEST_WEIGHT:
                    trial[j] = 0.0
                norm += abs(trial[j])
        if norm > 1e-3:
            for j in range(p + 1):
                planes[node, j] = trial[j] / norm
    return _keep(X, counts, planes, labels, reach, best, best_value)


@inner()
def _keep(
    X: Any, counts: Any, planes: Any, labels: Any, reach: float, best: Any, best_value: float
) -> float:
    """Label the leaves, and keep the planes as the best ones if they are."""
    correct = _label(X, counts, planes, labels, reach)
    if correct > best_value:
        for node in range(planes.shape[0]):
            for j in range(planes.shape[1]):
                best[node, j] = planes[node, j]
    return max(correct, best_value)


@inner()
def _uniform(random: Any) -> float:
    """Random number of [0, 1): the generator "xorshift128+"."""
    first, second = random[0], random[1]
    random[0] = second
    first ^= first << np.uint64(23)
    random[1] = first ^ second ^ (first >> np.uint64(18)) ^ (second >> np.uint64(5))
    return float((random[1] + second) >> np.uint64(11)) / 9007199254740992.0


@inner()
def _draw(random: Any, count: int) -> int:
    """Random number of 0 .. count - 1."""
    return int(_uniform(random) * count)


@inner()
def _normal(random: Any) -> float:
    """About normally distributed: a sum of uniform numbers."""
    total = -2.0
    for _ in range(4):
        total += _uniform(random)
    return total * 1.7320508075688772


@inner()
def _score(X: Any, plane: Any, i: int) -> float:
    total = plane[-1]
    for j in range(X.shape[1]):
        total += plane[j] * X[i, j]
    return total


@inner()
def _is_split(plane: Any) -> bool:
    for j in range(len(plane) - 1):
        if plane[j] != 0.0:
            return True
    return False


@inner()
def _arrives(X: Any, planes: Any, node: int, i: int, reach: float) -> bool:
    """Whether a point gets to a node, outside of the strips above it."""
    child = node
    while child > 1:
        above = child // 2
        score = _score(X, planes[above], i)
        if (score >= 0.0) != (child % 2 == 1):
            return False
        if abs(score) < reach and _is_split(planes[above]):
            return False
        child = above
    return True


@inner()
def _worth(
    X: Any, counts: Any, planes: Any, labels: Any, node: int, i: int, reach: float, fine: float
) -> float:
    """Weight of a point that is right below a node; the fine where it lies in a strip."""
    while node < len(planes):
        score = _score(X, planes[node], i)
        if abs(score) < reach and _is_split(planes[node]):
            return -fine
        node = 2 * node + (1 if score >= 0.0 else 0)
    return counts[i, labels[node]]


@part()
def _label(X: Any, counts: Any, planes: Any, labels: Any, reach: float) -> float:
    """Give leaves the label of their majority; the correct weight, if no strip holds a row."""
    nodes, n_classes = len(planes), counts.shape[1]
    table = np.zeros((2 * nodes, n_classes))
    is_clean = True
    for i in range(len(X)):
        node = 1
        while node < nodes:
            score = _score(X, planes[node], i)
            if abs(score) < reach and _is_split(planes[node]):
                is_clean = False
            node = 2 * node + (1 if score >= 0.0 else 0)
        for k in range(n_classes):
            table[node, k] += counts[i, k]
    correct = 0.0
    for leaf in range(nodes, 2 * nodes):
        largest = table[leaf].max()
        if largest > 0.0:
            labels[leaf] = np.argmax(table[leaf])
        correct += largest
    return correct if is_clean else -np.inf


@part()
def _draw_direction(random: Any, X: Any, plane: Any, here: Any, direction: Any) -> None:
    """Shift, or turn about a point of the node: one weight, two, or all of them."""
    p = X.shape[1]
    direction[:] = 0.0
    kind = _uniform(random)
    if kind < 0.15:
        direction[p] = 1.0
        return
    if kind < 0.5:
        for _ in range(2):
            direction[_draw(random, p)] += _normal(random)
    elif kind < 0.65:
        j = _draw(random, p)
        direction[j] = -1.0 if plane[j] > 0.0 else 1.0
    else:
        for j in range(p):
            direction[j] = _normal(random)
    size, i = 0.0, here[_draw(random, len(here))]
    for _ in range(3):  # of some points the one next to the plane
        other = here[_draw(random, len(here))]
        if abs(_score(X, plane, other)) < abs(_score(X, plane, i)):
            i = other
    for j in range(p):
        size += abs(direction[j])
    for j in range(p):
        direction[j] /= max(size, TINY)
        direction[p] -= direction[j] * X[i, j]
    # about a plane that passes near the point, on either side of its strip
    direction[p] += _normal(random) * 0.01


@part()
def _range(plane: Any, direction: Any) -> tuple[float, float]:
    """Steps in which no weight changes its sign, and that are not too long."""
    low, high = -1.0, 1.0
    for j in range(len(plane) - 1):
        if plane[j] != 0.0 and direction[j] != 0.0:
            at = -plane[j] / direction[j]
            if at > 0.0:
                high = min(high, at)
            else:
                low = max(low, at)
        elif direction[j] != 0.0:
            low = 0.0  # the norm grows with this weight on one side only
    return low, high


@part()
def _sweep(
    X: Any, counts: Any, plane: Any, direction: Any, here: Any, worth: Any, low: float,
    high: float, reach: float, is_last: bool, fine: float, names: Any, steps: Any, value: Any,
) -> int:  # fmt: skip
    """Value of all planes of a line, interval by interval; the number of steps between them.

    Row ``k`` of the node goes right from the step of event ``2 k`` or up to it, left likewise with
    event ``2 k + 1``, and lies in the strip between them.
    """
    p, n_classes, size = X.shape[1], counts.shape[1], len(here)
    growth = 0.0
    for j in range(p):
        growth += direction[j] * (1.0 if plane[j] > 0.0 else -1.0 if plane[j] < 0.0 else 0.0)
        if plane[j] == 0.0:
            growth += abs(direction[j])
    state = np.zeros((size, 2), np.bool_)
    totals = np.zeros((2, n_classes))
    total, found = 0.0, 0
    for k in range(size):
        i = here[k]
        score, slope = _score(X, plane, i), direction[p]
        for j in range(p):
            slope += direction[j] * X[i, j]
        for side in range(2):
            sign = 1.0 if side == 1 else -1.0
            at = sign * score - reach
            per_step = sign * slope - reach * growth
            state[k, side] = at + low * per_step >= 0.0
            if abs(per_step) > TINY:
                step = -at / per_step
                if low < step < high:
                    steps[found], names[found] = step, 2 * k + side
                    found += 1
        total += _row_value(state, totals, counts, worth, here, k, is_last, fine, 1.0)
    _sort(steps, names, found)
    value[0] = total + (totals[0].max() + totals[1].max() if is_last else 0.0)
    for e in range(found):
        k, side = names[e] // 2, names[e] % 2
        total -= _row_value(state, totals, counts, worth, here, k, is_last, fine, -1.0)
        state[k, side] = not state[k, side]
        total += _row_value(state, totals, counts, worth, here, k, is_last, fine, 1.0)
        value[e + 1] = total + (totals[0].max() + totals[1].max() if is_last else 0.0)
    return found


@part()
def _sort(steps: Any, names: Any, count: int) -> None:
    """Sort steps and names along, in growing strides (shell sort: it compiles fast)."""
    stride = 1
    while stride < count // 2.3:
        stride = int(2.3 * stride) + 1
    while stride >= 1:
        for e in range(stride, count):
            step, name, at = steps[e], names[e], e
            while at >= stride and steps[at - stride] > step:
                steps[at], names[at] = steps[at - stride], names[at - stride]
                at -= stride
            steps[at], names[at] = step, name
        stride = int(stride / 2.3) if stride > 1 else 0


@inner()
def _row_value(
    state: Any, totals: Any, counts: Any, worth: Any, here: Any, k: int, is_last: bool,
    fine: float, sign: float,
) -> float:  # fmt: skip
    """What a row is worth; above leaves its classes are added to those of its side instead."""
    if not state[k, 0] and not state[k, 1]:
        return -fine
    side = 1 if state[k, 1] else 0
    if not is_last:
        return worth[k, side]
    for c in range(counts.shape[1]):
        totals[side, c] += sign * counts[here[k], c]
    return 0.0


@part()
def _choose(random: Any, position: Any, value: Any, low: float, high: float, heat: float) -> float:
    """Draw an interval by its value, and a step in it."""
    found = len(position)
    most, chosen, best = value.max(), -1, -np.inf
    for e in range(found + 1):
        if value[e] < most - 8.0 * heat:
            continue
        start = position[e - 1] if e > 0 else low
        end = position[e] if e < found else high
        if end - start < 1e-9:
            continue
        noisy = value[e] - heat * np.log(-np.log(_uniform(random) + 1e-300) + 1e-300)
        if noisy > best:
            best, chosen = noisy, e
    if chosen < 0:
        return 0.0
    start = position[chosen - 1] if chosen > 0 else low
    end = position[chosen] if chosen < found else high
    if _uniform(random) < 0.3:
        if chosen == 0:
            return low
        if chosen == found:
            return high
    return start + (0.2 + 0.6 * _uniform(random)) * (end - start)


ALL = (f"{__name__}:all",)
"""Sets of kernels, see `octcore.kernels`."""


def compile_part(_: str) -> None:
    """Run all kernels on a few points."""
    X = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    planes = np.array([[0.0, 0.0, -1.0], [0.5, 0.5, -0.4], [0.0, 0.0, -1.0], [0.5, 0.5, -0.6]])
    schedule = np.array([*HEAT, *FINES])
    _anneal(X, np.eye(2)[[0, 1, 1, 0]], planes, planes.copy(), 0.01, schedule, 20, 0)
