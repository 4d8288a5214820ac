"""The long measurements of `reliability.py`, with the goals as assertions."""

from __future__ import annotations

import pytest

from tests.bench import reliability


@pytest.mark.slow
def test_stop_at_random_moments():
    figures = reliability.stop(100)
    assert figures["within_4_s"] == figures["tree_kept"] == 100


@pytest.mark.slow
def test_killed_servers_lose_nothing():
    figures = reliability.server(50)
    assert figures["nothing_lost"] == 50
    assert figures["orphan_seconds"]["max"] <= 2.0


@pytest.mark.slow
def test_killed_writers_lose_no_commit():
    figures = reliability.writers(60)
    assert figures["kills"] == 60
    assert figures["lost"] == figures["wrong_states"] == 0


@pytest.mark.slow
def test_every_death_is_known():
    for name, figures in reliability.deaths(20).items():
        assert figures["tree_kept"] == figures["of"], name
        assert figures["max"] <= (11.5 if name == "freeze" else 1.0), name


@pytest.mark.slow
def test_many_solves_leave_nothing_behind():
    figures = reliability.soak(200)
    assert figures["memory_growth_mb"] <= 50
    assert figures["handles"][1] <= figures["handles"][0] + 4
    assert figures["children_after_close"] == 0
    assert figures["states"] == {"done": 220}
