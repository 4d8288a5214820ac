"""The start: what this is in three lines, a picture, and the two ways in."""

from pathlib import Path
from string import Template

import streamlit as st

from dashboard import session
from dashboard.widgets import inputs
from dashboard.widgets.start import start_button

if session.RUN_PARAMETER in st.query_params and session.run_id():
    session.open_page("solve")
left, right = st.columns([5, 4], gap="large", vertical_alignment="center")
with left:
    st.title("The best small decision tree, proven", anchor=False)
    st.markdown(
        "A decision tree sorts rows by a few questions that everybody can read.  \n"
        "The usual way grows it greedily; here it is **the best tree of its size**, and the proof "
        "comes with it.  \nLoad a table, watch the proof, ask what other trees would cost."
    )
    start_button("See a proven tree", key="start_from_start")
    if inputs.wide_button("Teach with points", "school", "start_teach", is_first=False):
        st.switch_page("screens/teach.py")
    st.page_link("screens/data.py", label="Use my own table", icon=":material/upload:")
with right:  # an illustration, not a result; its colours are those of the theme
    picture = Path(__file__).parents[1] / "pictures" / "start.svg"
    st.image(
        Template(picture.read_text("utf-8")).substitute(vars(session.palette())),
        width="stretch",
        alt="Points of three classes, cut by a tree of two questions",
    )
