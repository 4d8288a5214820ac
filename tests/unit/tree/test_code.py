"""Exported code is run by its own language, and says what `predict` says."""

from __future__ import annotations

import importlib.util
import io
import json
import math
import re
import shutil
import sqlite3
import subprocess
from collections.abc import Callable, Sequence
from functools import reduce
from operator import add
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

import octcore
from octcore.data.arrays import prepare_rows
from octcore.data.columns import MISSING_LEVEL
from octcore.data.dataset import Dataset
from octcore.encoding.base import Encoding
from octcore.encoding.fit import fit_encoding
from octcore.solving.report import LANGUAGES, export_tree
from octcore.tree.export.code import DIALECTS, asked_columns, to_code
from octcore.tree.export.onnx import to_onnx
from octcore.tree.export.pmml import to_pmml
from octcore.tree.tree import Split, Tree

QUOTES = 'it\'s "so" \\ </script> ü?'


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


def code_of(run: octcore.Run, kind: str) -> str:
    return to_code(run.needed.tree, run.encoding, kind, run.needed.train.columns)


def by_python(run: octcore.Run, rows: list[dict[str, Any]], _: Path) -> Sequence[Any]:
    space: dict[str, Any] = {}
    exec(code_of(run, "py"), space)
    return [space["predict"](row) for row in rows]


def ran(folder: Path, *command: str) -> str:
    done = subprocess.run(command, capture_output=True, cwd=folder, check=False)
    assert not done.returncode, done.stderr.decode()
    return done.stdout.decode()


def by_javascript(run: octcore.Run, rows: list[dict[str, Any]], folder: Path) -> Sequence[Any]:
    script = code_of(run, "js")
    script += f"console.log(JSON.stringify({json.dumps(rows)}.map(predict)));\n"
    (folder / "tree.js").write_text(script)
    return json.loads(ran(folder, "node", "tree.js"))


def by_sql(run: octcore.Run, rows: list[dict[str, Any]], _: Path) -> Sequence[Any]:
    with sqlite3.connect(":memory:") as database:
        pd.DataFrame(rows).to_sql("rows", database, index=False)
        found = database.execute(code_of(run, "sql")).fetchall()
    return [row[-1] for row in found]


def calls(code: str, rows: list[dict[str, Any]], call: str, gap: dict[bool, str]) -> str:
    """A call of a function that declares its columns, for every row."""
    names = [json.loads(line.split(": ", 1)[1]) for line in code.splitlines() if line[:4] == "   c"]
    is_text = {name: any(isinstance(row[name], str) for row in rows) for name in names}

    def written(name: str, value: Any) -> str:
        if value is None:
            return gap[is_text[name]]
        if isinstance(value, str):
            return json.dumps(value, ensure_ascii=False).replace(
                "?", "\\?" * (call[0] == "{") or "?"
            )
        return f"{math.copysign(1, value)} / 0" if value in (math.inf, -math.inf) else repr(value)

    lines = [", ".join(written(name, row[name]) for name in names) for row in rows]
    return "".join(call.replace("ROW", line) for line in lines)


def by_c(run: octcore.Run, rows: list[dict[str, Any]], folder: Path) -> Sequence[Any]:
    code = code_of(run, "c")
    call = '{ const char *said = predict(ROW); puts(said ? said : "none"); }\n'
    body = calls(code, rows, call, {True: "NULL", False: "NAN"})
    (folder / "tree.c").write_text(f"#include <stdio.h>\n{code}int main(void) {{\n{body}}}\n")
    ran(folder, "gcc", "-O0", "-o", "tree", "tree.c", "-lm")
    return answers(ran(folder, str(folder / "tree")))


def by_java(run: octcore.Run, rows: list[dict[str, Any]], folder: Path) -> Sequence[Any]:
    code = code_of(run, "java")
    call = "System.out.println(DecisionTree.predict(ROW));\n"
    body = calls(code, rows, call, {True: "null", False: "null"})
    main = f"class Main {{ public static void main(String[] a) {{\n{body}}} }}\n"
    (folder / "Main.java").write_text(code + main)
    ran(folder, "javac", "-encoding", "UTF-8", "Main.java")
    return answers(ran(folder, "java", "-Dfile.encoding=UTF-8", "-Dstdout.encoding=UTF-8", "Main"))


