"""Inputs for the side constraints that a formulation can express."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from typing import Any

import streamlit as st

from dashboard import session, text
from octcore.constraints import FAIRNESS
from octcore.data.dataset import Dataset
from octcore.formulations.base import FormulationInfo

MOST_PAIR_FEATURES = 20
MOST_CLASSES = 12

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
    asked: dict[str, Any] = {}
    able = info.constraints
    columns = st.columns(2)
    for position, name in enumerate(n for n in WHOLE_NUMBERS if n in able):
        label, low, words = WHOLE_NUMBERS[name]
        asked[name] = columns[position % 2].number_input(
            label,
            value=None,
            min_value=low,
            step=1,
            placeholder="no limit",
            help=f"{words}\n\n`{name}`",
            key=_key(name),
            persist_state="session",
        )
    draw: dict[str, Callable[[Dataset], Any]] = {
        "forbidden_features": _forbidden_features,
        "root_feature": _root_feature,
        "forbidden_pairs": _forbidden_pairs,
        "feature_once_per_path": _once,
        "class_weight": _class_weight,
        "min_recall": _min_recall,
    }
    for name, function in draw.items():
        if name in able:
            asked[name] = function(data)
    if able & set(FAIRNESS):
        asked |= _fairness(able, data)
    return {name: value for name, value in asked.items() if value not in (None, False, {}, [])}


def _key(*parts: object) -> str:
    return session.widget_key("constraint", *parts)


def _forbidden_features(data: Dataset) -> list[str]:
    return st.multiselect(
        "Forbidden features",
        data.feature_names,
        placeholder="none",
        help="Raw columns that no split may test.\n\n`forbidden_features`",
        key=_data_key("forbidden_features", data),
    )


def _data_key(name: str, data: Dataset) -> str:
    """Key that changes with the columns: a stale choice must not meet new options."""
    return _key(name, hash((data.feature_names, data.classes)))


def _root_feature(data: Dataset) -> str | None:
    return st.selectbox(
        "Feature at the root",
        data.feature_names,
        index=None,
        placeholder="free",
        help="Raw column that the root must test.\n\n`root_feature`",
        key=_data_key("root_feature", data),
    )


def _forbidden_pairs(data: Dataset) -> list[tuple[str, str]]:
    names = data.feature_names[:MOST_PAIR_FEATURES]
    return st.multiselect(
        "Pairs not together",
        list(combinations(names, 2)),
        format_func=lambda pair: f"{pair[0]} with {pair[1]}",
        placeholder="none",
        help="Pairs of raw columns of which the tree may test one at most.\n\n`forbidden_pairs`",
        key=_data_key("forbidden_pairs", data),
    )


def _once(data: Dataset) -> bool:
    return st.toggle(
        "Each feature at most once on a path",
        help="`feature_once_per_path`",
        key=_key("feature_once_per_path"),
        persist_state="session",
    )


def _class_weight(data: Dataset) -> str | None:
    picked = st.selectbox(
        "Class weights",
        ["balanced"],
        index=None,
        placeholder="every row counts the same",
        help="Balanced: every class counts the same in the accuracy.\n\n`class_weight`",
        key=_key("class_weight"),
        persist_state="session",
    )
    return picked


def _min_recall(data: Dataset) -> dict[Any, float]:
    if data.n_classes > MOST_CLASSES:
        return {}
    floors: dict[Any, float] = {}
    st.caption("Smallest share of a class that must be right (`min_recall`)")
    columns = st.columns(3)
    for k, label in enumerate(data.classes):
        floor = columns[k % 3].number_input(
            text.markdown(label, 24),
            value=None,
            min_value=0.0,
            max_value=1.0,
            step=0.05,
            placeholder="no floor",
            key=_data_key(f"min_recall:{k}", data),
        )
        if floor is not None:
            floors[label] = floor
    return floors


def _fairness(able: frozenset[str], data: Dataset) -> dict[str, Any]:
    names = [name for name in FAIRNESS if name in able]
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
        key=_key("fairness"),
    )
    if kind is None:
        return {}
    left, right = st.columns(2)
    attribute = left.selectbox("Groups", grouping, key=_data_key("fairness_attribute", data))
    limit = right.number_input(
        "Largest difference",
        value=0.1,
        min_value=0.0,
        max_value=1.0,
        step=0.01,
        help="Largest difference of the shares between groups, in [0, 1].",
        key=_key("fairness_gap"),
    )
    asked: dict[str, Any] = {"attribute": attribute, "max_gap": limit}
    if kind == "conditional_parity":
        asked["given"] = st.selectbox("Within", grouping, key=_data_key("fairness_given", data))
    return {kind: asked}
