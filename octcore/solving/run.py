"""The result of a solve: every number recomputed by routing rows through the final tree."""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from enum import StrEnum
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from octcore.data.arrays import prepare_rows
from octcore.data.dataset import Dataset
from octcore.data.serial import Record, jsonable, versions
from octcore.encoding.base import Encoding
from octcore.engines.events import CLOSED, Trace, finite, relative_gap
from octcore.errors import ModelFileError, read_in_words
from octcore.formulations.base import COMMON_OBJECTIVE, get_formulation
from octcore.numerics import kernels
from octcore.parameters import at_the_door
from octcore.program import Sense
from octcore.solving import report
from octcore.solving.prepare import problem_of
from octcore.solving.settings import Asked, without_retired
from octcore.tree import metrics
from octcore.tree.tree import Tree
from octcore.tree.wording import Rule
from octcore.verification import Verification, verify

if TYPE_CHECKING:
    from octcore.solving.column_values import ColumnValue, ThresholdValue
    from octcore.solving.proving import WrittenProof

COMPILE_SECONDS = 100.0  # of kernels, once per installation
COST_FIELDS = ("mean_cost", "referred", "test_mean_cost", "test_referred")
"""Of a run; older ones have none."""
NUMBERS = (
    "status", "stop_reason", "objective", "bound", "gap", "root_bound", "accuracy",
    "balanced_accuracy", "test_accuracy", "test_balanced_accuracy", "accuracy_ceiling",
    "majority_accuracy", "n_train", "n_test", *COST_FIELDS,
)  # fmt: skip
"""Fields that are plain in a record of a run."""
GONE = frozenset(
    {
        "leaf_value", "node_gaps", "smallest_gap", "separability", "thin_nodes",
        "correct_with_thinner_gaps",
    }
)  # fmt: skip
"""Results beside the tree that earlier versions stored."""
INTERRUPTED = "interrupted"
STOPPED = frozenset({"cancelled", INTERRUPTED})  # why a run stopped when somebody wanted it to
SEARCHES = frozenset({"routing-search", "assignment-search"})
PROOF_SHARE = 0.5
"""Methods whose seconds say how long a proof takes, and about what share: the optimum is known, but
seconds of the clock count what other programs did, too."""


class JobState(StrEnum):
    """How a solve or a task stands: with its worker, in the history and on pages."""

    QUEUED = "queued"
    RUNNING = "running"
    STOPPING = "stopping"
    DONE = "done"  # the worker sent its result; also when it was asked to stop and did
    STOPPED = "stopped"  # the worker was ended by the user's wish or at the hard deadline
    FAILED = "failed"  # the worker refused, or died
    INTERRUPTED = INTERRUPTED  # its program died; the last incumbent is what there is

    @property
    def is_final(self) -> bool:
        """Whether nothing will change any more."""
        return self not in (JobState.QUEUED, JobState.RUNNING, JobState.STOPPING)


