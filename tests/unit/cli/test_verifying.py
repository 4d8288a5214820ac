"""`octcore verify` on the file of a run and the rows that it came from."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import octcore
from octcore.cli import main


@pytest.fixture
def stored(tmp_path: Path) -> tuple[str, str]:
    """A run on a target that was cut into classes, and its rows, as files."""
    lines = ["size,colour,price"] + [f"{i % 7},{'red' if i % 3 else 'blue'},{i}" for i in range(40)]
    rows, run = tmp_path / "rows.csv", tmp_path / "run.json"
    rows.write_text("\n".join(lines), encoding="utf-8")
    data = octcore.read_csv(rows, target="price", target_bins=2)
    solved = octcore.solve(data, "path-search", depth=1, verify=False)
    run.write_text(json.dumps(solved.to_dict()), encoding="utf-8")
    return str(run), str(rows)


def test_a_run_on_a_cut_target_is_confirmed(
    stored: tuple[str, str], capsys: pytest.CaptureFixture
) -> None:
    run, rows = stored
    assert main(["verify", run, "--data", rows, "--target-bins", "2"]) == 0
    assert "verified independently" in capsys.readouterr().out


@pytest.mark.parametrize("options", [["--target-bins", "3"], ["--drop", "size"]])
def test_other_rows_are_refused(stored: tuple[str, str], options: list[str]) -> None:
    run, rows = stored
    bins = [] if "--target-bins" in options else ["--target-bins", "2"]
    assert main(["verify", run, "--data", rows, *bins, *options]) == 2


def test_rows_are_needed_and_must_be_the_same_file(
    stored: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    run, rows = stored
    assert main(["verify", run]) == 2
    assert "--data" in capsys.readouterr().err
    other = tmp_path / "other.csv"
    other.write_text(Path(rows).read_text(encoding="utf-8") + "\n1,red,99\n", encoding="utf-8")
    assert main(["verify", run, "--data", str(other), "--target-bins", "2"]) == 2
    assert "other content" in capsys.readouterr().err


@pytest.mark.long
def test_what_a_file_says_was_confirmed_counts_for_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    rows, file = tmp_path / "rows.csv", tmp_path / "run.json"
    rows.write_text("a,b\n" + "".join(f"{i}.5,{i % 2}\n" for i in range(9)), encoding="utf-8")
    data = octcore.read_csv(rows, target="b", kinds={"a": "numeric"})
    settings = {"depth": 2, "params": {"start_seconds": 0.2}, "time_limit": 1000}
    run = octcore.solve(data, "s-oct", **settings, verify=False)
    record = run.with_verification(run.verify()).to_dict()
    options = ["--data", str(rows), "--kind", "a=numeric"]
    for multiplier, code in ((1.0, 0), (3.0, 3)):
        record["values"]["chains"][0]["multiplier"] = multiplier
        file.write_text(json.dumps(record), encoding="utf-8")
        assert main(["verify", str(file), *options]) == code
    assert "not verified" in capsys.readouterr().out


@pytest.mark.slow
def test_a_run_on_parts_of_dates_is_verified_and_predicts_from_rows_below_titles(
    tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    rows, run, model = (str(tmp_path / name) for name in ("rows.csv", "run.json", "model.json"))
    lines = ["Of 2024, as made", "day;ward;y"]
    lines += [f"{1 + i % 28:02d}.03.2024;{'uv'[i % 2]};{'ab'[i % 7 == 2]}" for i in range(56)]
    Path(rows).write_text("\n".join(lines), encoding="utf-8")
    asked = ["--kind", "day=date"]
    solve = ["solve", rows, "--target", "y", "--depth", "2", "--json", run, "--model", model]
    assert main([*solve, *asked]) == 0
    assert main(["verify", run, "--data", rows, *asked]) == 0
    capsys.readouterr()
    assert main(["verify", run, "--data", rows]) == 2
    assert "give the options of the solve, such as --drop, --kind" in capsys.readouterr().err
    assert main(["predict", model, rows, "--output", str(tmp_path / "out.csv")]) == 0
    assert "1 line above the header left out" in capsys.readouterr().err
    scored = (tmp_path / "out.csv").read_text(encoding="utf-8").splitlines()
    assert scored[0] == "day,ward,y,prediction"
    assert all(line.split(",")[2] == line.split(",")[3] for line in scored[1:])