def by_r(run: octcore.Run, rows: list[dict[str, Any]], folder: Path) -> Sequence[Any]:
    pd.DataFrame(rows).to_csv(folder / "rows.csv", index=False, na_rep="")
    (folder / "tree.R").write_text(
        code_of(run, "r")
        + 'rows <- read.csv("rows.csv", check.names = FALSE, encoding = "UTF-8", na.strings = "", '
        + "blank.lines.skip = FALSE)\n"
        + 'said <- predict_rows(rows)\nsaid[is.na(said)] <- "none"\n'
        + 'writeLines(enc2utf8(said), file("said.txt", encoding = "UTF-8"), useBytes = TRUE)\n'
    )
    ran(folder, "Rscript", "tree.R")
    return answers((folder / "said.txt").read_text("utf-8"))


def by_spreadsheet(run: octcore.Run, rows: list[dict[str, Any]], folder: Path) -> Sequence[Any]:
    """LibreOffice works out the formula, copied down beside the rows."""
    names, formula = code_of(run, "tsv").splitlines()
    asked = names.split("\t")[:-1]
    assert formula.startswith("\t" * len(asked) + "=")
    parts = re.split('("[^"]*")', formula.strip("\t"))
    lines = [names]
    for line, row in enumerate(rows, 2):
        cells = ["" if row[name] is None else str(row[name]) for name in asked]
        down = [re.sub(r"\b([A-Z]+)2\b", rf"\g<1>{line}", part) for part in parts[::2]]
        parts[::2], kept = down, parts[::2]
        lines.append("\t".join([*cells, "".join(parts)]))
        parts[::2] = kept
    (folder / "rows.tsv").write_text("\n".join(lines) + "\n")
    read = "--infilter=CSV:9,34,76,1,,1033,false,false,false,false,false,-1,true"
    form = "csv:Text - txt - csv (StarCalc):9,34,76"
    home = f"-env:UserInstallation=file://{folder}/home"
    ran(folder, "soffice", home, "--headless", read, "--convert-to", form, "rows.tsv")
    said = pd.read_csv(folder / "rows.csv", sep="\t", dtype=str, keep_default_na=False)
    return [value or None for value in said["prediction"]]


def by_pmml(run: octcore.Run, rows: list[dict[str, Any]], _: Path) -> Sequence[Any]:
    """Another program reads the model."""
    from pypmml import Model

    model = Model.fromString(to_pmml(run.needed.tree, run.encoding, run.needed.train.columns))
    return [model.predict(row)["predicted_class"] for row in rows]


def by_onnx(run: octcore.Run, rows: list[dict[str, Any]], _: Path) -> Sequence[Any]:
    import onnxruntime

    if not run.needed.tree.splits:
        with pytest.raises(octcore.SettingsError, match="tests no column"):
            to_onnx(run.needed.tree, run.encoding)
        return [str(run.needed.tree.classes[run.needed.tree.labels[1]])] * len(rows)
    session = onnxruntime.InferenceSession(
        to_onnx(run.needed.tree, run.encoding, run.needed.train.columns)
    )
    given = {}
    for column in session.get_inputs():
        gap, kind = ("", object) if "string" in column.type else (math.nan, np.float64)
        values = [gap if row[column.name] is None else row[column.name] for row in rows]
        given[column.name] = np.array(values, dtype=kind)[:, None]
    return [value or None for value in session.run(None, given)[0][:, 0]]


def answers(written: str) -> list[str | None]:
    return [None if line in {"none", "null"} else line for line in written.splitlines()]


def needs(program: str, runner: Any, *marks: Any) -> Any:
    is_here = shutil.which(program) or importlib.util.find_spec(program)
    gone = pytest.mark.skipif(not is_here, reason=f"no {program}")
    return pytest.param(runner, marks=[gone, *marks])


