"""Filters of the page Alternatives through AppTest, on trees that are really counted."""

from __future__ import annotations

from streamlit.testing.v1 import AppTest


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
