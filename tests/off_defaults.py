"""Values that are not the defaults of declared settings, for tests that take all of them off."""

from __future__ import annotations

from typing import Any

from octcore.formulations.base import FormulationInfo
from octcore.parameters import Choice, Flag, FloatRange, IntRange, Parameter
from octcore.tree.constraints import ACCEPTED, ParityLimit

REGULARISER, OTHER_REGULARISER = "leaf_penalty", "split_weight"
FEATURES = ("head shape", "smiling", "holding")
"""Columns of the sample ``monks-1``."""
BY_NAME: dict[str, Any] = {
    "forbidden_features": ("smiling",),
    "root_feature": "head shape",
    "forbidden_pairs": (("head shape", "holding"),),
    "monotone": {"head shape": "up"},
    "min_recall": {1: 0.1},
    "class_weight": {0: 2.0, 1: 1.0},
}


def off_default(parameter: Parameter) -> Any:
    """Another value that the declaration allows."""
    if isinstance(parameter, Flag):
        return not parameter.default
    if isinstance(parameter, Choice):
        return next(option for option in parameter.options if option != parameter.default)
    if isinstance(parameter, IntRange):
        default = parameter.low if parameter.default is None else parameter.check(parameter.default)
        assert default is not None
        return default + 1 if parameter.high is None or default < parameter.high else default - 1
    assert isinstance(parameter, FloatRange), parameter
    low, high = max(parameter.low, 0.0), min(parameter.high, 1e3)
    tries = (low + share * (high - low) for share in (0.125, 0.25))
    return next(value for value in tries if value != parameter.default)


def params_off(info: FormulationInfo, without: str = OTHER_REGULARISER) -> dict[str, Any]:
    """Every hyperparameter off its default; of the two regularisers one may be given."""
    return {p.name: off_default(p) for p in info.hyperparameters if p.name != without}


def constraints_off(info: FormulationInfo) -> dict[str, Any]:
    """Every side constraint of a formulation, on the columns of ``monks-1``."""
    found = {}
    for parameter in ACCEPTED:
        if parameter.name not in info.constraints:
            continue
        if isinstance(parameter, ParityLimit):
            limit = {"attribute": "holding", "max_gap": 0.25}
            found[parameter.name] = limit | ({"given": "smiling"} if parameter.has_given else {})
        else:
            found[parameter.name] = BY_NAME.get(parameter.name) or off_default(parameter)
    return found
