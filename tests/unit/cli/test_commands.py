"""The command line: exit codes, one sentence on stderr, exact JSON."""

from __future__ import annotations

import io
import json
import os
import re
import struct
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import octcore
from octcore.cli import main
from octcore.cli.output import CLEAR, ProgressLine
from octcore.cli.tuning import parse_grid
from octcore.data.samples import sample_bytes
from octcore.errors import EngineError
from octcore.formulations.base import list_formulations
from octcore.parameters import Parameter
from octcore.tree.constraints import ACCEPTED


@pytest.fixture
def iris(tmp_path: Path) -> str:
    path = tmp_path / "iris.csv"
    path.write_bytes(sample_bytes("iris"))
    return str(path)


def test_formulations_and_describe_come_from_the_declarations(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["formulations", "--json"]) == 0
    records = json.loads(capsys.readouterr().out)
    assert [r["key"] for r in records] == [i.key for i in list_formulations()]
    for info in list_formulations():
        assert main(["describe", info.key]) == 0
        text = capsys.readouterr().out
        assert info.title in text
        assert all(p.name in text for p in info.hyperparameters)
        _, _, limits = text.partition("side constraints, as --constraint")
        assert all(f"{name}: " in limits for name in info.constraints)


@pytest.mark.parametrize("declared", ACCEPTED, ids=lambda p: p.name)
def test_the_example_of_a_side_constraint_is_read(declared: Parameter) -> None:
    _, is_there, example = declared.describe_range().partition(", such as ")
    if is_there:
        assert declared.parse(example.split(" or ")[0])


def test_solve_writes_exact_json_model_trace_and_tree(
    iris: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = {name: str(tmp_path / name) for name in ("r.json", "m.json", "t.jsonl", "t.svg")}
    arguments = ["solve", iris, "--target", "species", "--formulation", "cart", "--depth", "2"]
    arguments += ["--json", files["r.json"], "--model", files["m.json"]]
    arguments += ["--trace", files["t.jsonl"], "--tree", files["t.svg"]]
    assert main(arguments) == 0
    assert "petal" in capsys.readouterr().out
    record = json.loads(Path(files["r.json"]).read_text())
    assert record["n_leaves"] == len([n for n in record["tree"]["nodes"] if n["kind"] == "leaf"])
    assert {"versions", "status", "gap", "certificate", "timings", "trace"} - set(record) == {
        "trace"
    }
    lines = Path(files["t.jsonl"]).read_text().splitlines()
    assert [json.loads(line)["kind"] for line in lines][-2:] == ["finished", "verified"]
    assert Path(files["t.svg"]).read_text().startswith("<svg")
    assert main(["predict", files["m.json"], iris]) == 0
    header, *rows = capsys.readouterr().out.splitlines()
    assert header.endswith("species,prediction")
    right = sum(row.split(",")[-1] == row.split(",")[-2] for row in rows)
    assert right / len(rows) == pytest.approx(record["accuracy"])


@pytest.mark.long
def test_a_stored_model_predicts_shares_and_a_report_is_one_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, iris: str
) -> None:
    monkeypatch.chdir(tmp_path)
    asked = ["--target", "species", "--model", "m.json", "--report", "r.html", "--tree", "t.R"]
    assert main(["solve", iris, *asked, "--json", "run.json"]) == 0
    report = Path("r.html").read_text(encoding="utf-8")
    assert "Proven optimal" in report
    assert "<h1>iris: threshold-search</h1>" in report
    assert main(["report", "run.json", "--data", iris, "--output", "later.html"]) == 0
    assert "<h1>iris: threshold-search</h1>" in Path("later.html").read_text(encoding="utf-8")
    assert "predict_rows <- function(rows)" in Path("t.R").read_text(encoding="utf-8")
    assert main(["predict", "m.json", iris, "--proba", "--output", "out.csv"]) == 0
    table, rows = pd.read_csv("out.csv"), pd.read_csv(iris)
    names = ["setosa", "versicolor", "virginica"]
    shares = table[[f"probability of {name}" for name in names]].to_numpy()
    np.testing.assert_allclose(shares, octcore.load_model("m.json").predict_proba(rows))
    # Of several optimal trees any: the shares are those among the rows that get the same.
    truth = pd.get_dummies(rows["species"])[names].astype(float)
    same = truth.groupby([str(line) for line in shares.round(9)])
    np.testing.assert_allclose(shares, same.transform("mean"))


