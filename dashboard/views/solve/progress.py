"""A run on the Solve page: its progress, live, then answer, tree, what next and proof."""

import time
from functools import partial

import streamlit as st

from dashboard import cached, session
from dashboard.server import jobs
from dashboard.server.families import Family
from dashboard.server.job_view import JobView
from dashboard.views.explore import replay
from dashboard.views.solve import advice, new_rows
from dashboard.views.solve.advice import given_settings
from dashboard.widgets import (
    chart,
    data_thread,
    inputs,
    live,
    proofs,
    run_summary,
    start,
    thresholds,
)
from octcore.data.tasks import REFER
from octcore.formulations.base import objective_words
from octcore.plotting import text
from octcore.plotting.gap_plot import convergence_data, convergence_figure
from octcore.plotting.price_paths import refer_figure
from octcore.plotting.tree_view import TreeView, tree_view_data
from octcore.selection.refer_path import STEPS, ReferPoint
from octcore.solving.run import SolvedRun
from octcore.solving.settings import Asked

QUICK_BETWEEN = 0.25  # in the first seconds trees come fast
FIRST_LOOK, LOOK_SECONDS = 0.6, 0.02
"""So long after its start a solve is waited for before anything is drawn; pause between looks."""
LIVE_HEIGHT, LIVE_WIDTH = 260, 680
QUICK_UNTIL = 3.0
"""Most first trees are proven before that many seconds, and nobody wants to wait for the redraw."""


def draw(run_id: str | None) -> None:
    """Draw the run that the session looks at; polls only while it goes on."""
    view = _soon(run_id)
    if view is None:
        st.info("The tree and its proof appear here.", icon=":material/play_circle:")
        return
    data_thread.strip(view)
    _belongs_to(view)
    key = view.id

    is_quick = view.elapsed < QUICK_UNTIL  # then the page is drawn once more, and looks less often

    def is_over() -> bool:
        now = jobs.view(key)
        return now is None or now.is_final or (is_quick and now.elapsed >= QUICK_UNTIL)

    every = QUICK_BETWEEN if is_quick else live.SECONDS_BETWEEN
    live.until(is_over, lambda: _live(key), view.is_final, every)


def _soon(run_id: str | None) -> JobView | None:
    """Look at the run; at one that has just begun, a moment later.

    Most first trees are there by then, and need no second drawing of the page.
    """
    view = jobs.view(run_id)
    while view is not None and not view.is_final:
        if view.started is None or time.time() - view.started > FIRST_LOOK:
            break
        time.sleep(LOOK_SECONDS)
        view = jobs.view(run_id)
    return view


def _live(run_id: str) -> None:
    if (view := jobs.view(run_id)) is None:
        st.rerun()  # the page says that it was deleted meanwhile
    (_finished if view.is_final else _running)(view)


def _running(view: JobView) -> None:
    left, right = st.columns([3, 1], vertical_alignment="center")
    left.header(text.markdown(view.title, 90), anchor=False)
    with right:
        live.stop(view, words="Ends the solve and keeps the best tree so far.", width="stretch")
    limit, doing = Asked.of(view.settings).time_limit, view.doing
    if is_checking(view) and view.state != "stopping":
        doing = "the search has ended; its proof is being checked"
    st.progress(
        min(1.0, max(0.0, view.elapsed) / limit),
        text=f":material/autorenew: **{text.markdown(doing)}**, {text.seconds(view.elapsed)} "
        f"of {text.seconds(limit)}",
    )
    last = view.trace.events[-1] if len(view.trace) else None
    columns = st.columns(4)
    columns[0].metric("Best tree", text.number(last.incumbent if last else None))
    columns[1].metric("Bound", text.number(last.bound if last else None))
    columns[2].metric("Gap", text.gap(last.gap if last else None))
    columns[3].metric("Trees found", len(view.trace.incumbents))
    _chart(view)
    thresholds.draw_live(view)
    _incumbent_tree(view)


def is_checking(view: JobView) -> bool:
    """Whether the search has ended and only its verification goes on."""
    return bool(len(view.trace)) and view.trace.events[-1].kind == "finished"


def _incumbent_tree(view: JobView) -> None:
    found, data = view.trace.incumbents, view.data
    if not found or (best := found[-1].tree) is None or data is None:
        return
    words = f"best so far, found by {found[-1].source}; not proven"
    if is_checking(view):
        closed = view.trace.events[-1].source == "optimal"
        words = "proven optimal, being checked" if closed else "best found, being checked"

    def counted() -> TreeView | None:
        part = cached.training_part(data, view.settings)
        return part and tree_view_data(best, part[1], part[0], words, False)

    # Counting the rows of its nodes takes time; the page looks more often than there are new trees.
    tree = cached.once_per_run(view.id, f"incumbent {len(found)}, {words}", counted)
    if tree is not None:
        run_summary.still_tree(tree, session.widget_key("incumbent", view.id), view.id)


def _chart(view: JobView) -> None:
    absolute = inputs.switch("Chart", ["gap", "incumbent and bound"], "live_scale") != "gap"
    record = convergence_data(view.trace, objective_words(view.settings)).until(view.elapsed)
    if not any(g is not None for g in record.gap):
        st.caption("The chart starts with the first tree and the first bound.")
        return
    words = "Incumbent and bound over time" if absolute else "Relative gap over time"
    figure = convergence_figure(record, session.palette(), absolute, height=LIVE_HEIGHT)
    chart.live(figure, words, LIVE_WIDTH)


def _finished(view: JobView) -> None:
    st.caption(text.markdown(view.title, 90))
    if view.error is not None:
        inputs.say(view.error)
    if view.run is None:
        if view.error is None:
            st.info("The solve was stopped before there was a tree.")
        return
    if view.solved is None:
        run_summary.badge(view.run)
        run_summary.statements(view.run)
    else:
        _answer(view, view.solved)


