"""The child's pipes: messages out, request and cancel in, heartbeats; ready before slow imports."""

from __future__ import annotations

import json
import os
import queue
import sys
import threading
import time
from typing import Any

import psutil

from octcore.worker.protocol import HEARTBEAT_SECONDS, memory_error

EXIT_NO_READER, EXIT_NO_PARENT, EXIT_MEMORY = 3, 4, 12
MEMORY_SHARE = 0.5
MEMORY_CHECK_SECONDS = 0.1


class Channel:
    """Writes messages to the parent.

    Takes a private copy of stdout and points file descriptor 1 at stderr, so that prints of
    native libraries cannot get between the lines.
    """

    def __init__(self) -> None:
        sys.stdout.flush()
        self._file = os.fdopen(os.dup(1), "wb")
        os.dup2(2, 1)
        self._lock = threading.Lock()
        self._seq = 0

    def send(self, kind: str, **fields: Any) -> None:
        """Send one message; a parent that no longer reads ends the process."""
        with self._lock:
            self._write(kind, fields)

    def end(self, exit_code: int, **fields: Any) -> None:
        """Send an error as the very last message and end the process."""
        with self._lock:
            self._write("error", fields)
            os._exit(exit_code)

    def _write(self, kind: str, fields: dict[str, Any]) -> None:
        self._seq += 1
        record = {"seq": self._seq, "kind": kind, **fields}
        try:
            self._file.write(json.dumps(record, allow_nan=False, default=str).encode() + b"\n")
            self._file.flush()
        except OSError:
            os._exit(EXIT_NO_READER)


class Inbox:
    """Reads the request and the wish to cancel; the end of stdin ends the process."""

    def __init__(self) -> None:
        self.cancel = threading.Event()
        self._seen = threading.Event()
        self._requests: queue.Queue[bytes] = queue.Queue()
        threading.Thread(target=self._read, name="inbox", daemon=True).start()

    @property
    def has_request(self) -> bool:
        """Whether a request line has come."""
        return self._seen.is_set()

    def request(self) -> bytes:
        """Wait for the request line."""
        return self._requests.get()

    def _read(self) -> None:
        stream = sys.stdin.buffer
        self._accept(stream.readline())
        for line in stream:
            if line.strip() == b"cancel":
                self.cancel.set()
        os._exit(EXIT_NO_PARENT)

    def _accept(self, line: bytes) -> None:
        if not line.endswith(b"\n"):
            os._exit(EXIT_NO_PARENT)
        self._seen.set()
        self._requests.put(line)


class Watch:
    """Sends heartbeats and ends the process at its memory limit."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self._process = psutil.Process()
        self._limit: int | None = None
        threading.Thread(target=self._run, name="watch", daemon=True).start()

    def limit_memory(self, limit: int | None) -> None:
        """Set the limit in resident bytes; None for half of what is free now."""
        own = self._process.memory_info().rss
        free = psutil.virtual_memory().available
        self._limit = limit or own + int(MEMORY_SHARE * free)

    def _run(self) -> None:
        beat = 0.0
        while True:
            rss = self._process.memory_info().rss
            if self._limit is not None and rss > self._limit:
                text = f"it needed more than {self._limit / 2**30:.2f} GiB of memory"
                self._channel.end(EXIT_MEMORY, **memory_error(text))
            if time.monotonic() - beat >= HEARTBEAT_SECONDS:
                beat = time.monotonic()
                self._channel.send("heartbeat", rss=rss)
            time.sleep(MEMORY_CHECK_SECONDS)
