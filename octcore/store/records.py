"""Small values that the store gives out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from octcore.engines.events import Event, relative_gap
from octcore.solving.run import Run

SUMMARY = (
    "status", "stop_reason", "objective", "bound", "gap", "accuracy", "test_accuracy",
    "majority_accuracy", "n_train", "n_test",
)  # fmt: skip


class StoreState(StrEnum):
    """How a stored run stands."""

    QUEUED = "queued"
    RUNNING = "running"
    DONE = "done"
    STOPPED = "stopped"
    FAILED = "failed"
    INTERRUPTED = "interrupted"
    """Its program died; the last incumbent is what there is."""

    @property
    def is_open(self) -> bool:
        """Whether a live program works on it."""
        return self in (StoreState.QUEUED, StoreState.RUNNING)


@dataclass(frozen=True)
class RunInfo:
    """One line of the history."""

    id: str
    name: str
    """`id`, `name`: full UUID; the user's name for it."""
    session: str
    """Who started it, as the program chose to say."""
    state: StoreState
    created: float
    finished: float | None
    """`created`, `finished`: seconds since 1970."""
    settings: Mapping[str, Any]
    summary: Mapping[str, Any] = field(default_factory=dict)
    """Status, objective, bound, gap, accuracies and counts, as far as there are any."""
    rows_hash: str = ""
    """Content hash of its rows; runs on the same rows share it."""
    rows_bytes: int = 0
    error: str = ""
    """Why it failed, in one sentence."""


@dataclass(frozen=True)
class StoreSize:
    """How much is kept: number of runs, bytes of their rows, bytes of the file."""

    n_runs: int
    rows_bytes: int
    file_bytes: int


def run_summary(run: Run) -> dict[str, Any]:
    """What a list says of a run."""
    seconds = run.timings.get("total")
    n_leaves = None if run.tree is None else run.tree.n_leaves
    return {
        **{name: getattr(run, name) for name in SUMMARY},
        "seconds": seconds,
        "n_leaves": n_leaves,
        "badge": run.badge,
        "data": run.about_data.get("name"),
    }


def event_summary(event: Event) -> dict[str, Any]:
    """Numbers for the list of a run that has only events."""
    return {
        "status": "no_solution" if event.incumbent is None else "feasible",
        "stop_reason": "error",
        "objective": event.incumbent,
        "bound": event.bound,
        "gap": relative_gap(event.incumbent, event.bound),
        "seconds": event.seconds,
    }
