"""Choosing hyperparameters by cross-validation, for any formulation, through joblib."""

import itertools
from collections.abc import Callable, Mapping, Sequence, Sized
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import pandas as pd

from octcore.data.dataset import Dataset
from octcore.data.serial import jsonable
from octcore.errors import SettingsError
from octcore.formulations.base import get_formulation
from octcore.parameters import unknown_name
from octcore.selection.fits import Candidate, Fit, Runner
from octcore.selection.protocols import OuterSplit, get_protocol
from octcore.solving.run import Run
from octcore.solving.settings import check_against_data, check_settings, class_weights
from octcore.tree.constraints import Constraints

SCORE_DIGITS = 12  # of a mean over folds: their order must not part candidates that are as good
CHOICES = ("accuracy", "features", "one-error")
NEAR_BEST = 0.975
"""The feature-driven choice keeps candidates within this share of the best accuracy (MARGOT)."""


@dataclass(frozen=True, eq=False)
class TuneResult:
    """All fits, the choice in every outer split, and the final runs."""

    formulation: str
    protocol: str
    choice: str
    fits: tuple[Fit, ...]
    chosen: tuple[Candidate, ...]
    runs: tuple[Run, ...]  # the final training of every outer split
    splits: tuple[OuterSplit, ...]  # the rows, so that others can repeat it
    seed: int

    @property
    def test_accuracies(self) -> tuple[float, ...]:
        """Test accuracy of every outer split; empty when the protocol keeps no test rows."""
        finals = (fit for fit in self.fits if fit.inner < 0)
        return tuple(fit.accuracy for fit in finals if fit.accuracy is not None)

    def table(self) -> pd.DataFrame:
        """One line per candidate: validation accuracy over all splits, features, time."""
        lines = []
        for candidate in dict.fromkeys(fit.candidate for fit in self.fits):
            mine = [f for f in self.fits if f.candidate == candidate and f.inner >= 0]
            trained = [f for f in mine if not f.error]
            scores = [f.accuracy for f in mine if f.accuracy is not None]
            further = {
                name.replace("_", " "): [getattr(f, name) for f in trained]
                for name in ("mean_cost", "weighted_accuracy")
            }
            lines.append(
                {
                    **dict(candidate),
                    "accuracy": float(np.mean(scores)) if scores else None,
                    "spread": float(np.std(scores)) if scores else None,
                    **{n: float(np.mean(v)) for n, v in further.items() if v and None not in v},
                    "features": float(np.mean([f.features for f in trained])) if trained else None,
                    "leaves": float(np.mean([f.leaves for f in trained])) if trained else None,
                    "proven": sum(f.status == "optimal" for f in mine),
                    "fits": len(mine),
                    "seconds": float(np.sum([f.seconds for f in mine])),
                    "chosen": sum(c == candidate for c in self.chosen),
                    "error": next((f.error for f in mine if f.error), ""),
                }
            )
        return pd.DataFrame(lines)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        record = {
            "fits": [{**vars(fit), "candidate": dict(fit.candidate)} for fit in self.fits],
            "chosen": [dict(candidate) for candidate in self.chosen],
            "test_accuracies": self.test_accuracies,
            "runs": [run.to_dict() for run in self.runs],
            "splits": [vars(split) for split in self.splits],
        }
        return jsonable({"format": "octcore-tune", "version": 1, **vars(self), **record})


