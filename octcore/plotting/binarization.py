"""The price of binarization: objective, held-out accuracy and time by encoding."""

from dataclasses import dataclass

import plotly.graph_objects as go

from octcore.plotting import text
from octcore.plotting.layout import base_layout, curve, mark
from octcore.plotting.palette import Palette
from octcore.selection.binarization import ALL, FAMILIES, BinarizationPath

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

    measure: str
    """A key of `MEASURES`."""
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
    figure = go.Figure(layout=base_layout(palette, height=360))
    is_share = record.measure != "seconds"
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
    figure.update_xaxes(title_text="quantile parts of a column", dtick=2)
    figure.update_yaxes(title_text=MEASURES[record.measure])
    if is_share:
        figure.update_yaxes(tickformat=".1%")
    else:
        figure.update_yaxes(type="log", dtick=1)
    return figure
