"""Compare."""

from __future__ import annotations

from dashboard.widgets.frame import draw_title

draw_title("Compare")