def tune(
    data: Dataset,
    formulation: str,
    grid: Mapping[str, Sequence[Any]] | None = None,
    protocol: str = "k-fold",
    choice: str | None = None,
    depth: int = 2,
    encoding: str = "auto",
    params: Mapping[str, Any] | None = None,
    constraints: Mapping[str, Any] | None = None,
    engine: str = "auto",
    time_limit: float = 60.0,
    seed: int = 0,
    n_jobs: int = 1,
    backend: str | None = None,
    on_fit: Callable[[Fit, int, int], None] | None = None,
    cancel: Callable[[], bool] | None = None,
    costs: Mapping[Any, Mapping[Any, float]] | str | None = None,
    refer: float | None = None,
) -> TuneResult:
    """Choose hyperparameters by a protocol of the papers.

    Parameters
    ----------
    data : Dataset
        Rows with a target.
    formulation : str
        Key of a formulation.
    grid : mapping of str to sequence, or None
        Values by name: hyperparameters of the formulation, ``"depth"``, ``"encoding"`` or side
        constraints.  None for the grid that the formulation declares.
    protocol : str
        ``"k-fold"`` (``"10-fold"``, …), ``"repeated"``, ``"nested"``, ``"75/25"`` or ``"80/20"``.
    choice : str or None
        ``"accuracy"``; ``"features"``, the fewest features within 97.5 % of the best accuracy; or
        ``"one-error"``, the fewest features within a standard error of the best accuracy.  None
        for the one that the formulation declares, mostly accuracy.
    depth, encoding, params, constraints, engine, seed : object
        What the grid does not vary, as in `octcore.solve`; with ``class_weight`` candidates are
        chosen by the accuracy with these weights.
    time_limit : float
        Seconds of every single training.
    n_jobs : int
        Trainings at once; -1 for as many as there are cores, or workers of a cluster.
    backend : str or None
        A backend of joblib: ``"loky"`` for processes of this machine, ``"dask"`` for the cluster of
        the `distributed.Client` made last.  None takes processes of this machine, or the backend of
        a `joblib.parallel_config` around the call; with ``n_jobs=1`` it trains right here.
    on_fit : callable or None
        ``(fit, done, total)`` after every training; called in the caller's thread.
    cancel : callable or None
        Asked after every training, and during it where it runs right here; a true answer ends the
        search.
    costs, refer
        As in `octcore.solve`; candidates are then chosen by mean cost instead of accuracy.

    Raises
    ------
    SettingsError, DataError
        Before the first training, for settings that cannot work.
    CancelledError
        If it was stopped.
    """
    fixed = {
        "formulation": formulation, "depth": depth, "encoding": encoding, "params": params,
        "constraints": constraints, "engine": engine, "time_limit": time_limit, "seed": seed,
        "costs": costs, "refer": refer,
    }  # fmt: skip
    plans, choice = checked_plans(data, fixed, grid, choice)
    splits = get_protocol(protocol).make(data.codes, seed)
    asked = Constraints.parse(constraints or {})
    for rows in (r for s in splits for r in (*(pair[1] for pair in s.inner), s.test) if r):
        class_weights(asked, data.codes[list(rows)], data.classes)
    total = count_trainings(splits, plans)
    runner = Runner(data, plans, n_jobs, backend, on_fit, cancel, total)
    jobs = [
        (candidate, o, i, fit_rows, check_rows)
        for o, outer in enumerate(splits)
        for i, (fit_rows, check_rows) in enumerate(outer.inner)
        for candidate in plans
    ]
    fits = [fit for fit, _ in runner(jobs)]
    chosen = tuple(choose([f for f in fits if f.outer == o], choice) for o in range(len(splits)))
    finals = runner(
        [(c, o, -1, splits[o].train, splits[o].test) for o, c in enumerate(chosen)], keep_runs=True
    )
    fits += [fit for fit, _ in finals]
    runs = tuple(run for _, run in finals if run is not None)
    return TuneResult(formulation, protocol, choice, tuple(fits), chosen, runs, splits, seed)


def checked_plans(
    data: Dataset,
    fixed: Mapping[str, Any],
    grid: Mapping[str, Sequence[Any]] | None = None,
    choice: str | None = None,
) -> tuple[dict[Candidate, dict[str, Any]], str]:
    """Settings of every candidate, and the choice; what is raised is that of `tune`."""
    formulation = fixed["formulation"]
    if choice is None:
        choice = get_formulation(formulation).info.choice
    if choice not in CHOICES:
        raise unknown_name("UNKNOWN_CHOICE", "choice", choice, CHOICES, "tune")
    candidates = expand_grid(declared_grid(formulation) if grid is None else grid)
    plans = {candidate: settings_with(fixed, candidate) for candidate in candidates}
    for plan in plans.values():
        check_against_data(check_settings(**plan), data)
    return plans, choice


