"""`octcore.solve`: the only place that joins data, encoding, formulation and engine.

The module is not called ``solve``: the package would show the module instead of the function.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.model_selection import train_test_split

from octcore.constraints import ConstraintContext, Constraints
from octcore.data.dataset import Dataset
from octcore.encoding import Encoding, fit_encoding
from octcore.engines.base import Cancel, Engine, Outcome, SolveLimits, StopReason
from octcore.engines.events import Clock, Event, Recorder, finite, relative_gap
from octcore.engines.registry import engine_supports, get_engine
from octcore.engines.trace import Trace
from octcore.errors import CancelledError, SettingsError
from octcore.formulations.base import FormulationInfo, get_formulation
from octcore.program import Problem, Program, Sense
from octcore.run import Certificate, Run
from octcore.settings import AUTO, Settings, check_against_data, check_settings, class_weights
from octcore.tree import metrics
from octcore.tree.planes import drop_pass_through
from octcore.tree.tree import Tree

MOST_REPEATED_ROWS = 1_000_000
"""Enough for any bootstrap; beyond it the memory would be better spent elsewhere."""

CONFLICT_CLAIM = (
    "proven without search: identical rows with different classes allow no better objective"
)


def solve(
    data: Dataset,
    formulation: str = "flow-oct",
    encoding: str = "auto",
    depth: int = 2,
    params: Mapping[str, Any] | None = None,
    constraints: Mapping[str, Any] | Constraints | None = None,
    engine: str = "auto",
    time_limit: float = 60.0,
    gap: float = 0.0,
    node_limit: int | None = None,
    threads: int = 1,
    seed: int = 0,
    warm_start: str = "auto",
    test_size: float = 0.0,
    on_event: Callable[[Event], None] | None = None,
    cancel: Callable[[], bool] | None = None,
    sample_weight: np.ndarray | None = None,
) -> Run:
    """Train one optimal classification tree.

    Parameters
    ----------
    data : Dataset
        Rows with a target, from `read_csv` or `load_sample`.
    formulation : str
        Key of a formulation; see `formulations`.
    encoding : str
        ``"QB-5"``, ``"QT-5"``, ``"class-change"``, ``"one-hot"``, ``"scaled"``, ``"none"`` or
        ``"auto"``: what the formulation needs.
    depth : int
        Largest depth of the tree.
    params, constraints : mapping or None
        Hyperparameters of the formulation and side constraints.
    engine : str
        Engine key, or ``"auto"`` for the formulation's default.
    time_limit : float
        Seconds from this call, building and compiling included.
    gap : float
        Relative gap at which the solve may stop.
    node_limit : int or None
        Largest number of branch-and-bound nodes.
    threads, seed : int
        Handed to the solver; one thread is reproducible.
    warm_start : str
        ``"auto"`` or ``"none"``.
    test_size : float
        Share of the rows held out, stratified by class.
    on_event : callable or None
        Receives every `Event` as it happens.
    cancel : callable or None
        Asked often; a true answer stops the solve and keeps the incumbent.
    sample_weight : numpy.ndarray or None
        Non-negative weights of the rows, shape ``(n_samples,)``; only without a held-out part.

    Returns
    -------
    Run
        Tree, numbers, certificate and trace.

    Raises
    ------
    SettingsError
        Before anything is built, for a setting that is wrong or does not fit the data.
    TooLargeError
        If the model would not fit into memory; it carries the estimated size.
    DataError
        If the rows cannot be encoded.
    """
    clock = Clock(time_limit if isinstance(time_limit, (int, float)) else 0.0)
    settings = check_settings(
        formulation=formulation,
        encoding=encoding,
        params=params,
        constraints=constraints,
        engine=engine,
        depth=depth,
        time_limit=time_limit,
        gap=gap,
        node_limit=node_limit,
        threads=threads,
        seed=seed,
        warm_start=warm_start,
        test_size=test_size,
    )
    clock.time_limit = settings.time_limit
    prepared = prepare(data, settings, sample_weight)
    return _solve_prepared(prepared, clock, on_event, cancel or Cancel())


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


def prepare(data: Dataset, settings: Settings, sample_weight: np.ndarray | None = None) -> Prepared:
    """Split, encode and check; nothing is built yet."""
    start = time.perf_counter()
    check_against_data(settings, data)
    info = get_formulation(settings.formulation).info
    train, test, findings = split_rows(data, settings.test_size, settings.seed)
    if sample_weight is not None and test is not None:
        raise SettingsError(
            "WEIGHTS_WITH_TEST", "sample_weight goes with test_size=0 only.", "sample_weight"
        )
    if sample_weight is not None:
        sample_weight = _checked_weights(sample_weight, train.n_samples)
    encoding = fit_encoding(settings.encoding, _repeated(train, sample_weight))
    X = encoding.transform(train.frame)
    is_binary = bool(np.isin(X, (0.0, 1.0)).all())
    if info.needs_binary_features and not is_binary:
        raise SettingsError(
            "ENCODING_NOT_BINARY",
            f"{info.key} needs features of 0 and 1, but encoding {settings.encoding} gives other "
            "numbers; use QT-5 or QB-5.",
            "encoding",
        )
    assert train.y is not None
    weights = class_weights(settings.constraints, train.y, train.classes)
    if sample_weight is not None:
        weights = weights * sample_weight
    problem = Problem(
        X=X.astype(np.uint8) if is_binary else X,
        y=train.y,
        weights=weights,
        n_classes=train.n_classes,
        depth=settings.depth,
        params=settings.params,
        constraints=settings.constraints,
        context=_context(settings, train, encoding, X),
        categorical=_categorical(encoding),
        seed=settings.seed,
    )
    seconds = time.perf_counter() - start
    return Prepared(
        settings, info, train, test, encoding, problem, seconds, findings + encoding.notes
    )


def _repeated(train: Dataset, sample_weight: np.ndarray | None) -> Dataset:
    """Repeat rows of whole-number weight, so that quantiles see the weights as well.

    Other weights, and totals beyond `MOST_REPEATED_ROWS`, leave the quantiles unweighted.
    """
    if sample_weight is None:
        return train
    weights = np.asarray(sample_weight, dtype=float)
    if not (weights == np.round(weights)).all() or not 0 < weights.sum() <= MOST_REPEATED_ROWS:
        return train
    return train.subset(np.repeat(np.arange(train.n_samples), weights.astype(int)))


def _checked_weights(given: np.ndarray, n_samples: int) -> np.ndarray:
    weights = np.asarray(given, dtype=float)
    if weights.shape != (n_samples,) or not np.isfinite(weights).all() or (weights < 0).any():
        raise SettingsError(
            "BAD_WEIGHTS",
            f"sample_weight needs {n_samples} non-negative numbers, one for every row.",
            "sample_weight",
        )
    if not weights.sum() > 0:
        raise SettingsError("BAD_WEIGHTS", "All sample weights are zero.", "sample_weight")
    return weights


def split_rows(
    data: Dataset, test_size: float, seed: int
) -> tuple[Dataset, Dataset | None, tuple[str, ...]]:
    """Hold out a stratified, seeded share of the rows.

    Classes of one row stay in the training part.  When the test part is smaller than the number
    of classes it is drawn without stratification, and a finding says so.
    """
    if test_size == 0.0:
        return data, None, ()
    assert data.y is not None
    n_test = int(np.ceil(test_size * data.n_samples))
    if n_test >= data.n_samples:
        raise SettingsError(
            "NO_TRAINING_ROWS",
            f"test_size {test_size:g} of {data.n_samples} rows leaves no training row.",
            "test_size",
        )
    counts = np.bincount(data.y, minlength=data.n_classes)
    movable = np.flatnonzero(counts[data.y] > 1)
    n_test = min(n_test, len(movable) - 1)
    if n_test < 1:
        raise SettingsError(
            "NO_TEST_ROWS", "Every class has one row only; no row can be held out.", "test_size"
        )
    n_classes = len(np.unique(data.y[movable]))
    stratify = data.y[movable] if min(n_test, len(movable) - n_test) >= n_classes else None
    _, held = train_test_split(movable, test_size=n_test, random_state=seed, stratify=stratify)
    mask = np.zeros(data.n_samples, dtype=bool)
    mask[held] = True
    notes = () if stratify is not None else ("The held-out part is too small to be stratified.",)
    return data.subset(~mask), data.subset(mask), notes


def _context(
    settings: Settings, train: Dataset, encoding: Encoding, X: np.ndarray
) -> ConstraintContext:
    attributes: dict[str, np.ndarray] = {}
    for _, limit in settings.constraints.fairness:
        for name in filter(None, (limit.attribute, limit.given)):
            attributes[name] = np.unique(train.frame[name].to_numpy(), return_inverse=True)[1]
    positive = train.n_classes - 1
    if train.positive_class is not None:
        positive = train.classes.index(train.positive_class)
    elif settings.constraints.fairness and train.n_classes > 2:
        raise SettingsError(
            "NO_POSITIVE_CLASS",
            f"Fairness limits need a positive class; choose one of {list(train.classes)} with "
            "positive_class.",
            "positive_class",
        )
    assert train.y is not None
    return ConstraintContext(
        X, train.y, encoding.groups, encoding.raw_features, train.classes, attributes, positive
    )


def _categorical(encoding: Encoding) -> tuple[tuple[int, ...], ...]:
    by_raw: dict[str, list[int]] = {}
    for j, column in enumerate(encoding.columns):
        if column.kind == "level":
            by_raw.setdefault(column.raw, []).append(j)
    return tuple(tuple(positions) for positions in by_raw.values())


def _solve_prepared(
    prepared: Prepared,
    clock: Clock,
    on_event: Callable[[Event], None] | None,
    cancel: Callable[[], bool],
) -> Run:
    settings = prepared.settings
    program = get_formulation(settings.formulation).build(prepared.problem)
    engine = choose_engine(settings, program)
    settings = replace(settings, engine=engine.key)
    prepared = replace(prepared, settings=settings)
    events: list[Event] = []

    def emit(event: Event) -> None:
        if event.tree is not None:
            event = replace(event, tree=_named(event.tree, prepared))
        events.append(event)
        if on_event is not None:
            on_event(event)

    recorder = Recorder(program.sense, clock, emit, program.granularity, program.tolerance)
    limits = SolveLimits(clock, settings.gap, settings.node_limit, settings.threads, settings.seed)
    recorder.phase("warm start", encode_seconds=prepared.encode_seconds)
    _offer_starts(program, prepared, recorder, cancel)
    recorder.bound(program.bound)
    start = time.perf_counter()
    outcome = _run_engine(program, engine, limits, recorder, cancel)
    outcome.seconds.setdefault("solve", time.perf_counter() - start)
    outcome = _closed(outcome, recorder)
    recorder.finished(outcome.stop_reason.value)
    return finish(prepared, tuple(events), outcome, clock.elapsed, program)


def _offer_starts(
    program: Program, prepared: Prepared, recorder: Recorder, cancel: Callable[[], bool]
) -> None:
    """Evaluate the formulation's own starts; the single leaf comes first and always."""
    problem = prepared.problem
    shares = np.bincount(problem.y, problem.weights, minlength=problem.n_classes)
    leaf = Tree.leaf(int(shares.argmax()), problem.n_features, problem.n_classes)
    _offer(program, leaf, "warm start", recorder)
    if prepared.settings.warm_start == "none" or cancel():
        return
    for source, tree in program.starts():
        _offer(program, tree, source, recorder)
        if recorder.clock.remaining <= 0 or cancel():
            return


