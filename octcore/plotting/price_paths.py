"""What prices buy: size against its price, answers of a person, thresholds against binarization."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import plotly.graph_objects as go

from octcore.plotting import text
from octcore.plotting.layout import curve, framed, mark, silent
from octcore.plotting.palette import ASK_COLOUR, CLASS_COLOURS, Palette
from octcore.selection.binarization import ALL, FAMILIES, BinarizationPath
from octcore.selection.penalty_path import PenaltyPath
from octcore.selection.refer_path import ReferPoint
from octcore.selection.repeated_splits import Size


def penalty_path_figure(
    paths: Mapping[str, PenaltyPath],
    palette: Palette,
    selected: tuple[str, int] | None = None,
    sizes: Sequence[Size] = (),
) -> go.Figure:
    """Draw what trees are worth, their accuracy where rows and errors count alike, against leaves.

    A point's custom data are its label and leaves.

    `paths`: by label (the encoding).
    `sizes`: of the first label over several splits of the rows, with their standard errors.
    """
    up = {"title_text": next(iter(paths.values())).measure, "tickformat": ".0%"}
    figure = framed(palette, 400, x={"title_text": "leaves", "dtick": 1}, y=up)
    for k, (label, path) in enumerate(paths.items()):
        points, colour, name = path.steps, palette.class_colour(k), text.plotly(label)
        fills = [colour if p.wins else palette.background for p in points]
        curve(
            figure,
            [(p.leaves, p.worth) for p in points],
            f"{name}, training",
            "%{customdata[3]}: %{y:.2%}<br>%{customdata[2]}",
            line={"color": colour, "width": 2.5},
            marker=mark(palette.class_marker(k % 4), 12, fills, colour, 2),
            customdata=[
                [label, p.leaves, p.range_words, text.count(p.leaves, "leaf")] for p in points
            ],
        )
        tested = [p for p in points if p.test_worth is not None]
        if tested:
            curve(
                figure,
                [(p.leaves, p.test_worth) for p in tested],
                f"{name}, held out",
                "%{customdata[2]}: %{y:.2%} on the held-out rows",
                line={"color": colour, "width": 1.8, "dash": "dot"},
                marker={"symbol": "x", "size": 7},
                customdata=[[label, p.leaves, text.count(p.leaves, "leaf")] for p in tested],
            )
    if sizes:
        curve(
            figure,
            [(size.leaves, size.worth) for size in sizes],
            "held out, mean and standard error of further splits",
            "%{x} leaves: %{y:.2%} on new rows",
            error_y={"array": [size.error for size in sizes], "width": 5, "thickness": 1.5},
            marker={"symbol": "line-ew-open", "size": 12, "color": palette.text},
            customdata=[[next(iter(paths)), size.leaves] for size in sizes],
        )
    if selected is not None:
        label, leaves = selected
        height = next(p.worth for p in paths[label].steps if p.leaves == leaves)
        ring = mark("circle-open", 24, palette.text, width=2.5)
        silent(figure, [leaves], [height], mode="markers", marker=ring)
    return figure


def refer_figure(
    points: Sequence[ReferPoint], palette: Palette, at: float | None = None
) -> go.Figure:
    """Draw the points; a filled one is proven optimal."""
    up = {"title_text": "share of rows", "tickformat": ".0%", "rangemode": "tozero"}
    figure = framed(palette, 300, x="cost of asking a person", y=up)
    lines = (
        ("a person is asked", [p.referred for p in points], ASK_COLOUR, "circle", ".1%"),
        ("accuracy of the others", [p.accuracy for p in points], CLASS_COLOURS[0], "square", ".1%"),
        ("mean cost", [p.mean_cost for p in points], CLASS_COLOURS[1], "diamond", ".3f"),
    )
    for name, values, colour, symbol, form in lines:
        symbols = [symbol if p.is_proven else f"{symbol}-open" for p in points]
        curve(
            figure,
            zip([p.refer for p in points], values, strict=True),
            name,
            f"asking costs %{{x:.3g}}: %{{y:{form}}} {name}",
            line={"color": colour, "width": 2},
            marker={"size": 8, "symbol": symbols},
            yaxis="y2" if name == "mean cost" else "y",
        )
    if at is not None:
        figure.add_vline(x=at, line={"color": palette.muted, "dash": "dot", "width": 1.5})
    own = {"overlaying": "y", "side": "right", "rangemode": "tozero", "showgrid": False}
    figure.update_layout(margin={"r": 64}, yaxis2={"title": {"text": "mean cost"}, **own})
    return figure


NAMES = {"QB": "quantile buckets", "QT": "quantile thresholds"}
LEVELS = {"class-change": "class changes", "raw": "all thresholds"}
DASHES = {"class-change": "dash", "raw": "solid"}
MEASURES = {
    "objective": "accuracy − price of the leaves",
    "accuracy": "training accuracy",
    "test_accuracy": "held-out accuracy",
    "seconds": "seconds",
}


@dataclass(frozen=True)
class BinarizationCurves:
    """What one measure is on every encoding."""

    measure: str  # a key of `MEASURES`
    curves: dict[str, tuple[tuple[int, float, bool], ...]]
    """By family: parts, value, and whether the objective is proven."""
    levels: dict[str, tuple[float, bool]]
    """The encodings without parts: value, and whether the objective is proven."""


def binarization_data(path: BinarizationPath, measure: str = "objective") -> BinarizationCurves:
    """Collect one measure of all points; encodings without a value are left out."""
    known = [p for p in path.points if getattr(p, measure) is not None]
    curves: dict[str, tuple[tuple[int, float, bool], ...]] = {}
    for family in FAMILIES:
        found = tuple(
            (p.q, getattr(p, measure), p.status == "optimal")
            for p in known
            if p.q is not None and p.encoding.startswith(f"{family}-")
        )
        if found:
            curves[family] = found
    levels = {
        p.encoding: (getattr(p, measure), p.status == "optimal")
        for p in sorted(known, key=lambda p: p.encoding == ALL)
        if p.encoding in LEVELS
    }
    return BinarizationCurves(measure, curves, levels)


def binarization_figure(record: BinarizationCurves, palette: Palette) -> go.Figure:
    """Draw a measure against the number of parts; hollow markers are not proven."""
    is_share = record.measure != "seconds"
    up = {"tickformat": ".1%"} if is_share else {"type": "log", "dtick": 1}
    up["title_text"] = MEASURES[record.measure]
    figure = framed(palette, x={"title_text": "quantile parts of a column", "dtick": 2}, y=up)
    form = "%{y:.2%}" if is_share else "%{y:.2f} s"
    for k, (family, points) in enumerate(record.curves.items()):
        colour = palette.class_colour(k)
        parts, values, proofs = zip(*points, strict=True)
        fills = [colour if proven else palette.background for proven in proofs]
        curve(
            figure,
            zip(parts, values, strict=True),
            NAMES[family],
            f"{family}-%{{x}}: {form}, %{{customdata}}",
            line={"color": colour, "width": 2.5},
            marker=mark(palette.class_marker(k), 9, fills, colour, 2),
            customdata=["proven" if proven else "not proven" for proven in proofs],
        )
    ends = [q for points in record.curves.values() for q, _, _ in points] or [2, 20]
    for k, (key, (value, proven)) in enumerate(record.levels.items(), len(record.curves)):
        line = {"color": palette.class_colour(k), "width": 2.5, "dash": DASHES[key]}
        name, words = LEVELS[key] + ("" if proven else " (not proven)"), text.plotly(LEVELS[key])
        curve(figure, [(min(ends), value), (max(ends), value)], name, f"{words}: {form}", line=line)
    return figure
