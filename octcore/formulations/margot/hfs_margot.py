"""HFS-MARGOT: MARGOT with a hard budget of features at every branch node.

D'Onofrio, Grani, Monaci and Palagi.  Adds ``-M_w s_tj <= w_tj <= M_w s_tj`` and
``sum_j s_tj <= B_t`` to MARGOT.  The papers' M_w is 50; here the search needs none, and in the
model it is as large as the best tree known shows to be enough.
"""

from __future__ import annotations

from octcore.formulations.base import TeachingText, formulation
from octcore.formulations.margot.declaration import MARGINS, budgets, declare
from octcore.formulations.margot.family import MargotFamily
from octcore.formulations.margot.model import make_program
from octcore.program import Problem, Program

INFO = declare(
    *budgets(2),
    key="hfs-margot",
    place=150,
    title="HFS-MARGOT (hard feature selection)",
    summary="MARGOT whose planes may each use a few features only. The tree stays readable, "
    "because every branch node names one or two columns.",
    equations=(
        MARGINS,
        (
            r"-M_w s_{tj} \le w_{tj} \le M_w s_{tj},\quad \sum_j s_{tj} \le B_t",
            "a plane uses at most B features; M_w cuts off no tree worth having",
        ),
    ),
    class_name="HFSMargotClassifier",
    teaching=TeachingText(
        "HFS-MARGOT",
        "MARGOT with a hard limit on the number of features in each split.",
        "With one feature per split the lines are square to the axes, yet they still stand in the "
        "middle of their margins.",
    ),
    good_at="Shows which one or two columns decide at every node, with margins.",
)


@formulation(INFO)
def build(problem: Problem) -> Program:
    """Make the HFS-MARGOT program of a problem."""
    return make_program(MargotFamily(problem, "hfs"))
