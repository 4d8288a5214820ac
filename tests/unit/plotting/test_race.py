"""Races: lines, optimum, who ran with whom, names, and what is offered."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from dashboard.views.compare.presets import (
    fitting_presets,
    flat_settings,
    presets,
    short_labels,
    start_order,
)
from octcore.data.dataset import Dataset
from octcore.data.samples import load_sample
from octcore.engines.events import Trace
from octcore.formulations.base import objective_words
from octcore.plotting import compare
from octcore.plotting.gap_plot import (
    GAP_FLOOR,
    Entrant,
    known_optimum,
    race_data,
    race_figure,
    race_words,
    ran_together,
)
from octcore.plotting.palette import LIGHT
from octcore.plotting.public import _rows_of
from octcore.solving.settings import check_settings
from octcore.solving.solve import solve
from tests.unit.hostile import HOSTILE


def entrant(label, trace=None, **fields) -> Entrant:
    return Entrant(label, Trace() if trace is None else trace, "accuracy", "p", **fields)


@pytest.fixture
def two(trace):
    half = Trace(trace.events[:-3])
    return (
        entrant("slow", half, accuracies=(0.7,)),
        entrant(HOSTILE, trace, proven=0.9, accuracies=(0.7, 0.9)),
    )


def test_gap_lines_end_at_the_floor_only_when_proven(two):
    slow, fast = race_data(two, "gap").series
    assert (slow.index, fast.index) == (0, 1)
    assert slow.values[-1] > GAP_FLOOR
    assert not slow.is_closed
    assert fast.values[-1] == GAP_FLOOR
    assert fast.is_closed


@pytest.mark.parametrize("scale", ["gap", "objective", "accuracy"])
def test_lines_of_what_goes_on_reach_the_present(two, scale):
    slow, *_ = race_data((replace(two[0], elapsed=99.0),), scale).series
    before, *_ = race_data(two[:1], scale).series
    assert slow.seconds[-1] == 99.0
    assert slow.values[-1] == before.values[-1]


def test_objective_lines_come_in_pairs_with_the_optimum(two):
    race = race_data(two, "objective")
    assert [(s.label, s.is_bound) for s in race.series] == [
        ("slow", False), ("slow", True), (HOSTILE, False), (HOSTILE, True),
    ]  # fmt: skip
    assert (race.optimum, race.proven_by) == (0.9, HOSTILE)
    # The first tree (0.7) is out of sight where a better one follows.
    assert race.span[0] < 0.9 < race.span[1]


def test_another_objective_is_left_out_and_said(two, trace):
    other = Entrant("oblique", trace, "errors + margins", "q", proven=0.9)
    race = race_data((*two, other), "objective")
    assert race.left_out == ("oblique",)
    assert {s.label for s in race.series} == {"slow", HOSTILE}


def test_optimum_of_another_problem_is_no_optimum(trace):
    first = entrant("first", trace)
    other = Entrant("other", trace, "accuracy", "another problem", proven=0.9)
    assert known_optimum((first, other)) == (None, "")
    assert "optimum 0.9 " in race_words((other, first), "gap")
    assert "It is not that of first, which solve" in race_words((other, first), "gap")
    assert "optimum" not in race_words((first, other), "gap")


def test_accuracy_line_has_a_point_for_every_tree(two):
    slow, fast = race_data(two, "accuracy").series
    assert slow.values == (0.7, 0.7)
    assert fast.values == (0.7, 0.9, 0.9)


def test_empty_race_has_no_lines():
    race = race_data((entrant("a"), entrant("b")), "gap")
    assert race.series == ()
    assert race.end == 0.0


@pytest.mark.parametrize(
    ("spans", "said"),
    [
        (((0, 9), (1, 5)), "All ran at the same time"),
        (((0, 4), (5, 9)), "ended when the next one began"),
        (((0, 4), (1, 9), (5, 8)), "a with b; b with c"),
        (((0, 4), None), "starts at its own call"),
    ],
)
def test_who_ran_together_is_said(spans, said):
    entrants = [entrant(name, span=span) for name, span in zip("abc", spans, strict=False)]
    assert said in ran_together(entrants)


@pytest.mark.parametrize("scale", ["gap", "objective", "accuracy"])
def test_finished_chart_escapes_names_and_titles_axes(two, scale):
    figure = race_figure(race_data(two, scale), LIGHT)
    assert "(s)" in figure.layout.xaxis.title.text
    assert figure.layout.yaxis.title.text
    names = [trace.name for trace in figure.data]
    assert len(names) >= 2
    assert all("<img" not in name for name in names)
    dashes = {t.line.dash for t in figure.data if t.name == "slow"}
    assert dashes == {"solid"}


def test_runs_are_told_apart_without_colour(two):
    figure = race_figure(race_data(two, "objective"), LIGHT)
    *lines, optimum = figure.data
    assert len({line.line.dash for line in lines}) == 2
    assert len({line.marker.symbol[0] for line in lines}) == 2
    assert [line.marker.symbol[-1] == "star" for line in lines] == [False, False, True, False]
    assert optimum.y == (0.9, 0.9)
    assert "proven by" in optimum.name


def test_names_say_what_differs_and_stay_apart():
    base = {"formulation": "flow-oct", "depth": 2}
    assert short_labels([base, {**base, "encoding": "QB-5"}]) == ("QT-5", "QB-5")
    assert short_labels([base, {"formulation": "path-search"}]) == ("FlowOCT", "Exact search")
    assert short_labels([base, base]) == ("FlowOCT", "FlowOCT (2)")
    penalised = {**base, "params": {"leaf_penalty": 0.05}}
    assert short_labels([base, penalised]) == ("leaf penalty 0.01", "leaf penalty 0.05")
    search = {"formulation": "threshold-search", "test_size": 0.25}
    assert short_labels([base, search])[1] == "Exact search on all thresholds, 25 % held out"
    kept = short_labels([{"formulation": "path-search"}] * 2, {1: "Near-optimal tree"})
    assert kept == ("Exact search", "Near-optimal tree")
    assert short_labels([base, base], data=["iris", "wine"]) == (
        "FlowOCT on iris",
        "FlowOCT on wine",
    )
    engines = ({"formulation": "margot", "engine": e} for e in ("highs", "auto"))
    assert short_labels([*engines]) == ("engine highs", "MARGOT")
    many = {**base, "time_limit": 9.0, "gap": 0.1, "threads": 2, "test_size": 0.2}
    first, second = short_labels([{**many, "seed": 1}, {**many, "seed": 2}, base])[:2]
    assert "seed 1" in first
    assert "seed 2" in second


def test_given_and_resolved_settings_look_the_same():
    given = {"formulation": "flow-oct", "depth": 3, "params": {"leaf_penalty": 0.05}}
    assert flat_settings(given) == flat_settings(check_settings(**given).to_dict())


def test_every_preset_is_offered_where_it_fits():
    assert {p.title for p in fitting_presets(load_sample("4-partitions"))} == {
        p.title for p in presets()
    }
    iris = {p.title for p in fitting_presets(load_sample("iris"))}
    assert "MARGOT and its feature selection" not in iris
    assert "FlowOCT against accelerated BendOCT" in iris


@pytest.mark.long
def test_hyperplanes_are_held_against_all_thresholds():
    preset = next(p for p in presets() if p.title == "Axis-parallel against oblique")
    iris = load_sample("iris")
    runs = [solve(iris, **settings, time_limit=30) for settings in preset.entrants]
    assert not any(run.encoding.is_binary for run in runs)


def test_the_greedy_tree_pays_for_a_leaf_what_the_other_one_pays():
    greedy = [p for p in presets() if p.entrants[0]["formulation"] == "cart"]
    paid = [[check_settings(**s).params.get("leaf_penalty") for s in p.entrants] for p in greedy]
    assert [0.01, 0.01] in paid
    assert all(other in (None, own) for own, other in paid)


def test_exact_search_starts_first():
    assert start_order([{"formulation": "s-oct"}, {"formulation": "threshold-search"}]) == [1, 0]
    entrants = [{"formulation": key} for key in ("flow-oct", "bend-oct", "path-search")]
    assert start_order(entrants) == [2, 0, 1]


def test_an_optimum_on_other_rows_is_not_that_of_the_first_run():
    x = np.arange(20.0)
    runs = [
        solve(Dataset.from_arrays(pd.DataFrame({"x": x}), np.where(x < k, "a", "b")), depth=1)
        for k in (5, 9)
    ]
    certificate = replace(runs[0].certificate, proven=False)
    open_run = replace(runs[0], status="feasible", certificate=certificate)
    names = [line.name for line in compare([open_run, runs[1]], "objective").data]
    assert not any("optimum" in name for name in names)
    names = [line.name for line in compare([open_run, runs[0]], "objective").data]
    assert any("optimum" in name for name in names)


def test_an_optimum_of_weighted_rows_is_none_of_rows_that_count_alike():
    data = load_sample("iris")
    weights = np.where(np.arange(data.n_samples) < 20, 3.0, 1.0)
    runs = [solve(data, depth=1, sample_weight=own, verify=False) for own in (None, weights)]
    assert _rows_of(runs[0]) != _rows_of(runs[1])
    told = [objective_words(run.settings).startswith("weighted accuracy") for run in runs]
    assert told == [False, True]
    assert _rows_of(runs[0]) == _rows_of(solve(data, depth=2, verify=False))
