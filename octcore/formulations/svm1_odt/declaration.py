"""SVM1-ODT: 1-norm support vector machines at the branch nodes of an optimal tree.

=======  ============================================================================
I        training rows, identical ones merged with weights; columns scaled to [0, 1]
B, L     branch nodes 1 .. 2^D - 1 and terminal nodes 2^D .. 2^(D+1) - 1
h, g     hyperplane of a node: left when h.x <= g
e, c     row ends at terminal l; row is classified wrongly
p, m     score g - h.x = p+ - p-; margin that is missing to epsilon
F_c, V   categorical raw columns and their values: a node tests a plane or a subset of values
=======  ============================================================================

What differs from the paper: `strict` (on by default) keeps right-goers off the plane, since as
printed a row on the plane may go either way at a price of ``alpha1 * epsilon``; leaf labels may be
binaries (default), which bounds better than the published integer products; columns of subsets
stay out of planes and norms; all numbers come from routing rows.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from octcore.formulations.base import FormulationInfo, Reference, TeachingText, formulation
from octcore.formulations.shared.oblique import START_SECONDS
from octcore.formulations.shared.oblique_bounds import unnamed_classes
from octcore.formulations.shared.shattering_switch import SHATTERING
from octcore.formulations.svm1_odt.model import SVM1Model
from octcore.formulations.svm1_odt.trees import GAP, SVM1Trees
from octcore.parameters import Choice, Flag, FloatRange
from octcore.program import Capability, Problem, Program, Sense
from octcore.search.assignment.search import ALL
from octcore.tree import metrics

INFO = FormulationInfo(
    key="svm1-odt",
    place=130,
    class_name="SVM1ODTClassifier",
    title="SVM1-ODT",
    summary="Every split is a 1-norm support vector machine: few errors first, then margins, then "
    "small weights. Categorical columns are split by subsets of their values.",
    reference=Reference(
        "Zhu, H., Murali, P., Phan, D., Nguyen, L., Kalagnanam, J.",
        2020,
        "A scalable MIP-based method for learning optimal multivariate decision trees",
        "Advances in Neural Information Processing Systems 33",
    ),
    split_kind="oblique",
    grid={"depth": (1, 2, 3), "margin_price": (0.3,), "norm_price": (0.3, 0.1)},
    choice="one-error",
    hyperparameters=(
        FloatRange(
            "alpha1",
            100.0,
            r"\alpha_1",
            "Price of margin that a row lacks at a split; with alpha1 x epsilon below 1 a row on "
            "the plane is cheaper than an error.",
            low=0.0,
            high=1e7,
            log=True,
        ),
        FloatRange(
            "alpha2", 3.0, r"\alpha_2", "Price of the 1-norm of a split.", low=0.0, high=1e4
        ),
        FloatRange(
            "epsilon",
            0.01,
            r"\varepsilon",
            "Margin wanted on both sides of a split, where scores reach M.",
            low=1e-5,
            high=1.0,
        ),
        FloatRange(
            "margin_price",
            None,
            r"\alpha_1 \varepsilon",
            "Price in errors of a row that lacks the whole margin; it replaces alpha1. With scaled "
            "weights only this and norm_price matter.",
            low=0.0,
            high=1e4,
            advanced=True,
        ),
        FloatRange(
            "norm_price",
            None,
            r"\alpha_2 \varepsilon",
            "Price in errors of a plane whose margin is as wide as a column; it replaces alpha2.",
            low=0.0,
            high=1e3,
            advanced=True,
        ),
        Flag(
            "strict",
            True,
            help="Keep right-goers off the plane; as published, a row on it may go either way, "
            "which needs alpha1 x epsilon of 1 or more.",
        ),
        Choice(
            "labels",
            "binary",
            help="'published' multiplies leaf labels and routing, 'binary' has one variable per "
            "leaf and class and better bounds.",
            options=("binary", "published"),
            advanced=True,
        ),
        Choice(
            "categorical",
            "subsets",
            help="'subsets' tests a categorical column by a set of its values, 'one-hot' puts its "
            "indicators into the planes.",
            options=("subsets", "one-hot"),
        ),
        Flag("cuts", True, help="Add the published inequalities on class sizes.", advanced=True),
        FloatRange(
            "big_m",
            1.0,
            "M",
            "Largest score; it only fixes the scale of epsilon and the prices.",
            low=1e-2,
            high=1e3,
            advanced=True,
        ),
        SHATTERING,
        replace(START_SECONDS, default=6.0),
    ),
    constraints=frozenset({"class_weight"}),
    capabilities=(Capability.ASSIGNMENT_SEARCH, Capability.LINEAR),
    sense=Sense.MINIMISE,
    objective="errors + alpha1 x missing margins + alpha2 x 1-norms",
    max_depth=6,
    equations=(
        (
            r"\min \sum_i c_i + \alpha_1 \sum_{i,b} m_{ib} + \alpha_2 \sum_b \lVert h_b \rVert_1",
            "errors, missing margins and small weights",
        ),
        (r"g_b - h_b^\top x_i = p^+_{ib} - p^-_{ib}", "score of a row at a node"),
        (
            r"p^+_{ib} + m_{ib} \ge \varepsilon e_{il},\quad p^-_{ib} \le M(1 - e_{il})",
            "left of b: on the left side, with a margin",
        ),
        (
            r"p^-_{ib} + m_{ib} \ge \varepsilon e_{il},\quad p^+_{ib} \le M(1 - e_{il})",
            "right of b: on the right side, with a margin",
        ),
        (r"c_i \ge e_{il} - k_{l,y_i}", "a row in a leaf of another class is an error"),
    ),
    teaching=TeachingText(
        "SVM1-ODT",
        "Slanted splits with small weights (the 1-norm), and soft margins that cost where points "
        "come too close.",
        "The 1-norm prefers weights of zero: many lines stay square to an axis.",
    ),
    good_at="Many classes and categorical columns in one small oblique tree, proven on some "
    "hundred rows of numbers where few errors are left; on large data train on selected rows "
    "(`octcore.solve_selected`).",
)


@formulation(INFO)
def build(problem: Problem) -> Program:
    """Make the SVM1-ODT program of a problem."""
    judge = SVM1Trees(problem)
    judge.refuse_free_rows()
    model = SVM1Model(judge)
    least = metrics.conflict_errors(problem.X, problem.y, problem.weights)
    shares = np.bincount(problem.y, problem.weights, minlength=problem.n_classes).astype(float)
    task = judge.task
    exact = (Capability.ASSIGNMENT_SEARCH,) if task is not None else ()
    return Program(
        sense=Sense.MINIMISE,
        capabilities=(*exact, Capability.LINEAR),
        evaluate=judge.evaluate,
        size=model.size,
        build=model.build,
        search=task,
        prove=None if task is None else task.prove,
        kernels=ALL,
        tolerance=GAP,
        feasibility=judge.feasibility,
        starts=judge.starts,
        improve=judge.improve,
        bound=max(least, unnamed_classes(shares, 2**problem.depth)),
        claims=judge.claims,
        findings=judge.findings,
    )
