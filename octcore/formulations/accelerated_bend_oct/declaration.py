"""Accelerated BendOCT: the BendOCT master with inequalities, cutting planes and polishing.

The model is that of BendOCT.  Every technique of the paper is a switch: equivalent-point
inequalities (`eqp`), path bound cutting planes (`path_bound_cuts`), solution polishing and the
strengthened Benders cuts (off by default, as in the paper's best setting).  `probing` stands
between: a solver's probing of the equation "one decision per node", by the paper's path bounds, but
of paths that no linear program has chosen yet.  Four switches are ours: a start from exact search,
value rows, and the fixing of root features and of pairs.

Equation numbers are the paper's: master (4), Benders cuts (9), (10), strengthened (12), equivalent
points (13) to (22), path bounds (23) to (26).

Differences from the paper: HiGHS' linear programs under an own branch and cut instead of Gurobi;
equivalent-point rows are separated with their auxiliary variables projected out; where a side
constraint couples subtrees, path bound cuts take a form that stays valid (`objective form`).
"""

from __future__ import annotations

from octcore.formulations.accelerated_bend_oct.accelerations import (
    ACCELERATIONS,
    path_bound_forms,
)
from octcore.formulations.accelerated_bend_oct.model import Tools, build_model
from octcore.formulations.base import FormulationInfo, Reference, TeachingText, formulation
from octcore.formulations.shared import constraint_kinds
from octcore.formulations.shared.benders import estimate_size, reduce_problem
from octcore.formulations.shared.root_values import proof_method
from octcore.formulations.shared.univariate import REGULARISERS, UnivariateObjective
from octcore.program import Capability, Problem, Program

INFO = FormulationInfo(
    key="accelerated-bend-oct",
    place=40,
    class_name="AcceleratedBendOCTClassifier",
    rank=3,
    title="Accelerated BendOCT",
    summary=(
        "BendOCT with ideas of dynamic programming: rows that only a few features tell apart, and "
        "optimal subtrees of depth two, become cuts. Each technique can be switched off."
    ),
    reference=Reference(
        "Keegan, D. and Forbes, M.",
        2025,
        "Accelerated BendOCT: advanced integer programming for optimal classification trees",
    ),
    split_kind="univariate",
    needs_binary_features=True,
    hyperparameters=(*REGULARISERS, *ACCELERATIONS),
    constraints=constraint_kinds.ALL,
    capabilities=(Capability.SEPARATION,),
    equations=(
        (
            r"\sum_k g_k \le 1 + (q - 1)\,\beta_J,\quad \theta_i \le g_{y_i}",
            "equivalent points: only one class is correct unless the tree separates them",
        ),
        (
            r"\sum_{i \in J^-} \theta_i \le |J^-|\,\mathrm{relax}(P)",
            "path bound: below a fixed path the best subtree of depth two decides",
        ),
        (
            r"\sum_{i \in P} \theta_i - a \sum_{m \succeq u} p_m \le \sum_g V_g b_{ug} + V p_u + "
            r"M\,\mathrm{relax}(P)",
            "value row (ours): every split of a node is worth at most its exact value",
        ),
    ),
    teaching=TeachingText(
        "Accelerated BendOCT",
        "BendOCT with help: stronger cuts, subtrees solved exactly, and the fact that points which "
        "look the same must go the same way.",
        "The same optimum again, with a bound that falls much faster. Compare the gap curves.",
    ),
    good_at="Shows which idea closes the gap: switch the techniques on one by one and watch it.",
)


@formulation(INFO)
def build(problem: Problem) -> Program:
    """Make the program.

    Raises `SettingsError` if the switches contradict each other or the side constraints.
    """
    objective = UnivariateObjective(problem)
    reduced = reduce_problem(problem)
    tools = Tools(reduced, objective, path_bound_forms(problem.params, reduced.couples))
    return objective.program(
        size=estimate_size(reduced),
        build=lambda guard: build_model(tools, guard),
        bound=objective.ceiling,
        starts=tools.starts,
        improve=tools.polisher.improve if problem.params["solution_polishing"] else None,
        method=proof_method(problem),
    )