def _belongs_to(view: JobView) -> None:
    """Draw what belongs to a run above it; nothing for most."""
    family = jobs.supervisor().family(view.id)
    if family is None:
        return
    if family.n_selected:
        words = f"Trained on {family.n_selected:,} of {family.train.n_samples:,} rows."
        if view.is_final and view.run is not None:
            run = view.run
            share, held = cached.once_per_run(view.id, "all rows", lambda: family.accuracy([run]))
            words += f" On all of them the tree is right for **{text.percent(share)}**"
            words += "." if held is None else f", on the held-out rows for {text.percent(held)}."
        st.info(words, icon=":material/filter_alt:")
    else:
        live.until(
            lambda: live.all_final(map(jobs.view, family.runs)), lambda: _family(view.id, family)
        )


def _family(run_id: str, family: Family) -> None:
    views = [view for run in family.runs if (view := jobs.view(run)) is not None]
    done = live.all_final(views)
    labels = [text.printable(label, 40) for label in family.train.classes]
    st.markdown(f"**One tree for each of {len(labels)} classes**")
    rows = {
        "class": labels[: len(views)],
        "state": [v.doing if v.run is None else v.run.badge for v in views],
        "accuracy": [v.run and text.percent(v.run.accuracy) for v in views],
        "gap": ["–" if v.run is None else text.gap(v.run.gap) for v in views],
    }
    chart.table(rows, session.widget_key("family", family.runs[0]), "The trees of all classes")
    runs = [view.solved for view in views if view.solved is not None]
    if len(runs) == len(family.runs) and done:
        train, test = cached.once_per_run(run_id, "together", lambda: family.accuracy(runs))
        held = "" if test is None else f", {text.percent(test)} of the held-out rows"
        st.markdown(
            f"Together they are right for **{text.percent(train)}** of the training rows{held}; "
            "nothing is proven about them together."
        )
    picked = st.segmented_control(
        "Show the tree of",
        list(range(len(views))),
        default=family.runs.index(run_id),
        required=True,
        format_func=lambda i: labels[i],
        key=session.widget_key("family_pick", run_id),
        wrap=True,
    )
    if family.runs[picked] != run_id:
        session.look_at(family.runs[picked])
        st.rerun()


def _answer(view: JobView, run: SolvedRun) -> None:
    """Draw a finished run that has a tree."""
    run_summary.headline(view.id, run)
    run_summary.small_tree(view.id, run)
    numbers = cached.greedy_baseline(view.id, run, new_rows.ON_NUMBERS)
    found = run_summary.known_summary(view.id, run)
    missed = None if found is None or 2 * found.tally.found >= found.tally.named else found.focus
    place = st.container()  # what further splits say comes below, and is counted in
    over_costs(view, run)
    leaves = new_rows.draw(view, run)
    with place:
        greedy = None if isinstance(numbers, str) else numbers
        proof = None if run.is_proven else jobs.proof(view.id)
        _what_now(view, advice.after(run, greedy, missed, leaves, proof))

    def more() -> None:
        proofs.verification(view.id, run, with_words=False)
        replay.convergence(view.id, run)

    run_summary.proof(run, more)


def _what_now(view: JobView, found: advice.Advice) -> None:
    """Draw what can be done next with the rows of a run: a sentence and buttons, the best first."""
    st.markdown(f"**What now?** {text.markdown(found.sentence, 400)}")
    with st.container(horizontal=True, gap="small"):
        for position, step in enumerate(found.steps):
            key = session.widget_key("next", view.id, step.label)
            kind = "primary" if position == 0 else "secondary"
            if not st.button(step.label, key=key, icon=step.icon, type=kind):
                continue
            if step.page:
                session.open_page(step.page, step.run)
            if start.start(step.settings or {}, jobs.rows_of(view)):
                st.rerun()


MOST_SECONDS = 20.0  # of one point of the curve


def over_costs(view: JobView, run: SolvedRun) -> None:
    """Draw the curve of a run whose tree may ask a person, or the press that computes it."""
    if run.asked.refer is None or run.sample_weight is not None:
        return
    with st.expander("What if asking a person cost more or less?", icon=":material/support_agent:"):
        data, settings = jobs.rows(view), given_settings(run.settings)
        del settings[REFER.name]
        if data is None:
            data = run.train
            settings.pop("test_size", None)
        settings["time_limit"] = min(MOST_SECONDS, run.asked.time_limit)
        question = ("refer", view.id, data, settings, (STEPS + 2) * settings["time_limit"])
        words = "Solve for other costs of asking"
        live.press(words, *question, icon=":material/show_chart:")
        words = words.replace("Solve", "Solving")
        live.answer(*question, False, draw=partial(_curve, run), doing=words)


def _curve(run: SolvedRun, job: JobView) -> None:
    points = [ReferPoint(**part["point"]) for part in job.parts]
    if not job.is_final:
        st.caption(f"{len(points)} of {STEPS + 1} solved")
    which = "held-out" if run.n_test else "training"
    chart.show(
        refer_figure(points, session.palette(), run.asked.refer),
        key=session.widget_key("refer_curve", job.id),
        alt="Cost of asking a person against the share of rows that is asked about, accuracy of "
        "the others and mean cost: "
        + "; ".join(f"{p.refer:.3g}: {text.percent(p.referred, 0)} asked" for p in points),
    )
    st.caption(
        f"Shares of the {which} rows. Every filled point is a tree that is proven optimal for its "
        "cost of asking"
        + ("; beyond the last one no tree would ask." if len(points) > STEPS else ".")
    )
