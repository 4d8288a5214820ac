"""Alternatives: all trees that are nearly as good as the optimum, to choose from."""

from dashboard.views.alternatives import view
from dashboard.widgets import run_picker

if picked := run_picker.pick(
    "Alternatives",
    "There is no solved tree yet. Solve one first; here are then all that are nearly as good.",
    "This run is still going on; its alternatives open here as soon as it ends.",
    solves=True,
):
    view.draw(*picked)
