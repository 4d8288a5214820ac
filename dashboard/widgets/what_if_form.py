"""The question of a what-if: conditions on the tree, with the value of every root feature."""

from __future__ import annotations

from typing import Any

import streamlit as st

from dashboard import session, text
from dashboard.figures.root_values import RootValue
from octcore.constraints import FAIRNESS
from octcore.data.dataset import Dataset
from octcore.run import Run

MOST_CLASSES = 9
SIZES = {
    "max_features": ("Most features", 1, "Different raw columns that the tree may test."),
    "max_leaves": ("Most leaves", 1, "Leaves that the tree may have."),
    "min_samples_leaf": ("Smallest leaf (rows)", 1, "Training rows that every leaf must have."),
}


def draw(run_id: str, run: Run, data: Dataset, values: tuple[RootValue, ...]) -> dict[str, Any]:
    """Draw the conditions; returns those that are asked for.

    Parameters
    ----------
    run_id : str
        The solved run; part of the keys.
    run : Run
        The solved run.
    data : Dataset
        Names of columns and classes.
    values : tuple of RootValue
        Shown beside the features; empty while they are not known.
    """
    asked: dict[str, Any] = {}
    known = {entry.feature: entry for entry in values}

    def words(name: str) -> str:
        return _feature_words(name, known.get(name))

    used = _used(run)
    names = sorted(data.feature_names, key=lambda name: (name not in used, name))
    asked["forbidden_features"] = st.multiselect(
        "Drop features",
        names,
        format_func=lambda name: f"{text.printable(name)} (used)" if name in used else name,
        placeholder="none",
        help="Raw columns that no split may test; those in use come first.\n\n`forbidden_features`",
        key=_key(run_id, "drop"),
    )
    roots = sorted(data.feature_names, key=lambda n: -known[n].value if n in known else 1.0)
    asked["root_feature"] = st.selectbox(
        "Start with",
        roots,
        index=None,
        format_func=words,
        placeholder="any feature",
        help="Raw column that the root must test, with the best objective of any such tree.\n\n"
        "`root_feature`",
        key=_key(run_id, "root"),
    )
    for place, (name, (label, low, help_text)) in zip(st.columns(3), SIZES.items(), strict=True):
        asked[name] = place.number_input(
            label,
            value=None,
            min_value=low,
            step=1,
            placeholder="no limit",
            help=f"{help_text}\n\n`{name}`",
            key=_key(run_id, name),
        )
    with st.expander("Recall and fairness"):
        asked["min_recall"] = _recall(run_id, data)
        asked |= _fairness(run_id, data)
    return {name: value for name, value in asked.items() if value not in (None, {}, [])}


def _key(run_id: str, name: str) -> str:
    return session.widget_key("whatif", run_id, name)


def _used(run: Run) -> set[str]:
    if run.tree is None:
        return set()
    return {run.encoding.columns[j].raw for j in run.tree.used_features}


def _feature_words(name: str, entry: RootValue | None) -> str:
    shown = text.printable(name, 40)
    if entry is None:
        return shown
    sign = "=" if entry.is_exact else "≤"
    return f"{shown} (V {sign} {entry.value:.4g})"


def _recall(run_id: str, data: Dataset) -> dict[Any, float]:
    if data.n_classes > MOST_CLASSES:
        return {}
    st.caption("Smallest share of a class that must be right (`min_recall`)")
    floors: dict[Any, float] = {}
    columns = st.columns(3)
    for k, label in enumerate(data.classes):
        floor = columns[k % 3].number_input(
            text.markdown(label, 24),
            value=None,
            min_value=0.0,
            max_value=1.0,
            step=0.05,
            placeholder="no floor",
            key=_key(run_id, f"recall:{k}"),
        )
        if floor is not None:
            floors[label] = floor
    return floors


def _fairness(run_id: str, data: Dataset) -> dict[str, Any]:
    grouping = [c.name for c in data.columns if c.kind != "numeric"]
    if not grouping:
        st.caption("Fairness needs a column of groups; every column here is numeric.")
        return {}
    limits = [name for name in FAIRNESS if name != "conditional_parity"]
    places = st.columns([2, 2, 1])
    kind = places[0].selectbox(
        "Fairness",
        limits,
        index=None,
        placeholder="none",
        format_func=lambda name: name.replace("_", " "),
        key=_key(run_id, "fairness"),
    )
    attribute = places[1].selectbox("Groups", grouping, key=_key(run_id, "groups"))
    gap = places[2].number_input(
        "At most", value=0.1, min_value=0.0, max_value=1.0, step=0.01, key=_key(run_id, "gap")
    )
    return {} if kind is None else {kind: {"attribute": attribute, "max_gap": gap}}
