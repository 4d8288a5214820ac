"""The penalty path in the app: settings, its chart, and the tree of a chosen size."""

from collections.abc import Mapping
from functools import partial
from typing import Any

import streamlit as st

from dashboard import cached, session
from dashboard.server import jobs
from dashboard.server.job_view import JobView
from dashboard.views.solve import advice, new_rows
from dashboard.views.what_if import questions
from dashboard.widgets import chart, constraint_form, inputs, live, run_summary, start
from octcore.data.dataset import Dataset
from octcore.formulations.base import get_formulation
from octcore.formulations.shared.constraint_kinds import BY_SUBTREE
from octcore.plotting import text
from octcore.plotting.difference import condition_words
from octcore.plotting.price_paths import penalty_path_figure
from octcore.plotting.tree_view import tree_view_data
from octcore.selection.penalty_path import FORMULATION, PathStep, PenaltyPath
from octcore.selection.repeated_splits import N_SPLITS, Size, recommended
from octcore.solving.prepare import split_rows
from octcore.solving.settings import Asked

TASK, TIME_LIMIT = "path", 120.0
ENCODINGS = {
    "All thresholds": "raw",
    **{key: key for key in ("QT-5", "QB-5", "QT-8", "QB-8", "class-change")},
}
"""What splits test, by its name here; others have their own."""
FIRST_ENCODING = "All thresholds"
DEPTH = 3
SIZES = frozenset({"max_leaves", "max_splits"})  # side constraints that every size has for itself
CHART = "path_chart"


def draw(data: Dataset, view: JobView | None) -> None:
    """Draw settings and result; `view`: the run whose rows these are, whose settings come first."""
    settings, encodings, pressed = _form(data, view)
    found: dict[str, str] = {}
    for name in encodings:
        asked = {**settings, "encoding": ENCODINGS.get(name, name)}
        question = (TASK, cached.data_token(data), data, asked)
        words = f"{name}: searching the optimal tree of every size"
        if task := live.answer(*question, pressed=pressed, draw=lambda _: None, doing=words):
            found[name] = task
    searches = {name: jobs.task(task) for name, task in found.items()}
    if pressed is None and not encodings:
        st.info("Choose what splits test.")
    elif pressed is not None and (len(searches) < len(encodings) or not searches):
        st.info(
            "Press **Compute**: every number of leaves gets its optimal tree, and you see what "
            "another leaf buys."
        )
    elif searches and live.all_final(searches.values()):
        _result(data, settings, searches, view)


def _form(data: Dataset, view: JobView | None) -> tuple[dict[str, Any], list[str], bool | None]:
    """Draw the form; returns settings, lines, and whether it was pressed.

    None: there is no button, as the page was opened to see the sizes of a tree that was found, and
    they come while one waits.
    """
    run = Asked.of({} if view is None else view.settings)
    solved = None if view is None else view.run
    own = ENCODINGS[FIRST_ENCODING] if solved is None else questions.encoding_of(solved)
    first = next((name for name, value in ENCODINGS.items() if value == own), own)
    share_of_run = start.HELD_OUT if view is None else run.test_size
    if solved is not None:  # nothing is held out from training rows alone
        share_of_run = questions.base_settings(solved, data)["test_size"]

    def kept(name: str) -> dict[str, Any]:
        return session.kept("path", name, session.run_id())

    places = st.columns([4, 2, 2, 2], vertical_alignment="bottom")
    encodings = places[0].multiselect(
        "Splits on",
        tuple(dict.fromkeys((*ENCODINGS, first))),
        default=first,
        max_selections=3,
        wrap=True,
        **kept("encodings"),
        help="QT-q: thresholds at quantiles only. QB-q: buckets between them. Class change: "
        "thresholds where neighbours differ in their class. Each gets its own line.",
    )
    depth = places[1].number_input(
        "Depth", 1, 5, DEPTH if view is None else min(5, run.depth), **kept("depth")
    )
    share = places[2].select_slider(
        "Held out",
        sorted({*(percent / 100 for percent in range(0, 55, 5)), share_of_run}),
        value=share_of_run,
        format_func=lambda share: f"{100 * share:.3g} %",
        **kept("held"),
        help="Rows that the search never sees; stratified by class.",
    )
    pressed = None
    if solved is None or depth > DEPTH or not start.is_quick(data):
        pressed = inputs.wide_button(
            "Compute", "stairs", "path_compute", places[3], disabled=not encodings
        )
    settings = {"depth": int(depth), "time_limit": TIME_LIMIT, "test_size": share, "seed": run.seed}
    if view is not None:
        return settings | _kept(run), list(encodings), pressed
    with st.expander("Errors cost different amounts", icon=":material/balance:"):
        settings |= constraint_form.cost_form(get_formulation(FORMULATION).info, data)
    return settings, list(encodings), pressed


def _kept(run: Asked) -> dict[str, Any]:
    """What a run asks of its trees and answers, besides their size, as far as every size can."""
    kept = {name: run.constraints[name] for name in run.constraints if name not in SIZES}
    left = {name: kept.pop(name) for name in set(kept) - BY_SUBTREE}
    words = ["Answers cost what they cost in your run."] * run.has_task
    if run.info.split_kind != "univariate":
        words.append("Your tree cuts by sums of columns; these trees test one column per split.")
    if kept:
        words.append(f"Kept from your run: {condition_words(kept)}.")
    if left:
        words.append(f"Not kept, since it ties parts of a tree together: {condition_words(left)}.")
    if words:
        st.caption(text.markdown(" ".join(words), 600))
    return {"constraints": kept, "costs": run.costs, "refer": run.refer}


