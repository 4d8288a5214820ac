"""What a user asks for in one solve, checked in one place before anything is built."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from octcore.constraints import Constraints
from octcore.data.dataset import Dataset
from octcore.encoding import parse_encoding_key
from octcore.errors import SettingsError
from octcore.formulations.base import FormulationInfo, get_formulation, list_formulations
from octcore.parameters import Choice, FloatRange, IntRange, Parameter, check_all

AUTO = "auto"

GENERAL: tuple[Parameter, ...] = (
    IntRange("depth", 2, "D", "Largest number of splits on a path from the root to a leaf.", low=1),
    FloatRange(
        "time_limit",
        60.0,
        help="Seconds from the call, building and compiling included.",
        unit="s",
        low=0.0,
        low_open=True,
        high=1e6,
    ),
    FloatRange("gap", 0.0, help="Relative gap at which the solve may stop.", low=0.0, high=1.0),
    IntRange("node_limit", None, help="Largest number of branch-and-bound nodes.", low=1),
    IntRange("threads", 1, help="Threads of the solver; 1 is reproducible.", low=1, high=256),
    IntRange("seed", 0, help="Seed of everything random.", low=0, high=2**31 - 1),
    FloatRange(
        "test_size",
        0.0,
        help="Share of the rows held out for testing, stratified by class.",
        low=0.0,
        high=1.0,
        high_open=True,
    ),
    Choice(
        "warm_start",
        AUTO,
        help="'auto' starts from a heuristic tree; 'none' gives the solver no start.",
        options=(AUTO, "none"),
    ),
)
"""Settings that every formulation has."""


@dataclass(frozen=True)
class Settings:
    """Checked settings of one solve; `to_dict` is what is stored with a run."""

    formulation: str
    encoding: str
    depth: int
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
        record = {f.name: getattr(self, f.name) for f in fields(self)}
        record["params"] = dict(self.params)
        record["constraints"] = self.constraints.to_dict()
        return record


def check_settings(
    formulation: str = "flow-oct",
    encoding: str = AUTO,
    params: Mapping[str, Any] | None = None,
    constraints: Mapping[str, Any] | Constraints | None = None,
    engine: str = AUTO,
    **general: Any,
) -> Settings:
    """Check everything that can be checked without data.

    Raises
    ------
    SettingsError
        With one sentence about the first setting that is wrong.
    """
    info = get_formulation(formulation).info
    checked = check_all(GENERAL, general, "octcore.solve")
    depth = checked["depth"]
    if isinstance(depth, int) and depth > info.max_depth:
        raise SettingsError(
            "DEPTH_TOO_LARGE",
            f"A tree of depth {depth} has up to 2^{depth} leaves; {info.key} is offered up "
            f"to depth {info.max_depth}, choose a smaller depth.",
            "depth",
        )
    if encoding == AUTO:
        encoding = info.default_encoding
    parse_encoding_key(encoding)
    if params and params.get("leaf_penalty") is not None and params.get("split_weight") is not None:
        raise SettingsError(
            "TWO_REGULARISERS",
            f"leaf_penalty = {params['leaf_penalty']} and split_weight = {params['split_weight']} "
            "were both given; give one of them.",
            "split_weight",
        )
    parsed = Constraints.parse(constraints)
    _check_constraints(parsed, info)
    _check_engine(engine, info)
    return Settings(
        formulation=info.key,
        encoding=encoding,
        params=check_all(info.hyperparameters, params, info.key),
        constraints=parsed,
        engine=engine,
        **checked,  # type: ignore[arg-type]
    )


def _check_constraints(constraints: Constraints, info: FormulationInfo) -> None:
    for name in sorted(constraints.active - info.constraints):
        able = [other.key for other in list_formulations() if name in other.constraints]
        raise SettingsError(
            "CONSTRAINT_NOT_EXPRESSIBLE",
            f"{info.key} cannot express {name}; "
            + (f"{', '.join(able)} can." if able else "no formulation can yet."),
            name,
        )


def _check_engine(engine: str, info: FormulationInfo) -> None:
    if engine != AUTO and engine not in info.engines:
        raise SettingsError(
            "ENGINE_DOES_NOT_FIT",
            f"{info.key} does not run on engine {engine!r}; use {' or '.join(info.engines)}.",
            "engine",
        )


def check_against_data(settings: Settings, data: Dataset) -> Settings:
    """Check what needs the data: classes, columns and sizes.

    Raises
    ------
    SettingsError
        With one sentence about what does not fit.
    """
    info = get_formulation(settings.formulation).info
    if data.y is None:
        raise SettingsError(
            "NO_TARGET",
            f"No target column was chosen; choose one of {', '.join(data.feature_names[:8])}.",
            "target",
        )
    if data.n_features == 0:
        raise SettingsError(
            "NO_FEATURES", "There is no feature column left to split on.", "features"
        )
    if info.max_classes is not None and data.n_classes > info.max_classes:
        able = [f.key for f in list_formulations() if (f.max_classes or math.inf) >= data.n_classes]
        raise SettingsError(
            "TOO_MANY_CLASSES",
            f"{info.key} separates {info.max_classes} classes, the data have {data.n_classes}; "
            f"use {', '.join(able)}, or group the classes as one against the rest.",
            "formulation",
        )
    smallest = settings.constraints.min_samples_leaf
    n_train = data.n_samples - math.ceil(settings.test_size * data.n_samples)
    if smallest is not None and smallest > n_train:
        raise SettingsError(
            "LEAF_LARGER_THAN_DATA",
            f"min_samples_leaf is {smallest}, but there are only {n_train} training rows.",
            "min_samples_leaf",
        )
    _check_columns(settings.constraints, data)
    return settings


def _check_columns(constraints: Constraints, data: Dataset) -> None:
    named = [*constraints.forbidden_features, *(c for p in constraints.forbidden_pairs for c in p)]
    if constraints.root_feature is not None:
        named.append(constraints.root_feature)
    for _, limit in constraints.fairness:
        named += [limit.attribute] + ([limit.given] if limit.given else [])
    for name in named:
        if name not in data.feature_names:
            raise SettingsError(
                "UNKNOWN_COLUMN",
                f"A constraint names the column {name!r}, but the features are "
                f"{', '.join(data.feature_names[:12])}.",
                name,
            )


def class_weights(constraints: Constraints, y: np.ndarray, classes: tuple[Any, ...]) -> np.ndarray:
    """Weight of every row from `class_weight`: 1, a number by class, or balanced.

    Parameters
    ----------
    constraints : Constraints
        May hold `class_weight`; "balanced" gives class k the weight n / (K n_k).
    y : numpy.ndarray
        Class indices, shape ``(n_samples,)``.
    classes : tuple
        Class labels.

    Returns
    -------
    numpy.ndarray
        Shape ``(n_samples,)``.

    Raises
    ------
    SettingsError
        If a weight names a class that the data do not have, or all weights are zero.
    """
    asked = constraints.class_weight
    if asked is None:
        return np.ones(len(y))
    counts = np.bincount(y, minlength=len(classes))
    if isinstance(asked, str):
        present = np.maximum(counts, 1)
        return (len(y) / (np.count_nonzero(counts) * present))[y]
    by_text = {str(label): weight for label, weight in asked.items()}
    unknown = set(by_text) - {str(label) for label in classes}
    if unknown:
        raise SettingsError(
            "UNKNOWN_CLASS",
            f"class_weight names {sorted(unknown)[0]!r}; the classes are {list(classes)}.",
            "class_weight",
        )
    table = np.array([by_text.get(str(label), 1.0) for label in classes])
    if not (table[np.unique(y)] > 0).any():
        raise SettingsError("BAD_CONSTRAINT", "All class weights are zero.", "class_weight")
    return table[y]
