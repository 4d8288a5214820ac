"""Runs side by side: table, heat map, accuracy, performance profile, report."""

from __future__ import annotations

import itertools
import re
import xml.etree.ElementTree as ElementTree
from dataclasses import replace
from html.parser import HTMLParser

import pandas as pd
import plotly.graph_objects as go
import pytest

from dashboard.views.compare.report import comparison_data
from octcore.bench.profiles import NOT_RUN, read_bench
from octcore.data.dataset import Dataset
from octcore.errors import DataError
from octcore.plotting.accuracy import spread_data, spread_figure
from octcore.plotting.bench_plot import panels, profile_figure
from octcore.plotting.feature_usage import heat_map_data, heat_map_figure, usage_data
from octcore.plotting.gap_plot import (
    Entrant,
    convergence_data,
    convergence_figure,
    race_data,
    race_figure,
)
from octcore.plotting.palette import CLASS_MARKERS, DARK, LIGHT
from octcore.plotting.plane_plot import plane_data, plane_figure
from octcore.plotting.thresholds import OpenColumn, open_figure
from octcore.reports.charts import figure_svg, round_numbers
from octcore.reports.run_report import report_html
from octcore.solving.solve import solve
from tests.unit.hostile import HOSTILE

HEADER = "suite,dataset,encoding,formulation,depth,parameters,status,objective,bound,gap,seconds"


@pytest.fixture
def runs(square: Dataset):
    settings = {"encoding": "QT-2", "time_limit": 20, "seed": 0}
    first = solve(square, "cart", depth=1, **settings)
    return first, solve(square, "cart", depth=2, **settings)


def test_table_shows_only_what_differs(runs):
    record = comparison_data(runs, ("shallow", "deep"))
    names = {fact.name for fact in record.differing}
    assert {"depth", "leaves", "accuracy, training"} <= names
    assert names.isdisjoint({fact.name for fact in record.in_common})
    assert "encoding" in {fact.name for fact in record.in_common}
    few, every = record.frame(), record.frame(only_differences=False)
    assert len(few) < len(every)
    assert list(few.columns) == ["", "fact", "shallow", "deep"]
    depth = few.set_index("fact").loc["depth"]
    assert (depth["shallow"], depth["deep"]) == ("1", "2")
    assert "mean cost" not in names


def test_costs_are_told_where_some_run_has_them(square: Dataset, runs):
    other = solve(square, "path-search", depth=1, encoding="QT-2", costs="ordinal")
    record = comparison_data([*runs[:1], other], ("errors", "costs"))
    assert "mean cost" in {fact.name for fact in record.facts}


def test_equal_names_of_runs_stay_apart(runs):
    assert len(set(comparison_data(runs, ("fact", "fact")).frame().columns)) == 4


def test_heat_map_puts_all_runs_on_the_same_rows(univariate, oblique):
    usages = [usage_data(tree, encoding) for tree, encoding, _ in (univariate, oblique)]
    record = heat_map_data(usages, ("Accelerated BendOCT", HOSTILE))
    assert set(record.features) == {"width", HOSTILE}
    for usage in record.usages:
        assert len(usage.shares) == len(record.features)
        for column in zip(*usage.shares, strict=True):
            assert sum(column) == pytest.approx(1.0)
    figure = heat_map_figure(record, LIGHT)
    assert len(figure.data) == 2
    assert figure.layout.annotations[0].text == "Accelerated<br>BendOCT"
    shown = " ".join(str(note.text) for note in figure.layout.annotations)
    assert "<img" not in shown + " ".join(figure.data[0].y)


def test_spread_has_every_split_and_the_mean(runs):
    record = spread_data([(runs[0].accuracy, value) for value in (0.5, 0.7, 0.9)], "a")
    assert record.held_out == (0.5, 0.7, 0.9)
    assert "70.0 % held out on average of 3, 50.0 % to 90.0 %" in record.words
    assert spread_data([(0.5, 0.25), (None, None)], "a").held_out == (0.25,)  # one has no tree
    figure = spread_figure([record], LIGHT)
    assert len(figure.layout.shapes) == 2
    assert figure.layout.xaxis.title.text == "accuracy"


