import itertools
import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from plotly.colors import hex_to_rgb, sample_colorscale

from octcore.data.dataset import Dataset
from octcore.encoding.fit import fit_encoding
from octcore.plotting import text
from octcore.plotting.accuracy import Confusion, confusion_data, confusion_figure
from octcore.plotting.alternatives import sunburst_figure
from octcore.plotting.feature_usage import usage_data, usage_figure
from octcore.plotting.palette import CLASS_MARKERS, DARK, LIGHT, ink_on, palette_for, translucent
from octcore.plotting.rows_plot import (
    MOST_LEVELS,
    class_bars,
    class_bars_figure,
    encoding_plot_data,
    encoding_plot_figure,
)
from octcore.plotting.tree_view import (
    beside,
    component_data,
    node_histograms,
    tree_view_data,
    with_spans,
)
from octcore.selection.alternatives import Alternative
from octcore.tree.tree import Split, Tree
from tests.unit.hostile import HOSTILE


def test_usage_of_a_univariate_tree_is_one_feature_a_node(univariate):
    tree, encoding, _ = univariate
    record = usage_data(tree, encoding)
    assert record.nodes == (1, 2, 3)
    assert record.features == (HOSTILE, "width")
    assert record.shares == ((0.0, 1.0, 1.0), (1.0, 0.0, 0.0))
    figure = usage_figure(record, LIGHT, selected=2)
    assert figure.layout.shapes[0].x0 == 0.5
    assert "<img" not in str(figure.data[0].y)


def test_usage_of_an_oblique_tree_is_its_share_of_weight(oblique):
    tree, encoding, _ = oblique
    record = usage_data(tree, encoding)
    shares = dict(zip(record.features, record.shares, strict=True))
    assert shares["width"] == pytest.approx((1.0, 0.0, 0.2))
    assert shares[HOSTILE] == pytest.approx((0.0, 1.0, 0.8))
    cells = dict(zip(record.features, usage_figure(record, DARK).data[0].text, strict=True))
    assert list(cells["width"]) == ["✓", "", "20"]
    assert list(cells[HOSTILE]) == ["", "✓", "80"]


def test_confusion_counts_by_routing(univariate):
    tree, encoding, data = univariate
    wrong = tree.with_labels({4: tree.labels[5]})
    record = confusion_data(wrong, encoding, data)
    assert record.n_errors == 3
    assert sum(map(sum, record.counts)) == data.n_samples
    no = data.classes.index("no")
    assert record.counts[no][no] == pytest.approx(0.5 * sum(record.counts[no]))
    figure = confusion_figure(record, LIGHT)
    assert figure.layout.xaxis.title.text == "predicted class"
    assert {a.text for a in figure.layout.annotations} == {"3", "6", "·"}
    large = replace(record, counts=((1234, 0), (1, 2)))
    assert confusion_figure(large, LIGHT).layout.annotations[0].text == "1,234"


def luminance(colour: str) -> float:
    """As WCAG has it, of a colour in hexadecimal or as plotly writes it."""
    if colour.startswith("#"):
        colour = "rgb" + str(hex_to_rgb(colour))
    channels = [float(part) / 255 for part in re.findall(r"[\d.]+", colour)]
    linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return float(np.dot(linear, (0.2126, 0.7152, 0.0722)))


@pytest.mark.parametrize("palette", [LIGHT, DARK], ids=["light", "dark"])
def test_every_count_of_a_confusion_is_read_on_its_colour(palette):
    for wrong in range(0, 101, 5):
        counts = ((100 - wrong, wrong), (wrong, 100 - wrong))
        figure = confusion_figure(Confusion(("a", "b"), counts), palette)
        heat = figure.data[0]
        for cell, place in zip(figure.layout.annotations, np.ravel(heat.z) / 2 + 0.5, strict=True):
            ground = sample_colorscale([list(step) for step in heat.colorscale], float(place))[0]
            low, high = sorted((luminance(ground), luminance(cell.font.color)))
            assert (high + 0.05) / (low + 0.05) > 4, (wrong, cell.text)


