"""What every page has around it."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import streamlit as st
from streamlit.components import v2
from streamlit.navigation.page import StreamlitPage

from dashboard import session
from octcore.data.dataset import Dataset
from octcore.plotting import text

FOLDER = Path(__file__).parent
RESULT_FIRST = "result_first"
"""Key of a container whose right column, the result, comes first where columns are stacked."""


def draw_style() -> None:
    """Draw the style sheet: compact headings and margins, so that charts get the room."""
    st.html(FOLDER / "frame.css")
    if session.palette().name == "dark":
        st.html(FOLDER / "frame_dark.css")


def mark_section(pages: Mapping[str, Sequence[StreamlitPage]], page: StreamlitPage) -> None:
    """Mark the section of the menu that holds the page; Streamlit marks pages without one."""
    for place, (section, own) in enumerate(pages.items(), len(pages[""])):
        if section and page in own:
            of_section = f'[data-testid="stTopNav"] > :nth-child({place}) button'
            st.html(
                f"<style>{of_section} {{ background: rgba(153, 173, 194, 0.25); }}"
                f"{of_section} p {{ font-weight: 600; }}</style>"
            )


def draw_title(title: str, data: Dataset | None = None) -> None:
    """Draw the heading of a page, with data beside it: those that are loaded, or others."""
    data = session.dataset() if data is None else data
    parts = [text.count(data.n_samples, "row"), text.count(data.n_features, "feature")]
    if data.y is not None:
        parts.append(text.count(data.n_classes, "class"))
    elif session.choice().target is not None:
        parts.append("numbers, no classes yet")
    left, right = st.columns([1, 2], vertical_alignment="bottom")
    left.title(title, anchor=False)
    with right.container(horizontal=True, horizontal_alignment="right"):
        words = f":material/database: **{text.markdown(data.name, 40)}** · {' · '.join(parts)}"
        st.markdown(words, width="content")


_mount = v2.component("octcore_browser", js=(FOLDER / "browser.js").read_text(encoding="utf-8"))


def join_browser() -> None:
    """Let the browser keep this session's name and one entry a step, and draw in another theme.

    Streamlit changes its own colours alone when evening comes; ours come from here.
    """
    kept = [session.DATA_PARAMETER, session.FORM_PARAMETER, session.ANSWER_PARAMETER]
    data = {"name": session.TOKEN_COOKIE, "token": session.token(), "kept": kept}
    _mount(key="browser", data=data, on_theme_change=lambda: None)
