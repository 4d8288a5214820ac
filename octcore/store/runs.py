"""Write runs while they happen, read them back without a solver."""

import base64
import contextlib
import functools
import hashlib
import json
import logging
import os
import sqlite3
import threading
import time
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import psutil

from octcore.data.dataset import Dataset, pack, unpack
from octcore.data.serial import default_path, jsonable
from octcore.engines.events import Event, relative_gap
from octcore.errors import ModelFileError, StoreError, read_in_words
from octcore.solving.finish import read_back, run_from_incumbent
from octcore.solving.run import JobState, Run
from octcore.solving.settings import without_retired
from octcore.store.database import Database

SILENCE_SECONDS = 30.0  # without a heartbeat, after which a run of an unseen process is dead
INTERRUPTED = "The program ended during this solve; the tree is the last incumbent."
NEVER_BEGUN = "The program ended before this solve had a tree."
INFO_COLUMNS = (
    "id, name, session, state, created, finished, settings, summary, rows_hash, "
    "(SELECT length(body) FROM rows WHERE hash = rows_hash), error"
)
SUMMARY = (
    "status", "stop_reason", "objective", "bound", "gap", "accuracy", "test_accuracy",
    "majority_accuracy", "n_train", "n_test",
)  # fmt: skip
START_TOLERANCE = 1.0  # seconds by which two readings of a process's start may differ
logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class RunInfo:
    """One line of the history."""

    id: str
    name: str  # the user's name for it; its id is a full UUID
    session: str  # who started it, as the program chose to say
    state: JobState
    created: float
    finished: float | None  # both in seconds since 1970
    settings: Mapping[str, Any]
    summary: Mapping[str, Any] = field(default_factory=dict)  # status, objective, … as far as known
    rows_hash: str = ""  # content hash of its rows; runs on the same rows share it
    rows_bytes: int = 0
    error: str = ""  # why it failed, in one sentence


@dataclass(frozen=True)
class StoreSize:
    """How much is kept: number of runs, bytes of their rows, bytes of the file."""

    n_runs: int
    rows_bytes: int
    file_bytes: int


def run_summary(run: Run) -> dict[str, Any]:
    """What a list says of a run."""
    return {
        **{name: getattr(run, name) for name in SUMMARY},
        "seconds": run.timings.get("total"),
        "n_leaves": None if run.tree is None else run.tree.n_leaves,
        "badge": run.badge,
        "weighted": run.sample_weight is not None,
        "data": run.about_data.get("name"),
    }


