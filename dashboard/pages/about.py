"""The formulations, generated from their declarations, and the pages of the documentation."""

from __future__ import annotations

from functools import partial

import streamlit as st

from dashboard.widgets import inputs
from dashboard.widgets.formulation_card import draw_card, overview
from dashboard.widgets.frame import stay_in_app
from dashboard.widgets.lazy_tabs import lazy_tabs
from octcore.docs import library
from octcore.docs.generated import formulation_page
from octcore.formulations.base import list_formulations
from octcore.plotting import text


def _formulations() -> None:
    st.caption("Everything here is generated from the declarations that also make the form.")
    infos = {info.key: info for info in list_formulations()}
    overview(tuple(infos.values()))
    key = st.selectbox(
        "Formulation", list(infos), format_func=lambda key: infos[key].title, key="about"
    )
    st.header(text.markdown(infos[key].title), anchor=False)
    draw_card(infos[key])
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
