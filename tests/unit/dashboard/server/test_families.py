"""Solves that belong together, and the report of a comparison."""

from __future__ import annotations

import re

import numpy as np
import pytest

from dashboard.server.families import Family, one_for_every_class, takes_too_few_classes
from dashboard.server.supervisor import Supervisor
from dashboard.views.compare.report import comparison_html
from octcore.data.samples import load_sample
from octcore.formulations.base import get_formulation
from octcore.plotting.accuracy import Spread
from octcore.plotting.gap_plot import Entrant
from octcore.solving.solve import solve
from octcore.worker.client import WorkerPool
from tests.unit.worker.case import FAKE_COMMAND, rows


@pytest.fixture(scope="module")
def iris():
    return load_sample("iris")


def test_one_tree_for_every_class_shares_the_held_out_rows(iris):
    settings = {"formulation": "path-search", "depth": 1, "test_size": 0.2, "encoding": "QT-5"}
    parts, each = one_for_every_class(iris, settings)
    family = Family(iris, ("a", "b", "c"), 0.2)
    train, test = family.parts
    assert test.n_samples == 30
    assert "test_size" not in each
    assert [part.n_classes for part in parts] == [2, 2, 2]
    assert all((part.frame.index == train.frame.index).all() for part in parts)
    runs = [solve(part, **each) for part in parts]
    shares = family.accuracy(runs)
    assert 0.6 < shares[0] <= 1.0
    assert shares[1] == pytest.approx(round(30 * shares[1]) / 30)


def test_a_family_is_the_same_after_a_restart_of_the_server(iris, tmp_path):
    settings = {"formulation": "cart", "depth": 1}
    with WorkerPool(idle=0, command=FAKE_COMMAND) as pool:
        server = Supervisor(cores=1, store=tmp_path / "runs.db", pool=pool)
        run_id = server.submit("me", rows("kill"), settings)
        assert server.wait(run_id, 180)
        server.keep_family(Family(iris, (run_id,), 0.2, 3, n_selected=10))
        server.close()
    again = Supervisor(cores=1, store=tmp_path / "runs.db", pool=WorkerPool(idle=0))
    try:
        family = again.family(run_id)
        assert family is not None
        assert (family.runs, family.test_size, family.seed, family.n_selected) == (
            (run_id,), 0.2, 3, 10,
        )  # fmt: skip
        assert family.parts[1].n_samples == 30
        assert again.family("another") is None
    finally:
        again.close()


def test_only_formulations_for_two_classes_ask(iris):
    assert takes_too_few_classes(get_formulation("margot").info, iris)
    assert not takes_too_few_classes(get_formulation("flow-oct").info, iris)


def test_a_tree_of_selected_rows_is_judged_on_all(iris):
    rows = np.arange(0, 150, 3)
    run = solve(iris.subset(rows), "path-search", depth=2)
    whole, held_out = Family(iris, ("x",), n_selected=len(rows)).accuracy([run])
    assert held_out is None
    predicted = run.tree.predict_codes(run.encoding.transform(iris.frame))
    assert whole == pytest.approx(np.mean(predicted == iris.y))


def test_the_report_of_a_comparison_is_one_escaped_file(iris):
    runs = [solve(iris, "path-search", depth=d, test_size=0.25, encoding="QT-5") for d in (1, 2)]
    labels = ["depth 1 <b>", "depth 2"]
    entrants = [Entrant(label, run.trace, "accuracy", "same", run.objective, (0.0, 1.0))
                for label, run in zip(labels, runs, strict=True)]  # fmt: skip
    html = comparison_html(entrants, runs, labels, [Spread("depth 1", (0.9,), (0.8,))], 0.25)
    assert "depth 1 &lt;b&gt;" in html
    assert "<b>depth 1 <b>" not in html
    assert html.count("<svg") >= 4
    assert "What differs" in html
    assert "Accuracy on repeated splits" in html
    assert "<script" not in html
    assert not re.search(r"(src|href)=.http", html)
