"""Other programs on the same data with the same objective: accuracy - 0.01 x leaves.

Studies: the depth.  ``free`` is depth 3 without a price of leaves, the only question that DL8.5
answers as well.  ``fair`` is depth 2 with a limit on the difference of the shares of positive
predictions between two groups (statistical parity), which binds on every set: ours against
ODTLearn's FairOCT.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from octcore.bench.data_files import encoded, encoded_file
from octcore.bench.instance import Instance
from octcore.bench.peers import PEERS
from octcore.bench.published_figures import published
from octcore.bench.suite import Suite

STUDIES = {
    "depth-4": (4, 0.01), "depth-3": (3, 0.01), "depth-2": (2, 0.01), "free": (3, 0.0),
}  # fmt: skip
SETS = tuple(dict.fromkeys((row["dataset"], row["encoding"]) for row in published("accelerated")))
FAIR_SETS = (
    ("hepatitis", "QT_5", "Feat1_Cat0.2", 0.1),
    ("breast-cancer", "none", "Feat1_Cat1.premeno", 0.03),
    ("monk1", "none", "Feat0_Cat0.1", 0.2),
    ("monk3", "none", "Feat0_Cat0.1", 0.05),
    ("house-votes-84", "none", "Feat3_Cat3.y", 0.3),
    ("credit", "QT_5", "Feat0_Cat0.b", 0.01),
)
"""Set, encoding, column of the groups, largest difference."""
FAIR_DEPTH, FAIR_PENALTY = 2, 0.01
USUAL = (
    "path-search",
    *(key for key, peer in PEERS.items() if not peer.needs_parity and key != "pycontree"),
)
FAIR = (
    "path-columns", "flow-oct", *(key for key, peer in PEERS.items() if peer.needs_parity),
)  # fmt: skip


def instances(folder: Path, study: str, formulations: tuple[str, ...]) -> list[Instance]:
    """Every encoded set by every program."""
    if study == "fair":
        # The suite's own list is that of its first study.
        return _fair(folder, FAIR if formulations == USUAL else formulations)
    depth, penalty = STUDIES[study]
    return [
        _instance(folder, dataset, encoding, key, depth, {"params": {"leaf_penalty": penalty}})
        for dataset, encoding in SETS
        for key in formulations
    ]


def _fair(folder: Path, formulations: tuple[str, ...]) -> list[Instance]:
    found = []
    for dataset, encoding, column, gap in FAIR_SETS:
        settings = {
            "params": {"leaf_penalty": FAIR_PENALTY},
            "constraints": {"statistical_parity": {"attribute": column, "max_gap": gap}},
        }
        found += [
            _instance(folder, dataset, encoding, key, FAIR_DEPTH, settings) for key in formulations
        ]
    return found


def _instance(
    folder: Path, dataset: str, encoding: str, key: str, depth: int, settings: dict[str, Any]
) -> Instance:
    return Instance(
        dataset=dataset,
        encoding=encoding,
        formulation=key,
        depth=depth,
        load=encoded(folder, dataset, encoding),
        settings={"encoding": "none", **settings},
    )


SUITE = Suite(
    key="peers",
    title="Other programs on the same data and objective",
    formulations=USUAL,
    needs=tuple(
        dict.fromkeys(encoded_file(*pair) for pair in (*SETS, *(row[:2] for row in FAIR_SETS)))
    ),
    instances=instances,
    studies=(*STUDIES, "fair"),
)
