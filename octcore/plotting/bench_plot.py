"""A bench file in pictures: performance profiles, the figures of its paper, root bounds.

Profiles have two panels with one vertical axis, as papers on exact solvers show it: left, the share
of instances that are proven optimal within a time; right, the share whose gap at the end is at
most a value.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from octcore.bench import profiles
from octcore.data.distinct import grouped
from octcore.plotting import text
from octcore.plotting.gap_plot import DASHES, SHAPES
from octcore.plotting.layout import base_layout, curve, framed, ruler
from octcore.plotting.palette import LIGHT, Palette

LEAST_SECONDS = 0.01  # left end of the axis of seconds
LEAST_GAP = 0.05  # width of the axis of gaps where all are closed


@dataclass(frozen=True)
class Panels:
    """Profiles of all curves on the instances that all of them were given, where there are any."""

    proven: tuple[profiles.Profile, ...]  # instances proven within a time, one per curve
    gaps: tuple[profiles.Profile, ...]
    """Instances whose gap at the end was at most a value, in the same order."""
    n_left_out: int = 0  # lines that not every curve has
    same_instances: bool = True
    """False when the curves have no instance in common, so that each has its own."""

    @property
    def words(self) -> str:
        """What the picture says, in a sentence."""
        parts = [f"{p.name} proves {p.y[-1] if p.y else 0} of {p.total}" for p in self.proven]
        more = ""
        if self.n_left_out:
            verb = "is" if self.n_left_out == 1 else "are"
            lines = text.count(self.n_left_out, "line")
            more = f" {lines} {verb} left out: not every curve has such."
        if not self.same_instances:
            more = " The curves have no instance in common; each is drawn on its own."
        return "; ".join(parts) + "." + more


def panels(lines: Sequence[profiles.Cells]) -> Panels:
    """Make the profiles of lines that were run."""
    common = profiles.common_lines(lines)
    shown = common or lines
    proven = profiles.solved_against_time(shown)
    gaps = profiles.instances_against_gap(shown)
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
            look = {"line": line, "legendgroup": name, "showlegend": column == 1}
            curve(figure, _steps(profile, start, end), name, hover, name, **look, row=1, col=column)
    axis = layout.to_plotly_json()["xaxis"]
    figure.update_xaxes(axis)
    figure.update_yaxes(axis)
    figure.update_xaxes(type="log", title_text="time to the proof (s, log)", row=1, col=1)
    figure.update_xaxes(title_text="gap when time was up", tickformat=".0%", row=1, col=2)
    figure.update_yaxes(range=[-0.02, 1.03], tickformat=".0%")
    figure.update_yaxes(title_text="share of the instances", row=1, col=1)
    return figure


def _steps(profile: profiles.Profile, start: float, end: float) -> list[tuple[float, float]]:
    """Points of a staircase over a whole axis; what lies before its start counts there."""
    pairs = zip(profile.x, profile.y, strict=True)
    steps = [(start, 0.0), *((max(x, start), y / profile.total) for x, y in pairs)]
    return [*steps, (max(end, steps[-1][0]), steps[-1][1])]


MEASURES = {
    "accuracy": ("test_accuracy", "reference_accuracy", "test accuracy"),
    "seconds": ("seconds", "reference_seconds", "seconds"),
}
"""Column of ours, column of the paper, and words for the axis."""
MOST_ROWS = 40  # data sets that get a row of their own


@dataclass(frozen=True)
class Pair:
    """Mean of ours and of the published figure over the lines of one data set, depth and model."""

    name: str
    model: str
    ours: float
    published: float

    @property
    def words(self) -> str:
        """Both figures."""
        return f"{self.name}, {self.model}: {self.ours:.4g}, published {self.published:.4g}"


def published_data(lines: Iterable[Mapping[str, str]], measure: str) -> tuple[Pair, ...]:
    """Collect what both sides report of one of `MEASURES`."""
    ours, theirs, _ = MEASURES[measure]
    found = grouped(
        ((_instance(cells), profiles.curve_name(cells)), (float(cells[ours]), float(cells[theirs])))
        for cells in lines
        if cells.get(ours) and cells.get(theirs)
    )
    return tuple(
        Pair(*key, *(sum(column) / len(pairs) for column in zip(*pairs, strict=True)))
        for key, pairs in found.items()
    )


def _instance(cells: Mapping[str, str]) -> str:
    words = (cells["dataset"], cells["encoding"], f"D={cells['depth']}")
    return " ".join(word for word in words if word not in {"auto", "none"})


def published_figure(pairs: tuple[Pair, ...], measure: str, palette: Palette) -> go.Figure:
    """Draw a row per data set: a filled mark for every model of ours, open ones for the paper's.

    Of more than `MOST_ROWS` data sets the paper's figure is drawn against ours, with the diagonal.
    Seconds get a logarithmic axis.
    """
    rows = len({pair.name for pair in pairs})
    found = list(dict.fromkeys(pair.model for pair in pairs))
    by_model = {
        label: [pair for pair in pairs if pair.model == model]
        for model, label in zip(found, text.unique_labels(found), strict=True)
    }
    kind = "log" if measure == "seconds" else "linear"
    words = MEASURES[measure][2]
    if rows > MOST_ROWS:
        axes = (
            {"title_text": f"{words}, {whose}", "type": kind} for whose in ("published", "ours")
        )
        figure = framed(palette, 460, True, *axes)
        _add_against(figure, by_model, palette)
        return figure
    up = {"autorange": "reversed", "type": "category"}
    figure = framed(palette, 130 + 22 * rows, x={"title_text": words, "type": kind}, y=up)
    _add_rows(figure, by_model, palette)
    return figure


def _add_rows(figure: go.Figure, by_model: Mapping[str, Sequence[Pair]], palette: Palette) -> None:
    """One filled mark per model; an open mark per figure of the paper, one where all are equal."""
    everything = [pair for mine in by_model.values() for pair in mine]
    published = {pair.name: pair for pair in everything}
    is_shared = all(pair.published == published[pair.name].published for pair in everything)
    for pair in everything if is_shared else ():
        ends = [pair.ours, pair.published]
        ruler(figure, ends, [pair.name] * 2, color=palette.grid, width=1)
    for index, (name, mine) in enumerate(by_model.items()):
        look = {"color": palette.class_colour(index), "size": 10}
        shape = SHAPES[index % len(SHAPES)]
        alone = "ours" if len(by_model) == 1 else name
        ours, theirs = alone if is_shared else f"{name}, ours", f"{name}, published"
        _add_marks(figure, mine, ("ours", "name"), ours, symbol=shape, **look)
        if not is_shared:
            _add_marks(figure, mine, ("published", "name"), theirs, symbol=f"{shape}-open", **look)
    if is_shared:
        look = {"color": palette.text, "size": 10, "symbol": f"{SHAPES[0]}-open"}
        _add_marks(figure, list(published.values()), ("published", "name"), "published", **look)


def _add_marks(
    figure: go.Figure, pairs: Sequence[Pair], axes: tuple[str, str], name: str, **marker: Any
) -> None:
    points = [(getattr(pair, axes[0]), getattr(pair, axes[1])) for pair in pairs]
    curve(figure, points, name, "%{text}", text=[pair.words for pair in pairs], marker=marker)


def _add_against(
    figure: go.Figure, by_model: Mapping[str, Sequence[Pair]], palette: Palette
) -> None:
    """One mark per pair; below the diagonal ours is smaller."""
    values = [v for mine in by_model.values() for p in mine for v in (p.ours, p.published)]
    ends = [(end, end) for end in (min(values), max(values))]
    curve(figure, ends, "equal", line={"color": palette.muted, "dash": "dot"})
    for index, (name, mine) in enumerate(by_model.items()):
        look = {"color": palette.class_colour(index), "symbol": SHAPES[index % len(SHAPES)]}
        _add_marks(figure, mine, ("published", "ours"), name, size=8, opacity=0.7, **look)


def beside_the_paper(
    lines: Sequence[Mapping[str, str]], palette: Palette
) -> list[tuple[str, go.Figure]]:
    """What lines and their paper both report, and root bounds: figures with their captions."""
    found = []
    for measure, (_, _, words) in MEASURES.items():
        if pairs := published_data(lines, measure):
            caption = f"{words[0].upper()}{words[1:]}: ours and the paper's"
            figure = published_figure(pairs, measure, palette)
            found.append((caption, figure))
    roots = root_bounds(lines)
    if roots is not None:
        caption = "Distance of the root bound from the optimum"
        found.append((caption, root_bound_figure(roots, palette)))
    return found


MOST_INSTANCES = 40  # a table of more rows is no picture


@dataclass(frozen=True)
class RootBounds:
    """Distances of root bounds from the optimum."""

    models: tuple[str, ...]
    instances: tuple[str, ...]  # `models`, `instances`: columns and rows
    gaps: tuple[tuple[float | None, ...], ...]
    """Relative distance by instance and model; None without a root bound."""


def root_bounds(lines: Iterable[Mapping[str, str]]) -> RootBounds | None:
    """Collect root bounds where the optimum is known; None without any, or with too many rows."""
    found = {
        (_instance(cells), profiles.curve_name(cells)): profiles.root_gap(cells)
        for cells in lines
        if cells.get("reference_objective")
    }
    instances = tuple(dict.fromkeys(instance for instance, _ in found))
    models = tuple(dict.fromkeys(model for _, model in found))
    if set(found.values()) <= {None} or len(instances) > MOST_INSTANCES:
        return None
    gaps = tuple(tuple(found.get((i, model)) for model in models) for i in instances)
    return RootBounds(models, instances, gaps)


def root_bound_figure(record: RootBounds, palette: Palette) -> go.Figure:
    """Draw a table whose cells are the darker the farther the bound is from the optimum."""
    across = {"type": "category", "side": "top", "showgrid": False}
    up = {"type": "category", "autorange": "reversed", "showgrid": False}
    figure = framed(palette, 150 + 24 * len(record.instances), False, across, up)
    figure.add_heatmap(
        x=[name.replace(" ", "<br>", 1) for name in record.models],
        y=record.instances,
        z=record.gaps,
        text=[["" if gap is None else text.percent(gap) for gap in row] for row in record.gaps],
        texttemplate="%{text}",
        textfont={"color": palette.text},  # the ink that plotly chooses is too faint half way
        colorscale=[[0, palette.surface], [1, LIGHT.bound]],
        zmin=0,
        showscale=False,
        xgap=2,
        ygap=2,
        hoverongaps=False,
        hovertemplate="%{y}, %{x}: %{z:.2%} from the optimum<extra></extra>",
    )
    return figure
