"""The notebooks under ``octcore/docs`` run from start to end, and every last value can be shown."""

from __future__ import annotations

import ast
import json
from pathlib import Path
from typing import Any

import plotly.graph_objects as go
import pytest

import octcore

pytestmark = pytest.mark.long

NOTEBOOKS = sorted((Path(octcore.__file__).parent / "docs" / "notebooks").glob("*.ipynb"))


def _run_cell(source: str, names: dict[str, Any]) -> Any:
    """Run a cell; returns the value of its last expression, as a notebook shows it."""
    body = ast.parse(source).body
    last = body.pop() if isinstance(body[-1], ast.Expr) else None
    exec(compile(ast.Module(body, []), "cell", "exec"), names)
    if last is None:
        return None
    value: Any = last.value
    return eval(compile(ast.Expression(value), "cell", "eval"), names)


def test_there_is_one_for_every_audience() -> None:
    assert [path.stem for path in NOTEBOOKS] == ["analyst", "researcher", "teacher"]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook_runs(path: Path) -> None:
    book = json.loads(path.read_text(encoding="utf-8"))
    names: dict[str, Any] = {"__name__": "__main__"}
    shown = 0
    for cell in book["cells"]:
        if cell["cell_type"] != "code":
            continue
        assert not cell["outputs"], "outputs are not stored"
        value = _run_cell("".join(cell["source"]), names)
        if value is not None:
            picture = value.to_json() if isinstance(value, go.Figure) else value._repr_html_()
            assert len(picture) > 100
            shown += 1
    assert shown >= 2