@pytest.mark.long
def test_json_on_standard_output_is_one_object(
    iris: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code = main(["solve", iris, "--target", "species", "--formulation", "cart", "--json", "-"])
    assert code == 0
    assert json.loads(capsys.readouterr().out)["formulation"] == "cart"


@pytest.mark.parametrize(
    "arguments",
    [
        ["solve", "nowhere.csv", "--target", "y"],
        ["solve", "{iris}", "--target", "specie"],
        ["solve", "{iris}", "--target", "species", "--depth", "0"],
        ["solve", "{iris}", "--target", "species", "--time-limit", "-1"],
        ["solve", "{iris}", "--target", "species", "--formulation", "flow"],
        ["solve", "{iris}", "--target", "species", "--param", "leaf_penalty"],
        ["solve", "{iris}", "--target", "species", "--tree", "tree.png"],
        ["solve", "{iris}", "--target", "species", "--constraint", "min_recall={bad"],
        ["describe", "margo"],
        ["samples", "irises"],
        ["predict", "{iris}", "{iris}"],
        ["solve"],
        ["grow"],
    ],
)
def test_wrong_input_is_one_sentence_and_exit_2(
    arguments: list[str], iris: str, capsys: pytest.CaptureFixture[str]
) -> None:
    filled = [argument.replace("{iris}", iris) for argument in arguments]
    try:
        code = main(filled)
    except SystemExit as stop:
        code = stop.code
    assert code == 2
    err = capsys.readouterr().err
    assert len(err.strip().splitlines()) == 1
    assert "Traceback" not in err


@pytest.mark.long
def test_an_option_cut_short_is_refused_with_those_that_are_near(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["verify", "table.csv", "--target", "y"]) == 2  # not --target-bins
    words = "octcore: verify has no option '--target'; did you mean --target-bins or "
    assert capsys.readouterr().err.startswith(words)


def test_constraints_that_admit_no_tree_exit_3(
    iris: str, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    recall = json.dumps({"setosa": 1.0, "versicolor": 1.0, "virginica": 1.0})
    code = main(
        ["solve", iris, "--target", "species", "--depth", "1", "--time-limit", "30",
         "--formulation", "flow-oct", "--constraint", f"min_recall={recall}",
         "--report", "now.html", "--json", "run.json"]
    )  # fmt: skip
    assert code == 3
    assert "infeasible" in capsys.readouterr().err
    assert main(["report", "run.json", "--data", iris, "--output", "later.html"]) == 0
    for report in ("now.html", "later.html"):
        assert "depth 1 or less keeps the side constraints" in Path(report).read_text(
            encoding="utf-8"
        )


@pytest.mark.skipif(sys.platform == "win32", reason="needs a terminal of its own")
def test_a_progress_line_fits_into_a_narrow_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """A longer one was wrapped, and every new one left its first half on the screen."""
    import fcntl
    import termios

    outside, inside = os.openpty()
    fcntl.ioctl(inside, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 20, 0, 0))
    with open(inside, "w", encoding="utf-8") as terminal, open(outside, "rb", 0) as seen:
        monkeypatch.setattr(sys, "stderr", terminal)
        for term, shown in (("xterm", CLEAR + 19 * "x"), ("dumb", "")):
            monkeypatch.setenv("TERM", term)
            ProgressLine().show(50 * "x")
            terminal.write("|")
            terminal.flush()
            told = b""
            while not told.endswith(b"|"):  # it may come in parts
                told += seen.read(100)
            assert told.decode() == shown + "|"


def test_long_commands_say_on_a_terminal_what_they_do(
    iris: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A minute of reading and searching, or ten of a proof, showed an empty line."""
    shown: list[str] = []
    monkeypatch.setattr(ProgressLine, "show", lambda _, text: shown.append(text))
    common = [iris, "--target", "species", "--depth", "1"]
    assert main(["path", *common]) == 0
    assert {f"reading {iris}", "searching for the best tree of every size"} <= set(shown)
    assert main(["binarization", *common, "--quantiles", "2"]) == 0
    assert {"1 of 4 encodings", "4 of 4 encodings"} <= set(shown)
    run = octcore.solve(octcore.read_csv(iris, target="species"), depth=1)
    (tmp_path / "run.json").write_text(json.dumps(run.to_dict()))
    of_run = [str(tmp_path / "run.json"), "--data", iris]
    assert main(["verify", *of_run]) == 0
    assert main(["prove", *of_run, "--output", str(tmp_path / "proof")]) == 0
    assert {"verifying", "writing the proof"} <= set(shown)
    assert shown[-1] == ""


NEITHER = ["--constraint", "max_splits=0", "--constraint", "root_feature=petal width (cm)"]


@pytest.mark.parametrize(
    "words",
    [
        ["path"],
        ["near-optimal"],
        ["binarization", "--quantiles", "2"],
        ["solve", "--classes", "one-vs-rest", "--formulation", "path-search"],
        ["tune", "--grid", "leaf_penalty=0.01", "--protocol", "75/25"],
    ],
    ids=lambda words: words[0],
)
def test_where_no_tree_can_exist_every_command_exits_3(
    words: list[str], iris: str, capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    def here(data: octcore.Dataset, settings: dict[str, Any], **_: object) -> octcore.Run:
        return octcore.solve(data, **settings)

    monkeypatch.setattr("octcore.cli.solving.solve_in_child", here)
    command = [words[0], iris, "--target", "species", "--depth", "1", *words[1:]]
    assert main([*command, *NEITHER]) == 3
    said = capsys.readouterr()
    assert "infeasible" in said.out or "relax " in said.err


def test_a_model_that_is_too_large_is_told_beside_the_others(
    iris: str, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def here(data: octcore.Dataset, settings: dict[str, Any], **_: object) -> octcore.Run:
        if settings["formulation"] == "flow-oct":
            raise octcore.TooLargeError("MODEL_TOO_LARGE", "It would need 99 GB.", {})
        return octcore.solve(data, **settings)

    monkeypatch.setattr("octcore.cli.solving.solve_in_child", here)
    written = tmp_path / "runs.json"
    keys = "cart,flow-oct,path-search"
    command = ["compare", iris, "--target", "species", "--formulations", keys, "--depth", "1"]
    assert main([*command, "--json", str(written)]) == 2
    said = capsys.readouterr()
    words = "flow-oct was refused: It would need 99 GB."
    assert said.out.splitlines()[-1] == words
    assert "path-search" in said.out.splitlines()[-2]
    assert words in said.err
    told = {r["formulation"]: r.get("refused") for r in json.loads(written.read_text())}
    assert told == {"cart": None, "path-search": None, "flow-oct": "It would need 99 GB."}

    monkeypatch.setattr("octcore.selection.fits.solve", lambda data, **given: here(data, given))
    plans = [{"formulation": key, "depth": 1} for key in keys.split(",")]
    data, refused = octcore.load_sample("iris"), []
    groups = octcore.compare(data, plans, on_refused=lambda key, why: refused.append(key))
    assert [len(group) for group in groups] == [1, 0, 1]
    assert refused == ["flow-oct"]
    with pytest.raises(octcore.TooLargeError):
        octcore.compare(data, plans)


@pytest.mark.slow
def test_compare_prints_one_line_per_formulation(
    iris: str, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["compare", iris, "--target", "species", "--formulations", "cart,path-search"]
    assert main(arguments) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines[1:]] == ["cart", "path-search"]


def test_a_path_says_that_classes_have_weights(
    iris: str, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["path", iris, "--target", "species", "--depth", "1"]
    for weights in ([], ["--constraint", "class_weight=virginica:9"]):
        assert main([*command, *weights]) == 0
        assert ("weighted accuracy; each step" in capsys.readouterr().out) == bool(weights)


def test_stopping_one_training_of_a_comparison_stops_it_and_writes_what_is_there(
    iris: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def stopped(data: octcore.Dataset, settings: dict[str, Any], **_: object) -> octcore.Run:
        return replace(octcore.solve(data, **settings), stop_reason="cancelled")

    monkeypatch.setattr("octcore.cli.solving.solve_in_child", stopped)
    arguments = ["compare", iris, "--target", "species", "--formulations", "cart,path-search"]
    assert main([*arguments, "--json", str(tmp_path / "runs.json")]) == 130
    shown = capsys.readouterr()
    assert [line.split()[0] for line in shown.out.splitlines()[1:]] == ["cart"]
    assert shown.err.endswith("octcore: stopped.\n")
    assert len(json.loads((tmp_path / "runs.json").read_text())) == 1


def test_compare_refuses_before_it_solves_and_loses_no_finished_run(
    iris: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    solved: list[str] = []

    def failing(data: octcore.Dataset, settings: dict[str, Any], **_: object) -> octcore.Run:
        solved.append(settings["formulation"])
        if settings["formulation"] == "path-search":
            raise EngineError("BROKE", "It broke.")
        return octcore.solve(data, **settings)

    monkeypatch.setattr("octcore.cli.solving.solve_in_child", failing)
    arguments = ["compare", iris, "--target", "species", "--depth", "1", "--formulations"]
    assert main([*arguments, "cart,margot"]) == 2
    assert "separates 2 classes" in capsys.readouterr().err
    assert not solved
    assert main([*arguments, "cart,path-search"]) == 2
    told = capsys.readouterr()
    assert [line.split()[0] for line in told.out.splitlines()[1:]] == ["cart"]
    assert "It broke." in told.err


@pytest.mark.slow
@pytest.mark.long
def test_compare_repeats_on_further_splits_and_says_first_what_that_takes(
    iris: str, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["compare", iris, "--target", "species", "--formulations", "cart"]
    arguments += ["--repeats", "3", "--time-limit", "20"]
    assert main(arguments) == 2
    assert "held out" in capsys.readouterr().err
    assert main([*arguments, "--test-size", "0.3"]) == 0
    shown = capsys.readouterr()
    assert "3 solves of 20 s each at most, 1 at once" in shown.err
    assert "and the start of every solve" in shown.err  # which no limit counts
    assert shown.out.splitlines()[1].split()[:2] == ["cart", "3"]


@pytest.mark.slow
@pytest.mark.long
def test_one_versus_rest_and_class_versus_rest(
    iris: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    common = ["solve", iris, "--target", "species", "--formulation", "margot", "--depth", "1"]
    common += ["--time-limit", "120"]
    assert main([*common, "--classes", "one-vs-rest", "--test-size", "0.2", "--json", "-"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert len(record["runs"]) == len(record["classes"]) == 3
    assert "nothing is proven about them together" in record["summary"]
    assert record["accuracy"] > 0.6
    assert record["test_accuracy"] is not None
    assert [run["n_train"] for run in record["runs"]] == [120, 120, 120]
    model = str(tmp_path / "m.json")
    assert main([*common, "--classes", "setosa", "--model", model]) == 0
    assert "not setosa" in capsys.readouterr().out
    assert main([*common, "--classes", "one-vs-rest", "--model", model]) == 2
    assert "one tree per class, which --model cannot take" in capsys.readouterr().err
    assert main([*common, "--classes", "sunflower"]) == 2
    assert "none of the classes" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.long
def test_training_on_selected_rows(iris: str, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["solve", iris, "--target", "species", "--formulation", "s-oct", "--depth", "2"]
    arguments += ["--time-limit", "60", "--param", "start_seconds=5", "--gap", "1"]
    selecting = ["--select-rows", "hull", "--select-rounds", "2", "--json", "-"]
    assert main([*arguments, *selecting]) == 0
    record = json.loads(capsys.readouterr().out)
    selection = record["selection"]
    assert record["n_train"] == selection["rows"] < selection["of"] == 150
    assert selection["accuracy"] == max(selection["rounds"]) > 0.9
    assert any("selected subset" in text for text in record["certificate"]["statements"])
    assert main(["solve", iris, "--target", "species", *selecting]) == 2
    assert "threshold-search splits on one column at a time" in capsys.readouterr().err
    assert main([*arguments, "--select-rows", "all"]) == 2
    assert main([*arguments, "--select-rows", "hull", "--select-rounds", "0"]) == 2
    assert "select_rounds must be a whole number" in capsys.readouterr().err


@pytest.mark.skipif(sys.platform == "win32", reason="a folder in use stays")
def test_a_folder_that_is_gone_takes_no_output(
    iris: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    assert main(["solve", iris, "--target", "species", "--json", "run.json"]) == 2
    assert "run.json cannot be written: No such file" in capsys.readouterr().err


@pytest.mark.long
def test_rows_with_a_gap_get_an_empty_prediction_and_the_others_theirs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    train, new, model = (str(tmp_path / name) for name in ("train.csv", "new.csv", "m.json"))
    rows = "".join(f"{i},{'ab'[i > 14]},{'yn'[i > 14]}\n" for i in range(30))
    Path(train).write_text("size,kind,y\n" + rows, encoding="utf-8")
    Path(new).write_text("size,kind\n3,a\n,a\n20,b\nn/a,b\n", encoding="utf-8")
    asked = ["solve", train, "--target", "y", "--depth", "1", "--missing", "category"]
    assert main([*asked, "--drop", "kind", "--formulation", "cart", "--model", model]) == 0
    capsys.readouterr()
    assert main(["predict", model, new, "--proba"]) == 0
    out, said = capsys.readouterr()
    table = pd.read_csv(io.StringIO(out))
    assert table["prediction"].fillna("").tolist() == ["y", "", "n", ""]
    assert table.filter(like="probability").isna().all(axis=1).tolist() == [False, True] * 2
    assert "2 rows without a usable value in a column that is needed (rows 2, 4)" in said
    Path(new).write_text("size,kind\n,a\n", encoding="utf-8")
    assert main(["predict", model, new, "--proba"]) == 0
    assert "needed (row 1) gets no prediction" in capsys.readouterr().err


@pytest.mark.slow
def test_values_that_never_came_up_in_training_are_said_with_their_rows(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [f"{'red blue green'.split()[i % 3]},{i % 2},{i},{'ab'[i % 3 == 1]}" for i in range(30)]
    train, new, model = (str(tmp_path / name) for name in ("train.csv", "new.csv", "m.json"))
    Path(train).write_text("colour,member,size,y\n" + "\n".join(rows), encoding="utf-8")
    Path(new).write_text("colour,member,size\npink,0,-9\nred,2,99\npink,1,1e9", encoding="utf-8")
    assert main(["solve", train, "--target", "y", "--depth", "1", "--model", model]) == 0
    capsys.readouterr()
    assert main(["predict", model, new, "--output", str(tmp_path / "out.csv")]) == 0
    said = capsys.readouterr().err.splitlines()
    assert [line.split("; ")[0] for line in said] == [  # no split asks for “member”
        "octcore: 2 rows of column “colour” have a value that never came up in training (“pink”)",
    ]


def test_samples_are_written_as_they_are(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "xor.csv"
    assert main(["samples", "xor", "--output", str(target)]) == 0
    assert target.read_bytes() == sample_bytes("xor")
    assert main(["samples"]) == 0
    assert "xor" in capsys.readouterr().out


@pytest.mark.long
def test_near_optimal_counts_say_which_trees_they_count(
    iris: str, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["near-optimal", iris, "--target", "species", "--depth", "1", "--trees", "0"]
    some = ["--with", "petal length (cm)", "--without", "sepal width (cm)", "--gain"]
    assert main([*command, *some]) == 0
    said = "with “petal length (cm)”, without “sepal width (cm)”, whose splits all lower the errors"
    told = capsys.readouterr().out
    assert f"of at most depth 1 {said} lie within" in told
    assert re.search(r"petal length \(cm\) +100.0 % +100.0 %", told)
    assert main(command) == 0
    assert "of at most depth 1 lie within" in capsys.readouterr().out


@pytest.mark.parametrize("quantiles", ["9-3", "many"])
def test_quantiles_that_name_none_are_refused(
    quantiles: str, iris: str, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["binarization", iris, "--target", "species", "--quantiles", quantiles]
    assert main([*command, "--depth", "1"]) == 2
    assert "--quantiles takes 2-20 or 5" in capsys.readouterr().err


def test_near_optimal_without_a_tree_lists_no_sizes(
    iris: str, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["near-optimal", iris, "--target", "species", "--depth", "1", "--trees", "0"]
    names = [name for name in pd.read_csv(iris).columns if name != "species"]
    assert main([*command, *(part for name in names for part in ("--without", name))]) == 0
    said = capsys.readouterr().out
    assert said.startswith("0 trees")
    assert "leaves:" not in said


def test_a_path_that_takes_too_long_says_what_would_help(
    iris: str, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["path", iris, "--target", "species", "--depth", "6", "--encoding", "QT-20"]
    assert main([*command, "--time-limit", "0.01"]) != 0
    assert "longer than 0.01 s; take a smaller depth" in capsys.readouterr().err


def test_costs_that_are_no_table_are_refused_as_such(
    iris: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["solve", iris, "--target", "species", "--costs", "[1, 2]"]) == 2
    said = capsys.readouterr().err
    assert "costs must be a table {true class: {answer: cost}}" in said
    assert said.endswith("but '[1, 2]' was given.\n")


def test_results_go_to_a_stream_of_text_as_well(iris: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdout", io.StringIO())
    assert main(["path", iris, "--target", "species", "--depth", "1", "--json", "-"]) == 0
    assert json.loads(sys.stdout.getvalue())["format"] == "octcore-path"  # type: ignore[attr-defined]


def test_a_grid_reads_side_constraints_as_their_own_option_does() -> None:
    texts = ["class_weight=balanced,none", "max_leaves=2,none", "leaf_penalty=0.1", "depth=1,2"]
    grid = parse_grid(texts, "threshold-search")
    assert grid == {
        "class_weight": ["balanced", None],
        "max_leaves": [2, None],
        "leaf_penalty": [0.1],
        "depth": [1, 2],  # numbers in the JSON as well, as those of a declared grid
    }


def test_tune_says_which_options_the_grid_replaces(
    iris: str, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["tune", iris, "--target", "species", "--formulation", "cart", "--protocol", "2-fold"]
    assert main([*command, "--grid", "depth=1", "--depth", "3"]) == 0
    assert "depth is taken from the grid, not from its own option" in capsys.readouterr().err
    assert main([*command, "--grid", "depth=1"]) == 0
    assert "from the grid" not in capsys.readouterr().err
    assert main([*command, "--grid", "nosuch=1,2"]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1  # nothing is announced


@pytest.mark.parametrize("asked", [[], ["--time-limit", "0.5"]])
def test_the_help_of_a_model_states_the_limit_of_its_solve(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], asked: Any
) -> None:
    """It said 60 seconds, beside "for one second by default"."""
    with pytest.raises(SystemExit):
        main(["model", "--help"])
    told = re.search(r"--time-limit S\s[^(]+\(default\s+([\d.]+)\)", capsys.readouterr().out)
    assert told is not None
    limits = []
    monkeypatch.setattr(
        "octcore.solving.solve.solve",
        lambda *_, time_limit, **__: (limits.append(time_limit), sys.exit(0)),
    )
    (tmp_path / "rows.csv").write_text("a,y\n1,u\n2,v\n3,v\n")
    with pytest.raises(SystemExit):
        main(["model", str(tmp_path / "rows.csv"), "--target", "y", "--output", "m.lp", *asked])
    assert limits == [float(asked[1] if asked else told[1])]
