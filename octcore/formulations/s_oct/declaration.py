"""S-OCT: optimal trees of hyperplanes by shattering inequalities.

Boutilier, Michini and Zhou, "Shattering Inequalities for Learning Optimal Decision Trees".  The
model routes points freely through a perfect tree and maximises what the leaves classify correctly;
that every split is a hyperplane is said either by big-M rows or, lazily, by inequalities about few
points that no hyperplane can divide.

=====  ===========================================================================
i      distinct points, identical rows merged; k a class; h = (i, k) with weight v_h
B, L   branch nodes 1 .. 2^D - 1 and leaves 2^D .. 2^(D+1) - 1
w_it   point i visits node t (w_i1 = 1); binary at leaves only
z_ht   leaf t classifies h correctly; c_tk: leaf t predicts class k
d_t    node t splits; only where splits are counted
=====  ===========================================================================

Equation numbers are the paper's.  (1a) to (1l) are the routing model, and (1m) says that every
split is a plane: by the big-M rows (5) and (6) with the constants (7), or by the shattering
inequalities (13), which are found as (17) from a point of the dual of (16).

What differs from the paper: (1b) stands at the root, which is the same by (1c); every plane must
leave a gap of epsilon, in the big-M rows and in the inequalities alike, where (16) leaves the scale
of the plane free, so that all variants have one optimum; lazy variants look for inequalities at
all nodes, those with big-M rows too; what is found at one node is used at all of them, mirrored
too; rows along a line, which meets every leaf in one interval, give rows of the model and a bound
on all trees (`separation/chains.py`); initial cuts are found with the big-M rows present; cuts for
the solver's own tree ("user") are run as root rounds, because the solver takes none.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from octcore.formulations.base import FormulationInfo, Reference, TeachingText, formulation
from octcore.formulations.s_oct.cuts import CUT_NAMES, Variant
from octcore.formulations.s_oct.model import SOct
from octcore.formulations.shared.oblique import (
    EPSILON,
    START_SECONDS,
    CountObjective,
    Starts,
    describe_in_words,
)
from octcore.parameters import Choice, Flag, FloatRange
from octcore.program import Capability, Problem, Program, Sense
from octcore.tree.tree import Tree

CORRECT_ROWS = "correctly classified rows"


def _objective(params: Mapping[str, Any]) -> tuple[Sense, str]:
    """Sense and words: (1a) without a price of splits, the one of section 2.2 with one."""
    if not float(params.get("alpha") or 0.0) > 0:
        return Sense.MAXIMISE, CORRECT_ROWS
    return Sense.MINIMISE, "share of errors + alpha x splits"


INFO = FormulationInfo(
    key="s-oct",
    place=110,
    class_name="SOCTClassifier",
    has_side_margins=True,
    title="S-OCT",
    summary="Every split is a hyperplane. The model routes points freely and cuts off what no "
    "hyperplane can do, so it needs neither weights nor big-M constants where it uses cuts.",
    reference=Reference(
        "Boutilier, J. J., Michini, C. and Zhou, Z.",
        2022,
        "Shattering inequalities for learning optimal decision trees",
        "CPAIOR 2022, Lecture Notes in Computer Science 13292",
        "10.1007/978-3-031-08011-1_7",
    ),
    split_kind="oblique",
    hyperparameters=(
        Choice(
            "cuts",
            "benders-last-10",
            help="How hyperplanes enter: by big-M rows (baseline), with initial cuts (init), or by "
            "lazy cuts at the root, the last level or all nodes (benders), up to so many a time.",
            options=CUT_NAMES,
        ),
        EPSILON,
        FloatRange(
            "alpha",
            0.0,
            r"\alpha",
            "Price of a split in accuracy; 0 maximises the correct rows.",
            low=0.0,
            high=1.0,
        ),
        Flag(
            "symmetry_breaking",
            default=True,
            help="Exclude trees that differ only by exchanged subtrees.",
            advanced=True,
        ),
        # Of 1,000 rows the first node of the branch and cut takes longer than many starts.
        replace(START_SECONDS, default=6.0),
    ),
    constraints=frozenset({"max_leaves", "max_splits", "class_weight"}),
    capabilities=(Capability.SEPARATION, Capability.LINEAR),
    sense=Sense.MAXIMISE,
    objective=f"{CORRECT_ROWS}; with alpha > 0 minimise share of errors + alpha x splits",
    objective_with=_objective,
    max_depth=6,
    has_margins=True,
    equations=(
        (r"\max \sum_{h,t} v_h z_{ht}", "weight of the points classified correctly"),
        (r"w_{it} = w_{i,2t} + w_{i,2t+1}", "a point goes left or right"),
        (r"z_{ht} \le w_{it},\quad z_{ht} \le c_{tk}", "right leaf, right label"),
        (
            r"\sum_{i \in I_-} w_{i,2t} + \sum_{i \in I_+} w_{i,2t+1} \le |I| - 1",
            "no hyperplane divides these points like this",
        ),
    ),
    teaching=TeachingText(
        "S-OCT",
        "Routes the points freely and forbids only what no straight line can do: small sets of "
        "points that cannot be divided as the routing wants.",
        "Slanted lines with the fewest errors. Where the lines lie exactly is decided afterwards, "
        "in the middle of the free strip. Explore shows the sets that were forbidden.",
    ),
    good_at="Proves on small sets that no tree of hyperplanes does better, and shows the few "
    "points that forbid it.",
)


@formulation(INFO)
def build(problem: Problem) -> Program:
    """Make the S-OCT program of a problem."""
    params = problem.params
    objective = CountObjective(problem, params["alpha"], params["epsilon"])
    variant = Variant.named(params["cuts"], problem.depth)
    starts = Starts(objective)
    model = SOct(problem, objective, variant, starts)

    def describe(tree: Tree) -> tuple[dict[str, Any], tuple[str, ...]]:
        values = objective.describe(tree)
        thinner, statements = starts.thinner_than(tree)
        return {**values, **thinner}, (*describe_in_words(values), *statements)

    return Program(
        sense=objective.sense,
        capabilities=(Capability.SEPARATION if variant.is_lazy else Capability.LINEAR,),
        evaluate=objective.evaluate,
        size=model.size,
        build=model.build,
        granularity=objective.granularity,
        span=1.0 if objective.alpha else objective.points.total,
        starts=lambda patience: starts.trees(params["start_seconds"], patience),
        bound=objective.bound,
        claims=(
            f"among trees whose node gaps reach epsilon {objective.epsilon:g} "
            "(weights of 1-norm 1, columns in [0, 1])",
            *variant.claims,
        ),
        describe=describe,
    )
