"""The archive of a comparison: what stands in it is what the runs say."""

from __future__ import annotations

import io
import json

import pandas as pd
import pytest

import octcore
from dashboard.views.compare import report as paper
from octcore.plotting import text
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


def test_gaps_of_a_comparison_are_those_of_the_solves_not_what_another_has_proven():
    data = octcore.load_sample("iris")
    own = octcore.solve(data, **FLOW | {"encoding": "QT-5", "depth": 2, "node_limit": 1})
    proven = octcore.solve(data, "path-search", encoding="QT-5", depth=2)
    lent = own.bounded_by(proven.objective, "“proven”")
    assert lent.gap != own.gap > 0.01
    told = paper.comparison_data((lent, proven), ("open", "proven"))
    facts = {fact.name: fact.values for fact in told.facts}
    assert facts["gap"] == (text.gap(own.gap), text.gap(0.0))
    assert facts["bound"] == (text.fixed(own.bound), text.fixed(proven.bound))


def test_a_slice_of_a_plane_is_said_to_be_one_beside_other_trees():
    finches = {"data": octcore.load_sample("finches"), "formulation": "path-search"}
    run = octcore.solve(**finches, encoding="QT-5", depth=3, params={"leaf_penalty": 0.0})
    assert "The regions are a slice at habitat = " in paper.comparison_html((), (run,), ("exact",))
