"""The question of a what-if: conditions on the tree, with the value of every root feature."""

from __future__ import annotations

from typing import Any

import streamlit as st

from dashboard import session
from dashboard.widgets import constraint_form
from octcore.constraints import ACCEPTED, ParityLimit
from octcore.data.dataset import Dataset
from octcore.parameters import ByClass, Directions, Flag, IntRange, NamePairs, Parameter
from octcore.plotting import text
from octcore.plotting.root_values import RootValue
from octcore.solving.run import Run

SAME = "max_splits"
"""Says the same of a tree as `max_leaves`; one of them is enough here."""


def _of(*kinds: type[Parameter]) -> list[Parameter]:
    """Side constraints of some kinds."""
    return [p for p in ACCEPTED if isinstance(p, kinds) and p.name != SAME]


def draw(run_id: str, run: Run, data: Dataset, values: tuple[RootValue, ...]) -> dict[str, Any]:
    """Draw the conditions; returns those that are asked for.

    `values`: shown beside the features; empty while they are not known.
    """

    def key(*parts: object) -> str:
        return session.widget_key("whatif", run_id, *parts)

    asked: dict[str, Any] = {}
    known = {entry.feature: entry for entry in values}
    used = _used(run)
    names = sorted(data.feature_names, key=lambda name: (name not in used, name))
    asked["forbidden_features"] = st.multiselect(
        "Drop features",
        names,
        format_func=lambda name: f"{text.printable(name)} (used)" if name in used else name,
        placeholder="none",
        help="Raw columns that no split may test; those in use come first.\n\n`forbidden_features`",
        key=key("drop"),
    )
    roots = sorted(data.feature_names, key=lambda n: -known[n].value if n in known else 1.0)
    asked["root_feature"] = st.selectbox(
        "Start with",
        roots,
        index=None,
        format_func=lambda name: _feature_words(name, known.get(name)),
        placeholder="any feature",
        help="Raw column that the root must test, with the best objective of any such tree.\n\n"
        "`root_feature`",
        key=key("root"),
    )
    asked |= constraint_form.constraint_inputs(_of(IntRange), data, key, per_line=3)
    with st.expander("Pairs and paths", icon=":material/link_off:"):
        asked |= constraint_form.constraint_inputs(_of(NamePairs, Flag), data, key)
    with st.expander("One way only: what may not turn round", icon=":material/trending_up:"):
        asked |= constraint_form.constraint_inputs(_of(Directions), data, key)
    with st.expander("Classes: recall and weights", icon=":material/balance:"):
        asked |= constraint_form.constraint_inputs(_of(ByClass), data, key)
    with st.expander("Fairness", icon=":material/groups:"):
        asked |= constraint_form.constraint_inputs(_of(ParityLimit), data, key)
    return constraint_form.asked_for(asked)


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
