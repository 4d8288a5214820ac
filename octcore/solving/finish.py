"""From a trace to a run: route all rows through the last tree and recompute every number."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from octcore.data.dataset import Dataset
from octcore.data.findings import listing
from octcore.data.numbers import FEW_NUMBERS
from octcore.engines.base import Outcome, StopReason
from octcore.engines.events import (
    CLAIM_TOLERANCE,
    CLOSED,
    Event,
    Trace,
    closing_slack,
    finite,
    is_denied,
    relative_gap,
)
from octcore.formulations.base import get_formulation
from octcore.program import Capability, Program, Sense
from octcore.solving.prepare import Prepared, prepare, split_rows, with_engine
from octcore.solving.run import Certificate, Run
from octcore.solving.settings import FORMULATION, Asked, check_settings
from octcore.tree import metrics
from octcore.tree.tree import Tree, drop_pass_through

ALL_THRESHOLDS = frozenset({"raw", "scaled", "none", "one-hot"})
"""Encodings that keep every threshold of the numeric columns."""
SCORES = ("accuracy", "balanced_accuracy", "mean_cost", "referred")
REACHED = "the bound is what so many leaves, each of one class, can get right"


def named(tree: Tree, prepared: Prepared) -> Tree:
    """Return the tree carrying the class labels and column names of the request."""
    return tree.named(prepared.task.answers, prepared.encoding.names)


def finish(
    prepared: Prepared,
    events: tuple[Event, ...],
    outcome: Outcome,
    seconds: float,
    program: Program | None = None,
    is_chosen: bool = False,
) -> Run:
    """Make the run of a trace: route all rows through the last incumbent and recompute everything.

    `is_chosen`: whether somebody chose the tree with its thresholds, which stay where they are.

    The events go at least up to the last incumbent and may come from a killed process; the outcome
    says why it stopped and what proves the bound.
    """
    program = program or get_formulation(prepared.settings.formulation).build(prepared.problem)
    problem = prepared.problem
    tree, objective = _last_tree(program, events, None if is_chosen else problem.X)
    outcome = _described(program, outcome, tree)
    searched = finite(events[-1].bound) if events else None
    bound = _snapped(program, limited(program, searched, objective), objective)
    if bound != _snapped(program, searched, objective):
        outcome = replace(outcome, claims=(*outcome.claims, REACHED))
    status = _status(outcome, tree)
    if status == "infeasible":  # there is nothing that a bound would be about
        bound = None
    train, test = prepared.train, prepared.test
    scores = dict.fromkeys(SCORES) | _scores(prepared, tree, train)
    held_out = dict.fromkeys(SCORES)
    if test is not None and test.y is not None:
        held_out |= _scores(prepared, tree, test)
    counts = np.bincount(problem.context.y)
    notes = dict.fromkeys(str(e.details["text"]) for e in events if e.kind == "note")
    remarks = *_spread(problem.weights), *notes, *_searched_sooner(prepared, status)
    return Run(
        settings={**prepared.settings.to_dict(), "data": _data_record(prepared)},
        **scores,
        **{f"test_{name}": score for name, score in held_out.items()},
        status=status,
        stop_reason=outcome.stop_reason.value,
        objective=objective,
        bound=bound,
        gap=relative_gap(objective, bound),
        root_bound=finite(outcome.root_bound),
        certificate=_certificate(prepared, program, outcome, status),
        tree=None if tree is None else named(tree, prepared),
        encoding=prepared.encoding,
        trace=Trace(events),
        accuracy_ceiling=None
        if prepared.task.can_ask
        else metrics.accuracy_ceiling(problem.context.X, problem.context.y, problem.groups),
        majority_accuracy=float(counts.max() / counts.sum()),
        timings={"encode": prepared.encode_seconds, **outcome.seconds, "total": seconds},
        model_size={} if outcome.size is None else outcome.size.to_dict(),
        extras={**outcome.values, **_intervals(prepared, tree)},
        findings=(*prepared.findings, *program.findings, *remarks),
        train=train,
        test=test,
        n_train=train.n_samples,
        n_test=0 if test is None else test.n_samples,
        classes=train.classes,
        sample_weight=prepared.sample_weight,
    )


def _searched_sooner(prepared: Prepared, status: str) -> tuple[str, ...]:
    """Say that the exact search answers what a model's limit left open."""
    settings, info = prepared.settings, get_formulation(prepared.settings.formulation).info
    exact = get_formulation(str(FORMULATION.default)).info
    is_same = info.objective == exact.objective and info.objective_with is None
    is_model = info.capabilities[0] in {Capability.LINEAR, Capability.SEPARATION}
    is_open = status not in {"optimal", "infeasible"}
    if not (is_open and is_model and is_same and settings.constraints.active <= exact.constraints):
        return ()
    return (
        f"This run left the optimum open: {exact.title} ({exact.key}) asks the same of these "
        f"columns (encoding {settings.encoding}), or of all thresholds, mostly proven sooner.",
    )


