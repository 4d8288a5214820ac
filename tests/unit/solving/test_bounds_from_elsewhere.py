"""Bounds that a run has not proven itself: by leaves and classes, and by another run's proof."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from octcore.cli import main
from octcore.data.dataset import Dataset
from octcore.engines.events import Event, relative_gap
from octcore.formulations.base import get_formulation
from octcore.solving.finish import REACHED, run_from_incumbent
from octcore.solving.prepare import prepare
from octcore.solving.run import JobState
from octcore.solving.settings import check_settings, question
from octcore.solving.solve import solve
from octcore.store.runs import RunStore
from octcore.tree.tree import Tree

MANY = Dataset.from_arrays(np.arange(40.0)[:, None], np.arange(40) // 2)
"""Twenty classes of two rows beside each other: a tree of four leaves is right for eight rows."""


def random_data(seed: int) -> Dataset:
    rng = np.random.default_rng(seed)
    rows, classes = int(rng.integers(6, 30)), int(rng.integers(2, 8))
    return Dataset.from_arrays(
        rng.integers(0, 5, (rows, 3)).astype(float), rng.integers(0, classes, rows) // 2
    )


@pytest.mark.sampled(10)
@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize(
    ("params", "constraints"),
    [
        ({"leaf_penalty": 0.0}, {}),
        ({"leaf_penalty": 0.04}, {"max_leaves": 3}),
        ({"split_weight": 0.3}, {}),
        ({"leaf_penalty": 0.01}, {"class_weight": "balanced", "max_splits": 1}),
    ],
)
def test_no_tree_exceeds_what_its_leaves_can_name(seed, params, constraints):
    data = random_data(seed)
    asked: dict[str, Any] = {"depth": 2, "params": params, "constraints": constraints}
    for key in ("threshold-search", "path-search"):
        prepared = prepare(data, check_settings(key, **asked))
        program = get_formulation(key).build(prepared.problem)
        run = solve(data, key, **asked)
        assert run.is_optimal
        assert program.reach >= run.objective - 1e-9


def test_a_run_that_ended_early_is_bounded_by_classes_and_leaves():
    settings = {"formulation": "threshold-search", "depth": 2, "params": {"leaf_penalty": 0.01}}
    leaf = Tree({}, {1: 0}, 1, 20)
    events = (Event(0.1, "incumbent", 0.04, 0.99, "start", tree=leaf),)
    run = run_from_incumbent(MANY, settings, events, "error", 1.0)
    assert run.bound == pytest.approx(0.2 - 0.04)
    assert run.badge == "Best found, up to 12.0 points better possible"
    assert solve(MANY, **settings).objective == pytest.approx(run.bound)
    assert run.settings["engine"] == solve(MANY, **settings).settings["engine"]
    greedy = solve(MANY, "cart", depth=2)
    assert greedy.bound is None


def test_the_trace_ends_with_the_bound_of_its_run():
    settings = {"depth": 2, "encoding": "QT-5", "params": {"leaf_penalty": 0.01}}
    run = solve(MANY, "flow-oct", **settings, time_limit=0.01)
    assert run.status == "feasible"
    assert run.bound == pytest.approx(0.2 - 0.04)
    assert run.trace.events[-1].bound == run.bound
    assert run.certificate.statements.count(REACHED) == 1


def unproven(formulation: str = "threshold-search", n_features: int = 1) -> Any:
    events = (Event(0.1, "incumbent", 0.04, 0.99, "start", tree=Tree({}, {1: 0}, n_features, 20)),)
    settings = {"formulation": formulation, "depth": 2}
    return run_from_incumbent(MANY, settings, events, "time_limit", 1.0)


@pytest.mark.parametrize(("beyond", "verdict"), [(0.0, "confirmed"), (0.01, "refuted")])
def test_a_bound_by_leaves_and_classes_is_judged_by_verification(beyond, verdict):
    run = unproven()
    assert run.certificate.statements[0] == REACHED
    bound = run.bound + beyond
    found = replace(run, bound=bound, gap=relative_gap(run.objective, bound)).verify()
    assert found.status == verdict
    assert beyond == 0 or REACHED in found.statement


def test_a_proof_of_another_run_tightens_a_bound_and_is_named():
    run = unproven()
    known = run.bounded_by(run.objective + 0.02, "“long one”")
    assert known.badge == "Best found, up to 2.0 points better possible"
    assert not known.is_optimal
    assert known.certificate.sentences[-1] == (
        "bounded by the proof of another run of the same question, “long one”"
    )
    assert run.bounded_by(run.objective, "x").badge == "Best found, none is better"
    model = unproven("flow-oct", 4)
    closed = model.bounded_by(model.objective, "x")
    assert "This run left the optimum open" in closed.findings[-1]  # which is not open any more


def test_a_bound_that_says_less_or_contradicts_the_tree_is_not_taken():
    run = unproven()
    assert run.bounded_by(run.bound + 0.1, "x") is run
    assert run.bounded_by(run.objective - 0.01, "x") is run
    proven = solve(MANY, depth=2)
    assert proven.bounded_by(proven.objective, "x") is proven


def test_the_command_line_tells_the_bound_of_a_later_proof(tmp_path, capsys):
    """Of one run, `runs show`, `runs list`, `report` and the app say one bound."""
    path, run, proven = str(tmp_path / "runs.db"), unproven(), solve(MANY, depth=2)
    store = RunStore(path)
    ids = [store.begin(MANY, r.settings, name) for r, name in ((run, "short"), (proven, "long"))]
    for run_id, finished in zip(ids, (run, proven), strict=True):
        store.finish(run_id, JobState.DONE, finished)
    elsewhere = store.begin(MANY, run.settings, "of another browser", "other")
    store.finish(elsewhere, JobState.DONE, run)
    store.close()
    assert proven.objective is not None
    known = run.bounded_by(proven.objective, "“long”")
    assert known.bound == proven.objective != run.bound
    assert main(["runs", "--store", path, "show", ids[0]]) == 0
    out = capsys.readouterr().out
    assert f"bound {known.bound:.6g}" in out
    assert known.certificate.sentences[-1] in out
    assert main(["runs", "--store", path, "list", "--json", "-"]) == 0
    lines = {line["id"]: line["summary"] for line in json.loads(capsys.readouterr().out)}
    assert (lines[ids[0]]["bound"], lines[ids[0]]["badge"]) == (known.bound, known.badge)
    assert lines[elsewhere]["bound"] == run.bound
    page = tmp_path / "report.html"
    assert main(["report", ids[0], "--store", path, "--output", str(page)]) == 0
    assert known.badge in page.read_text()


def test_the_same_question_is_known_whoever_answers_it():
    plain = {"formulation": "flow-oct", "depth": 2, "seed": 3, "time_limit": 5.0}
    search = {"formulation": "path-search", "encoding": "QT-5", "params": {"leaf_penalty": 0.01}}
    assert question(plain) == question(search)
    assert question(plain) == question(check_settings(**plain).to_dict() | {"data": {}})
    others = ({"depth": 3}, {"encoding": "QB-5"}, {"params": {"leaf_penalty": 0.02}},
              {"constraints": {"max_leaves": 3}}, {"test_size": 0.25}, {"formulation": "oct"},
              {"costs": "ordinal"})  # fmt: skip
    for other in others:
        assert question(plain | other) != question(plain)
    held = plain | {"test_size": 0.25}
    assert question(held) != question(held | {"seed": 4})
