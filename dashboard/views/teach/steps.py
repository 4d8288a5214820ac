"""Steps of a lesson that ask more: a guess by hand, all good trees, why no tree is better."""

from collections import Counter
from collections.abc import Mapping
from functools import partial

import plotly.graph_objects as go
import streamlit as st

from dashboard import cached, session
from dashboard.server.job_view import JobView
from dashboard.teaching import lessons
from dashboard.teaching.drawing import guess_data, lesson_numbers, lesson_plane, proof_figure
from dashboard.teaching.lessons import GUESS, Cuts, Lesson
from dashboard.views.teach import trees as lesson_trees
from dashboard.widgets import inputs, live, run_summary
from dashboard.widgets.drawing_board import show_guess
from octcore.data.dataset import Dataset
from octcore.formulations.base import baseline, list_formulations, of_common_objective
from octcore.plotting import text
from octcore.plotting.layout import BREAK, curve
from octcore.plotting.palette import Palette
from octcore.plotting.plane_plot import plane_figure
from octcore.program import Capability
from octcore.selection.alternatives import Alternatives
from octcore.solving.run import Run, SolvedRun
from octcore.verification.certificates.proof import ExcludedCuts

DEEPEST = 2


def guess(lesson: Lesson) -> None:
    """Draw the cuts to drag, and on request the errors of the trees."""
    cuts = lessons.guess_from(st.query_params.get(GUESS), lesson.depth)
    boards = session.state().boards

    def keep(serial: int, cuts: Cuts) -> None:
        boards[GUESS] = (serial, None)
        st.query_params[GUESS] = lessons.guess_words(cuts)

    left, right = st.columns([3, 2], gap="large")
    with left:
        key = session.widget_key("guess", session.state().lessons_opened, len(cuts))
        serial = boards.get(GUESS, (0, None))[0]
        data = guess_data(*lessons.lesson_points(lesson), cuts, session.palette(), serial)
        show_guess(data, key, keep)
    with right:
        st.header("Where would you cut?", anchor=False)
        st.markdown(
            "Drag the lines. Each part takes the class that most of its points have; the others "
            "are errors."
        )
        _compare(lesson)


def _compare(lesson: Lesson) -> None:
    if not st.toggle("Show greedy and optimal", **session.kept("guess_reveal")):
        return
    keys = {"Greedy": baseline().key, "Optimal": of_common_objective()[0].key}
    lesson_trees.draw_growing(lesson, tuple(keys.values()), lambda: _others(lesson, keys))


def _others(lesson: Lesson, keys: Mapping[str, str]) -> None:
    views = {name: lesson_trees.run_view(lesson, key) for name, key in keys.items()}
    is_live = not live.all_final(views.values())
    for place, (name, view) in zip(st.columns(2), views.items(), strict=True):
        run = None if view is None or not view.is_final else view.solved
        if run is None:
            place.caption(f"{name}: growing …" if is_live else f"{name}: there is no tree.")
            continue
        numbers, greedy = lesson_numbers(run), run.certificate.method == "heuristic"
        name = name if greedy or run.is_optimal else "Best found"
        place.metric(f"{name}: errors", numbers.errors, help=text.count(numbers.leaves, "leaf"))
    words = "Both cut between neighbours of different class; other cuts may at times do better."
    if price := float(lesson.settings["leaf_penalty"]):
        words += f" The optimal tree counts {text.percent(price)} of the points for every leaf, so "
        words += "that a larger tree may have fewer errors."
    st.caption(words)
    if lesson.depth > DEEPEST:
        st.caption(f"These trees have depth {lesson.depth}; yours has depth {DEEPEST}.")


TASK, TASK_SECONDS = "alternatives", 60.0
ERRORS = (0, 1, 2, 3, 5)
FIRST_ERRORS = 1
FAINTEST, LEVELS = 0.15, 5
"""Opacity of a boundary that few trees have; steps up to one that all of them have."""


def good_trees(lesson: Lesson) -> None:
    """Draw the question, and the answer when it is there."""
    errors = st.select_slider(
        "Trees that cost at most so many errors more than the best one",
        ERRORS,
        value=FIRST_ERRORS,
        **session.kept("good_trees_errors"),
    )
    data = inputs.tried(lambda: lessons.lesson_data(lesson))
    if data is None:
        return
    tolerance = errors / data.n_samples
    solve = lessons.solve_settings(lesson, of_common_objective()[0].key)
    search = {k: solve[k] for k in ("encoding", "depth", "params", "time_limit")}
    settings = {"search": search | {"tolerance": tolerance}, "conditions": {"tolerance": tolerance}}
    question = (TASK, cached.data_token(data), data, settings, TASK_SECONDS)
    answer = partial(_counted, lesson, data, errors)
    live.answer(*question, draw=answer, doing="Counting the good trees")


def _counted(lesson: Lesson, data: Dataset, errors: int, job: JobView) -> None:
    record = cached.once_per_run(
        job.id, TASK, lambda: Alternatives.from_dict((job.result or {})["alternatives"])
    )
    left, right = st.columns([6, 5], gap="large")
    with left:
        palette = session.palette()
        figure = cached.once_per_run(
            job.id, f"fan {palette.name}", lambda: fan_figure(record, data, palette)
        )
        words = f"Points with the boundaries of {len(record.trees)} good trees"
        lesson_trees.show_plane(go.Figure(figure), "good_trees_fan", words)
    with right:
        _count_words(record, errors, float(lesson.settings["leaf_penalty"]) * data.n_samples)


