"""Performance profiles of any benchmark output, as plain records that a figure can draw.

A profile of solved instances against time is a staircase: after `seconds`, so many instances were
proven.  One of instances against gap says for how many the gap at the limit was at most `gap`; an
instance without a tree or a bound never counts.
"""

import csv
import io
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, median

from octcore.bench import suite
from octcore.bench.runner import is_complete
from octcore.data.distinct import grouped
from octcore.engines.events import relative_gap
from octcore.errors import DataError, SettingsError

Cells = Mapping[str, str]
NOT_RUN = frozenset({"missing", "refused"})
INSTANCE = ("dataset", "encoding", "depth")
"""Columns that make an instance, with what of the parameters names no variant."""
NUMBERS = (
    "seconds", "cpu_seconds", "gap", "test_accuracy", "root_bound", "limit", "load",
    "reference_seconds", "reference_objective", "reference_accuracy",
)  # fmt: skip
"""Columns that figures and reports read as numbers."""
NEEDED = (*INSTANCE, "formulation", "parameters", "status", "gap", "seconds")


@dataclass(frozen=True)
class Profile:
    """One curve."""

    name: str  # formulation, with the variant where there are several
    total: int  # number of instances that were run
    x: tuple[float, ...]  # seconds, or gaps, ascending
    y: tuple[int, ...]  # number of instances with at most that value


def solved_against_time(lines: Iterable[Cells]) -> tuple[Profile, ...]:
    """Instances proven optimal within so many seconds, one profile per formulation or variant."""
    return _profiles(
        lines, lambda c: suite.number(c["seconds"]) if c["status"] == "optimal" else None
    )


def instances_against_gap(lines: Iterable[Cells]) -> tuple[Profile, ...]:
    """Instances whose gap at the end was at most so large, one profile per formulation."""
    return _profiles(lines, lambda cells: suite.number(cells["gap"]))


def common_lines(lines: Sequence[Cells]) -> list[Cells]:
    """Lines of the instances that every curve was run on, each once; empty if there are none."""
    groups: dict[str, dict[tuple[str, ...], Cells]] = {}
    for cells in lines:
        if cells["status"] not in NOT_RUN:
            groups.setdefault(curve_name(cells), {})[_instance(cells)] = cells
    common = set.intersection(*(set(found) for found in groups.values())) if groups else set()
    return [found[instance] for found in groups.values() for instance in sorted(common)]


def summary(lines: Iterable[Cells]) -> tuple[tuple[str, ...], ...]:
    """Heading, and what every formulation or variant reached at every depth.

    Medians, unless it says else, of the lines that were run; columns of which nothing is known are
    left out.
    """
    run = (cells for cells in lines if cells["status"] not in NOT_RUN)
    groups = grouped(((int(cells["depth"]), curve_name(cells)), cells) for cells in run)
    rows = [
        (
            name,
            str(depth),
            f"{sum(cells['status'] == 'optimal' for cells in mine)} of {len(mine)}",
            *(_middle(_of(mine, f"{of}seconds")) for of in ("", "solve_", "cpu_", "reference_")),
            _middle(_of([cells for cells in mine if cells["status"] != "optimal"], "gap"), ".2%"),
            _middle(map(root_gap, mine), ".2%"),
            _middle(_of(mine, "test_accuracy"), ".3f", fmean),
            _middle(_of(mine, "reference_accuracy"), ".3f", fmean),
        )
        for (depth, name), mine in sorted(groups.items(), key=lambda item: item[0][0])
    ]
    heading = (
        "formulation", "depth", "proven", "seconds", "solve seconds", "CPU seconds",
        "published seconds", "gap of the open ones", "root gap", "mean test accuracy",
        "mean published accuracy",
    )  # fmt: skip
    kept = [k for k in range(len(heading)) if any(row[k] for row in rows)]
    return tuple(tuple(row[k] for k in kept) for row in (heading, *rows))