@pytest.mark.parametrize("given", [(0,), tuple(range(40))])
def test_confusion_of_many_classes_keeps_those_that_the_tree_gives(given):
    y = np.repeat(np.arange(130), np.arange(1, 131))
    data = Dataset.from_arrays(np.arange(len(y))[:, None].astype(float), y)
    encoding = fit_encoding("raw", data)
    n = len(given)
    splits = {m: Split(((0, 1.0),), float(100 * m)) for m in range(1, n)}
    labels = {n + k: given[k] for k in range(n)}
    tree = Tree(splits, labels, 1, 130, data.classes)
    record = confusion_data(tree, encoding, data)
    codes = tree.predict_codes(encoding.transform(data.frame))
    assert record.n_errors == int((codes != y).sum())
    assert sum(map(sum, record.counts)) == len(y)
    assert len(record.classes) == len(record.counts[0]) <= n + 16
    assert {data.classes[k] for k in codes} < set(record.classes)
    assert record.classes[-1] == f"{130 - len(record.classes) + 1} others"
    assert {row[-1] for row in record.counts} == {0}
    assert len(confusion_figure(record, LIGHT).layout.annotations) == len(record.classes) ** 2


def test_encoding_plot_shows_every_threshold_in_raw_units():
    rng = np.random.default_rng(1)
    data = Dataset.from_arrays(rng.normal(50, 10, (200, 1)), rng.integers(0, 3, 200))
    encoding = fit_encoding("QT-5", data)
    record = encoding_plot_data(data, encoding, "x0")
    assert record.thresholds == tuple(sorted(c.lower for c in encoding.columns))
    assert record.n_encoded == 4
    assert sum(map(sum, record.counts)) == 200
    figure = encoding_plot_figure(record, LIGHT)
    assert len(figure.data) == 3
    assert len(figure.layout.shapes) == 4
    assert figure.layout.yaxis.title.text == "rows"


def test_encoding_plot_of_buckets_has_no_infinite_ends():
    data = Dataset.from_arrays(np.arange(40.0)[:, None], np.arange(40) % 2)
    record = encoding_plot_data(data, fit_encoding("QB-4", data), "x0")
    assert len(record.thresholds) == 3
    assert np.isfinite(record.thresholds).all()


def test_encoding_plot_of_levels_keeps_the_frequent_ones():
    levels = np.array([f"l{i}" for i in range(MOST_LEVELS + 5)])
    column = np.concatenate([np.repeat(levels[:3], 10), levels])
    data = Dataset.from_arrays(column[:, None].astype(object), np.arange(len(column)) % 2)
    record = encoding_plot_data(data, None, "x0")
    assert len(record.levels) == MOST_LEVELS
    assert {"l0", "l1", "l2"} <= set(record.levels)
    assert encoding_plot_figure(record, DARK).layout.xaxis.type == "category"


def test_tree_view_counts_rows_and_words_nodes(univariate, oblique):
    tree, encoding, data = univariate
    view = tree_view_data(tree, encoding, data, "proven optimal by mip", True)
    root = view.nodes[0]
    assert (root.node, root.n_samples, root.leaf_class) == (1, 12, None)
    assert root.detail == "12 rows"
    assert root.words.startswith("width ")
    assert tree_view_data(*oblique, "b", False).nodes[0].detail == "12 rows · margin 0.5"
    tree, encoding, data = oblique
    falling = replace(tree, splits={**tree.splits, 1: Split.on_plane([-1.0, 4.0], 0.5)})
    assert tree_view_data(falling, encoding, data, "b", False).nodes[0].words.startswith("−")
    leaf = next(node for node in view.nodes if node.node == 4)
    assert leaf.detail == "3 rows · 100 % right"
    assert leaf.label.startswith("node 4, leaf: no")


