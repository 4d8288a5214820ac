"""What a run says of itself as text."""

from __future__ import annotations

import io

import numpy as np
import pytest

import octcore
from octcore.data.dataset import Dataset
from octcore.solving.report import run_report


@pytest.mark.parametrize("refer", [None, 0.3])
def test_people_are_spoken_of_only_where_they_may_be_asked(refer: float | None):
    table = Dataset.from_arrays(np.arange(6.0)[:, None], np.array([0, 0, 1, 2, 2, 1]), name="steps")
    run = octcore.solve(table, formulation="path-search", depth=1, costs="ordinal", refer=refer)
    lines = [line for line in run_report(run).splitlines() if line.startswith("mean cost")]
    assert len(lines) == 1
    assert ("a person" in lines[0]) == (refer is not None)


@pytest.mark.parametrize(("encoding", "is_said"), [("auto", False), ("QT-5", True)])
def test_what_five_parts_lose_is_said_of_trees_on_five_parts(encoding: str, is_said: bool):
    rows = "".join(f"{i * i / 4},{'ab'[i % 12 < 6]}\n" for i in range(60))
    table = octcore.read_csv(io.BytesIO(f"x,y\n{rows}".encode()), target="y")
    run = octcore.solve(table, depth=1, encoding=encoding)
    assert ("in 5 parts" in run_report(run)) == is_said


def test_a_model_without_a_proof_names_the_search_that_answers_the_same():
    data = octcore.load_sample("wdbc")
    asked: dict = {"depth": 3, "constraints": {"min_recall": {"malignant": 0.9}}}
    run = octcore.solve(data, "bend-oct", time_limit=0.5, **asked)
    assert not run.is_proven
    assert "(threshold-search) asks the same of these columns (encoding QT-5)" in run_report(run)
    for other in ("threshold-search", "cart", "oct"):  # the same search, none, another question
        found = octcore.solve(data, other, time_limit=0.1, depth=3)
        assert "asks the same" not in run_report(found)


def test_a_floor_on_a_recall_is_told_with_what_is_reached():
    data = octcore.load_sample("wdbc")
    asked: dict = {
        "depth": 1,
        "test_size": 0.25,
        "constraints": {"min_recall": {"malignant": 0.95}},
    }
    run = octcore.solve(data, **asked).needed
    told = [line for line in run_report(run).splitlines() if line.startswith("recall")]
    parts = (("held out", run.test), ("training", run.train))
    for line, (part, rows) in zip(told, parts, strict=True):
        ill = rows.y == data.classes.index("malignant")
        found = (run.predict(rows.frame)[ill] == "malignant").sum()
        said = f"recall of malignant, {part}: {found / ill.sum():.2%}, {found} of {ill.sum()}"
        assert line.startswith(said)
    assert told[1].endswith("; at least 95.00% are asked for")
    assert not any(
        line.startswith("recall") for line in run_report(octcore.solve(data, depth=1)).splitlines()
    )


def test_a_log_names_the_costs_that_were_asked_for():
    run = octcore.solve(octcore.load_sample("iris"), depth=1, costs="ordinal", refer=0.3)
    assert "costs=ordinal, refer=0.3" in run.log()
    assert "costs" not in octcore.solve(octcore.load_sample("iris"), depth=1).log()
