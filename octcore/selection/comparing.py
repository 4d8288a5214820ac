"""Several trainings on the same rows, each repeated on further splits; through joblib."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from joblib import delayed

from octcore.data.dataset import Dataset
from octcore.engines.base import Cancel
from octcore.errors import SettingsError
from octcore.selection.fits import in_parallel, numbered
from octcore.solving.run import Run
from octcore.solving.settings import check_against_data, check_settings
from octcore.solving.solve import solve


def repetitions(plan: Mapping[str, Any], repeats: int) -> tuple[dict[str, Any], ...]:
    """Settings of every repetition of one training: its seed, and the seeds that follow.

    `SettingsError` if there is nothing to repeat: no rows are held out.
    """
    if isinstance(repeats, bool) or not isinstance(repeats, int) or repeats < 1:
        raise SettingsError(
            "BAD_REPEATS", f"repeats must be a whole number from 1, not {repeats!r}.", "repeats"
        )
    checked = check_settings(**plan)
    if repeats > 1 and not checked.test_size:
        raise SettingsError(
            "NOTHING_HELD_OUT",
            "Repeating needs rows that are held out, which differ from split to split; give a "
            "test_size, such as 0.25.",
            "test_size",
        )
    return tuple({**plan, "seed": checked.seed + position} for position in range(repeats))


def compare(
    data: Dataset,
    plans: Sequence[Mapping[str, Any]],
    repeats: int = 1,
    n_jobs: int = 1,
    backend: str | None = None,
    on_run: Callable[[Run, int, int], None] | None = None,
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

    Returns
    -------
    tuple of tuple of Run
        The repetitions of every plan, in the order given.

    Raises
    ------
    SettingsError, DataError
        Before the first training, for settings that cannot work.
    """
    wanted = [settings for plan in plans for settings in repetitions(plan, repeats)]
    for settings in wanted:
        check_against_data(check_settings(**settings), data)
    calls = numbered(delayed(_solve)(data, settings) for settings in wanted)
    found: dict[int, Run] = {}
    for position, run in in_parallel(calls, n_jobs, backend):
        found[position] = run
        if on_run is not None:
            on_run(run, len(found), len(wanted))
    runs = [found[position] for position in range(len(wanted))]
    return tuple(tuple(runs[k : k + repeats]) for k in range(0, len(runs), repeats))


def _solve(data: Dataset, settings: Mapping[str, Any]) -> Run:
    """Solve one of them; an interrupt ends all solves, not this one."""
    return solve(data, **settings, cancel=Cancel())
