"""What a notebook shows of runs, trees and data sets, and the figures of `octcore.plotting`."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from xml.etree import ElementTree

import pandas as pd
import plotly.graph_objects as go
import pytest

import octcore
from octcore import plotting
from octcore.cli import main
from octcore.data.dataset import Dataset
from octcore.errors import DataError, ModelFileError, SettingsError
from octcore.solving.run import Run

HOSTILE = '<script>alert(1)</script>&"'


@pytest.fixture(scope="module")
def run() -> Run:
    return octcore.solve(
        octcore.load_sample("iris"), "path-search", depth=2, params={"leaf_penalty": 0.03}
    )


@pytest.fixture(scope="module")
def hostile() -> Run:
    frame = pd.DataFrame({HOSTILE: [0.0, 1.0, 2.0, 3.0] * 3, "b": range(12)})
    data = Dataset.from_arrays(frame, ["x", HOSTILE, HOSTILE, "x"] * 3, name=HOSTILE)
    return octcore.solve(data, "threshold-search", depth=2, params={"leaf_penalty": 0.0})


def test_a_run_says_in_one_line_what_is_proven(run: Run) -> None:
    assert repr(run) == (
        f"<Run path-search: {run.certificate.badge}, 4 leaves, accuracy {run.accuracy:.2%}, "
        "gap 0.00%>"
    )
    assert repr(run.tree) == "<Tree: 4 leaves, 3 splits, depth 2>"
    assert repr(run.train) == "<Dataset iris: 150 rows, 4 features, 3 classes>"


@pytest.mark.slow
def test_printing_a_run_says_what_the_command_line_says(
    run: Run, capsys: pytest.CaptureFixture[str], tmp_path: object
) -> None:
    octcore.load_sample("iris")
    assert main(["samples", "iris", "--output", f"{tmp_path}/iris.csv"]) == 0
    capsys.readouterr()
    words = ["--target", "species", "--formulation", "path-search", "--param", "leaf_penalty=0.03"]
    assert main(["solve", f"{tmp_path}/iris.csv", *words]) == 0
    said = capsys.readouterr().out

    def without_times(shown: str) -> list[str]:
        timed = ("seconds", "- verified independently in")
        return [line for line in shown.splitlines() if not line.startswith(timed)]

    assert without_times(said) == without_times(str(run) + "\n")


def test_html_is_well_formed_and_escapes_what_users_wrote(hostile: Run, run: Run) -> None:
    for shown in (run._repr_html_(), hostile._repr_html_()):
        root = ElementTree.fromstring(shown)
        assert root.find(".//{http://www.w3.org/2000/svg}svg") is not None
    assert hostile.tree is not None
    assert hostile.train is not None
    pages = [x._repr_html_() for x in (hostile, hostile.tree, hostile.train)]
    assert all("<script>" not in page for page in pages)
    assert all("&lt;script&gt;" in page for page in pages)
    assert run.certificate.badge in run._repr_html_()
    assert f"{run.accuracy:.2%}" in run._repr_html_()
    assert "rows in a box: setosa / versicolor / virginica" in run._repr_html_()


def test_the_table_of_a_data_set_names_its_findings() -> None:
    data = octcore.read_csv(b"a,b,y\n1,x,p\n2,y,q\n3,?,p\n4,x,q\n", target="y")
    shown = data._repr_html_()
    assert data.findings
    assert all(finding.severity in shown for finding in data.findings)
    assert "<td>categorical</td>" in shown or "<td>binary</td>" in shown


def test_rules_and_explanations_need_no_deep_imports(run: Run) -> None:
    assert run.train is not None
    found = run.rules()
    assert len(found) == 4
    assert sum(rule.n_samples or 0 for rule in found) == 150
    row = run.train.frame.iloc[0]
    for asked in (row, row.to_dict(), run.train.frame.head(1)):
        rule = run.explain(asked)
        assert rule.label == run.predict(run.train.frame.head(1))[0]
        assert str(rule).startswith("IF petal")
    with pytest.raises(DataError, match="One row"):
        run.explain(run.train.frame.head(2))
    with pytest.raises(DataError):
        run.explain({"petal length": 1.0})
    empty = replace(run, tree=None)
    for ask in (Run.rules, plotting.tree, plotting.plane, plotting.features):
        with pytest.raises(ModelFileError, match="no tree"):
            ask(empty)
    assert "no tree" in repr(empty)
    assert "<svg" not in empty._repr_html_()


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_every_figure_is_a_plotly_figure_with_something_in_it(run: Run, theme: str) -> None:
    assert run.train is not None
    other = octcore.solve(run.train, "cart", depth=2)
    path = octcore.penalty_path(run.train, depth=2)
    figures = [
        plotting.tree(run, theme=theme),
        plotting.gap(run, theme=theme),
        plotting.gap(run, absolute=True, theme=theme),
        plotting.plane(run, theme=theme),
        plotting.plane(run, "sepal length (cm)", "sepal width (cm)", theme=theme),
        plotting.features(run, theme=theme),
        plotting.compare([run, other], theme=theme),
        plotting.compare([run, other], scale="objective", theme=theme),
        plotting.size_path(path, theme=theme),
        plotting.size_path({"a": path, "b": path}, theme=theme),
    ]
    for figure in figures:
        assert isinstance(figure, go.Figure)
        assert len(figure.data) > 0
        assert figure.to_json()


def test_the_tree_figure_shows_every_node_in_words(run: Run, hostile: Run) -> None:
    assert run.tree is not None
    shown = [str(note.text) for note in plotting.tree(run).layout.annotations]
    boxes = [text for text in shown if text not in {"yes", "no"}]
    assert len(boxes) == len(run.tree.nodes)
    assert len(shown) - len(boxes) == len(run.tree.nodes) - 1
    assert sum("(cm)" in text for text in boxes) == run.tree.n_splits
    assert "<script>" not in str(plotting.tree(hostile).to_dict())


def test_the_target_is_no_axis_of_a_plane(run: Run) -> None:
    with pytest.raises(SettingsError, match="cannot be an axis"):
        plotting.plane(run, "species")
    with pytest.raises(SettingsError, match="choose two columns"):
        plotting.plane(run, "sepal width (cm)", "sepal width (cm)")


@pytest.mark.long
def test_figures_load_plotly_only_when_asked_for() -> None:
    code = (
        "import sys, octcore, octcore.plotting\n"
        "heavy = {'plotly', 'streamlit', 'pyomo', 'sklearn', 'numba'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
        "octcore.plotting.tree\n"
        "assert 'plotly' in sys.modules and 'streamlit' not in sys.modules\n"
        "import octcore.plotting.gap_plot\n"
        "assert callable(octcore.plotting.gap)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)