RUNNERS: dict[str, Any] = {
    "py": by_python,
    "sql": by_sql,
    "js": needs("node", by_javascript),
    "c": needs("gcc", by_c),
    "java": needs("javac", by_java),
    "r": needs("Rscript", by_r),
    "tsv": needs("soffice", by_spreadsheet, pytest.mark.slow),
    "pmml": needs("pypmml", by_pmml),
    "onnx": needs("onnxruntime", by_onnx),
}
Runner = Callable[[octcore.Run, list[dict[str, Any]], Path], Sequence[Any]]


def asked(run: octcore.Run) -> set[str]:
    return {name for name, *_ in asked_columns(run.needed.tree, run.encoding)}


def foreign(run: octcore.Run, spread: float) -> tuple[list[dict[str, Any]], list[str | None]]:
    """Rows that no training saw, on and beside thresholds and with gaps, and their classes."""
    frame = table(150, 8)
    for name in ("size", QUOTES):
        ends = [c.lower for c in run.encoding.columns if c.raw == name and c.lower is not None]
        ends += [
            split.threshold
            for split in run.needed.tree.splits.values()
            if run.encoding.columns[split.features[0]].raw == name and split.is_univariate
        ]
        near = [
            end + way * max(spread * abs(end), math.ulp(end)) for end in ends for way in (-1, 0, 1)
        ]
        frame.loc[: len(near) - 1, name] = near[: len(frame)]
    expected: list[str | None] = [str(label) for label in run.predict(frame)]
    rows = frame.to_dict("records")
    tested = asked(run)
    for position in range(100, 120):
        name = frame.columns[position % len(frame.columns)]
        rows[position][name] = None
        if name in tested:
            expected[position] = None
    return rows, expected


@pytest.mark.sampled(3)
@pytest.mark.parametrize("runner", RUNNERS.values(), ids=RUNNERS)
def test_foreign_rows_get_the_same_class(runner: Runner, run: octcore.Run, tmp_path: Path) -> None:
    # A spreadsheet compares fifteen digits.
    rows, expected = foreign(run, 1e-9 if runner is by_spreadsheet else 0.0)
    assert list(runner(run, rows, tmp_path)) == expected


@pytest.mark.sampled(5)
@pytest.mark.parametrize("planes", [False, True])
@pytest.mark.parametrize("runner", RUNNERS.values(), ids=RUNNERS)
def test_a_gap_gets_no_class_or_is_a_category_of_its_own(
    runner: Runner, planes: bool, tmp_path: Path
) -> None:
    content = "a,b,y\n" + "".join(
        f"{k % 7},{'' if k % 3 == 0 else 'uv'[k % 2]},{'n' if k % 3 == 0 else 'yz'[k % 7 > 3]}\n"
        for k in range(60)
    )
    if planes:
        content = content.replace("z\n", "y\n")
    data = octcore.read_csv(content.encode(), target="y", missing="category")
    key = "margot" if planes else "path-search"
    run = octcore.solve(data, key, depth=2 - planes, verify=False)
    rows = [
        {"a": 1.0, "b": None},
        {"a": 6.0, "b": "u"},
        {"a": 1.0, "b": "v"},
        {"a": None, "b": "u"},
    ]
    said = runner(run, rows, tmp_path)
    assert list(said) == ["n", "y" if planes else "z", "y", None if {"a"} <= asked(run) else "y"]


@pytest.mark.parametrize("order", ["C", "F"])
def test_a_row_has_the_score_of_exported_code_alone_and_beside_others(order: Any) -> None:
    X = np.asarray(np.random.default_rng(1).normal(size=(50, 40)), order=order)
    split = Split(tuple((j, 1.0 / (3 + j)) for j in range(0, 40, 2)), 0.0)
    added = [reduce(add, (row[j] * weight for j, weight in split.weights)) for row in X.tolist()]
    np.testing.assert_array_equal(split.project(X), added)
    np.testing.assert_array_equal([split.project(X[[i]])[0] for i in range(50)], added)


