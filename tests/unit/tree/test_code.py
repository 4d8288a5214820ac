"""Exported code is run by its own language, and says what `predict` says."""

from __future__ import annotations

import json
import shutil
import sqlite3
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import octcore
from octcore.data.dataset import Dataset
from octcore.solving.report import export_tree
from octcore.tree.export.code import to_code

QUOTES = 'it\'s "so" \\ </script> ü?'
NODE = shutil.which("node")
GCC = shutil.which("gcc")


def table(n: int, seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "size": rng.normal(0, 1, n).round(3),
            QUOTES: rng.integers(0, 7, n).astype(float),
            "colour": rng.choice(["red", QUOTES, "blue"], n),
            "grade": rng.choice(["low", "mid", "high"], n),
            "flag": rng.integers(0, 2, n).astype(float),
        }
    )


def labels(frame: pd.DataFrame) -> list[str]:
    score = frame["size"] + 0.4 * frame[QUOTES] - (frame["colour"] == QUOTES) - frame["flag"]
    return list(np.where(score > 1.2, QUOTES, np.where(frame["grade"] == "low", "b", "c")))


KINDS = {"grade": "ordinal:low<mid<high"}
CASES: dict[str, tuple[str, dict[str, Any]]] = {
    "all thresholds": ("threshold-search", {"depth": 3}),
    "bins": ("path-search", {"depth": 3, "encoding": "QT-5"}),
    "quantiles": ("path-search", {"depth": 2, "encoding": "QB-5"}),
    "planes": ("s-oct", {"depth": 1, "time_limit": 3}),
    "one leaf": ("threshold-search", {"depth": 1, "params": {"leaf_penalty": 0.9}}),
}


@pytest.fixture(scope="module", params=CASES)
def run(request: pytest.FixtureRequest) -> octcore.Run:
    frame = table(60, 3)
    data = Dataset.from_arrays(frame, labels(frame), kinds=KINDS)
    formulation, settings = CASES[request.param]
    found = octcore.solve(data, formulation, verify=False, test_size=0.0, **settings)
    assert found.tree is not None
    return found


def by_python(run: octcore.Run, rows: list[dict[str, Any]], _: Path) -> Sequence[Any]:
    space: dict[str, Any] = {}
    exec(to_code(run.needed.tree, run.encoding, "py"), space)
    return [space["predict"](row) for row in rows]


def by_javascript(run: octcore.Run, rows: list[dict[str, Any]], folder: Path) -> Sequence[Any]:
    assert NODE is not None
    script = to_code(run.needed.tree, run.encoding, "js")
    script += f"console.log(JSON.stringify({json.dumps(rows)}.map(predict)));\n"
    (folder / "tree.js").write_text(script)
    said = subprocess.run([NODE, str(folder / "tree.js")], capture_output=True, check=True)
    return json.loads(said.stdout)


def by_sql(run: octcore.Run, rows: list[dict[str, Any]], _: Path) -> Sequence[Any]:
    with sqlite3.connect(":memory:") as database:
        pd.DataFrame(rows).to_sql("rows", database, index=False)
        found = database.execute(to_code(run.needed.tree, run.encoding, "sql")).fetchall()
    return [row[-1] for row in found]


def by_c(run: octcore.Run, rows: list[dict[str, Any]], folder: Path) -> Sequence[Any]:
    assert GCC is not None
    code = to_code(run.needed.tree, run.encoding, "c")
    names = [json.loads(line.split(": ", 1)[1]) for line in code.splitlines() if line[:4] == "   c"]

    def written(value: Any) -> str:
        if value is None:
            return "NULL"
        return (
            json.dumps(value, ensure_ascii=False).replace("?", "\\?")
            if isinstance(value, str)
            else repr(value)
        )

    calls = "".join(
        "  { const char *said = predict(" + ", ".join(written(row[name]) for name in names)
        + '); puts(said ? said : "none"); }\n'
        for row in rows
    )  # fmt: skip
    (folder / "tree.c").write_text(f"#include <stdio.h>\n{code}int main(void) {{\n{calls}}}\n")
    asked = [GCC, "-O0", "-o", str(folder / "tree"), str(folder / "tree.c"), "-lm"]
    subprocess.run(asked, check=True, capture_output=True)
    return subprocess.run([str(folder / "tree")], capture_output=True, check=True).stdout.decode(
    ).splitlines()  # fmt: skip


RUNNERS: dict[str, Any] = {
    "py": by_python,
    "sql": by_sql,
    "js": pytest.param(by_javascript, marks=pytest.mark.skipif(NODE is None, reason="no node")),
    "c": pytest.param(by_c, marks=pytest.mark.skipif(GCC is None, reason="no gcc")),
}
Runner = Callable[[octcore.Run, list[dict[str, Any]], Path], Sequence[Any]]


@pytest.mark.parametrize("runner", RUNNERS.values(), ids=RUNNERS)
def test_foreign_rows_get_the_same_class(runner: Runner, run: octcore.Run, tmp_path: Path) -> None:
    rows = table(300, 8)
    said = runner(run, rows.to_dict("records"), tmp_path)
    assert list(said) == [str(label) for label in run.predict(rows)]


def test_a_gap_gets_no_class_or_is_a_category_of_its_own(tmp_path: Path) -> None:
    content = "a,b,y\n" + "".join(
        f"{k % 7},{'' if k % 3 == 0 else 'uv'[k % 2]},{'n' if k % 3 == 0 else 'yz'[k % 7 > 3]}\n"
        for k in range(60)
    )
    data = octcore.read_csv(content.encode(), target="y", missing="category")
    run = octcore.solve(data, depth=2, verify=False)
    rows = [
        {"a": 1.0, "b": None},
        {"a": 6.0, "b": "u"},
        {"a": 1.0, "b": "v"},
        {"a": None, "b": "u"},
    ]
    for runner in (by_python, by_sql):
        assert list(runner(run, rows, tmp_path)) == ["n", "z", "y", None]


@pytest.mark.parametrize("runner", RUNNERS.values(), ids=RUNNERS)
def test_an_unknown_ordered_category_gets_no_class(runner: Runner, tmp_path: Path) -> None:
    frame = table(60, 3)[["grade"]]
    label = list(np.where(frame["grade"] == "high", "y", "n"))
    run = octcore.solve(Dataset.from_arrays(frame, label, kinds=KINDS), depth=1, verify=False)
    said = runner(run, [{"grade": g} for g in ("low", "mid", "high", "none of them")], tmp_path)
    assert [None if one == "none" else one for one in said] == ["n", "n", "y", None]


@pytest.mark.parametrize("suffix", ["py", "js", "sql", "c"])
def test_the_run_exports_it(suffix: str, run: octcore.Run) -> None:
    assert export_tree(run, suffix) == to_code(run.needed.tree, run.encoding, suffix)
