"""Say how the columns are meant: target, kinds, columns left out."""

from typing import Any

import pandas as pd
import streamlit as st

from dashboard import session
from dashboard.widgets import inputs
from octcore.data.columns import KINDS
from octcore.data.table import RawTable
from octcore.plotting import text

MOST_TARGETS = 500
MOST_ORDERS = 20


def draw() -> None:
    """Draw target, positive class and the table of columns."""
    choice, data, table = session.choice(), session.dataset(), session.table()
    first, second = st.columns(2)
    names = [name for name in table.names if name != table.index_column][:MOST_TARGETS]
    stamp = (choice.sample, choice.file_name, choice.target, choice.missing)
    target = first.selectbox(
        "Column to predict",
        names,
        index=names.index(choice.target) if choice.target in names else None,
        placeholder="choose a column",
        key=session.widget_key("target", *stamp),
    )
    positive = _positive_class(second, stamp)
    changes: dict[str, Any] = {}
    if target != choice.target:
        changes = {"target": target, "positive_class": None, "target_bins": None}
    elif positive != choice.positive_class:
        changes = {"positive_class": positive}
    else:
        changes = _column_changes(table) or _order_changes(table)
    if changes and session.change_choice(**changes):
        st.rerun()
    if changes:
        # Refused: the input keeps what was written, to be corrected; a rerun would refuse it again.
        inputs.say(session.state().problem)
    for reason, number in data.source.rows_dropped:
        why = text.markdown(reason.replace("_", " ").lower())
        st.caption(f"{text.count(number, 'row')} left out: {why}.")
    own = [text.markdown(name) for name, reason in data.source.columns_dropped if reason != "USER"]
    if own:
        st.caption(f"Not usable as features and left out: {', '.join(own[:12])}.")


def _positive_class(place: Any, stamp: tuple[object, ...]) -> Any:
    choice, data = session.choice(), session.dataset()
    if data.n_classes != 2:
        return None
    labels = list(data.classes)
    return place.selectbox(
        "Positive class",
        labels,
        index=labels.index(choice.positive_class) if choice.positive_class in labels else None,
        placeholder="the last one",
        key=session.widget_key("positive", choice.positive_class, *stamp),
        help="The class that counts as +1 in two-class formulations and fairness limits.",
    )


def _column_changes(table: RawTable) -> dict[str, Any]:
    """Draw the editable table; returns what the user changed in it."""
    choice = session.choice()
    before = column_table()
    edited = st.data_editor(
        before,
        hide_index=True,
        height=min(420, 38 * (len(before) + 1)),
        disabled=["column", "distinct", "gaps", "examples"],
        column_config={
            "use": st.column_config.CheckboxColumn("use", width="small"),
            "kind": st.column_config.SelectboxColumn(
                "kind",
                options=["", *KINDS],
                help="Numeric and ordinal are compared by size (“<= 3.5”), categorical is asked "
                "for one value at a time (“is 3”). Empty: as reading finds it; a column that "
                "reading leaves out has none until you choose one.",
            ),
            "gaps": st.column_config.NumberColumn("gaps", help="Empty cells in the file"),
            "examples": st.column_config.TextColumn("examples", width="large"),
        },
        key=session.widget_key("columns", table.sha256, hash(repr(choice))),
        alt="Columns of the table with their kinds",
    )
    changed = edited[(edited["use"] != before["use"]) | (edited["kind"] != before["kind"])]
    if changed.empty:
        return {}
    drop = tuple(str(name) for name in edited.loc[~edited["use"], "column"])
    kinds = dict(choice.kinds)
    for _, row in changed.iterrows():
        was = before.loc[before["column"] == row["column"], "kind"].iloc[0]
        if row["kind"] != was:
            kinds[str(row["column"])] = str(row["kind"] or "")
    return {"drop": drop, "kinds": {name: kind for name, kind in kinds.items() if kind}}


def _order_changes(table: RawTable) -> dict[str, Any]:
    """Draw the order of every ordinal column of texts; returns a changed one."""
    choice, data = session.choice(), session.dataset()
    ordinal = [
        c
        for c in data.columns
        if c.kind == "ordinal" and c.levels and all(isinstance(v, str) for v in c.levels)
    ]
    places = [place for _ in ordinal[::2] for place in st.columns(2)]
    for column, place in zip(ordinal[:MOST_ORDERS], places, strict=False):
        before = " < ".join(map(str, column.levels))
        written = place.text_input(
            f"Order of {text.markdown(column.name, 40)}, smallest first",
            value=before,
            key=session.widget_key("order", table.sha256, column.name, hash(repr(choice))),
            help="A split tests whether a value is at most one of these levels. Name all of them, "
            "with < between.",
        )
        levels = [level.strip() for level in written.split("<")]
        if levels != [str(level) for level in column.levels]:
            kind = "ordinal:" + "<".join(levels)
            return {"kinds": {**choice.kinds, column.name: kind}}
    return {}


def column_table() -> pd.DataFrame:
    """One row for every column that could be a feature."""
    choice, data, table = session.choice(), session.dataset(), session.table()
    kinds = {column.name: column.kind for column in data.columns}
    rows = []
    for column in table.columns:
        if column.name in (choice.target, table.index_column):
            continue
        empty = [code for code, value in enumerate(column.values) if not value]
        gaps = int(sum((column.codes == code).sum() for code in empty))
        shown = [value for value in column.values if value][:5]
        rows.append(
            {
                "use": column.name not in choice.drop,
                "column": column.name,
                "kind": kinds.get(column.name, choice.kinds.get(column.name, "").split(":")[0]),
                "distinct": len(column.values) - len(empty),
                "gaps": gaps,
                "examples": ", ".join(text.printable(value, 24) for value in shown),
            }
        )
    return pd.DataFrame(rows, columns=["use", "column", "kind", "distinct", "gaps", "examples"])
