"""Hostile names in exports, guarded cells, nothing executable loaded, settings of the server."""

from __future__ import annotations

import ast
import csv
import io
import json
import os
import re
import subprocess
import sys
import tomllib
import uuid
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dashboard
import octcore
from octcore import cli
from octcore.data.dataset import Dataset
from octcore.data.export import frame_to_csv, guard_cell
from octcore.errors import SettingsError
from octcore.solving.report import EXPORTS, export_file, run_report
from octcore.solving.run import Run
from octcore.store.models import model_to_dict
from octcore.store.runs import RunStore
from octcore.tree.export.drawings import to_graphviz, to_svg, to_text
from octcore.tree.export.pmml import NO_XML

ROOT = Path(octcore.__file__).parents[1]
HOSTILE = (
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    '"><svg onload=alert(1)>',
    "[link](javascript:alert(1))",
    "![i](http://evil.example/x.png)",
    r"$\href{javascript:alert(1)}{x}$",
    '"]; 9 -> 1 [URL="javascript:alert(1)',
    "<<b>bold</b>>",
    "back\\",
    '\\"] evil [label="x',
    "]]><!-- -->",
    "&lt;b&gt; &amp; &#39;",
    '=HYPERLINK("http://evil.example")',
    "\x1b[31mred\x1b[0m",
    "{{7*7}} ${7*7} %s %n",
)


@pytest.fixture(scope="module", params=HOSTILE)
def run(request: pytest.FixtureRequest) -> Run:
    """A greedy run whose columns and classes are all called so."""
    text = request.param
    rng = np.random.default_rng(2)
    frame = pd.DataFrame({text: rng.normal(size=40), f"{text} 2": rng.normal(size=40)})
    y = [f"{text} a" if a > 0 else f"{text} b" for a in frame[text] * frame[f"{text} 2"]]
    model = octcore.OptimalTreeClassifier("cart", max_depth=2).fit(frame, y)
    return model.run_


def _arrays(run: Run) -> tuple[np.ndarray, np.ndarray]:
    assert run.train is not None
    assert run.train.y is not None
    return run.encoding.transform(run.train.frame), run.train.y


def test_svg_holds_names_as_text_only(run: Run) -> None:
    assert run.tree is not None
    root = ElementTree.fromstring(to_svg(run.tree, run.encoding, *_arrays(run)))
    tags = {element.tag.rpartition("}")[2] for element in root.iter()}
    assert tags <= {"svg", "title", "g", "rect", "text", "path"}
    attributes = {name for element in root.iter() for name in element.attrib}
    assert not [name for name in attributes if name.startswith("on") or "href" in name]


STRING = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)
STATEMENT = re.compile(
    r"(digraph tree \{|\}|\d+( -> \d+)?|node|edge|\[|\]|\w+=(S|\w+|-?[\d.]+)|\s+|S)*"
)


def test_dot_names_stay_inside_their_quotes(run: Run) -> None:
    assert run.tree is not None
    source = to_graphviz(run.tree, run.encoding, *_arrays(run)).source
    assert "label=<" not in source
    outside = STRING.sub("S", source)
    assert '"' not in outside
    assert STATEMENT.fullmatch(outside), outside
    assert not re.search(r"URL|href|evil|alert", outside)
    assert outside.count("->") == 2 * run.tree.n_splits


def test_text_has_no_control_characters(run: Run) -> None:
    assert run.tree is not None
    shown = to_text(run.tree, run.encoding, *_arrays(run)) + run_report(run)
    assert all(c.isprintable() or c == "\n" for c in shown)


def test_json_of_run_trace_and_model_reads_back(run: Run) -> None:
    record = json.loads(json.dumps(run.to_dict(), allow_nan=False))
    assert list(record["classes"]) == list(run.classes)
    assert json.loads(json.dumps(model_to_dict(run), allow_nan=False))
    assert len(run.trace.to_json_lines().splitlines()) == len(run.trace)


def test_every_tree_file_of_the_command_line_is_written(run: Run) -> None:
    for kind in EXPORTS:
        if kind == "pmml" and NO_XML.search("".join(map(str, run.classes))):
            with pytest.raises(SettingsError, match="control character"):
                export_file(run, kind)
        else:
            assert export_file(run, kind)


