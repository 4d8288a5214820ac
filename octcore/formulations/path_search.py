"""Exact search: the optimum of the FlowOCT family without a mixed-integer program.

The search enumerates the upper levels of the tree and closes the last two with the best subtree of
depth two on the rows that arrive (D2S), pruned by bounds on what the rows can still gain.  It
proves the same optimum as FlowOCT and BendOCT, usually in seconds.  As a by-product it gives the
value of every root feature: the best objective of any tree that starts with that feature.
"""

from dataclasses import replace
from functools import partial

from octcore.formulations.base import ACCELERATIONS, FormulationInfo, TeachingText, formulation
from octcore.formulations.shared.question import EXACT_ROOT_VALUES, question_of
from octcore.formulations.shared.univariate import REGULARISERS, UnivariateObjective
from octcore.program import Capability, Problem, Program
from octcore.tree.constraints import BY_SUBTREE
from octcore.warmstart.greedy import greedy_starts

INFO = FormulationInfo(
    key="path-search",
    place=50,
    rank=1,
    title="Exact search",
    summary=(
        "Finds and proves the optimal tree by searching over its upper splits and solving the last "
        "two levels exactly for each. The answer is that of FlowOCT, usually in seconds."
    ),
    reference=replace(ACCELERATIONS, authors=f"{ACCELERATIONS.authors}; the search itself is ours"),
    needs_binary_features=True,
    hyperparameters=(*REGULARISERS, EXACT_ROOT_VALUES),
    constraints=BY_SUBTREE,
    has_costs=True,
    capabilities=(Capability.PATH_SEARCH,),
    max_depth=20,
    equations=(
        (
            r"\max_T\ \tfrac{1}{n}\,\mathrm{corr}(T) - \lambda\,\mathrm{leaves}(T)",
            "accuracy minus a price for every leaf",
        ),
        (
            r"V(J, d) = \max\{\max_k |J_k| - a,\ \max_f V(J_{f=0}, d-1) + V(J_{f=1}, d-1)\}",
            "the best subtree on the rows J: a leaf, or a split with the best subtree per side",
        ),
    ),
    teaching=TeachingText(
        "Optimal thresholds",
        "Chooses all thresholds together, between neighbours of different class, so that no other "
        "such tree of this depth gets more points right, after the price of its leaves. Bounds "
        "show for most trees that they need not be tried.",
        "The first line may look worse than the greedy one. It is right because of what it makes "
        "possible below. Lines still stand square to the axes.",
    ),
    good_at="The quickest proof for accuracy and size; it is the yardstick of the other models.",
)


@formulation(INFO)
def build(problem: Problem) -> Program:
    """Make the program: one question to the search."""
    objective = UnivariateObjective(problem)
    return objective.program(
        scale=objective.scale * objective.weight_right,
        starts=partial(greedy_starts, problem, objective.penalty),
        search=question_of(problem, objective),
        method="path-search",
    )
