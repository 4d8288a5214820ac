"""Model selection as the pages see it: values to try, how much work that is, and what came out."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd

from dashboard.server.job_view import JobView
from octcore.data.dataset import Dataset
from octcore.encoding.fit import encoding_keys
from octcore.errors import SettingsError, refusal
from octcore.formulations.base import FormulationInfo
from octcore.parameters import Flag, FloatRange, IntRange, Parameter
from octcore.plotting import text
from octcore.selection.protocols import get_protocol
from octcore.selection.tuning import Candidate, Fit, TuneResult, choose, expand_grid, settings_with
from octcore.solving.settings import DEPTH, ENCODING
from octcore.tree.constraints import SIDE_CONSTRAINTS

MOST_CANDIDATES = 400
TASK = "tune"
CHOICES = {
    "accuracy": "mean accuracy",
    "features": "fewest features",
    "one-error": "one standard error",
}
START_SECONDS = 60.0  # kernels may have to be compiled first


@dataclass(frozen=True)
class Plan:
    """What to try and how to judge it."""

    formulation: str
    grid: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    protocol: str = "k-fold"  # this and `choice` as in `octcore.tune`
    choice: str = "accuracy"
    depth: int = 2
    encoding: str = "auto"
    params: Mapping[str, Any] = field(default_factory=dict)  # what the grid does not vary
    time_limit: float = 10.0  # seconds of every training
    seed: int = 0

    @property
    def settings(self) -> dict[str, Any]:
        """Keywords of `octcore.tune`."""
        return vars(self) | {"grid": {name: list(values) for name, values in self.grid.items()}}


@dataclass(frozen=True)
class Work:
    """How much a plan is: candidates, validation trainings of each, and final trainings."""

    candidates: int
    folds: int
    finals: int
    time_limit: float

    @property
    def trainings(self) -> int:
        """Trainings altogether."""
        return self.candidates * self.folds + self.finals

    @property
    def longest(self) -> float:
        """Seconds if every training takes its whole limit."""
        return self.trainings * self.time_limit


def work_of(plan: Plan, data: Dataset) -> Work:
    """Count the trainings of a plan.

    Raises `OctError` if it has no or too many candidates, or the rows cannot be split so.
    """
    candidates = np.prod([*map(len, plan.grid.values())], dtype=object)  # before they are made
    if candidates > MOST_CANDIDATES:
        words = f"These values make {candidates:,} candidates; take at most {MOST_CANDIDATES}."
        raise SettingsError("TOO_MANY_CANDIDATES", words, "grid")
    splits = get_protocol(plan.protocol).make(data.codes, plan.seed)
    folds = sum(len(split.inner) for split in splits)
    return Work(len(expand_grid(plan.grid)), folds, len(splits), plan.time_limit)


def axes_of(info: FormulationInfo) -> tuple[Parameter, ...]:
    """What can be varied, as declarations: depth, encoding, hyperparameters, size limits."""
    sizes = (p for p in SIDE_CONSTRAINTS if isinstance(p, IntRange) and p.name in info.constraints)
    own = (p for p in info.hyperparameters if p.name != "exact_root_values")
    return (replace(DEPTH, high=info.max_depth), *own, ENCODING, *sizes)


def first_axes(info: FormulationInfo) -> list[str]:
    """What is varied at first: what is declared, or the depth and the first number there is."""
    if info.grid:
        return list(info.grid)
    numbers = [p.name for p in info.hyperparameters if isinstance(p, FloatRange) and not p.advanced]
    return ["depth", *numbers[:1]]


def suggested(axis: Parameter, info: FormulationInfo) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Values to offer for a setting, and those that are chosen at first; as texts."""
    options, first = _offered(axis, info)
    if axis.name in info.grid:
        first = tuple(map(input_text, info.grid[axis.name]))
    return tuple(dict.fromkeys((*options, *first))), first


def input_text(value: Any) -> str:
    """Write a value as the form offers it; `values_of` reads it back."""
    return str(value).lower() if isinstance(value, bool) else text.value(value)


def _offered(axis: Parameter, info: FormulationInfo) -> tuple[tuple[str, ...], tuple[str, ...]]:
    if axis.name == "encoding":
        keys = [k for k in encoding_keys() if not info.needs_binary_features or k != "scaled"]
        return tuple(keys), tuple(keys[:2])
    if isinstance(axis, Flag):
        return ("false", "true"), ("false", "true")
    if isinstance(axis, IntRange):
        return _whole_numbers(axis)
    if isinstance(axis, FloatRange):
        return _numbers(axis)
    options = tuple(getattr(axis, "options", ()))
    return options, options


