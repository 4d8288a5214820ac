"""The one way to make an interactive drawing: HTML, a style sheet and a script, no build step.

A component named *x* has ``x.html``, ``x.css`` and ``x.js`` beside this file.  The last two come
after ``shared.css`` and ``shared.js``, which has what all of them draw with: SVG elements and
marker shapes of classes.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import streamlit as st
from streamlit.components.v2 import component

_FOLDER = Path(__file__).parent

Show = Callable[[dict[str, Any], str, Callable[[Any], None]], None]
"""Draws plain data under a key; the function receives what the reader did."""


def written(name: str, suffix: str) -> str:
    """Return the whole script, or style sheet, of a component."""
    parts = (_FOLDER / f"{part}{suffix}" for part in ("shared", name))
    return "".join(part.read_text(encoding="utf-8") for part in parts)


def make_component(name: str, trigger: str) -> Show:
    """Make a component, once, on import; its script reports under the name `trigger`."""
    html = (_FOLDER / f"{name}.html").read_text(encoding="utf-8")
    css, js = written(name, ".css"), written(name, ".js")
    mount = component(f"octcore_{name}", html=html, css=css, js=js)

    def show(data: dict[str, Any], key: str, on_trigger: Callable[[Any], None]) -> None:
        def changed() -> None:
            value = getattr(st.session_state.get(key), trigger, None)
            if value is not None:
                on_trigger(value)

        options: dict[str, Any] = {f"on_{trigger}_change": changed}
        mount(key=key, data=data, **options)

    return show
