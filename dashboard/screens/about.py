"""The formulations, generated from their declarations, and the pages of the documentation."""

import posixpath
from urllib.parse import quote

import streamlit as st

from dashboard.widgets import chart, inputs
from dashboard.widgets.inputs import lazy_tabs
from octcore.docs import generated
from octcore.formulations.base import list_formulations

FORMULATION, DOCUMENT = "about", "document"  # keys of what is read, and its names in the URL


def _formulations() -> None:
    infos = {info.title: info for info in list_formulations()}
    rows = [
        {
            "key": info.key,
            "formulation": title,
            "splits": info.split_kind,
            "features": "0/1" if info.needs_binary_features else "numbers",
            "classes": "any" if info.max_classes is None else f"up to {info.max_classes}",
            "engines": ", ".join(info.engines),
            "year": info.reference.year,
        }
        for title, info in infos.items()
    ]
    years = {"year": st.column_config.NumberColumn(format="%d")}
    chart.table(rows, "overview", "All formulations", column_config=years)
    info = infos[st.selectbox("Formulation", list(infos), key=FORMULATION, bind="query-params")]
    page = generated.formulation_page(info)
    st.markdown(generated.for_reading(page))
    inputs.download(
        "This page as Markdown", f"{info.key}.md", lambda: page, "about_save", width="content"
    )


def _documentation() -> None:
    st.caption("These pages came with the program; they need no network.")
    pages = generated.written_pages() | generated.made_pages()
    titles = {name: generated.title_of(page) for name, page in pages.items()}
    names = {title: name for name, title in titles.items() if not name.startswith("formulations/")}
    name = names[st.selectbox("Page", list(names), key=DOCUMENT, bind="query-params")]

    def address(link: str) -> str:
        title = titles[posixpath.normpath(posixpath.join(posixpath.dirname(name), link))]
        return f"?{DOCUMENT if title in names else FORMULATION}={quote(title)}"

    st.markdown(generated.for_reading(pages[name], address))


st.title("Formulations and documentation", anchor=False)
tabs = {"Formulations": _formulations, "Documentation": _documentation}
lazy_tabs(tabs, "about_tabs", "Documentation" if DOCUMENT in st.query_params else None)
