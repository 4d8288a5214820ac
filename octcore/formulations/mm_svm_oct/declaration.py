"""MM-SVM-OCT: support vector machines at all branch nodes, the narrowest margin as wide as it goes.

=====  ===============================================================
T      branch nodes 1 .. 2^D - 1; nobody is a leaf above the last level
w, b   plane of a node: right when w_t.x + b_t >= 0
e, r   slack of a row at a node that it passes; its label is flipped there
z, th  row passes a node; goes right at a node above the last level
d      node has a plane at all
delta  half the largest squared norm: the smallest margin is 1 / sqrt(2 delta)
=====  ===============================================================

The leaves are signs of the last level: left is the first class (-1), right the second (+1).  The
primary paper was not at hand; the model is restated from a public write-up.  What differs: products
of labels and planes are two rows with a big-M; a strip of width epsilon below 0 holds no row that
passes an upper node; directions are needed above the last level only; the norms are bounded by
tangents, so that linear solvers do.
"""

from __future__ import annotations

from octcore.formulations.base import FormulationInfo, Reference, TeachingText, formulation
from octcore.formulations.mm_svm_oct.model import MMSVMModel
from octcore.formulations.mm_svm_oct.trees import MMSVMTrees
from octcore.formulations.shared.oblique import START_SECONDS
from octcore.formulations.shared.two_classes import GAP
from octcore.parameters import Flag, FloatRange
from octcore.program import Capability, Problem, Program, Sense

INFO = FormulationInfo(
    key="mm-svm-oct",
    place=170,
    class_name="MMSVMOCTClassifier",
    title="MM-SVM-OCT",
    summary="A tree of support vector machines whose narrowest margin is as wide as possible; rows "
    "may be relabelled at a price.",
    reference=Reference(
        "Blanco, V., Japón, A. and Puerto, J.",
        2022,
        "Robust optimal classification trees under noisy labels",
        "Advances in Data Analysis and Classification 16, 155-179",
        "10.1007/s11634-021-00467-2",
    ),
    split_kind="oblique",
    hyperparameters=(
        FloatRange("c1", 10.0, "c_1", "Price of slack at a node.", low=0.0, high=1e6, log=True),
        FloatRange(
            "c2", 5.0, "c_2", "Price of a label flipped at a node.", low=0.0, high=1e6, log=True
        ),
        FloatRange("c3", 0.1, "c_3", "Price of a plane.", low=0.0, high=1e6, log=True),
        Flag(
            "relabel",
            False,
            help="Let rows change their label at a node at price c2; small prices relabel a whole "
            "class and split nothing.",
        ),
        FloatRange(
            "epsilon",
            1e-3,
            r"\varepsilon",
            "Width of the strip left of every upper plane that holds no row.",
            low=1e-5,
            high=1.0,
            advanced=True,
        ),
        FloatRange(
            "big_m",
            60.0,
            "M",
            "Least bound on scores in the model; it is raised where trees worth having need more.",
            low=2.0,
            high=1e5,
            advanced=True,
        ),
        START_SECONDS,
    ),
    constraints=frozenset({"class_weight"}),
    capabilities=(Capability.CONVEX_QUADRATIC,),
    sense=Sense.MINIMISE,
    objective="half the largest squared norm + c1 x slacks + c2 x relabelled + c3 x planes",
    max_classes=2,
    max_depth=4,
    has_margins=True,
    equations=(
        (
            r"\min \delta + c_1 \sum_{i,t} e_{it} + c_2 \sum_{i,t} r_{it} + c_3 \sum_t d_t",
            "widest smallest margin, few slacks, few flipped labels, few planes",
        ),
        (r"\tfrac12 \lVert w_t \rVert^2 \le \delta", "the narrowest margin counts"),
        (
            r"(1 - 2 r_{it}) y_i (w_t^\top x_i + b_t) \ge 1 - e_{it} - M (1 - z_{it})",
            "rows that pass a node lie on the side of their (possibly flipped) label",
        ),
        (r"d_t \le d_{p(t)}", "no plane below a node without one"),
    ),
    teaching=TeachingText(
        "MM-SVM-OCT",
        "Several classes: splits have the margins of support vector machines, and the classes are "
        "found by the tree itself.",
        "Margins between groups of classes near the root, between single classes below.",
    ),
    good_at="Contrast with MARGOT: one narrowest margin instead of the sum; rows pay at every "
    "level, so prices grow with the depth.",
)


@formulation(INFO)
def build(problem: Problem) -> Program:
    """Make the MM-SVM-OCT program of a problem; the run's values hold the re-centred tree."""
    judge = MMSVMTrees(problem)
    model = MMSVMModel(judge)
    # One class, or no column: no plane tells rows apart and a single leaf is the optimum.
    leaf = problem.majority_leaf if judge.is_decided else None
    return Program(
        sense=Sense.MINIMISE,
        evaluate=judge.evaluate,
        size=model.size,
        build=lambda guard: model.build(guard, model.big_m.asked),
        big_m=model.big_m,
        starts=judge.starts if leaf is None else lambda _: iter(()),
        improve=judge.improve,
        tolerance=GAP,
        bound=0.0 if leaf is None else judge.evaluate(leaf),
        claims=judge.claims,
        describe=lambda tree: ({"recentred": judge.recentred(tree).to_dict()}, ()),
    )