def test_a_formula_that_no_spreadsheet_takes_is_refused(run: octcore.Run) -> None:
    tree = run.needed.tree
    long = tree.named(["x" * 9000] * tree.n_classes, tree.features)
    with pytest.raises(octcore.SettingsError, match="which allows 8,000"):
        to_code(long, run.encoding, "tsv")


@pytest.mark.parametrize("terms", [2500, 2501])
def test_a_sum_that_python_does_not_read_is_refused(terms: int) -> None:
    rows = pd.DataFrame([np.zeros(terms), np.ones(terms)]).add_prefix("c")
    encoding = fit_encoding("none", Dataset.from_arrays(rows, ["u", "v"]))
    split = Split(tuple((j, 1.0 + j) for j in range(terms)), 1.5)
    plane = Tree({1: split}, {2: 0, 3: 1}, terms, 2, ("u", "v"))
    if terms > 2500:
        with pytest.raises(octcore.SettingsError, match="2,501 terms of a sum in this form, which"):
            to_code(plane, encoding, "py")
        return
    written: dict[str, Any] = {}
    exec(to_code(plane, encoding, "py"), written)
    assert [written["predict"](row) for row in rows.to_dict("records")] == ["u", "v"]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("runner", RUNNERS.values(), ids=RUNNERS)
def test_an_unknown_ordered_category_gets_no_class(runner: Runner, tmp_path: Path) -> None:
    frame = table(60, 3)[["grade"]]
    label = list(np.where(frame["grade"] == "high", "y", "n"))
    run = octcore.solve(Dataset.from_arrays(frame, label, kinds=KINDS), depth=1, verify=False)
    said = runner(run, [{"grade": g} for g in ("low", "mid", "high", "none of them")], tmp_path)
    assert list(said) == ["n", "n", "y", None]


@pytest.mark.parametrize("suffix", DIALECTS)
def test_the_run_exports_it(suffix: str, run: octcore.Run) -> None:
    assert export_tree(run, suffix) == code_of(run, suffix)
    for name in (name for name, ending in LANGUAGES.items() if ending == suffix):
        assert run.export(name) == run.export(suffix)


@pytest.mark.parametrize("runner", [by_python, needs("Rscript", by_r)], ids=["py", "r"])
def test_long_expressions_of_names_with_accents(runner: Runner, tmp_path: Path) -> None:
    levels = [f"gr\u00f6\u00dfe {k}" for k in range(200)]
    data, encoding, _ = stump(levels)
    split = Split(tuple((j, 1.0 + j % 2) for j in range(len(encoding.columns))), 1.5)
    tree = Tree({1: split}, {2: 0, 3: 1}, len(encoding.columns), 2)
    run = bare(data, encoding, tree.named(data.classes, encoding.names))
    expected = tree.predict_codes(encoding.transform(data.frame)).tolist()
    said = runner(run, [{"x": level} for level in levels], tmp_path)
    assert [data.classes.index(name) for name in said] == expected
    assert max(map(len, to_code(run.needed.tree, encoding, "r").splitlines())) < 4096


def test_planes_of_many_columns() -> None:
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(4, 300))).add_prefix("g")
    data = Dataset.from_arrays(frame, ["a", "b", "a", "b"])
    encoding = fit_encoding("raw", data)
    tree = Tree({1: Split(tuple((j, 1.5) for j in range(300)), 0.0)}, {2: 0, 3: 1}, 300, 2)
    with pytest.raises(octcore.SettingsError, match="needs 300 columns in this form"):
        to_code(tree.named(data.classes, encoding.names), encoding, "java")
    written = to_pmml(tree.named(data.classes, encoding.names), encoding)
    assert written.count("<Apply") == 301  # products, and one sum of all


