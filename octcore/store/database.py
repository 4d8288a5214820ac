"""The file: where it is, its tables, transactions, and errors in words.

Durability over speed: write-ahead log with ``synchronous=FULL``, so that a commit that returned
survives the death of the process and of the machine.
"""

import contextlib
import os
import sqlite3
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from octcore.data.serial import STORE_VARIABLE
from octcore.errors import StoreError

BUSY_SECONDS = 10.0  # another process may be writing
CHECKED_BYTES = 64 * 2**20  # files up to this size are checked whole when they are opened
STEPS = (
    """
CREATE TABLE rows (
    hash TEXT PRIMARY KEY,
    body BLOB NOT NULL,
    n_rows INTEGER NOT NULL
) STRICT;
CREATE TABLE run (
    id TEXT PRIMARY KEY,
    name TEXT NOT NULL,
    session TEXT NOT NULL,
    state TEXT NOT NULL CHECK (
        state IN ('queued', 'running', 'done', 'stopped', 'failed', 'interrupted')),
    created REAL NOT NULL,
    finished REAL,
    settings TEXT NOT NULL,
    rows_hash TEXT NOT NULL REFERENCES rows (hash),
    owner TEXT NOT NULL,
    heartbeat REAL NOT NULL,
    summary TEXT NOT NULL DEFAULT '{}',
    result TEXT,
    error TEXT NOT NULL DEFAULT ''
) STRICT;
CREATE INDEX run_created ON run (created);
CREATE INDEX run_rows ON run (rows_hash);
CREATE TABLE event (
    run_id TEXT NOT NULL REFERENCES run (id) ON DELETE CASCADE,
    seq INTEGER NOT NULL,
    kind TEXT NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (run_id, seq)
) STRICT, WITHOUT ROWID;
""",
    """
CREATE TABLE IF NOT EXISTS family (
    run_id TEXT PRIMARY KEY REFERENCES run (id) ON DELETE CASCADE,
    rows_hash TEXT NOT NULL,
    body TEXT NOT NULL
) STRICT;
""",
)
"""From nothing to the tables of today; a file of version n has been through the first n steps.

What is here never changes: a new step is put behind.  (Some files of version 1 have families.)
"""
ADVICE = {
    "SQLITE_FULL": ("DISK_FULL", "the disk is full; free some space"),
    "SQLITE_READONLY": ("READ_ONLY", "it is read-only; make it writable or choose another place"),
    "SQLITE_PERM": ("READ_ONLY", "access is denied; make it writable or choose another place"),
    "SQLITE_CANTOPEN": ("CANNOT_OPEN", "it cannot be opened; check the folder and its rights"),
    "SQLITE_NOTADB": ("CORRUPT", "it is no database; move it away and a new one is made"),
    "SQLITE_CORRUPT": ("CORRUPT", "it is damaged; move it away and a new one is made"),
    "SQLITE_BUSY": ("BUSY", "another program keeps it locked; close that one"),
    "SQLITE_IOERR": ("IO_ERROR", "the disk reports an error; check it"),
}


class Database:
    """One connection, shared by the threads of a process under a lock.

    The file and its folder are made, readable by the user only; `StoreError` says why they cannot
    be used, and what to do.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.RLock()
        _make_file(path)
        with self.errors_in_words():
            self._connection = sqlite3.connect(
                path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False
            )
            try:
                self._open()
            except BaseException:
                self._connection.close()
                raise

    def _open(self) -> None:
        # First of all, so that a damaged file is left as it is.
        if self.path.stat().st_size <= CHECKED_BYTES:
            (found,) = self._connection.execute("PRAGMA quick_check(1)").fetchone()
            if found != "ok":
                raise self._error("CORRUPT", ADVICE["SQLITE_CORRUPT"][1])
        for pragma in (
            "auto_vacuum = INCREMENTAL", "journal_mode = WAL", "synchronous = FULL",
            "foreign_keys = ON", "secure_delete = ON", f"busy_timeout = {int(BUSY_SECONDS * 1000)}",
        ):  # fmt: skip
            self._connection.execute(f"PRAGMA {pragma}")
        with self.transaction() as connection:
            (version,) = connection.execute("PRAGMA user_version").fetchone()
            if not 0 <= version <= len(STEPS):
                raise self._error(
                    "OTHER_VERSION",
                    f"it has version {version} and this octcore knows versions up to "
                    f"{len(STEPS)}; update octcore or move the file away",
                )
            for number, step in enumerate(STEPS[version:], start=version + 1):
                for statement in [*step.split(";\n"), f"PRAGMA user_version = {number}"]:
                    connection.execute(statement)

    @contextlib.contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """Write: everything inside is committed together, or nothing is."""
        with self._lock, self.errors_in_words():
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield self._connection
                self._connection.execute("COMMIT")
            except BaseException:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                raise

    def read(self, statement: str, *values: Any) -> list[tuple[Any, ...]]:
        """All rows of a query."""
        with self._lock, self.errors_in_words():
            return self._connection.execute(statement, values).fetchall()

    @contextlib.contextmanager
    def errors_in_words(self) -> Iterator[None]:
        """Turn errors of SQLite into `StoreError`."""
        try:
            yield
        except sqlite3.Error as error:
            name = getattr(error, "sqlite_errorname", None) or ""
            for prefix, (code, advice) in ADVICE.items():
                if name.startswith(prefix):
                    raise self._error(code, advice) from error
            raise self._error("STORE_FAILED", f"it failed with {error}") from error

    def close(self) -> None:
        """Close the connection; nothing is lost when this never happens."""
        with self._lock, contextlib.suppress(sqlite3.Error):
            self._connection.close()

    def _error(self, code: str, advice: str) -> StoreError:
        return StoreError(code, f"The history of runs in {self.path} cannot be used: {advice}.")


def _make_file(path: Path) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise StoreError(
            "READ_ONLY" if isinstance(error, PermissionError) else "CANNOT_OPEN",
            f"The history of runs in {path} cannot be used: {reason}; choose another place with "
            f"{STORE_VARIABLE}.",
        ) from error
