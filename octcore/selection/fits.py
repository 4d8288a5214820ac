"""Trainings through joblib: here, in other processes or on a cluster.

Those of a search over settings, and several plans on the same rows, repeated on further splits.
"""

import contextlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent import futures
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
from joblib import Parallel, delayed, parallel_config

from octcore.data.dataset import Dataset
from octcore.data.tasks import task_of
from octcore.engines.base import Cancel
from octcore.errors import CancelledError, EngineError, OctError, SettingsError, TooLargeError
from octcore.parameters import IntRange, at_the_door
from octcore.solving.run import Run
from octcore.solving.settings import check_against_data, check_settings, class_weights
from octcore.solving.solve import solve
from octcore.tree import metrics
from octcore.tree.constraints import Constraints

Candidate = tuple[tuple[str, Any], ...]  # settings of the grid by name


@dataclass(frozen=True)
class Fit:
    """One training of one candidate."""

    candidate: Candidate
    outer: int
    inner: int
    """`outer`, `inner`: positions of the split; inner -1 is the final training of an outer
    split."""
    accuracy: float | None
    """On the validation rows, or on the test rows of a final training; None without rows."""
    train_accuracy: float  # on the rows it was trained with
    features: int  # distinct raw features used, summed over branch nodes
    leaves: int
    status: str
    gap: float | None
    seconds: float
    error: str = ""  # why the candidate could not be trained; empty when it could
    mean_cost: float | None = None
    """Where answers have costs: that of the rows that `accuracy` is about, which then counts those
    only that get a class; by the weights of the classes, as in the objective."""
    weighted_accuracy: float | None = None
    """Where classes have weights that the grid does not vary, and answers no costs: `accuracy` by
    these; "balanced" are those of the rows that are judged."""

    @property
    def score(self) -> float | None:
        """What candidates are chosen by: 1 - mean cost, weighted accuracy or accuracy."""
        if self.mean_cost is not None:
            return 1.0 - self.mean_cost
        return self.accuracy if self.weighted_accuracy is None else self.weighted_accuracy


Job = tuple[Candidate, int, int, Sequence[int], Sequence[int]]


@dataclass(eq=False)
class Runner:
    """Runs jobs through joblib, counts them, and stops when asked."""

    data: Dataset
    plans: Mapping[Candidate, Mapping[str, Any]]
    n_jobs: int
    backend: str | None
    on_fit: Callable[[Fit, int, int], None] | None
    cancel: Callable[[], bool] | None
    total: int
    done: int = 0

    def __call__(
        self, jobs: Sequence[Job], keep_runs: bool = False
    ) -> list[tuple[Fit, Run | None]]:
        """Train all of them, whatever ends first; raises `CancelledError` when asked to stop."""
        # What asks whether to stop cannot travel; where it need not, it ends a training early.
        stop = self.cancel if is_here(self.n_jobs, self.backend) else None
        calls = (
            delayed(fit_one)(self.data, self.plans[job[0]], job, keep_runs, stop) for job in jobs
        )
        results: dict[int, tuple[Fit, Run | None]] = {}
        for position, (fit, run) in in_parallel(calls, self.n_jobs, self.backend):
            if self.cancel is not None and self.cancel():
                raise CancelledError("The tuning was stopped; no choice was made.")
            results[position] = fit, run
            self.done += 1
            if self.on_fit is not None:
                self.on_fit(fit, self.done, self.total)
        return [results[position] for position in sorted(results)]


def is_here(n_jobs: int, backend: str | None) -> bool:
    """Whether calls are done by this very process, one after the other."""
    return n_jobs == 1 and backend is None


def _numbered(position: int, work: Callable[..., Any], given: Any, named: Any) -> tuple[int, Any]:
    """Do one of them; a module function, so it can travel."""
    return position, work(*given, **named)