@dataclass(frozen=True)
class Certificate(Record):
    """What is proven, and by what."""

    method: str
    """One of "mip", "mip+path-search", "path-search", "threshold-search", "routing-search",
    "assignment-search", "heuristic", "near-optimal" when the tree was chosen among those within a
    tolerance of a proven optimum, or "conflict-bound" when a start attains the bound that
    conflicting rows give."""
    proven: bool  # whether the tree is proven optimal for the stated problem
    statements: tuple[str, ...] = ()
    """What the proof covers, in words: epsilon, big-M, subset, binarization, limits."""
    verification: Verification | None = None
    """What an independent derivation says; None before there was one."""

    @property
    def verified(self) -> bool | None:
        """True if verified independently, False if refuted, None if neither."""
        return None if self.verification is None else self.verification.verified

    @property
    def sentences(self) -> tuple[str, ...]:
        """The statements, and after them what the verification says."""
        found = self.verification
        return self.statements if found is None else (*self.statements, found.statement)

    @property
    def badge(self) -> str:
        """One short phrase for a badge on the tree."""
        if self.verified is False:
            return "refuted, not optimal"
        if self.method == "heuristic":
            return "heuristic, nothing proven"
        if self.method == "near-optimal" and not self.proven:
            return self.statements[0]
        if not self.proven:
            return "feasible, gap open"
        return f"proven optimal by {self.method}" + (", verified" if self.verified else "")

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, with what follows from it."""
        return super().to_dict() | {"badge": self.badge, "verified": self.verified}


def tightened(
    asked: Asked, objective: float | None, bound: float | None, proven: float
) -> float | None:
    """The bound of a run that is not proven, or that of another one where it says more of its tree.

    `proven`: of the same question; it says nothing where it contradicts the tree.
    """
    if objective is None:
        return bound
    sense, _ = asked.info.objective_of(asked.params)
    room = proven - objective if sense is Sense.MAXIMISE else objective - proven
    slack = CLOSED * max(1.0, abs(objective))
    if room < -slack or (bound is not None and room >= abs(bound - objective)):
        return bound
    return objective if room <= slack else proven


BEST_FOUND = "Best found"


def best_found(asked: Asked, objective: float | None, bound: float | None) -> str:
    """How much better the optimum may be: in points where the objective counts rows."""
    gap = relative_gap(objective, bound)
    if objective is None or bound is None or gap is None:
        return f"{BEST_FOUND}, nothing proven yet"
    if bound == objective:
        return f"{BEST_FOUND}, none is better"
    if asked.info.objective != COMMON_OBJECTIVE or asked.params.get("split_weight") is not None:
        return f"{BEST_FOUND}, gap {100 * gap:.1f} %"
    return f"{BEST_FOUND}, up to {100 * abs(bound - objective):.1f} points better possible"


@dataclass(frozen=True, eq=False)
class Run:
    """One finished solve.

    Parameters
    ----------
    settings : mapping
        Everything that determines the run: formulation, encoding, depth, params, constraints,
        engine, limits, seed, test size, data digest.
    status, stop_reason : str
        What there is ("optimal", "feasible", "interrupted" with a tree; "infeasible",
        "no_solution", "cancelled", "error"), and why it stopped.
    objective, bound, gap, root_bound : float or None
        In the formulation's own sense.
    certificate : Certificate
        What is proven.
    tree : Tree or None
        The final tree in encoded columns.
    encoding : Encoding
        From raw columns to encoded ones and back to words.
    trace : Trace
        All events.
    accuracy, balanced_accuracy, test_accuracy, test_balanced_accuracy, accuracy_ceiling : \
