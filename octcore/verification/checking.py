"""Hold the claim of a run against what plain means derive."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from typing import Any, Protocol

import numpy as np
from threadpoolctl import threadpool_limits

from octcore.errors import CancelledError
from octcore.verification import chains
from octcore.verification.base import SECONDS, Guard, OutOfTimeError, Verdict, Verification
from octcore.verification.claim import Claim, Routed, broken_rules, route, scores
from octcore.verification.margot_claim import check_margot
from octcore.verification.optimum import make_plan
from octcore.verification.value import (
    COUNTING,
    UNIVARIATE,
    Value,
    conflict_errors,
    errors_of,
    value_of,
)

TOLERANCE = 1e-8
"""Relative; objectives are ratios of sums of weights in double precision."""
GAP_TOLERANCE = 1e-3
SMALLEST_OCT_GAP = 1e-4
"""Values of a column that lie closer may count as equal in the model of OCT."""
LIMITS_OF_BIN_OCT = frozenset({"class_weight", "forbidden_features"})
"""Other limits count the idle splits of its full trees."""
CONFLICTS = "conflicting rows"
MARGOT = "margot"
ONE_THREAD_CELLS = 10_000
"""From so many encoded cells on it pays to keep numpy's small products to one thread: more would
only wait for each other."""


class Finished(Protocol):
    """What a verification reads of a run."""

    @property
    def status(self) -> str: ...  # noqa: D102
    @property
    def objective(self) -> float | None: ...  # noqa: D102
    @property
    def bound(self) -> float | None: ...  # noqa: D102
    @property
    def certificate(self) -> Any: ...  # noqa: D102
    @property
    def tree(self) -> Any: ...  # noqa: D102
    @property
    def settings(self) -> Mapping[str, Any]: ...  # noqa: D102
    @property
    def encoding(self) -> Any: ...  # noqa: D102
    @property
    def train(self) -> Any: ...  # noqa: D102
    @property
    def sample_weight(self) -> np.ndarray | None: ...  # noqa: D102
    @property
    def values(self) -> Mapping[str, Any]: ...  # noqa: D102


def verify(
    run: Finished,
    time_limit: float = 60.0,
    cancel: Callable[[], bool] | None = None,
    expected: float | None = None,
) -> Verification:
    """Derive again, independently, what a run claims.

    Parameters
    ----------
    run : Run
        With its training rows.
    time_limit : float
        Seconds; a check that is expected to take longer is not begun.
    cancel : callable or None
        Asked often; a true answer ends the check without a verdict.
    expected : float or None
        Longest estimate with which a check is begun; the time limit by default.

    Returns
    -------
    Verification
        Confirmed, refuted, or not verified with the reason and, where there is one, the time that
        a check would take.
    """
    if run.certificate.verified is False:
        return run.certificate.verification  # its claim was withdrawn: there is nothing to check
    if run.train is None:
        return _unverified("not verified: the training rows are not at hand")
    of_data = run.settings.get("data") or {}
    if of_data.get("n_train", run.train.n_samples) != run.train.n_samples:
        return _unverified(
            f"not verified: the run was trained on {of_data['n_train']} rows, here are "
            f"{run.train.n_samples}"
        )
    if of_data.get("weighted") and run.sample_weight is None:
        return _unverified("not verified: the weights of the rows are not at hand")
    if run.certificate.method == "heuristic":
        return _unverified("nothing to verify: a heuristic claims no proof")
    if run.settings["formulation"] not in COUNTING | {MARGOT}:
        name = run.settings["formulation"]
        return _unverified(f"not verified: there is no independent check for {name}")
    if not all(value is None or math.isfinite(value) for value in (run.objective, run.bound)):
        return _unverified("not verified: the objective or the bound is no finite number")
    guard = Guard(time_limit, cancel)
    try:
        claim, longest = claim_of(run), time_limit if expected is None else expected
        one_thread = claim.X.size > ONE_THREAD_CELLS
        with threadpool_limits(1, user_api="blas") if one_thread else nullcontext():
            found = (
                check_margot(claim, run.values, guard, longest)
                if claim.formulation == MARGOT
                else check(claim, guard, longest, run.values.get("chains") or ())
            )
    except MemoryError:
        return _unverified("not verified: memory did not suffice", seconds=guard.elapsed)
    seconds = f"{guard.elapsed:.2g} s" if guard.elapsed >= 0.01 else "under 0.01 s"
    return replace(
        found, seconds=guard.elapsed, statement=found.statement.replace(SECONDS, seconds)
    )


def check(
    claim: Claim,
    guard: Guard,
    longest: float = math.inf,
    chains_of_run: Sequence[Mapping[str, Any]] = (),
) -> Verification:
    """Check a claim: its tree, then its proof, unless that is expected to take longer.

    `SECONDS` in the statement stands for the seconds.
    """
    value = value_of(claim)
    routed = None
    if claim.tree is not None:
        routed = route(claim.tree, claim.X)
        wrong = _wrong_tree(claim, value, routed)
        if wrong:
            return Verification(Verdict.REFUTED, f"refuted: {wrong}", "routing the rows")
    if claim.bound is None and claim.status != "infeasible":
        return _unverified("nothing to verify: no bound is claimed")
    if routed is not None and _reaches_conflict_bound(claim, value):
        assert claim.objective is not None
        return _judged(claim, value, claim.objective, CONFLICTS, None)
    if claim.formulation == "s-oct" and chains_of_run and claim.bound is not None:
        return _check_chains(claim, value, chains_of_run, guard)
    reason = _no_derivation(claim)
    if reason:
        return _unverified(f"not verified: {reason}")
    plan = make_plan(claim, value)
    if plan.estimate > longest:
        return _unverified(f"not verified ({_estimated(plan.estimate)})", plan.estimate)
    try:
        cost = plan.derive(guard)
    except CancelledError:
        return _unverified("not verified: it was stopped", plan.estimate)
    except OutOfTimeError:
        return _unverified(f"not verified: not done in {guard.time_limit:g} s", plan.estimate)
    optimum = None if cost is None else float(value.of(cost, 0))
    return _judged(claim, value, optimum, plan.method, plan.estimate)


def _check_chains(
    claim: Claim, value: Value, chains_of_run: Sequence[Mapping[str, Any]], guard: Guard
) -> Verification:
    """Confirm a bound that rows along lines prove; not what a search proved beyond it."""
    try:
        errors = chains.fewest_errors(claim, chains_of_run, guard)
    except CancelledError:
        return _unverified("not verified: it was stopped")
    except OutOfTimeError:
        return _unverified(f"not verified: not done in {guard.time_limit:g} s")
    if errors is None:
        return _unverified("not verified: rows that were said to lie along a line do not")
    shares = np.bincount(claim.y, claim.weights, claim.n_classes)
    of_leaf = float(value.of(float(shares.sum() - shares.max()), 1))
    of_chains = float(value.of(errors, 2))
    proven = max(of_leaf, of_chains) if value.is_maximised else min(of_leaf, of_chains)
    assert claim.bound is not None
    reached = claim.objective if claim.status == "optimal" else claim.bound
    slack = TOLERANCE * max(1.0, abs(proven))
    if value.excess(proven, claim.bound) > slack or (
        reached is None or value.excess(proven, reached) > slack
    ):
        return _unverified(
            f"not verified: the bound is {claim.bound:.9g}, {chains.METHOD} prove {proven:.9g}"
        )
    what = "bound" if claim.status != "optimal" else "optimum"
    return Verification(
        Verdict.CONFIRMED, f"{what} verified independently in {SECONDS} ({chains.METHOD})",
        chains.METHOD,
    )  # fmt: skip


def _judged(
    claim: Claim, value: Value, optimum: float | None, method: str, estimate: float | None
) -> Verification:
    """Compare the claim with the optimum; None means that no tree keeps the constraints."""

    def verdict(status: Verdict, statement: str) -> Verification:
        return Verification(status, statement, method, optimum, 0.0, estimate)

    by = f" ({method})"
    if optimum is None:
        if claim.tree is None:
            return verdict(Verdict.CONFIRMED, f"verified independently in {SECONDS}{by}")
        return _unverified("not verified: the derivation finds no tree where the run has one")
    if claim.status == "infeasible":
        return verdict(Verdict.REFUTED, f"refuted: a tree of objective {optimum:.9g} exists{by}")
    slack = TOLERANCE * max(1.0, abs(optimum))
    if claim.objective is not None and value.excess(claim.objective, optimum) > slack:
        return _unverified(
            f"not verified: the tree is worth {claim.objective:.9g}, better than the optimum "
            f"{optimum:.9g} as derived{by}; please report this"
        )
    if claim.bound is not None and value.excess(optimum, claim.bound) > slack:
        return verdict(
            Verdict.REFUTED,
            f"refuted: the bound {claim.bound:.9g} is claimed, the optimum is {optimum:.9g}{by}",
        )
    if claim.status == "optimal":
        if claim.objective is None or value.excess(optimum, claim.objective) > slack:
            return verdict(
                Verdict.REFUTED,
                f"refuted: {claim.objective:.9g} is claimed, the optimum is {optimum:.9g}{by}",
            )
        return verdict(Verdict.CONFIRMED, f"verified independently in {SECONDS}{by}")
    return verdict(
        Verdict.CONFIRMED,
        f"objective and bound verified independently in {SECONDS}: the optimum is "
        f"{optimum:.9g}{by}",
    )


def _wrong_tree(claim: Claim, value: Value, routed: Routed) -> str:
    """What is wrong with the claimed tree, by routing; empty if nothing."""
    broken = broken_rules(claim, routed)
    if broken:
        return f"the tree breaks a side constraint: {broken[0]}"
    if claim.formulation == "s-oct":
        least = float(claim.params["epsilon"]) * (1 - GAP_TOLERANCE)
        thin = [node for node, gap in _gaps(claim, routed).items() if gap < least]
        if thin:
            return f"the gap of node {thin[0]} is below epsilon"
    worth = float(value.of(errors_of(claim, routed), len(claim.tree.labels)))
    slack = TOLERANCE * max(1.0, abs(worth))
    if claim.objective is None or abs(worth - claim.objective) > slack:
        claimed = "none" if claim.objective is None else f"{claim.objective:.9g}"
        return f"objective {claimed} is claimed, the tree is worth {worth:.9g}"
    return ""


def _gaps(claim: Claim, routed: Routed) -> dict[int, float]:
    """Width of the empty strip around every split, for weights of 1-norm 1."""
    gaps = {}
    for node, rows in routed.rows.items():
        split = claim.tree.splits[node]
        at = scores(split, claim.X[rows[claim.weights[rows] > 0]])
        right = at > split.threshold
        norm = sum(abs(weight) for _, weight in split.weights)
        if right.any() and not right.all():
            gaps[node] = float((at[right].min() - at[~right].max()) / norm)
    return gaps


def _reaches_conflict_bound(claim: Claim, value: Value) -> bool:
    """Whether no tree can be better, as identical rows of several classes err in every tree.

    A single leaf errs on all but its class; a tree with a split has two leaves at least.
    """
    if claim.objective is None:
        return False
    shares = np.bincount(claim.y, claim.weights, claim.n_classes)
    errors = conflict_errors(claim.X, claim.y, claim.weights, claim.n_classes)
    best = [
        value.of(float(shares.sum() - shares.max()), 1),
        value.of(errors, 2),
    ]
    slack = TOLERANCE * max(1.0, abs(claim.objective))
    return all(value.excess(float(b), claim.objective) <= slack for b in best)


def _no_derivation(claim: Claim) -> str:
    """Why the optimum of a claim cannot be derived; empty if it can."""
    if claim.formulation not in UNIVARIATE:
        return "the tree does not reach the bound of conflicting rows, and no other check is there"
    if claim.formulation == "bin-oct" and set(claim.limits) - LIMITS_OF_BIN_OCT:
        return "bin-oct counts idle splits in its side constraints"
    if claim.formulation == "oct":
        steps = [np.diff(np.unique(claim.X[:, j])) for j in claim.columns]
        if any(len(step) and step.min() < SMALLEST_OCT_GAP for step in steps):
            return "values lie closer than the model of OCT tells apart"
    return ""


def claim_of(run: Finished) -> Claim:
    """Read the claim of a run from what is stored with it."""
    settings, train = run.settings, run.train
    limits = dict(settings.get("constraints") or {})
    classes = tuple(train.classes)
    raw = tuple(run.encoding.raw_features)
    named = [
        limit.get(role)
        for limit in limits.values()
        if isinstance(limit, Mapping) and "max_gap" in limit
        for role in ("attribute", "given")
    ]
    positive = train.positive_class
    return Claim(
        formulation=str(settings["formulation"]),
        status=run.status,
        method=run.certificate.method,
        objective=run.objective,
        bound=run.bound,
        tree=run.tree,
        X=_encoded(run.encoding, train.frame),
        y=np.asarray(train.y),
        weights=_weights(limits.get("class_weight"), train.y, classes, run.sample_weight),
        n_classes=len(classes),
        depth=int(settings["depth"]),
        params=dict(settings.get("params") or {}),
        limits=limits,
        group=np.array([raw.index(column.raw) for column in run.encoding.columns], dtype=int),
        raw_features=raw,
        classes=classes,
        positive_class=len(classes) - 1 if positive is None else classes.index(positive),
        attributes={
            name: np.unique(train.frame[name].astype(str).to_numpy(), return_inverse=True)[1]
            for name in filter(None, named)
        },
    )


def _encoded(encoding: Any, frame: Any) -> np.ndarray:
    """Encode the training rows, small where they are bits."""
    return encoding.transform(frame, np.uint8 if encoding.is_binary else np.float64)


def _weights(
    asked: Any, y: np.ndarray, classes: tuple[Any, ...], given: np.ndarray | None
) -> np.ndarray:
    """Weight of every row: its class weight times its own."""
    weights = np.ones(len(y)) if given is None else np.asarray(given, dtype=float)
    if asked is None:
        return weights
    counts = np.bincount(y, minlength=len(classes))
    if isinstance(asked, str):
        of_class = len(y) / (np.count_nonzero(counts) * np.maximum(counts, 1))
    else:
        by_text = {str(label): float(weight) for label, weight in asked.items()}
        of_class = np.array([by_text.get(str(label), 1.0) for label in classes])
    return weights * of_class[y]


def _unverified(
    statement: str, estimate: float | None = None, seconds: float = 0.0
) -> Verification:
    return Verification(
        Verdict.NOT_VERIFIED,
        statement,
        seconds=seconds,
        estimate=estimate if estimate is not None and math.isfinite(estimate) else None,
    )


def _estimated(seconds: float) -> str:
    """Say an estimate in a unit that can be read."""
    if math.isinf(seconds) or seconds > 100 * 24 * 3600:
        return "too large"
    for unit, name in ((86400.0, "days"), (3600.0, "hours"), (60.0, "minutes")):
        if seconds >= 2 * unit:
            return f"estimated {seconds / unit:.0f} {name}"
    return f"estimated {seconds:.2g} s" if seconds < 10 else f"estimated {seconds:.0f} s"
