"""SCIP as an optional engine (``pip install 'octcore[scip]'``)."""

from __future__ import annotations

from typing import Any

from octcore.engines.base import SolveLimits
from octcore.engines.pyomo_solver import PyomoSolverEngine


class ScipEngine(PyomoSolverEngine):
    """SCIP through Pyomo: mixed-integer programs with linear or convex quadratic objective."""

    key = "scip"
    title = "SCIP"
    package = "pyscipopt"

    def make_solver(self, limits: SolveLimits) -> Any:
        """Import Pyomo's SCIP interface only now."""
        from pyomo.contrib.solver.solvers.scip.scip_direct import ScipDirect

        solver: Any = ScipDirect()
        solver.config.threads = limits.threads
        options = {"randomization/randomseedshift": limits.seed}
        if limits.node_limit is not None:
            options["limits/nodes"] = limits.node_limit
        solver.config.solver_options = options
        return solver