def _offer(program: Program, tree: Tree, source: str, recorder: Recorder) -> None:
    objective = program.evaluate(tree)
    if objective is not None:
        recorder.incumbent(objective, tree, source)


def _run_engine(
    program: Program,
    engine: Engine,
    limits: SolveLimits,
    recorder: Recorder,
    cancel: Callable[[], bool],
) -> Outcome:
    if cancel():
        return Outcome(StopReason.CANCELLED, program.method)
    if limits.clock.remaining <= 0:
        return Outcome(StopReason.TIME_LIMIT, program.method)
    if recorder.is_closed:
        return Outcome(StopReason.OPTIMAL, "conflict-bound", claims=(CONFLICT_CLAIM,))
    try:
        return engine.solve(program, limits, recorder, cancel)
    except CancelledError:
        return Outcome(StopReason.CANCELLED, program.method)


def choose_engine(settings: Settings, program: Program) -> Engine:
    """Pick the engine that was asked for, or the formulation's first one that fits the program.

    Raises
    ------
    SettingsError
        If the engine cannot solve such a program, or is not installed.
    """
    keys = get_formulation(settings.formulation).info.engines
    fitting = [key for key in keys if engine_supports(key) & set(program.capabilities)]
    if settings.engine == AUTO:
        return get_engine(fitting[0])
    if settings.engine not in fitting:
        needs = " or ".join(capability.value for capability in program.capabilities)
        raise SettingsError(
            "ENGINE_DOES_NOT_FIT",
            f"With these settings {settings.formulation} needs an engine for {needs} programs; "
            f"{settings.engine} is none, use {' or '.join(fitting)}.",
            "engine",
        )
    return get_engine(settings.engine)