def in_parallel(
    calls: Iterable[Any], n_jobs: int, backend: str | None
) -> Iterator[tuple[int, Any]]:
    """Run joblib's delayed calls; yields position and result of each when it is there.

    `n_jobs` at once, -1 for all that there is room for, and `backend` are those of `octcore.tune`.
    `SettingsError` if there is no such backend, or its library or cluster is missing; `EngineError`
    if a process was ended from outside, on a cluster the work of one call again and again.
    """
    if n_jobs == 0:
        raise SettingsError("BAD_OPTION", "n_jobs must be 1 or more, or -1.", "n_jobs")
    if is_here(n_jobs, backend):
        yield from (_numbered(k, *call) for k, call in enumerate(calls))
        return
    calls = (delayed(_numbered)(k, *call) for k, call in enumerate(calls))
    finished: Any
    with _backend(backend):
        if backend == "dask":
            finished = _on_cluster(calls)
        else:
            finished = Parallel(n_jobs=n_jobs, return_as="generator_unordered")(calls)
    try:
        yield from finished
    except (futures.BrokenExecutor, futures.CancelledError) as error:
        message = "A process that trained was ended from outside, perhaps for want of memory; "
        message += "start again with fewer at once."
        raise EngineError("WORKER_LOST", message) from error


def _on_cluster(calls: Iterable[Any]) -> Iterator[Any]:
    """Yield results of a Dask cluster; joblib's way waits for ever if a call ends its workers."""
    from distributed import KilledWorker, as_completed, get_client

    client = get_client()
    asked = [client.submit(work, *args, **named, pure=False) for work, args, named in calls]
    try:
        for future in as_completed(asked):
            yield future.result()
    except KilledWorker as error:
        raise futures.BrokenExecutor(str(error)) from error
    finally:
        client.cancel(asked)


def _backend(name: str | None) -> contextlib.AbstractContextManager[Any]:
    """Backend of joblib by name; what is around the call for None."""
    if name is None:
        return contextlib.nullcontext()
    try:
        return parallel_config(backend=name)
    except (ValueError, ImportError) as error:
        reason = " ".join(str(error).split())
        message = f'The backend {name!r} cannot be used: {reason} ("dask" needs the extra '
        message += "octcore[cluster] and a distributed.Client)."
        raise SettingsError("NO_BACKEND", message, "backend") from error


def fit_one(
    data: Dataset,
    plan: Mapping[str, Any],
    job: Job,
    keep_run: bool = False,
    cancel: Callable[[], bool] | None = None,
) -> tuple[Fit, Run | None]:
    """Train one candidate and judge it on the other rows; a module function, so it can travel."""
    fit_rows = job[3]
    try:
        run = solve(
            data.subset(np.array(fit_rows, dtype=np.int64)),
            **plan,
            cancel=cancel or Cancel(),  # an interrupt ends all fits, not this one
            verify=False,
        )
    except OctError as error:
        return _failed(job, "error", 0.0, str(error)), None
    fit = judged(run, data, job)
    return fit, run if keep_run and run.tree is not None else None


def judged(run: Run, data: Dataset, job: Job) -> Fit:
    """Judge a finished training on the other rows of its job."""
    candidate, outer, inner, _, check_rows = job
    if run.tree is None:
        reason = f"No tree: {run.stop_reason}."
        return _failed(job, run.status, run.timings["total"], reason)
    accuracy = mean_cost = weighted = None
    if check_rows:
        rest = data.subset(np.array(check_rows, dtype=np.int64))
        task = task_of(run.asked.costs, run.asked.refer, run.classes)
        answers = run.tree.predict_codes(run.tree.encoded(run.encoding, rest.frame))
        accuracy = run.accuracy_on(rest)
        asked, weights = Constraints.parse(run.constraints), None
        # Candidates that differ in weights have only the rows themselves in common.
        if asked.class_weight is not None and "class_weight" not in dict(candidate):
            weights = class_weights(asked, rest.codes, rest.classes)
        if run.asked.has_task:
            mean_cost = task.mean_cost(rest.codes, answers, weights)
        elif weights is not None:
            weighted = float(np.average(answers == rest.codes, weights=weights))
    # As the MARGOT paper counts them: at every branch node anew.
    features = sum(map(len, metrics.feature_usage(run.tree, run.encoding.groups).values()))
    scores = (accuracy, run.accuracy or 0.0, features, run.tree.n_leaves)
    ended = (run.status, run.gap, run.timings["total"])
    return Fit(
        candidate, outer, inner, *scores, *ended, mean_cost=mean_cost, weighted_accuracy=weighted
    )