def declared_grid(formulation: str) -> Mapping[str, Sequence[Any]]:
    """What a formulation declares that is tried; `SettingsError` if it declares nothing."""
    grid = get_formulation(formulation).info.grid
    if not grid:
        message = f"{formulation} has no grid of its own; name one."
        raise SettingsError("EMPTY_GRID", message, "grid")
    return grid


def expand_grid(grid: Mapping[str, Sequence[Any]]) -> tuple[Candidate, ...]:
    """All combinations of the values, in the order given; `SettingsError` if a name has none."""
    for name, values in grid.items():
        if isinstance(values, (str, bytes)) or not isinstance(values, Sequence) or not values:
            message = f"The grid needs a list of values for {name}, not {values!r}."
            raise SettingsError("EMPTY_GRID", message, name)
    return tuple(
        tuple(zip(grid, values, strict=True)) for values in itertools.product(*grid.values())
    )


def count_trainings(splits: Sequence[OuterSplit], candidates: Sized) -> int:
    """Trainings of a search, the final ones included."""
    return sum(len(outer.inner) for outer in splits) * len(candidates) + len(splits)


def settings_with(fixed: Mapping[str, Any], candidate: Candidate) -> dict[str, Any]:
    """Settings of one candidate: every name of the grid goes where it belongs."""
    nested = {name: dict(fixed.get(name) or {}) for name in ("params", "constraints")}
    plan = {**fixed, **nested}
    known = {p.name for p in get_formulation(fixed["formulation"]).info.hyperparameters}
    limits = {f.name for f in fields(Constraints)}
    for name, value in candidate:
        if name in known:
            plan["params"][name] = value
        elif name in limits:
            plan["constraints"][name] = value
        elif name in {"depth", "encoding"}:
            plan[name] = value
        else:
            names = sorted(known | limits | {"depth", "encoding"})
            raise unknown_name("UNKNOWN_PARAMETER", "setting", name, names, fixed["formulation"])
    return plan


def choose(fits: Sequence[Fit], choice: str) -> Candidate:
    """Pick the winner of one outer split.

    By accuracy: best mean validation accuracy, by the weights of the classes where they are asked
    for, or least mean cost where answers have costs, first in the grid on ties.  By features: among
    the candidates within `NEAR_BEST` of the best, the fewest features, then the best accuracy.  By
    one error: the same among those within a standard error of the best, over its folds.
    `SettingsError` if no candidate could be trained.
    """
    scores: dict[Candidate, tuple[float, float]] = {}
    errors: dict[Candidate, float] = {}
    for candidate in dict.fromkeys(fit.candidate for fit in fits):
        mine = [fit for fit in fits if fit.candidate == candidate]
        if any(fit.error for fit in mine):
            continue
        found = [fit.score for fit in mine if fit.score is not None]
        mean = round(float(np.mean(found)), SCORE_DIGITS)
        scores[candidate] = (mean, float(np.mean([fit.features for fit in mine])))
        errors[candidate] = float(np.std(found) / np.sqrt(max(1, len(found) - 1)))
    if not scores:
        failed = [fit for fit in fits if fit.error]
        if failed and all(fit.status == "infeasible" for fit in failed):
            message = "No candidate has a tree on all splits that keeps the constraints; relax one."
            raise SettingsError("NO_TREE", message, "constraints")
        reason = failed[0].error if failed else "no fit"
        raise SettingsError("NOTHING_TRAINED", f"No candidate could be trained: {reason}", "grid")
    winner = max(scores, key=lambda c: scores[c][0])
    if choice == "accuracy":
        return winner
    best = scores[winner][0]
    # Costs may be so large that the best is below 0: then a share of it is above it.
    below = (1.0 - NEAR_BEST) * abs(best) if choice == "features" else errors[winner]
    least = best - below
    near = {c: s for c, s in scores.items() if round(s[0] - least, SCORE_DIGITS - 1) >= 0}
    return min(near, key=lambda c: (near[c][1], -near[c][0]))
