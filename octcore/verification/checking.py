"""Hold the claim of a run against what plain means derive."""

import functools
import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import psutil
from threadpoolctl import ThreadpoolController

from octcore.errors import SettingsError
from octcore.verification import value
from octcore.verification.base import (
    SECONDS,
    Guard,
    NotProvenError,
    Proven,
    Verdict,
    Verification,
    WrongError,
)
from octcore.verification.claim import Claim, Routed, broken_rules, encode, route
from octcore.verification.known import KNOWN, Known, unknown
from octcore.verification.stated import (
    SOLVERS,
    Stated,
    check_proven,
    check_sentences,
    check_stated,
)


def verify(
    run: Any,
    time_limit: float = 60.0,
    cancel: Callable[[], bool] | None = None,
    expected: float | None = None,
    memory_limit: float | None = None,
) -> Verification:
    """Derive again, independently, what a run claims.

    Parameters
    ----------
    run : Run
        With its training rows.
    time_limit : float
        Seconds of CPU; a check that is expected to take longer is not begun.
    cancel : callable or None
        Asked often; a true answer ends the check without a verdict.
    expected : float or None
        Longest estimate with which a check is begun; the time limit by default.
    memory_limit : float or None
        Bytes that the check may take beside the run; half of what is free by default.

    Returns
    -------
    Verification
        Confirmed, refuted, or not verified with the reason and, where there is one, the time that
        a check would take.
    """
    if not hasattr(run, "certificate"):
        message = f"run must be a Run, as octcore.solve returns it, but {type(run).__name__} came."
        raise SettingsError("WRONG_TYPE", message, "run")
    if run.certificate.verified is False:
        return run.certificate.verification  # its claim was withdrawn: there is nothing to check
    longest = time_limit if expected is None else expected
    most = psutil.virtual_memory().available / 2 if memory_limit is None else memory_limit
    guard = Guard(time_limit, cancel, longest, most)
    try:
        _refuse_incomplete(run)
        with _threadpools().limit(limits=1, user_api="blas"):
            found = check(run, claim_of(run, guard), guard)
    except WrongError as error:
        found = Verification(Verdict.REFUTED, f"refuted: {error}")
    except NotProvenError as error:
        found = _not_verified(error)
    except MemoryError:
        found = _not_verified(NotProvenError("memory did not suffice"))
    seconds = f"{guard.elapsed:.2g} s" if guard.elapsed >= 0.01 else "under 0.01 s"
    statement = found.statement.replace(SECONDS, seconds)
    return replace(found, statement=statement, seconds=guard.elapsed, estimate=guard.estimate)


_threadpools = functools.cache(ThreadpoolController)
"""Threads of numpy's products: more than one would not be seen by the limit on CPU time."""


def _refuse_incomplete(run: Any) -> None:
    """Refuse a run that is not whole, or that asks for something unknown."""
    if run.train is None:
        raise NotProvenError("the training rows are not at hand")
    of_data, source = run.settings.get("data") or {}, run.train.source.sha256
    if of_data.get("n_train", run.train.n_samples) != run.train.n_samples:
        raise NotProvenError(
            f"the run was trained on {of_data['n_train']} rows, here are {run.train.n_samples}"
        )
    if of_data.get("sha256", source) != source or (
        of_data.get("target", run.train.target_name) != run.train.target_name
    ):
        raise NotProvenError("the rows are of another file or target than the run")
    if of_data.get("weighted") and run.sample_weight is None:
        raise NotProvenError("the weights of the rows are not at hand")
    name = unknown(run.settings)
    if name is not None:
        raise NotProvenError(f"it cannot judge {name}")
    if not all(v is None or math.isfinite(v) for v in (run.objective, run.bound)):
        raise NotProvenError("the objective or the bound is no finite number")


def check(run: Any, claim: Claim, guard: Guard) -> Verification:
    """Check a run: its tree and all that is stated beside it, then its proof.

    `SECONDS` in the statement stands for the seconds.
    """
    known = KNOWN[claim.formulation]
    routed = None if claim.tree is None else _routed(claim)
    worth = None if routed is None else _worth(claim, known, routed, guard)
    stated = Stated(run, claim, known, routed, worth, guard)
    _check_bound(stated)
    check_stated(stated)
    check_sentences(stated)
    if claim.method == "heuristic":
        raise NotProvenError("there is nothing to verify, a heuristic claims no proof")
    if claim.bound is None and claim.status != "infeasible":
        raise NotProvenError("there is nothing to verify, no bound is claimed")
    if not known.proofs:
        raise NotProvenError(f"there is no independent check for {claim.formulation}")
    return _first_verdict(stated)


def _routed(claim: Claim) -> Routed:
    """Route the rows, if the tree is one for such rows."""
    columns = {j for split in claim.tree.splits.values() for j, _ in split.weights}
    labels = claim.tree.labels.values()
    n_columns, n_answers = claim.X.shape[1], claim.costs.shape[1]
    if not columns <= set(range(n_columns)) or not set(labels) <= set(range(n_answers)):
        raise WrongError("the tree tests columns or names classes that do not exist")
    return route(claim.tree, claim.X)


def _worth(claim: Claim, known: Known, routed: Routed, guard: Guard) -> float | None:
    """Objective of the claimed tree, which must be the one that is claimed; None if unknown."""
    broken = broken_rules(claim, routed, guard)
    if broken:
        raise WrongError(f"the tree breaks a side constraint: {broken[0]}")
    if known.worth is None:
        return None
    worth = known.worth(claim, routed)
    if claim.objective is None or abs(worth - claim.objective) > known.slack(claim, worth):
        claimed = "none" if claim.objective is None else f"{claim.objective:.9g}"
        raise WrongError(f"objective {claimed} is claimed, the tree is worth {worth:.9g}")
    return worth


