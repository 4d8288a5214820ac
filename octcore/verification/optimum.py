"""The optimum of a univariate claim: which tables answer it, what they cost, and their answer."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from octcore.verification.base import Guard, NotProvenError, Proven
from octcore.verification.claim import Array, Claim
from octcore.verification.coupled import coupled_optimum, coupled_seconds, make_sums
from octcore.verification.literals import Task, estimated_seconds, least_errors, make_rows
from octcore.verification.value import Value, value_of

PAIRS, COUPLED = "all pairs of literals", "all vectors of sums over leaves"
MOST_TESTS = 50_000
MOST_PAIRS = 12
"""Forbidden pairs; each may double the number of sets of features."""
MOST_BYTES = 1e9
SMALLEST_OCT_GAP = 1e-4
"""Values of a column that lie closer may count as equal in the model of OCT."""
LIMITS_OF_BIN_OCT = frozenset({"class_weight", "forbidden_features"})
"""Other limits count the idle splits of its full trees."""


@dataclass(frozen=True, eq=False)
class Plan:
    """How an optimum can be derived."""

    method: str
    estimate: float
    """Seconds; infinite where memory would not suffice."""
    derive: Callable[[Callable[[], None]], float | None]
    """``derive(guard)`` returns the least errors + price x leaves, None if there is no tree."""


def derived(claim: Claim, guard: Guard) -> Proven:
    """Derive the optimum of a univariate claim."""
    if claim.formulation == "bin-oct" and set(claim.limits) - LIMITS_OF_BIN_OCT:
        raise NotProvenError("bin-oct counts idle splits in its side constraints")
    if claim.formulation == "oct":
        steps = [np.diff(np.unique(claim.X[:, j])) for j in claim.columns]
        if any(len(step) and step.min() < SMALLEST_OCT_GAP for step in steps):
            raise NotProvenError("values lie closer than the model of OCT tells apart")
    value = value_of(claim)
    plan = make_plan(claim, value)
    guard.expects(plan.estimate)
    cost = plan.derive(guard)
    optimum = None if cost is None else float(value.of(cost, 0))
    return Proven(optimum, plan.method, is_optimum=True, estimate=plan.estimate)


def make_plan(claim: Claim, value: Value) -> Plan:
    """Plan the derivation of the optimum of a univariate claim."""
    coupled = bool(claim.recalls or claim.parities)
    sets = _feature_sets(claim)
    n_sets, first = next(sets)
    method = COUPLED if coupled else PAIRS
    if n_sets > 1:
        method += f" for each of {n_sets:,} sets of features"
    n_tests = _n_tests(claim, first)
    too_many = (
        n_sets > 2**MOST_PAIRS and len(claim.limits.get("forbidden_pairs") or ()) > MOST_PAIRS
    )
    if too_many or n_tests > MOST_TESTS or len(claim.y) * n_tests > MOST_BYTES:
        return Plan(method, math.inf, lambda _: None)
    estimate = n_sets * _seconds(claim, value, first, coupled)

    def derive(guard: Callable[[], None]) -> float | None:
        solve = _coupled_cost if coupled else _cost
        costs = [solve(claim, value, chosen, guard) for _, chosen in _feature_sets(claim)]
        return min((cost for cost in costs if cost is not None), default=None)

    return Plan(method, estimate, derive)


def _feature_sets(claim: Claim) -> Iterator[tuple[int, Array]]:
    """Yield the number of sets and one largest set of raw features that a tree may use together."""
    limits = claim.limits
    free = sorted({int(g) for g in claim.group[claim.columns]})
    most = limits.get("max_features")
    pairs = [tuple(claim.raw_indices(pair)) for pair in limits.get("forbidden_pairs") or ()]
    pairs = [pair for pair in pairs if set(pair) <= set(free)]
    if len(pairs) > MOST_PAIRS:
        yield 2 ** len(pairs), np.array(free, dtype=int)
        return
    left_out = {frozenset(choice) for choice in itertools.product(*pairs)}
    remaining = [[raw for raw in free if raw not in out] for out in left_out]
    if most is None:
        sets = remaining
        count = len(sets)
        chosen = iter(sets)
    else:
        sizes = [min(int(most), len(raws)) for raws in remaining]
        count = sum(math.comb(len(raws), size) for raws, size in zip(remaining, sizes, strict=True))
        chosen = itertools.chain.from_iterable(map(itertools.combinations, remaining, sizes))
    for raws in chosen:
        yield count, np.array(list(raws), dtype=int)


def _columns(claim: Claim, raws: Array) -> Array:
    return claim.columns[np.isin(claim.group[claim.columns], raws)]


def _n_tests(claim: Claim, raws: Array) -> int:
    return sum(len(np.unique(claim.X[:, j])) - 1 for j in _columns(claim, raws))


def _task(claim: Claim, value: Value, raws: Array) -> Task:
    columns = _columns(claim, raws)
    rows = make_rows(claim.X, claim.y, claim.weights, claim.n_classes, columns)
    group = claim.group[rows.column] if rows.n_tests else np.zeros(0, dtype=int)
    root = claim.limits.get("root_feature")
    roots = None
    if root is not None:
        roots = np.flatnonzero(group == claim.raw_indices([root])[0])
    once = bool(claim.limits.get("feature_once_per_path"))
    return Task(rows, claim.depth, value.price, claim.least_rows, group, once, roots)


def _seconds(claim: Claim, value: Value, raws: Array, coupled: bool) -> float:
    task = _task(claim, value, raws)
    if coupled:
        return coupled_seconds(task, make_sums(claim, task))
    return estimated_seconds(task)


def _cost(claim: Claim, value: Value, raws: Array, guard: Callable[[], None]) -> float | None:
    task = _task(claim, value, raws)
    errors = least_errors(task, guard)[: claim.leaf_limit]
    cost = errors + task.price * np.arange(1, len(errors) + 1)
    best = float(cost.min(initial=np.inf))
    return None if np.isinf(best) else best


def _coupled_cost(
    claim: Claim, value: Value, raws: Array, guard: Callable[[], None]
) -> float | None:
    task = _task(claim, value, raws)
    return coupled_optimum(task, make_sums(claim, task), claim.leaf_limit, guard)
