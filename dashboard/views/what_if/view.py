"""A what-if: its conditions, root values, the price, and both trees with their differences."""

from collections.abc import Mapping
from functools import partial
from typing import Any

import streamlit as st

from dashboard import session
from dashboard.server import jobs
from dashboard.server.job_view import JobView
from dashboard.views.compare import side_by_side
from dashboard.views.what_if import questions as what_if
from dashboard.widgets import chart, constraint_form, inputs, live, proofs, run_summary, thresholds
from octcore.data.dataset import Dataset
from octcore.formulations.base import get_formulation
from octcore.parameters import ByClass, Directions, Flag, IntRange, NamePairs, Parameter
from octcore.plotting import text
from octcore.plotting.difference import (
    change_words,
    condition_words,
    difference_data,
    price_data,
    price_words,
)
from octcore.plotting.thresholds import (
    MOST_FEATURES,
    RootValue,
    measure_of,
    root_values_data,
    root_values_figure,
)
from octcore.solving.column_values import ordered_columns
from octcore.solving.run import Run, SolvedRun
from octcore.solving.settings import Asked
from octcore.tree.constraints import ACCEPTED, ParityLimit

MOST_LEAVES_BESIDE = 3


def draw(view: JobView, run: SolvedRun) -> None:
    """Draw question and answer for a finished run."""
    data = jobs.rows(view) or run.train
    reference = live.solve("reference", view.id, data, what_if.reference_settings(run, data))
    if reference is None:
        return
    answer = jobs.view(session.answer(view.id))
    base = what_if.comparison_settings(run, data)
    if base is not None and _counts_from(run, answer) == "base":
        live.solve("base", view.id, data, base)
    given = {} if answer is None else what_if.added(run, Asked.of(answer.settings).constraints)
    left, right = st.columns([2, 3], gap="large")
    with left:
        st.fragment(_question)(view.id, run, data, given)
    with right:
        if answer is not None:  # first: the answer is seen without scrolling
            live.until(lambda: not _unsolved(view.id), lambda: _answer(view.id, run))
        elif session.answer(view.id):
            st.warning("The answer of this link is not on this server any more; ask again.")
        live.until(
            lambda: live.all_final([_follower("reference", view.id)]),
            lambda: _values(view.id, run),
            reference.is_final,
        )


def _counts_from(run: Run, answer: JobView | None) -> str:
    """The solve whose tree prices count from: an optimum under the run's own constraints.

    Empty for the run itself; else the search of the root values, or a solve of its own.
    """
    encoding = "" if answer is None else Asked.of(answer.settings).encoding
    if what_if.is_comparable(run, encoding):
        return ""
    is_other = what_if.left_out(run) or encoding not in ("", what_if.encoding_of(run))
    return "base" if is_other else "reference"


def _unsolved(run_id: str) -> list[JobView]:
    views = (_follower("base", run_id), jobs.view(session.answer(run_id)))
    return [view for view in views if view is not None and not view.is_final]


def _follower(what: str, run_id: str) -> JobView | None:
    return jobs.view(jobs.followers().get((what, run_id)))


def _known_values(run_id: str, run: Run) -> tuple[RootValue, ...]:
    """Root values of the search; none where it leaves out constraints of the run."""
    reference = _follower("reference", run_id)
    searched = reference.run if reference is not None and reference.is_final else None
    if searched is None or what_if.left_out(run):
        return ()
    known = run if what_if.is_comparable(run) else searched
    return root_values_data(searched.extras, searched.encoding, known.objective)


def _question(run_id: str, run: SolvedRun, data: Dataset, given: Mapping[str, Any]) -> None:
    st.header("Conditions", anchor=False)
    asked = _conditions(run_id, run, data, _known_values(run_id, run), given)
    able = what_if.able_for(run, what_if.together(run, asked))
    if not asked:
        st.caption("Choose at least one condition; the tree is then solved again under it.")
        return
    if not able:
        st.warning("No formulation can express all of these at this depth; ask for less.")
        return
    bins = f" (on {what_if.FALLBACK_ENCODING} thresholds)"
    titles = {
        key: get_formulation(key).info.title + bins * what_if.needs_bins(run, key) for key in able
    }
    formulation = st.selectbox(
        "Solved by",
        able,
        format_func=titles.__getitem__,
        key=session.widget_key("whatif", run_id, "by", len(able)),
        help="Formulations that can express these conditions, the quickest first; all have the "
        "same objective.",
    )
    key = session.widget_key("whatif", run_id, "ask")
    pressed = inputs.wide_button("What does it cost?", "sell", key)
    if pressed and start(run_id, run, data, asked, formulation):
        st.rerun()