def test_exported_cells_never_start_a_formula(run: Run) -> None:
    from dashboard.views.explore.node_panel import node_rows

    assert run.train is not None
    _assert_guarded(frame_to_csv(node_rows(run, run.train, 1)))


@pytest.mark.parametrize("start", ["=", "+", "-", "@", "\t", "\r"])
def test_cells_and_headers_that_look_like_formulas_are_guarded(start: str) -> None:
    frame = pd.DataFrame({f"{start}1+1": [f"{start}cmd|x", "fine"], "n": [-1.5, 2.0]})
    text = frame_to_csv(frame)
    _assert_guarded(text)
    rows = list(csv.reader(io.StringIO(text)))
    assert rows[0][0] == f"'{start}1+1"
    assert rows[1] == [f"'{start}cmd|x", "-1.5"]
    assert guard_cell(-1.5) == -1.5


@pytest.mark.parametrize("number", ["-1.13", "+5", "-.5", "-1,5", "-1e-05", "+1.000,5"])
def test_numbers_in_cells_of_a_file_stay_numbers(number: str) -> None:
    assert frame_to_csv(pd.DataFrame({"n": [number]})).splitlines()[1].strip('"') == number
    for more in (f"{number}+1", f"{number}\n", f"{number}%0", f"={number}", f"{number[0]},"):
        assert guard_cell(more) == f"'{more}"


def _assert_guarded(text: str) -> None:
    for row in csv.reader(io.StringIO(text, newline="")):
        for cell in row:
            if cell.startswith(("=", "+", "-", "@", "\t", "\r")):
                float(cell)


