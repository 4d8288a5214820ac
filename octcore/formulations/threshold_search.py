"""Exact search over all thresholds: the optimum on the numeric columns themselves.

Every split tests one column against a threshold between any two of its values; no column is cut
into bins first.  What bounds a threshold from its solved neighbours, and how the last two levels
are solved for sixteen thresholds at once, stands in `octcore.search.univariate`.
"""

from functools import partial

from octcore.formulations.base import FormulationInfo, Reference, TeachingText, formulation
from octcore.formulations.shared.constraint_kinds import BY_ORDER
from octcore.formulations.shared.question import EXACT_ROOT_VALUES, listing_of, question_of
from octcore.formulations.shared.univariate import REGULARISERS, UnivariateObjective
from octcore.program import Capability, Problem, Program
from octcore.warmstart.greedy import greedy_starts

INFO = FormulationInfo(
    key="threshold-search",
    place=60,
    title="Exact search on all thresholds",
    summary=(
        "Finds and proves the optimal tree among all trees with one column per split, over every "
        "threshold of every numeric column. No bins are chosen, so the proof covers all thresholds."
    ),
    reference=Reference(
        "Brita, C. E., van der Linden, J. G. M. and Demirovic, E.; bounds between neighbouring "
        "thresholds are theirs, the search itself is ours",
        2025,
        "Optimal classification trees for continuous feature data using dynamic programming with "
        "branch-and-bound",
        "AAAI",
    ),
    default_encoding="raw",
    hyperparameters=(*REGULARISERS, EXACT_ROOT_VALUES),
    constraints=BY_ORDER,
    has_costs=True,
    capabilities=(Capability.THRESHOLD_SEARCH,),
    max_depth=16,
    equations=(
        (
            r"\max_T\ \tfrac{1}{n}\,\mathrm{corr}(T) - \lambda\,\mathrm{leaves}(T)",
            "accuracy minus a price for every leaf",
        ),
        (
            r"V(J, d) = \max\{\max_k |J_k| - a,\ \max_{f, t} V(J_{f \le t}, d-1) + "
            r"V(J_{f > t}, d-1)\}",
            "the best subtree on the rows J: a leaf, or the best column and threshold with the "
            "best subtree per side",
        ),
        (
            r"C(J) \le C(J') \le C(J) + |J' \setminus J| \quad (J \subseteq J')",
            "costs of neighbouring thresholds bound each other, so most are never tried",
        ),
    ),
    teaching=TeachingText(
        "Optimal thresholds, all of them",
        "Chooses among all thresholds between two values, not only among a few per column, so that "
        "no other tree of this depth gets more points right, after the price of its leaves.",
        "A line may stand wherever it parts points; compare with the tree whose thresholds were "
        "chosen before.",
    ),
    good_at="The optimum without a choice of bins: quick to depth 3, and honest about thresholds. "
    "It fits the training rows as closely as its depth allows, so give it a price or a leaf size.",
)


@formulation(INFO)
def build(problem: Problem) -> Program:
    """Make the program: one question to the search.

    There are no starts: the tree depends on the rows alone, not on which of several equally good
    starts came first.  Of a search that ends before its proof the greedy tree may be better.
    """
    objective = UnivariateObjective(problem)
    return objective.program(
        scale=objective.scale * objective.weight_right,
        fallback=partial(greedy_starts, problem, objective.penalty),
        search=question_of(problem, objective),
        listing=listing_of(problem, objective),
        method="threshold-search",
    )