def test_component_data_is_plain_and_keeps_hostile_text_as_text(univariate):
    tree, encoding, data = univariate
    view = tree_view_data(tree, encoding, data, "b", False)
    plain = component_data(view, LIGHT, "token", 1)
    import json

    assert json.loads(json.dumps(plain)) == plain
    assert {c["marker"] for c in plain["classes"]} <= set(CLASS_MARKERS)
    assert {HOSTILE} < {node["words"] for node in plain["nodes"]}
    assert any(node["words"].startswith("<img") for node in plain["nodes"] if node["id"] < 4)
    assert plain["total"] == 12


def test_nodes_that_differ_are_marked_in_words_and_by_their_frame(univariate):
    view = tree_view_data(*univariate, "b", False)
    nodes = component_data(view, LIGHT, "token", marked={2})["nodes"]
    assert {node["id"] for node in nodes if node["mark"]} == {2}
    (own,) = (node for node in nodes if node["mark"])
    assert own["detail"].startswith("≠ ")
    assert own["label"].startswith("differs: node 2")


def test_branch_nodes_show_their_rows_with_the_threshold(univariate, oblique):
    tree, encoding, data = univariate
    found = node_histograms(tree, encoding, data)
    assert set(found) == set(tree.splits)
    for node, rows in tree.node_rows(encoding.transform(data.frame)).items():
        if node in found:
            assert np.sum(found[node].counts) == len(rows)
            assert all(0 < cut < 1 for cut in found[node].cuts)
            assert found[node].band is None
    tree, encoding, data = oblique
    low, high = node_histograms(tree, encoding, data)[2].band
    assert low < high


def test_how_far_a_threshold_may_move_is_a_band_around_it(univariate):
    tree, encoding, data = univariate
    view = tree_view_data(tree, encoding, data, "b", False)
    plain = {n.node: n.histogram for n in view.nodes if n.histogram}
    low, high = plain[1].ends
    spans = {1: (low - 1.0, low + (high - low) / 2)}
    shown = {n.node: n.histogram for n in with_spans(view, spans).nodes if n.histogram}
    assert shown[1].band == (0.0, 0.5)  # what lies outside of the picture ends at its edge
    assert {k: v for k, v in shown.items() if k > 1} == {k: v for k, v in plain.items() if k > 1}


def test_questions_about_levels_have_no_histogram():
    frame = pd.DataFrame({"island": ["Dream", "Biscoe", "Torgersen"] * 4})
    data = Dataset.from_arrays(frame, [0, 1, 1] * 4)
    encoding = fit_encoding("one-hot", data)
    tree = Tree({1: Split.on_feature(0)}, {2: 0, 3: 1}, len(encoding.columns), 2)
    assert node_histograms(tree, encoding, data) == {}


def test_trees_beside_each_other_share_boxes_and_scale(univariate, oblique):
    views = [tree_view_data(*case, "b", False) for case in (univariate, oblique)]
    shared = beside(views)
    assert (shared["leaves"], shared["levels"]) == (4, 3)
    assert {node.words for view in views for node in view.nodes} < set(shared["texts"])


def test_class_bars_keep_equal_names_apart():
    record = class_bars(("a" * 60, "a" * 60 + "b", "c"), (1, 2, 3))
    figure = class_bars_figure(record, LIGHT)
    assert len(set(figure.data[0].y)) == 3
    # What stands beside the bars has its place however narrow the chart is.
    assert figure.layout.margin.r > 6 * max(map(len, figure.data[0].text))


def perceived(colour: str) -> np.ndarray:
    """CIE L*a*b* of a colour under daylight."""
    channels = np.array([int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)])
    linear = np.where(channels > 0.04045, ((channels + 0.055) / 1.055) ** 2.4, channels / 12.92)
    xyz = np.array([[0.434, 0.376, 0.190], [0.213, 0.715, 0.072], [0.018, 0.109, 0.873]]) @ linear
    x, y, z = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


