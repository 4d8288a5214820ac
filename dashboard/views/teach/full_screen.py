"""A button that gives the whole screen to the page; only a click in the browser may do that."""

from __future__ import annotations

from streamlit.components.v2 import component

HTML = '<button type="button" title="The whole screen; Esc ends it">Full screen</button>'
CSS = """
button {
  font: inherit; width: 100%; min-height: 40px; padding: 4px 12px; cursor: pointer;
  font-family: var(--st-font, sans-serif); color: var(--st-text-color);
  background: var(--st-background-color); border: 1px solid var(--st-border-color, #8884);
  border-radius: 8px;
}
button:hover { border-color: var(--st-primary-color); color: var(--st-primary-color); }
button:focus-visible { outline: 2px solid var(--st-primary-color); outline-offset: 1px; }
"""
SCRIPT = """
export default function ({ parentElement }) {
  const button = parentElement.querySelector("button");
  button.hidden = !document.fullscreenEnabled;
  button.onclick = () => document.fullscreenElement
    ? document.exitFullscreen()
    : document.documentElement.requestFullscreen().catch(() => { button.hidden = true; });
}
"""

_mount = component("octcore_full_screen", html=HTML, css=CSS, js=SCRIPT)


def full_screen_button() -> None:
    """Draw the button."""
    _mount(key="full_screen")
