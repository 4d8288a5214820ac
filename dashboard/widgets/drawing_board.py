"""The drawing board: points, or the cuts of a guess, moved by hand, with mouse or keyboard."""

from collections.abc import Callable
from typing import Any

from dashboard.teaching.lessons import Cuts, Points
from dashboard.widgets.component import make_component

_show = make_component("drawing_board", "change")


def show_board(
    data: dict[str, Any], key: str, on_points: Callable[[int, Points, bool], None]
) -> None:
    """Draw the board.

    `on_points`: called before the rerun that a change causes, with the number of the change, all
    points, and whether one of them is still being moved.
    """

    def changed(change: dict[str, Any]) -> None:
        points = tuple((int(x), int(y), int(k)) for x, y, k in change["points"])
        on_points(int(change["serial"]), points, bool(change["moving"]))

    _show(data, key, changed)


def show_guess(data: dict[str, Any], key: str, on_cuts: Callable[[int, Cuts], None]) -> None:
    """Draw points that stay and cuts to drag; `on_cuts` hears of one that was put down."""

    def changed(change: dict[str, Any]) -> None:
        cuts = tuple((int(axis), int(place)) for axis, place in change["cuts"])
        on_cuts(int(change["serial"]), cuts)

    _show(data, key, changed)
