import re

import numpy as np
import pandas as pd
import pytest

from octcore.data.dataset import Dataset
from octcore.encoding.fit import fit_encoding
from octcore.plotting.layout import framed
from octcore.plotting.palette import LIGHT
from octcore.plotting.plane_axes import (
    MOST_LEVELS,
    Places,
    lay_out_axes,
    make_axis,
    plane_columns,
)
from octcore.plotting.plane_plot import default_axes, has_equal_units, plane_data, plane_figure
from octcore.reports.charts import figure_svg
from octcore.tree.geometry import area
from octcore.tree.tree import Split, Tree
from tests.regions import region_of


@pytest.fixture(scope="module")
def shop() -> Dataset:
    """Skewed numbers above 0, mostly zeros, even numbers, and categories."""
    rng = np.random.default_rng(5)
    n = 200
    frame = pd.DataFrame(
        {
            "income": np.exp(rng.normal(8, 1.2, n)).round(),
            "gain": np.where(rng.random(n) < 0.8, 0, np.exp(rng.normal(6, 1.5, n)).round()),
            "age": rng.uniform(20, 60, n).round(1),
            "plan": rng.choice(["basic", "plus", "pro"], n),
            "flag": rng.choice(["no", "yes"], n),
            "town": [f"town {i % 30}" for i in range(n)],
        }
    )
    return Dataset.from_arrays(frame, rng.integers(0, 2, n))


def test_numbers_that_crowd_are_spread_and_others_are_not(shop):
    scales = {name: make_axis([shop], name).scale for name in shop.feature_names}
    assert scales["income"] == "log"
    assert scales["gain"] == "rank"
    assert scales["age"] == "linear"
    assert scales["plan"] == scales["flag"] == "levels"
    assert make_axis([shop], "income", is_spread=False).scale == "linear"
    assert "town" not in plane_columns(shop)  # more than so many strips cannot be read
    assert len(shop.column("town").levels) > MOST_LEVELS


def test_spread_axes_keep_the_order_and_say_raw_values(shop):
    for name in ("income", "gain"):
        axis = make_axis([shop], name)
        values = np.sort(shop.frame[name].to_numpy())
        places = axis.spread(values)
        assert (np.diff(places) >= 0).all()
        assert axis.range[0] < places[0] < places[-1] < axis.range[1]
        assert np.ptp(np.quantile(places, [0.25, 0.75])) >= 0 < len(axis.ticks)
        assert all("e" not in words and "." not in words for _, words in axis.ticks if "," in words)


def test_an_axis_of_years_has_ticks_at_whole_years_without_marks(shop):
    k = np.arange(60)
    frame = pd.DataFrame({"year": 2016 + k % 5, "founded": 1700 + k**2 // 12})
    data = Dataset.from_arrays(frame, k % 2)
    for name, is_spread in (("year", True), ("founded", True), ("founded", False)):
        axes = Places(make_axis([data], name, is_spread), make_axis([shop], "age"))
        lay_out_axes(figure := framed(LIGHT), axes, LIGHT)
        across = figure.layout.xaxis
        assert across.tickformat == "~g" or "," not in "".join(across.ticktext)
        figure.add_scatter(x=axes.across.range, y=[20, 60], mode="markers")
        ticks = re.findall(r"<text[^>]*>([12][0-9.,]{3,})<", figure_svg(figure, "years"))
        assert len(ticks) > 3
        assert all(re.fullmatch(r"\d{4}", words) for words in ticks)
    assert across.dtick is None
    encoding, tree = fit_encoding("raw", data), Tree({}, {1: 0}, 2, 2, data.classes)
    words = plane_data(tree, encoding, data, "year", "founded").dots.x_words
    assert words[:2] == ("2016", "2017")


@pytest.mark.parametrize("axes", [("income", "gain"), ("plan", "income"), ("flag", "plan")])
@pytest.mark.parametrize("key", ["raw", "scaled"])
def test_regions_agree_with_routing_on_every_kind_of_axis(shop, axes, key):
    encoding = fit_encoding(key, shop)
    rng = np.random.default_rng(1)
    X = encoding.transform(shop.frame)
    splits = {}
    for node in (1, 2, 3):
        j = next(
            k for k in rng.permutation(len(encoding.columns)) if encoding.columns[k].raw in axes
        )
        splits[node] = Split.on_feature(int(j), float(np.unique(X[:, j])[:-1].max() / 2))
    tree = Tree(splits, {4: 0, 5: 1, 6: 0, 7: 1}, len(encoding.columns), 2, shop.classes)
    record = plane_data(tree, encoding, shop, *axes)
    width, height = np.diff(record.places.across.range)[0], np.diff(record.places.up.range)[0]
    assert sum(area(r.polygon) for r in record.regions) == pytest.approx(width * height)
    for x, y, leaf in zip(record.dots.x, record.dots.y, record.dots.leaf, strict=True):
        region = region_of(record.regions, (x, y))
        assert region is not None
        assert region.leaf == leaf


def test_oblique_lines_are_bent_and_units_unequal_on_a_spread_axis(shop):
    encoding = fit_encoding("scaled", shop)
    weights = np.zeros(len(encoding.columns))
    weights[[j for j, c in enumerate(encoding.columns) if c.raw in ("income", "age")]] = 1.0
    tree = Tree({1: Split.on_plane(weights, -0.5)}, {2: 0, 3: 1}, len(weights), 2, shop.classes)
    record = plane_data(tree, encoding, shop, "income", "age")
    slopes = {
        round((y2 - y1) / (x2 - x1), 6) for (x1, y1), (x2, y2) in record.lines[1].line if x1 != x2
    }
    assert len(slopes) > 10
    assert not has_equal_units(record)
    plain = Places(make_axis([shop], "income", False), make_axis([shop], "age", False))
    straight = plane_data(tree, encoding, shop, "income", "age", places=plain)
    assert len(straight.lines[1].line) == 1


def test_names_of_categories_and_values_are_in_the_picture(shop):
    encoding = fit_encoding("raw", shop)
    plan = next(j for j, c in enumerate(encoding.columns) if c.level == "plus")
    tree = Tree({1: Split.on_feature(plan)}, {2: 0, 3: 1}, len(encoding.columns), 2, shop.classes)
    assert default_axes(tree, encoding, shop) == ("income", "plan")
    record = plane_data(tree, encoding, shop, "income", "plan")
    figure = plane_figure(record, LIGHT)
    assert list(figure.layout.yaxis.ticktext) == ["basic", "plus", "pro"]
    assert figure.layout.xaxis.title.text == "income (logarithmic axis)"
    words = [
        row[3] for trace in figure.data if trace.customdata is not None for row in trace.customdata
    ]
    assert set(words) == {"basic", "plus", "pro"}
    assert "basic" in figure_svg(figure, "plane")
