"""The trace of a solve: all events, gap over time, JSON lines."""

import json
from collections.abc import Iterator
from dataclasses import dataclass

from octcore.engines.events import Event


@dataclass(frozen=True)
class Trace:
    """Events of one solve in the order of time."""

    events: tuple[Event, ...] = ()

    def __iter__(self) -> Iterator[Event]:
        return iter(self.events)

    def __len__(self) -> int:
        return len(self.events)

    @property
    def incumbents(self) -> tuple[Event, ...]:
        """Events that brought a better tree."""
        return tuple(event for event in self.events if event.kind == "incumbent")

    @property
    def phases(self) -> tuple[Event, ...]:
        """Events that started a phase."""
        return tuple(event for event in self.events if event.kind == "phase")

    def to_json_lines(self) -> str:
        """One JSON object a line."""
        return "".join(
            json.dumps(event.to_dict(), allow_nan=False, default=str) + "\n"
            for event in self.events
        )
