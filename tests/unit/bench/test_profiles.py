"""Our figures beside those of the papers, and the names of curves."""

from __future__ import annotations

import pytest

from octcore.bench.profiles import curve_name, parse_bench
from octcore.bench.suite import COLUMNS
from octcore.errors import DataError
from octcore.plotting.bench_plot import (
    MOST_ROWS,
    Pair,
    published_data,
    published_figure,
    root_bound_figure,
    root_bounds,
)
from octcore.plotting.palette import LIGHT

BLANK = dict.fromkeys(COLUMNS, "")


def test_a_figure_that_is_no_number_is_refused():
    row = {**BLANK, "dataset": "iris", "reference_seconds": "twelve"}
    content = f"{','.join(row)}\n{','.join(row.values())}\n".encode()
    with pytest.raises(DataError, match="Line 2 has 'twelve' as reference_seconds"):
        parse_bench(content)


def test_repetitions_of_a_data_set_are_averaged():
    lines = [
        {**BLANK, "dataset": "Wine", "encoding": "auto", "depth": "2",
         "formulation": "svm1-odt", "test_accuracy": ours, "reference_accuracy": "0.95"}
        for ours in ("0.9", "1.0", "")
    ]  # fmt: skip
    (pair,) = published_data(lines, "accuracy")
    assert (pair.name, pair.ours, pair.published) == ("Wine D=2", pytest.approx(0.95), 0.95)
    figure = published_figure((pair,), "accuracy", LIGHT)
    assert [trace.name for trace in figure.data if trace.mode == "markers"] == ["ours", "published"]


def test_root_bounds_are_distances_from_the_known_optimum():
    lines = [
        {**BLANK, "dataset": name, "encoding": "none", "depth": "2", "formulation": model,
         "parameters": "leaf_penalty=0.01", "root_bound": bound, "reference_objective": "0.8"}
        for name, model, bound in (
            ("a", "flow-oct", "0.88"), ("a", "bend-oct", "0.84"), ("b", "flow-oct", ""),
            ("b", "bend-oct", "0.8"),
        )
    ]  # fmt: skip
    record = root_bounds(lines)
    assert record is not None
    assert (record.models, record.instances) == (("flow-oct", "bend-oct"), ("a D=2", "b D=2"))
    assert record.gaps[0] == (pytest.approx(0.1), pytest.approx(0.05))
    assert record.gaps[1] == (None, 0.0)
    assert record.words.startswith("Mean over 1 instances with all bounds: flow-oct 10.0 %")
    assert root_bound_figure(record, LIGHT).data[0].text[0] == ["10.0 %", "5.0 %"]
    assert root_bounds([{**BLANK, "dataset": "a"}]) is None


def test_many_pairs_are_drawn_against_each_other():
    pairs = tuple(Pair(f"set {k}", "flow-oct", 0.5, 0.6) for k in range(MOST_ROWS + 1))
    diagonal, marks = published_figure(pairs, "seconds", LIGHT).data
    assert len(marks.x) == len(pairs)
    assert (diagonal.x, marks.x[0], marks.y[0]) == ((0.5, 0.6), 0.6, 0.5)


def test_a_limit_on_groups_of_one_data_set_names_no_curve():
    words = "leaf_penalty=0.01 statistical_parity={'attribute':'a','max_gap':0.1}"
    cells = {"formulation": "path-columns", "parameters": words}
    assert curve_name(cells) == "path-columns"
    assert curve_name({**cells, "parameters": "no cuts cuts=off"}) == "path-columns no cuts"
