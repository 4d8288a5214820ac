"""What the declarations of MARGOT, HFS-MARGOT and SFS-MARGOT share."""

from __future__ import annotations

from typing import Any

from octcore.capabilities import Capability
from octcore.formulations.base import FormulationInfo, Reference
from octcore.parameters import Choice, FloatRange, IntRange, Parameter
from octcore.program import Sense

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
NORM = Choice(
    "norm",
    "l2",
    help="Norm of the weights in the objective; 'l1' is linear and is not the published MARGOT.",
    options=("l2", "l1"),
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


def declare(*extra: Parameter, **own: Any) -> FormulationInfo:
    """Declare a member of the family: two classes, margins, penalties by level.

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
    return FormulationInfo(**family | own)
