"""What a suite declares, its instances and published figures, and the lines about them.

Every suite is a file in `octcore.bench.suites`.
"""

from __future__ import annotations

import csv
import functools
import importlib
import pkgutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from importlib import resources
from pathlib import Path
from typing import Any

from octcore.data.dataset import Dataset
from octcore.parameters import looked_up, unknown_name

SELECTION_TEST_SIZE = 0.25  # share of the rows held out where rows are selected, as in the paper


@dataclass(frozen=True)
class Published:
    """What a paper reports for an instance; None where it reports nothing."""

    objective: float | None = None  # in the sense of the formulation
    gap: float | None = None  # relative, not in percent
    seconds: float | None = None  # on the paper's machine and solver
    accuracy: float | None = None  # test accuracy, in [0, 1]


@dataclass(frozen=True)
class Instance:
    """One solve of a suite."""

    dataset: str
    encoding: str
    formulation: str  # key of a formulation, or of another program (see `Suite.programs`)
    depth: int
    load: Callable[[], Dataset] = field(repr=False, compare=False)
    """Returns the data set; called in the benchmark's own process, once for many instances."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Further keywords of `octcore.solve`: params, constraints, encoding, engine, seed."""
    label: str = ""  # what distinguishes the solve beside its params: a variant, a split
    published: Published = Published()
    rows: tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]] | None = field(
        default=None, repr=False
    )
    """Training, validation and test rows; None trains on all rows."""
    grid: tuple[Mapping[str, Any], ...] = ()
    """Candidates, with settings as in `octcore.tune`; the best on the validation rows is trained
    again on training and validation rows.  Empty without a choice."""
    folds: int = 0  # stratified folds of the training rows by which candidates are compared instead
    choice: str = "accuracy"  # how the best is told, as in `octcore.tune`
    select: str = ""
    """Rule by which training rows are selected, as in `octcore.select_rows`; empty to train on all.
    The accuracies of the line are then about all rows."""
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

    def cells(self) -> dict[str, str]:
        """Texts of the values by column, None as the empty one."""
        return {name: "" if value is None else str(value) for name, value in asdict(self).items()}


COLUMNS = tuple(f.name for f in fields(Line))  # columns of the output in their order
KEY = ("suite", "dataset", "encoding", "formulation", "depth", "parameters")
"""Columns that make a line unique."""


@functools.cache
def published(name: str) -> tuple[dict[str, str], ...]:
    """Rows of one table: ``accelerated``, ``flow-oct``, ``margot``, ``s-oct`` or ``svm1-odt``."""
    file = resources.files("octcore.bench") / "published" / f"{name}.csv"
    return tuple(csv.DictReader(file.read_text(encoding="utf-8").splitlines()))


def encoded_sets() -> tuple[tuple[str, str], ...]:
    """Set and encoding of every binary-encoded table of the accelerated BendOCT experiment."""
    rows = published("accelerated")
    return tuple(dict.fromkeys((row["dataset"], row["encoding"]) for row in rows))


def number(text: str | None) -> float | None:
    """A cell as a number, None where it is empty."""
    return float(text) if text else None


@dataclass(frozen=True)
class Suite:
    """A published experiment that can be repeated."""

    key: str
    title: str
    """`key`, `title`: name on the command line, and words; the title says what the reference
    columns hold."""
    formulations: tuple[str, ...]  # what runs unless ``--formulations`` says otherwise
    needs: tuple[str, ...]  # files, relative to the data folder
    instances: Callable[[Path, str, tuple[str, ...]], Sequence[Instance]]
    """``(folder, study, formulations) -> instances``, in the order in which they run."""
    studies: tuple[str, ...] = ("main",)  # variants of the suite, the default first
    programs: Mapping[str, Callable[[Instance, Line, float], Line]] = field(default_factory=dict)
    """Programs of others by the key that stands for one in place of a formulation; each is
    ``(instance, line so far, limit in seconds) -> line``."""


@functools.cache
def list_suites() -> dict[str, Suite]:
    """All suites by key."""
    import octcore.bench.suites as package

    modules = pkgutil.iter_modules(package.__path__, f"{package.__name__}.")
    return {suite.key: suite for suite in (importlib.import_module(m.name).SUITE for m in modules)}


def get_suite(key: str) -> Suite:
    """Find a suite by key. Raises `SettingsError` if there is none; near matches are listed."""
    return looked_up("UNKNOWN_SUITE", "suite", key, list_suites(), "octcore bench")


def of_datasets(instances: Sequence[Instance], names: Sequence[str]) -> list[Instance]:
    """Keep the instances of some data sets; all of them where none is named.

    Raises `SettingsError` if there is no such data set; near matches are listed.
    """
    known = dict.fromkeys(instance.dataset for instance in instances)
    for name in names:
        if name not in known:
            raise unknown_name("UNKNOWN_DATASET", "data set", name, known, "this study")
    return [instance for instance in instances if not names or instance.dataset in names]


def pick(instances: Sequence[Instance], cases: int | None) -> list[Instance]:
    """Keep the instances of some cases, spread evenly over all of them.

    `cases`: number of cases (data set, encoding, depth and penalty, or split); None for all.
    """
    known = list(dict.fromkeys(instance.case for instance in instances))
    if cases is None or cases >= len(known):
        return list(instances)
    chosen = {known[(2 * i + 1) * len(known) // (2 * cases)] for i in range(cases)}
    return [instance for instance in instances if instance.case in chosen]
