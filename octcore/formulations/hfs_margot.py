"""HFS-MARGOT: MARGOT with a hard budget of features at every branch node.

D'Onofrio, Grani, Monaci and Palagi.  Adds ``-M_w s_tj <= w_tj <= M_w s_tj`` and
``sum_j s_tj <= B_t`` to MARGOT; M_w is 50, the papers' value.
"""

from __future__ import annotations

from octcore.formulations.base import FormulationInfo, formulation
from octcore.formulations.components.margot_family import (
    BIG_M,
    EPSILON,
    PENALTIES,
    REFERENCE,
    MargotFamily,
    budget,
)
from octcore.formulations.components.margot_model import make_program
from octcore.program import Problem, Program

INFO = FormulationInfo(
    key="hfs-margot",
    title="HFS-MARGOT (hard feature selection)",
    summary=(
        "MARGOT whose planes may each use a few features only. The tree stays readable, because "
        "every branch node names one or two columns."
    ),
    reference=REFERENCE,
    split_kind="oblique",
    needs_binary_features=False,
    default_encoding="scaled",
    hyperparameters=(
        *PENALTIES,
        budget("budget_upper", r"B_t,\ t \in T'", "above the last level", 2),
        budget("budget_last", r"B_t,\ t \in T''", "on the last level", 2),
        EPSILON,
        BIG_M,
    ),
    constraints=frozenset({"class_weight"}),
    engines=("routing-search", "outer-approximation", "scip", "gurobi"),
    sense="min",
    objective="half the squared norms + C x slacks",
    max_classes=2,
    max_depth=4,
    has_margins=True,
    equations=(
        (
            r"\min \sum_t \tfrac12 \lVert w_t \rVert^2 + C_t \sum_i \xi_{ti}",
            "the objective of MARGOT",
        ),
        (
            r"-M_w s_{tj} \le w_{tj} \le M_w s_{tj},\quad \sum_j s_{tj} \le B_t",
            "a plane uses at most B features",
        ),
    ),
    good_at="Shows which one or two columns decide at every node, with margins.",
)


@formulation(INFO)
def build(problem: Problem) -> Program:
    """Make the HFS-MARGOT program of a problem."""
    return make_program(MargotFamily(problem, "hfs"))
