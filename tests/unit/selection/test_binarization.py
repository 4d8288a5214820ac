"""The price of binarization: what encodings lose against all thresholds, by routing."""

from __future__ import annotations

import json

import pytest

import octcore
from octcore.cli import main
from octcore.encoding import fit
from octcore.errors import SettingsError, TooLargeError
from octcore.plotting.palette import LIGHT
from octcore.plotting.price_paths import binarization_data, binarization_figure
from octcore.selection.binarization import BinarizationPath, binarization_path


@pytest.fixture(scope="module")
def path() -> BinarizationPath:
    return binarization_path(octcore.load_sample("iris"), depth=2, quantiles=(2, 5))


def test_nothing_beats_all_thresholds_and_class_changes_lose_nothing(path) -> None:
    assert [p.encoding for p in path.points] == [
        "raw", "class-change", "QB-2", "QB-5", "QT-2", "QT-5",
    ]  # fmt: skip
    assert {p.status for p in path.points} == {"optimal"}
    prices = [path.price(p.encoding) for p in path.points]
    assert all(price is not None and price >= -1e-12 for price in prices)
    assert path.price("class-change") == pytest.approx(0.0, abs=1e-12)
    assert path.price("QT-2") > 0.1
    for point in path.points:
        assert point.objective == pytest.approx(point.accuracy - 0.01 * point.leaves)


def test_a_bucket_may_beat_all_thresholds_and_the_words_say_so(tmp_path, capsys) -> None:
    """One class lies between two thresholds: a bucket asks for both at once."""
    lines = [f"{x},{'in' if 10 <= x < 20 else 'out'}" for x in range(30)]
    (tmp_path / "band.csv").write_text("\n".join(["x,y", *lines]), encoding="utf-8")
    asked = ["--target", "y", "--depth", "1", "--quantiles", "3", "--test-size", "0"]
    assert main(["binarization", str(tmp_path / "band.csv"), *asked]) == 0
    said = capsys.readouterr().out
    (line,) = [line for line in said.splitlines() if "QB-3" in line]
    assert float(line.split()[-1]) == pytest.approx(-0.32333)
    assert "below 0 where buckets" in said


@pytest.mark.long
def test_side_constraints_hold_on_every_encoding() -> None:
    """Floors were refused in the name of a search that nobody had asked for."""
    asked = {"min_recall": {"malignant": 0.97}}
    path = binarization_path(
        octcore.load_sample("wdbc"), depth=1, quantiles=(2,), constraints=asked, test_size=0
    )
    assert path.best is not None
    assert path.best.objective is not None
    for point in path.points:
        assert point.status in {"optimal", "infeasible"}
        assert point.objective is None or point.objective <= path.best.objective + 1e-9


def test_the_cuts_are_those_of_the_tree(path) -> None:
    data = octcore.load_sample("iris")
    run = octcore.solve(data, depth=2, test_size=0.25)
    cuts = {value for values in path.best.thresholds.values() for value in values}
    assert cuts == {split.threshold for split in run.tree.splits.values()}


def test_it_survives_json_and_draws(path) -> None:
    again = BinarizationPath.from_dict(json.loads(json.dumps(path.to_dict())))
    assert again.points == path.points
    record = binarization_data(again)
    assert [q for q, _, _ in record.curves["QT"]] == [2, 5]
    assert record.levels["raw"] == (path.best.objective, True)
    figure = binarization_figure(binarization_data(path, "seconds"), LIGHT)
    assert [trace.name for trace in figure.data][-1] == "all thresholds"


def test_a_stop_keeps_what_is_done() -> None:
    done: list[int] = []
    path = binarization_path(
        octcore.load_sample("iris"),
        depth=1,
        quantiles=(2, 3, 4),
        on_point=lambda point, n, total: done.append(n),
        cancel=lambda: len(done) >= 2,
    )
    assert len(path.points) == 2
    assert not path.is_complete
    assert path.price("class-change") == pytest.approx(0.0, abs=1e-12)
    assert path.price("QB-2") is None  # not solved


def test_an_encoding_that_is_too_large_loses_no_other(monkeypatch) -> None:
    """All thresholds were solved, and lost when class changes found no room."""
    refuse = fit._refuse_too_large

    def full(key, *rest) -> None:
        if key.key == "class-change":
            raise TooLargeError("TOO_LARGE", "No room.", {})
        refuse(key, *rest)

    monkeypatch.setattr(fit, "_refuse_too_large", full)
    path = binarization_path(octcore.load_sample("iris"), depth=1, quantiles=(2,))
    status = {point.encoding: point.status for point in path.points}
    assert status == {"class-change": "too large"} | dict.fromkeys(
        ("raw", "QB-2", "QT-2"), "optimal"
    )
    assert path.is_complete
    assert path.price("class-change") is None
    assert BinarizationPath.from_dict(json.loads(json.dumps(path.to_dict()))).points == path.points
    for measure in ("objective", "seconds"):
        record = binarization_data(path, measure)
        assert set(record.levels) == {"raw"}
        binarization_figure(record, LIGHT)
    assert path.table()["seconds"].isna().tolist() == [False, True, False, False]


def test_the_command_prints_prices(tmp_path, capsys) -> None:
    file = tmp_path / "iris.csv"
    assert main(["samples", "iris", "--output", str(file)]) == 0
    capsys.readouterr()
    words = ["binarization", str(file), "--target", "species", "--depth", "1"]
    assert main([*words, "--quantiles", "3", "--json", "-"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert {p["encoding"] for p in record["points"]} == {"QB-3", "QT-3", "class-change", "raw"}
    assert main([*words, "--quantiles", "few"]) == 2
    assert "--quantiles takes" in capsys.readouterr().err


def test_an_unknown_family_is_refused() -> None:
    with pytest.raises(SettingsError, match="binarization_path has no family"):
        binarization_path(octcore.load_sample("iris"), families=("QX",))
