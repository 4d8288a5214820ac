"""The formulations, generated from their declarations, and the pages of the documentation."""

import streamlit as st

from dashboard.widgets import chart, inputs
from dashboard.widgets.inputs import lazy_tabs
from octcore.docs import generated
from octcore.formulations.base import list_formulations


def _formulations() -> None:
    infos = {info.key: info for info in list_formulations()}
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
        for info in infos.values()
    ]
    years = {"year": st.column_config.NumberColumn(format="%d")}
    chart.table(rows, "overview", "All formulations", column_config=years)
    key = st.selectbox(
        "Formulation", list(infos), format_func=lambda key: infos[key].title, key="about"
    )
    page = generated.formulation_page(infos[key])
    st.markdown(generated.for_reading(page))
    inputs.download(
        "This page as Markdown", f"{key}.md", lambda: page, "about_save", width="content"
    )


def _documentation() -> None:
    st.caption("These pages came with the program; they need no network.")
    pages = {**generated.written_pages(), "measured.md": generated.made_pages()["measured.md"]}
    name = st.selectbox(
        "Page",
        list(pages),
        format_func=lambda name: generated.title_of(pages[name]),
        key="document",
    )
    st.markdown(generated.for_reading(pages[name]))


st.title("Formulations and documentation", anchor=False)
lazy_tabs({"Formulations": _formulations, "Documentation": _documentation}, key="about_tabs")
