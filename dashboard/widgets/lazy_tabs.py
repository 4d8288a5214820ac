"""Tabs of which only the open one is computed."""

from collections.abc import Callable, Mapping

import streamlit as st


def lazy_tabs(
    contents: Mapping[str, Callable[[], None]], key: str, first: str | None = None
) -> None:
    """Draw tabs; switching computes the newly opened one and nothing else of the page."""

    def draw_open() -> None:
        tabs = st.tabs(list(contents), key=key, default=first, on_change="rerun")
        for tab, draw in zip(tabs, contents.values(), strict=True):
            if tab.open:
                with tab:
                    draw()

    st.fragment(draw_open)()