def _last_tree(
    program: Program, events: tuple[Event, ...], X: np.ndarray | None
) -> tuple[Tree | None, float | None]:
    """Last incumbent, its thresholds in the middle of rows, and its objective by routing."""
    trees = [event.tree for event in events if event.tree is not None]
    if not trees:
        return None, None
    tree = trees[-1] if X is None else metrics.centre_thresholds(trees[-1], X)
    tree = drop_pass_through(tree)
    return tree, program.evaluate(tree)


def _described(program: Program, outcome: Outcome, tree: Tree | None) -> Outcome:
    """Add what the program has to say about the final tree."""
    if tree is None or program.describe is None:
        return outcome
    values, statements = program.describe(tree)
    return replace(
        outcome, values=outcome.values | dict(values), claims=(*outcome.claims, *statements)
    )


def limited(program: Program, bound: float | None, objective: float | None) -> float | None:
    """No bound is looser than what the number of leaves allows."""
    if objective is None or program.reach is None or program.method == "heuristic":
        return bound  # a heuristic claims none
    tighter = min if program.sense is Sense.MAXIMISE else max
    return program.reach if bound is None else tighter(bound, program.reach)


def _snapped(program: Program, bound: float | None, objective: float | None) -> float | None:
    """The objective itself where its granularity proves that of a bound; None if they disagree."""
    if objective is None or bound is None:
        return bound
    distance = bound - objective if program.sense is Sense.MAXIMISE else objective - bound
    slack = closing_slack(objective, program.span)
    if is_denied(distance, objective, max(slack, program.tolerance * abs(objective)), program.span):
        return None
    # The next better value lies a granularity away, beyond the bound; less counts for sums that
    # are rounded.
    return objective if distance <= max(slack, program.granularity * (1 - 1e-6) - slack) else bound


def _status(outcome: Outcome, tree: Tree | None) -> str:
    if outcome.stop_reason is StopReason.ERROR and tree is None:
        return "error"
    if tree is not None:
        return "optimal" if outcome.stop_reason is StopReason.OPTIMAL else "feasible"
    by_reason = {StopReason.INFEASIBLE: "infeasible", StopReason.CANCELLED: "cancelled"}
    return by_reason.get(outcome.stop_reason, "no_solution")


def _scores(prepared: Prepared, tree: Tree | None, rows: Dataset) -> dict[str, float | None]:
    """Scores on some rows, each of which counts once: accuracy of those that get a class."""
    if tree is None:
        return {}
    tree, X = named(tree, prepared), tree.encoded(prepared.encoding, rows.frame)
    answers = tree.predict_codes(X)
    found: dict[str, float | None] = {"mean_cost": prepared.task.mean_cost(rows.codes, answers)}
    found["referred"] = float((answers >= tree.n_targets).mean())
    if found["referred"] < 1.0:
        found["accuracy"] = metrics.accuracy(tree, X, rows.codes)
        found["balanced_accuracy"] = metrics.balanced_accuracy(tree, X, rows.codes)
    return found


def _intervals(prepared: Prepared, tree: Tree | None) -> dict[str, Any]:
    """How far the thresholds on numbers may move, for trees with one column per split."""
    if tree is None or not tree.is_univariate or prepared.encoding.key not in ALL_THRESHOLDS:
        return {}
    intervals = metrics.threshold_intervals(tree, prepared.problem.X, prepared.encoding)
    return {"threshold_intervals": {node: list(ends) for node, ends in intervals.items()}}


def _spread(weights: np.ndarray) -> tuple[str, ...]:
    """Remark on weights of which the lightest are lost beside the heaviest."""
    positive = weights[weights > 0]
    least, most = float(positive.min()), float(positive.max())
    if most * CLOSED < least:
        return ()
    return (
        f"The weights of the rows go from {least:.3g} to {most:.3g}, over nine decades or more: "
        f"an optimum is proven to within {CLOSED:g} of the total weight only, so the lightest rows "
        "may not count; leave out what hardly weighs, or bring the weights closer together.",
    )


def _data_record(prepared: Prepared) -> dict[str, Any]:
    source = prepared.train.source
    return {
        "name": prepared.train.name,
        "sha256": source.sha256,
        "target": prepared.train.target_name,
        "n_train": prepared.train.n_samples,
        "n_test": 0 if prepared.test is None else prepared.test.n_samples,
        "weighted": prepared.sample_weight is not None,
    }


