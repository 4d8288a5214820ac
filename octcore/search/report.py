"""What a search for trees of planes tells while it runs, and how it is asked to end."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from octcore.tree.tree import Tree


@dataclass(frozen=True, eq=False)
class Report:
    """A better tree, a bound, or just that the search goes on."""

    states: int  # processed so far
    planes: Any = None  # of a tree better than all before, as the task's `to_tree` takes them
    objective: float | None = None  # of that tree, in the units of the search
    bound: float | None = None
    source: str = "search"


Receive = Callable[[Report], bool]  # takes a report, and says whether the gap is closed by now
Stop = Callable[[int], bool]
"""Takes the number of states so far, and says whether the search has to end."""

Known = Callable[[], tuple[float, Tree] | None]
"""Says which tree is the best one by now, with its objective in the units of the search."""


def unheard(_: Report) -> bool:
    """Take a report that nobody waits for."""
    return False


class PlaneTask(Protocol):
    """A typed problem with its search and the way to trees: what a formulation hands over."""

    @property
    def one_thread(self) -> str | None:
        """Name of a search that has no use for more threads."""
        ...

    @property
    def to_tree(self) -> Callable[[Any], Tree]:
        """Makes a tree of planes."""
        ...

    def search(
        self, receive: Receive, stop: Stop, known: Known, gap: float, threads: int
    ) -> str | None:
        """Search to the end; returns what is to be said where a gap stays.

        `receive`: told whatever happens, in the thread that called.
        `stop`: asked at least every 0.3 s; a true answer ends the search.
        `known`: its answer improves when trees that are received are improved.
        `gap`: relative gap that is small enough.
        `threads`: how many may compute.
        """
        ...