def _failed(job: Job, status: str, seconds: float, reason: str) -> Fit:
    candidate, outer, inner = job[:3]
    return Fit(candidate, outer, inner, None, 0.0, 0, 0, status, None, seconds, reason)


@at_the_door
def repetitions(data: Dataset, plan: Mapping[str, Any], repeats: int) -> tuple[dict[str, Any], ...]:
    """Settings of every repetition of one training: its seed, and the seeds that follow.

    `SettingsError` if they do not fit the rows, or there is nothing to repeat: none are held out.
    """
    repeats = IntRange("repeats", 1, low=1).check(repeats)
    checked = check_against_data(check_settings(**plan), data)
    if repeats > 1 and not checked.test_size:
        message = "Repeating needs rows that are held out, which differ from split to split; give "
        message += "a test_size, such as 0.25."
        raise SettingsError("NOTHING_HELD_OUT", message, "test_size")
    return tuple({**plan, "seed": checked.seed + position} for position in range(repeats))


def compare(
    data: Dataset,
    plans: Sequence[Mapping[str, Any]],
    repeats: int = 1,
    n_jobs: int = 1,
    backend: str | None = None,
    on_run: Callable[[Run, int, int], None] | None = None,
    on_refused: Callable[[str, TooLargeError], None] | None = None,
    solver: Callable[..., Run] | None = None,
) -> tuple[tuple[Run, ...], ...]:
    """Train every plan on the same splits of the rows.

    Parameters
    ----------
    data : Dataset
        Rows with a target.
    plans : sequence of mapping
        Settings of `octcore.solve` of every training, such as ``{"formulation": "flow-oct"}``.
    repeats : int
        Splits into training and held-out rows; the first is that of the plan's own seed.  More than
        one needs a ``test_size`` in every plan.
    n_jobs, backend : object
        As in `octcore.tune`: trainings at once, and a backend of joblib.
    on_run : callable or None
        ``(run, done, total)`` after every training; called in the caller's thread.
    on_refused : callable or None
        ``(formulation, error)`` of every model that is too large, while the others go on.
    solver : callable or None
        What trains, with the arguments of `octcore.solve`; that by default.

    Returns
    -------
    tuple of tuple of Run
        The repetitions of every plan, in the order given, without those that were refused.

    Raises
    ------
    SettingsError, DataError
        Before the first training, for settings that cannot work.
    TooLargeError
        For a model that is too large, where `on_refused` is not given.
    """
    each = [repetitions(data, plan, repeats) for plan in plans]
    wanted = [settings for own in each for settings in own]
    calls = (delayed(_solve)(data, settings, solver) for settings in wanted)
    found: dict[int, Run | TooLargeError] = {}
    for position, run in in_parallel(calls, n_jobs, backend):
        found[position] = run
        if isinstance(run, TooLargeError):
            if on_refused is None:
                raise run
            on_refused(wanted[position]["formulation"], run)
        elif on_run is not None:
            on_run(run, len(found), len(wanted))
    runs = (found[position] for position in range(len(wanted)))
    return tuple(tuple(r for r in islice(runs, len(own)) if isinstance(r, Run)) for own in each)


def _solve(
    data: Dataset, settings: Mapping[str, Any], solver: Callable[..., Run] | None
) -> Run | TooLargeError:
    """Solve one of them, if its model fits; an interrupt ends all solves, not this one."""
    try:
        return (solver or solve)(data, **settings, cancel=Cancel())
    except TooLargeError as refused:
        return refused