def _certificate(
    prepared: Prepared, program: Program, outcome: Outcome, status: str
) -> Certificate:
    proven = status == "optimal" or status == "infeasible"
    statements = [*outcome.claims, *program.claims, *prepared.task.words]
    if status == "optimal" and _leaves_out_thresholds(prepared):
        statements.append(
            f"optimal among trees on the {prepared.encoding.key} features, not among all thresholds"
        )
    on_all = outcome.method == "threshold-search" and prepared.encoding.key in ALL_THRESHOLDS
    if status == "optimal" and on_all:
        limited = " that keep the side constraints" if prepared.problem.constraints.active else ""
        statements.append(
            f"optimal among all axis-parallel trees of depth {prepared.problem.depth} on these rows"
            + limited
        )
    closes = CLOSED if outcome.size is None else CLAIM_TOLERANCE
    is_fine = program.span < math.inf and program.granularity <= 2 * closes * program.span
    if status == "optimal" and is_fine:
        has_copies = prepared.problem.copies is not None
        statements.append(
            f"optimal to within {closes * program.span:.2g} in the objective"
            if has_copies
            else f"optimal to within {closes:g} of the total weight of the rows"
        )
    if status == "optimal" and program.tolerance:
        statements.append(f"closed to a relative gap of {program.tolerance:g}")
    if status == "optimal" and prepared.test is not None:
        statements.append("optimal for the training part; the held-out part took no part")
    statements += _unordered(prepared)
    return Certificate(outcome.method, proven, tuple(dict.fromkeys(statements)))


def _leaves_out_thresholds(prepared: Prepared) -> bool:
    """Whether splits are on quantiles of a column of more than few numbers, or on class changes.

    A tree of several levels may have to cut between two values of one class.
    """
    train, key = prepared.train, prepared.encoding.key
    numbers = [c.name for c in train.columns if c.kind in {"numeric", "ordinal"}]
    if key == "class-change":
        cuts = Counter(column.raw for column in prepared.encoding.columns)
        return any(cuts[name] < train.frame[name].nunique() - 1 for name in numbers)
    is_quantile = key.startswith(("QB", "QT"))
    return is_quantile and any(train.frame[name].nunique() > FEW_NUMBERS for name in numbers)


def _unordered(prepared: Prepared) -> list[str]:
    """Name the columns of which a split on one column tells one level from the others."""
    if prepared.info.split_kind != "univariate":
        return []
    columns = prepared.encoding.columns
    names = [columns[own[0]].raw for own in prepared.problem.categorical if len(own) > 1]
    return [f"questions on {listing(names)} ask for one level at a time"] if names else []


def run_from_incumbent(
    data: Dataset,
    settings: Mapping[str, Any],
    events: Sequence[Event],
    stop_reason: StopReason | str,
    seconds: float,
    note: str = "",
    sample_weight: np.ndarray | None = None,
) -> Run:
    """Make the run of a solve that ended early out of what it had sent.

    Its status is ``"feasible"`` when there is a tree.  Without any incumbent a stopped or late
    solve gets the majority leaf if the constraints admit it; a failed one gets no tree.  `data` are
    all rows that were given to the solve, `events` all that arrived, and `note` is a sentence for
    the user about the end, which was "cancelled", "time_limit" or "error".
    """
    reason = StopReason(stop_reason)
    prepared = prepare(data, check_settings(**settings), sample_weight)
    program = get_formulation(prepared.settings.formulation).build(prepared.problem)
    prepared = with_engine(prepared, program)
    sent = tuple(event for event in events if event.kind != "finished")
    if reason is not StopReason.ERROR and not any(event.tree for event in sent):
        sent += _majority_leaf(prepared, program, sent, seconds)
    last = sent[-1] if sent else Event(0.0, "phase", source="start")
    if note:
        sent += (replace(last, seconds=seconds, kind="note", tree=None, details={"text": note}),)
    sent += (
        replace(last, seconds=seconds, kind="finished", source=reason.value, tree=None, details={}),
    )
    method = program.method_of(prepared.settings.engine)
    return finish(prepared, sent, Outcome(reason, method), seconds, program)


def read_back(record: Mapping[str, Any], data: Dataset, events: Sequence[Event]) -> Run:
    """Join a stored result (`Run.to_dict`) with its events and the rows given to the solve.

    Nothing is solved; the rows are split again by the stored seed.
    """
    asked = Asked.of(record["settings"])
    train, test, _ = split_rows(data, asked.test_size, asked.seed)
    return Run.from_dict(record, Trace(tuple(events)), train, test)


def _majority_leaf(
    prepared: Prepared, program: Program, sent: tuple[Event, ...], seconds: float
) -> tuple[Event, ...]:
    leaf = prepared.problem.majority_leaf
    objective = program.evaluate(leaf)
    if objective is None:
        return ()
    bound = sent[-1].bound if sent else None
    return (Event(seconds, "incumbent", objective, bound, "warm start", tree=leaf),)
