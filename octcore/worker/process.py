"""One child process as the parent sees it: start it, talk to it, end it."""

import collections
import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

from octcore.errors import OctError
from octcore.worker.protocol import CANCEL, ProtocolError, read_message

COMMAND = (sys.executable, "-P", "-m", "octcore.worker")
"""Without the current folder: a ``random.py`` or a folder ``octcore`` of the user is not run."""
SILENCE_SECONDS, STARTING_SECONDS = 10.0, 30.0
LINE_LIMIT = 64 * 2**20
"""Longest message in bytes; garbage without a line end must not fill the server."""


class SolveProcess:
    """A started worker.

    `warming`: what the worker is importing or compiling; empty once it is ready.
    `broken`: what was wrong on the pipe; empty when nothing was.
    """

    def __init__(self, command: Sequence[str] = COMMAND) -> None:
        self._process = subprocess.Popen(
            list(command),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        self.warming, self.is_ready = "starting", False
        self.broken, self._seq = "", 0
        self._last_message = time.monotonic()
        self._stderr: collections.deque[bytes] = collections.deque(maxlen=40)
        self._backlog: collections.deque[dict[str, Any]] = collections.deque()
        self._on_message: Callable[[dict[str, Any]], None] | None = None
        self._on_end: Callable[[], None] | None = None
        self._lock = threading.RLock()
        self._ended = False
        self._start_thread(self._read_errors)
        self._start_thread(self._read)

    @property
    def pid(self) -> int:
        """Process id, also of its process group."""
        return self._process.pid

    @property
    def silence(self) -> float:
        """Seconds since the last message."""
        return time.monotonic() - self._last_message

    @property
    def is_lost(self) -> bool:
        """Whether it has been silent for too long; importing may be slow on a busy machine."""
        return self.silence > (SILENCE_SECONDS if self.is_ready else STARTING_SECONDS)

    @property
    def is_alive(self) -> bool:
        """Whether the process runs and its pipe is sound."""
        return not self._ended and self._process.poll() is None

    @property
    def errors(self) -> str:
        """The last lines that it wrote on stderr."""
        return b"".join(self._stderr).decode("utf-8", "replace")

    def serve(
        self, line: bytes, on_message: Callable[[dict[str, Any]], None], on_end: Callable[[], None]
    ) -> None:
        """Send the request; afterwards messages go to `on_message`, the end to `on_end`, once."""
        with self._lock:
            self._on_message, self._on_end = on_message, on_end
            for message in self._backlog:
                on_message(message)
            self._backlog.clear()
            ended = self._ended
        # In a thread: a large request does not fit into the pipe before the child reads it.
        self._start_thread(lambda: self._send(line))
        if ended:
            on_end()

    def stand_back(self, niceness: int) -> None:
        """Lower its priority, where the system knows of priorities."""
        with contextlib.suppress(OSError, AttributeError):
            now = os.getpriority(os.PRIO_PROCESS, self.pid)
            os.setpriority(os.PRIO_PROCESS, self.pid, min(19, now + niceness))

    def cancel(self) -> None:
        """Ask politely; in a thread, since a frozen child may leave its pipe full."""
        self._start_thread(lambda: self._send(CANCEL))

    def signal(self, number: int) -> None:
        """Send a signal to the whole process group; nothing once it has been collected."""
        if self._ended:
            return
        with contextlib.suppress(ProcessLookupError, PermissionError):
            if hasattr(os, "killpg"):
                os.killpg(self.pid, number)
            else:  # Windows knows neither groups nor signals, but ends a process
                self._process.kill()

    def kill(self) -> None:
        """End it at once."""
        self.signal(getattr(signal, "SIGKILL", signal.SIGTERM))

    def __enter__(self) -> "SolveProcess":
        """Use as a context: leaving it ends the worker."""
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()

    def wait(self, seconds: float) -> bool:
        """Wait for the end of the process; returns whether it came."""
        try:
            self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            return False
        return True

    def ending(self) -> str:
        """Say in a few words how it ended."""
        if self.broken:
            return f"broke the protocol ({self.broken})"
        code = self._process.poll()
        if code is None:
            return "closed its pipe"
        if code < 0:
            return f"was ended by signal {_signal_name(-code)}"
        return f"ended with exit code {code}"

    def _start_thread(self, target: Callable[[], None]) -> None:
        threading.Thread(target=target, name=f"worker-{self.pid}", daemon=True).start()

    def _send(self, line: bytes) -> None:
        stream = self._process.stdin
        assert stream is not None
        # A dead child shows at the reading end, where the reason is known.
        with contextlib.suppress(OSError, ValueError):
            stream.write(line)
            stream.flush()

    def _read(self) -> None:
        stream = self._process.stdout
        assert stream is not None
        try:
            while line := stream.readline(LINE_LIMIT):
                self._seq += 1
                self._receive(message := read_message(line, self._seq))
                if message["kind"] == "done":
                    # Its last: giving all memory back takes the process some tenths of a second.
                    self._tell_end()
                    break
        except ProtocolError as error:
            self.broken = str(error)
        self._finish()

    def _receive(self, message: dict[str, Any]) -> None:
        self._last_message = time.monotonic()
        kind = message["kind"]
        if kind == "warming":
            self.warming = str(message.get("what", ""))
        elif kind == "ready":
            self.is_ready, self.warming = True, ""
        with self._lock:
            if self._on_message is None:
                if kind not in {"hello", "heartbeat"}:
                    self._backlog.append(message)
            else:
                try:
                    self._on_message(message)
                except (KeyError, TypeError, ValueError, AttributeError, OctError) as error:
                    raise ProtocolError(f"a message of kind {kind} has a wrong form") from error

    def _finish(self) -> None:
        """Collect what is left of a process whose pipe has ended, whatever the reason."""
        if not self.broken:
            self.wait(0.5)
        self.kill()
        self.wait(5.0)
        with self._lock:
            self._ended = True
        for stream in (self._process.stdin, self._process.stdout):
            # Closing flushes what the dead child did not read.
            with contextlib.suppress(OSError, ValueError):
                if stream is not None:
                    stream.close()
        self._tell_end()

    def _tell_end(self) -> None:
        with self._lock:
            on_end, self._on_end = self._on_end, None
        if on_end is not None:
            on_end()

    def _read_errors(self) -> None:
        stream = self._process.stderr
        assert stream is not None
        with contextlib.suppress(OSError, ValueError):
            while piece := stream.readline(2000):
                self._stderr.append(piece)
        stream.close()


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return str(number)
