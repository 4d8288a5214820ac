"""Performance profiles of any benchmark output, as plain records that a figure can draw.

A profile of solved instances against time is a staircase: after `seconds`, so many instances were
proven.  One of instances against gap says for how many the gap at the limit was at most `gap`; an
instance without a tree or a bound never counts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from octcore.bench.instance import CONTRACT
from octcore.bench.runner import read_lines
from octcore.errors import SettingsError

Cells = Mapping[str, str]
NOT_RUN = frozenset({"missing", "refused"})


@dataclass(frozen=True)
class Profile:
    """One curve.

    Parameters
    ----------
    name : str
        Formulation, with the variant where there are several.
    total : int
        Number of instances that were run.
    x : tuple of float
        Seconds, or gaps, ascending.
    y : tuple of int
        Number of instances with at most that value.
    """

    name: str
    total: int
    x: tuple[float, ...]
    y: tuple[int, ...]

    def to_dict(self) -> dict[str, object]:
        """Return plain data."""
        return {"name": self.name, "total": self.total, "x": list(self.x), "y": list(self.y)}


def solved_against_time(lines: Iterable[Cells]) -> tuple[Profile, ...]:
    """Instances proven optimal within so many seconds, one profile per formulation or variant."""
    return _profiles(lines, _proven_seconds)


def instances_against_gap(lines: Iterable[Cells]) -> tuple[Profile, ...]:
    """Instances whose gap at the end was at most so large, one profile per formulation."""
    return _profiles(lines, lambda cells: _number(cells["gap"]))


def read_bench(path: str | Path) -> list[dict[str, str]]:
    """Read an output of ``octcore bench``; lines cut off by an interruption are left out.

    Raises
    ------
    SettingsError
        If the file lacks a column of the contract or cannot be read.
    """
    try:
        lines = read_lines(Path(path))
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError("CANNOT_READ", f"{path} cannot be read: {error}.", "path") from error
    missing = [name for name in CONTRACT if not lines or name not in lines[0]]
    if missing:
        raise SettingsError(
            "NOT_A_BENCH_FILE",
            f"{path} is no output of octcore bench: it has no column {missing[0]!r} with lines.",
            "path",
        )
    return lines


def _profiles(
    lines: Iterable[Cells], measure: Callable[[Cells], float | None]
) -> tuple[Profile, ...]:
    groups: dict[str, list[float | None]] = {}
    for cells in lines:
        if cells["status"] not in NOT_RUN:
            groups.setdefault(_curve(cells), []).append(measure(cells))
    found = []
    for name, values in groups.items():
        reached = sorted(value for value in values if value is not None)
        x = tuple(dict.fromkeys(reached))
        y = tuple(sum(value <= limit for value in reached) for limit in x)
        found.append(Profile(name, len(values), x, y))
    return tuple(found)


def _curve(cells: Cells) -> str:
    """Formulation and variant: what is left of the parameters without the numbers of an instance.

    Labels of splits and penalties differ from instance to instance and name no curve.
    """
    words = [
        word
        for word in cells["parameters"].split()
        if not word.startswith(("leaf_penalty=", "repeat=", "80/20", "C_", "c1=", "c3=", "alpha="))
        and not word.startswith(("budget_", "split_weight="))
    ]
    return " ".join([cells["formulation"], *words])


def _proven_seconds(cells: Cells) -> float | None:
    return _number(cells["seconds"]) if cells["status"] == "optimal" else None


def _number(text: str) -> float | None:
    return float(text) if text else None
