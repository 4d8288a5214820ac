"""What if: conditions on a solved tree, and what they cost."""

from dashboard.views.what_if import view as what_if_view
from dashboard.widgets import run_picker
from dashboard.widgets.frame import draw_title

draw_title("What if")
view = run_picker.draw()
run = run_picker.solved(
    view,
    "There is no solved tree yet. Solve one first; then ask here what a condition costs.",
    "This run is still going on; the question opens here as soon as it ends.",
)
if view is not None and run is not None:
    what_if_view.draw(view, run)