def test_a_dozen_classes_are_told_apart_by_colour_and_many_more_by_colour_and_mark():
    colours = [perceived(LIGHT.class_colour(k)) for k in (-1, *range(12))]
    distances = [np.linalg.norm(a - b) for a, b in itertools.combinations(colours, 2)]
    assert min(distances) > 20  # 2 can be noticed
    looks = {(DARK.class_colour(k), DARK.class_marker(k)) for k in range(130)}
    assert len(looks) == 130


def test_palette_is_stable_and_readable():
    assert palette_for("dark") is DARK
    assert palette_for(None) is LIGHT
    assert LIGHT.class_colour(1) == DARK.class_colour(1)
    assert translucent("#0072B2", 0.5) == "rgba(0,114,178,0.5)"
    assert ink_on("#F0E442") == "#14181f"
    assert ink_on("#0072B2") == "#ffffff"


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("a*b_c", r"a\*b\_c"),
        ("$x$", r"\$x\$"),
        ("[a](javascript:x)", r"\[a\]\(javascript\:x\)"),
        (":material/bolt:", r"\:material/bolt\:"),
        ("a\nb\u202ec", "a\N{REPLACEMENT CHARACTER}b\N{REPLACEMENT CHARACTER}c"),
    ],
)
def test_markdown_is_escaped(given, expected):
    assert text.markdown(given) == expected


@pytest.mark.parametrize("given", ["https://evil.example/x", "www.evil.example", "a@evil.example"])
def test_markdown_makes_no_links_by_itself(given):
    assert "\N{WORD JOINER}" in text.markdown(given)


def test_plotly_text_is_escaped_and_cut():
    assert text.plotly("<b>&") == "&lt;b&gt;&amp;"
    assert text.plotly("x" * 50, 10) == "xxxxx…xxxx"
    assert text.plotly("\N{MINUS SIGN}2.5 x1 ≥ 1") == "\N{MINUS SIGN}2.5 x1 ≥ 1"


def test_numbers_are_short():
    assert text.number(None) == "–"
    assert text.number(0.123456) == "0.1235"
    assert text.value(["petal width (cm)", 2.0]) == "petal width (cm), 2"
    assert text.value({"setosa": 0.5, "other": True}) == "setosa: 0.5, other: on"
    assert text.percent(0.945) == "94.5 %"
    assert [text.percent(v, 0) for v in (0, 0.004, 0.5, 0.9996, 1)] == [
        "0 %",
        "0.4 %",
        "50 %",
        "99.96 %",
        "100 %",
    ]
    assert text.gap(0.0) == "0 %"
    assert text.gap(0.1234) == "12 %"
    assert (text.gap(1.0), text.gap(5.2), text.gap(0.00012)) == ("100 %", "520 %", "0.012 %")
    assert text.seconds(0.04) == "40 ms"
    assert text.seconds(65.2) == "1 min 05 s"
    assert text.count(1, "row") == "1 row"
    assert text.count(1200, "class") == "1,200 classes"
    assert text.objective("accuracy - leaf_penalty x leaves") == "accuracy − leaf penalty × leaves"
    assert text.words("a <= 2") == "a ≤ 2"


def test_levels_of_long_numbers_are_counted_apart():
    data = Dataset.from_arrays(pd.DataFrame({"t": [1234567.0, 1234568.0, 1234568.0]}), [*"aab"])
    record = encoding_plot_data(data, None, "t")
    assert record.levels == ("1234567", "1234568")
    assert [sum(column) for column in zip(*record.counts, strict=True)] == [1, 2]


def test_a_sector_stands_for_the_trees_that_begin_alike(univariate):
    tree, encoding, _ = univariate
    trees = [
        Alternative(t, 0.0, 0.0, None, None, (), ()) for t in (tree, tree, tree.collapse(3, 0))
    ]
    drawn = sunburst_figure(trees, encoding, LIGHT).data[0]
    sectors = zip(drawn.parents, drawn.values, drawn.customdata, strict=True)
    assert [(not parent, *told) for parent, *told in sectors] == [
        (True, 3, "3 trees"), (False, 2, "2 trees"), (False, 1, "1 tree"),
    ]  # fmt: skip
