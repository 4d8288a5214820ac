"""Starting a solve: the one obvious button."""

from collections.abc import Mapping
from typing import Any

from dashboard import session
from dashboard.server import jobs
from dashboard.widgets import inputs
from octcore.data.dataset import Dataset
from octcore.errors import OctError
from octcore.formulations.base import list_formulations
from octcore.plotting import text
from octcore.solving.prepare import rows_to_hold_out
from octcore.solving.settings import FORMULATION

HELD_OUT = 0.25
QUICK_CELLS = 250_000
"""Up to about so many numbers in the table, depth 3 is proven within a second or two."""
QUICK_CLASSES = 10  # every further ten classes cost the search as much as the table once more


def is_quick(data: Dataset) -> bool:
    """Whether the best tree of depth 3 is found while one waits."""
    cells = data.n_samples * data.n_features * max(1.0, data.n_classes / QUICK_CLASSES)
    return cells <= QUICK_CELLS


def first_settings(data: Dataset) -> dict[str, Any]:
    """What the first button solves: proven at once, read at a glance, judged on held-out rows.

    `data`: the rows; large ones, and those of many classes, start with a smaller tree.
    """
    return {
        "formulation": str(FORMULATION.default),
        "encoding": "auto",
        "depth": 3 if is_quick(data) else 2,
        "time_limit": 60.0,
        "test_size": HELD_OUT,
        "params": {"leaf_penalty": 0.01},
    }


def start(settings: Mapping[str, Any], data: Dataset | None = None) -> bool:
    """Start a solve, by default of what is loaded, and look at it; says why it cannot."""
    rows = session.dataset() if data is None else data
    run = inputs.tried(lambda: jobs.submit(session.token(), rows, settings))
    if run is not None:
        session.offer(session.SOLVE, settings)
        session.look_at(run)
    return run is not None


MARGINS = next(i for i in list_formulations() if i.has_margins and i.max_classes == 2)
MARGIN_SETTINGS: dict[str, Any] = {
    "formulation": MARGINS.key,
    "encoding": "auto",
    "depth": 2,
    "time_limit": 60.0,
    "test_size": HELD_OUT,
}
MOST_MARGIN_ROWS = 500  # up to about so many rows MARGOT is proven while one waits


def suits_margins(data: Dataset) -> bool:
    """Whether a tree of planes with margins is worth a button of its own."""
    numbers = sum(column.kind == "numeric" for column in data.columns)
    return data.n_classes == 2 and numbers >= 2 and data.n_samples <= MOST_MARGIN_ROWS


def start_button(
    label: str,
    key: str,
    given: Mapping[str, Any] | None = None,
    is_first: bool = True,
    data: Dataset | None = None,
) -> None:
    """Draw a button that starts a solve, by default `first_settings`, and opens the Solve page.

    `data`: the rows; by default what is loaded.
    """
    rows = session.dataset() if data is None else data
    settings, words = given or {}, "Say first on the Data page what is predicted."
    if data is not None or session.is_ready():
        settings, words = given or first_settings(rows), ""
        try:
            if settings["test_size"]:
                rows_to_hold_out(rows, settings["test_size"])
        except OctError as error:
            words = error.message
            inputs.say(words)
    look: dict[str, Any] = {"disabled": bool(words), "help": text.markdown(words, 300) or None}
    pressed = inputs.wide_button(label, "play_arrow", key, is_first=is_first, **look)
    if pressed and start(settings, data):
        session.open_page("solve")
