"""BendOCT: the flow formulation of optimal classification trees, solved by Benders' cuts.

Maximise the weight of correctly classified rows minus a price per leaf over perfect trees of depth
D.  Sets: branch nodes B, nodes N, features F, classes K, hits H.  The flow variables of FlowOCT are
projected out: ``theta[h]`` says that the rows of hit h are classified correctly, and only cuts
bound it from above.

Differences from the paper: rows with equal features and class share one theta; columns that are
constant, equal or complementary to another one are dropped (neither changes the optimum); the rows
"one decision per path" are written as differences, which makes them sparse.  Cuts are separated at
fractional points too, by the minimum cut on the tree.
"""

from collections.abc import Callable
from functools import partial

from octcore.formulations.base import STRONG_TREES, FormulationInfo, TeachingText, formulation
from octcore.formulations.shared import benders, constraint_kinds
from octcore.formulations.shared.univariate import REGULARISERS, UnivariateObjective
from octcore.program import Capability, Problem, Program, PyomoModel
from octcore.warmstart.amending import first_trees

INFO = FormulationInfo(
    key="bend-oct",
    place=30,
    rank=5,
    title="BendOCT",
    summary=(
        "FlowOCT without its flow variables: the model guesses which rows are classified correctly "
        "and a cut corrects every guess that the tree denies. Small, but plain cuts are weak."
    ),
    reference=STRONG_TREES,
    needs_binary_features=True,
    hyperparameters=REGULARISERS,
    constraints=constraint_kinds.ALL,
    has_costs=True,
    capabilities=(Capability.SEPARATION,),
    equations=(
        (
            r"\max\ \sum_i \theta_i - a \sum_m p_m",
            "weight of correct rows minus a price for every leaf",
        ),
        (
            r"\sum_f b_{mf} + p_m + \sum_{a \in A(m)} p_a = 1",
            "every node is a branch node, a leaf, or below a leaf",
        ),
        (
            r"\theta_i \le \sum_{(m,c) \in C} \sum_{f: i \to c} b_{mf} + \sum_{m \in C} w_{m,y_i}",
            "a row is correct only if every cut of its way through the tree lets it pass",
        ),
    ),
    teaching=TeachingText(
        "BendOCT",
        "FlowOCT without the flows: a master problem guesses the splits, and cuts found by "
        "minimum cuts in the tree tell it which points its guess cannot get right.",
        "The same optimum as FlowOCT from a far smaller model. Explore shows the cuts it needed.",
    ),
    good_at="Shows how cuts replace variables; on its own it proves little beyond depth 2.",
)


@formulation(INFO)
def build(problem: Problem) -> Program:
    """Make the program."""
    objective = UnivariateObjective(problem)
    reduced = benders.reduce_problem(problem)
    return objective.program(
        size=benders.estimate_size(reduced),
        build=lambda guard: build_model(reduced, objective, guard),
        bound=objective.ceiling,
        starts=partial(first_trees, problem, objective.penalty),
    )


def build_model(
    reduced: benders.ReducedProblem, objective: UnivariateObjective, guard: Callable[[], None]
) -> PyomoModel:
    """Build the master problem with its cuts."""
    model, variables = benders.make_master("BendOCT", reduced, objective.penalty, guard)
    reader = benders.TreeReader(reduced, variables)
    return PyomoModel(
        model=model,
        read_tree=reader.read,
        start_values=reader.start_values,
        separators=(benders.benders_separator(variables, reduced.instance),),
        branching=benders.TopDownBranching(variables),
        rounding=lambda point, _: reader.read(point),
    )
