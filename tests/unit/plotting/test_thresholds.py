"""What is open in a search over thresholds only shrinks, and holds the root that is best."""

from __future__ import annotations

import itertools
import json

import numpy as np
import pytest

import octcore
from octcore.data.dataset import Dataset
from octcore.encoding.fit import fit_encoding
from octcore.engines import univariate_search as engine
from octcore.engines.events import Event, Recorder
from octcore.numerics import kernels
from octcore.plotting.palette import LIGHT
from octcore.plotting.thresholds import (
    RootValue,
    curve_figure,
    open_columns,
    open_data,
    open_words,
    root_values_figure,
)
from octcore.search.univariate.question import Question
from octcore.search.univariate.search import answer
from octcore.search.univariate.warm_up import lane_sets
from octcore.solving.column_values import ThresholdValue


@pytest.fixture(autouse=True, scope="module")
def _kernels() -> None:
    """Plain operations, which answer while kernels are not compiled, keep no moments."""
    kernels.require(*lane_sets(2, True))


def holds(spans, threshold: float) -> bool:
    return any(low - 1e-9 <= threshold <= high + 1e-9 for low, high in spans)


@pytest.mark.parametrize("seed", range(4))
def test_better_roots_are_open_and_spans_shrink(seed: int) -> None:
    rng = np.random.default_rng(seed)
    X, y = rng.integers(0, 20, (60, 3)).astype(float), rng.integers(0, 2, 60)
    max_leaves = (None, 6)[seed % 2]
    question = Question(X, y, 2, 3, min_samples_leaf=1 + seed, max_leaves=max_leaves)
    result = answer(question)
    moments = result.moments()
    assert result.status == "optimal"
    assert not moments[-1].open
    for before, after in itertools.pairwise(moments):
        assert before.value <= after.value
        assert before.bound >= after.bound
        for column, spans in after.open.items():
            for low, high in spans:
                assert holds(before.open[column], low)
                assert holds(before.open[column], high)
    assert moments[-1].root is not None
    column, threshold = moments[-1].root
    for moment in moments:
        if moment.value < moments[-1].value - 1e-9:
            assert holds(moment.open[column], threshold)


class Growing(list):
    """Moments of which the search keeps another one whenever they have been gone through."""

    def __iter__(self):
        yield from list.__iter__(self[:])
        self.append(self[-1])


def test_a_moment_that_is_kept_meanwhile_disturbs_nobody_who_looks() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 20, (60, 3)).astype(float), rng.integers(0, 2, 60)
    recorded = answer(Question(X, y, 2, 3)).moments
    search = recorded.__self__
    n = len(recorded())
    search.moments._kept = Growing(search.moments._kept)
    assert len(recorded()) == n


def test_the_numbers_stand_in_a_column_of_their_own_right_of_all_dots() -> None:
    record = tuple(RootValue(str(v), v, "", 0.95 - v) for v in (0.95, 0.94, 0.93, 0.92))
    figure = root_values_figure(record, LIGHT)
    (words,) = (trace for trace in figure.data if trace.mode and "text" in trace.mode)
    assert (words.textposition, set(words.x)) == ("middle right", {0.95})
    assert figure.layout.margin.r > 100


def test_a_column_is_drawn_from_a_stored_run() -> None:
    data = octcore.load_sample("wine")
    run = octcore.solve(data, depth=3, params={"leaf_penalty": 0.01}, verify=False)
    values = json.loads(json.dumps(dict(run.extras)))
    train = run.train
    assert train is not None
    first, *_, last = values["open_thresholds"]
    begun = next(event.seconds for event in run.trace.phases if event.source == "search")
    assert begun <= first["seconds"] <= last["seconds"] <= run.trace.events[-1].seconds
    columns = open_columns(values["open_thresholds"], run.encoding, train)
    record = open_data(first, columns, run.encoding, train)
    assert [len(c.shares) for c in record] == [len(first["open"].get(str(j), ())) for j in columns]
    assert record[0].column in open_words(first, record)
    assert not any(column.shares for column in open_data(last, columns, run.encoding, train))
    assert "any more" in open_words(last, ())


def test_columns_of_long_names_show_where_they_differ() -> None:
    names = [f"measurement_number_{k:02d}_of_the_laboratory_in_the_northern_wing" for k in range(4)]
    X, y = np.random.default_rng(0).random((40, 4)), np.arange(40) % 2
    data = Dataset.from_arrays(X, y, feature_names=names)
    moment = {"open": {str(j): [[0.2, 0.8]] for j in range(4)}, "root": None}
    record = open_data(moment, range(4), fit_encoding("raw", data), data)
    assert all(f"{k:02d}" in column.column for k, column in enumerate(record))


def test_those_that_watch_are_told_what_is_open(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Recorder, "PROGRESS_SECONDS", 0.0)
    monkeypatch.setattr(engine, "LIVE_SECONDS", 0.0)
    monkeypatch.setattr(engine, "LIVE_SHARE", 0.0)
    data = octcore.load_sample("wdbc")  # takes long enough to be looked at
    run = octcore.solve(data, depth=3, params={"leaf_penalty": 0.01}, verify=False)
    events = [Event.from_dict(json.loads(json.dumps(e.to_dict()))) for e in run.trace.events]
    told = [e.details["open"] for e in events if "open" in e.details]
    assert told
    train = run.train
    assert train is not None
    for moment in told:
        columns = open_columns([moment], run.encoding, train)
        assert len(columns) <= engine.LIVE_COLUMNS
        for column in open_data(moment, columns, run.encoding, train):
            assert all(0.0 <= low <= high <= 1.0 for low, high in column.shares)
            assert column.root is None or 0.0 <= column.root <= 1.0
            assert column.words
    assert any(open_columns([moment], run.encoding, train) for moment in told)


def test_the_axis_of_a_curve_names_its_whole_column() -> None:
    axis = curve_figure([], "petal width <cm>", LIGHT).layout.xaxis.title.text
    assert axis == "threshold of petal width &lt;cm&gt; at the root"


def test_a_bound_on_a_threshold_is_no_value_of_it() -> None:
    points = [ThresholdValue(1, 2, 0.5, True), ThresholdValue(2, 3, 0.75, False)]
    lines = {line.line.dash: line for line in curve_figure(points, "x", LIGHT).data}
    assert (lines["solid"].x[:2], lines["solid"].y[:2]) == ((1, 2), (0.5, 0.5))
    assert (lines["dot"].x[:2], lines["dot"].y[:2]) == ((2, 3), (0.75, 0.75))
    assert "at most" in lines["dot"].hovertemplate
    assert "at most" not in lines["solid"].hovertemplate