def stump(
    values: Any, threshold: float = 0.5, place: int = 0, kind: str | None = None
) -> tuple[Dataset, Encoding, Tree]:
    """A split on a column of the encoding of one raw column, of which a row at least goes right."""
    frame = pd.DataFrame({"x": values})
    label = ["left", *["right"] * (len(frame) - 1)]
    data = Dataset.from_arrays(frame, label, kinds=None if kind is None else {"x": kind})
    encoding = fit_encoding("raw", data)
    tree = Tree({1: Split.on_feature(place, threshold)}, {2: 0, 3: 1}, len(encoding.columns), 2)
    return data, encoding, tree.named(data.classes, encoding.names)


def bare(data: Dataset, encoding: Encoding, tree: Tree) -> Any:
    """What runners ask of a run."""
    return SimpleNamespace(needed=SimpleNamespace(tree=tree, train=data), encoding=encoding)


LOOSE = {name: RUNNERS[name] for name in ("py", "js", "sql", "r")}
"""Where a value may be of another type than the file had."""

TEXTS = ("py", "js", "c", "java", "r")  # where a category is a text, whatever the file had
"""R last: by itself it reads codes of a file as numbers."""


@pytest.mark.sampled(3)
@pytest.mark.parametrize("runner", LOOSE.values(), ids=LOOSE)
@pytest.mark.parametrize(
    ("values", "place", "kind", "came"),
    [
        ([True, False, True], 0, None, None),
        ([10115, 20095, 80331], 1, "categorical", None),
        (["TRUE", "FALSE", "TRUE"], 0, None, [True, False, True]),
        (["f", "t", "f"], 0, None, [False, True, False]),
        (["True", "False", "True"], 0, None, ["true", "FALSE", "TRUE"]),
        (["00501", "01234", "80331"], 0, None, [501, 1234, 80331]),
    ],
    ids=["truth values", "numbers as names", "TRUE", "t", "true", "codes with leading zeros"],
)
def test_values_that_are_no_texts(
    values: list[Any], place: int, kind: str | None, came: Any, runner: Runner, tmp_path: Path
) -> None:
    """Programs that read a file take its TRUE or T for a truth value, 00501 for a number."""
    data, encoding, tree = stump(values, place=place, kind=kind)
    rows = pd.DataFrame({"x": came or values})
    expected = tree.predict(encoding.transform(data.frame)).tolist()
    assert tree.predict(encoding.transform(prepare_rows(rows, data.columns))).tolist() == expected
    said = runner(bare(data, encoding, tree), rows.to_dict("records"), tmp_path)
    assert list(said) == expected
    assert len(set(expected)) == 2


@pytest.mark.sampled(3)
@pytest.mark.parametrize("runner", RUNNERS.values(), ids=RUNNERS)
def test_texts_that_were_taken_for_others_are_so_in_code(runner: Runner, tmp_path: Path) -> None:
    file = b"n,x,y\n1,Red,a\n2,red,a\n-9,blue,b\n4,blue,b\n5,k.A.,b\n6,blue,b\n"
    meant: Any = {"na_values": {"n": ["-9"], "x": ["k.A."]}, "merge": ["x"], "missing": "category"}
    data = octcore.read_csv(io.BytesIO(file), target="y", **meant)
    rows = [{"n": n, "x": x} for n in (1.0, -9.0, 7.0) for x in ("Red", "red", "blue", "k.A.")]
    for column in ("n", "x"):
        run = octcore.solve(data, depth=1, constraints={"root_feature": column}, verify=False)
        expected: list[str | None] = []
        for row in rows:
            try:
                expected.append(str(run.predict(pd.DataFrame([row]))[0]))
            except octcore.DataError:
                expected.append(None)
        assert list(runner(run, rows, tmp_path)) == expected
        assert set(expected) == ({"a", "b", None} if column == "n" else {"a", "b"})


