"""The formulations, generated from their declarations, and the pages of the documentation."""

from collections.abc import Sequence
from functools import partial

import streamlit as st

from dashboard import session
from dashboard.widgets import chart, inputs
from dashboard.widgets.frame import stay_in_app
from dashboard.widgets.inputs import lazy_tabs
from octcore.docs import library
from octcore.docs.generated import formulation_page
from octcore.formulations.base import FormulationInfo, list_formulations
from octcore.plotting import text


def _overview(infos: Sequence[FormulationInfo]) -> None:
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


def _card(info: FormulationInfo) -> None:
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


def _formulations() -> None:
    st.caption("Everything here is generated from the declarations that also make the form.")
    infos = {info.key: info for info in list_formulations()}
    _overview(tuple(infos.values()))
    key = st.selectbox(
        "Formulation", list(infos), format_func=lambda key: infos[key].title, key="about"
    )
    st.header(text.markdown(infos[key].title), anchor=False)
    _card(infos[key])
    page = partial(formulation_page, infos[key])
    inputs.download("This page as Markdown", f"{key}.md", page, "about_save", width="content")


def _documentation() -> None:
    st.caption("These pages came with the program; they need no network.")
    pages = {**library.written_pages(), "measured.md": library.made_pages()["measured.md"]}
    name = st.selectbox(
        "Page", list(pages), format_func=lambda name: library.title_of(pages[name]), key="document"
    )
    st.markdown(library.for_reading(pages[name]))


stay_in_app()
st.title("Formulations and documentation")
lazy_tabs({"Formulations": _formulations, "Documentation": _documentation}, key="about_tabs")
