"""The drawing board: points, or the cuts of a guess, moved by hand, with mouse or keyboard."""

from collections.abc import Callable
from typing import Any

from dashboard.teaching.lessons import Cuts, Points
from dashboard.widgets.component import make_component

HTML = """
<div class="octboard">
  <div class="guess errors" role="status"></div>
  <div class="bar drawing">
    <span class="classes" role="radiogroup" aria-label="Class of new points"></span>
    <span class="grow"></span>
    <button data-act="undo" title="Take the last change back (Ctrl + Z)">Undo</button>
    <button data-act="clear" title="Remove all points">Clear</button>
  </div>
  <svg tabindex="0" role="application" viewBox="-100 -20 1140 1110"
    aria-label="Drawing board. Arrow keys move the cursor, Enter adds a point, Space picks the
    nearest point up and puts it down, Delete removes it, 1 and 2 choose the class."></svg>
  <div class="hint guess">Drag a line; a click turns it. Keyboard: 1 to 3 choose a line, arrow keys
  move it, Enter turns it.</div>
  <div class="hint drawing">Click adds a point, dragging moves it, a right click or a long touch
  removes it. Keyboard: arrow keys, Enter adds, Space picks up and puts down, Delete removes, 1 and
  2 choose the class.</div>
  <div class="live" aria-live="polite"></div>
</div>
"""

_show = make_component("drawing_board", HTML, "change")


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
