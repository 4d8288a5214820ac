"""The one writer of the history: a thread, so that a slow disk never delays a solve or a page."""

from __future__ import annotations

import logging
import queue
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from octcore.data.dataset import Dataset
from octcore.engines.events import Event
from octcore.errors import StoreError
from octcore.run import Run
from octcore.store import RunStore, StoreState

BEAT_SECONDS = 2.0
SWEEP_SECONDS = 10.0

logger = logging.getLogger(__name__)


class RunWriter:
    """Writes in the order of the calls; after an error of the store it goes on without history.

    Parameters
    ----------
    path : Path, str or None
        File of the history; by default the user's.

    Attributes
    ----------
    store : RunStore or None
        None when the history cannot be used.
    problem : str
        One sentence on why; empty when it can.
    """

    def __init__(self, path: Path | str | None = None) -> None:
        self.store: RunStore | None = None
        self.problem = ""
        self._calls: queue.Queue[Callable[[RunStore], object] | None] = queue.Queue()
        self._beaten = self._swept = time.monotonic()
        try:
            self.store = RunStore(path)
        except StoreError as error:
            self._give_up(error)
        self._thread = threading.Thread(target=self._write, name="run-writer", daemon=True)
        self._thread.start()

    def begin(
        self, run_id: str, data: Dataset, settings: Mapping[str, Any], name: str, session: str
    ) -> None:
        """Write down a queued solve."""
        self._calls.put(
            lambda store: store.begin(data, settings, name, session, run_id, StoreState.QUEUED)
        )

    def start(self, run_id: str) -> None:
        """Write down that it left the queue."""
        self._calls.put(lambda store: store.start(run_id))

    def append(self, run_id: str, event: Event) -> None:
        """Write down an event."""
        self._calls.put(lambda store: store.append(run_id, (event,)))

    def finish(self, run_id: str, state: StoreState, run: Run | None, error: str) -> None:
        """Write down the end."""
        self._calls.put(lambda store: store.finish(run_id, state, run, error))

    def tick(self) -> None:
        """Flush, give signs of life and look for runs of dead programs, each in its own time."""
        now = time.monotonic()
        if now - self._beaten >= BEAT_SECONDS:
            self._beaten = now
            self._calls.put(lambda store: store.beat())
        if now - self._swept >= SWEEP_SECONDS:
            self._swept = now
            self._calls.put(lambda store: store.sweep())

    def drain(self, timeout: float = 10.0) -> bool:
        """Wait until everything so far is written; returns whether it is."""
        done = threading.Event()
        self._calls.put(lambda store: done.set())
        return done.wait(timeout) if self.store is not None else True

    def close(self) -> None:
        """Write the rest and close the file."""
        self._calls.put(None)
        self._thread.join(10.0)
        store, self.store = self.store, None
        if store is not None:
            try:
                store.close()
            except StoreError as error:
                self._give_up(error)

    def _write(self) -> None:
        while (call := self._calls.get()) is not None:
            store = self.store
            if store is None:
                continue
            try:
                call(store)
            except StoreError as error:
                self._give_up(error)
            except Exception:
                # One odd record must not end the history of the others.
                logger.warning("A record could not be written.", exc_info=True)

    def _give_up(self, error: StoreError) -> None:
        logger.warning("%s", error.message)
        self.problem = f"{error.message} Solving goes on without history."
        self.store = None
