"""A bench file in pictures: beside the figures of its paper, and root bounds beside the optimum."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import plotly.graph_objects as go

from octcore.bench.profiles import curve_name
from octcore.bench.published_figures import number
from octcore.engines.events import relative_gap
from octcore.plotting import text
from octcore.plotting.layout import base_layout, ruler
from octcore.plotting.palette import LIGHT, Palette
from octcore.plotting.race import SHAPES

MEASURES = {
    "accuracy": ("test_accuracy", "reference_accuracy", "test accuracy"),
    "seconds": ("seconds", "reference_seconds", "seconds"),
}
"""Column of ours, column of the paper, and words for the axis."""
MOST_ROWS = 40
"""Data sets that get a row of their own."""


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
    """Collect what both sides report.

    `measure`: one of `MEASURES`.
    """
    ours, theirs, _ = MEASURES[measure]
    found: dict[tuple[str, str], list[tuple[float, float]]] = {}
    for cells in lines:
        if cells.get(ours) and cells.get(theirs):
            name = _instance(cells)
            figures = float(cells[ours]), float(cells[theirs])
            found.setdefault((name, curve_name(cells)), []).append(figures)
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

    `measure`: one of `MEASURES`; seconds get a logarithmic axis.
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
        figure = go.Figure(layout=base_layout(palette, height=460))
        _add_against(figure, by_model, palette)
        figure.update_xaxes(title_text=f"{words}, published", type=kind)
        figure.update_yaxes(title_text=f"{words}, ours", type=kind)
        return figure
    figure = go.Figure(layout=base_layout(palette, height=130 + 22 * rows))
    _add_rows(figure, by_model, palette)
    figure.update_xaxes(title_text=words, type=kind)
    figure.update_yaxes(autorange="reversed", type="category")
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
    x, y = ([getattr(pair, axis) for pair in pairs] for axis in axes)
    words = [pair.words for pair in pairs]
    look = {"mode": "markers", "marker": marker, "hovertemplate": "%{text}<extra></extra>"}
    figure.add_scatter(x=x, y=y, name=name, text=words, **look)


def _add_against(
    figure: go.Figure, by_model: Mapping[str, Sequence[Pair]], palette: Palette
) -> None:
    """One mark per pair; below the diagonal ours is smaller."""
    values = [v for mine in by_model.values() for p in mine for v in (p.ours, p.published)]
    ends = [min(values), max(values)]
    line = {"color": palette.muted, "dash": "dot"}
    figure.add_scatter(x=ends, y=ends, mode="lines", line=line, name="equal", hoverinfo="skip")
    for index, (name, mine) in enumerate(by_model.items()):
        look = {"color": palette.class_colour(index), "symbol": SHAPES[index % len(SHAPES)]}
        _add_marks(figure, mine, ("published", "ours"), name, size=8, opacity=0.7, **look)


MOST_INSTANCES = 40
"""A table of more rows is no picture."""


@dataclass(frozen=True)
class RootBounds:
    """Distances of root bounds from the optimum."""

    models: tuple[str, ...]
    instances: tuple[str, ...]
    """`models`, `instances`: columns and rows."""
    gaps: tuple[tuple[float | None, ...], ...]
    """Relative distance by instance and model; None without a root bound."""

    @property
    def words(self) -> str:
        """Mean of every model over the instances on which all have a bound."""
        whole = [row for row in self.gaps if None not in row]
        if not whole:
            return "No instance has a root bound of every model."
        means = (sum(column) / len(whole) for column in zip(*whole, strict=True))  # type: ignore[arg-type]
        parts = (f"{name} {mean:.1%}" for name, mean in zip(self.models, means, strict=True))
        return f"Mean over {len(whole)} instances with all bounds: {', '.join(parts)}."


def root_bounds(lines: Iterable[Mapping[str, str]]) -> RootBounds | None:
    """Collect root bounds where the optimum is known; None without any, or with too many rows."""
    found = {
        (_instance(cells), curve_name(cells)): relative_gap(
            number(cells["reference_objective"]), number(cells.get("root_bound"))
        )
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
    figure = go.Figure(
        go.Heatmap(
            x=[name.replace(" ", "<br>", 1) for name in record.models],
            y=record.instances,
            z=record.gaps,
            text=[["" if gap is None else f"{gap:.1%}" for gap in row] for row in record.gaps],
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
    )
    height = 150 + 24 * len(record.instances)
    figure.update_layout(base_layout(palette, height=height, has_legend=False))
    figure.update_xaxes(type="category", side="top", showgrid=False)
    figure.update_yaxes(type="category", autorange="reversed", showgrid=False)
    return figure
