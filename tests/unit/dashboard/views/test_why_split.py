"""Why a node splits so, in words, against routing."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from dashboard.server.job_view import JobView
from dashboard.views.explore import why_split
from octcore.data.samples import load_sample
from octcore.formulations.base import loss_words
from octcore.plotting.thresholds import first_split_words, measure_of
from octcore.solving.column_values import most_lost
from octcore.solving.solve import solve


@pytest.mark.parametrize("node", [1, 3])
def test_the_price_of_the_best_other_column_is_what_a_tree_with_it_loses(node: int) -> None:
    run = solve(load_sample("iris"), depth=2, test_size=0.25, params={"leaf_penalty": 0.01}).needed
    assert node in run.tree.splits
    own = run.encoding.columns[run.tree.splits[node].features[0]].raw
    others = [value for value in run.values(node=node) if value.column != own]
    best = max(others, key=lambda value: value.value)
    first, *decide = why_split.price_words(run, node, best)
    X, y = run.encoding.transform(run.train.frame), run.train.codes
    rows = run.tree.node_rows(X)[node]
    its = best.tree.predict_codes(X[rows]) == y[rows]
    mine = run.tree.predict_codes(X[rows]) == y[rows]
    assert f"{its.sum()} row" in first
    other = "" if its.sum() == mine.sum() else f" instead of {mine.sum()}"
    assert f"of {len(rows)} right here{other}, with" in first
    leaves = sum(
        leaf >> (leaf.bit_length() - node.bit_length()) == node for leaf in run.tree.labels
    )
    lost = mine.sum() - its.sum()
    price = 100 * (lost / len(X) + 0.01 * (best.tree.n_leaves - leaves))
    said = re.search(r"costs ([\d.]+) points", first)
    assert (float(said[1]) if said else 0.0) == pytest.approx(price, rel=0.05, abs=1e-6)
    ahead, behind = int((mine & ~its).sum()), int((its & ~mine).sum())
    assert len(decide) == (ahead > 0) + (behind > 0)
    lines = sorted(run.train.row_lines[rows[mine & ~its]].tolist())
    if lines:
        assert f"Right only with this split: {ahead} row" in decide[0]
        assert all(str(line) in decide[0] for line in lines[: why_split.MOST_LINES])


@pytest.mark.parametrize(("depth", "is_best"), [(2, True), (1, False)])
def test_values_of_all_columns_prove_the_tree_of_a_solve_that_stopped(depth, is_best) -> None:
    data, params = load_sample("monks-1"), {"leaf_penalty": 0.001}
    best = solve(data, "path-search", depth=depth, params=params)
    stopped = replace(best, status="feasible", stop_reason="time_limit", bound=1.0)
    whole = solve(data, "path-search", depth=2, params=params)
    assert why_split.closes(stopped, whole.values(node=1)) is is_best
    assert not why_split.closes(best, best.values(node=1))
    kept = replace(stopped, certificate=replace(best.certificate, method="near-optimal"))
    assert not why_split.closes(kept, whole.values(node=1))  # a single leaf may be better


def test_a_price_in_an_objective_that_counts_rows_is_none_in_points() -> None:
    run = solve(load_sample("iris"), depth=2, params={"split_weight": 0.5}).needed
    value = next(v for v in run.values() if v.column == "sepal width (cm)")
    lost = run.objective - value.value
    assert f"costs {lost:.4g} of the objective: " in next(why_split.price_words(run, 1, value))
    assert "accuracy" not in measure_of(run)
    assert loss_words(most_lost(run), run.settings) == "0.01 of the objective"


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({}, "1.25 points"),
        ({"params": {"leaf_penalty": 0.01}}, "1.25 points"),
        ({"constraints": {"class_weight": "balanced"}}, "1.25 weighted points"),
        ({"refer": 0.1}, "1.25 points of mean cost and leaves"),
        ({"params": {"split_weight": 0.5}}, "0.0125 of the objective"),
    ],
)
def test_a_loss_is_told_in_what_the_objective_counts(settings, words: str) -> None:
    assert loss_words(0.0125, settings) == words


def test_a_question_about_a_level_is_asked_positively() -> None:
    run = solve(load_sample("tic-tac-toe"), depth=1).needed
    words = [first_split_words(value.tree, run.encoding) for value in run.values(node=1)]
    assert len(words) > 1
    assert all(" is " in said and " is not " not in said for said in words if said)


@pytest.mark.parametrize("node", [1, 3])
def test_no_other_column_is_called_best_where_the_time_gave_none_of_the_tree(
    node, monkeypatch
) -> None:
    """The chart began with a column that costs 0.0003, as the best, and left out the tree's own."""
    run = solve(load_sample("iris"), depth=2).needed
    own = run.encoding.columns[run.tree.splits[node].features[0]].raw
    values = [
        replace(value, is_exact=value.column != own, value=value.value + (value.column == own))
        for value in run.values(node=node)
    ]
    drawn = []
    monkeypatch.setattr(why_split.chart, "show", lambda figure, **_: drawn.append(figure))
    monkeypatch.setattr(why_split.thresholds, "draw_on_press", lambda *_: None)
    job = JobView("x", "x", {}, "done", result={"values": [value.to_dict() for value in values]})
    why_split._answer("x", run, node, job)
    dots = next(trace for trace in drawn[0].data if trace.marker.size == 15)
    told = dict(zip(dots.y, dots.text, strict=True))
    assert told[own] == f"{run.objective:.4g} (best)"
    assert {words for words in told.values() if "best" in words} == {told[own]}
