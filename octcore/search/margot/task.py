"""A routing problem with the way to trees and back: what formulations hand to the engine."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from octcore.search.margot.records import Planes, RoutingProblem
from octcore.tree.tree import Tree


@dataclass(frozen=True, eq=False)
class RoutingTask:
    """A problem on arrays with the way to trees and back."""

    problem: RoutingProblem
    to_tree: Callable[[Planes], Tree]
    to_routing: Callable[[Tree], NDArray[np.int64] | None]
    """Last-level branch node of every row, to start from; None for a tree that has none."""
