"""How the columns are meant: what is predicted, kinds, columns left out."""

from typing import Any

import pandas as pd
import streamlit as st

from dashboard import session
from dashboard.widgets import inputs
from octcore.data.columns import KINDS
from octcore.data.preparing import DATE
from octcore.data.reading import table_in_use
from octcore.data.table import RawTable
from octcore.data.target import BINS
from octcore.data.typed import typed_once
from octcore.plotting import text
from octcore.solving.recipe import DataChoice

MOST_TARGETS, MOST_CLASSES = 500, 50


def asks_first() -> bool:
    """Whether a page needs what is predicted before anything else; says where to choose it."""
    if session.is_ready():
        return False
    st.warning("Say on the Data page first what is predicted.")
    st.page_link("screens/data.py", label="Choose it", icon=":material/table:")
    return True


def draw_target() -> None:
    """Draw the choice of the column to predict and, for numbers, of the classes made of them."""
    choice, table = session.choice(), session.table()
    names = [name for name in table.names if name != table.index_column][:MOST_TARGETS]
    picked = st.selectbox(
        "What is predicted",
        names,
        index=names.index(choice.target) if choice.target in names else None,
        placeholder="choose the column that holds the classes",
        key=session.widget_key("predicted", choice.sample, choice.file_name, choice.target),
    )
    if picked is not None and picked != choice.target:
        inputs.change_data(target=picked, positive_class=None, target_bins=None)
    if choice.target is not None and session.is_measurement(table, choice):
        _bins(choice.target, choice.target_bins)
    _class_that_matters()


def _class_that_matters() -> None:
    """Draw the choice of the class of which recall and precision are told."""
    choice, data = session.choice(), session.dataset()
    if not 2 <= data.n_classes <= MOST_CLASSES:
        return
    labels, default = list(data.classes), data.focus
    picked = st.selectbox(
        "Class that matters",
        labels,
        index=labels.index(default) if default in labels else None,
        placeholder="none more than the others",
        format_func=lambda label: text.printable(label, 40),
        key=session.widget_key("matters", session.table().sha256, choice.target, str(default)),
        help="Every tree says how many of its rows it finds. Of two classes the one that says yes "
        "matters (yes, 1, ja, malignant, x beside not x), else the rarer, unless you choose. A "
        "chosen one is also the positive class of fairness limits and of formulations for two "
        "classes; the last one is, where none is chosen.",
    )
    if picked is not None and picked != default:
        inputs.change_data(positive_class=picked)


def _bins(target: str, current: int | None) -> None:
    """Draw how many classes a column of numbers is cut into."""
    if current is None:
        st.warning(
            f"{text.markdown(target, 40)} is a measurement. Predicting numbers is regression, "
            "which these trees do not do. Cut it into classes of about equally many rows:",
            icon=":material/straighten:",
        )
    picked = st.segmented_control(
        "Classes made of it",
        BINS,
        default=current,
        key=session.widget_key("target_bins", target, current),
    )
    if picked is not None and picked != current:
        inputs.change_data(target_bins=picked)


MOST_ORDERS = 20
DATES = "DATE_COLUMN"


def draw() -> None:
    """Draw the table of columns."""
    data, table = session.dataset(), _in_use(session.table(), session.choice())
    if changes := _column_changes(table) or _order_changes(table):
        inputs.change_data(**changes)
    for reason, number in data.source.rows_dropped:
        why = text.markdown(reason.replace("_", " ").lower())
        st.caption(f"{text.count(number, 'row')} left out: {why}.")


def _column_changes(table: RawTable) -> dict[str, Any]:
    """Draw the editable table; returns what the user changed in it."""
    choice = session.choice()
    before = column_table()
    edited = st.data_editor(
        before,
        hide_index=True,
        disabled=["column", "distinct", "gaps", "examples"],
        column_config={
            "use": st.column_config.CheckboxColumn("use", width="small"),
            "kind": st.column_config.SelectboxColumn(
                "kind",
                options=["", *KINDS, DATE],
                help="Numeric and ordinal are compared by size (“≤ 3.5”), categorical is asked "
                "for one value at a time (“is 3”), date makes year, month and weekday. Empty: as "
                "reading finds it; a column that reading leaves out has none until you choose one.",
            ),
            "distinct": st.column_config.NumberColumn(format="%,d"),
            "gaps": st.column_config.NumberColumn(
                "empty", help="Cells that are read as without a value", format="%,d"
            ),
            "examples": st.column_config.TextColumn("examples", width="large"),
        },
        key=session.widget_key("columns", table.sha256, hash(repr(choice))),
        alt="Columns of the table with their kinds",
    )
    changed = edited[(edited["use"] != before["use"]) | (edited["kind"] != before["kind"])]
    if changed.empty:
        return {}
    drop, kinds = set(choice.drop), dict(choice.kinds)
    numbers = {finding.column for finding in session.dataset().findings if finding.code == DATES}
    rows = pd.DataFrame(changed).assign(was=before["kind"])
    for title, is_used, kind, was in rows[["column", "use", "kind", "was"]].to_numpy():
        name = str(title)
        (drop.discard if is_used else drop.add)(name)
        if kind != was:
            kinds[name] = str(kind or "")
        elif is_used and name not in choice.drop:  # reading left it out: to be kept as something
            kinds[name] = "numeric" if name in numbers else "categorical"
    kept = tuple(name for name in table.names if name in drop)
    return {"drop": kept, "kinds": {name: kind for name, kind in kinds.items() if kind}}


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
        written = place.text_input(
            f"Order of {text.markdown(column.name, 40)}, smallest first",
            value=" < ".join(map(str, column.levels)),
            key=session.widget_key("order", table.sha256, column.name, hash(repr(choice))),
            help="A split tests whether a value is at most one of these levels. Name all of them, "
            "with < between.",
        )
        levels = [level.strip() for level in written.split("<")]
        if levels != [str(level) for level in column.levels]:
            return {"kinds": {**choice.kinds, column.name: "ordinal:" + "<".join(levels)}}
    return {}


# Kept, since what was typed is known by the columns themselves.
@st.cache_resource(max_entries=8, show_spinner=False, hash_funcs={RawTable: lambda t: t.sha256})
def _in_use(table: RawTable, choice: DataChoice) -> RawTable:
    """The table whose columns are used: dates that are wanted as such have become their parts."""
    return table_in_use(table, choice.kinds, choice.na_values, choice.merge, choice.drop)


def column_table() -> pd.DataFrame:
    """One row for every column that could be a feature."""
    choice, data = session.choice(), session.dataset()
    table = _in_use(session.table(), choice)
    used = {column.name: column for column in data.columns}
    typed = typed_once(table, {n: kind for n, kind in choice.kinds.items() if kind != DATE})
    rows = []
    for column in table.columns:
        if column.name in (choice.target, table.index_column):
            continue
        read, own = typed(column), used.get(column.name)
        shown = [value for value, gone in zip(column.values, read.missing, strict=True) if not gone]
        if own is not None and own.levels:  # as they are used: merged, and numbers as numbers
            shown = [str(level) for level in own.levels]
        kind = choice.kinds.get(column.name, "").split(":")[0] if own is None else own.kind
        gaps = int(read.missing_rows().sum())
        examples = " · ".join(text.printable(value, 24) for value in shown[:5])
        rows.append((own is not None, column.name, kind, len(shown), gaps, examples))
    return pd.DataFrame(rows, columns=["use", "column", "kind", "distinct", "gaps", "examples"])
