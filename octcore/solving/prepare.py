"""From a request to a problem: split the rows, fit the encoding, weigh and check."""

import contextlib
import time
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from octcore.data.dataset import Dataset
from octcore.data.findings import few, quote
from octcore.data.tasks import Task, task_of
from octcore.encoding.base import Encoding, group_slices
from octcore.encoding.fit import fit_encoding
from octcore.errors import SettingsError
from octcore.formulations.base import FormulationInfo, get_formulation
from octcore.program import Problem, Program, engines_for
from octcore.solving.settings import (
    AUTO,
    TEST_SIZE,
    Settings,
    check_against_data,
    check_settings,
    class_weights,
)
from octcore.tree.constraints import FAIRNESS, ConstraintContext, Constraints

if TYPE_CHECKING:
    from octcore.solving.run import Run

TOO_LARGE = 1e15  # HiGHS takes a number from here on for a mistake
LEAST_WEIGHT = 1e-6  # of the heaviest row: solvers of models keep their rows up to such numbers
NEAR_COSTS = 1e-9  # costs of a row closer than this are equal
MOST_REPEATED_ROWS = 1_000_000
"""Enough for any bootstrap; beyond it the memory would be better spent elsewhere."""


@dataclass(frozen=True, eq=False)
class Prepared:
    """A checked request, ready to be solved or to be finished from an incumbent."""

    settings: Settings
    info: FormulationInfo
    train: Dataset
    test: Dataset | None
    encoding: Encoding
    problem: Problem
    encode_seconds: float
    findings: tuple[str, ...] = ()
    sample_weight: np.ndarray | None = None

    @cached_property
    def task(self) -> Task:
        """What the answers cost."""
        return task_of(self.settings.costs, self.settings.refer, self.train.classes)


def prepare(data: Dataset, settings: Settings, sample_weight: np.ndarray | None = None) -> Prepared:
    """Split, encode and check; nothing is built yet.

    `sample_weight` has the shape ``(n_samples,)``; `SettingsError` if settings do not fit the rows.
    """
    start = time.perf_counter()
    check_against_data(settings, data)
    info = get_formulation(settings.formulation).info
    train, test, findings = split_rows(data, settings.test_size, settings.seed)
    if sample_weight is not None and test is not None:
        message = "sample_weight goes with test_size=0 only."
        raise SettingsError("WEIGHTS_WITH_TEST", message, "sample_weight")
    if sample_weight is not None:
        sample_weight = _checked_weights(sample_weight, train.n_samples)
    encoding = fit_encoding(settings.encoding, train, times=_repeats(sample_weight))
    problem = make_problem(settings, train, encoding, sample_weight)
    spent = time.perf_counter() - start
    findings += encoding.findings
    sided = settings.constraints.active & {"monotone", "equal_opportunity", "predictive_equality"}
    last, is_open = data.classes[-1], data.n_classes == 2 and data.positive_class is None
    if sided and is_open and data.focus != last:
        told = f"No positive_class was chosen, so {few(sorted(sided))} is about the last"
        findings += (f"{told}, {quote(last)}.",)
    return Prepared(settings, info, train, test, encoding, problem, spent, findings, sample_weight)


def with_engine(prepared: Prepared, program: Program) -> Prepared:
    """Name the engine that was asked for, or the formulation's first one that fits the program."""
    settings = prepared.settings
    capabilities = program.capabilities or prepared.info.capabilities
    fitting = engines_for(capabilities)
    engine = fitting[0] if settings.engine == AUTO else settings.engine
    if engine not in fitting:
        needs = " or ".join(capability.value for capability in capabilities)
        message = f"With these settings {prepared.info.named} needs an engine for {needs} "
        message += f"programs; {engine} is none, use {' or '.join(fitting)}."
        raise SettingsError("ENGINE_DOES_NOT_FIT", message, "engine")
    return replace(prepared, settings=replace(settings, engine=engine))


