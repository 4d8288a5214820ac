"""A formulation in words, equations and settings."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from dashboard import session
from dashboard.widgets import chart
from octcore.formulations.base import FormulationInfo
from octcore.plotting import text


def overview(infos: Sequence[FormulationInfo]) -> None:
    """List all formulations in one table."""
    rows = [
        {
            "key": info.key,
            "formulation": info.title,
            "splits": info.split_kind,
            "features": "0/1" if info.needs_binary_features else "numbers",
            "classes": "any" if info.max_classes is None else f"up to {info.max_classes}",
            "engines": ", ".join(info.engines),
            "year": info.reference.year,
        }
        for info in infos
    ]
    years = {"year": st.column_config.NumberColumn(format="%d")}
    chart.table(rows, "overview", "All formulations", column_config=years)


def draw_card(info: FormulationInfo) -> None:
    """Show one formulation: what it does, its equations, settings and reference."""
    left, right = st.columns(2, gap="large")
    with left:
        st.markdown(text.markdown(info.summary, 800))
        if info.good_at:
            st.markdown(f"**Good at:** {text.markdown(info.good_at, 600)}")
        st.markdown(f"**Objective:** {text.markdown(info.objective, 200)}")
        st.caption(text.markdown(str(info.reference), 500))
        if info.constraints:
            names = ", ".join(f"`{name}`" for name in sorted(info.constraints))
            st.caption(f"Constraints it can express: {names}.")
    with right:
        for formula, words in info.equations:
            st.latex(formula)
            st.caption(text.markdown(words, 200))
    if info.hyperparameters:
        rows = [
            {
                "setting": p.name,
                "default": "not used" if p.default is None else str(p.default),
                "range": p.describe_range(),
                "what it does": p.help,
            }
            for p in info.hyperparameters
        ]
        key, alt = session.widget_key("settings", info.key), f"Settings of {info.title}"
        chart.table(rows, key, alt, wide="what it does")