def _result(
    data: Dataset,
    settings: Mapping[str, Any],
    searches: Mapping[str, JobView],
    view: JobView | None,
) -> None:
    paths: dict[str, PenaltyPath] = {}
    for name, search in searches.items():
        if (found := search.result) is not None:
            read = partial(PenaltyPath.from_dict, found["path"])
            paths[name] = cached.once_per_run(search.id, TASK, read)
    if not paths:
        return
    sizes = _on_other_splits(data, settings, next(iter(paths)), view)
    if sizes:
        words = new_rows.right_size_words(sizes, Asked.of(settings).constraints)
        st.markdown(f"**Which size?** {text.markdown(words, 300)}")
    selected = _selected(paths, sizes)
    point = next(p for p in paths[selected[0]].steps if p.leaves == selected[1])
    what = paths[selected[0]].measure.capitalize()
    st.markdown(f"**{what} against size**")
    chart.show(
        penalty_path_figure(paths, session.palette(), selected, sizes),
        key=CHART,
        alt=f"{what} of the optimal tree for every number of leaves: "
        + "; ".join(f"{name} up to {text.percent(p.steps[-1].worth)}" for name, p in paths.items()),
        on_select=_clicked,
    )
    spent = (f"{text.markdown(n)} in {text.seconds(p.seconds)}" for n, p in paths.items())
    st.caption(
        "Filled points win for some leaf penalty, open ones never do. "
        f"Every tree is proven optimal for its size; {', '.join(spent)}."
    )
    _chosen(data, settings, paths, selected, point)


def _clicked() -> None:
    points = st.session_state[CHART]["selection"]["points"]
    if points and points[0].get("customdata"):
        label, leaves = points[0]["customdata"][:2]
        session.state().path_step = (str(label), int(leaves))


def _on_other_splits(
    data: Dataset, settings: Mapping[str, Any], name: str, view: JobView | None
) -> tuple[Size, ...]:
    """Every size over further splits of the rows, as soon as all are tried; none with costs."""
    if Asked.of(settings).has_task:
        return ()
    run = None if view is None else view.solved
    own = None if view is None or run is None else new_rows.asked(view, run)
    search = {"encoding": ENCODINGS.get(name, name), "params": {"leaf_penalty": 0.0}}
    asked = new_rows.of_search({"constraints": {}, **settings, **search}, data)
    if own is not None and {**own, "leaf_penalty": 0.0} == asked:
        asked = own  # has been asked on the page Solve
    question = new_rows.TASK, cached.data_token(data), data, asked
    words = f"Trying all sizes on {N_SPLITS} splits of the rows"
    return new_rows.sizes_told(live.answer(*question, draw=lambda _: None, doing=words))


def _selected(paths: Mapping[str, PenaltyPath], sizes: tuple[Size, ...]) -> tuple[str, int]:
    """The chosen point; at first the size that new rows ask for, else the largest that wins."""
    label, leaves = session.state().path_step
    if label in paths and any(p.leaves == leaves for p in paths[label].steps):
        return label, leaves
    label = next(iter(paths))
    points = paths[label].steps
    if sizes:
        asked = [p.leaves for p in points if p.leaves <= recommended(sizes).leaves]
        return label, (asked or [points[0].leaves])[-1]
    return label, ([p.leaves for p in points if p.wins] or [points[-1].leaves])[-1]


def _chosen(
    data: Dataset,
    settings: Mapping[str, Any],
    paths: Mapping[str, PenaltyPath],
    selected: tuple[str, int],
    point: PathStep,
) -> None:
    label, leaves = selected
    options = [(name, step.leaves) for name, path in paths.items() for step in path.steps]
    picked = st.selectbox(
        "Tree",
        options,
        index=options.index(selected),
        format_func=lambda o: f"{o[0]}, {text.count(o[1], 'leaf')}",
        key=session.widget_key("path_tree", label, leaves),
        help="Or click a point in the chart.",
    )
    if picked != selected:
        session.state().path_step = picked
        st.rerun()
    held = "" if point.test_worth is None else f", {text.percent(point.test_worth)} held out"
    measure = paths[label].measure
    what = " right" if measure == "accuracy" else f" as {measure}"
    left, right = st.columns([4, 1], vertical_alignment="center")
    left.markdown(f"**{text.percent(point.worth)}{what}{held}**; {point.range_words}.")
    with right:
        solve = {**settings, "formulation": FORMULATION, "encoding": ENCODINGS.get(label, label)}
        start.start_button("Use this tree", "path_use", advice.of_size(solve, leaves), data=data)
    asked = Asked.of(settings)
    train = split_rows(data, asked.test_size, asked.seed)[0]
    view = tree_view_data(point.tree, paths[label].encoding, train, "Proven optimal", True)
    run_summary.still_tree(view, session.widget_key("path_step", label, leaves))