@functools.cache
def _host() -> str:
    """Name this boot of this machine and its space of process ids."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        return f"{boot} {os.readlink('/proc/self/ns/pid')}"
    except OSError:
        return f"{os.uname().nodename if hasattr(os, 'uname') else 'host'} {psutil.boot_time():.0f}"


class RunStore:
    """The history of runs; every method may be called from any thread.

    One `RunStore` writes for one program; several programs may share the file.

    `path`: the file; by default `default_path`.
    Raises `StoreError` here and in every method, if the file cannot be used; the message says why.
    """

    def __init__(self, path: Path | str | None = None) -> None:
        self._database = Database(default_path() if path is None else Path(path))
        own = psutil.Process()
        process = {"host": _host(), "pid": own.pid, "start": round(own.create_time(), 2)}
        self._owner = json.dumps(process, sort_keys=True)
        self._lock = threading.Lock()
        self._next: dict[str, int] = {}
        self.sweep()

    @property
    def path(self) -> Path:
        """The file."""
        return self._database.path

    def begin(
        self,
        data: Dataset,
        settings: Mapping[str, Any],
        name: str = "",
        session: str = "",
        run_id: str | None = None,
        state: JobState = JobState.RUNNING,
    ) -> str:
        """Write down that a solve was asked for; returns its id, a full UUID.

        `data`: the rows given to the solve; kept compressed, once for all runs on them.
        `name`, `session`: the user's name for the run; who asks.
        """
        run_id = run_id or str(uuid.uuid4())
        now, about = time.time(), _json({"data": data.name})
        with self._database.transaction() as connection:
            key = _insert_rows(connection, data)
            connection.execute(
                "INSERT INTO run (id, name, session, state, created, settings, rows_hash, owner, "
                "heartbeat, summary) VALUES (?, ?, ?, ?, ?5, ?, ?, ?, ?5, ?)",
                (run_id, name, session, state, now, _json(settings), key, self._owner, about),
            )
        self._next[run_id] = 1
        return run_id

    def keep_family(self, run_ids: Sequence[str], data: Dataset, record: Mapping[str, Any]) -> None:
        """Keep from which rows those of some runs were made, with a record of how."""
        with self._database.transaction() as connection:
            key = _insert_rows(connection, data)
            connection.executemany(
                "INSERT OR REPLACE INTO family SELECT ?1, ?2, ?3 "
                "WHERE EXISTS (SELECT 1 FROM run WHERE id = ?1)",
                [(run_id, key, _json(record)) for run_id in run_ids],
            )

    def family(self, run_id: str) -> tuple[Dataset, dict[str, Any]] | None:
        """What `keep_family` kept for a run; None for most."""
        found = self._database.read(
            "SELECT rows.body, family.body FROM family JOIN rows ON rows_hash = hash "
            "WHERE run_id = ?",
            run_id,
        )
        with _broken_in_words(run_id):
            return (unpack(found[0][0]), json.loads(found[0][1])) if found else None

    def resume(self, run_id: str) -> bool:
        """Go on with a run that was begun through an earlier `RunStore`; False if it is not here.

        Needed after the file was opened anew.
        """
        found = self._database.read(
            "SELECT (SELECT coalesce(max(seq), 0) FROM event WHERE run_id = id) FROM run "
            "WHERE id = ?",
            run_id,
        )
        for (last,) in found:
            self._next[run_id] = last + 1
        return bool(found)

    def start(self, run_id: str) -> None:
        """Write down that a queued run is being solved now."""
        self._update(run_id, "state = 'running', heartbeat = ?", time.time())

    def append(self, run_id: str, events: Sequence[Event]) -> None:
        """Keep events; they are committed together, see `RunWriter` for many of them."""
        with self._lock:
            first = self._next[run_id]
            with self._database.transaction() as connection:
                _insert_events(connection, run_id, first, events)
            self._next[run_id] = first + len(events)

    def beat(self) -> None:
        """Say that this program and its open runs are alive; call it every few seconds."""
        with self._database.transaction() as connection:
            connection.execute(
                "UPDATE run SET heartbeat = ? WHERE owner = ? AND state IN ('queued', 'running')",
                (time.time(), self._owner),
            )

    def finish(self, run_id: str, state: JobState, run: Run | None = None, error: str = "") -> None:
        """Write down the end: the result, what its trace has more, the summary, in one commit."""
        summary, result = {}, None
        if run is not None:
            summary, result = run_summary(run), _json(run.to_dict())
        with self._database.transaction() as connection:
            if run is not None:
                # Its own trace where that says more than what was sent, as after a death.
                found = connection.execute("SELECT count(*) FROM event WHERE run_id = ?", (run_id,))
                if found.fetchone()[0] != len(run.trace.events):
                    connection.execute("DELETE FROM event WHERE run_id = ?", (run_id,))
                    _insert_events(connection, run_id, 1, run.trace.events)
            connection.execute(
                "UPDATE run SET state = ?, finished = ?, summary = ?, result = ?, error = ? "
                "WHERE id = ?",
                (state, time.time(), _json(summary), result, error, run_id),
            )
        self._next.pop(run_id, None)

    def replace_result(self, run_id: str, run: Run) -> None:
        """Keep a finished run as it is now, with its verification."""
        with self._database.transaction() as connection:
            changed = connection.execute(
                "UPDATE run SET summary = ?, result = ? WHERE id = ? AND finished IS NOT NULL",
                (_json(run_summary(run)), _json(run.to_dict()), run_id),
            ).rowcount
        if not changed:
            raise StoreError("NO_SUCH_RUN", f"There is no finished run {run_id!r} in the history.")

    def sweep(self) -> int:
        """Mark open runs of dead programs as interrupted; returns how many there were."""
        count = 0
        with self._database.transaction() as connection:
            open_runs = connection.execute(
                "SELECT id, owner, heartbeat FROM run WHERE state IN ('queued', 'running')"
            ).fetchall()
            for run_id, owner, heartbeat in open_runs:
                if _is_dead(owner, heartbeat):
                    _interrupt(connection, run_id, heartbeat)
                    count += 1
        return count

    def list(self, session: str | None = None) -> tuple[RunInfo, ...]:
        """The history, newest first; of one session only if one is given."""
        where, values = ("", ()) if session is None else ("WHERE session = ?", (session,))
        found = self._database.read(
            f"SELECT {INFO_COLUMNS} FROM run {where} ORDER BY created DESC, rowid DESC", *values
        )
        return tuple(_info(row) for row in found)

    def info(self, run_id: str) -> RunInfo:
        """One line of the history."""
        return _info(self._row(f"SELECT {INFO_COLUMNS} FROM run WHERE id = ?", run_id))

    def events(self, run_id: str) -> tuple[Event, ...]:
        """The committed events of a run."""
        found = self._database.read("SELECT body FROM event WHERE run_id = ? ORDER BY seq", run_id)
        with _broken_in_words(run_id):
            return tuple(Event.from_dict(json.loads(body)) for (body,) in found)

    def data(self, run_id: str) -> Dataset:
        """The rows that a run was given."""
        statement = "SELECT body FROM rows JOIN run ON rows_hash = hash WHERE id = ?"
        return unpack(self._row(statement, run_id)[0])

    def load(self, run_id: str) -> Run:
        """Read a run back with its rows and trace; nothing is solved.

        A run without a result but with events, such as an interrupted one, is made from its last
        incumbent by routing the rows.  `StoreError` if there is nothing to make a result of.
        """
        info = self.info(run_id)
        with _broken_in_words(info.name or run_id):
            result = self._result(run_id)
            if result is not None:
                return read_back(result, self.data(run_id), self.events(run_id))
        events = self.events(run_id)
        if not info.state.is_final or not any(event.tree for event in events):
            yet = " yet" * (not info.state.is_final)
            message = f"The run {info.name or run_id} is {info.state} and has no tree{yet}."
            raise StoreError("NO_RESULT", message)
        seconds = events[-1].seconds
        run = run_from_incumbent(
            self.data(run_id), info.settings, events, "error", seconds, info.error or INTERRUPTED
        )
        died = info.state is JobState.INTERRUPTED  # of no error of its own
        return replace(run, status=str(info.state), stop_reason=str(info.state)) if died else run

    def export(self, run_id: str, rows: bool = False) -> dict[str, Any]:
        """Everything about a run as plain values for JSON; the rows only if asked for."""
        info = self.info(run_id)
        with _broken_in_words(info.name or run_id):
            result = self._result(run_id)
        kept = ("id", "name", "state", "created", "finished", "settings", "summary", "error")
        record: dict[str, Any] = {
            "format": "octcore-run-export",
            "version": 1,
            **{name: getattr(info, name) for name in kept},
            "run": result,
            "events": [event.to_dict() for event in self.events(run_id)],
        }
        if rows:
            record["rows"] = base64.b64encode(pack(self.data(run_id))).decode("ascii")
        return record

    def rename(self, run_id: str, name: str) -> None:
        """Give a run another name."""
        self._update(run_id, "name = ?", name)

    def delete(self, run_id: str) -> None:
        """Delete a run, and its rows when no other run uses them; an open run must be stopped."""
        if not self.info(run_id).state.is_final:
            raise StoreError("RUN_ACTIVE", "This run is still being solved; stop it first.")
        with self._database.transaction() as connection:
            connection.execute("DELETE FROM run WHERE id = ?", (run_id,))
            connection.execute(
                "DELETE FROM rows WHERE NOT EXISTS (SELECT 1 FROM run WHERE rows_hash = hash) "
                "AND NOT EXISTS (SELECT 1 FROM family WHERE rows_hash = hash)"
            )
        self._database.read("PRAGMA incremental_vacuum")

    def size(self) -> StoreSize:
        """How much is kept."""
        ((n_runs, kept),) = self._database.read(
            "SELECT (SELECT count(*) FROM run), (SELECT coalesce(sum(length(body)), 0) FROM rows)"
        )
        ((pages,),) = self._database.read("PRAGMA page_count")
        ((page,),) = self._database.read("PRAGMA page_size")
        return StoreSize(n_runs, int(kept), pages * page)

    def close(self) -> None:
        """Close the file."""
        self._database.close()

    def _result(self, run_id: str) -> dict[str, Any] | None:
        (result,) = self._row("SELECT result FROM run WHERE id = ?", run_id)
        return None if result is None else json.loads(result)

    def _row(self, statement: str, run_id: str) -> tuple[Any, ...]:
        for row in self._database.read(statement, run_id):
            return row
        raise _no_run()

    def _update(self, run_id: str, assignment: str, *values: object) -> None:
        with self._database.transaction() as connection:
            statement = f"UPDATE run SET {assignment} WHERE id = ?"
            if not connection.execute(statement, (*values, run_id)).rowcount:
                raise _no_run()


def _broken_in_words(name: str) -> contextlib.AbstractContextManager[None]:
    return read_in_words("BROKEN_RUN", f"The stored run {name}", "; delete it")


def _listed(text: str) -> dict[str, Any]:
    """What a line of the history shows; nothing of a damaged one, which need not hide the rest."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _no_run() -> StoreError:
    return StoreError("NO_SUCH_RUN", "This run is not in the history; it may have been deleted.")


