"""Medians and counts of a set of lines, as the benchmark prints them and RESULTS.md shows them."""

import itertools
from collections.abc import Sequence
from statistics import median

from octcore.bench.instance import Line
from octcore.engines.events import relative_gap

TOLERANCE = 1e-6
"""Published objectives are rounded; one row of any set weighs more than this."""


def summary(lines: Sequence[Line]) -> str:
    """One line of text per formulation, depth and label: solved, medians, and against the paper."""
    groups: dict[tuple[str, int, str], list[Line]] = {}
    for line in lines:
        groups.setdefault((line.formulation, line.depth, _label(line)), []).append(line)
    return "\n".join(_words(key, mine) for key, mine in sorted(groups.items()))


def _label(line: Line) -> str:
    """Words before the first setting; what is said as ``name=value`` differs by instance."""
    return " ".join(itertools.takewhile(lambda word: "=" not in word, line.parameters.split()))


def _words(key: tuple[str, int, str], lines: list[Line]) -> str:
    name = f"{key[0]} D={key[1]}" + (f" {key[2]}" if key[2] else "")
    run = [line for line in lines if line.status not in {"missing", "refused"}]
    if not run:
        return f"{name}: nothing ran; {lines[0].note}"
    solved = [line for line in run if line.status == "optimal"]
    parts = [f"{name}: {len(solved)} of {len(run)} proven"]
    parts += _median("median seconds", [line.seconds for line in run])
    parts += _median("median solve seconds", [line.solve_seconds for line in run])
    parts += _median("median gap", [line.gap for line in run])
    parts += _median(
        "median root gap", [relative_gap(line.reference_objective, line.root_bound) for line in run]
    )
    parts += _median("median test accuracy", [line.test_accuracy for line in run])
    parts += _median("median reference seconds", [line.reference_seconds for line in run])
    return ", ".join(parts)


def _median(name: str, values: Sequence[float | None]) -> list[str]:
    known = [value for value in values if value is not None]
    return [f"{name} {median(known):.4g}"] if known else []
