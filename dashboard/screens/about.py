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
    titles = {key: info.title for key, info in infos.items()}
    key = _chosen("Formulation", titles, FORMULATION)
    page = generated.formulation_page(infos[key])
    st.markdown(generated.for_reading(page))
    inputs.download(
        "This page as Markdown", f"{key}.md", lambda: page, "about_save", width="content"
    )


def _chosen(label: str, titles: dict[str, str], key: str) -> str:
    """Draw the choice of what is read, which the URL names by its title."""
    return st.selectbox(label, list(titles), 0, titles.__getitem__, key, bind="query-params")


def _documentation() -> None:
    st.caption("These pages came with the program; they need no network.")
    made = generated.made_pages()
    pages = {**generated.written_pages(), "measured.md": made["measured.md"]}
    titles = {name: generated.title_of(page) for name, page in (pages | made).items()}
    name = _chosen("Page", {name: titles[name] for name in pages}, DOCUMENT)

    def address(link: str) -> str:
        to = posixpath.normpath(posixpath.join(posixpath.dirname(name), link))
        return f"?{DOCUMENT if to in pages else FORMULATION}={quote(titles[to])}"

    st.markdown(generated.for_reading(pages[name], address))


st.title("Formulations and documentation", anchor=False)
tabs = {"Formulations": _formulations, "Documentation": _documentation}
lazy_tabs(tabs, "about_tabs", "Documentation" if DOCUMENT in st.query_params else None)
