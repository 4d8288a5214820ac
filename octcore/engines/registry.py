"""All engines by key; an engine's module is imported when the engine is asked for."""

from __future__ import annotations

import importlib

from octcore.engines.base import Engine
from octcore.parameters import unknown_name
from octcore.program import Capability

ENGINES = {
    "greedy": ("octcore.engines.greedy", "GreedyEngine"),
    "highs": ("octcore.engines.monolithic", "HighsEngine"),
    "branch-and-cut": ("octcore.engines.branch_and_cut", "BranchAndCutEngine"),
    "path-search": ("octcore.engines.path_search", "PathSearchEngine"),
    "routing-search": ("octcore.engines.routing_search", "RoutingSearchEngine"),
    "outer-approximation": ("octcore.engines.outer_approximation", "OuterApproximationEngine"),
    "scip": ("octcore.engines.scip", "ScipEngine"),
    "gurobi": ("octcore.engines.gurobi", "GurobiEngine"),
}


def engine_supports(key: str) -> frozenset[Capability]:
    """Capabilities of an engine, without making it."""
    module, name = ENGINES[key]
    return getattr(importlib.import_module(module), name).supports


def get_engine(key: str) -> Engine:
    """Make an engine.

    Raises
    ------
    SettingsError
        If there is no engine of that key.
    """
    if key not in ENGINES:
        raise unknown_name("UNKNOWN_ENGINE", "engine", key, ENGINES, "octcore")
    module, name = ENGINES[key]
    return getattr(importlib.import_module(module), name)()
