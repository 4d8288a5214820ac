"""A routing problem and how its planes become a tree: what formulations hand to the engine."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from octcore.search.routing_records import Planes, RoutingProblem
from octcore.tree.tree import Tree


@dataclass(frozen=True, eq=False)
class RoutingTask:
    """A problem on arrays with the way back to trees."""

    problem: RoutingProblem
    to_tree: Callable[[Planes], Tree]
