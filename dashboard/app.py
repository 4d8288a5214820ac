"""Entry point of the app: page list and frame.  Run with ``streamlit run dashboard/app.py``.

The server reads its settings from ``.streamlit`` beside this file, wherever it was started.
"""

import sys
from pathlib import Path

import streamlit as st

if sys.path[0] != (folder := str(Path(__file__).resolve().parents[1])):
    sys.path.insert(0, folder)  # before a folder "dashboard" of anyone else

PAGES = {
    "": [
        st.Page("screens/start.py", title="Start", icon=":material/home:", default=True),
        st.Page("screens/data.py", title="Data", icon=":material/table:"),
        st.Page("screens/solve.py", title="Solve", icon=":material/play_circle:"),
        st.Page("screens/teach.py", title="Teach", icon=":material/school:"),
    ],
    "Understand": [
        st.Page("screens/explore.py", title="Explore", icon=":material/account_tree:"),
        st.Page("screens/alternatives.py", title="Alternatives", icon=":material/forest:"),
        st.Page("screens/whatif.py", title="What if", icon=":material/sell:"),
        st.Page("screens/path.py", title="Size", icon=":material/stairs:"),
    ],
    "Compare": [
        st.Page("screens/compare.py", title="Race", icon=":material/compare:"),
        st.Page("screens/tune.py", title="Tune", icon=":material/instant_mix:"),
        st.Page("screens/runs.py", title="Runs", icon=":material/history:"),
    ],
    "Help": [st.Page("screens/about.py", title="Formulations", icon=":material/menu_book:")],
}
page = st.navigation(PAGES, position="top")
title = getattr(page, "title", "App")  # there is no page where a process of a cluster imports this
st.set_page_config(f"{title} · Optimal trees", page_icon="🌳", layout="wide")
# The link that was opened: leaving its page while the libraries load would lose it.
opened = st.session_state.setdefault("opened", st.query_params.to_dict())
with st.spinner("Loading the libraries"):  # takes seconds when the server is new
    from dashboard.server import jobs
    from dashboard.widgets import data_thread
    from dashboard.widgets.frame import draw_style, join_browser, mark_section
if "state" not in st.session_state and opened.keys() - st.query_params.keys():
    st.query_params.update(opened | st.query_params.to_dict())
jobs.warm_up()
draw_style()
mark_section(PAGES, page)
data_thread.forget_gone()
data_thread.restore()
data_thread.link()
page.run()
join_browser()
