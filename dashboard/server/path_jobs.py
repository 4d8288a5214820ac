"""Penalty paths as the pages see them: tasks in the queue of the server, each computed once."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any

from dashboard.server.job_view import JobView
from dashboard.server.supervisor import Supervisor
from octcore.data.dataset import Dataset
from octcore.encoding.base import Encoding
from octcore.errors import OctError
from octcore.selection.penalty_path import PathStep, PenaltyPath
from octcore.tree.tree import Tree

KEPT = 24
GRACE_SECONDS = 20.0
"""The worker ends itself at its time limit; this much later it is ended."""
STOPPED = "Stopped."
GONE = "The search is not kept any more; compute again."


class PathJob:
    """One path that is asked for; it waits, runs and is stopped like every solve.

    Parameters
    ----------
    supervisor : Supervisor
        Of this server.
    data : Dataset
        Its rows.
    settings : mapping
        Keywords of `octcore.penalty_path`.
    owner : str
        The browser session.

    Attributes
    ----------
    path : PenaltyPath or None
        The result.
    error : str
        Why there is none, in one sentence; empty while it goes on or has ended well.
    """

    def __init__(
        self, supervisor: Supervisor, data: Dataset, settings: Mapping[str, Any], owner: str
    ) -> None:
        self._supervisor = supervisor
        self._path: PenaltyPath | None = None
        self._refusal, self._id = "", ""
        seconds = float(settings.get("time_limit", 60.0)) + GRACE_SECONDS
        try:
            self._id = supervisor.submit_task(
                owner, data, "path", settings, f"Sizes of trees on {data.name}", seconds
            )
        except OctError as error:
            self._refusal = error.message

    @property
    def _view(self) -> JobView | None:
        return self._supervisor.get(self._id) if self._id else None

    @property
    def is_final(self) -> bool:
        """Whether it has ended."""
        view = self._view
        return view is None or view.is_final

    @property
    def position(self) -> int:
        """Place in the queue; 0 when it does not wait."""
        view = self._view
        return 0 if view is None else view.position

    @property
    def elapsed(self) -> float:
        """Seconds since it started."""
        view = self._view
        return 0.0 if view is None else view.elapsed

    @property
    def path(self) -> PenaltyPath | None:
        """The path, once there is one."""
        view = self._view
        if self._path is None and view is not None and view.is_final and view.result is not None:
            self._path = read_path(view.result["path"])
        return self._path

    @property
    def error(self) -> str:
        """Why there is no path; empty while it goes on or has ended well."""
        view = self._view
        if self._refusal or self.path is not None:
            return self._refusal
        if view is None:
            return GONE
        if not view.is_final:
            return ""
        return STOPPED if view.error is None else view.error.message

    def wait(self, timeout: float) -> bool:
        """Wait for the end; returns whether it came."""
        return self._supervisor.wait(self._id, timeout) if self._id else True

    def stop(self) -> None:
        """End it; half a path is none."""
        self._supervisor.stop(self._id)


def read_path(record: Mapping[str, Any]) -> PenaltyPath:
    """Read a path back from its plain data."""
    steps = tuple(
        PathStep(
            int(step["leaves"]),
            float(step["accuracy"]),
            step["test_accuracy"],
            step["low"],
            step["high"],
            Tree.from_dict(step["tree"]),
        )
        for step in record["steps"]
    )
    encoding = Encoding.from_dict(record["encoding"])
    return PenaltyPath(steps, encoding, int(record["depth"]), float(record["seconds"]))


class PathJobs:
    """All paths of one server: each is computed once.

    Parameters
    ----------
    supervisor : Supervisor
        Where they wait and run.
    """

    def __init__(self, supervisor: Supervisor) -> None:
        self._supervisor = supervisor
        self._lock = threading.Lock()
        self._jobs: dict[str, PathJob] = {}

    def get(self, key: str) -> PathJob | None:
        """The job of a key; None when it was not asked for, or forgotten."""
        with self._lock:
            return self._jobs.get(key)

    def start(
        self, key: str, data: Dataset, settings: Mapping[str, Any], owner: str = ""
    ) -> PathJob:
        """Ask for a path; one that failed before is tried again."""
        with self._lock:
            known = self._jobs.get(key)
            if known is not None and not (known.is_final and known.error):
                return known
            for old in [k for k, job in self._jobs.items() if job.is_final][: -KEPT or None]:
                del self._jobs[old]
            self._jobs[key] = PathJob(self._supervisor, data, settings, owner)
            return self._jobs[key]