def _closed(outcome: Outcome, recorder: Recorder) -> Outcome:
    """Call a solve optimal when its own trace proves it, and only then."""
    stopped = outcome.stop_reason
    if recorder.tree is not None and recorder.is_closed and stopped is not StopReason.ERROR:
        return replace(outcome, stop_reason=StopReason.OPTIMAL)
    if stopped is StopReason.OPTIMAL and outcome.method != "heuristic":
        return replace(outcome, stop_reason=StopReason.GAP_LIMIT)
    return outcome


def _named(tree: Tree, prepared: Prepared) -> Tree:
    return tree.named(prepared.train.classes, prepared.encoding.names)


@dataclass(frozen=True)
class _Scores:
    accuracy: float | None = None
    balanced: float | None = None
    test: float | None = None
    test_balanced: float | None = None


def finish(
    prepared: Prepared,
    events: tuple[Event, ...],
    outcome: Outcome,
    seconds: float,
    program: Program | None = None,
) -> Run:
    """Make the run of a trace: route all rows through the last incumbent and recompute everything.

    Parameters
    ----------
    prepared : Prepared
        The request.
    events : tuple of Event
        The trace, at least up to the last incumbent; may come from a killed process.
    outcome : Outcome
        Why it stopped and what proves the bound.
    seconds : float
        Total since the call.
    program : Program or None
        Built again when not given.
    """
    program = program or get_formulation(prepared.settings.formulation).build(prepared.problem)
    problem = prepared.problem
    trees = [event.tree for event in events if event.tree is not None]
    tree = metrics.centre_thresholds(trees[-1], problem.X) if trees else None
    objective = None if tree is None else program.evaluate(tree)
    tree = None if tree is None else drop_pass_through(tree)
    if tree is not None and program.describe is not None:
        values, statements = program.describe(tree)
        outcome = replace(
            outcome,
            values={**outcome.values, **values},
            claims=(*outcome.claims, *statements),
        )
    bound = _final_bound(program, finite(events[-1].bound) if events else None, objective)
    status = _status(outcome, tree)
    scores = _scores(prepared, tree)
    counts = np.bincount(problem.y, minlength=problem.n_classes)
    return Run(
        settings={**prepared.settings.to_dict(), "data": _data_record(prepared)},
        status=status,
        stop_reason=outcome.stop_reason.value,
        objective=objective,
        bound=bound,
        gap=relative_gap(objective, bound),
        root_bound=finite(outcome.root_bound),
        certificate=_certificate(prepared, program, outcome, status),
        tree=None if tree is None else _named(tree, prepared),
        encoding=prepared.encoding,
        trace=Trace(events),
        accuracy=scores.accuracy,
        balanced_accuracy=scores.balanced,
        test_accuracy=scores.test,
        test_balanced_accuracy=scores.test_balanced,
        accuracy_ceiling=metrics.accuracy_ceiling(problem.X, problem.y),
        majority_accuracy=float(counts.max() / counts.sum()),
        timings={"encode": prepared.encode_seconds, **outcome.seconds, "total": seconds},
        model_size={} if outcome.size is None else outcome.size.to_dict(),
        values=outcome.values,
        findings=prepared.findings + program.findings + tuple(_remarks(events)),
        train=prepared.train,
        test=prepared.test,
        n_train=prepared.train.n_samples,
        n_test=0 if prepared.test is None else prepared.test.n_samples,
        classes=prepared.train.classes,
    )


