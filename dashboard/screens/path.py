"""Accuracy against size: the optimal tree for every number of leaves."""

from dashboard import session
from dashboard.server import jobs
from dashboard.views.data import column_editor
from dashboard.views.size import view as path_view
from dashboard.widgets import run_picker

view = run_picker.choose("Size", or_loaded=True)
if view is None or not run_picker.weighs_rows(view):
    data = None if view is None else jobs.rows_of(view)
    if data is not None:
        path_view.draw(data, view)
    elif not column_editor.asks_first():
        path_view.draw(session.dataset(), None)