def test_predictions_written_by_the_command_line_are_guarded(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = "\n".join(f"{i},{'=1+1' if i > 4 else '@x'}" for i in range(10))
    data, model = tmp_path / "data.csv", tmp_path / "model.json"
    data.write_text(f"=size,y\n{rows}\n", encoding="utf-8")
    read = octcore.read_csv(str(data), target="y")
    fitted = octcore.solve(read, "cart", depth=1)
    model.write_text(json.dumps(model_to_dict(fitted)), encoding="utf-8")
    assert cli.main(["predict", str(model), str(data)]) == 0
    shown = capsys.readouterr().out
    assert "'=1+1" in shown
    _assert_guarded(shown)


SOURCES = sorted((ROOT / "octcore").rglob("*.py")) + sorted(
    Path(dashboard.__file__).parent.rglob("*.py")
)
BANNED_MODULES = {"pickle", "cPickle", "dill", "cloudpickle", "marshal", "shelve", "yaml"}
BANNED_CALLS = {"eval", "exec", "read_pickle", "to_pickle", "system", "popen"}


@pytest.mark.long
def test_no_executable_format_is_loaded_and_no_shell_is_started() -> None:
    assert len(SOURCES) > 100
    found = {str(path.relative_to(ROOT)): sorted(_harmful(path)) for path in SOURCES}
    # The documentation is made where its sources are: it runs the package's own pages only.
    assert {name: what for name, what in found.items() if what} == {
        "octcore/docs/site.py": ["eval", "exec"]
    }


def _harmful(path: Path) -> set[str]:
    """Imports and calls that would run what a file says."""
    nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
    imported = {a.name for node in nodes if isinstance(node, ast.Import) for a in node.names}
    imported |= {str(node.module) for node in nodes if isinstance(node, ast.ImportFrom)}
    banned = {name for name in imported if name.split(".")[0] in BANNED_MODULES}
    return banned.union(*(_harmful_parts(node) for node in nodes if isinstance(node, ast.Call)))


def _harmful_parts(node: ast.Call) -> set[str]:
    called = node.func
    name = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
    owner = getattr(getattr(called, "value", None), "id", "")
    switched_on = {
        str(keyword.arg)
        for keyword in node.keywords
        if isinstance(keyword.value, ast.Constant) and keyword.value.value is True
    }
    parts = switched_on & {"shell", "allow_pickle", "unsafe_allow_html"}
    if name in BANNED_CALLS or (owner == "joblib" and name in {"load", "dump"}):
        parts.add(name)
    return parts


def test_the_search_for_harmful_calls_finds_them(tmp_path: Path) -> None:
    path = tmp_path / "bad.py"
    path.write_text("import pickle\nnp.load(f, allow_pickle=True)\neval('1')\njoblib.load(f)\n")
    assert _harmful(path) == {"pickle", "allow_pickle", "eval", "load"}


def test_scripts_of_the_widgets_write_text_and_never_markup() -> None:
    scripts = sorted(Path(dashboard.__file__).parent.rglob("*.js"))
    assert scripts
    for path in scripts:
        script = path.read_text(encoding="utf-8")
        assert not re.search(
            r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function", script
        ), path.name


def test_the_app_is_started_where_its_settings_are(monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[list[str]] = []
    monkeypatch.setattr("sys.argv", sys.argv)
    monkeypatch.setattr("runpy.run_module", lambda *_, **__: started.append(sys.argv))
    assert cli.main(["app", "--port", "9123", "--headless"]) == 0
    script = str(Path(dashboard.__file__).parent / "app.py")
    flags = ["--server.port=9123", "--server.headless=true"]
    assert started == [["streamlit", "run", script, *flags]]
    others = ["--address", "0.0.0.0", "--allow-host", "trees.example.org", "--base-path", "trees"]
    assert cli.main(["app", *others]) == 0
    hosts = [*settings_of_the_server()["server.allowedHosts"], "trees.example.org"]
    assert set(started[1]) >= {
        "--server.address=0.0.0.0",
        "--server.baseUrlPath=trees",
        *(f"--server.allowedHosts={host}" for host in hosts),
    }


def settings_of_the_server() -> dict[str, Any]:
    """What Streamlit reads beside the script of the app."""
    path = Path(dashboard.__file__).parent / ".streamlit" / "config.toml"
    return _flat(tomllib.loads(path.read_text(encoding="utf-8")))


def _flat(table: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for key, value in table.items():
        name = prefix + key
        flat |= _flat(value, f"{name}.") if isinstance(value, dict) else {name: value}
    return flat


def test_the_server_listens_at_home_only_and_limits_uploads() -> None:
    from streamlit import config

    flags = settings_of_the_server()
    assert set(flags) <= set(config._config_options_template)
    assert flags["server.address"] in {"localhost", "127.0.0.1"}
    assert 0 < flags["server.maxUploadSize"] <= 200
    assert flags["client.showErrorDetails"] == "none"
    assert flags["browser.gatherUsageStats"] is False
    assert flags["client.disableDataExport"] is True
    for name in ("server.enableCORS", "server.enableXsrfProtection"):
        assert flags.get(name, True) is True


LOADED = """
import contextlib, runpy, sys
from streamlit import config
from streamlit.web import bootstrap

@contextlib.contextmanager
def loaded(_):
    yield
    sys.exit(0)

def ready(script, *_):
    bootstrap._fix_sys_path(script)
    import streamlit
    streamlit.navigation = lambda *_, **__: None
    streamlit.spinner = loaded
    runpy.run_path(script)

bootstrap.run = ready
sys.argv = ["streamlit", "run", sys.argv[1]]
try:
    runpy.run_module("streamlit", run_name="__main__")
finally:
    print(config.get_option("server.address"), config.get_option("browser.gatherUsageStats"))
    print(sys.modules["dashboard"].__file__)
"""


@pytest.mark.long
def test_from_another_folder_the_app_keeps_its_settings_and_finds_itself(tmp_path: Path) -> None:
    (tmp_path / "dashboard").mkdir()
    (tmp_path / "dashboard" / "__init__.py").write_text("raise SystemExit('of the user')")
    script = Path(dashboard.__file__).parent / "app.py"
    done = subprocess.run(
        [sys.executable, "-c", LOADED, str(script)],
        cwd=tmp_path,
        env={**os.environ, "OCTCORE_STORE": str(tmp_path / "runs.db")},
        capture_output=True,
        text=True,
    )
    assert done.stdout.split() == ["localhost", "False", str(dashboard.__file__)], done.stderr


def test_ids_of_runs_cannot_be_guessed(tmp_path: Path) -> None:
    store = RunStore(tmp_path / "runs.sqlite")
    data = Dataset.from_arrays(np.arange(8.0).reshape(4, 2), np.array([0, 1, 0, 1]))
    ids = [store.begin(data, {"formulation": "cart"}) for _ in range(20)]
    store.close()
    assert len(set(ids)) == 20
    assert {uuid.UUID(run_id).version for run_id in ids} == {4}