def _whole_numbers(axis: IntRange) -> tuple[tuple[str, ...], tuple[str, ...]]:
    first = max(1, axis.low) if axis.default is None else int(axis.default)  # type: ignore[arg-type]
    scale = (1, 2, 5, 10, 20, 50) if axis.name == "min_samples_leaf" else range(1, 9)
    options = [v for v in sorted({axis.low, *scale, first}) if axis.high is None or v <= axis.high]
    options = [v for v in options if v >= axis.low]
    middle = options.index(first)
    chosen = options[max(0, middle - 1) : max(0, middle - 1) + 3]
    return tuple(map(str, options)), tuple(map(str, chosen))


def _numbers(axis: FloatRange) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Powers of ten around the default, or a spread of shares, as far as they are allowed."""
    default = 0.0 if axis.default is None else float(axis.default)  # type: ignore[arg-type]
    if axis.high <= 1.0 and not axis.log:
        numbers = {0.0, 0.001, 0.005, 0.01, 0.02, 0.05, 0.1, default}
        wanted = {0.0, 0.01, 0.05} | ({default} if default else set())
    else:
        base = default or 1.0
        numbers = {base * 10.0**power for power in range(-3, 4)} | {default}
        wanted = {base / 10, base, base * 10}
    allowed = sorted(value for value in numbers if not refusal(axis.check, value))
    chosen = [value for value in allowed if value in wanted] or allowed[:1]
    return tuple(f"{v:g}" for v in allowed), tuple(f"{v:g}" for v in chosen)


def values_of(axis: Parameter, texts: Sequence[str]) -> tuple[Any, ...]:
    """Read the chosen values. Raises `SettingsError` if one is not allowed, or there is none."""
    if not texts:
        raise SettingsError(
            "EMPTY_GRID", f"Choose at least one value for {axis.name.replace('_', ' ')}.", axis.name
        )
    return tuple(dict.fromkeys(axis.parse(text) for text in texts))


@dataclass(frozen=True, eq=False)
class Standing:
    """A model selection at one moment."""

    job: JobView  # the task; its settings are keywords of `octcore.tune`
    result: TuneResult  # all trainings so far; `chosen` is empty until it is done

    @property
    def total(self) -> int:
        """Trainings altogether; 0 until the first one is done."""
        return int(self.job.parts[-1]["total"]) if self.job.parts else 0

    @property
    def fits(self) -> tuple[Fit, ...]:
        """Trainings that are done."""
        return self.result.fits

    @property
    def best(self) -> Candidate | None:
        """The choice; before the end the best on the splits that all were judged on."""
        if self.result.chosen:
            chosen = self.result.chosen
            means = {c: self.mean(c) or 0.0 for c in chosen}
            return max(means, key=lambda c: (chosen.count(c), means[c]))
        return best_so_far(self.fits, self.result.choice)

    def mean(self, candidate: Candidate) -> float | None:
        """Mean validation accuracy of a candidate."""
        scores = [f.accuracy for f in self.fits if f.candidate == candidate and f.inner >= 0]
        known = [score for score in scores if score is not None]
        return float(np.mean(known)) if known else None

    def table(self) -> pd.DataFrame:
        """One line per candidate that was judged at least once."""
        if not any(fit.inner >= 0 for fit in self.fits):
            return pd.DataFrame()
        return self.result.table()

    def solve_settings(self, candidate: Candidate) -> dict[str, Any]:
        """Keywords of `octcore.solve` with a candidate in its place."""
        given = self.job.settings
        fixed = {k: given[k] for k in ("formulation", "depth", "encoding", "params") if k in given}
        settings = settings_with(fixed, candidate)
        settings["time_limit"] = max(60.0, float(given["time_limit"]))
        return {name: value for name, value in settings.items() if value != {}}


def best_so_far(fits: Sequence[Fit], choice: str) -> Candidate | None:
    """Choose on the splits that judged most candidates; None when none did."""
    judged = [fit for fit in fits if fit.inner >= 0]
    counts = Counter((fit.outer, fit.inner) for fit in judged)
    most = max(counts.values(), default=0)
    fair = [fit for fit in judged if counts[fit.outer, fit.inner] == most]
    try:
        return choose(fair, choice)
    except SettingsError:
        return None


def standing_of(view: JobView) -> Standing:
    """Read how a task of the supervisor stands."""
    fits = tuple(
        Fit(**{**part["fit"], "candidate": tuple(part["fit"]["candidate"].items())})
        for part in view.parts
        if "fit" in part
    )
    told = () if view.result is None else view.result["chosen"]
    chosen = tuple(tuple(candidate.items()) for candidate in told)
    key, protocol, choice = (str(view.settings[n]) for n in ("formulation", "protocol", "choice"))
    seed = int(view.settings.get("seed", 0))
    return Standing(view, TuneResult(key, protocol, choice, fits, chosen, (), (), seed))
