"""Other programs on the same data with the same objective: accuracy - 0.01 x leaves.

Studies: the depth.  ``free`` is depth 3 without a price of leaves, the only question that DL8.5
answers as well.  ``small-1`` and ``small-2`` are depth 1 and 2 on eight small sets, which programs
that need minutes elsewhere can finish.  ``fair`` is depth 2 with a limit on the difference of the
shares of positive predictions between two groups (statistical parity), which binds on every set:
ours against ODTLearn's FairOCT; ``fair-1`` is the same at depth 1.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from octcore.bench.data_files import encoded, encoded_file
from octcore.bench.suite import Instance, Suite, published
from octcore.data.dataset import Dataset
from tests.bench.rivals.peers import PEERS, run_peer

PENALTY = 0.01
STUDIES = {
    "depth-4": (4, PENALTY), "depth-3": (3, PENALTY), "depth-2": (2, PENALTY), "free": (3, 0.0),
}  # fmt: skip
SMALL_STUDIES = {"small-1": 1, "small-2": 2}
SMALL = (
    ("soybean-small", "none"), ("fertility", "QT_5"), ("monk1", "none"), ("monk3", "none"),
    ("hayes-roth", "none"), ("iris", "QT_5"), ("monk2", "none"), ("house-votes-84", "none"),
)  # fmt: skip
SETS = tuple(dict.fromkeys((row["dataset"], row["encoding"]) for row in published("accelerated")))
FAIR_SETS = (
    ("hepatitis", "QT_5", "Feat1_Cat0.2", 0.1),
    ("breast-cancer", "none", "Feat1_Cat1.premeno", 0.03),
    ("monk1", "none", "Feat0_Cat0.1", 0.2),
    ("monk3", "none", "Feat0_Cat0.1", 0.05),
    ("house-votes-84", "none", "Feat3_Cat3.y", 0.3),
    ("credit", "QT_5", "Feat0_Cat0.b", 0.01),
    ("monk2", "none", "Feat4_Cat4.1", 0.1),
    ("iris", "QT_5", "Feat0_Num0.th1", 0.3),
)
"""Set, encoding, column of the groups, largest difference."""
FAIR_STUDIES = {"fair": 2, "fair-1": 1}
USUAL = (
    "path-search",
    *(key for key, peer in PEERS.items() if not peer.needs_parity and key != "pycontree"),
)
FAIR = (
    "path-columns", "flow-oct", *(key for key, peer in PEERS.items() if peer.needs_parity),
)  # fmt: skip


def instances(folder: Path, study: str, formulations: tuple[str, ...]) -> list[Instance]:
    """Every encoded set by every program."""
    if study in FAIR_STUDIES:
        # The suite's own list is that of its first study.
        keys = FAIR if formulations == USUAL else formulations
        return _fair(folder, keys, FAIR_STUDIES[study])
    if study in SMALL_STUDIES:
        sets, depth, penalty = SMALL, SMALL_STUDIES[study], PENALTY
    else:
        sets, (depth, penalty) = SETS, STUDIES[study]
    return [
        _instance(folder, dataset, encoding, key, depth, {"params": {"leaf_penalty": penalty}})
        for dataset, encoding in sets
        for key in formulations
    ]


def _fair(folder: Path, formulations: tuple[str, ...], depth: int) -> list[Instance]:
    found = []
    for dataset, encoding, column, gap in FAIR_SETS:
        settings = {
            "params": {"leaf_penalty": PENALTY},
            "constraints": {"statistical_parity": {"attribute": column, "max_gap": gap}},
        }
        found += [
            _instance(folder, dataset, encoding, key, depth, settings) for key in formulations
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
        load=partial(_last_class_positive, encoded(folder, dataset, encoding)),
        settings={"encoding": "none", **settings},
    )


def _last_class_positive(load: Callable[[], Dataset]) -> Dataset:
    """Rows whose last class is the wanted one, which a fairness limit needs to know of three."""
    data = load()
    return replace(data, positive_class=data.classes[-1])


SUITE = Suite(
    key="peers",
    title="Other programs on the same data and objective",
    formulations=USUAL,
    needs=tuple(
        dict.fromkeys(encoded_file(*pair) for pair in (*SETS, *(row[:2] for row in FAIR_SETS)))
    ),
    instances=instances,
    studies=(*STUDIES, *SMALL_STUDIES, *FAIR_STUDIES),
    programs=dict.fromkeys(PEERS, run_peer),
)
