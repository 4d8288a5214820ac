"""What a user asks for in one solve, checked in one place before anything is built."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from octcore.data.dataset import Dataset
from octcore.data.findings import few
from octcore.data.numbers import FEW_NUMBERS
from octcore.data.tasks import COSTS, REFER, TASK
from octcore.encoding.fit import parse_encoding_key
from octcore.errors import SettingsError
from octcore.formulations.base import (
    COMMON_OBJECTIVE,
    FormulationInfo,
    get_formulation,
    list_formulations,
)
from octcore.parameters import Choice, FloatRange, IntRange, Key, Parameter, at_the_door, check_all
from octcore.program import Capability
from octcore.tree.constraints import FAIRNESS, Constraints

AUTO = "auto"
FORMULATION = Key("formulation", "threshold-search", help="What is optimised, and how.")
ENCODING = Key(
    "encoding",
    AUTO,
    help="How raw columns become what splits may test. QT-q: q-1 thresholds at quantiles; "
    f"QB-q: q buckets (both: all thresholds of a column of at most {FEW_NUMBERS} numbers); "
    "class-change: between neighbours of different class; scaled: [0, 1]; auto: what the "
    "formulation needs.",
)
DEPTH = IntRange(
    "depth",
    2,
    help="Largest number of splits on a path from the root to a leaf. The model doubles with "
    "every level.",
    low=1,
    label="Depth",
)
ENGINE = Key(
    "engine", AUTO, help="What solves the program; auto: the first that fits the formulation."
)
TIME_LIMIT = FloatRange(
    "time_limit",
    60.0,
    help="Seconds from the start of encoding, building the model included.",
    unit="s",
    low=0.0,
    low_open=True,
    high=1e6,
)
TEST_SIZE = FloatRange(
    "test_size",
    0.0,
    help="Share of the rows held out for testing, stratified by class.",
    low=0.0,
    high=1.0,
    high_open=True,
    label="Held out for testing",
)
SEED = IntRange("seed", 0, help="Seed of everything random.", low=0, high=2**31 - 1)
SOLVER: tuple[Parameter, ...] = (
    FloatRange(
        "gap", 0.0, help="Relative gap at which the solve may stop.", low=0.0, high=1.0, label="Gap"
    ),
    IntRange(
        "node_limit",
        help="Largest number of branch-and-bound nodes.",
        low=1,
        label="Most branch-and-bound nodes",
    ),
    IntRange("threads", 1, help="Threads of the solver; 1 is reproducible.", low=1, high=256),
    SEED,
    Choice(
        "warm_start",
        AUTO,
        help="'auto' starts from a heuristic tree; 'none' gives the solver no start.",
        options=(AUTO, "none"),
    ),
)
"""How an engine goes about it; forms fold these away."""

GENERAL: tuple[Parameter, ...] = (
    FORMULATION, ENCODING, DEPTH, *TASK, ENGINE, TIME_LIMIT, *SOLVER, TEST_SIZE,
)  # fmt: skip
"""Settings that every formulation has."""

CLASSES = Key(
    "classes",
    help="For a formulation for two classes: 'one-vs-rest' trains one tree per class, the label "
    "of a class trains one tree for that class against the rest.",
)
ONE_VS_REST = "one-vs-rest"
SELECT_ROWS = Choice(
    "select_rows",
    help="Train on the rows that stand for the others and judge on all (hyperplanes only). hull: "
    "corners of the clusters; balanced: few points whose hull holds many.",
    options=("hull", "balanced"),
    label="Keep",
)
SELECT_ROUNDS = IntRange(
    "select_rounds", 1, help="How often rows are selected, again by the last tree.", low=1
)
RETIRED = frozenset({"pair_fixing"})
"""Hyperparameters that stored runs may name: how a search went about it, no tree was worth more."""
ROWS: tuple[Parameter, ...] = (CLASSES, SELECT_ROWS, SELECT_ROUNDS)
"""Which rows and classes a solve is given; what they name happens before `octcore.solve`."""


@dataclass(frozen=True)
class Settings:
    """Checked settings of one solve; `to_dict` is what is stored with a run."""

    formulation: str
    encoding: str
    depth: int
    costs: Mapping[str, Mapping[str, float]] | str | None
    refer: float | None
    params: Mapping[str, Any]
    constraints: Constraints
    engine: str
    time_limit: float
    gap: float
    node_limit: int | None
    threads: int
    seed: int
    warm_start: str
    test_size: float

    def to_dict(self) -> dict[str, Any]:
        """Return plain data; `check_settings(**record)` reads it back."""
        return vars(self) | {"params": dict(self.params), "constraints": self.constraints.to_dict()}


@dataclass(frozen=True)
class Asked:
    """Plain settings of a solve read with their types; defaults fill gaps, nothing is checked."""

    formulation: str
    encoding: str
    depth: int
    time_limit: float
    test_size: float
    seed: int
    params: Mapping[str, Any]
    constraints: Mapping[str, Any]
    costs: Mapping[str, Mapping[str, float]] | str | None
    refer: float | None

    @classmethod
    def of(cls, settings: Mapping[str, Any]) -> "Asked":
        """Read keywords of `octcore.solve`, or what is stored of them with a run."""

        def value(parameter: Parameter) -> Any:
            found = settings.get(parameter.name)
            return parameter.default if found is None else found

        what = str(value(FORMULATION)), str(value(ENCODING)), int(value(DEPTH))
        how = float(value(TIME_LIMIT)), float(value(TEST_SIZE)), int(value(SEED))
        given = dict(settings.get("params") or {}), dict(settings.get("constraints") or {})
        return cls(*what, *how, *given, value(COSTS), value(REFER))

    @property
    def has_task(self) -> bool:
        """Whether answers have costs, or may be a person's."""
        return self.costs is not None or self.refer is not None

    @property
    def info(self) -> FormulationInfo:
        """Declaration of the formulation."""
        return get_formulation(self.formulation).info

    @property
    def chosen_encoding(self) -> str:
        """Key of the encoding that is meant; that of the formulation where it was left to it."""
        return self.info.default_encoding if self.encoding == AUTO else self.encoding