float or None
        By routing rows; the ceiling is what conflicting identical rows allow.  Of the rows that get
        a class: None where a person is asked about all.
    timings : mapping
        Seconds of read, encode, build, compile, solve, total.
    model_size : mapping
        rows, columns, binaries, nonzeros; empty when there is no model.
    extras : mapping
        Results beside the tree: ``"root_values"`` (objective by root feature), "price", …
    findings : tuple of str
        Remarks about the solve in words.
    train, test : Dataset
        The rows; `test` is None without a held-out part.
    n_train, n_test : int
        Row counts.
    majority_accuracy : float
        Accuracy of always predicting the most frequent class, on the training rows.
    sample_weight : numpy.ndarray or None
        Weights given with the training rows, shape ``(n_train,)``.
    mean_cost, referred, test_mean_cost, test_referred : float or None
        Mean cost of a row, and share of the rows that a person is asked about; rows count once.
    """

    settings: Mapping[str, Any]
    status: str
    stop_reason: str
    objective: float | None
    bound: float | None
    gap: float | None
    root_bound: float | None
    certificate: Certificate
    tree: Tree | None
    encoding: Encoding
    trace: Trace
    accuracy: float | None
    balanced_accuracy: float | None
    test_accuracy: float | None
    test_balanced_accuracy: float | None
    accuracy_ceiling: float | None
    majority_accuracy: float | None
    timings: Mapping[str, float]
    model_size: Mapping[str, int]
    extras: Mapping[str, Any] = field(default_factory=dict)
    findings: tuple[str, ...] = ()
    train: Dataset | None = None
    test: Dataset | None = None
    n_train: int = 0
    n_test: int = 0
    classes: tuple[Any, ...] = ()
    sample_weight: np.ndarray | None = None
    mean_cost: float | None = None
    referred: float | None = None
    test_mean_cost: float | None = None
    test_referred: float | None = None

    @cached_property
    def solved(self) -> "SolvedRun | None":
        """The same run, known to have its tree and its training rows; None where it lacks one."""
        if self.tree is None or self.train is None:
            return None
        return SolvedRun(**{part.name: getattr(self, part.name) for part in fields(self)})

    @property
    def needed(self) -> "SolvedRun":
        """`solved`, where tree and training rows must be there; else `ModelFileError`."""
        if self.solved is None:
            what = "no tree" if self.tree is None else "come without its training rows"
            raise ModelFileError("NO_TREE", f"This run has {what}.")
        return self.solved

    @property
    def final_tree(self) -> Tree:
        """`tree`, where there must be one; else `ModelFileError`."""
        if self.tree is None:
            raise ModelFileError("NO_TREE", "This run has no tree.")
        return self.tree

    @cached_property
    def asked(self) -> Asked:
        """The settings with their types."""
        return Asked.of(self.settings)

    @property
    def formulation(self) -> str:
        """Key of the formulation."""
        return self.asked.formulation

    @property
    def params(self) -> Mapping[str, Any]:
        """Hyperparameters of the formulation."""
        return self.asked.params

    @property
    def constraints(self) -> Mapping[str, Any]:
        """Side constraints, by name."""
        return self.asked.constraints

    @property
    def depth(self) -> int:
        """Largest depth that was allowed."""
        return self.asked.depth

    @property
    def n_answered(self) -> int:
        """Training rows that get a class; a person is asked about the others."""
        return round((1.0 - (self.referred or 0.0)) * self.n_train)

    @property
    def n_test_answered(self) -> int:
        """Held-out rows that get a class."""
        return round((1.0 - (self.test_referred or 0.0)) * self.n_test)

    @property
    def about_data(self) -> Mapping[str, Any]:
        """What the settings say of the data: name, source, digest."""
        return self.settings.get("data") or {}

    @property
    def is_optimal(self) -> bool:
        """Whether optimality is proven."""
        return self.status == "optimal"

    @property
    def is_proven(self) -> bool:
        """Whether its certificate, too, says that no tree is better; a refuted one does not."""
        return self.is_optimal and self.certificate.proven

    @property
    def badge(self) -> str:
        """What is proven, in a few words for people: the same on page, chart and report."""
        proof = self.certificate
        if proof.verified is False:
            return "Refuted, not optimal"
        if proof.method == "heuristic":
            return "Heuristic"
        if self.tree is None:
            return "No tree"
        if self.is_proven:
            return "Proven optimal" + (", verified" if proof.verified else "")
        if proof.method == "near-optimal" and self.objective is not None and self.bound is not None:
            points = 100 * abs(self.bound - self.objective)
            return f"Within {points:.2g} points of the proven optimum"
        return best_found(self.asked, self.objective, self.bound)

    def bounded_by(self, bound: float, source: str) -> "Run":
        """Return the run with a bound that another run of the same question, `source`, has proven.

        The bound is in the formulation's own sense; the run stays as it is where it is no tighter,
        or contradicts the tree.
        """
        if self.is_optimal or self.certificate.verified is False:
            return self
        tighter = tightened(self.asked, self.objective, self.bound, bound)
        if tighter == self.bound:
            return self
        words = f"bounded by the proof of another run of the same question, {source}"
        told = replace(self.certificate, statements=(*self.certificate.statements, words))
        gap = relative_gap(self.objective, tighter)
        return replace(self, bound=tighter, gap=gap, certificate=told)

    def accuracy_on(self, data: Dataset | None) -> float | None:
        """Share right of the rows with a target that get a class; None without such or a tree."""
        if self.tree is None or data is None or data.y is None or not data.n_samples:
            return None
        X = self.tree.encoded(self.encoding, data.frame)
        return finite(metrics.accuracy(self.tree, X, data.y))

    def predict(self, frame: pd.DataFrame) -> np.ndarray:
        """Predict the class labels of raw rows.

        Parameters
        ----------
        frame : pandas.DataFrame
            Rows with the raw columns that the tree tests; others are ignored.

        Returns
        -------
        numpy.ndarray
            Shape ``(n_samples,)``.

        Raises
        ------
        DataError
            For a lacking column, a missing value, or text where a number is needed.
        ModelFileError
            If the run has no tree.

        Warns
        -----
        UserWarning
            If a category never came up in training.
        """
        prepared = self.prepared(frame)
        tree, columns = self.final_tree, () if self.train is None else self.train.columns
        tested = prepared.filter([*self.encoding.tested(tree.used_features)])
        self.encoding.warn_unseen(tested, columns)
        return tree.predict(tree.encoded(self.encoding, prepared))

    def prepared(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Raw rows typed as those of training, if these are here; idle columns are made up."""
        if self.train is None:
            return frame
        columns = self.train.columns
        needed = self.encoding.sources(columns, self.final_tree.used_features)
        return prepare_rows(frame, columns, needed=needed)

    def __repr__(self) -> str:
        return report.run_line(self)

    def __str__(self) -> str:
        """What ``octcore solve`` prints."""
        return report.run_report(self)

    def _repr_html_(self) -> str:
        return report.run_html(self)

    def log(self) -> str:
        """Return the solve as text, in the manner of solvers: a line an event."""
        return report.run_log(self)

    def rules(self) -> tuple[Rule, ...]:
        """Every leaf as an IF-THEN rule with its training rows, from left to right."""
        return report.run_rules(self)

    @at_the_door
    def explain(self, row: Mapping[str, Any] | pd.Series | pd.DataFrame) -> Rule:
        """Return the rule of the leaf at which one raw row arrives; see `Rule.text`."""
        return report.explain_row(self, row)

    @at_the_door
    def values(
        self, time_limit: float = 60.0, cancel: Callable[[], bool] | None = None, node: int = 1
    ) -> "tuple[ColumnValue, ...]":
        """Value of every raw column at a node, its best threshold and the threshold's interval.

        See `octcore.solving.column_values.column_values`, also for what is raised.
        """
        # Not needed to read a run: the kernels of the search take half a second to import.
        from octcore.solving.column_values import column_values

        return column_values(self, time_limit, cancel, node)

    @at_the_door
    def curve(
        self,
        column: str,
        time_limit: float = 60.0,
        cancel: Callable[[], bool] | None = None,
        node: int = 1,
    ) -> "tuple[ThresholdValue, ...]":
        """Value of every threshold of a raw column at a node.

        See `octcore.solving.column_values.threshold_values`, also for what is raised.
        """
        from octcore.solving.column_values import threshold_values

        return threshold_values(self, column, time_limit, cancel, node)

    @at_the_door
    def verify(
        self, time_limit: float = 60.0, cancel: Callable[[], bool] | None = None
    ) -> Verification:
        """Derive again, independently, what this run claims; see `octcore.verify`.

        `with_verification` keeps the answer.
        """
        return verify(self, time_limit, cancel)

    @at_the_door
    def prove(
        self,
        folder: str | Path,
        size_limit: float = 200e6,
        check: bool | str = False,
        cancel: Callable[[], bool] | None = None,
        time_limit: float = 600.0,
    ) -> "WrittenProof":
        """Write a proof of the optimum in the format of the checker VeriPB.

        See `octcore.solving.proving.prove`, also for what is raised.
        """
        from octcore.solving.proving import prove

        return prove(self, folder, size_limit, check, cancel, time_limit)

    @at_the_door
    def export(self, kind: str) -> str | bytes:
        """Write the tree for elsewhere.

        Parameters
        ----------
        kind : str
            ``"txt"``, ``"dot"``, ``"svg"`` or ``"json"``; code that predicts without this package,
            ``"py"``, ``"js"``, ``"sql"``, ``"c"``, ``"java"``, ``"r"`` or ``"tsv"`` (a formula for
            spreadsheets); ``"pmml"``; ``"onnx"``, which needs the package onnx.

        Returns
        -------
        str or bytes
            Bytes of ``"onnx"``.

        Raises
        ------
        SettingsError
            For another format, or one that this tree does not fit.
        """
        return report.export_file(self, kind)

    @at_the_door
    def write_model(self, path: str | Path) -> tuple[Path, ...]:
        """Write the mixed-integer model as LP or MPS, and the tree as its start.

        See `octcore.solving.model_file.write_model`, also for what is raised.
        """
        from octcore.solving.model_file import write_model

        return write_model(self, path)

    def steps_of_proof(self, bound: float, stop: Callable[[], Any]) -> Iterator[Any]:
        """Search again for what proves a bound, in the formulation's own sense.

        First come the seconds that it may take, then the steps of `octcore.program.Program.prove`
        for `octcore.verify` to check.  `stop` raises or says when the search has to end.
        """
        program = get_formulation(self.formulation).build(problem_of(self))
        if program.prove is None:
            return
        if not kernels.are_ready(*program.kernels):
            yield COMPILE_SECONDS
        elif self.certificate.method in SEARCHES:
            yield PROOF_SHARE * float(self.timings.get("solve", 0.0))
        else:
            yield 0.0
        kernels.require(*program.kernels, stop=lambda: bool(stop()))
        yield from program.prove(bound, lambda: bool(stop()))

    def with_verification(self, found: Verification) -> "Run":
        """Return the run with a verification in its certificate.

        A refuted run is not optimal any more: its bound is withdrawn, its tree stays.  What was
        confirmed or refuted before is not taken back by a check that came to no end.
        """
        if found.verified is None and self.certificate.verified is not None:
            return self
        certificate = replace(self.certificate, verification=found)
        if found.verified is not False:
            return replace(self, certificate=certificate)
        return replace(
            self,
            certificate=replace(certificate, proven=False),
            status="error" if self.tree is None else "feasible",
            stop_reason="error",
            bound=None,
            gap=None,
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the fields for JSON: numbers finite or null, the tree as plain data."""
        record: dict[str, Any] = {
            "format": "octcore-run",
            "version": 1,
            **{name: getattr(self, name) for name in NUMBERS},
            "formulation": self.formulation,
            "settings": dict(self.settings),
            "certificate": self.certificate.to_dict(),
            "tree": None if self.tree is None else self.tree.to_dict(),
            "n_leaves": None if self.tree is None else self.tree.n_leaves,
            "n_splits": None if self.tree is None else self.tree.n_splits,
            "encoding": self.encoding.to_dict(),
            "classes": list(self.classes),
            "timings": dict(self.timings),
            "model_size": dict(self.model_size),
            "values": dict(self.extras),
            "findings": list(self.findings),
            "versions": versions(),
        }
        if self.sample_weight is not None:
            record["sample_weight"] = self.sample_weight
        return jsonable(record)

    @classmethod
    def from_dict(
        cls,
        record: Mapping[str, Any],
        trace: Trace = Trace(),  # noqa: B008 - frozen and empty
        train: Dataset | None = None,
        test: Dataset | None = None,
    ) -> "Run":
        """Read a run back; rows and trace are kept apart from it and given here.

        `ModelFileError` if the record is no run, of another version, or damaged.
        """
        with read_in_words("BROKEN_RUN", "The stored run"):
            if record.get("format") != "octcore-run" or record.get("version") != 1:
                raise ModelFileError("NOT_A_RUN", "Expected an octcore-run of version 1.")
            tree, weights = record.get("tree"), record.get("sample_weight")
            run = cls(
                **{name: _plain(name, record.get(name)) for name in NUMBERS},
                settings=without_retired(record["settings"]),
                certificate=Certificate.from_dict(record["certificate"]),
                tree=None if tree is None else Tree.from_dict(tree),
                encoding=Encoding.from_dict(record["encoding"]),
                trace=trace,
                timings={str(name): float(s) for name, s in record["timings"].items()},
                model_size=dict(record["model_size"]),
                extras={k: v for k, v in dict(record.get("values", {})).items() if k not in GONE},
                findings=tuple(map(str, record.get("findings", ()))),
                train=train,
                test=test,
                classes=tuple(record.get("classes", ())),
                sample_weight=None if weights is None else np.asarray(weights, dtype=float),
            )
            _ = run.asked  # reads the settings
            if run.tree is not None and run.tree.n_features != len(run.encoding.columns):
                raise ValueError("the tree is for another number of columns")
            return run


def _plain(name: str, value: Any) -> Any:
    """Read one of `NUMBERS`; `ValueError` if it is of another type."""
    is_word = name in ("status", "stop_reason")
    if is_word != isinstance(value, str) or not (is_word or value is None or math.isfinite(value)):
        raise ValueError(f"{name} is {value!r}")
    return int(value or 0) if name in ("n_train", "n_test") else value


@dataclass(frozen=True, eq=False, repr=False)
class SolvedRun(Run):
    """A run that has its tree and its training rows; see `Run.solved`."""

    tree: Tree = field(kw_only=True)
    train: Dataset = field(kw_only=True)