@pytest.mark.parametrize("runner", [RUNNERS[name] for name in ("py", "js", "r")])
def test_texts_are_read_as_the_file_was(runner: Runner, tmp_path: Path) -> None:
    """With spaces around a category, and a question mark for a gap."""
    file = b"x,y\n u,a\n u,a\nv ,b\nw,b\n?,c\n?,c\n"
    data = octcore.read_csv(file, target="y", missing="category")
    run = octcore.solve(data, depth=2, verify=False)
    rows = pd.DataFrame({"x": [" u", "v ", "w", "?", " "]})
    expected = run.predict(rows).tolist()
    assert expected == ["a", "b", "b", "c", "c"]
    assert list(runner(run, rows.to_dict("records"), tmp_path)) == expected


@pytest.mark.parametrize("runner", [RUNNERS[name] for name in ("py", "js")])
def test_texts_among_numbers_are_gaps(runner: Runner, tmp_path: Path) -> None:
    """As a file has them: Python's code stopped at a question mark, and took "nan" for small."""
    data, encoding, tree = stump([1.0, 2.0, 3.0], threshold=1.5)
    texts = ["1", " 3.0", "?", "", "nan", "NA", "unknown", None, float("nan")]
    said = runner(bare(data, encoding, tree), [{"x": text} for text in texts], tmp_path)
    assert list(said) == ["left", "right"] + [None] * 7


@pytest.mark.sampled(3)
@pytest.mark.parametrize("runner", [RUNNERS[name] for name in TEXTS], ids=TEXTS)
def test_numbers_that_are_names_are_known_as_a_file_has_them(
    runner: Runner, tmp_path: Path
) -> None:
    """Whole numbers of a column with gaps, as pandas writes them; silently another class before."""
    data, encoding, tree = stump([2, 1, 3], place=0, kind="categorical")
    texts = ["1.0", "2.0", "3.0", "1", "2", "10"]
    said = runner(bare(data, encoding, tree), [{"x": text} for text in texts], tmp_path)
    assert list(said) == ["right", "left", "left", "right", "left", "left"]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("known", ["00501", "501"])
@pytest.mark.parametrize("runner", [RUNNERS[name] for name in TEXTS[:-1]], ids=TEXTS[:-1])
def test_a_code_is_known_by_its_number_and_no_other_code(
    runner: Runner, known: str, tmp_path: Path
) -> None:
    """New rows took 0501 for the known 00501 or 501, and code did not know 501.0."""
    values = [known, "1234", "80331"]
    data, encoding, tree = stump(values, place=sorted(values).index(known))
    rows = pd.DataFrame({"x": ["00501", "501", "501.0", "0501", "1234"]})
    expected = ["right" if known == "00501" else "left", "right", "right", "left", "left"]
    assert tree.predict(encoding.transform(prepare_rows(rows, data.columns))).tolist() == expected
    said = runner(bare(data, encoding, tree), rows.to_dict("records"), tmp_path)
    assert list(said) == expected


@pytest.mark.parametrize(
    ("runner", "values", "level"),
    [
        (by_sql, ["True", "False", "1"], "True"),  # which truth values of a database are
        (by_python, ["1", "1.0", "2"], "1"),  # which files write as 1.0
    ],
)
def test_a_category_is_not_taken_for_another_one_that_is_there(
    runner: Runner, values: list[str], level: str, tmp_path: Path
) -> None:
    place = sorted(values).index(level)
    data, encoding, tree = stump(values, place=place, kind="categorical")
    said = runner(bare(data, encoding, tree), [{"x": text} for text in values], tmp_path)
    assert list(said) == ["right" if text == level else "left" for text in values]


@pytest.mark.parametrize("threshold", [-0.5, 0.0, 0.5, 1.0])
@pytest.mark.parametrize("runner", [by_python, by_sql, RUNNERS["pmml"]], ids=["py", "sql", "pmml"])
def test_a_binary_column_is_asked_only_between_its_values(
    runner: Runner, threshold: float, tmp_path: Path
) -> None:
    data, encoding, tree = stump(["f", "t", "f"], threshold=threshold)
    expected = tree.predict(encoding.transform(data.frame)).tolist()
    said = runner(bare(data, encoding, tree), data.frame.to_dict("records"), tmp_path)
    assert list(said) == expected


