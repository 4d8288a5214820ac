"""Performance profiles of a bench file: instances proven within a time, and gaps at the limit.

Two panels with one vertical axis, as papers on exact solvers show it: left, the share
of instances that are proven optimal within a time; right, the share whose gap at the end is at
most a value.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from dashboard import text
from dashboard.figures.layout import base_layout
from dashboard.figures.race import DASHES, colour_of
from dashboard.palette import Palette
from octcore.errors import DataError

NEEDED = ("dataset", "encoding", "formulation", "depth", "parameters", "status", "gap", "seconds")
COLUMNS = ("formulation", "parameters", "encoding", "depth")
NOT_RUN = ("missing", "refused")
LEAST_SECONDS = 0.01


@dataclass(frozen=True)
class Curve:
    """One contestant: seconds of its proofs, and gaps of the instances that it did not prove."""

    name: str
    seconds: tuple[float, ...]
    gaps: tuple[float, ...]
    n_instances: int

    @property
    def n_proven(self) -> int:
        """Number of instances proven optimal."""
        return len(self.seconds)


@dataclass(frozen=True)
class Profile:
    """All contestants on the instances that all of them were given, where there are any."""

    curves: tuple[Curve, ...]
    n_instances: int
    n_left_out: int = 0
    same_instances: bool = True

    @property
    def words(self) -> str:
        """What the picture says, in a sentence."""
        parts = [f"{c.name} proves {c.n_proven} of {c.n_instances}" for c in self.curves]
        more = ""
        if self.n_left_out:
            more = f" {self.n_left_out} lines are left out: not every curve has them."
        if not self.same_instances:
            more = " The curves have no instance in common; each is drawn on its own."
        return "; ".join(parts) + "." + more


def profile_data(content: bytes, by: str = "formulation") -> Profile:
    """Read a bench file.

    Parameters
    ----------
    content : bytes
        CSV as `octcore bench --output` writes it.
    by : str
        One of `COLUMNS`: what the curves tell apart; the other columns make the instances.

    Raises
    ------
    DataError
        If it is no such file; the message names line and column.
    """
    rest = [name for name in COLUMNS if name != by]
    groups: dict[str, dict[tuple[str, ...], Mapping[str, str]]] = {}
    for line in _lines(content):
        instance = (line["dataset"], *(line[name] for name in rest))
        groups.setdefault(line[by] or "none", {})[instance] = line
    common = set.intersection(*(set(found) for found in groups.values()))
    left_out = sum(len(found) - len(common) for found in groups.values())
    if not common:
        # Nothing that all were given: every curve on what it was given.
        curves = [_curve(key, list(found.values())) for key, found in groups.items()]
        return Profile(tuple(curves), max(curve.n_instances for curve in curves), 0, False)
    curves = [_curve(key, [found[i] for i in sorted(common)]) for key, found in groups.items()]
    return Profile(tuple(curves), len(common), left_out)


def _lines(content: bytes) -> list[dict[str, str]]:
    try:
        reader = csv.DictReader(io.StringIO(content.decode("utf-8-sig")), strict=True)
        lines = list(reader)
        names = reader.fieldnames or []
    except (UnicodeDecodeError, csv.Error) as error:
        raise DataError("NOT_A_BENCH_FILE", f"This is no CSV file in UTF-8: {error}.") from error
    missing = [name for name in NEEDED if name not in names]
    lines = [line for line in lines if line.get("status") not in NOT_RUN]
    if missing or not lines:
        reason = f"the column {missing[0]!r} is missing" if missing else "no line of it was solved"
        raise DataError(
            "NOT_A_BENCH_FILE",
            f"This is no bench file: {reason}; write one with octcore bench SUITE --output FILE.",
        )
    for number, line in enumerate(lines, start=2):
        for name in NEEDED:
            if line[name] is None:
                raise DataError("SHORT_LINE", f"Line {number} ends before {name!r}.", number)
        _number(line["seconds"], number, "seconds")
        _number(line["gap"], number, "gap")
    return lines


def _number(value: str, line: int, column: str) -> float | None:
    if not value.strip():
        return None
    try:
        found = float(value)
    except ValueError:
        found = math.nan
    if not math.isfinite(found):
        raise DataError(
            "NOT_A_NUMBER", f"Line {line} has {value[:30]!r} as {column}, expected a number.", line
        )
    return found


def _curve(name: str, lines: Sequence[Mapping[str, str]]) -> Curve:
    seconds, gaps = [], []
    for line in lines:
        if line["status"] == "optimal" and line["seconds"].strip():
            seconds.append(max(float(line["seconds"]), LEAST_SECONDS))
        elif line["gap"].strip():
            gaps.append(float(line["gap"]))
    return Curve(name, tuple(sorted(seconds)), tuple(sorted(gaps)), len(lines))


def profile_figure(record: Profile, palette: Palette) -> go.Figure:
    """Draw both panels.

    Parameters
    ----------
    record : Profile
        What to draw.
    palette : Palette
        Colours.
    """
    figure = make_subplots(rows=1, cols=2, shared_yaxes=True, horizontal_spacing=0.02)
    layout = base_layout(palette, height=380)
    figure.update_layout(layout)
    longest = max((s for c in record.curves for s in c.seconds), default=1.0)
    widest = max((g for c in record.curves for g in c.gaps), default=0.0)
    names = text.unique_labels([curve.name for curve in record.curves])
    for index, (curve, name) in enumerate(zip(record.curves, names, strict=True)):
        line = {"color": colour_of(index), "width": 2.6, "dash": DASHES[index % 4],
                "shape": "hv"}  # fmt: skip
        x, y = _steps(curve.seconds, LEAST_SECONDS, longest * 1.1, 0, curve.n_instances)
        _add(figure, x, y, line, name, 1, "%{y:.0%} proven within %{x:.3g} s")
        x, y = _steps(curve.gaps, 0.0, widest * 1.05, curve.n_proven, curve.n_instances)
        _add(figure, x, y, line, name, 2, "%{y:.0%} with a gap of at most %{x:.1%}")
    axis = layout.to_plotly_json()["xaxis"]
    figure.update_xaxes(axis)
    figure.update_yaxes(axis)
    figure.update_xaxes(type="log", title_text="time to the proof (s, log)", row=1, col=1)
    figure.update_xaxes(title_text="gap when time was up", tickformat=".0%", row=1, col=2)
    figure.update_yaxes(range=[-0.02, 1.03], tickformat=".0%")
    figure.update_yaxes(title_text="share of the instances", row=1, col=1)
    return figure


def _steps(
    values: Sequence[float], start: float, end: float, before: int, count: int
) -> tuple[list[float], list[float]]:
    """Points of an empirical distribution: it rises by one instance at every value."""
    x, y = [start], [before / count]
    for position, value in enumerate(values, start=1):
        x.append(value)
        y.append((before + position) / count)
    x.append(max(end, x[-1]))
    y.append(y[-1])
    return x, y


def _add(
    figure: go.Figure,
    x: Sequence[float],
    y: Sequence[float],
    line: dict[str, object],
    name: str,
    column: int,
    hover: str,
) -> None:
    figure.add_trace(
        go.Scatter(
            x=x,
            y=y,
            mode="lines",
            line=line,
            name=name,
            legendgroup=name,
            showlegend=column == 1,
            hovertemplate=f"{hover}<extra>{name}</extra>",
        ),
        row=1,
        col=column,
    )