def _json(value: Any) -> str:
    return json.dumps(jsonable(value), allow_nan=False, separators=(",", ":"))


def _insert_rows(connection: sqlite3.Connection, data: Dataset) -> str:
    packed = pack(data)
    key = hashlib.sha256(packed).hexdigest()
    connection.execute("INSERT OR IGNORE INTO rows VALUES (?, ?, ?)", (key, packed, data.n_samples))
    return key


def _insert_events(
    connection: sqlite3.Connection, run_id: str, first: int, events: Sequence[Event]
) -> None:
    # A run that was deleted meanwhile takes no more events.
    connection.executemany(
        "INSERT INTO event SELECT ?1, ?2, ?3, ?4 WHERE EXISTS (SELECT 1 FROM run WHERE id = ?1)",
        [
            (run_id, seq, event.kind, _json(event.to_dict()))
            for seq, event in enumerate(events, start=first)
        ],
    )


def _is_dead(owner: str, heartbeat: float) -> bool:
    """Whether the process of a run is gone; silence tells where it cannot be seen from here."""
    try:
        record = json.loads(owner)
        if record["host"] == _host():
            started = psutil.Process(record["pid"]).create_time()
            return abs(started - record["start"]) > START_TOLERANCE
    except psutil.NoSuchProcess:
        return True
    except psutil.AccessDenied:
        return False
    except (ValueError, KeyError, TypeError):
        logger.debug("An owner that cannot be read: %.60s", owner)
    return time.time() - heartbeat > SILENCE_SECONDS


