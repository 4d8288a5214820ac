"""The records of a benchmark: what is solved, and the line that is written about it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any

from octcore.data.dataset import Dataset

SELECTION_TEST_SIZE = 0.25
"""Share of the rows held out where rows are selected, as in the paper."""


@dataclass(frozen=True)
class Published:
    """What a paper reports for an instance; None where it reports nothing."""

    objective: float | None = None
    """In the sense of the formulation."""
    gap: float | None = None
    """Relative, not in percent."""
    seconds: float | None = None
    """On the paper's machine and solver."""
    accuracy: float | None = None
    """Test accuracy, in [0, 1]."""


@dataclass(frozen=True)
class Instance:
    """One solve of a suite."""

    dataset: str
    encoding: str
    formulation: str
    """Key of a formulation, or of another program (see `Suite.programs`)."""
    depth: int
    load: Callable[[], Dataset] = field(repr=False, compare=False)
    """Returns the data set; called in the benchmark's own process, once for many instances."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Further keywords of `octcore.solve`: params, constraints, encoding, engine, seed."""
    label: str = ""
    """What distinguishes the solve beside its params: a variant, a split."""
    published: Published = Published()
    rows: tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]] | None = field(
        default=None, repr=False
    )
    """Training, validation and test rows; None trains on all rows."""
    grid: tuple[Mapping[str, Any], ...] = ()
    """Candidates, with settings as in `octcore.tune`; the best on the validation rows is trained
    again on training and validation rows.  Empty without a choice."""
    folds: int = 0
    """Stratified folds of the training rows by which candidates are compared instead."""
    choice: str = "accuracy"
    """How the best is told, as in `octcore.tune`."""
    select: str = ""
    """Rule by which training rows are selected (see `octcore.selection.data_selection`); empty to
    train on all.  The accuracies of the line are then about all rows."""
    program: Callable[[Instance, Line, float], Line] | None = field(default=None, compare=False)
    """What makes the line instead of a solve of ours."""

    @property
    def n_solves(self) -> int:
        """Trainings of the line: of every candidate on every fold, and the last one."""
        return len(self.grid) * max(self.folds, 1) + 1

    @property
    def parameters(self) -> str:
        """Params, constraints and label in one cell."""
        words = [self.label] if self.label else []
        given = {**self.settings.get("params", {}), **self.settings.get("constraints", {})}
        words += [f"{name}={_word(value)}" for name, value in given.items()]
        return " ".join(words)

    @property
    def case(self) -> tuple[str, str, int, str]:
        """What several formulations have in common; ``--instances N`` counts these."""
        penalty = self.settings.get("params", {}).get("leaf_penalty")
        label = "" if self.rows is None else self.label
        return self.dataset, self.encoding, self.depth, f"{label} {penalty}"


def _word(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value).replace(" ", "")


@dataclass(frozen=True)
class Line:
    """One line of the output; the first fifteen columns are the contract, the others may grow.

    `seconds` counts from the call; `solve_seconds` leaves out handing the data to the child
    process and loading the formulations there (0.3 to 0.6 s), and is what peers are compared with.
    `cpu_seconds` is processor time of the same: of all threads and processes, without imports; of a
    choice among candidates it is the last training.  `load` is that of the minute before the solve.
    A status of ``"missing"`` or ``"refused"`` has its reason in `note`.
    """

    suite: str
    dataset: str
    encoding: str
    formulation: str
    depth: int
    parameters: str
    status: str
    objective: float | None = None
    bound: float | None = None
    gap: float | None = None
    seconds: float | None = None
    accuracy: float | None = None
    reference_objective: float | None = None
    reference_gap: float | None = None
    reference_seconds: float | None = None
    solve_seconds: float | None = None
    root_bound: float | None = None
    test_accuracy: float | None = None
    reference_accuracy: float | None = None
    leaves: int | None = None
    features: int | None = None
    rows: int | None = None
    binaries: int | None = None
    nodes: int | None = None
    trees: int | None = None
    method: str = ""
    limit: float | None = None
    load: float | None = None
    cpu_seconds: float | None = None
    machine: str = ""
    note: str = ""

    @property
    def key(self) -> tuple[str, ...]:
        """What makes a line unique in a file; a second run leaves such lines alone."""
        return tuple(str(getattr(self, name)) for name in KEY)

    def cells(self) -> dict[str, Any]:
        """Values by column, None as the empty text."""
        return {name: "" if value is None else value for name, value in asdict(self).items()}


COLUMNS = tuple(f.name for f in fields(Line))
"""Columns of the output in their order."""
KEY = ("suite", "dataset", "encoding", "formulation", "depth", "parameters")
"""Columns that make a line unique."""
CONTRACT = COLUMNS[:15]
"""Columns that scripts may rely on."""
