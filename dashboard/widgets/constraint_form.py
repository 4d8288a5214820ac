"""Inputs for the side constraints that a formulation can express."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from itertools import combinations
from typing import Any

import streamlit as st

from dashboard import session
from octcore.constraints import FAIRNESS
from octcore.data.dataset import Dataset
from octcore.formulations.base import FormulationInfo
from octcore.plotting import text

MOST_PAIR_FEATURES = 20
MOST_CLASSES = 12
OWN_WEIGHTS = "one for every class"
Key = Callable[..., str]
"""Makes the key of an input from the name of the constraint and further parts."""

WHOLE_NUMBERS = {
    "max_leaves": ("Most leaves", 1, "Largest number of leaves of the tree."),
    "max_splits": ("Most splits", 0, "Largest number of branch nodes of the tree."),
    "min_samples_leaf": ("Smallest leaf (rows)", 1, "Fewest training rows that a leaf may have."),
    "max_features": ("Most features", 0, "Largest number of different raw columns in the tree."),
}
FAIRNESS_HELP = {
    "statistical_parity": "Groups are predicted positive equally often.",
    "equal_opportunity": "Rows that are positive are found equally often in all groups.",
    "predictive_equality": "Rows that are negative raise equally few false alarms in all groups.",
    "equalized_odds": "Equal opportunity and predictive equality at once.",
    "conditional_parity": "Statistical parity within every level of another column.",
}


def constraint_form(info: FormulationInfo, data: Dataset) -> dict[str, Any]:
    """Draw the constraints that a formulation can express; returns those that are asked for.

    Parameters
    ----------
    info : FormulationInfo
        Says which constraints there are.
    data : Dataset
        Names of features and classes.
    """
    able = info.constraints
    asked = whole_numbers([name for name in WHOLE_NUMBERS if name in able], input_key)
    draw: dict[str, Callable[[Dataset, Key], Any]] = {
        "forbidden_features": _forbidden_features,
        "root_feature": _root_feature,
        "forbidden_pairs": forbidden_pairs,
        "feature_once_per_path": once_per_path,
        "class_weight": class_weight,
        "min_recall": min_recall,
    }
    for name, function in draw.items():
        if name in able:
            asked[name] = function(data, input_key)
    asked |= fairness(able, data, input_key)
    return asked_for(asked)


def asked_for(values: dict[str, Any]) -> dict[str, Any]:
    """Leave out what was not asked for."""
    return {name: value for name, value in values.items() if value not in (None, False, {}, [])}


def input_key(*parts: object) -> str:
    """Key of an input of the Solve form."""
    return session.widget_key("constraint", *parts)


def _columns_stamp(data: Dataset) -> int:
    """Changes with the columns: a stale choice must not meet new options."""
    return hash((data.feature_names, data.classes))


def whole_numbers(names: Sequence[str], key: Key, per_line: int = 2) -> dict[str, Any]:
    """Draw limits that are whole numbers."""
    asked: dict[str, Any] = {}
    columns = st.columns(per_line)
    for position, name in enumerate(names):
        label, low, words = WHOLE_NUMBERS[name]
        asked[name] = columns[position % per_line].number_input(
            label,
            value=None,
            min_value=low,
            step=1,
            placeholder="no limit",
            help=f"{words}\n\n`{name}`",
            key=key(name),
            persist_state="session",
        )
    return asked


def _forbidden_features(data: Dataset, key: Key) -> list[str]:
    return st.multiselect(
        "Forbidden features",
        data.feature_names,
        placeholder="none",
        help="Raw columns that no split may test.\n\n`forbidden_features`",
        key=key("forbidden_features", _columns_stamp(data)),
    )


def _root_feature(data: Dataset, key: Key) -> str | None:
    return st.selectbox(
        "Feature at the root",
        data.feature_names,
        index=None,
        placeholder="free",
        help="Raw column that the root must test.\n\n`root_feature`",
        key=key("root_feature", _columns_stamp(data)),
    )


def forbidden_pairs(data: Dataset, key: Key) -> list[tuple[str, str]]:
    """Draw pairs of columns that the tree may not test both."""
    names = data.feature_names[:MOST_PAIR_FEATURES]
    return st.multiselect(
        "Pairs not together",
        list(combinations(names, 2)),
        format_func=lambda pair: f"{pair[0]} with {pair[1]}",
        placeholder="none",
        help="Pairs of raw columns of which the tree may test one at most.\n\n`forbidden_pairs`",
        key=key("forbidden_pairs", _columns_stamp(data)),
    )


def once_per_path(data: Dataset, key: Key) -> bool:
    """Draw the switch that forbids testing a column twice on a path."""
    return st.toggle(
        "Each feature at most once on a path",
        help="`feature_once_per_path`",
        key=key("feature_once_per_path"),
        persist_state="session",
    )


def class_weight(data: Dataset, key: Key) -> str | dict[Any, float] | None:
    """Draw the weights of the classes: equal shares, or a number for every class."""
    options = ["balanced"] + ([OWN_WEIGHTS] if data.n_classes <= MOST_CLASSES else [])
    picked = st.selectbox(
        "Class weights",
        options,
        index=None,
        placeholder="every row counts the same",
        help="Balanced: every class counts the same in the accuracy. One for every class: rows of "
        "a class count so many times.\n\n`class_weight`",
        key=key("class_weight"),
        persist_state="session",
    )
    if picked != OWN_WEIGHTS:
        return picked
    weights = {
        label: column.number_input(
            f"Weight of {text.markdown(label, 24)}",
            value=1.0,
            min_value=0.01,
            max_value=1000.0,
            step=0.5,
            format="%g",
            key=key(f"class_weight:{k}", _columns_stamp(data)),
        )
        for k, (label, column) in enumerate(_in_columns(data))
    }
    return weights if len(set(weights.values())) > 1 else None


def _in_columns(data: Dataset, per_line: int = 3) -> list[tuple[Any, Any]]:
    """Every class with the column that its input stands in."""
    columns = st.columns(min(per_line, max(1, data.n_classes)))
    return [(label, columns[k % len(columns)]) for k, label in enumerate(data.classes)]


def min_recall(data: Dataset, key: Key) -> dict[Any, float]:
    """Draw the smallest share of every class that must be right."""
    if data.n_classes > MOST_CLASSES:
        return {}
    st.caption("Smallest share of a class that must be right (`min_recall`)")
    floors: dict[Any, float] = {}
    for k, (label, column) in enumerate(_in_columns(data)):
        floor = column.number_input(
            text.markdown(label, 24),
            value=None,
            min_value=0.0,
            max_value=1.0,
            step=0.05,
            placeholder="no floor",
            key=key(f"min_recall:{k}", _columns_stamp(data)),
        )
        if floor is not None:
            floors[label] = floor
    return floors


def fairness(able: Collection[str], data: Dataset, key: Key) -> dict[str, Any]:
    """Draw one fairness limit; returns it by its name."""
    names = [name for name in FAIRNESS if name in able]
    if not names:
        return {}
    grouping = [c.name for c in data.columns if c.kind != "numeric"]
    if not grouping:
        st.caption("Fairness limits need a column of groups; every column here is numeric.")
        return {}
    kind = st.selectbox(
        "Fairness limit",
        names,
        index=None,
        placeholder="none",
        format_func=lambda name: name.replace("_", " "),
        help="\n\n".join(f"**{n.replace('_', ' ')}**: {FAIRNESS_HELP[n]}" for n in names),
        key=key("fairness"),
    )
    if kind is None:
        return {}
    stamp = _columns_stamp(data)
    left, right = st.columns(2)
    attribute = left.selectbox("Groups", grouping, key=key("fairness_attribute", stamp))
    limit = right.number_input(
        "Largest difference",
        value=0.1,
        min_value=0.0,
        max_value=1.0,
        step=0.01,
        help="Largest difference of the shares between groups, in [0, 1].",
        key=key("fairness_gap"),
    )
    asked: dict[str, Any] = {"attribute": attribute, "max_gap": limit}
    if kind == "conditional_parity":
        others = [name for name in grouping if name != attribute]
        if not others:
            st.caption("Conditional parity needs a second column of groups; there is only one.")
            return {}
        asked["given"] = st.selectbox("Within every level of", others, key=key("given", stamp))
    return {kind: asked}
