"""Gurobi as an optional engine (``pip install 'octcore[gurobi]'`` and a licence)."""

from __future__ import annotations

from typing import Any

from octcore.engines.base import SolveLimits
from octcore.engines.pyomo_solver import PyomoSolverEngine


class GurobiEngine(PyomoSolverEngine):
    """Gurobi through Pyomo: mixed-integer programs with linear or convex quadratic objective."""

    key = "gurobi"
    title = "Gurobi"
    package = "gurobipy"

    def make_solver(self, limits: SolveLimits) -> Any:
        """Import Pyomo's Gurobi interface only now."""
        from pyomo.contrib.solver.solvers.gurobi.gurobi_direct_minlp import GurobiDirectMINLP

        solver: Any = GurobiDirectMINLP()
        solver.config.threads = limits.threads
        options = {"Seed": limits.seed}
        if limits.node_limit is not None:
            options["NodeLimit"] = limits.node_limit
        solver.config.solver_options = options
        return solver