def _check_bound(stated: Stated) -> None:
    """Hold objective and bound against each other."""
    claim, known = stated.claim, stated.known
    if claim.objective is not None and claim.bound is not None:
        apart = stated.excess(claim.bound, claim.objective)
        slack = known.slack(claim, claim.objective)
        if apart < -slack:
            message = f"the bound {claim.bound:.9g} is claimed, a tree of objective "
            message += f"{claim.objective:.9g} exists"
            raise WrongError(message)
        if claim.status == "optimal" and apart > max(slack, known.closed * abs(claim.objective)):
            raise WrongError(
                f"an optimum of {claim.objective:.9g} is claimed beside the bound {claim.bound:.9g}"
            )
    elif claim.status == "optimal":
        raise WrongError("an optimum is claimed without objective or bound")


def _first_verdict(stated: Stated) -> Verification:
    """Try the kinds of proof in turn, until one decides all that is stated."""
    decided, reason = None, NotProvenError("nothing was tried")
    for proof in stated.known.proofs:
        try:
            proven = proof(stated.claim, stated.guard)
            found = _judged(stated, proven)
        except NotProvenError as error:
            reason = error
            continue
        try:
            if found.verified:
                check_proven(stated, proven)
            return found
        except NotProvenError as error:  # another proof may tell what is stated beside the claim
            decided = decided or replace(found, statement=f"{found.statement}; {error}")
    return decided or _not_verified(reason)


def _judged(stated: Stated, proven: Proven) -> Verification:
    """Compare the claim with what is proven of all trees."""
    claim, known, worth = stated.claim, stated.known, stated.worth
    by, best = f" ({proven.method})", proven.bound
    if best is None:
        if claim.tree is not None:
            raise NotProvenError("the derivation finds no tree where the run has one")
        words = f"verified independently in {SECONDS}{by}"
        return Verification(Verdict.CONFIRMED, words, proven.method)
    slack = known.slack(claim, best)
    short = None if worth is None else stated.excess(best, worth)
    is_reached = proven.is_optimum or (short is not None and short <= slack)

    def verdict(status: Verdict, statement: str) -> Verification:
        return Verification(status, statement, proven.method, best if is_reached else None)

    if short is not None and short < -slack:
        message = f"the tree is worth {worth:.9g}, better than the optimum {best:.9g} as "
        message += f"derived{by}; please report this"
        raise NotProvenError(message)
    if claim.bound is None:  # the claim is that there is no tree
        if not is_reached:
            raise NotProvenError("that there is no tree is not proven")
        return verdict(Verdict.REFUTED, f"refuted: a tree of objective {best:.9g} exists{by}")
    beyond = stated.excess(best, claim.bound)
    if beyond > slack:
        what = f"the bound {claim.bound:.9g} is claimed"
        if not is_reached:
            raise NotProvenError(f"{what}, {best:.9g} is proven{by}")
        is_of_solver = known.slack is value.slack and stated.run.settings["engine"] in SOLVERS
        if is_of_solver and beyond <= value.OF_A_SOLVER / value.TOLERANCE * slack:
            message = f"{best:.12g} is proven{by}, by {beyond:.1g} better than the claimed bound, "
            message += "which is within the tolerance of the solver"
            raise NotProvenError(message)
        return verdict(Verdict.REFUTED, f"refuted: {what}, the optimum is {best:.9g}{by}")
    if claim.status != "optimal":
        what = f"the optimum is {best:.9g}" if is_reached else f"{best:.9g} is proven"
        both = f"objective and bound verified independently in {SECONDS}"
        return verdict(Verdict.CONFIRMED, f"{both}: {what}{by}")
    if short is not None and short > max(known.rounding(claim, best), known.closed * abs(best)):
        message = f"{best:.12g} is proven{by}, by {short:.1g} better than this tree, which is "
        message += "within the tolerance of the search"
        raise NotProvenError(message)
    return verdict(Verdict.CONFIRMED, f"verified independently in {SECONDS}{by}")


def claim_of(run: Any, guard: Guard) -> Claim:
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
        X=encode(run.encoding, train.frame, guard),
        y=np.asarray(train.y),
        weights=_weights(limits.get("class_weight"), train.y, classes, run.sample_weight),
        n_classes=len(classes),
        table=_costs(settings, classes),
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
        }
        | {name: _ranks(train, name) for name in limits.get("monotone") or {}},
        values=run.extras,
        prove=run.steps_of_proof,
    )


def _ranks(train: Any, name: str) -> np.ndarray:
    """Rank of every row's value in an ordered column."""
    values = train.frame[name].to_numpy()
    order = next(column.levels for column in train.columns if column.name == name)
    if values.dtype.kind not in "fiub":
        values = np.array([order.index(value) for value in values])
    return np.unique(values, return_inverse=True)[1]


def _costs(settings: Mapping[str, Any], classes: tuple[Any, ...]) -> np.ndarray:
    """Cost of every answer by true class: errors, but for what the settings say."""
    place = {str(label): k for k, label in enumerate(classes)}
    order = np.arange(len(classes))
    costs = (order[:, None] != order).astype(float)
    given = settings.get("costs") or {}
    if given == "ordinal":
        costs = np.abs(order[:, None] - order).astype(float)
    else:
        for true, row in given.items():
            for answer, cost in row.items():
                costs[place[str(true)], place[str(answer)]] = cost
    if settings.get("refer") is not None:
        costs = np.column_stack([costs, np.full(len(classes), float(settings["refer"]))])
    return costs


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


def _not_verified(error: NotProvenError) -> Verification:
    colon = "" if str(error).startswith("(") else ":"
    return Verification(Verdict.NOT_VERIFIED, f"not verified{colon} {error}")