def _count_words(record: Alternatives, errors: int, price: float) -> None:
    st.header("How many good trees are there?", anchor=False)
    counted = f"{price:g} error{'s' * (f'{price:g}' != '1')}"
    st.markdown(
        f"**{text.count(record.count, 'tree')}** of the same depth, cut between neighbours of "
        "different class, cost "
        + (f"at most {text.count(errors, 'error')} more than" if errors else "exactly as much as")
        + " the best one of them."
        + (f" Every leaf counts as {counted}." if price else "")
    )
    if record.count > len(record.trees):
        st.caption(f"The best {len(record.trees)} of them are drawn.")
    st.markdown(
        "Every line is a boundary of some of them, the stronger the more trees have it; where "
        "they fan out, the points do not say where to cut. The coloured ground is the best tree."
    )
    unsure = int((record.disagreement > 0).sum())
    st.markdown(
        f"**{text.count(unsure, 'point')}** of {len(record.disagreement)} would get another class "
        "from at least one of these trees."
    )


def fan_figure(record: Alternatives, data: Dataset, palette: Palette) -> go.Figure:
    """Draw the best tree, and over it the boundaries of all good trees, faint."""
    figure = plane_figure(lesson_plane(record.trees[0].tree, record.encoding, data), palette)
    counts = Counter(
        (start, end)
        for good in record.trees
        for lines in lesson_plane(good.tree, record.encoding, data).lines.values()
        for start, end in lines.line
    )
    levels = {s: int((n / len(record.trees)) ** 0.5 * LEVELS) for s, n in counts.items()}
    for k in range(LEVELS):
        own = [s for s, level in levels.items() if min(LEVELS - 1, level) == k]
        pieces = [point for ends in own for point in (*ends, BREAK)]
        opacity = FAINTEST + (1 - FAINTEST) * k / (LEVELS - 1)
        line = {"color": palette.accent, "width": 2}
        curve(figure, pieces, "boundaries", opacity=opacity, line=line)
    return figure


PROOF_TASK, PROOF_SECONDS, SAME = "excluded", 180.0, 1e-9


def proof(lesson: Lesson) -> None:
    """Draw the arguments of the proof, and the one that is looked at."""
    data = inputs.tried(lambda: lessons.lesson_data(lesson))
    if data is None:
        return
    exact = next(i for i in list_formulations() if Capability.THRESHOLD_SEARCH in i.capabilities)
    settings = {**lessons.solve_settings(lesson, exact.key), "test_size": 0.0}
    question = (PROOF_TASK, cached.data_token(data), data, settings, PROOF_SECONDS)
    live.answer(*question, draw=partial(_steps, lesson, data), doing="Searching the proof")


def _steps(lesson: Lesson, data: Dataset, job: JobView) -> None:
    result = job.result or {}
    run = cached.once_per_run(
        job.id, PROOF_TASK, lambda: Run.from_dict(result["run"], train=data).needed
    )
    cuts = [ExcludedCuts(**cut) for cut in result["cuts"]]
    n, price = data.n_samples, float(lesson.settings["leaf_penalty"]) * data.n_samples
    view = lesson_trees.run_view(lesson, of_common_objective()[0].key)
    shown, more = proven_tree(run, (view.solved if view else None) or run, n)
    left, right = st.columns([6, 5], gap="large")
    with right:
        st.header("Why is no tree better?", anchor=False)
        key = session.widget_key("proof_step", job.id)
        at = st.slider("Argument", 1, len(cuts) + 1, key=key) if cuts else 1
        tree_cost = f"{result['cost'] * n:g}"
        wrong = text.count(round((1 - (shown.accuracy or 0.0)) * n), "error")
        price_words = f", and {price:g} for every leaf" if price else ""
        st.markdown(f"The best tree costs **{tree_cost}**: {wrong}{price_words}.{more}")
        st.markdown(_argument_words(run, cuts, at, n, tree_cost))
        with st.container(key="beside_words"):  # a presentation keeps both in sight
            key = session.widget_key("proof_tree", job.id)
            run_summary.still_tree(run_summary.tree_view(shown), key)
    with left:
        figure = proof_figure(data, cuts[:at], at <= len(cuts), session.palette())
        words = f"Points, and the cuts that argument {at} excludes"
        lesson_trees.show_plane(figure, "proof_plane", words)


def proven_tree(run: SolvedRun, known: SolvedRun, n: int) -> tuple[SolvedRun, str]:
    """The tree that is `known`, if the proof of a run holds for it, too, else why it does not."""
    assert run.objective is not None
    assert known.objective is not None
    if known.objective > run.objective - SAME:
        return known, ""
    words = "That of the step before, cut only between neighbours of different class, costs"
    return run, f" {words} {(1 - known.objective) * n:g}."


def _argument_words(run: Run, cuts: list[ExcludedCuts], at: int, n: int, tree_cost: str) -> str:
    """One argument in words; the last one sums up."""
    if at > len(cuts):
        return (
            "No first cut is left, and a single leaf costs more or as much. So **no tree of this "
            "depth is better**: the optimum is proven."
        )
    cut = cuts[at - 1]
    name = text.words(run.encoding.columns[cut.column].raw)
    left, right = cut.left * n, cut.right * n
    return (
        f"**{at} of {len(cuts)}.** Say that the first cut is on **{name}**, anywhere from "
        f"{cut.low:.3g} up to {cut.high:.3g} (the band). Whatever is cut below it, the points "
        f"before the band cost at least **{left:g}** and those behind it at least **{right:g}**, "
        f"together **{left + right:g}**; the points inside come on top. That is no less than "
        f"{tree_cost}: no cut in the band leads to a better tree."
    )