def bench(*lines: str) -> bytes:
    return "\n".join([HEADER, *lines]).encode()


def profile_of(content, folder):
    path = folder / "bench.csv"
    path.write_bytes(content)
    return panels([cells for cells in read_bench(path) if cells["status"] not in NOT_RUN])


def test_profile_counts_proofs_on_common_instances(tmp_path):
    content = bench(
        "s,a,QT-5,fast,2,,optimal,1,1,0,0.5",
        "s,b,QT-5,fast,2,,optimal,1,1,0,2",
        "s,a,QT-5,slow,2,,optimal,1,1,0,9",
        "s,b,QT-5,slow,2,,feasible,1,2,0.25,60",
        "s,c,QT-5,slow,2,,optimal,1,1,0,1",
        "s,d,QT-5,slow,2,,missing,,,,",
    )
    record = profile_of(content, tmp_path)
    fast, slow = record.proven
    assert (fast.total, slow.total, record.n_left_out) == (2, 2, 1)
    assert (fast.x, fast.y) == ((0.5, 2.0), (1, 2))
    assert (slow.x, slow.y) == ((9.0,), (1,))
    assert (record.gaps[1].x, record.gaps[1].y) == ((0.0, 0.25), (1, 2))
    assert record.words.startswith("fast proves 2 of 2; slow proves 1 of 2.")
    figure = profile_figure(record, LIGHT)
    assert figure.data[0].y[-1] == 1.0
    assert figure.data[2].y[-1] == 0.5
    assert figure.data[3].y[-1] == 1.0


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (b"", "NOT_A_BENCH_FILE"),
        (b"\xff\xfe\x00", "NOT_A_BENCH_FILE"),
        (b"a,b\n1,2\n", "NOT_A_BENCH_FILE"),
        (bench(), "NOT_A_BENCH_FILE"),
        (bench("s,a,QT-5,fast"), "NOT_A_BENCH_FILE"),
        (bench("s,a,QT-5,fast,2,,optimal,1,1,0,soon"), "NOT_A_NUMBER"),
        (bench("s,a,QT-5,fast,2,,optimal,1,1,0,inf"), "NOT_A_NUMBER"),
    ],
)
def test_other_files_are_refused_in_a_sentence(content, code, tmp_path):
    with pytest.raises(DataError) as caught:
        profile_of(content, tmp_path)
    assert caught.value.code == code
    assert caught.value.message.endswith(".")


