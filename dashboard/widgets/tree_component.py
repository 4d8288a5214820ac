"""The interactive tree."""

from collections.abc import Callable
from typing import Any

import streamlit as st

from dashboard.teaching.lessons import is_presented
from dashboard.widgets.component import make_component

HTML = """
<div class="octtree">
  <div class="bar">
    <span class="badge" role="status"></span><span class="legend"></span><span class="grow"></span>
    <span class="tools">
    <button data-act="out" aria-label="Zoom out" title="Zoom out">−</button>
    <button data-act="in" aria-label="Zoom in" title="Zoom in">+</button>
    <button data-act="fit" title="Show the whole tree">Fit</button>
    <button data-act="turn" title="Top-down or left to right">Turn</button>
    <button data-act="svg" title="Save the picture as SVG">SVG</button>
    <button data-act="png" title="Save the picture as PNG">PNG</button>
    </span>
  </div>
  <div class="stage"><svg role="tree" aria-label="Decision tree" height="200"></svg></div>
  <div class="hint">Click a node to see its rows. Arrow keys move, Enter selects, Space folds,
  Ctrl + wheel zooms.</div>
</div>
"""

_show = make_component("tree_component", HTML, "node")


def show_tree(data: dict[str, Any], key: str, on_node: Callable[[int], None]) -> None:
    """Draw the tree; `on_node` receives the number of a node that was clicked."""
    big = is_presented(st.query_params)
    _show(data | {"big": big}, key, lambda node: on_node(int(node)))
