"""The optimum of a univariate claim: no tree costs less than it says, or the one that does."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from functools import partial

import numpy as np

from octcore.verification.base import Guard, NotProvenError, Proven
from octcore.verification.claim import Array, Claim
from octcore.verification.coupled import coupled_optimum, make_sums
from octcore.verification.least import ROUNDING, Task, by_column, expected_seconds, least_cost
from octcore.verification.sheet import Sheet, make_sheet, needed_bytes
from octcore.verification.value import TOLERANCE, Value, value_of_gains

CUTS, COUPLED = "all cuts by bounds from their neighbours", "all vectors of sums over leaves"
MOST_PAIRS = 12
"""Forbidden pairs; each may double the number of sets of features."""
SMALLEST_OCT_GAP = 1e-4
"""Values of a column that lie closer may count as equal in the model of OCT."""
LIMITS_OF_BIN_OCT = frozenset({"class_weight", "forbidden_features"})
"""Other limits count the idle splits of its full trees."""


def derived(claim: Claim, guard: Guard) -> Proven:
    """Prove the bound of a univariate claim, or derive the optimum that is better."""
    if claim.formulation == "bin-oct" and set(claim.limits) - LIMITS_OF_BIN_OCT:
        raise NotProvenError("bin-oct counts idle splits in its side constraints")
    for j in claim.columns if claim.formulation == "oct" else ():
        guard()
        if np.diff(np.unique(claim.X[:, j]).astype(float)).min(initial=np.inf) < SMALLEST_OCT_GAP:
            raise NotProvenError("values lie closer than the model of OCT tells apart")
    value = value_of_gains(claim)
    cutoff = np.inf
    if claim.bound is not None:
        cutoff = (claim.bound - value.constant) / value.per_error
    is_coupled = bool(claim.recalls or claim.parities or claim.limits.get("monotone"))
    task, sheet = _task(claim, value, claim.columns, guard)
    found, method = 0.0, CUTS
    if cutoff < np.inf or not is_coupled:
        found, method = _uncoupled(claim, value, task, sheet, cutoff)
    if claim.limits.get("monotone") and found < cutoff:
        raise NotProvenError("trees that go one way along a column only are not searched again")
    if is_coupled and found < cutoff:  # more than the trees that are allowed cost less
        found, method = _coupled(claim, value, guard)
    if np.isinf(found):
        return Proven(None, method)
    by_root = partial(_root_optima, claim, value, task, sheet)
    if found >= cutoff:
        return Proven(claim.bound, method, by_root=by_root)
    return Proven(float(value.of(found, 0)), method, is_optimum=True, by_root=by_root)


def _uncoupled(
    claim: Claim, value: Value, task: Task, sheet: Sheet, cutoff: float
) -> tuple[float, str]:
    """Least cost, or the cutoff, and how it was found; the task is that on all columns."""
    n_sets, first = next(_feature_sets(claim))
    if n_sets == 1 and len(_columns(claim, first)) == len(claim.columns):
        return _least_on(claim, task, sheet, cutoff), CUTS
    # Where features are limited: first as if they were not.
    if cutoff < np.inf and _least_on(claim, task, sheet, cutoff) >= cutoff:
        return cutoff, CUTS
    task.guard.expects(n_sets * task.guard.elapsed)
    for _, chosen in _feature_sets(claim):
        own = _task(claim, value, _columns(claim, chosen), task.guard)
        cutoff = _least_on(claim, *own, cutoff)
    return cutoff, f"{CUTS} for each of {n_sets:,} sets of features"


def _least_on(claim: Claim, task: Task, sheet: Sheet, cutoff: float) -> float:
    """Least cost of the trees on some columns, or the cutoff."""
    root = claim.limits.get("root_feature")
    if root is None:
        return least_cost(task, sheet, claim.depth, claim.leaf_limit, cutoff)
    roots = np.flatnonzero(claim.group == claim.raw_indices([root])[0])
    return float(_by_root(claim, task, sheet, cutoff, roots))


def _by_root(
    claim: Claim, task: Task, sheet: Sheet, cutoff: float | Array, roots: Array | None
) -> Array:
    depth = min(claim.depth, claim.leaf_limit - 1)
    if depth < 1:
        return np.array(cutoff)
    return by_column(task, sheet, depth, min(claim.leaf_limit, 2**depth), cutoff, roots)


def _root_optima(claim: Claim, value: Value, task: Task, sheet: Sheet, said: Array) -> Array:
    """`Proven.by_root`, with what the task knows already."""
    task.guard.expects(task.guard.elapsed + expected_seconds(sheet, claim.depth))
    cutoff = (said - value.constant) / value.per_error
    cutoff += 4 * TOLERANCE * (claim.span + value.price + np.abs(said / value.per_error))
    found = _by_root(claim, task, sheet, np.where(np.isfinite(cutoff), cutoff, 0.0), None)
    rows = sheet.cuts.rows
    enough = (rows >= task.least) & (sheet.counts.sum() - rows >= task.least)
    there = np.isin(np.arange(len(said)), sheet.cuts.column[enough]) & (claim.leaf_limit > 1)
    return np.where(there, value.of(found, 0), np.nan)


def _task(claim: Claim, value: Value, columns: Array, guard: Guard) -> tuple[Task, Sheet]:
    guard.needs(needed_bytes(claim.X, columns, claim.costs.shape[1], guard))
    sheet, _ = make_sheet(claim.X, claim.gains, columns, claim.group, guard)
    guard.expects(expected_seconds(sheet, claim.depth))
    tolerance = ROUNDING * (claim.span + value.price)
    once = claim.limits.get("feature_once_per_path")
    group = claim.group if once else None
    return Task(value.price, claim.least_rows, tolerance, guard, group), sheet


def _coupled(claim: Claim, value: Value, guard: Guard) -> tuple[float, str]:
    """Least cost where limits look at the predictions of all leaves together."""
    n_sets, _ = next(_feature_sets(claim))
    best, method = np.inf, COUPLED
    if n_sets > 1:
        method += f" for each of {n_sets:,} sets of features"
    for number, (_, chosen) in enumerate(_feature_sets(claim)):
        guard()
        sums = make_sums(claim, _columns(claim, chosen), guard, n_sets - number)
        best = min(best, coupled_optimum(sums, claim, value.price, guard))
    return best, method


def _feature_sets(claim: Claim) -> Iterator[tuple[int, Array]]:
    """Yield the number of sets and one largest set of raw features that a tree may use together."""
    limits = claim.limits
    free = sorted({int(g) for g in claim.group[claim.columns]})
    most = limits.get("max_features")
    pairs = [tuple(claim.raw_indices(pair)) for pair in limits.get("forbidden_pairs") or ()]
    pairs = [pair for pair in pairs if set(pair) <= set(free)]
    if len(pairs) > MOST_PAIRS:
        raise NotProvenError("too many pairs of features are forbidden")
    left_out = {frozenset(choice) for choice in itertools.product(*pairs)}
    remaining = [[raw for raw in free if raw not in out] for out in left_out]
    sizes = [len(raws) if most is None else min(int(most), len(raws)) for raws in remaining]
    count = sum(math.comb(len(raws), size) for raws, size in zip(remaining, sizes, strict=True))
    for raws in itertools.chain.from_iterable(map(itertools.combinations, remaining, sizes)):
        yield count, np.array(list(raws), dtype=int)


def _columns(claim: Claim, raws: Array) -> Array:
    return claim.columns[np.isin(claim.group[claim.columns], raws)]
