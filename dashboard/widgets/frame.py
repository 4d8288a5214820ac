"""What every page has around it."""

from __future__ import annotations

import streamlit as st
from streamlit.runtime.pages_manager import PagesManager

from dashboard import session
from octcore.data.dataset import Dataset
from octcore.plotting import text

RESULT_FIRST = "result_first"
"""Key of a container whose right column, the result, comes first where columns are stacked."""

STYLE = """
<style>
.block-container { padding: 4.2rem 2.2rem 2rem 2.2rem; max-width: 1560px; }
@media (max-width: 640px) {
  .block-container { padding: 4rem 0.8rem 1.5rem 0.8rem; }
  .st-key-result_first > [data-testid="stLayoutWrapper"] > [data-testid="stHorizontalBlock"] {
    flex-direction: column-reverse; flex-wrap: nowrap;
  }
}
h1 { font-size: 1.75rem !important; padding: 0 0 0.5rem 0 !important; }
h2 { font-size: 1.35rem !important; }
h3 { font-size: 1.15rem !important; padding: 0 !important; }
[data-testid="stMetricValue"] { font-size: 1.35rem; }
[data-testid="stMetric"] { padding: 0; }
[data-testid="stCaptionContainer"] { color: #5a6270; opacity: 1; }
[data-testid="stCaptionContainer"] > * { opacity: 1; }
[data-testid="stCaptionContainer"] code { color: inherit; }
[data-has-shortcut] * { color: inherit; opacity: 1; }
</style>
"""

DARK_STYLE = """
<style>
button[kind^="primary"]:enabled, button[kind^="primary"]:enabled p { color: #0b1118 !important; }
[data-tag], [data-tag] * { color: #0b1118 !important; }
[data-testid="stCaptionContainer"] { color: #a9b2bf; }
</style>
"""
"""Words on a light blue button are dark: white on it has a contrast of 2.3 only; a disabled button
has no such ground.  Captions are
plain colours: the faded ones of Streamlit stay below 4.5 : 1."""


def draw_style() -> None:
    """Draw the style sheet: compact headings and margins, so that charts get the room."""
    session.note_frame()
    st.html(STYLE)
    if session.palette().name == "dark":
        st.html(DARK_STYLE)


def stay_in_app() -> None:
    """Start again through the app if Streamlit runs the page on its own; call it first of all.

    Until some session has opened the app itself, Streamlit takes the folder named ``pages`` for
    its older kind of app: a link to a page, the first thing a new server is asked for, would get
    the page without navigation, style and warm-up.
    """
    if PagesManager.uses_pages_directory and not session.has_frame():
        PagesManager.uses_pages_directory = False
        st.rerun()


def draw_title(title: str, data: Dataset | None = None, n_rows: int | None = None) -> None:
    """Draw the heading of a page, with data beside it: those that are loaded, or others."""
    stay_in_app()
    data = session.dataset() if data is None else data
    rows = data.n_samples if n_rows is None else n_rows
    parts = [text.count(rows, "row"), text.count(data.n_features, "feature")]
    if data.y is not None:
        parts.append(text.count(data.n_classes, "class"))
    left, right = st.columns([1, 2], vertical_alignment="bottom")
    left.title(title, anchor=False)
    with right.container(horizontal=True, horizontal_alignment="right"):
        st.markdown(
            f":material/database: **{text.markdown(data.name, 40)}** · {' · '.join(parts)}",
            width="content",
        )
