"""The formulations, generated from their declarations."""

from __future__ import annotations

import streamlit as st

from dashboard.widgets.formulation_card import draw_card, overview
from dashboard.widgets.frame import stay_in_app
from octcore.docs.generated import formulation_page
from octcore.formulations.base import list_formulations
from octcore.plotting import text

stay_in_app()
st.title("Formulations")
st.caption("Everything here is generated from the declarations that also make the form.")
infos = {info.key: info for info in list_formulations()}
overview(tuple(infos.values()))
key = st.selectbox(
    "Formulation", list(infos), format_func=lambda key: infos[key].title, key="about"
)
st.header(text.markdown(infos[key].title), anchor=False)
draw_card(infos[key])
st.download_button(
    "This page as Markdown",
    data=lambda: formulation_page(infos[key]),
    file_name=f"{key}.md",
    mime="text/markdown",
    on_click="ignore",
    icon=":material/download:",
)
