"""The one writer of the history: a thread, so that a slow disk never delays a solve or a page.

What changes a tree or a state is written at once, other events in batches.  When the history
cannot be written, what is due is kept in memory and tried again, in order; when the file itself is
the trouble it is opened anew, so that a file that was moved away or made writable takes everything
that happened meanwhile.
"""

import contextlib
import logging
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from typing import Concatenate, ParamSpec

from octcore.engines.events import Event
from octcore.errors import StoreError
from octcore.store.runs import RunStore

BATCH_SECONDS = 1.0  # what a crash may lose
BEAT_SECONDS = 2.0  # marks runs whose process lives
SWEEP_SECONDS = 10.0  # looks for runs whose process has died
RETRY_SECONDS = 2.0  # after a write that failed
MOST_EVENTS, MOST_RUNS = 20_000, 200
"""What waits in memory at most while the history cannot be written."""
PASSING = frozenset({"DISK_FULL", "BUSY", "IO_ERROR", "STORE_FAILED"})
"""Troubles that may pass by themselves; the open file is tried again."""
LASTING = frozenset({"READ_ONLY", "CANNOT_OPEN", "CORRUPT", "OTHER_VERSION"})
"""Troubles with the file; it is opened anew before the next try."""
logger = logging.getLogger(__name__)
P = ParamSpec("P")


@dataclass(frozen=True, eq=False)
class Call:
    """Something to write: about which run, by what method and how, or the event that it is."""

    run_id: str
    method: Callable[..., object] | None = None
    write: Callable[[RunStore], object] = lambda _: None
    event: Event | None = None


class RunWriter:
    """Writes in the order of the calls; trouble with the store delays it and is said.

    `path`: file of the history; by default the user's.
    `store`: None when the history cannot be opened.
    `problem`: one sentence on what is wrong now; empty when everything gets written.
    """

    def __init__(self, path: Path | str | None = None) -> None:
        self.store: RunStore | None = None
        self.problem = ""
        self._path = path
        self._calls: deque[Call] = deque()
        self._begun: dict[str, Call] = {}
        self._changed = threading.Condition()
        self._closing = threading.Event()
        self._reopen = self._is_urgent = False
        self._beaten = self._swept = time.monotonic()
        self._open()
        self._thread = threading.Thread(target=self._write, name="run-writer", daemon=True)
        self._thread.start()

    def put(
        self,
        run_id: str,
        write: Callable[Concatenate[RunStore, P], object],
        /,
        *args: P.args,
        **more: P.kwargs,
    ) -> None:
        """Write something about a run: what a method of the history is told."""
        call = Call(run_id, write, lambda store: write(store, *args, **more))
        if write is RunStore.begin:
            self._begun[run_id] = call
        self._put(call)

    def append(self, run_id: str, event: Event) -> None:
        """Write down an event."""
        self._put(Call(run_id, event=event))

    def tick(self) -> None:
        """Flush, give signs of life and look for runs of dead programs, each in its own time."""
        now = time.monotonic()
        if self.problem and self._calls:
            return  # what waits is tried again anyway
        if now - self._beaten >= BEAT_SECONDS:
            self._beaten = now
            self.put("", RunStore.beat)
        if now - self._swept >= SWEEP_SECONDS:
            self._swept = now
            self.put("", RunStore.sweep)

    def is_waiting(self, run_id: str) -> bool:
        """Whether something of this run is not in the history yet."""
        with self._changed:
            return any(call.run_id == run_id for call in self._calls)

    def drain(self, timeout: float = 10.0) -> bool:
        """Wait until everything so far is written; returns whether it is."""
        with self._changed:
            self._is_urgent = True
            self._changed.notify_all()
            return self._changed.wait_for(lambda: not self._calls, timeout)

    def close(self) -> None:
        """Write the rest and close the file."""
        self._closing.set()
        with self._changed:
            self._changed.notify_all()
        self._thread.join(10.0)
        if self._calls:
            logger.warning("%d records of the history could not be written.", len(self._calls))
        store, self.store = self.store, None
        if store is not None:
            try:
                store.close()
            except StoreError as error:
                logger.warning("%s", error.message)

    def _put(self, call: Call) -> None:
        with self._changed:
            self._calls.append(call)
            self._is_urgent |= call.event is None or call.event.tree is not None
            if self.problem:
                self._make_room()
            self._changed.notify_all()

    def _make_room(self) -> None:
        """Drop what memory cannot hold: events, which their run has too, then whole old runs."""
        calls = self._calls
        if len(calls) > MOST_EVENTS:
            self._calls = deque(call for call in calls if call.event is None)
        finished = [call.run_id for call in self._calls if call.method is RunStore.finish]
        if len(finished) > MOST_RUNS:
            logger.warning("Too much waits for the history; its oldest run is given up.")
            self._calls = deque(call for call in self._calls if call.run_id != finished[0])
            self._begun.pop(finished[0], None)

    def _write(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._calls or self._closing.is_set())
                if not self._calls:
                    return
                self._changed.wait_for(
                    lambda: self._is_urgent or self._closing.is_set(), BATCH_SECONDS
                )
                batch = self._batch()
                self._is_urgent = len(batch) < len(self._calls)
            if not self._is_written(batch):
                # Once more at the very end, then the rest is lost.
                if self._closing.wait(RETRY_SECONDS) and not self._is_written(batch):
                    return
                continue
            with self._changed:
                done = set(map(id, batch))
                self._calls = deque(call for call in self._calls if id(call) not in done)
                self._changed.notify_all()

    def _batch(self) -> list[Call]:
        """What is written together: the first call, with the events of its run that follow."""
        if not self._calls:
            return []  # given up meanwhile
        first = self._calls[0]
        if first.event is None:
            return [first]
        events = takewhile(lambda call: call.event is not None, self._calls)
        return [call for call in events if call.run_id == first.run_id]

    def _is_written(self, batch: list[Call]) -> bool:
        """Carry out calls; whether they are done with, written or not worth another try."""
        if (self.store is None or self._reopen) and not self._open():
            return False
        store = self.store
        assert store is not None
        try:
            for call in batch:
                call.write(store)
            if events := [call.event for call in batch if call.event is not None]:
                store.append(batch[0].run_id, events)
        except StoreError as error:
            if error.code not in PASSING | LASTING:
                logger.warning("%s", error.message)  # such as a run that was deleted meanwhile
                return True
            self._trouble(error)
            return False
        except Exception:
            # One odd record must not end the history of the others.
            logger.warning("A record could not be written.", exc_info=True)
        for call in batch:
            if call.method is RunStore.finish:
                self._begun.pop(call.run_id, None)
        self.problem = ""
        return True

    def _open(self) -> bool:
        """Open the file, anew if need be, and take up the runs that go on."""
        try:
            store = RunStore(self._path)
            with self._changed:
                waiting = {call.run_id for call in self._calls if call.method is RunStore.begin}
            for run_id, call in list(self._begun.items()):
                if run_id not in waiting and not store.resume(run_id):
                    call.write(store)
        except StoreError as error:
            self._trouble(error)
            return False
        old, self.store, self._reopen = self.store, store, False
        if old is not None:
            with contextlib.suppress(StoreError):
                old.close()
        return True

    def _trouble(self, error: StoreError) -> None:
        if not self.problem:
            logger.warning("%s", error.message)
        self._reopen = error.code in LASTING
        self.problem = (
            f"{error.message} Solving goes on without history: what could not be written is kept "
            "in memory and tried again."
        )
