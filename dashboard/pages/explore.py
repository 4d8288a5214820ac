"""One run: tree, plane and rows, linked by the selected node; accuracy, rules, new rows, proof."""

import streamlit as st

from dashboard.views.explore import convergence, inside_search, linked_views, metrics_view, scoring
from dashboard.views.runs import exports
from dashboard.widgets import run_picker
from dashboard.widgets.frame import draw_title, stay_in_app
from dashboard.widgets.inputs import lazy_tabs

stay_in_app()
head = st.container()
view = run_picker.draw()
run = None if view is None else view.run
with head:
    draw_title(
        "Explore", run.train if run is not None else None, run.n_train + run.n_test if run else None
    )
solved = run_picker.solved(
    view,
    "There is no solved tree yet. One click solves the data that are loaded.",
    "This run is still going on; its tree opens here as soon as it ends.",
)
if view is not None and solved is not None:
    exports.share(view.id, view.title, solved)
    linked_views.draw(view.id, solved)
    shown, key, title = solved, view.id, view.title
    lazy_tabs(
        {
            "Accuracy": lambda: metrics_view.draw(shown),
            "CART beside it": lambda: metrics_view.greedy(key, shown),
            "Rules": lambda: metrics_view.rules_table(shown),
            "Score a file": lambda: scoring.draw(key, shown),
            "Model card": lambda: metrics_view.model_card(key, shown),
            "Download": lambda: exports.draw(key, title, shown, 3),
            "Convergence": lambda: convergence.draw(key, shown),
            "Inside the search": lambda: inside_search.draw(key, shown),
        },
        key="explore_tabs",
    )
