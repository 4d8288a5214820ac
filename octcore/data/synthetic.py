"""Two-dimensional teaching sets with known structure.

Coordinates lie in [0, 1], labels are -1 and +1.  Where the labels come from a tree of straight
lines, that tree is returned as plain data: node number -> (weights, offset).  Nodes count from 1
with children 2n and 2n+1; a point goes left if ``weights . x + offset < 0``, otherwise right.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from octcore.errors import SettingsError
from octcore.parameters import FloatRange, IntRange, Parameter, check_all

Points = npt.NDArray[np.float64]
Labels = npt.NDArray[np.int64]
Line = tuple[tuple[float, float], float]  # weights, offset: a point's score is weights . x + offset


def line_through(x: float, y: float, degrees: float) -> Line:
    """Return the line through (x, y) whose normal has that angle to the x axis."""
    angle = math.radians(degrees)
    weights = (math.cos(angle), math.sin(angle))
    return weights, -(weights[0] * x + weights[1] * y)


def route(planes: Mapping[int, Line], points: Points) -> tuple[Labels, Points]:
    """Leaf of each point in a tree of lines, and its smallest distance to one on its path."""
    node = np.ones(len(points), dtype=np.int64)
    distance = np.full(len(points), np.inf)
    while True:
        inner = [number for number in np.unique(node).tolist() if number in planes]
        if not inner:
            return node, distance
        for number in inner:
            here = np.flatnonzero(node == number)
            weights, offset = planes[number]
            score = (points[here] @ np.asarray(weights) + offset) / math.hypot(*weights)
            distance[here] = np.minimum(distance[here], np.abs(score))
            node[here] = 2 * number + (score >= 0)


@dataclass(frozen=True, eq=False)
class SyntheticSet:
    """Points, labels and, where known, the tree that made them."""

    points: Points  # shape ``(n_samples, 2)``: coordinates in [0, 1]
    labels: Labels  # shape ``(n_samples,)``: -1 or +1, some of them turned over by noise
    planes: Mapping[int, Line] = field(default_factory=dict)  # of the tree that made the labels
    leaf_labels: Mapping[int, int] = field(default_factory=dict)  # label of each leaf of that tree
    true_labels: Labels = field(default_factory=lambda: np.empty(0, np.int64))  # before noise


@dataclass(frozen=True)
class Generator:
    """A recipe with the parameters a teaching form offers."""

    key: str
    title: str
    summary: str
    draw: Callable[..., SyntheticSet]  # of a generator and the parameters but the last two
    parameters: tuple[Parameter, ...] = ()


_GENERATORS: list[Generator] = []
_SEED = IntRange("seed", 0, help="Number that fixes the random draw.", low=0, high=2**31 - 1)
_FLIP = FloatRange("flip", 0.0, help="Share of labels turned over.", low=0.0, high=0.45)


def _recipe(
    key: str, title: str, summary: str, *own: Parameter, seed: Parameter = _SEED
) -> Callable[[Callable[..., SyntheticSet]], Callable[..., SyntheticSet]]:
    """Add a recipe to the list, in teaching order."""

    def add(draw: Callable[..., SyntheticSet]) -> Callable[..., SyntheticSet]:
        _GENERATORS.append(Generator(key, title, summary, draw, (*own, _FLIP, seed)))
        return draw

    return add


def _points(default: int, low: int) -> IntRange:
    return IntRange("n", default, symbol="n", help="Number of points.", low=low, high=2000)


def _gamma(default: float, high: float) -> FloatRange:
    """Its highest value leaves every region of a recipe room for points."""
    text = "Smallest distance of a point to a line on its path; the true margin is twice this."
    return FloatRange("gamma", default, symbol="γ", help=text, low=0.0, high=high)


def _noise(default: float, high: float) -> FloatRange:
    text = "Standard deviation of the noise on the position."
    return FloatRange("noise", default, symbol="σ", help=text, low=0.0, high=high)


def _partition(
    planes: Mapping[int, Line],
    leaf_labels: Mapping[int, int],
    n: int,
    gamma: float,
    rng: np.random.Generator,
    shares: Mapping[int, float] | None = None,
) -> tuple[SyntheticSet, Labels]:
    """Draw uniform points until every leaf has its number; return them and their leaves.

    `shares`: of the points, by leaf; by default all have the same.
    """
    room = dict.fromkeys(leaf_labels, max(1, n // len(leaf_labels)))
    room |= {leaf: max(1, round(n * share)) for leaf, share in (shares or {}).items()}
    points, leaves = list[Points](), list[int]()
    while any(room.values()):
        block = rng.random((256, 2))
        leaf, distance = route(planes, block)
        for point, number, far in zip(block, leaf.tolist(), distance >= gamma, strict=True):
            if far and room[number] > 0:
                room[number] -= 1
                points.append(point)
                leaves.append(number)
    order = rng.permutation(len(points))
    of_leaves = np.array(leaves, dtype=np.int64)[order]
    labels = np.array([leaf_labels[leaf] for leaf in of_leaves.tolist()], dtype=np.int64)
    return SyntheticSet(np.array(points)[order], labels, planes, leaf_labels), of_leaves


@_recipe(
    "4-partitions",
    "Four partitions",
    "Four regions cut by three oblique lines; a depth-2 oblique tree is perfect.",
    _points(108, 8),
    _gamma(0.03, 0.08),
)
def _four_partitions(rng: np.random.Generator, n: int, gamma: float) -> SyntheticSet:
    planes = {
        1: line_through(0.55, 0.49, 40),
        2: line_through(0.46, 0.33, 130),
        3: line_through(0.61, 0.68, 285),
    }
    return _partition(planes, {4: -1, 5: 1, 6: -1, 7: 1}, n, gamma, rng)[0]


@_recipe(
    "wedges",
    "Halves with wedges",
    "Two halves, each with a few points of the other class in a wedge: every margin can be seen.",
    _points(110, 24),
    _gamma(0.025, 0.04),
)
def _wedges(rng: np.random.Generator, n: int, gamma: float) -> SyntheticSet:
    """Wedges lie at the first line, and hold few points, so that their slack leaves it narrow."""
    planes = {
        1: line_through(0.5, 0.5, 10),
        2: line_through(0.40, 0.88, 50),
        3: line_through(0.50, 0.86, 160),
    }
    shares = {4: 0.47, 5: 0.03, 6: 0.47, 7: 0.03}
    return _partition(planes, {4: -1, 5: 1, 6: 1, 7: -1}, n, gamma, rng, shares)[0]


@_recipe(
    "6-partitions",
    "Six partitions",
    "Six oblique strips of alternating label; depth 3 is needed.",
    _points(96, 12),
    _gamma(0.02, 0.04),
)
def _six_partitions(rng: np.random.Generator, n: int, gamma: float) -> SyntheticSet:
    """One point of every strip lies on the line y = 0.5.

    Six points in a row with alternating labels need five changes of side, and a depth-2 tree has
    three, so no depth-2 tree is perfect.
    """
    # The left half needs only two strips of its own level: its leaves hang at different depths.
    planes = {
        1: line_through(2 / 6, 0.5, 12),
        2: line_through(1 / 6, 0.5, -10),
        3: line_through(4 / 6, 0.5, -12),
        6: line_through(3 / 6, 0.5, 8),
        7: line_through(5 / 6, 0.5, 10),
    }
    leaf_labels = {4: -1, 5: 1, 12: -1, 13: 1, 14: -1, 15: 1}
    made, leaves = _partition(planes, leaf_labels, n, gamma, rng)
    for strip, leaf in enumerate(leaf_labels):
        made.points[np.flatnonzero(leaves == leaf)[0]] = ((2 * strip + 1) / 12, 0.5)
    return made


@_recipe(
    "xor",
    "XOR",
    "Four quarters with opposite labels; greedy trees see no gain in the first split.",
    _points(100, 8),
    _gamma(0.04, 0.15),
)
def _xor(rng: np.random.Generator, n: int, gamma: float) -> SyntheticSet:
    planes = {1: ((1.0, 0.0), -0.5), 2: ((0.0, 1.0), -0.5), 3: ((0.0, -1.0), 0.5)}
    return _partition(planes, {4: -1, 5: 1, 6: -1, 7: 1}, n, gamma, rng)[0]


@_recipe("moons", "Moons", "Two half circles that interlock.", _points(120, 8), _noise(0.06, 0.5))
def _moons(rng: np.random.Generator, n: int, noise: float) -> SyntheticSet:
    labels = _halves(n)
    angle = rng.uniform(0, math.pi, n)
    outer = np.column_stack([np.cos(angle), np.sin(angle)])
    inner = np.column_stack([1 - np.cos(angle), 0.5 - np.sin(angle)])
    points = np.where(labels[:, None] < 0, outer, inner) + noise * rng.standard_normal((n, 2))
    return SyntheticSet(_to_unit_square(points), labels)


@_recipe(
    "circles",
    "Circles",
    "A ring around a smaller ring.",
    _points(120, 8),
    _noise(0.04, 0.3),
    FloatRange("inner", 0.35, help="Radius of the inner ring.", low=0.05, high=0.95),
)
def _circles(rng: np.random.Generator, n: int, noise: float, inner: float) -> SyntheticSet:
    labels = _halves(n)
    angle = rng.uniform(0, 2 * math.pi, n)
    radius = np.where(labels < 0, 1.0, inner) + noise * rng.standard_normal(n)
    points = radius[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])
    return SyntheticSet(_to_unit_square(points), labels)


@_recipe(
    "spiral",
    "Spiral",
    "Two arms that wind around each other.",
    _points(120, 8),
    _noise(0.01, 0.1),
    FloatRange("turns", 1.25, help="Turns of each arm.", low=0.25, high=3.0),
)
def _spiral(rng: np.random.Generator, n: int, noise: float, turns: float) -> SyntheticSet:
    labels = _halves(n)
    radius = np.sqrt(rng.uniform(0.04, 1, n))
    angle = 2 * math.pi * turns * radius + np.where(labels > 0, math.pi, 0.0)
    points = radius[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])
    points += noise * rng.standard_normal((n, 2))
    return SyntheticSet(_to_unit_square(points), labels)


@_recipe(
    "checkerboard",
    "Checkerboard",
    "A chess board; the hardest of the sets for few splits.",
    _points(128, 16),
    IntRange("cells", 4, symbol="k", help="Cells on each side.", low=2, high=8),
    _gamma(0.02, 0.06),
)
def _checkerboard(rng: np.random.Generator, n: int, cells: int, gamma: float) -> SyntheticSet:
    """Fields shrunk by `gamma` on every side."""
    per_cell = max(1, n // cells**2)
    column, row = (part.ravel().repeat(per_cell) for part in np.mgrid[:cells, :cells])
    corner = np.column_stack([column, row]) / cells + gamma
    points = corner + rng.random(corner.shape) * (1 / cells - 2 * gamma)
    labels = np.where((column + row) % 2 == 1, 1, -1).astype(np.int64)
    order = rng.permutation(len(points))
    return SyntheticSet(points[order], labels[order])


@_recipe(
    "fourclass-like",
    "Fourclass-like islands",
    "Irregular islands of one class in the other.",
    _points(862, 40),
    FloatRange("dead_zone", 0.03, help="Band around the border without points.", low=0.0, high=0.1),
    seed=replace(_SEED, default=7, help="Number that fixes the islands."),
)
def _fourclass_like(rng: np.random.Generator, n: int, dead_zone: float) -> SyntheticSet:
    """Draw around the sum of nine signed bumps above a level, 307 of 862 points positive."""
    centres = rng.random((9, 2))
    widths = rng.uniform(0.07, 0.16, 9)
    signs = np.where(np.arange(9) % 3 == 2, -1.0, 1.0)

    def height(points: Points) -> Points:
        squared = ((points[:, None, :] - centres) ** 2).sum(axis=2)
        return (signs * np.exp(-squared / (2 * widths**2))).sum(axis=1)

    n_positive = round(n * 307 / 862)
    level = np.quantile(height(rng.random((20_000, 2))), 1 - n_positive / n)
    above, below = list[Points](), list[Points]()
    while len(above) < n_positive or len(below) < n - n_positive:
        block = rng.random((512, 2))
        over = height(block) - level
        above += list(block[over >= dead_zone])
        below += list(block[over <= -dead_zone])
    points = np.array(above[:n_positive] + below[: n - n_positive])
    labels = np.repeat(np.array([1, -1], dtype=np.int64), [n_positive, n - n_positive])
    order = rng.permutation(n)
    return SyntheticSet(points[order], labels[order])


def _halves(n: int) -> Labels:
    return np.where(np.arange(n) < n // 2, -1, 1).astype(np.int64)


def _to_unit_square(points: Points) -> Points:
    low, high = points.min(axis=0), points.max(axis=0)
    return (points - low) / np.where(high > low, high - low, 1.0)


def list_generators() -> tuple[Generator, ...]:
    """Return all recipes in teaching order."""
    return tuple(_GENERATORS)


def generate(key: str, **settings: float) -> SyntheticSet:
    """Make a set by key, with every setting checked against its declared range.

    Raises `SettingsError` for an unknown recipe or setting, or a value out of range.
    """
    recipe = next((recipe for recipe in _GENERATORS if recipe.key == key), None)
    if recipe is None:
        known = ", ".join(recipe.key for recipe in _GENERATORS)
        raise SettingsError("UNKNOWN_CHOICE", f"There is no recipe {key!r}; choose {known}.", "key")
    values: dict[str, Any] = check_all(recipe.parameters, settings, key)
    rng, flip = np.random.default_rng(values.pop("seed")), values.pop("flip")
    made = recipe.draw(rng, **values)
    noisy = made.labels.copy()
    chosen = rng.permutation(len(noisy))[: round(flip * len(noisy))]
    noisy[chosen] = -noisy[chosen]
    return replace(made, labels=noisy, true_labels=made.labels)