def without_retired(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Settings as they are read from a store or a link, without hyperparameters that are `RETIRED`.

    Who gives such a one to a new solve is told that there is none.
    """
    params = settings.get("params")
    if not isinstance(params, Mapping) or not RETIRED & set(params):
        return dict(settings)
    return {**settings, "params": {k: v for k, v in params.items() if k not in RETIRED}}


@at_the_door
def check_settings(
    formulation: str = str(FORMULATION.default),
    params: Mapping[str, Any] | None = None,
    constraints: Mapping[str, Any] | Constraints | None = None,
    **general: Any,
) -> Settings:
    """Check what can be checked without data; `SettingsError` is about the first that is wrong."""
    info = get_formulation(formulation).info
    given = {"formulation": formulation, **general}
    checked: dict[str, Any] = check_all(GENERAL, given, "octcore.solve")
    depth, encoding = checked["depth"], checked["encoding"]
    if depth > info.max_depth:
        message = f"A tree of depth {depth} has up to 2^{depth} leaves; {info.named} is offered "
        message += f"up to depth {info.max_depth}, choose a smaller depth."
        raise SettingsError("DEPTH_TOO_LARGE", message, "depth")
    if encoding == AUTO:
        checked["encoding"] = info.default_encoding
    parse_encoding_key(checked["encoding"])
    if params and params.get("leaf_penalty") is not None and params.get("split_weight") is not None:
        message = f"leaf_penalty = {params['leaf_penalty']} and split_weight = "
        message += f"{params['split_weight']} were both given; give one of them."
        raise SettingsError("TWO_REGULARISERS", message, "split_weight")
    parsed = Constraints.parse(constraints)
    for name in sorted(parsed.active - info.constraints):
        able = _able(lambda other, name=name: name in other.constraints)
        words = f"{able} can." if able else "no formulation can yet."
        message = f"{info.named} cannot express {name}; {words}"
        raise SettingsError("CONSTRAINT_NOT_EXPRESSIBLE", message, name)
    _check_task(checked, parsed, info)
    if checked["engine"] not in (AUTO, *info.engines):
        message = f"{info.named} does not run on engine {checked['engine']!r}; use "
        message += f"{' or '.join(info.engines)}."
        raise SettingsError("ENGINE_DOES_NOT_FIT", message, "engine")
    own = check_all(info.hyperparameters, params or {}, info.key)
    return Settings(params=own, constraints=parsed, **checked)


def question(settings: Mapping[str, Any]) -> dict[str, Any]:
    """What is asked, whoever answers it: on the same rows, equal questions have one optimum.

    `settings` are keywords of `octcore.solve`, or what is stored of them with a run.
    """
    checked = check_settings(**{k: v for k, v in settings.items() if k != "data"})
    info, record = get_formulation(checked.formulation).info, checked.to_dict()
    names = ("encoding", "depth", "constraints", "test_size", *(p.name for p in TASK))
    kept = {name: record[name] for name in names}
    kept["seed"] = checked.seed if checked.test_size else None
    if info.objective == COMMON_OBJECTIVE and info.objective_with is None:
        prices = {n: record["params"].get(n) for n in ("leaf_penalty", "split_weight")}
        return kept | {"objective": COMMON_OBJECTIVE, **prices}
    return kept | {"formulation": info.key, **record["params"]}


def _able(can: Callable[[FormulationInfo], bool]) -> str:
    """Name formulations that can do something, the default first; empty if there is none."""
    able = sorted(filter(can, list_formulations()), key=lambda f: f.key != FORMULATION.default)
    return few([info.named for info in able])


def _check_task(
    checked: Mapping[str, Any], constraints: Constraints, info: FormulationInfo
) -> None:
    """Refuse costs where they cannot be expressed, alone or beside what is about predictions.

    Models see rows as copies by answer, and predictions of copies are no shares of rows; a search
    that tests whole trees routes the rows themselves.
    """
    asked = [parameter.name for parameter in TASK if checked[parameter.name] is not None]
    if not asked:
        return
    if not info.has_costs:
        able = _able(lambda other: other.has_costs)
        message = f"{info.named} counts errors only, so it cannot take {asked[0]}; {able} can."
        raise SettingsError("COSTS_NOT_EXPRESSIBLE", message, asked[0])
    about_shares = sorted(constraints.active & {"min_recall", *FAIRNESS})
    if about_shares and Capability.THRESHOLD_SEARCH not in info.capabilities:
        exact = _able(lambda other: Capability.THRESHOLD_SEARCH in other.capabilities)
        message = f"{info.named} cannot keep {about_shares[0]} beside {asked[0]}; {exact} can."
        raise SettingsError("COSTS_WITH_SHARES", message, about_shares[0])
    if "monotone" in constraints.active and checked["refer"] is not None:
        raise SettingsError(
            "COSTS_WITH_SHARES",
            "monotone orders the classes, and asking a person is none of them; leave refer or "
            "monotone out.",
            "monotone",
        )


def check_against_data(settings: Settings, data: Dataset) -> Settings:
    """Check what needs the data: classes, columns and sizes."""
    info = get_formulation(settings.formulation).info
    if data.y is None:
        message = f"No target column was chosen; choose one of {', '.join(data.feature_names[:8])}."
        raise SettingsError("NO_TARGET", message, "target")
    if data.n_features == 0:
        message = "There is no feature column left to split on."
        raise SettingsError("NO_FEATURES", message, "features")
    if info.max_classes is not None and data.n_classes > info.max_classes:
        able = _able(lambda other: (other.max_classes or math.inf) >= data.n_classes)
        message = f"{info.named} separates {info.max_classes} classes, the data have "
        message += f"{data.n_classes}; use {able}, or group the classes as one against the rest."
        raise SettingsError("TOO_MANY_CLASSES", message, "formulation")
    smallest = settings.constraints.min_samples_leaf
    n_train = data.n_samples - math.ceil(settings.test_size * data.n_samples)
    if smallest is not None and smallest > n_train:
        message = f"min_samples_leaf is {smallest}, but there are only {n_train:,} training rows."
        raise SettingsError("LEAF_LARGER_THAN_DATA", message, "min_samples_leaf")
    _check_columns(settings.constraints, data)
    return settings


def _check_columns(constraints: Constraints, data: Dataset) -> None:
    named = [*constraints.forbidden_features, *(c for p in constraints.forbidden_pairs for c in p)]
    if constraints.root_feature is not None:
        named.append(constraints.root_feature)
    named += constraints.monotone or ()
    for _, limit in constraints.fairness:
        named += [limit.attribute] + ([limit.given] if limit.given else [])
    for name in named:
        if name not in data.feature_names:
            message = f"A constraint names the column {name!r}, but the features are "
            message += f"{', '.join(data.feature_names[:12])}."
            raise SettingsError("UNKNOWN_COLUMN", message, name)
    ordered = {c.name for c in data.columns if c.kind == "ordinal" or c.holds_numbers}
    for name in constraints.monotone or ():
        if name not in ordered:
            message = f"The values of {name!r} have no order, so that nothing can rise with them; "
            message += "declare the column ordinal, or leave it out of monotone."
            raise SettingsError("NO_ORDER", message, name)


def class_weights(constraints: Constraints, y: np.ndarray, classes: tuple[Any, ...]) -> np.ndarray:
    """Weight of every row from `class_weight`: 1, a number by class, or balanced.

    "balanced" gives class k the weight n / (K n_k).  `SettingsError` if no row weighs anything.
    """
    asked = constraints.class_weight
    if asked is None:
        return np.ones(len(y))
    counts = np.bincount(y, minlength=len(classes))
    if isinstance(asked, str):
        return (len(y) / (np.count_nonzero(counts) * np.maximum(counts, 1)))[y]
    by_text = {str(label): weight for label, weight in asked.items()}
    unknown = set(by_text) - {str(label) for label in classes}
    if unknown:
        message = f"class_weight names {sorted(unknown)[0]!r}; the classes are {list(classes)}."
        raise SettingsError("UNKNOWN_CLASS", message, "class_weight")
    table = np.array([by_text.get(str(label), 1.0) for label in classes])
    if not (table[np.unique(y)] > 0).any():
        message = f"None of the {len(y)} rows to train or to judge on is of a class of any weight."
        raise SettingsError("BAD_CONSTRAINT", message, "class_weight")
    return table[y]