def make_problem(
    settings: Settings, train: Dataset, encoding: Encoding, sample_weight: np.ndarray | None
) -> Problem:
    """Make the problem of training rows; `SettingsError` if the settings do not fit them."""
    X = encoding.transform(train.frame, np.uint8 if encoding.is_binary else np.float64)
    is_binary = all(
        column.is_binary or bool(np.isin(X[:, j], (0.0, 1.0)).all())
        for j, column in enumerate(encoding.columns)
    )
    info = get_formulation(settings.formulation).info
    if info.needs_binary_features and not is_binary:
        message = f"{info.named} needs features of 0 and 1, but encoding {settings.encoding} "
        message += "gives other numbers; use QT-5 or QB-5."
        raise SettingsError("ENCODING_NOT_BINARY", message, "encoding")
    if info.split_kind == "oblique" and (largest := np.abs(X).max(initial=0.0)) >= TOO_LARGE:
        message = f"Planes take numbers below {TOO_LARGE:g}, not {largest:g}; use encoding scaled."
        raise SettingsError("ENCODING_NOT_SCALED", message, "encoding")
    weights = class_weights(settings.constraints, train.codes, train.classes)
    if sample_weight is not None:
        weights = weights * sample_weight
    if weights.max() < LEAST_WEIGHT:
        message = f"The heaviest row weighs {weights.max():.3g}, which solvers do not tell from "
        message += "nothing; multiply all weights by the same large number."
        raise SettingsError("BAD_WEIGHTS", message, "sample_weight")
    task = task_of(settings.costs, settings.refer, train.classes)
    if not settings.constraints.active & {"min_recall", *FAIRNESS}:
        _refuse_dear(task)
    copies = None if task.is_errors else task.copies(train.codes, weights)
    if copies is not None and not copies.weight.any():
        message = "No row of any weight has an answer that costs more than another; "
        raise SettingsError("BAD_COSTS", f"{message}give one a cost.", "costs")
    rows = X.astype(np.uint8, copy=False) if is_binary else X
    return Problem(
        X=rows if copies is None else rows[copies.row],
        y=train.codes if copies is None else copies.label,
        weights=weights if copies is None else copies.weight,
        n_classes=len(task.answers),
        copies=copies,
        depth=settings.depth,
        params=settings.params,
        # Weights of classes are in the weights of the rows; they rule out no tree.
        constraints=replace(settings.constraints, class_weight=None),
        context=_context(settings, train, encoding, X),
        categorical=tuple(
            tuple(positions)
            for positions in group_slices(encoding).values()
            if encoding.columns[positions[0]].kind == "level"
        ),
        seed=settings.seed,
    )


def problem_of(run: "Run", **other: Any) -> Problem:
    """Make the problem of a solved run again, with `other` settings in place of its own."""
    # A stored run may have hyperparameters that its formulation does not have any more.
    asked = {name: value for name, value in run.settings.items() if name != "data"} | other
    # A default may not stand beside what replaces it: leaf_penalty beside split_weight.
    known = {p.name: p.default for p in run.asked.info.hyperparameters}
    asked["params"] = {k: v for k, v in run.params.items() if v != known.get(k, v)}
    train = run.train or run.needed.train
    return make_problem(check_settings(**asked), train, run.encoding, run.sample_weight)


def _repeats(weights: np.ndarray | None) -> np.ndarray | None:
    """How often rows count in quantiles: by whole-number weights up to `MOST_REPEATED_ROWS` in all.

    Quantiles see no other weights.  All else looks at every row: those of weight 0 are scaled into
    [0, 1] as well, have categories, and count in leaf sizes and recall.
    """
    if weights is None or (weights % 1).any() or weights.sum() > MOST_REPEATED_ROWS:
        return None
    return weights.astype(int)


def _checked_weights(given: np.ndarray, n_samples: int) -> np.ndarray:
    weights = np.full(0, np.nan)  # of another shape, as all that is no array of numbers
    with contextlib.suppress(TypeError, ValueError):
        weights = np.asarray(given, dtype=float)
    most = np.finfo(float).max / n_samples  # the sum is finite
    if weights.shape != (n_samples,) or not ((weights >= 0) & (weights <= most)).all():
        message = f"sample_weight needs {n_samples} non-negative numbers with a sum, one a row."
        raise SettingsError("BAD_WEIGHTS", message, "sample_weight")
    if not weights.sum() > 0:
        raise SettingsError("BAD_WEIGHTS", "All sample weights are zero.", "sample_weight")
    return weights


