"""The optimum of a univariate claim: which tables answer it, what they cost, and their answer."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from octcore.verification.base import Guard, NotProvenError, Proven
from octcore.verification.claim import Array, Claim
from octcore.verification.coupled import coupled_optimum, coupled_seconds, make_sums
from octcore.verification.literals import (
    Task,
    by_root,
    count_tests,
    errors_of_leaf,
    estimated_seconds,
    fewest_seconds,
    least_errors,
    make_rows,
    needed_bytes,
)
from octcore.verification.value import Value, equal_rows, value_of

PAIRS, COUPLED = "all pairs of literals", "all vectors of sums over leaves"
MOST_PAIRS = 12
"""Forbidden pairs; each may double the number of sets of features."""
SMALLEST_OCT_GAP = 1e-4
"""Values of a column that lie closer may count as equal in the model of OCT."""
LIMITS_OF_BIN_OCT = frozenset({"class_weight", "forbidden_features"})
"""Other limits count the idle splits of its full trees."""


def derived(claim: Claim, guard: Guard) -> Proven:
    """Derive the optimum of a univariate claim."""
    if claim.formulation == "bin-oct" and set(claim.limits) - LIMITS_OF_BIN_OCT:
        raise NotProvenError("bin-oct counts idle splits in its side constraints")
    for j in claim.columns if claim.formulation == "oct" else ():
        guard()
        if np.diff(np.unique(claim.X[:, j]).astype(float)).min(initial=np.inf) < SMALLEST_OCT_GAP:
            raise NotProvenError("values lie closer than the model of OCT tells apart")
    if claim.limits.get("monotone"):
        raise NotProvenError("trees that rise along a column only are not searched again")
    value = value_of(claim)
    coupled = bool(claim.recalls or claim.parities)
    n_sets, first = next(_feature_sets(claim))
    if n_sets > 2**MOST_PAIRS and len(claim.limits.get("forbidden_pairs") or ()) > MOST_PAIRS:
        raise NotProvenError("too many pairs of features are forbidden")
    method = COUPLED if coupled else PAIRS
    if n_sets > 1:
        method += f" for each of {n_sets:,} sets of features"
    n_rows, n_tests = len(claim.y), count_tests(claim.X, _columns(claim, first), guard)
    n_distinct = int(equal_rows(claim.X, guard).max()) + 1
    n_answers = claim.costs.shape[1]
    guard.expects(n_sets * fewest_seconds(n_rows, n_distinct, n_tests, n_answers))
    guard.needs(needed_bytes(n_distinct, n_tests, claim.depth, claim.of_rows))
    task, costs = _task(claim, value, first, guard), []
    sums = make_sums(claim, task, guard) if coupled else None
    guard.expects(
        n_sets * (estimated_seconds(task) if sums is None else coupled_seconds(task, sums))
    )
    by_column = np.full(claim.X.shape[1], np.inf)
    for number, (_, chosen) in enumerate(_feature_sets(claim)):
        if number:
            task = _task(claim, value, chosen, guard)
            sums = make_sums(claim, task, guard) if coupled else None
        if sums is not None:
            costs.append(coupled_optimum(task, sums, claim.leaf_limit, guard))
        elif "root_values" in claim.values:
            # They are stated of all columns, also where the root is given.
            free = by_root(replace(task, roots=None), guard)[:, : claim.leaf_limit]
            of_tests = _least(free, task.price)
            np.minimum.at(by_column, task.rows.column, of_tests)
            leaf = errors_of_leaf(task) + task.price if task.roots is None else np.inf
            mine = of_tests if task.roots is None else of_tests[task.roots]
            costs.append(mine.min(initial=leaf))
        else:
            costs.append(_least(least_errors(task, guard)[: claim.leaf_limit], task.price))
    cost = min((cost for cost in costs if cost is not None), default=np.inf)
    optimum = None if np.isinf(cost) else float(value.of(cost, 0))
    roots = None if coupled else np.where(np.isinf(by_column), np.nan, value.of(by_column, 0))
    return Proven(optimum, method, is_optimum=True, by_root=roots)


def _least(errors: Array, price: float) -> Array:
    """Least of errors + price x leaves, by numbers of leaves from 1 on the last axis."""
    return (errors + price * np.arange(1, errors.shape[-1] + 1)).min(axis=-1)


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


def _task(claim: Claim, value: Value, raws: Array, guard: Guard) -> Task:
    columns = _columns(claim, raws)
    rows = make_rows(claim.X, claim.of_rows, columns, guard)
    group = claim.group[rows.column] if rows.n_tests else np.zeros(0, dtype=int)
    root = claim.limits.get("root_feature")
    roots = None
    if root is not None:
        roots = np.flatnonzero(group == claim.raw_indices([root])[0])
    once = bool(claim.limits.get("feature_once_per_path"))
    return Task(rows, claim.depth, value.price, claim.least_rows, group, once, roots)
