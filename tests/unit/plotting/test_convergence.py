import pytest

from octcore.engines.events import Event, Trace
from octcore.plotting.gap_plot import (
    GAP_FLOOR,
    MOST_POINTS,
    Entrant,
    convergence_data,
    convergence_figure,
    gap_ticks,
    race_data,
    race_figure,
)
from octcore.plotting.palette import DARK, LIGHT


def test_record_has_steps_marks_and_phases(trace):
    record = convergence_data(trace, "accuracy", optimum=0.9)
    assert record.end == 3.0
    assert [m.source for m in record.marks] == ["warm start", "solver"]
    assert [m.incumbent for m in record.marks] == [0.7, 0.9]
    assert record.search_start == pytest.approx(0.8)
    assert record.gap[-1] == 0.0
    gaps = [g for g in record.gap if g is not None]
    assert gaps == sorted(gaps, reverse=True)


def test_gap_figure_draws_steps_and_labels_the_proof(trace):
    record = convergence_data(trace, "accuracy")
    figure = convergence_figure(record, LIGHT)
    assert figure.layout.yaxis.type == "log"
    assert figure.layout.xaxis.title.text == "time since encoding began (s)"
    line = figure.data[0]
    assert line.line.shape == "hv"
    assert min(v for v in line.y if v is not None) == GAP_FLOOR
    assert "0 (proven)" in figure.layout.yaxis.ticktext
    names = [t.name for t in figure.data]
    assert {"warm start", "new tree", "proven optimal"} <= set(names)
    assert figure.layout.shapes[0].x1 == pytest.approx(0.8)


def test_absolute_figure_has_incumbent_bound_and_optimum(trace):
    record = convergence_data(trace, "accuracy <b>", optimum=0.9)
    figure = convergence_figure(record, DARK, absolute=True)
    assert [t.name for t in figure.data[:2]] == ["incumbent", "bound"]
    assert figure.layout.yaxis.title.text == "accuracy &lt;b&gt;"
    assert any(shape.y0 == 0.9 for shape in figure.layout.shapes)


def test_closed_by_granularity_ends_at_zero(trace):
    events = (*trace.events[:7], Event(1.5, "finished", 0.7, 0.71, source="optimal"))
    assert convergence_data(Trace(events), closed=True).gap[-1] == 0.0
    assert convergence_data(Trace(events)).gap[-1] == pytest.approx(0.01 / 0.7)


def test_empty_and_boundless_traces_draw():
    assert convergence_data(Trace()).seconds == ()
    only = Trace((Event(0.1, "incumbent", 0.5, source="warm start"),))
    record = convergence_data(only)
    assert record.gap == (None, None)
    assert convergence_figure(record, LIGHT).data


def test_a_long_trace_keeps_its_trees_and_its_last_point_and_stays_small():
    events = [Event(0.0, "incumbent", 0.5, source="warm start")]
    events += [Event(i / 100, "bound", 0.5, 1.0 - i / 10000) for i in range(1, 3000)]
    events[1001] = Event(10.0, "incumbent", 0.6, 0.9, source="solver")
    events[1002:] = [Event(e.seconds, "bound", 0.6, e.bound) for e in events[1002:]]
    record = convergence_data(Trace(tuple(events)))
    assert len(record.seconds) <= MOST_POINTS + 3
    assert record.end == pytest.approx(29.99)
    assert record.seconds[record.incumbent.index(0.6)] == 10.0


@pytest.mark.parametrize(("low", "high"), [(0.0909, 0.388), (1e-4, 3.0), (0.38, 0.39), (0.2, 0.2)])
def test_ticks_of_a_live_gap_have_one_digit_and_enclose_it(low, high):
    ticks = gap_ticks(low, high)
    assert ticks[0] <= low * 1.001
    assert ticks[-1] >= high * 0.999
    assert len(ticks) >= 2
    assert all(len(f"{100 * tick:g}".replace("0", "").replace(".", "")) == 1 for tick in ticks)


def test_a_live_line_is_held_until_now(trace):
    record = convergence_data(Trace(trace.events[:7]))
    held = record.until(42.0)
    assert held.end == 42.0
    assert held.gap[-1] == record.gap[-1]
    assert held.bound[-1] == record.bound[-1]
    figure = convergence_figure(held, LIGHT)
    assert figure.layout.xaxis.range[1] >= 42.0
    assert figure.data[0].x[-1] == 42.0
    assert record.until(0.0) is record
    assert convergence_data(Trace()).until(1.0).seconds == ()


@pytest.mark.parametrize(
    ("bound", "closed"), [(0.9 + 3e-5, None), (0.9 + 3e-5, False), (0.9, False)]
)
def test_a_small_gap_is_no_proof_nor_one_that_was_refuted(bound, closed):
    trace = Trace(
        (
            Event(0.1, "incumbent", 0.9, 1.0, source="search"),
            Event(0.3, "finished", 0.9, bound, source="time_limit"),
        )
    )
    record = convergence_data(trace, closed=closed)
    figure = convergence_figure(record, LIGHT)
    assert "proven optimal" not in [line.name for line in figure.data]
    assert min(v for v in figure.data[0].y if v is not None) > GAP_FLOOR
    race = race_data([Entrant("one", trace, "accuracy")])
    told = [row for line in race_figure(race, LIGHT).data for row in line.customdata]
    assert told[-1] == "gap at most 0.02 %"
