"""The archive of a comparison: what stands in it is what the runs say."""

from __future__ import annotations

import io
import json

import pandas as pd
import pytest

import octcore
from dashboard.views.compare import report as paper
from octcore.solving.run import Run

FLOW = {"formulation": "flow-oct", "encoding": "QT-2", "depth": 1, "time_limit": 30}


@pytest.fixture(scope="module")
def runs() -> tuple[Run, Run]:
    data = octcore.load_sample("iris")
    return octcore.solve(data, "cart", depth=1), octcore.solve(data, **FLOW)


def test_the_archive_holds_table_report_references_and_every_run(runs):
    files = paper.paper_files(runs, ("Greedy", "Flow"), "<p>report</p>")
    table = pd.read_csv(io.StringIO(files["comparison.csv"])).set_index("fact")
    for label, run in zip(("Greedy", "Flow"), runs, strict=True):
        assert table.loc["leaves", label] == str(len(run.tree.labels))
        assert table.loc["certificate", label] == run.badge
    prices = [f"{run.params['leaf_penalty']:g}" for run in runs]  # defaults of their own
    assert [*table.loc["leaf penalty", ["Greedy", "Flow"]]] == prices == ["0", "0.01"]
    assert files["report.html"] == "<p>report</p>"
    assert "what it covers" in files["comparison.csv"]
    assert "what it covers" not in files["comparison.tex"]
    assert r"Greedy & Flow \\" in files["comparison.tex"]
    assert Run.from_dict(json.loads(files["2-flow-oct/run.json"])).objective == runs[1].objective
    assert files["2-flow-oct/solve.log"] == runs[1].log()
    assert files["1-cart/tree.svg"].startswith("<svg")
    assert {"2-flow-oct/model.mps", "2-flow-oct/model.lp"} <= set(files)


def test_a_model_that_there_is_not_or_that_is_too_large_is_said(runs, monkeypatch):
    monkeypatch.setattr(paper, "MOST_ENTRIES", 10)
    files = paper.paper_files(runs, ("Greedy", "Flow"), "")
    assert not any(name.endswith((".mps", ".lp")) for name in files)
    greedy, flow = files["README.txt"].splitlines()[2:4]
    assert greedy.startswith("1-cart: Greedy; ")
    assert "bound –, seed" in greedy
    assert "no model file: " in greedy
    assert "no model file: " in flow
    assert f"objective {runs[1].objective}" in flow
    assert f"seed {runs[1].settings['seed']}" in flow
