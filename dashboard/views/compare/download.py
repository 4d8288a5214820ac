"""A comparison to take away as one file."""

from __future__ import annotations

from collections.abc import Sequence

from dashboard import session
from dashboard.reports.compare_report import comparison_html
from dashboard.server import jobs
from dashboard.server.job_view import JobView
from dashboard.views.compare.race_entrants import entrants_of
from dashboard.views.compare.side_by_side import Finished
from dashboard.widgets import inputs


def draw(views: Sequence[JobView], runs: Sequence[Finished]) -> None:
    """Draw the button; the file is made when it is asked for."""
    inputs.download(
        "Report (HTML)",
        "comparison.html",
        lambda: _report(views, runs),
        "compare_report",
        help="One file that needs no network: race, differences, accuracy, trees, planes, proofs.",
    )


def _report(views: Sequence[JobView], runs: Sequence[Finished]) -> str:
    share, rows = session.repeats(tuple(entry.id for entry in runs)) or (0.0, ())
    repeats = [
        [view.run for key in row if (view := jobs.view(key or None)) and view.run] for row in rows
    ]
    return comparison_html(
        entrants_of(views, False),
        [entry.run for entry in runs],
        [entry.label for entry in runs],
        repeats,
        share,
    )
