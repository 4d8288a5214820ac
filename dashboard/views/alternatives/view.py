"""The near-optimal trees of a run: the question, views of the answer, and the trees one by one."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

import pandas as pd
import streamlit as st

from dashboard import cached, session
from dashboard.server import jobs
from dashboard.server.job_view import JobView
from dashboard.views.alternatives import pictures
from dashboard.views.what_if import questions
from dashboard.views.what_if.questions import Conditions
from dashboard.widgets import chart, inputs, live, proofs, run_summary
from dashboard.widgets.inputs import lazy_tabs
from octcore.data.dataset import Dataset
from octcore.data.export import frame_to_csv
from octcore.formulations.base import accuracy_words, loss_words
from octcore.plotting import text
from octcore.plotting.difference import condition_words, difference_data
from octcore.plotting.tree_view import tree_view_data
from octcore.selection.alternatives import ROUNDING, Alternative, Alternatives
from octcore.selection.near_optimal_export import rules_table, timbertrek
from octcore.solving.prepare import split_rows
from octcore.solving.run import Run, SolvedRun

POINTS = (0.0, 0.25, 0.5, 1.0, 1.5, 2.0, 3.0, 5.0)
FIRST_POINTS = 1.0
TASK, TASK_SECONDS = "alternatives", 400.0
"""The search itself ends after a minute; compiling it, once per installation, may take longer."""
MOST_REQUIRED, MOST_GROUPS = 4, 10


def draw(view: JobView, run: SolvedRun) -> None:
    """Draw question and answer for a finished run."""
    data = jobs.rows(view) or run.train
    conditions = _form(run, data)
    search = questions.search_settings(run, data, conditions.tolerance)
    settings = {"search": search, "conditions": asdict(conditions)}
    answer = partial(_answer, view.id, run, data, search, conditions)
    question = (TASK, view.id, data, settings, TASK_SECONDS)
    live.answer(*question, draw=answer, doing="Counting the good trees", at_once=True)


def _form(run: Run, data: Dataset) -> Conditions:
    """Draw the conditions; they hold for every view below."""
    places = st.columns([5, 4, 4, 2, 3], vertical_alignment="bottom")
    points = places[0].select_slider(
        "Within so many points of the optimum",
        POINTS,
        value=FIRST_POINTS,
        format_func=lambda v: f"{v:g}",
        **session.kept("alternatives_points"),
        help=f"In the objective: {accuracy_words(run.settings)} minus the price of the leaves. A "
        "tree exactly on the border is in.",
    )
    names = list(run.encoding.raw_features)
    required = places[1].multiselect(
        "Must use",
        names,
        max_selections=MOST_REQUIRED,
        wrap=True,
        **session.kept("alternatives_with", *names),
    )
    banned = places[2].multiselect(
        "Must not use",
        [name for name in names if name not in required],
        wrap=True,
        **session.kept("alternatives_without", *names),
    )
    leaves = session.kept("alternatives_leaves")
    most = places[3].number_input("Most leaves", 1, 32, None, 1, placeholder="any", **leaves)
    groups = places[4].selectbox(
        "Groups to be fair to",
        [name for name in data.feature_names if len(data.frame[name].unique()) <= MOST_GROUPS],
        index=None,
        **session.kept("alternatives_groups", *names),
        placeholder="none",
        help="Shows how far the shares of positive predictions are apart between its groups.",
    )
    price = float(questions.search_settings(run, data, 0.0)["params"]["leaf_penalty"])
    reaches = points / 100 >= price
    gain = st.toggle(
        "Every split lowers the errors",
        value=reaches,
        **session.kept(f"alternatives_gain_{reaches}"),
        help="Within the price of a leaf of the optimum any tree may have a split that changes no "
        "answer; such trees are left out.",
    )
    most = None if most is None else int(most)
    return Conditions(points / 100, tuple(required), tuple(banned), most, groups, gain)


def _answer(
    run_id: str,
    run: Run,
    data: Dataset,
    search: dict[str, Any],
    conditions: Conditions,
    job: JobView,
) -> None:
    task = job.id
    record = cached.once_per_run(
        task, TASK, lambda: Alternatives.from_dict((job.result or {})["alternatives"])
    )
    train = split_rows(data, float(search["test_size"]), int(search["seed"]))[0]
    _headline(run, record, search)
    if not record.count:
        _none(run_id, data, questions.best_settings(search, conditions), record)
        return
    lazy_tabs(
        {
            "How many": partial(pictures.counts, task, record, search),
            "Features": partial(pictures.features, task, record),
            "Paths": partial(pictures.paths, task, record),
            "Shapes": partial(pictures.shapes, run_id, data, search, conditions),
            "Trees": partial(draw_trees, Context(run_id, task, data, train, search, record)),
            "Rows": partial(pictures.rows, task, record, train),
        },
        key="alternatives_tabs",
    )


def _none(
    run_id: str, data: Dataset, settings: dict[str, Any] | None, record: Alternatives
) -> None:
    """Say how far from the optimum the best tree under the conditions is, with its proof."""
    st.info("No tree meets all of this; allow more leaves, more points or other features.")
    if settings is None:
        st.caption("What the best such tree is cannot be asked: no search knows *must use*.")
        return
    if not settings["constraints"]:
        return
    words = condition_words(settings["constraints"])
    question = f"best:{json.dumps(settings, default=str)}"
    started = live.solve(question, run_id, data, settings)
    if started is None:
        return
    key = started.id

    def answer() -> None:
        view = jobs.view(key)
        if view is None or not view.is_final:
            st.caption(f"Searching the best tree {text.markdown(words, 200)} …")
        elif (run := view.solved) is None or run.objective is None:
            live.no_result(view, "No such tree was found in the time.", (question, run_id))
        else:
            loss = record.optimum - run.objective
            below = loss_words(max(loss, 0.0), settings)
            proven = "proven" if run.is_proven else "not proven"
            best = f"The best tree {words} is {below} below the optimum ({proven}"
            st.markdown(f"**{text.markdown(best, 300)}).**")
            if loss <= record.tolerance + ROUNDING:
                st.caption(
                    "It parts the rows like a tree with a column that must not be used; the count "
                    "takes both for one."
                )
            claim = f"no tree {words} has a higher objective than {text.fixed(run.objective)}"
            proofs.file(view.id, run, text.markdown(claim, 300))

    live.until(lambda: live.all_final([jobs.view(key)]), answer)


def _headline(run: Run, record: Alternatives, search: dict[str, Any]) -> None:
    shown = text.count(record.count, "tree")
    of_all = "" if record.count == record.total else f" of {record.total:,}"
    st.markdown(
        f"**{shown}{of_all}** within {loss_words(record.tolerance, search)} of the proven "
        f"optimum {text.number(record.optimum)}; counted exactly in {text.seconds(record.seconds)}."
    )
    if record.statements:
        st.caption(text.markdown(f"Read so: {'; '.join(record.statements)}.", 400))
    notes = []
    if run.encoding.key != search["encoding"]:
        notes.append(
            f"Your tree was found by {run.asked.info.title}; counted are trees of one column per "
            "split on all thresholds, and their optimum is that of these."
        )
    if run.depth > search["depth"]:
        notes.append(
            f"Your tree may have depth {run.depth}; counted are those of {search['depth']}."
        )
    if missing := questions.left_out(run):
        notes.append(f"Your tree keeps to this, and these need not: {condition_words(missing)}.")
    if price := questions.foreign_price(run, search):
        notes.append(price)
    for name, others in record.same_columns.items():
        notes.append(f"{name} stands for {', '.join(others)}, which part the rows alike.")
    for note in notes[:3]:
        st.caption(text.markdown(note, 400))


TABLE_HEIGHT = 250
PINNED = 2
TABLE = "alternatives_table"


@dataclass(frozen=True, eq=False)
class Context:
    """What the trees are about."""

    run_id: str  # the run that is looked at
    task: str  # what counted
    data: Dataset  # all rows
    train: Dataset  # those of the search
    search: Mapping[str, Any]  # keywords of the search
    record: Alternatives


def draw_trees(context: Context) -> None:
    """Draw the table and what is pinned."""
    shown = _filters(context)
    if not shown:
        st.info("No listed tree passes these filters.")
        return
    pinned = _table(context, shown)
    _actions(context, shown, pinned)
    _pinned(context, pinned)


def _filters(context: Context) -> list[Alternative]:
    record = context.record
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
        if least is not None and (share is None or share < least / 100 - 1e-12):
            continue
        recall = None if label is None else entry.recalls[classes.index(label)]
        if label is not None and (recall is None or recall < floor / 100 - 1e-12):
            continue
        gap = entry.parity_gap
        if most is not None and gap is not None and gap > most / 100 + 1e-12:
            continue
        shown.append(entry)
    listed = len(record.trees)
    words = f"{len(shown):,} of the {'' if record.count <= listed else 'best '}{listed:,} listed"
    words_place.caption(f"{words}; {record.count:,} altogether.")
    return shown


def _table(context: Context, shown: list[Alternative]) -> list[Alternative]:
    """Draw the table; returns the pinned trees, in its order."""
    recalls = [f"recall {text.printable(label, 30)}" for label in context.train.classes]
    lines = [
        {
            "tree": context.record.trees.index(entry) + 1,
            "points below": 100 * entry.loss,
            "leaves": entry.tree.n_leaves,
            "right": entry.accuracy,
            "held out": entry.test_accuracy,
            "features": ", ".join(text.printable(name, 20) for name in entry.features),
            **dict(zip(recalls, entry.recalls, strict=True)),
            "fairness gap": entry.parity_gap,
        }
        for entry in shown
    ]
    event = chart.table(
        pd.DataFrame(lines).dropna(axis="columns", how="all"),
        session.widget_key(TABLE, context.task, hash(tuple(line["tree"] for line in lines))),
        "The near-optimal trees with their worth; mark one or two rows",
        shares=["right", "held out", "fairness gap", *recalls],
        height=TABLE_HEIGHT,
        on_select="rerun",
        selection_mode="multi-row",
        column_config={"points below": st.column_config.NumberColumn(format="%.3f")},
    )
    return [shown[k] for k in event["selection"]["rows"][:PINNED]]


def _actions(context: Context, shown: list[Alternative], pinned: list[Alternative]) -> None:
    """Keep a tree as a run, and take trees away as files."""
    record, smallest = context.record, context.record.smallest
    chosen = pinned[0] if pinned else None
    with st.container(horizontal=True, vertical_alignment="center"):
        is_kept = st.button(
            "Keep the marked tree as a run" if chosen else "Mark a tree to keep it as a run",
            type="primary",
            icon=":material/add_task:",
            key="alternatives_keep",
            disabled=chosen is None,
        )
        is_compared = st.button(
            "Compare it with the run",
            icon=":material/compare:",
            key="alternatives_compare",
            disabled=chosen is None,
            help="Keep the marked tree as a run, and put it beside the one that you came from.",
        )
        if chosen is not None and (is_kept or is_compared):
            _keep(context, chosen, context.run_id if is_compared else "")
        if smallest is not None and st.button(
            f"Smallest within {loss_words(record.tolerance, context.search)}: "
            f"{text.count(smallest.tree.n_leaves, 'leaf')}",
            icon=":material/compress:",
            key="alternatives_smallest",
            help="Keep the best of the trees with fewest leaves as a run.",
        ):
            _keep(context, smallest)
        _downloads(context, shown)


def _keep(context: Context, entry: Alternative, beside: str = "") -> None:
    """Make a run of a tree and open it, `beside` another run if one is given."""
    leaves, data, record = text.count(entry.tree.n_leaves, "leaf"), context.data, context.record

    def keep() -> str:
        run = questions.chosen_run(data, context.search, entry.tree, record.optimum, record.seconds)
        title = f"{leaves}, chosen among good trees on {data.name}"
        return jobs.supervisor().keep(session.token(), data, run, title)

    kept = inputs.tried(keep)
    if kept is not None and beside:
        session.compare((beside, kept))
        session.open_page("compare")
    elif kept is not None:
        session.open_page("explore", kept)


def _downloads(context: Context, shown: list[Alternative]) -> None:
    entries = [(entry.tree, entry.objective) for entry in shown]
    listed = (entries, context.train, context.record.encoding)
    for label, name, make, words in (
        ("TimberTrek", "trees.timbertrek.json", lambda: json.dumps(timbertrek(*listed)),
         "in the form that TimberTrek reads."),
        ("Rules", "trees.csv", lambda: frame_to_csv(rules_table(*listed)),
         "as IF-THEN rules, one line per leaf."),
    ):  # fmt: skip
        words, key = f"The listed trees {words}", f"alternatives_{label.lower()}"
        inputs.download(label, name, make, key, help=words, width="content")


def _pinned(context: Context, pinned: list[Alternative]) -> None:
    """Draw the pinned trees side by side, with what differs marked."""
    if not pinned:
        st.caption("Mark one row to see the tree, two to compare them.")
        return
    marks: list[frozenset[int]] = [frozenset()] * len(pinned)
    if len(pinned) == PINNED:
        first, second = ((entry.tree, context.record.encoding) for entry in pinned)
        difference = difference_data(first, second, context.train)
        marks = [difference.before, difference.after]
        st.caption(difference.words)
    for place, entry, nodes in zip(st.columns(len(pinned)), pinned, marks, strict=True):
        with place:
            _pinned_tree(context, entry, nodes)


def _pinned_tree(context: Context, entry: Alternative, nodes: frozenset[int]) -> None:
    record = context.record
    number = record.trees.index(entry) + 1
    held = "" if entry.test_accuracy is None else f", {text.percent(entry.test_accuracy)} held out"
    loss = loss_words(entry.loss, context.search)
    below = f", {loss} below the proven optimum" * bool(entry.loss)
    st.markdown(f"**Tree {number}**: {text.percent(entry.accuracy)} right{held}{below}")
    words = "Near-optimal" if entry.loss else "Proven optimal"
    view = tree_view_data(entry.tree, record.encoding, context.train, words, not entry.loss)
    key = session.widget_key("alternative", context.task, number)
    run_summary.still_tree(view, key, marked=nodes)
