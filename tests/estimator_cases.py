"""Every scikit-learn class with settings under which its checks end soon, and what must fail.

scikit-learn's checks make some three hundred fits.  Large models get a depth of one or two and a
limit of nodes: seconds would stop two equal fits at different trees.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import octcore
from octcore.formulations.base import get_formulation, list_formulations

FEW_NODES = {"time_limit": 120.0, "node_limit": 20}
QUICK_START = {**FEW_NODES, "start_seconds": 0.0}
TOO_SMALL = {
    "check_classifiers_train": "it has three classes, which need three leaves; depth 1 has two"
}
TOO_LIGHT = {
    "check_class_weight_classifiers": "rows have 4e-9 of all weight there, which a solver of the "
    "model takes for nothing: such weights are refused"
}


@dataclass(frozen=True)
class Case:
    """A class of one formulation as scikit-learn checks it.

    Parameters
    ----------
    key : str
        Of the formulation.
    settings : mapping
        For the constructor.
    expected : mapping
        Reason by name of a check that must fail.
    cost : {"", "long", "slow"}
        Marker of the test.
    """

    key: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    expected: Mapping[str, str] = field(default_factory=dict)
    cost: str = "slow"

    def model(self) -> Any:
        """A new estimator."""
        return getattr(octcore, get_formulation(self.key).info.class_name)(**self.settings)


_KNOWN = {
    case.key: case
    for case in (
        Case("cart", {"leaf_penalty": 0.001}, cost=""),
        Case("threshold-search", cost="long"),
        Case("path-search", {"time_limit": 5.0}, cost="long"),
        Case("margot", {"max_depth": 1}, cost="long"),
        *(Case(key, {"max_depth": 1}) for key in ("hfs-margot", "sfs-margot")),
        Case("bin-oct", {"max_depth": 1, **FEW_NODES}, TOO_SMALL | TOO_LIGHT),
        Case("oct", {"max_depth": 1, "alpha": 0.3, **FEW_NODES}, TOO_SMALL | TOO_LIGHT),
        Case("oct-binary", {"max_depth": 2, **FEW_NODES}, TOO_LIGHT),
        Case("oct-h", {"max_depth": 1, "alpha": 0.3, **QUICK_START}, TOO_SMALL),
        Case("svm1-odt", {"max_depth": 1, **QUICK_START}, TOO_SMALL),
        Case("mm-svm-oct", {"max_depth": 1, **QUICK_START}),
        Case("s-oct", {"alpha": 0.001, **QUICK_START}),
    )
}
CASES = tuple(
    _KNOWN.get(info.key, Case(info.key, {"max_depth": 2, **FEW_NODES}))
    for info in list_formulations()
)
"""One for every formulation."""
