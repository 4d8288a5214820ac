"""One run: tree, plane, rows, convergence, features and metrics, linked by the selected node."""

from __future__ import annotations

import streamlit as st

from dashboard import session
from dashboard.views.explore import convergence, linked_views, metrics_view, replay, scoring
from dashboard.views.runs import downloads, exports
from dashboard.widgets import run_picker
from dashboard.widgets.frame import draw_title, stay_in_app
from dashboard.widgets.lazy_tabs import lazy_tabs
from dashboard.widgets.start import start_button
from octcore.plotting import text

stay_in_app()
head = st.container()
view = run_picker.draw(session.run_id())
run = None if view is None else view.run
solved = None if view is None else view.solved
with head:
    draw_title(
        "Explore", run.train if run is not None else None, run.n_train + run.n_test if run else None
    )
if view is None:
    st.info("There is no solved tree yet. One click solves the data that are loaded.")
    start_button("Find an optimal tree", key="start_from_explore")
elif not view.is_final:
    st.info("This run is still going on; its tree opens here as soon as it ends.")
    st.page_link("pages/solve.py", label="Watch it", query_params=session.run_query())
elif solved is None:
    message = view.error.message if view.error else "This run ended without a tree."
    st.warning(text.markdown(message, 500))
    st.page_link("pages/solve.py", label="Solve again", query_params=session.run_query())
else:
    exports.report_button(view.id, view.title, solved)
    linked_views.draw(view.id, solved)
    shown, key = solved, view.id
    lazy_tabs(
        {
            "Convergence": lambda: convergence.draw(key, shown),
            "Replay": lambda: replay.draw(key, shown),
            "Accuracy": lambda: metrics_view.draw(shown),
            "CART beside it": lambda: metrics_view.greedy(key, shown),
            "Rules": lambda: metrics_view.rules_table(shown),
            "Score a file": lambda: scoring.draw(key, shown),
            "Model card": lambda: metrics_view.model_card(key, shown),
            "Download": lambda: downloads.draw(key, shown),
        },
        key="explore_tabs",
    )
