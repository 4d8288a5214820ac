"""Straight lines in the plane, and trees made of them, as plain data."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

Points = npt.NDArray[np.float64]
Labels = npt.NDArray[np.int64]
Line = tuple[tuple[float, float], float]
"""Weights and offset: the score of a point is ``weights . x + offset``."""


def line_through(x: float, y: float, degrees: float) -> Line:
    """Return the line through (x, y) whose normal has that angle to the x axis."""
    angle = math.radians(degrees)
    weights = (math.cos(angle), math.sin(angle))
    return weights, -(weights[0] * x + weights[1] * y)


def route(planes: Mapping[int, Line], points: Points) -> tuple[Labels, Points]:
    """Send points down a tree of lines.

    Returns
    -------
    tuple of ndarray
        Leaf number of each point, and its smallest distance to a line on its path.
    """
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