@pytest.mark.parametrize("threshold", [-0.5, 1.0])
def test_pmml_compares_a_binary_column_with_a_threshold_beyond_its_values(threshold: float) -> None:
    """All rows go to one side, whatever the column says."""
    _, encoding, tree = stump(["f", "t", "f"], threshold=threshold)
    written = to_pmml(tree, encoding)
    assert f'<SimplePredicate field="split 1" operator="greaterThan" value="{threshold}"' in written
    assert 'operator="equal"' not in written


@pytest.mark.sampled(3)
@pytest.mark.parametrize("runner", RUNNERS.values(), ids=RUNNERS)
def test_a_gap_in_an_order_has_a_rank(runner: Runner, tmp_path: Path) -> None:
    order = pd.Categorical([MISSING_LEVEL, "low", "high"], [MISSING_LEVEL, "low", "high"], True)
    rows = [{"x": None}, {"x": "low"}, {"x": "high"}, {"x": "none of them"}]
    said = runner(bare(*stump(order)), rows, tmp_path)
    assert list(said) == ["left", "right", "right", None]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("runner", [RUNNERS[name] for name in TEXTS], ids=TEXTS)
def test_a_gap_is_known_as_the_rows_of_a_data_set_say_it(runner: Runner, tmp_path: Path) -> None:
    """They hold "(missing)", which `predict` takes for a gap and code took for another category."""
    data, encoding, tree = stump([MISSING_LEVEL, "b", "c"], place=0)
    rows = pd.DataFrame({"x": [MISSING_LEVEL, "b", None]})
    expected = ["right", "left", "right"]
    assert tree.predict(encoding.transform(prepare_rows(rows, data.columns))).tolist() == expected
    records = [{"x": MISSING_LEVEL}, {"x": "b"}, {"x": None}]
    assert list(runner(bare(data, encoding, tree), records, tmp_path)) == expected
    # Where all gaps were held out, code gave no class.
    seen = fit_encoding("raw", data.subset([1, 2]))
    tree = Tree({1: Split.on_feature(0, 0.5)}, {2: 0, 3: 1}, 1, 2).named(data.classes, seen.names)
    expected = tree.predict(seen.transform(prepare_rows(rows, data.columns))).tolist()
    assert expected == ["left", "left", "left"]
    records.append({"x": "c"})
    assert list(runner(bare(data, seen, tree), records, tmp_path)) == [*expected, "right"]


def test_single_floats_are_compared_in_double_precision() -> None:
    value = np.float32(0.2)
    data, encoding, tree = stump([0.1, 0.2], math.nextafter(float(value), 0.0), kind="numeric")
    assert by_python(bare(data, encoding, tree), [{"x": value}, {"x": "0.1"}], Path()) == [
        "right",
        "left",
    ]
    # A literal without an exponent is a decimal, to which databases round single floats.
    assert f"> {tree.splits[1].threshold!r}e0" in to_code(tree, encoding, "sql")


@pytest.mark.long
@pytest.mark.skipif(not shutil.which("Rscript"), reason="no Rscript")
def test_long_numbers_are_exact_in_r(tmp_path: Path) -> None:
    numbers = np.random.default_rng(0).normal(0.0, 1.0, 20_000)
    written = map(DIALECTS["r"].number, numbers.tolist())
    (tmp_path / "numbers.R").write_text(
        f"writeBin(c({','.join(written)}), 'numbers.bin', endian = 'little')\n"
    )
    ran(tmp_path, "Rscript", "numbers.R")
    assert (np.fromfile(tmp_path / "numbers.bin", "<f8") == numbers).all()


def test_a_query_of_another_table_fails(tmp_path: Path) -> None:
    run = bare(*stump(["a", "b", "c"]))
    with pytest.raises(sqlite3.OperationalError, match="no such column"):
        by_sql(run, [{"y": "a"}], tmp_path)