def start(run_id: str, run: Run, data: Dataset, asked: Mapping[str, Any], formulation: str) -> bool:
    """Ask for the tree under conditions; returns whether that could be done."""
    settings = what_if.variant_settings(run, data, asked, formulation)
    started = inputs.tried(lambda: jobs.submit(session.token(), data, settings))
    if started is None:
        return False
    session.state().answers[run_id] = started
    return True


def _values(run_id: str, run: SolvedRun) -> None:
    reference = _follower("reference", run_id)
    if reference is None:
        st.rerun()
    values = _known_values(run_id, run)
    st.header("Value of every root feature", anchor=False)
    if get_formulation(run.formulation).info.split_kind != "univariate":
        st.caption("Your tree cuts by sums of columns. These are the values of trees that test one "
                   "column per split.")  # fmt: skip
    if not reference.is_final:
        told = text.markdown(reference.words, 200)
        words = f"Searching the best tree for every root feature: {told}"
        st.info(words, icon=":material/hourglass_top:")
        return
    missing = what_if.left_out(run)
    if missing:
        st.info(
            "There are none for your run: the search of these values cannot express "
            f"{text.markdown(condition_words(missing), 300)}. Prices below do count it.",
            icon=":material/filter_alt_off:",
        )
    elif not values:
        live.no_result(reference, "No value was proven in the time.", ("reference", run_id))
        return
    else:
        _root_values(reference, run, values)
    if what_if.has_values(run):
        _curve(run_id, run)


def _root_values(reference: JobView, run: SolvedRun, values: tuple[RootValue, ...]) -> None:
    root = run.tree.splits.get(1)
    chosen = None
    if root is not None and root.is_univariate:
        chosen = run.encoding.columns[root.features[0]].raw
    best = values[0]
    chart.show(
        root_values_figure(values, session.palette(), chosen, measure=measure_of(run)),
        key=session.widget_key("root_values", reference.id),
        alt=f"Best objective by root feature; the best is {best.feature} with {best.value:.4g}",
    )
    found, searched = [entry.feature for entry in values], reference.run
    drawn = found[:MOST_FEATURES]
    words = "The feature at the root of your tree is green." if chosen in drawn else ""
    assert searched is not None
    words = f"{words} {what_if.foreign_price(run, searched.settings)}"
    told = zip(searched.encoding.columns, searched.extras["root_values"], strict=True)
    # With those that have not even a bound no tree may begin.
    if late := {column.raw for column, value in told if value is not None} - {*found}:
        words += f" Of {text.count(len(late), 'further column')} no value was proven in the time."
    st.caption(words)


def _curve(run_id: str, run: SolvedRun) -> None:
    """Draw what every threshold of a chosen column is worth at the root."""
    column = st.selectbox(
        "Every threshold of",
        ordered_columns(run),
        index=None,
        placeholder="choose a column",
        key=session.widget_key("curve_of", run_id),
        help="The best tree for every threshold of this column at the root, proven.",
    )
    if column is None:
        return
    thresholds.draw(run_id, run, column, 1)


def _answer(run_id: str, run: SolvedRun) -> None:
    answer = jobs.view(session.answer(run_id))
    if answer is None:
        st.rerun()
    if waiting := _unsolved(run_id):
        for view in waiting:
            asked = Asked.of(view.settings)  # the form may hold other conditions by now
            told = text.markdown(f"{asked.info.title}, {condition_words(asked.constraints)}", 300)
            words = f"Solving with {told}: {text.markdown(view.words)}"
            st.info(words, icon=":material/hourglass_top:")
            if st.button("Stop and take the best so far", key=session.widget_key("stop", view.id)):
                jobs.supervisor().stop(view.id)
        return
    what, after = _counts_from(run, answer), answer.solved
    base = _follower(what, run_id) if what else None
    before = base.solved if base is not None and base.is_final else None if what else run
    if answer.run is not None and answer.run.status == "infeasible":
        words = f"No tree of depth {answer.run.depth} can keep to these conditions; this is proven."
        st.error(words)
        return
    if after is None:
        live.no_result(answer, "There is no tree to compare with yet.")
        return
    if before is None:
        words = "There is no optimum under your run's own constraints to count the price from."
        if base is None:
            st.warning(words)
        else:
            # That of the root values has its own way to try again, below.
            live.no_result(base, words, (what, run_id) if what == "base" else None)
        return
    given = Asked.of(answer.settings).constraints
    asked = what_if.added(run, given) or given
    price = price_data(before, after, what_if.same_objective(before, after))
    words = text.markdown(price_words(price, change_words(asked)), 500)
    st.markdown("## " + words.replace(" %", "\N{NO-BREAK SPACE}%"))
    told = what_if.compared_words(run, before, after, asked, price.is_proven)
    st.caption(text.markdown(told, 600))
    words = "Search the tree without the condition again"
    if what == "base" and not before.is_proven and live.again(what, run_id, label=words):
        jobs.followers().pop((what, run_id), None)
        st.rerun()
    _trees(run_id, before, after, answer.id)


