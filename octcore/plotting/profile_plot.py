"""Performance profiles of a bench file: instances proven within a time, and gaps at the limit.

Two panels with one vertical axis, as papers on exact solvers show it: left, the share
of instances that are proven optimal within a time; right, the share whose gap at the end is at
most a value.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from octcore.bench.profiles import (
    NOT_RUN,
    Cells,
    Profile,
    common_lines,
    instances_against_gap,
    parse_bench,
    solved_against_time,
)
from octcore.errors import DataError
from octcore.plotting import text
from octcore.plotting.layout import base_layout
from octcore.plotting.palette import Palette
from octcore.plotting.race import DASHES

LEAST_SECONDS = 0.01
LEAST_GAP = 0.05
"""Width of the axis of gaps where all are closed."""


@dataclass(frozen=True)
class Panels:
    """Profiles of all curves on the instances that all of them were given, where there are any."""

    proven: tuple[Profile, ...]
    """Instances proven within a time, one per curve."""
    gaps: tuple[Profile, ...]
    """Instances whose gap at the end was at most a value, in the same order."""
    n_left_out: int = 0
    """Lines that not every curve has."""
    same_instances: bool = True
    """False when the curves have no instance in common, so that each has its own."""

    @property
    def n_instances(self) -> int:
        """Instances of the longest curve."""
        return max(profile.total for profile in self.proven)

    @property
    def words(self) -> str:
        """What the picture says, in a sentence."""
        parts = [f"{p.name} proves {p.y[-1] if p.y else 0} of {p.total}" for p in self.proven]
        more = ""
        if self.n_left_out:
            more = f" {self.n_left_out} lines are left out: not every curve has them."
        if not self.same_instances:
            more = " The curves have no instance in common; each is drawn on its own."
        return "; ".join(parts) + "." + more


def profile_data(content: bytes, by: str = "formulation") -> Panels:
    """Read a bench file.

    `by`: one of `octcore.bench.profiles.GROUPS`: what the curves tell apart; the other columns make
    the instances.
    Raises `DataError` if it is no such file; the message names line and column.
    """
    lines = [cells for cells in parse_bench(content) if cells["status"] not in NOT_RUN]
    if not lines:
        raise DataError("NOT_A_BENCH_FILE", "No line of this bench file was solved.")
    return panels(lines, by)


def panels(lines: Sequence[Cells], by: str = "formulation") -> Panels:
    """Make the profiles of lines that were run."""
    common = common_lines(lines, by)
    shown = common or lines
    proven, gaps = solved_against_time(shown, by), instances_against_gap(shown, by)
    return Panels(proven, gaps, len(lines) - len(shown), bool(common))


def profile_figure(record: Panels, palette: Palette) -> go.Figure:
    """Draw both panels."""
    figure = make_subplots(rows=1, cols=2, shared_yaxes=True, horizontal_spacing=0.02)
    layout = base_layout(palette, height=380)
    figure.update_layout(layout)
    longest = max((p.x[-1] for p in record.proven if p.x), default=1.0)
    widest = max(LEAST_GAP, *(p.x[-1] for p in record.gaps if p.x), 0.0)
    names = text.unique_labels([profile.name for profile in record.proven])
    pairs = zip(record.proven, record.gaps, names, strict=True)
    for index, (proven, gaps, name) in enumerate(pairs):
        line = {"color": palette.class_colour(index), "width": 2.6, "dash": DASHES[index % 4],
                "shape": "hv"}  # fmt: skip
        for column, (profile, start, end, hover) in enumerate(
            (
                (proven, LEAST_SECONDS, longest * 1.1, "%{y:.0%} proven within %{x:.3g} s"),
                (gaps, 0.0, widest * 1.05, "%{y:.0%} with a gap of at most %{x:.1%}"),
            ),
            start=1,
        ):
            x, y = _steps(profile, start, end)
            figure.add_scatter(
                x=x,
                y=y,
                mode="lines",
                line=line,
                name=name,
                legendgroup=name,
                showlegend=column == 1,
                hovertemplate=f"{hover}<extra>{name}</extra>",
                row=1,
                col=column,
            )
    axis = layout.to_plotly_json()["xaxis"]
    figure.update_xaxes(axis)
    figure.update_yaxes(axis)
    figure.update_xaxes(type="log", title_text="time to the proof (s, log)", row=1, col=1)
    figure.update_xaxes(title_text="gap when time was up", tickformat=".0%", row=1, col=2)
    figure.update_yaxes(range=[-0.02, 1.03], tickformat=".0%")
    figure.update_yaxes(title_text="share of the instances", row=1, col=1)
    return figure


def _steps(profile: Profile, start: float, end: float) -> tuple[list[float], list[float]]:
    """Points of a staircase over a whole axis; what lies before its start counts there."""
    x, y = [start], [0.0]
    for value, number in zip(profile.x, profile.y, strict=True):
        x.append(max(value, start))
        y.append(number / profile.total)
    x.append(max(end, x[-1]))
    y.append(y[-1])
    return x, y