@pytest.mark.parametrize("runner", RUNNERS.values(), ids=RUNNERS)
def test_what_no_row_of_a_file_can_be_gets_no_class(runner: Runner, tmp_path: Path) -> None:
    # NaN, which SQLite does not keep, is larger than every number in other databases.
    odd: list[Any] = [math.inf, -math.inf]
    if runner in (by_spreadsheet, by_pmml):  # cells cannot be infinite; PMML leaves it to readers
        odd = [None]
    elif runner in (by_python, by_javascript):
        odd += ["1_000", "0x1f", " ", "1e999", "inf", "k.A."] + [10**400] * (runner is by_python)
    run = bare(*stump([1.0, 2.0, 3.0], 1.5))
    assert list(runner(run, [{"x": value} for value in odd], tmp_path)) == [None] * len(odd)
    assert list(runner(run, [{"x": 1.7e308}, {"x": -1.0}], tmp_path)) == ["right", "left"]


def test_names_that_sql_takes_for_one_are_refused() -> None:
    frame = pd.DataFrame({"A": [1.0, 2.0, 3.0], "a": [3.0, 1.0, 2.0], "b": [1.0, 2.0, 3.0]})
    data = Dataset.from_arrays(frame, ["p", "q", "q"])
    encoding = fit_encoding("raw", data)
    trees = [Tree({1: Split.on_feature(j, 1.5)}, {2: 0, 3: 1}, 3, 2) for j in range(3)]
    for tree in trees[:2]:
        with pytest.raises(octcore.SettingsError, match="in capitals only"):
            to_code(tree.named("pq", "Aab"), encoding, "sql")
    assert to_code(trees[2].named("pq", "Aab"), encoding, "sql")


def test_what_numbers_are_where_the_file_has_something_else() -> None:
    dates = pd.to_datetime(["2020-01-01", "2020-02-01", "2021-01-01"])
    file = b"x;y\n12 kg;a\n13 kg;a\n14 kg;a\n15 kg;b\n16 kg;b\n"
    weights = octcore.read_csv(io.BytesIO(file), target="y")
    tree = Tree({1: Split.on_feature(0, 14.5)}, {2: 0, 3: 1}, 1, 2, ("left", "right"))
    cases = {
        "days since 2020-01-01": stump(dates, 40.0),
        "a number such as 1234.5, not as the file has it": (
            weights, fit_encoding("raw", weights), tree,
        ),
    }  # fmt: skip
    for words, (data, encoding, found) in cases.items():
        for suffix in DIALECTS:
            assert words in to_code(found, encoding, suffix, data.columns)
        assert words in to_pmml(found, encoding, data.columns)


def test_texts_of_an_imported_file_get_no_class_where_numbers_are_needed() -> None:
    """SQLite's import makes a text of every cell; "10" was compared with 2.5 as a text before."""
    numbers, texts = bare(*stump([1.0, 4.0, 10.0], 2.5)), bare(*stump(["a", "b", "c"]))
    with sqlite3.connect(":memory:") as database:
        database.execute('CREATE TABLE "rows" (x TEXT)')
        database.executemany('INSERT INTO "rows" VALUES (?)', [("10",), ("1 kg",), ("",)])
        for run, classes in ((numbers, [None] * 3), (texts, ["left", "left", None])):
            found = database.execute(code_of(run, "sql")).fetchall()
            assert [row[-1] for row in found] == classes


def test_a_class_that_xml_cannot_hold_is_refused() -> None:
    _, encoding, tree = stump([1.0, 2.0, 3.0], 1.5)
    with pytest.raises(octcore.SettingsError, match="control character"):
        to_pmml(tree.named(["a\x01", "b"], tree.features), encoding)


def test_a_column_may_have_the_name_of_a_node(tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime")
    data, encoding, tree = stump([1.0, 2.0, 3.0], 1.5)
    for number in range(6):
        name = f"octcore:{number}"
        run = bare(data, encoding.renamed({"x": name}), tree)
        assert list(by_onnx(run, [{name: 1.0}, {name: 2.0}], tmp_path)) == ["left", "right"]
