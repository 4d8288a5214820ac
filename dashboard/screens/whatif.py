"""What if: conditions on a solved tree, and what they cost."""

from dashboard.views.what_if import view
from dashboard.widgets import run_picker

if picked := run_picker.pick(
    "What if",
    "There is no solved tree yet. Solve one first; then ask here what a condition costs.",
    "This run is still going on; the question opens here as soon as it ends.",
    solves=True,
):
    view.draw(*picked)
