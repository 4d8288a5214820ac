"""One report of several bench files."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from octcore.bench.profiles import curve_name
from octcore.bench.suite import COLUMNS, Line
from octcore.cli import main
from octcore.plotting.bench_plot import (
    MOST_ROWS,
    Pair,
    published_data,
    published_figure,
    root_bound_figure,
    root_bounds,
)
from octcore.plotting.palette import LIGHT

CLOSED = Line(
    "s-oct", "iris", "auto", "s-oct", 2, "cuts=benders-last-1", "optimal", 149.0, 149.0, 0.0, 4.0,
    reference_objective=149.0, reference_seconds=12.0, root_bound=150.0, limit=30.0, load=0.5,
    machine="2 cores of a <processor>",
)  # fmt: skip
HELD_OUT = Line(
    "svm1-odt", "Wine", "auto", "svm1-odt", 2, "repeat=0", "feasible", 3.0, None, None, 8.0,
    test_accuracy=0.98, reference_accuracy=0.95, limit=8.0, load=2.0,
)  # fmt: skip
MISSING = Line("s-oct", "wine", "auto", "oct-h", 2, "", "missing", note="not | installed")


def write(path, lines):
    with path.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.DictWriter(stream, COLUMNS)
        writer.writeheader()
        writer.writerows(line.cells() for line in lines)
    return str(path)


def test_files_of_several_suites_become_one_report(tmp_path, capsys):
    first = write(tmp_path / "a.csv", [CLOSED, MISSING])
    second = write(tmp_path / "b.csv", [HELD_OUT])
    assert main(["bench", "report", first, second, "--output", str(tmp_path / "out")]) == 0
    assert capsys.readouterr().out.split() == [str(tmp_path / f"out.{x}") for x in ("html", "md")]
    text = (tmp_path / "out.md").read_text(encoding="utf-8")
    assert "S-OCT, solver comparison" in text
    assert "Load when solves began: 0.5 to 0.5." in text
    assert "Limit: 30 s." in text
    assert "s-oct cuts=benders-last-1 proves 1 of 1." in text
    assert "1 lines did not run" in text
    assert "Mean test accuracy: 0.980, published 0.950." in text
    assert "| iris | auto | s-oct | 2 | cuts=benders-last-1 | optimal | 149 | 149 | 0 |" in text
    assert "not \\| installed" in text
    page = (tmp_path / "out.html").read_text(encoding="utf-8")
    assert "2 cores of a &lt;processor&gt;" in page
    assert page.count("plotly.js v") == 1  # one script for all pictures
    assert "Distance of the root bound from the optimum" in page
    assert "| s-oct cuts=benders-last-1 | 2 | 1 of 1 | 4 | 12 |" in text


def test_report_refuses_in_one_sentence(tmp_path, capsys):
    file = write(tmp_path / "a.csv", [CLOSED])
    for arguments in (["report"], ["report", file], ["s-oct", file]):
        assert main(["bench", *arguments]) != 0
        assert len(capsys.readouterr().err.strip().splitlines()) == 1


def test_a_figure_that_is_no_number_is_refused(tmp_path, capsys):
    file = write(tmp_path / "a.csv", [CLOSED])
    broken = Path(file).read_text(encoding="utf-8").replace("12.0", "twelve")
    Path(file).write_text(broken, encoding="utf-8")
    assert main(["bench", "report", file, "--output", str(tmp_path / "out")]) == 2
    assert f"Line 2 of {file} has 'twelve' as reference_seconds" in capsys.readouterr().err


def test_repetitions_of_a_data_set_are_averaged():
    lines = [
        {**dict.fromkeys(COLUMNS, ""), "dataset": "Wine", "encoding": "auto", "depth": "2",
         "formulation": "svm1-odt", "test_accuracy": ours, "reference_accuracy": "0.95"}
        for ours in ("0.9", "1.0", "")
    ]  # fmt: skip
    (pair,) = published_data(lines, "accuracy")
    assert (pair.name, pair.ours, pair.published) == ("Wine D=2", pytest.approx(0.95), 0.95)
    figure = published_figure((pair,), "accuracy", LIGHT)
    assert [trace.name for trace in figure.data if trace.mode == "markers"] == ["ours", "published"]


def test_root_bounds_are_distances_from_the_known_optimum():
    blank = dict.fromkeys(COLUMNS, "")
    lines = [
        {**blank, "dataset": name, "encoding": "none", "depth": "2", "formulation": model,
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
    assert root_bound_figure(record, LIGHT).data[0].text[0] == ["10.0 %", "5.0 %"]
    assert root_bounds([{**blank, "dataset": "a"}]) is None


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
