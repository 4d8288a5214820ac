"""What a program may need of an engine, and which engine can do what: the one statement of the fit.

Neither formulations nor engines are imported here: both sides look it up.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum


class Capability(StrEnum):
    """What an engine must be able to do for a program."""

    LINEAR = "linear"
    """Solve the Pyomo model as it stands: a mixed-integer linear program."""
    SEPARATION = "separation"
    """Solve a mixed-integer linear program whose rows arrive from separators."""
    CONVEX_QUADRATIC = "convex-quadratic"
    """Solve the Pyomo model as it stands: convex quadratic objective, linear rows, integers."""
    PATH_SEARCH = "path-search"
    """Answer the question of the univariate family."""
    THRESHOLD_SEARCH = "threshold-search"
    """Answer the same question over all thresholds of numeric columns."""
    ROUTING_SEARCH = "routing-search"
    """Solve the typed search problem of the MARGOT family."""
    ASSIGNMENT_SEARCH = "assignment-search"
    """Solve the typed search problem of SVM1-ODT and OCT-H."""
    GREEDY = "greedy"
    """Take the program's own tree; nothing is proven."""


@dataclass(frozen=True)
class EngineEntry:
    """Where an engine lives in `octcore.engines`, and what it can do."""

    module: str
    name: str
    supports: frozenset[Capability]


_LINEAR = frozenset({Capability.LINEAR})
_QUADRATIC = frozenset({Capability.LINEAR, Capability.CONVEX_QUADRATIC})

ENGINES = {
    "greedy": EngineEntry("base", "GreedyEngine", frozenset({Capability.GREEDY})),
    "path-search": EngineEntry(
        "univariate_search", "PathSearchEngine", frozenset({Capability.PATH_SEARCH})
    ),
    "threshold-search": EngineEntry(
        "univariate_search", "ThresholdSearchEngine", frozenset({Capability.THRESHOLD_SEARCH})
    ),
    "routing-search": EngineEntry(
        "plane_search", "RoutingSearchEngine", frozenset({Capability.ROUTING_SEARCH})
    ),
    "assignment-search": EngineEntry(
        "plane_search", "AssignmentSearchEngine", frozenset({Capability.ASSIGNMENT_SEARCH})
    ),
    "branch-and-cut": EngineEntry(
        "branch_and_cut.search", "BranchAndCutEngine", frozenset({Capability.SEPARATION})
    ),
    "outer-approximation": EngineEntry(
        "outer_approximation",
        "OuterApproximationEngine",
        frozenset({Capability.CONVEX_QUADRATIC}),
    ),
    "highs": EngineEntry("monolithic", "HighsEngine", _LINEAR),
    "scip": EngineEntry("pyomo_solver", "ScipEngine", _QUADRATIC),
    "gurobi": EngineEntry("pyomo_solver", "GurobiEngine", _QUADRATIC),
}
"""All engines by key, in the order of preference: own searches, then free solvers, then others."""


def engines_for(capabilities: Iterable[Capability]) -> tuple[str, ...]:
    """Keys of the engines that solve programs with one of these capabilities, the best first."""
    wanted = frozenset(capabilities)
    return tuple(key for key, entry in ENGINES.items() if entry.supports & wanted)
