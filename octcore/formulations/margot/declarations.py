"""MARGOT, HFS-MARGOT and SFS-MARGOT: trees of maximum-margin hyperplanes for two classes.

D'Onofrio, Grani, Monaci and Palagi.  Every branch node is a soft-margin SVM over the rows that pass
it; all of them are optimised together with the routing.

=====  ===============================================================
T_B    branch nodes; T'' those of the last level, T' those above
S''(t) last-level nodes below t
w, b   plane of a node: right when w_t.x + b_t >= 0
xi     slack of a row at a node that it passes
z      row i reaches last-level node t
=====  ===============================================================

Equation numbers are the paper's: assignment (5), (6), margins (7), (8), routing (9), (10), feature
selection (11), (12); objective and budgets have none.

The leaves are signs: below a last-level node the left leaf is the first class, the right leaf the
second.  What differs from the paper: nodes are numbered from 1; equal rows are merged with
weights; the default engine is an exact search over routings, with the mixed-integer quadratic
program as its definition, for export and for other solvers.

HFS- and SFS-MARGOT choose features, by ``-M_w s_tj <= w_tj <= M_w s_tj``: the first keeps to a
budget ``sum_j s_tj <= B_t``, the second pays ``alpha sum_t u_t`` for ``u_t >= sum_j s_tj - B_t``.
The papers' M_w is 50; here the search needs none, and in the model it is as large as the best tree
known shows to be enough.
"""

from __future__ import annotations

from typing import Any

from octcore.capabilities import Capability
from octcore.formulations.base import FormulationInfo, Reference, TeachingText, formulation
from octcore.formulations.margot.family import MargotFamily
from octcore.formulations.margot.model import make_program
from octcore.parameters import Choice, FloatRange, IntRange, Parameter
from octcore.program import Sense
from octcore.search.margot.records import Variant

PENALTIES: tuple[Parameter, ...] = (
    FloatRange(
        "C_upper",
        100.0,
        r"C_t,\ t \in T'",
        "Price of slack above the last branching level; small values let upper planes only route.",
        low=0.0,
        low_open=True,
        high=1e9,
        log=True,
    ),
    FloatRange(
        "C_last",
        1000.0,
        r"C_t,\ t \in T''",
        "Price of slack on the last branching level, where the classes are decided.",
        low=0.0,
        low_open=True,
        high=1e9,
        log=True,
    ),
)
EPSILON = FloatRange(
    "epsilon",
    1e-3,
    r"\varepsilon",
    "Width of the strip left of every upper plane that holds no row.",
    low=1e-5,
    high=1.0,
    advanced=True,
)
BIG_M = FloatRange(
    "big_m",
    100.0,
    "M_H",
    "Least bound on scores in the mixed-integer model (slacks get half of it); it is raised where "
    "trees worth having need more. The routing search needs none.",
    low=1.0,
    high=1e6,
    advanced=True,
)
CAPABILITIES = (Capability.ROUTING_SEARCH, Capability.CONVEX_QUADRATIC)
OBJECTIVE = "half the squared norms + C x slacks"
MARGINS = (
    r"\min \sum_t \tfrac12 \lVert w_t \rVert^2 + C_t \sum_i \xi_{ti}",
    "wide margins at every branch node, few slacks, at a price by level",
)


def budgets(default: int) -> tuple[IntRange, IntRange]:
    """Declare the feature budgets of planes above the last level and on it."""

    def budget(name: str, symbol: str, where: str) -> IntRange:
        return IntRange(name, default, symbol, f"Features that a plane {where} may use.", low=1)

    return (
        budget("budget_upper", r"B_t,\ t \in T'", "above the last level"),
        budget("budget_last", r"B_t,\ t \in T''", "on the last level"),
    )


def declare(variant: Variant, *extra: Parameter, **own: Any) -> None:
    """Declare and register a member of the family: two classes, margins, penalties by level.

    `extra`: hyperparameters besides the penalties, epsilon and big-M.
    `**own`: what a member says of itself, or in other words than the family.
    """
    family: dict[str, Any] = {
        "reference": Reference(
            "D'Onofrio, F., Grani, G., Monaci, M. and Palagi, L.",
            2024,
            "Margin optimal classification trees",
            "Computers & Operations Research",
            "10.1016/j.cor.2023.106441",
        ),
        "split_kind": "oblique",
        "hyperparameters": (*PENALTIES, *extra, EPSILON, BIG_M),
        "constraints": frozenset({"class_weight"}),
        "capabilities": CAPABILITIES,
        "sense": Sense.MINIMISE,
        "objective": OBJECTIVE,
        "max_classes": 2,
        "max_depth": 4,
        "has_margins": True,
    }
    info = FormulationInfo(**family | own)
    formulation(info)(lambda problem: make_program(MargotFamily(problem, variant)))


declare(
    "margot",
    Choice(
        "norm",
        "l2",
        help="Norm of the weights in the objective; 'l1' is linear and is not the published "
        "MARGOT.",
        options=("l2", "l1"),
    ),
    key="margot",
    place=140,
    title="MARGOT",
    summary="Every branch node is a support vector machine, and all planes are found together with "
    "the way that each row takes. Margins are part of the objective, so the picture generalises.",
    capabilities=(*CAPABILITIES, Capability.LINEAR),
    equations=(
        MARGINS,
        (
            r"y_i (w_t^\top x_i + b_t) \ge 1 - \xi_{ti}",
            "rows that pass a node lie on the side of their class, up to their slack",
        ),
        (
            r"w_t^\top x_i + b_t \ge 0 \ \text{(right)},\quad \le -\varepsilon \ \text{(left)}",
            "upper planes route: no row lies in the strip",
        ),
    ),
    teaching=TeachingText(
        "Optimal margins (MARGOT)",
        "Every split is a support vector machine, and all of them are trained together with the "
        "way that each point takes: wide margins, few points inside them.",
        "Slanted lines, each with its margin band. Ringed points hold the band in place: move one "
        "of them and the line follows; move another one and nothing happens.",
    ),
    good_at="Two-dimensional pictures with margins that a class can see; proves depth 2 in seconds "
    "on hundreds of rows.",
)

declare(
    "hfs",
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

declare(
    "sfs",
    *budgets(1),
    FloatRange(
        "alpha",
        32.0,
        r"\alpha",
        "Price of every feature beyond the budget; larger values give sparser planes.",
        low=0.0,
        high=1e9,
    ),
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