def _refuse_dear(task: Task) -> None:
    """Refuse a person who costs more than the best class in any group of rows.

    Where a side constraint denies rows their best class, a person may be dearer than that.
    """
    if not task.can_ask:
        return
    # Not above: SciPy takes long to import, and most solves ask nobody.
    from octcore.numerics.games import game_value

    refer, most = task.matrix[0, -1], game_value(task.matrix[:, :-1])
    if refer > most + NEAR_COSTS:
        message = f"refer is {refer:g}, but no group of rows costs more than {most:.6g} a row "
        message += "where it gets its best class, so nobody would be asked; give less."
        raise SettingsError("OUT_OF_RANGE", message, "refer")


def split_rows(
    data: Dataset, test_size: float, seed: int
) -> tuple[Dataset, Dataset | None, tuple[str, ...]]:
    """Hold out a stratified, seeded share of the rows.

    Classes of one row stay in the training part.  When the test part is smaller than the number
    of classes it is drawn without stratification, and a finding says so.
    """
    if (test_size := TEST_SIZE.check(test_size)) == 0.0:
        return data, None, ()
    movable, n_test = rows_to_hold_out(data, test_size)
    n_classes = len(np.unique(data.codes[movable]))
    stratify = data.codes[movable] if min(n_test, len(movable) - n_test) >= n_classes else None
    # Not above: scikit-learn takes a second to import, and most solves hold nothing out.
    from sklearn.model_selection import train_test_split

    _, held = train_test_split(movable, test_size=n_test, random_state=seed, stratify=stratify)
    mask = np.zeros(data.n_samples, dtype=bool)
    mask[held] = True
    findings = () if stratify is not None else ("The held-out part is too small to be stratified.",)
    return data.subset(~mask), data.subset(mask), findings


def rows_to_hold_out(data: Dataset, test_size: float) -> tuple[np.ndarray, int]:
    """Rows that may be held out, and how many are; `SettingsError` if none can be."""
    n_test = int(np.ceil(test_size * data.n_samples))
    if n_test >= data.n_samples:
        message = f"test_size {test_size:g} of {data.n_samples:,} rows leaves no training row."
        raise SettingsError("NO_TRAINING_ROWS", message, "test_size")
    movable = np.flatnonzero(np.bincount(data.codes, minlength=data.n_classes)[data.codes] > 1)
    n_test = min(n_test, len(movable) - 1)
    if n_test < 1:
        message = "Every class has one row only; no row can be held out: set that share to 0."
        raise SettingsError("NO_TEST_ROWS", message, "test_size")
    return movable, n_test


def named_columns(constraints: Constraints, train: Dataset) -> dict[str, np.ndarray]:
    """Codes of the raw columns that constraints name, ranks where a column has an order."""
    named = {n for _, limit in constraints.fairness for n in (limit.attribute, limit.given)}
    codes = {}
    for column in train.columns:
        if column.name in named | set(constraints.monotone or ()):
            values = train.frame[column.name].to_numpy()
            if column.kind == "ordinal" and not column.holds_numbers:
                values = np.array([column.levels.index(value) for value in values])
            codes[column.name] = np.unique(values, return_inverse=True)[1]
    return codes


def _context(
    settings: Settings, train: Dataset, encoding: Encoding, X: np.ndarray
) -> ConstraintContext:
    attributes = named_columns(settings.constraints, train)
    positive = train.n_classes - 1
    if train.positive_class is not None:
        positive = train.classes.index(train.positive_class)
    elif settings.constraints.fairness and train.n_classes > 2:
        message = f"Fairness limits need a positive class; choose one of {list(train.classes)} "
        raise SettingsError("NO_POSITIVE_CLASS", f"{message}with positive_class.", "positive_class")
    return ConstraintContext(
        X, train.codes, encoding.groups, encoding.raw_features, train.classes, attributes, positive
    )
