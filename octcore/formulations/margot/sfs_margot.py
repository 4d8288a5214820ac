"""SFS-MARGOT: MARGOT with a price for features beyond a budget at every branch node.

D'Onofrio, Grani, Monaci and Palagi.  Adds ``-M_w s_tj <= w_tj <= M_w s_tj`` and
``u_t >= sum_j s_tj - B_t`` to MARGOT and ``alpha sum_t u_t`` to the objective.  The papers' M_w is
50; here the search needs none, and in the model it is as large as the best tree known shows to be
enough.
"""

from __future__ import annotations

from octcore.formulations.base import TeachingText, formulation
from octcore.formulations.margot.declaration import OBJECTIVE, budgets, declare
from octcore.formulations.margot.family import MargotFamily
from octcore.formulations.margot.model import make_program
from octcore.parameters import FloatRange
from octcore.program import Problem, Program

PRICE = FloatRange(
    "alpha",
    32.0,
    r"\alpha",
    "Price of every feature beyond the budget; larger values give sparser planes.",
    low=0.0,
    high=1e9,
)

INFO = declare(
    *budgets(1),
    PRICE,
    key="sfs-margot",
    place=160,
    title="SFS-MARGOT (soft feature selection)",
    summary="MARGOT whose planes pay for every feature beyond a budget, so that a feature is used "
    "where it is worth its price. Fewer features make a tree that is easier to read.",
    objective=f"{OBJECTIVE} + alpha x extra features",
    equations=(
        (
            r"\min \sum_t \tfrac12 \lVert w_t \rVert^2 + C_t \sum_i \xi_{ti} + \alpha \sum_t u_t",
            "the objective of MARGOT, and a price for features beyond the budget",
        ),
        (
            r"-M_w s_{tj} \le w_{tj} \le M_w s_{tj},\quad \sum_j s_{tj} \le B_t + u_t",
            "features beyond B are counted; M_w cuts off no tree worth having",
        ),
    ),
    class_name="SFSMargotClassifier",
    teaching=TeachingText(
        "SFS-MARGOT",
        "MARGOT with a soft limit: features beyond the budget of a split have a price.",
        "A line turns slanted only where that is worth the price.",
    ),
    good_at="Shows which columns decide at every node, and which are worth their price.",
)


@formulation(INFO)
def build(problem: Problem) -> Program:
    """Make the SFS-MARGOT program of a problem."""
    return make_program(MargotFamily(problem, "sfs"))