def _final_bound(program: Program, bound: float | None, objective: float | None) -> float | None:
    """Snap a bound that the objective's granularity proves to be the objective itself."""
    if bound is None or objective is None:
        return bound
    distance = bound - objective if program.sense is Sense.MAXIMISE else objective - bound
    slack = 1e-9 * max(1.0, abs(objective))
    return objective if distance <= max(slack, program.granularity * (1 - 1e-6) - slack) else bound


def _status(outcome: Outcome, tree: Tree | None) -> str:
    if outcome.stop_reason is StopReason.ERROR and tree is None:
        return "error"
    if tree is not None:
        return "optimal" if outcome.stop_reason is StopReason.OPTIMAL else "feasible"
    by_reason = {StopReason.INFEASIBLE: "infeasible", StopReason.CANCELLED: "cancelled"}
    return by_reason.get(outcome.stop_reason, "no_solution")


def _scores(prepared: Prepared, tree: Tree | None) -> _Scores:
    if tree is None:
        return _Scores()
    problem = prepared.problem
    train = metrics.accuracy(tree, problem.X, problem.y)
    balanced = metrics.balanced_accuracy(tree, problem.X, problem.y)
    test = prepared.test
    if test is None or test.y is None:
        return _Scores(train, balanced)
    X = prepared.encoding.transform(test.frame)
    return _Scores(
        train,
        balanced,
        metrics.accuracy(tree, X, test.y),
        metrics.balanced_accuracy(tree, X, test.y),
    )


def _data_record(prepared: Prepared) -> dict[str, Any]:
    source = prepared.train.source
    return {
        "name": prepared.train.name,
        "sha256": source.sha256,
        "target": prepared.train.target_name,
        "n_train": prepared.train.n_samples,
        "n_test": 0 if prepared.test is None else prepared.test.n_samples,
    }


def _certificate(
    prepared: Prepared, program: Program, outcome: Outcome, status: str
) -> Certificate:
    proven = status == "optimal" or status == "infeasible"
    statements = [*program.claims, *outcome.claims]
    quantile = prepared.encoding.key.startswith(("QB", "QT"))
    if proven and quantile:
        statements.append(
            f"optimal among trees on the {prepared.encoding.key} features, not among all thresholds"
        )
    if proven and program.tolerance:
        statements.append(f"closed to a relative gap of {program.tolerance:g}")
    if proven and prepared.test is not None:
        statements.append("optimal for the training part; the held-out part took no part")
    return Certificate(outcome.method, proven, tuple(dict.fromkeys(statements)))


def _remarks(events: tuple[Event, ...]) -> list[str]:
    texts = [str(event.details["text"]) for event in events if event.kind == "note"]
    return list(dict.fromkeys(texts))
