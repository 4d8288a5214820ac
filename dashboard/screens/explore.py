"""One run: tree, plane and rows, linked by the selected node; accuracy, rules, new rows, proof."""

from dashboard.views.explore import linked_views, metrics_view, replay, scoring
from dashboard.views.runs import exports
from dashboard.widgets import run_picker
from dashboard.widgets.inputs import lazy_tabs

picked = run_picker.pick(
    "Explore",
    "There is no solved tree yet. One click solves the data that are loaded.",
    "This run is still going on; its tree opens here as soon as it ends.",
)
if picked is not None:
    key, title, run = picked[0].id, picked[0].title, picked[1]
    exports.share(key, title, run)
    linked_views.draw(key, run)
    lazy_tabs(
        {
            "Accuracy": lambda: metrics_view.draw(run),
            "CART beside it": lambda: metrics_view.greedy(key, run),
            "Rules": lambda: metrics_view.rules_table(key, run),
            "Score a file": lambda: scoring.draw(key, run),
            "Model card": lambda: metrics_view.model_card(key, run),
            "Download": lambda: exports.draw(key, title, run, 3),
            "Convergence": lambda: replay.convergence(key, run),
            "Inside the search": lambda: replay.inside(key, run),
        },
        key="explore_tabs",
    )
