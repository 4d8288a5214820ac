"""Accuracy against size: the optimal tree for every number of leaves."""

from dashboard import session
from dashboard.views.data import column_editor
from dashboard.views.size import view as path_view
from dashboard.widgets.frame import draw_title

draw_title("Size")
if not column_editor.asks_first():
    path_view.draw(session.dataset())
