"""Accuracy of several runs on training and held-out rows, with the spread over other splits."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import plotly.graph_objects as go

from octcore.plotting import text
from octcore.plotting.layout import BREAK, base_layout, curve, mark
from octcore.plotting.palette import Palette
from octcore.plotting.race import SHAPES
from octcore.solving.run import Run


@dataclass(frozen=True)
class Spread:
    """One run and its repetitions: accuracies on training and on held-out rows."""

    label: str
    training: tuple[float, ...]
    held_out: tuple[float, ...]

    @property
    def words(self) -> str:
        """Mean and range of the held-out accuracy, or that of the training rows."""
        values, name = (self.held_out, "held out") if self.held_out else (self.training, "training")
        if not values:
            return f"{self.label}: no tree"
        mean = sum(values) / len(values)
        if len(values) == 1:
            return f"{self.label}: {text.percent(mean)} {name}"
        span = f"{text.percent(min(values))} to {text.percent(max(values))}"
        return f"{self.label}: {text.percent(mean)} {name} on average of {len(values)}, {span}"


def spread_data(runs: Sequence[Sequence[Run]], labels: Sequence[str]) -> tuple[Spread, ...]:
    """Collect accuracies; every entry of `runs` holds a run and its repetitions."""
    return tuple(
        Spread(
            label,
            tuple(run.accuracy for run in group if run.accuracy is not None),
            tuple(run.test_accuracy for run in group if run.test_accuracy is not None),
        )
        for group, label in zip(runs, labels, strict=True)
    )


def spread_figure(records: Sequence[Spread], palette: Palette) -> go.Figure:
    """Draw one line per run: open marks are training rows, filled ones held-out rows."""
    height = 110 + 56 * len(records)
    figure = go.Figure(layout=base_layout(palette, has_legend=True, height=height))
    names = text.unique_labels([record.label for record in records], 44)
    for index, (record, name) in enumerate(zip(records, names, strict=True)):
        shape, colour = SHAPES[index % 4], palette.class_colour(index)
        for values, suffix, shift, kind, edge in (
            (record.training, "-open", -0.16, "training rows", colour),
            (record.held_out, "", 0.16, "held-out rows", palette.outline),
        ):
            if values:
                look = mark(shape + suffix, 12, colour, edge, 1.4) | {"opacity": 0.85}
                _marks(figure, values, index + shift, look, f"{name}, {kind}", palette)
    for kind, suffix in (("training rows", "-open"), ("held-out rows", "")):
        look = {"symbol": f"circle{suffix}", "size": 11, "color": palette.text}
        curve(figure, [BREAK], kind, marker=look)
    figure.update_yaxes(
        tickvals=list(range(len(records))),
        ticktext=names,
        range=[len(records) - 0.5, -0.5],
        showgrid=False,
        ticks="",
    )
    values = [v for record in records for v in (*record.training, *record.held_out)] or [0.0, 1.0]
    span = [max(0.0, min(values) - 0.03), min(1.005, max(values) + 0.03)]
    figure.update_xaxes(title_text="accuracy", tickformat=".0%", range=span)
    return figure


def _marks(
    figure: go.Figure,
    values: Sequence[float],
    height: float,
    marker: Mapping[str, object],
    name: str,
    palette: Palette,
) -> None:
    """Draw every split as a mark, and their mean as an upright line."""
    points = [(value, height) for value in values]
    curve(figure, points, hover="%{x:.2%}", extra=name, marker=marker, showlegend=False)
    if len(values) > 1:
        mean = sum(values) / len(values)
        figure.add_shape(
            type="line", x0=mean, x1=mean, y0=height - 0.15, y1=height + 0.15,
            line={"color": palette.text, "width": 2.5},
        )  # fmt: skip
