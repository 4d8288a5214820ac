"""Rules of the dashboard that no linter knows."""

import ast
import importlib.util
import re
import sys
from pathlib import Path

import pytest

import dashboard
from dashboard.widgets.component import written

FOLDER = Path(dashboard.__file__).parent
NAMED_KEY = re.compile(
    r"""session_state\s*(\[\s*f?["']|\.(get|pop|setdefault)\(\s*f?["']|\.[a-z_]+\s*=[^=])"""
)
"""A component may read what it reported under the key that it was given, but names none."""


def _sources():
    return sorted(FOLDER.rglob("*.py"))


def test_no_file_shadows_another_module():
    # `streamlit run dashboard/app.py` puts the folder itself first on the path.
    for path in FOLDER.iterdir():
        name = path.stem
        if name.startswith(("_", ".")):
            continue
        assert name not in sys.stdlib_module_names
        found = importlib.util.find_spec(name)
        assert found is None or str(FOLDER) in str(found.origin), name


def test_figures_know_no_streamlit():
    for path in (FOLDER / "figures").glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = []
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                names = [node.module or ""]
            for name in names:
                assert not name.startswith(("streamlit", "dashboard.widgets", "dashboard.session"))


def test_only_session_names_state_keys():
    assert NAMED_KEY.search('st.session_state["a"]')
    assert NAMED_KEY.search("st.session_state.get('a')")
    assert not NAMED_KEY.search("st.session_state[key]")
    for path in _sources():
        # The start keeps the link that was opened before the session itself can be imported.
        if path.name not in ("session.py", "app.py"):
            assert not NAMED_KEY.search(path.read_text(encoding="utf-8")), path


def test_pages_are_thin():
    for path in (FOLDER / "screens").glob("*.py"):
        assert len(path.read_text(encoding="utf-8").splitlines()) <= 100, path.name


@pytest.mark.parametrize("name", ["tree_component", "drawing_board"])
def test_component_writes_user_text_as_text_only(name):
    script = written(name, ".js")
    assert script.count("export default") == 1
    for once in ("const NS", "const SHAPES", "function el("):
        assert script.count(once) == 1
    assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(", script)


def test_every_chart_has_a_description():
    for path in _sources():
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for node in ast.walk(tree):
            if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
                continue
            if node.func.attr in {"plotly_chart", "image", "dataframe", "data_editor"}:
                given = {keyword.arg for keyword in node.keywords}
                assert {"alt", None} & given, f"{path.name}:{node.lineno}"
