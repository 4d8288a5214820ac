"""One run in a few numbers, its badge and its tree."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import streamlit as st

from dashboard import cached, session
from dashboard.teaching.lessons import is_presented
from dashboard.widgets import chart, thresholds
from dashboard.widgets.component import make_component
from octcore.plotting import text
from octcore.plotting.tree_view import TreeView, component_data, tree_view_data, with_spans
from octcore.reports.summary import Summary, answer_words, counts_words, summary
from octcore.solving.run import Run, SolvedRun
from octcore.solving.settings import AUTO

METRIC_WIDTH = 150  # in pixels; as many fit on a line as there is room for

STOP_WORDS = {
    "optimal": "proven optimal",
    "gap_limit": "stopped at the gap that was asked for or that rounding leaves",
    "time_limit": "stopped at the time limit",
    "node_limit": "stopped at the node limit",
    "cancelled": "stopped early; the best tree so far is kept",
    "infeasible": "no tree satisfies the constraints, this is proven",
    "error": "ended by an error",
}


def badge(run: Run) -> None:
    """Say what is proven, by what, and what the proof covers."""
    words = badge_words(run)
    if run.certificate.verified is False:
        st.badge(words, icon=":material/gpp_bad:", color="red")
    elif run.is_proven:
        st.badge(words, icon=":material/verified:", color="green")
    elif run.certificate.method == "heuristic":
        st.badge(words, icon=":material/bolt:", color="gray")
    else:
        st.badge(words, icon=":material/hourglass_bottom:", color="orange")


def statements(run: Run) -> None:
    """List what the proof covers and what was remarked during the solve."""
    for statement in (*run.certificate.sentences, *run.findings):
        st.caption(text.markdown(statement, 400))


def headline(run_id: str, run: Run) -> None:
    """Say first what the tree does on rows that it has not seen."""
    if run.asked.has_task:
        which = "held-out" if run.n_test else "training"
        cost = run.test_mean_cost if run.n_test else run.mean_cost
        asked = run.test_referred if run.n_test else run.referred
        told = [("Mean cost", text.number(cost), f"Of the answers, over the {which} rows.")]
        if run.asked.refer is not None:
            words = f"Share of the {which} rows that a person is asked about; accuracy counts the "
            told.append(("A person is asked", text.percent(asked), f"{words}rest."))
        chart.numbers(told, METRIC_WIDTH)
    found = known_summary(run_id, run)
    if found is not None:
        answer = text.markdown(answer_words(found), 400)
        st.markdown("## " + answer.replace(" %", "\N{NO-BREAK SPACE}%"))
        st.caption(text.markdown(counts_words(found), 600))


def known_summary(run_id: str, run: Run) -> Summary | None:
    """The counts of a run, made once."""
    return cached.once_per_run(run_id, "summary", lambda: summary(run))


def proof(run: Run, more: Callable[[], None] | None = None) -> None:
    """Fold away what is proven, by what, and the numbers of the solver."""
    entries = (
        ("Objective", text.number(run.objective), "Of the formulation, recomputed by routing "
         "the training rows through the tree."),
        ("Bound", text.number(run.bound), "No tree can have a better objective than this."),
        ("Gap", text.gap(run.gap), "|bound - objective| / |objective|; 0 is a proof."),
        ("Engine", str(run.settings.get("engine", "–")), "What solved it."),
        ("Time", text.seconds(run.timings.get("total")), "From the start of encoding, building "
         "included."),
    )  # fmt: skip
    with st.expander("What is proven, in numbers", icon=":material/verified:"):
        statements(run)
        # A tree that was chosen among near-optimal ones was found by no engine of its own.
        chart.numbers(entry for entry in entries if entry[1] != AUTO)
        if more is not None:
            more()


def tree_view(run: SolvedRun) -> TreeView:
    """Record of the tree of a run, on its training rows."""
    view = tree_view_data(run.tree, run.encoding, run.train, badge_words(run), run.is_proven)
    return replace(view, refuted=run.certificate.verified is False)


def badge_words(run: Run) -> str:
    """Badge on the tree: the proof, or why there is none."""
    final = run.is_optimal or run.certificate.method in {"heuristic", "near-optimal"}
    if final or run.certificate.verified is False:
        return run.badge
    return f"{run.badge}; {STOP_WORDS.get(run.stop_reason, run.stop_reason)}"


def still_tree(
    view: TreeView,
    key: str,
    token: str = "",
    marked: frozenset[int] = frozenset(),
    others: Sequence[TreeView] = (),
) -> None:
    """Draw a tree in which nothing can be selected; the rest as in `component_data`."""
    data = component_data(view, session.palette(), token or key, marked=marked, others=others)
    show_tree(data, key, lambda _: None)


def small_tree(
    run_id: str,
    run: SolvedRun,
    path: tuple[int, ...] = (),
    others: Sequence[TreeView] = (),
    hint: str = "",
) -> None:
    """Draw the tree; a click selects the node for the Explore page as well.

    `hint`: what else a click does on this page.
    """
    view, selected = known_view(run_id, run), session.selected_node(run_id)
    view = with_spans(view, thresholds.spans(run_id, run))
    data = component_data(view, session.palette(), run_id, selected, path, others=others)
    data["hint"] = hint
    if others:  # several runs may have found it: each has its badge beside its name
        data["badge"] = ""

    def clicked(node: int) -> None:
        session.select_node(run_id, node)
        session.show_panel(run_id, session.NODE)

    show_tree(data, session.widget_key("tree", run_id), clicked)


def known_view(run_id: str, run: SolvedRun) -> TreeView:
    """Record of the tree of a run, made once, and anew when it was checked or bounded since."""
    return cached.once_per_run(run_id, f"tree, {badge_words(run)}", lambda: tree_view(run))


_show = make_component("tree_component", "node")


def show_tree(data: dict[str, Any], key: str, on_node: Callable[[int], None]) -> None:
    """Draw the tree; `on_node` receives the number of a node that was clicked."""
    big = is_presented(st.query_params)
    _show(data | {"big": big}, key, lambda node: on_node(int(node)))
