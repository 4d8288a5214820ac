"""One job of a server, a solve or a task, as every page sees it, and what it is called."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from octcore.data.dataset import Dataset
from octcore.engines.events import Trace
from octcore.errors import OctError
from octcore.plotting import text
from octcore.plotting.difference import condition_words
from octcore.solving.run import JobState, Run, SolvedRun
from octcore.solving.settings import ENCODING, TEST_SIZE, Asked
from octcore.tree.constraints import ACCEPTED
from octcore.worker.job import PREPARING_PHASES

PHASES = {"build": "building the model", "compile": "compiling the model", "solve": "solving"}


@dataclass(frozen=True, eq=False)
class JobView:
    """A job at one moment, whether it waits, runs, has ended or comes from the history."""

    id: str  # full UUID; knowing it is the right to see the job
    title: str
    settings: Mapping[str, Any]  # keywords of `octcore.solve`, or of the task
    state: str = JobState.QUEUED  # one of `JobState`
    phase: str = ""
    position: int = 0  # place in the queue from 1; 0 when it does not wait
    elapsed: float = 0.0  # seconds since it started, up to the end
    trace: Trace = field(default_factory=Trace)
    data: Dataset | None = None
    """All rows, the held-out ones included; None for runs from the history."""
    run: Run | None = None
    error: OctError | None = None
    started: float | None = None
    finished: float | None = None
    """`started`, `finished`: seconds since 1970; None while it waits or goes on, and for runs from
    the history."""
    submitted: float = 0.0
    session: str = ""
    summary: Mapping[str, Any] = field(default_factory=dict)
    """Numbers of the result as far as there are any; in lists of runs only."""
    task: str = ""  # key of a task of `octcore.selection.tasks`; empty for a solve
    parts: tuple[Mapping[str, Any], ...] = ()
    """What a task has told so far; stays when it is stopped."""
    result: Mapping[str, Any] | None = None

    @property
    def is_final(self) -> bool:
        """Whether nothing will change any more."""
        return JobState(self.state).is_final

    @property
    def solved(self) -> SolvedRun | None:
        """The result with tree and training rows; None where one is missing."""
        return None if self.run is None else self.run.solved

    @property
    def message(self) -> str:
        """Why a task has no result, in one sentence; empty while it goes on or has one."""
        if not self.is_final or self.result is not None:
            return ""
        return "It was stopped." if self.error is None else self.error.message

    @property
    def doing(self) -> str:
        """What it does now."""
        if self.position:
            return f"waiting, place {self.position} in the queue"
        if self.state == "stopping":
            return self.state
        return PHASES.get(self.phase, self.phase) or self.state

    @property
    def words(self) -> str:
        """What it does now, and how long by its clock, which starts late and waits for kernels."""
        if self.phase in PREPARING_PHASES:
            return f"{self.doing}; this may take a minute or two"
        is_timed = self.elapsed and not self.position
        return f"{self.doing}, {text.seconds(self.elapsed)}" if is_timed else self.doing


CONSTRAINTS = {parameter.name for parameter in ACCEPTED}
HELPER = "(helper"
"""Beginning of the names of runs that a page needs for itself; lists leave them out."""


def title_of(settings: Mapping[str, Any], data_name: str) -> str:
    """Name a run by formulation, data, depth and everything that is not as usual."""
    title = Asked.of(settings).info.title
    return ", ".join((f"{title} on {data_name}", *setting_words(settings)))


def setting_words(settings: Mapping[str, Any]) -> tuple[str, ...]:
    """Say depth, encoding, hyperparameters and constraints, as far as they are not as usual."""
    asked = Asked.of(settings)
    words = [f"depth {asked.depth}"]
    if asked.chosen_encoding != asked.info.default_encoding:
        words.append(asked.encoding)
    usual = {parameter.name: parameter.default for parameter in asked.info.hyperparameters}
    for name, value in asked.params.items():
        if value is not None and usual.get(name) != value:
            words.append(setting_phrase(name, value))
    return (*words, *(setting_phrase(name, v) for name, v in asked.constraints.items()))


def setting_phrase(name: str, value: Any) -> str:
    """Say a setting that is not as usual, in few words."""
    if name == ENCODING.name:
        return str(value)
    if name == TEST_SIZE.name:
        return f"{100 * value:g} % held out"
    if name in CONSTRAINTS:
        return condition_words({name: value})
    words = name.replace("_", " ")
    return words if value is True else f"{words} {text.value(value)[:40]}"
