"""Parts of the page Alternatives through AppTest, on trees that are really counted."""

from __future__ import annotations

import re

import pytest
from streamlit.testing.v1 import AppTest

from dashboard.server import jobs
from dashboard.server.job_view import JobView
from octcore.data.samples import load_sample
from octcore.selection.near_optimal import near_optimal
from octcore.selection.tasks import TASKS


def _page() -> None:
    """The filters alone; runs as a script of its own, so its imports are inside."""
    import streamlit as st

    from dashboard.views.alternatives import trees
    from octcore.data.samples import load_sample
    from octcore.selection.alternatives import alternatives
    from octcore.selection.near_optimal import near_optimal

    data = load_sample("monks-1")
    found = near_optimal(data, depth=2, tolerance=0.03)
    record = alternatives(found, attribute=data.feature_names[0])
    context = trees.Context("run", "task", data, data, {})
    shown = trees._filters(context, record)
    gaps = [entry.parity_gap for entry in shown]
    st.text(f"{len(shown)} {max(gaps, default=0)}")


def test_trees_with_a_larger_fairness_gap_are_filtered_out() -> None:
    app = AppTest.from_function(_page, default_timeout=120).run()
    assert not app.exception
    everything, widest = app.text[0].value.split()
    limit = 100 * float(widest) / 2
    gap = next(n for n in app.number_input if n.label == "Fairness gap, at most %")
    gap.set_value(limit).run()
    left, widest = app.text[0].value.split()
    assert 0 < int(left) < int(everything)
    assert float(widest) <= limit / 100


def _shapes() -> None:
    """The shapes alone; runs as a script of its own."""
    from dashboard.views.alternatives import shapes
    from dashboard.views.what_if.questions import Conditions
    from octcore.data.samples import load_sample

    search = {"depth": 2, "tolerance": 0.01}
    shapes.draw("run", load_sample("iris"), search, Conditions(0.01, max_leaves=3))


def test_shapes_are_found_at_a_press_with_the_thresholds_of_their_trees(monkeypatch) -> None:
    started = {}

    def once(key, owner, data, what, settings, seconds, run=None):
        result = TASKS[what](data, settings, lambda part: None, lambda: False)
        started["t"] = JobView("t", what, settings, "done", data=data, task=what, result=result)
        return "t"

    monkeypatch.setattr(jobs, "followers", dict)
    monkeypatch.setattr(jobs, "once", once)
    monkeypatch.setattr(jobs, "task", started.get)
    app = AppTest.from_function(_shapes, default_timeout=120).run()
    assert not app.exception
    assert not app.dataframe
    app.button[0].click().run()
    assert not app.exception
    table = app.dataframe[0].value
    good = near_optimal(load_sample("iris"), depth=2, tolerance=0.01).restrict(max_leaves=3)
    assert table["trees"].sum() == good.count > 0
    best = good.trees(1)[0]
    assert table["right"][0] == pytest.approx(1 - best.is_wrong(good.rows.X, good.rows.y).mean())
    for split in best.splits.values():
        name = good.encoding.names[split.features[0]]
        told = re.search(rf"{re.escape(name)} ([\d.]+)(?:–([\d.]+))?", table["thresholds"][0])
        assert told is not None
        low, high = told.groups()
        assert float(low) <= split.threshold <= float(high or low)
