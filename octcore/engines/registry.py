"""All engines by key; an engine's module is imported when the engine is asked for."""

from __future__ import annotations

import importlib
from dataclasses import dataclass

from octcore.engines.base import Engine
from octcore.parameters import unknown_name
from octcore.program import Capability


@dataclass(frozen=True)
class EngineEntry:
    """Where an engine lives, and what it can do; known without importing its solver."""

    module: str
    name: str
    supports: frozenset[Capability]


_LINEAR = frozenset({Capability.LINEAR})
_QUADRATIC = frozenset({Capability.LINEAR, Capability.CONVEX_QUADRATIC})

ENGINES = {
    "greedy": EngineEntry("greedy", "GreedyEngine", frozenset({Capability.GREEDY})),
    "highs": EngineEntry("monolithic", "HighsEngine", _LINEAR),
    "branch-and-cut": EngineEntry(
        "branch_and_cut.engine", "BranchAndCutEngine", frozenset({Capability.SEPARATION})
    ),
    "path-search": EngineEntry(
        "path_search", "PathSearchEngine", frozenset({Capability.PATH_SEARCH})
    ),
    "threshold-search": EngineEntry(
        "threshold_search", "ThresholdSearchEngine", frozenset({Capability.THRESHOLD_SEARCH})
    ),
    "routing-search": EngineEntry(
        "routing_search", "RoutingSearchEngine", frozenset({Capability.ROUTING_SEARCH})
    ),
    "outer-approximation": EngineEntry(
        "outer_approximation",
        "OuterApproximationEngine",
        frozenset({Capability.CONVEX_QUADRATIC}),
    ),
    "scip": EngineEntry("scip", "ScipEngine", _QUADRATIC),
    "gurobi": EngineEntry("gurobi", "GurobiEngine", _QUADRATIC),
}


def engine_supports(key: str) -> frozenset[Capability]:
    """Capabilities of an engine, without importing it."""
    return ENGINES[key].supports


def get_engine(key: str) -> Engine:
    """Make an engine.

    Raises
    ------
    SettingsError
        If there is no engine of that key.
    """
    if key not in ENGINES:
        raise unknown_name("UNKNOWN_ENGINE", "engine", key, ENGINES, "octcore")
    entry = ENGINES[key]
    return getattr(importlib.import_module(f"octcore.engines.{entry.module}"), entry.name)()
