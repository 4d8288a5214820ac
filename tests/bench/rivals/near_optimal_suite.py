"""Counts of near-optimal trees by other programs on the same question, with time and memory.

No paper reports these counts; programs are compared with each other.  The column `trees` holds the
count, the note processor seconds and peak memory.
"""

from __future__ import annotations

from pathlib import Path

from octcore.bench.data_files import encoded, encoded_file
from octcore.bench.suite import Instance, Suite
from tests.bench.rivals.counters import COUNTERS, run_counter

CASES = (
    ("balance-scale", "none", 3, 0.01, 0.0203),
    ("breast-cancer", "none", 3, 0.01, 0.0203),
    ("car_evaluation", "none", 3, 0.01, 0.0203),
    ("iris", "QT_5", 3, 0.02, 0.0213),
    ("monk2", "none", 3, 0.01, 0.0203),
    ("spect", "none", 3, 0.01, 0.0203),
    ("tic-tac-toe", "none", 3, 0.01, 0.0203),
    ("wine", "QT_5", 3, 0.02, 0.0203),
    ("ILPD", "QT_5", 3, 0.01, 0.0103),
    ("wdbc", "QT_5", 3, 0.01, 0.0203),
    ("ILPD", "QT_5", 4, 0.01, 0.0053),
    ("wine", "QT_5", 4, 0.02, 0.0203),
    ("wdbc", "QT_5", 4, 0.01, 0.0103),
    ("wdbc", "QT_5", 4, 0.01, 0.0203),
)
"""Set, encoding, depth, leaf penalty, tolerance; the last two are asked in whole rows."""


def instances(folder: Path, study: str, formulations: tuple[str, ...]) -> list[Instance]:
    """Every case by every program."""
    del study  # there is one
    return [
        Instance(
            dataset=dataset,
            encoding=encoding,
            formulation=key,
            depth=depth,
            load=encoded(folder, dataset, encoding),
            settings={"params": {"leaf_penalty": penalty, "tolerance": tolerance}},
        )
        for dataset, encoding, depth, penalty, tolerance in CASES
        for key in formulations
    ]


SUITE = Suite(
    key="near-optimal",
    title="Programs that count near-optimal trees",
    formulations=tuple(COUNTERS),
    needs=tuple(dict.fromkeys(encoded_file(*case[:2]) for case in CASES)),
    instances=instances,
    programs=dict.fromkeys(COUNTERS, run_counter),
)
