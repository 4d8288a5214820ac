"""The near-optimal trees one by one: sort, filter, pin two, keep one, export."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd
import streamlit as st

from dashboard import session
from dashboard.server import jobs
from dashboard.views.what_if.questions import chosen_run
from dashboard.widgets import chart, inputs, run_summary
from octcore.data.dataset import Dataset
from octcore.data.export import frame_to_csv
from octcore.plotting import text
from octcore.plotting.alternatives import points_words
from octcore.plotting.difference import difference_data
from octcore.selection.alternatives import Alternative, Alternatives
from octcore.selection.near_optimal_export import rules_table, timbertrek

TABLE_HEIGHT = 250
PINNED = 2
TABLE = "alternatives_table"


@dataclass(frozen=True, eq=False)
class Context:
    """What the trees are about."""

    run_id: str
    task: str
    """`run_id`, `task`: the run that is looked at, and the task that counted."""
    data: Dataset
    train: Dataset
    """`data`, `train`: all rows, and those of the search."""
    search: Mapping[str, Any]
    """Keywords of the search."""


def draw(context: Context, record: Alternatives) -> None:
    """Draw the table and what is pinned."""
    shown = _filters(context, record)
    if not shown:
        st.info("No listed tree passes these filters.")
        return
    pinned = _table(context, record, shown)
    _actions(context, record, shown, pinned)
    _pinned(context, record, pinned)


def _filters(context: Context, record: Alternatives) -> list[Alternative]:
    """Numeric filters on the listed trees."""
    has_gap = record.trees[0].parity_gap is not None
    *places, words_place = st.columns(
        [3, 3, 3, 3, 4] if has_gap else [3, 3, 3, 4], vertical_alignment="bottom"
    )
    percent: dict[str, Any] = {"min_value": 0.0, "max_value": 100.0, "placeholder": "any"}
    worth = "Right" if record.trees[0].test_accuracy is None else "Held out"
    least = places[0].number_input(
        f"{worth}, at least %", value=None, key="alternatives_least", **percent
    )
    classes = list(context.train.classes)
    label = places[1].selectbox(
        "Recall of",
        classes,
        index=None,
        format_func=lambda c: text.printable(c, 30),
        key=session.widget_key("alternatives_recall_of", *classes),
        placeholder="no class",
    )
    floor = places[2].number_input(
        "is at least %", value=90.0, key="alternatives_floor", disabled=label is None, **percent
    )
    most = None
    if has_gap:
        most = places[3].number_input(
            "Fairness gap, at most %",
            value=None,
            key="alternatives_gap",
            help="Between the shares of positive predictions of the groups chosen above.",
            **percent,
        )
    shown = []
    for entry in record.trees:
        share = entry.accuracy if entry.test_accuracy is None else entry.test_accuracy
        if least is not None and share < least / 100 - 1e-12:
            continue
        if label is not None and entry.recalls[classes.index(label)] < floor / 100 - 1e-12:
            continue
        gap = entry.parity_gap
        if most is not None and gap is not None and gap > most / 100 + 1e-12:
            continue
        shown.append(entry)
    listed = len(record.trees)
    words = f"{len(shown):,} of the {'' if record.count <= listed else 'best '}{listed:,} listed"
    words_place.caption(f"{words}; {record.count:,} altogether.")
    return shown


def _table(context: Context, record: Alternatives, shown: list[Alternative]) -> list[Alternative]:
    """Draw the table; returns the pinned trees, in its order."""
    lines = [
        {
            "tree": record.trees.index(entry) + 1,
            "points below": 100 * entry.loss,
            "leaves": entry.tree.n_leaves,
            "right": entry.accuracy,
            "held out": entry.test_accuracy,
            "features": ", ".join(text.printable(name, 20) for name in entry.features),
            **{
                f"recall {text.printable(label, 16)}": entry.recalls[k]
                for k, label in enumerate(context.train.classes)
            },
            "fairness gap": entry.parity_gap,
        }
        for entry in shown
    ]
    frame = pd.DataFrame(lines).dropna(axis="columns", how="all")
    shares = [c for c in frame.columns if c in {"right", "held out", "fairness gap"}]
    shares += [c for c in frame.columns if c.startswith("recall ")]
    frame[shares] = 100 * frame[shares]
    event = chart.table(
        frame,
        session.widget_key(TABLE, context.task, len(shown)),
        "The near-optimal trees with their worth; mark one or two rows",
        height=TABLE_HEIGHT,
        on_select="rerun",
        selection_mode="multi-row",
        column_config={
            **{name: st.column_config.NumberColumn(format="%.1f %%") for name in shares},
            "points below": st.column_config.NumberColumn(format="%.3f"),
        },
    )
    return [shown[k] for k in event["selection"]["rows"][:PINNED]]


def _actions(
    context: Context, record: Alternatives, shown: list[Alternative], pinned: list[Alternative]
) -> None:
    """Keep a tree as a run, and take trees away as files."""
    smallest = record.smallest
    chosen = pinned[0] if pinned else None
    with st.container(horizontal=True, vertical_alignment="center"):
        if st.button(
            "Keep the marked tree as a run" if chosen else "Mark a tree to keep it as a run",
            type="primary",
            icon=":material/add_task:",
            key="alternatives_keep",
            disabled=chosen is None,
        ):
            assert chosen is not None
            _keep(context, record, chosen)
        if st.button(
            "Compare it with the run",
            icon=":material/compare:",
            key="alternatives_compare",
            disabled=chosen is None,
            help="Keep the marked tree as a run, and put it beside the one that you came from.",
        ):
            assert chosen is not None
            _keep(context, record, chosen, beside=context.run_id)
        if smallest is not None and st.button(
            f"Smallest within {points_words(record.tolerance)}: "
            f"{text.count(smallest.tree.n_leaves, 'leaf')}",
            icon=":material/compress:",
            key="alternatives_smallest",
            help="Keep the best of the trees with fewest leaves as a run.",
        ):
            _keep(context, record, smallest)
        _downloads(context, record, shown)


def _keep(context: Context, record: Alternatives, entry: Alternative, beside: str = "") -> None:
    """Make a run of a tree and open it, `beside` another run if one is given."""
    leaves, data = text.count(entry.tree.n_leaves, "leaf"), context.data

    def keep() -> str:
        run = chosen_run(data, context.search, entry.tree, record.optimum, record.seconds)
        title = f"{leaves}, chosen among good trees on {data.name}"
        return jobs.supervisor().keep(session.token(), data, run, title)

    kept = inputs.tried(keep)
    if kept is not None and beside:
        session.compare((beside, kept))
        session.open_page("compare")
    elif kept is not None:
        session.open_page("explore", kept)


def _downloads(context: Context, record: Alternatives, shown: list[Alternative]) -> None:
    train, encoding = context.train, record.encoding
    entries = [(entry.tree, entry.objective) for entry in shown]
    for label, name, make, words in (
        (
            "TimberTrek",
            "trees.timbertrek.json",
            lambda: json.dumps(timbertrek(entries, train, encoding)),
            "in the form that TimberTrek reads.",
        ),
        (
            "Rules",
            "trees.csv",
            lambda: frame_to_csv(rules_table(entries, train, encoding)),
            "as IF-THEN rules, one line per leaf.",
        ),
    ):
        words, key = f"The listed trees {words}", f"alternatives_{label.lower()}"
        inputs.download(label, name, make, key, help=words, width="content")


def _pinned(context: Context, record: Alternatives, pinned: list[Alternative]) -> None:
    """Draw the pinned trees side by side, with what differs marked."""
    if not pinned:
        st.caption("Mark one row to see the tree, two to compare them.")
        return
    marks: list[frozenset[int]] = [frozenset()] * len(pinned)
    if len(pinned) == PINNED:
        first, second = pinned
        difference = difference_data(
            (first.tree, record.encoding), (second.tree, record.encoding), context.train
        )
        marks = [difference.before, difference.after]
        st.caption(difference.words)
    for place, entry, nodes in zip(st.columns(len(pinned)), pinned, marks, strict=True):
        with place:
            _tree(context, record, entry, nodes)


def _tree(
    context: Context, record: Alternatives, entry: Alternative, nodes: frozenset[int]
) -> None:
    number = record.trees.index(entry) + 1
    held = "" if entry.test_accuracy is None else f", {text.percent(entry.test_accuracy)} held out"
    below = f", {points_words(entry.loss)} below the proven optimum" if entry.loss else ""
    st.markdown(f"**Tree {number}**: {text.percent(entry.accuracy)} right{held}{below}")
    words = "near-optimal" if entry.loss else "proven optimal"
    view = run_summary.view_of(entry.tree, record.encoding, context.train, words, not entry.loss)
    key = session.widget_key("alternative", context.task, number)
    run_summary.still_tree(view, key, marked=nodes)
