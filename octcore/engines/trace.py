"""The trace of a solve: all events, gap over time, JSON lines in and out."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from octcore.engines.events import Event
from octcore.errors import ModelFileError


@dataclass(frozen=True)
class Trace:
    """Events of one solve in the order of time."""

    events: tuple[Event, ...] = ()

    def __iter__(self) -> Iterator[Event]:
        """Iterate over the events."""
        return iter(self.events)

    def __len__(self) -> int:
        """Number of events."""
        return len(self.events)

    @property
    def incumbents(self) -> tuple[Event, ...]:
        """Events that brought a better tree."""
        return tuple(event for event in self.events if event.kind == "incumbent")

    @property
    def phases(self) -> tuple[Event, ...]:
        """Events that started a phase."""
        return tuple(event for event in self.events if event.kind == "phase")

    def at(self, seconds: float) -> Event | None:
        """Last event at or before a time."""
        before = [event for event in self.events if event.seconds <= seconds]
        return before[-1] if before else None

    def to_json_lines(self) -> str:
        """One JSON object a line."""
        return "".join(
            json.dumps(event.to_dict(), allow_nan=False, default=str) + "\n"
            for event in self.events
        )

    @classmethod
    def from_json_lines(cls, lines: str | Iterable[str]) -> Trace:
        """Read a trace back.

        Raises
        ------
        ModelFileError
            If a line is not an event.
        """
        if isinstance(lines, str):
            lines = lines.splitlines()
        events = []
        for number, line in enumerate(lines, start=1):
            if not line.strip():
                continue
            try:
                events.append(Event.from_dict(json.loads(line)))
            except (KeyError, TypeError, ValueError) as error:
                raise ModelFileError(
                    "BROKEN_TRACE", f"Line {number} of the trace is not an event: {error}."
                ) from error
        return cls(tuple(events))
