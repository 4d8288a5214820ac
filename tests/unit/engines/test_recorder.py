"""The recorder keeps the better bound and the better tree, whatever an engine says later."""

from __future__ import annotations

import pytest

from octcore.engines.events import Clock, Event, Recorder
from octcore.program import Sense
from octcore.tree.tree import Tree

ONE_LEAF = Tree({}, {1: 0}, 1, 2)


@pytest.mark.parametrize("sense", list(Sense))
def test_a_weaker_bound_changes_nothing(sense: Sense) -> None:
    events: list[Event] = []
    recorder = Recorder(sense, Clock(9.0), events.append)
    sign = 1.0 if sense.better(2.0, 1.0) else -1.0
    for value in (8.0, 9.0, 5.0, 5.0, 7.0, None, float("inf"), 4.0):
        recorder.bound(None if value is None else sign * value)
    assert [event.bound for event in events if event.kind == "bound"] == [
        sign * 8.0,
        sign * 5.0,
        sign * 4.0,
    ]


@pytest.mark.parametrize("sense", list(Sense))
def test_a_distance_of_one_step_or_more_is_open(sense: Sense) -> None:
    """Half a step leaves no room for another value; a tree beyond the bound denies it.

    By a solver's tolerance it may be.
    """
    sign = 1.0 if sense.better(2.0, 1.0) else -1.0
    closed = {0.0: True, 0.5: True, 1.0: False, 1.5: False, -0.5: False, -5e-6: True}
    for steps, is_closed in closed.items():
        recorder = Recorder(sense, Clock(9.0), lambda event: None, granularity=0.2)
        recorder.incumbent(sign * 3.0, ONE_LEAF, "test")
        assert not recorder.is_closed
        recorder.bound(sign * (3.0 + 0.2 * steps))
        assert recorder.is_closed is is_closed


def test_small_costs_are_told_apart() -> None:
    """Nothing is closed, or forgiven, by a share of an objective that errors hardly change."""
    for bound, is_closed in ((1.0, False), (1.0 - 5e-10, True), (1.0 - 1e-9, False)):
        recorder = Recorder(Sense.MAXIMISE, Clock(9.0), lambda event: None, span=1e-9)
        recorder.incumbent(1.0 - 5e-10, ONE_LEAF, "test")
        recorder.bound(bound)
        assert recorder.is_closed is is_closed