def _of(lines: Iterable[Cells], column: str) -> Iterator[float | None]:
    return (suite.number(cells.get(column)) for cells in lines)


def root_gap(cells: Cells) -> float | None:
    """Relative distance of the root bound from the published optimum; None without one of both."""
    optimum, bound = cells.get("reference_objective"), cells.get("root_bound")
    return relative_gap(suite.number(optimum), suite.number(bound))


def _middle(
    values: Iterable[float | None],
    form: str = ".3g",
    middle: Callable[[list[float]], float] = median,
) -> str:
    known = [value for value in values if value is not None]
    return format(middle(known), form) if known else ""


def read_bench(path: str | Path) -> list[dict[str, str]]:
    """Read an output of ``octcore bench``; lines cut off by an interruption are left out.

    Raises `SettingsError` if the file cannot be read.
    Raises `DataError` if it is no such output, or says something else than a number where one is
    needed.
    """
    try:
        content = Path(path).read_bytes().decode("utf-8-sig")
        reader = csv.DictReader(io.StringIO(content, newline=""), strict=True)
        lines = [row for row in reader if is_complete(row)]
        names = reader.fieldnames or []
    except OSError as error:
        raise SettingsError("CANNOT_READ", f"{path} cannot be read: {error}.", "path") from error
    except (UnicodeDecodeError, csv.Error) as error:
        raise DataError("NOT_A_BENCH_FILE", f"{path} is no CSV file in UTF-8: {error}.") from error
    missing = [column for column in NEEDED if column not in names]
    if missing or not lines:
        reason = f"it has no column {missing[0]!r}" if missing else "it has no complete line"
        message = f"{path} is no output of octcore bench: {reason}; write one with octcore bench "
        message += "SUITE --output FILE."
        raise DataError("NOT_A_BENCH_FILE", message)
    for number, cells in enumerate(lines, start=2):
        for column in NUMBERS:
            cell = cells.get(column, "")
            try:
                is_number = not cell.strip() or math.isfinite(float(cell))
            except ValueError:
                is_number = False
            if not is_number:
                message = f"Line {number} of {path} has {cell[:30]!r} as {column}, expected a "
                message += "number."
                raise DataError("NOT_A_NUMBER", message, number)
    return lines


def _profiles(
    lines: Iterable[Cells], measure: Callable[[Cells], float | None]
) -> tuple[Profile, ...]:
    run = (cells for cells in lines if cells["status"] not in NOT_RUN)
    groups = grouped((curve_name(cells), measure(cells)) for cells in run)
    found = []
    for name, values in groups.items():
        reached = sorted(value for value in values if value is not None)
        x = tuple(dict.fromkeys(reached))
        y = tuple(sum(value <= limit for value in reached) for limit in x)
        found.append(Profile(name, len(values), x, y))
    return tuple(found)


def curve_name(cells: Cells) -> str:
    """Name of the curve that a line belongs to: the formulation with its variant."""
    variant = _variant(cells["parameters"])
    label = [word for word in variant if "=" not in word]  # it stands for the settings beside it
    return " ".join([cells["formulation"], *(label or variant)])


def _instance(cells: Cells) -> tuple[str, ...]:
    """What was solved, whatever tells the curves apart."""
    variant = _variant(cells["parameters"])
    parameters = " ".join(word for word in cells["parameters"].split() if word not in variant)
    return (*(cells[column] for column in INSTANCE), parameters)


def _variant(parameters: str) -> list[str]:
    """What is left of the parameters without the numbers of an instance.

    Labels of splits and penalties differ from instance to instance and name no curve.
    """
    return [
        word
        for word in parameters.split()
        if not word.startswith(("leaf_penalty=", "repeat=", "seed=", "80/20", "C_", "c1=", "c3="))
        and not word.startswith(("alpha=", "budget_", "split_weight="))
        and "={" not in word  # a limit on groups of this data set
    ]
