"""Root bounds of a bench file: how far each model's is from the optimum, one column per model."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import plotly.graph_objects as go

from octcore.bench.profiles import curve_name
from octcore.engines.events import relative_gap
from octcore.plotting.layout import base_layout
from octcore.plotting.palette import Palette

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
    found: dict[tuple[str, str], float | None] = {}
    has_any = False
    for cells in lines:
        if cells.get("reference_objective"):
            optimum, bound = float(cells["reference_objective"]), cells.get("root_bound")
            words = (cells["dataset"], cells["encoding"], f"D={cells['depth']}")
            name = " ".join(word for word in words if word not in {"auto", "none"})
            gap = relative_gap(optimum, float(bound)) if bound else None
            found[name, curve_name(cells)] = gap
            has_any = has_any or gap is not None
    instances = tuple(dict.fromkeys(instance for instance, _ in found))
    models = tuple(dict.fromkeys(model for _, model in found))
    if not has_any or len(instances) > MOST_INSTANCES:
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
            colorscale=[[0, palette.surface], [1, palette.bound]],
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
