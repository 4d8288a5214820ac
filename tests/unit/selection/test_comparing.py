"""Comparisons on repeated splits: the same splits for all, here, in processes or on a cluster."""

from __future__ import annotations

import pytest

import octcore
from octcore.errors import SettingsError
from octcore.reports.tables import comparison_table, repeats_table
from octcore.selection.fits import compare
from octcore.solving.run import Run

PLANS = [
    {"formulation": "cart", "depth": 2, "test_size": 0.3, "seed": 4},
    {"formulation": "path-search", "depth": 1, "test_size": 0.3, "seed": 4},
]


def test_all_plans_see_the_same_splits_and_the_first_is_that_of_the_seed() -> None:
    data = octcore.load_sample("iris")
    seen: list[tuple[int, int]] = []
    groups = compare(data, PLANS, 3, on_run=lambda run, done, total: seen.append((done, total)))
    assert seen == [(k, 6) for k in range(1, 7)]
    assert [[run.formulation for run in group] for group in groups] == [
        ["cart"] * 3,
        ["path-search"] * 3,
    ]
    held_out = [[_rows(run) for run in group] for group in groups]
    assert held_out[0] == held_out[1]
    assert len(set(held_out[0])) == 3
    assert groups[0][0].tree == octcore.solve(data, **PLANS[0]).tree
    table = repeats_table(groups)
    assert list(table["splits"]) == [3, 3]
    assert list(table["proven"]) == [0, 3]
    mean = sum(run.test_accuracy or 0.0 for run in groups[1]) / 3
    assert list(table["test_accuracy"])[1] == pytest.approx(mean)
    assert not {"mean_cost", "referred"} & {*table, *comparison_table(groups[0])}


def test_tables_say_what_answers_cost_beside_the_accuracy_of_those_that_are_given() -> None:
    """A tree that leaves most rows to a person was shown as right on all of them, no more."""
    asked = {"formulation": "path-search", "depth": 1, "refer": 0.1, "test_size": 0.3}
    (runs,) = compare(octcore.load_sample("iris"), [asked], 2)
    table, means = comparison_table(runs), repeats_table([runs])
    for name in ("mean_cost", "referred", "test_mean_cost", "test_referred"):
        said = [getattr(run, name) for run in runs]
        assert list(table[name]) == said
        assert means[name][0] == pytest.approx(sum(said) / 2)
    assert runs[0].referred


def _rows(run: Run) -> bytes:
    assert run.train is not None
    return run.train.frame.to_numpy(dtype=float).tobytes()


def test_what_cannot_be_repeated_is_refused_before_the_first_training() -> None:
    data, seen = octcore.load_sample("iris"), []
    with pytest.raises(SettingsError, match="held out"):
        compare(data, [{"formulation": "cart"}], 2)
    with pytest.raises(SettingsError, match="whole number of at least 1"):
        compare(data, PLANS, 0)
    wrong = [*PLANS, {"formulation": "margot", "test_size": 0.3}]
    with pytest.raises(SettingsError, match="2 classes"):
        compare(data, wrong, 2, on_run=lambda *run: seen.append(run))
    assert not seen
