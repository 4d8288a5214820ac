"""What every page has around it."""

from __future__ import annotations

import streamlit as st

from dashboard import session, text

STYLE = """
<style>
.block-container { padding-top: 2.6rem; padding-bottom: 2rem; max-width: 1500px; }
h1 { font-size: 1.9rem !important; padding-bottom: 0.2rem !important; }
h2 { font-size: 1.35rem !important; }
h3 { font-size: 1.1rem !important; }
[data-testid="stMetricValue"] { font-size: 1.45rem; }
[data-testid="stMetricLabel"] { font-size: 0.85rem; }
</style>
"""


def draw_frame() -> None:
    """Draw the style sheet and the line in the sidebar that says which data are loaded."""
    st.html(STYLE)
    data = session.dataset()
    with st.sidebar:
        st.markdown(f"**{text.markdown(data.name, 30)}**")
        parts = [text.count(data.n_samples, "row"), text.count(data.n_features, "feature")]
        if data.y is not None:
            parts.append(text.count(data.n_classes, "class"))
        st.caption(" · ".join(parts))
