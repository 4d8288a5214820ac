"""Other programs on the same data with the same objective: accuracy - 0.01 x leaves.

Studies: the depth.  ``free`` is depth 3 without a price of leaves, the only question that DL8.5
answers as well.
"""

from __future__ import annotations

from pathlib import Path

from octcore.bench.data_files import encoded, encoded_file
from octcore.bench.instance import Instance
from octcore.bench.peers import PEERS
from octcore.bench.published_figures import published
from octcore.bench.suite import Suite

STUDIES = {
    "depth-4": (4, 0.01), "depth-3": (3, 0.01), "depth-2": (2, 0.01), "free": (3, 0.0),
}  # fmt: skip
SETS = tuple(dict.fromkeys((row["dataset"], row["encoding"]) for row in published("accelerated")))


def instances(folder: Path, study: str, formulations: tuple[str, ...]) -> list[Instance]:
    """Every encoded set by every program."""
    depth, penalty = STUDIES[study]
    return [
        Instance(
            dataset=dataset,
            encoding=encoding,
            formulation=key,
            depth=depth,
            load=encoded(folder, dataset, encoding),
            settings={"encoding": "none", "params": {"leaf_penalty": penalty}},
        )
        for dataset, encoding in SETS
        for key in formulations
    ]


SUITE = Suite(
    key="peers",
    title="Other programs on the same data and objective",
    formulations=("path-search", *PEERS),
    needs=tuple(encoded_file(*pair) for pair in SETS),
    instances=instances,
    studies=tuple(STUDIES),
)