def _interrupt(connection: sqlite3.Connection, run_id: str, heartbeat: float) -> None:
    last = "SELECT body FROM event WHERE run_id = ? ORDER BY seq DESC LIMIT 1"
    row = connection.execute(last, (run_id,)).fetchone()
    summary, words = {}, NEVER_BEGUN if row is None else INTERRUPTED
    if row is not None:
        # An event that cannot be read is said by whoever opens the run, not by the whole history.
        with contextlib.suppress(ModelFileError), _broken_in_words(run_id):
            event = Event.from_dict(json.loads(row[0]))
            summary = {
                "status": "no_solution" if event.incumbent is None else "interrupted",
                "stop_reason": "interrupted",
                "objective": event.incumbent,
                "bound": event.bound,
                "gap": relative_gap(event.incumbent, event.bound),
                "seconds": event.seconds,
            }
            words = NEVER_BEGUN if event.incumbent is None else words
    connection.execute(
        "UPDATE run SET state = 'interrupted', finished = ?, error = ?, summary = "
        "json_patch(iif(json_valid(summary), summary, '{}'), ?) WHERE id = ?",
        (heartbeat, words, _json(summary), run_id),
    )


def _info(row: tuple[Any, ...]) -> RunInfo:
    run_id, name, session, state, created, finished, settings, summary, rows_hash, size, error = row
    begun = (run_id, name, session, JobState(state), created, finished)
    read = (without_retired(_listed(settings)), _listed(summary))
    return RunInfo(*begun, *read, rows_hash, size or 0, error)