class Elements(HTMLParser):
    """Names of the elements and values of their attributes."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: list[tuple[str, str | None]] = []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.attributes += attrs


def test_report_is_self_contained_and_escapes_every_name(square):
    run = solve(square, "cart", encoding="QT-2", depth=2, time_limit=20)
    page = report_html(run, HOSTILE)
    found = Elements(page)
    assert found.tags.isdisjoint({"img", "a", "link", "iframe"})
    assert not any(name.startswith("on") for name, _ in found.attributes)
    addresses = [v for n, v in found.attributes if n in {"src", "href"} and v]
    assert addresses == []
    assert page.count("<svg") == 3
    assert "&lt;img src=x" in page
    assert "Heuristic" in page
    for heading in ("Tree", "Plane", "Convergence", "Rules", "Certificate", "Settings and data"):
        assert f"<h2>{heading}</h2>" in page


def test_report_without_a_tree_or_a_plane_is_still_a_report(square):
    run = solve(square, "cart", encoding="QT-2", depth=1, time_limit=20)
    assert "There is no tree" in report_html(replace(run, tree=None), "none")
    flat = Dataset.from_arrays(pd.DataFrame({"x": [0, 1] * 6}), ["a", "b"] * 6, name="one column")
    assert "<h2>Plane</h2>" not in report_html(solve(flat, "cart", depth=1), "flat")


def test_static_charts_are_well_formed(oblique, trace):
    tree, encoding, data = oblique
    plane = plane_data(tree, encoding, data, "width", HOSTILE)
    gaps = convergence_data(trace, HOSTILE, closed=True)
    race = race_data((Entrant(HOSTILE, trace, "accuracy", proven=0.9),), "objective")
    for figure in (
        plane_figure(plane, LIGHT, selected=0),
        convergence_figure(gaps, LIGHT),
        convergence_figure(gaps, LIGHT, absolute=True),
        race_figure(race, LIGHT),
    ):
        picture = figure_svg(figure, HOSTILE)
        root = ElementTree.fromstring(picture)
        assert root.tag.endswith("svg")
        assert len(list(root.iter())) > 10
        assert "&amp;lt;" not in picture  # what plotly reads as HTML is text again
        assert re.search(r'<clipPath id="(\w+)">.*url\(#\1\)', picture, re.DOTALL)
    empty = convergence_data(type(trace)(()))
    assert figure_svg(convergence_figure(empty, LIGHT), "") == ""


def test_static_marks_of_classes_differ_as_the_marks_of_plotly_do():
    figure = go.Figure()
    own = [{"size": 10, "symbol": symbol, "color": "#000000"} for symbol in CLASS_MARKERS]
    for mark in own:
        figure.add_scatter(x=[0, 1], y=[0, 1], mode="markers", marker=mark, showlegend=False)
    figure.update_layout(height=300, xaxis={"gridcolor": "#eee"}, yaxis={"gridcolor": "#eee"})
    figure.update_layout(font={"color": "#000000"})
    drawn = re.findall(r"<(?:circle|polygon).*?/>", figure_svg(figure, "marks"))
    assert len(set(drawn)) == 2 * len(CLASS_MARKERS)


def test_static_steps_stand_where_the_numbers_are(trace):
    figure = convergence_figure(convergence_data(trace, closed=True), LIGHT)
    root = ElementTree.fromstring(figure_svg(figure, "gap"))
    texts = {t.text: t for t in root.iter("{http://www.w3.org/2000/svg}text")}
    floor = float(texts["0 (proven)"].attrib["y"]) - 4
    line = next(p for p in root.iter("{http://www.w3.org/2000/svg}path")
                if p.attrib.get("stroke") == LIGHT.incumbent)  # fmt: skip
    corners = [tuple(map(float, c.split(","))) for c in line.attrib["d"][1:].split(" L")]
    assert corners[-1][1] == pytest.approx(floor, abs=0.2)
    turns = [(b[0] - a[0]) * (b[1] - a[1]) for a, b in itertools.pairwise(corners)]
    assert not any(turns)  # along, then up or down: never both


def test_open_parts_are_drawn_where_they_are():
    record = (
        OpenColumn("a <b>", ((0.1, 0.3), (0.5, 0.5)), 0.2, "0.1 to 0.3, 0.5"),
        OpenColumn("c", ((0.0, 1.0),), None, "all"),
    )
    root = ElementTree.fromstring(figure_svg(open_figure(record, DARK), "open", 700))
    paths = {p.attrib["stroke"]: p.attrib["d"] for p in root.iter() if p.tag.endswith("path")}
    assert set(paths) == {DARK.grid, DARK.incumbent, DARK.text}
    whole, spans, (best,) = (
        [[float(c.split(",")[0]) for c in piece.split(" L")] for piece in path[1:].split(" M")]
        for path in paths.values()
    )
    (start, end), *_ = whole
    shares = [(x - start) / (end - start) for piece in (*spans, best) for x in piece]
    assert shares == pytest.approx([0.1, 0.3, 0.5, 0.506, 0.0, 1.0, 0.2, 0.2], abs=1e-3)
    words = [t.text for t in root.iter() if t.tag.endswith("text")]
    assert {"a <b>", "c"} <= set(words)


def test_ticks_are_round_and_inside():
    assert round_numbers(0.0, 1.0) == pytest.approx([0.0, 0.2, 0.4, 0.6, 0.8, 1.0])
    assert all(-3.0 <= t <= 7.0 for t in round_numbers(-3.0, 7.0))
    assert len(round_numbers(5.0, 5.0)) <= 7