def _trees(run_id: str, before: SolvedRun, after: SolvedRun, answer_id: str) -> None:
    difference = difference_data(
        (before.tree, before.encoding), (after.tree, after.encoding), before.train
    )
    st.caption(difference.words)
    views = [run_summary.tree_view(run) for run in (before, after)]
    # Beside each other only where the words in the boxes stay large enough to be read.
    is_small = max(run.tree.n_leaves for run in (before, after)) <= MOST_LEAVES_BESIDE
    left, right = st.columns(2, gap="small") if is_small else (st.container(), st.container())
    with left:
        st.markdown("**Without the condition**")
        key = session.widget_key("whatif_before", run_id)
        run_summary.still_tree(views[0], key, marked=difference.before, others=views)
    with right:
        st.markdown("**With the condition**")
        key = session.widget_key("whatif_after", answer_id)
        run_summary.still_tree(views[1], key, marked=difference.after, others=views)
    proofs.file(answer_id, after, "no tree under the condition is better than the second one")
    with st.expander("Both trees in numbers", icon=":material/table_chart:"):
        side_by_side.differences([before, after], ["Without the condition", "With the condition"])


SAME = "max_splits"  # says the same of a tree as `max_leaves`; one of them is enough here


def _of(*kinds: type[Parameter]) -> list[Parameter]:
    return [p for p in ACCEPTED if isinstance(p, kinds) and p.name != SAME]


def _conditions(
    run_id: str,
    run: SolvedRun,
    data: Dataset,
    values: tuple[RootValue, ...],
    given: Mapping[str, Any],
) -> dict[str, Any]:
    """Draw the conditions, `values` beside the features; returns those that are asked for.

    `given`: those of the answer, which the inputs of its own start from.
    """
    key = partial(session.widget_key, "whatif", run_id, session.answer(run_id))
    inputs_of = partial(constraint_form.constraint_inputs, data=data, key=key, given=given)
    stamp, asked = constraint_form.columns_stamp(data), dict[str, Any]()
    known = {entry.feature: entry for entry in values}
    used = run.encoding.tested(run.tree.used_features)
    asked["forbidden_features"] = st.multiselect(
        "Drop features",
        sorted(data.feature_names, key=lambda name: (name not in used, name)),
        default=[n for n in given.get("forbidden_features", ()) if n in data.feature_names],
        format_func=lambda name: f"{text.printable(name)} (used)" if name in used else name,
        placeholder="none",
        help="Raw columns that no split may test; those in use come first.\n\n`forbidden_features`",
        key=key("forbidden_features", stamp),
    )
    roots = sorted(data.feature_names, key=lambda n: -known[n].value if n in known else 1.0)
    root = given.get("root_feature")
    asked["root_feature"] = st.selectbox(
        "Start with",
        roots,
        index=roots.index(root) if root in roots else None,
        format_func=lambda name: (
            text.printable(name, 40) + (f" (V = {known[name].value:.4g})" if name in known else "")
        ),
        placeholder="any feature",
        help="Raw column that the root must test, with the best objective of any such tree.\n\n"
        "`root_feature`",
        key=key("root_feature", stamp),
    )
    asked |= inputs_of(_of(IntRange), per_line=3)
    with st.expander("Pairs and paths", icon=":material/link_off:"):
        asked |= inputs_of(_of(NamePairs, Flag))
    with st.expander("One way only: what may not turn round", icon=":material/trending_up:"):
        asked |= inputs_of(_of(Directions))
    with st.expander("Classes: recall and weights", icon=":material/balance:"):
        asked |= inputs_of(_of(ByClass))
    with st.expander("Fairness", icon=":material/groups:"):
        asked |= inputs_of(_of(ParityLimit))
    return constraint_form.asked_for(asked)
