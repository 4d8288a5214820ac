"""The trees of a lesson: one at a time with its text, or all side by side.

Steps ask more of them: a guess by hand, all good trees, why no tree is better.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import partial

import plotly.graph_objects as go
import streamlit as st

from dashboard import cached, session
from dashboard.server import jobs
from dashboard.server.job_view import JobView
from dashboard.teaching import drawing, lessons
from dashboard.teaching.lessons import GUESS, Cuts, Lesson
from dashboard.views.teach import bar as lesson_bar
from dashboard.widgets import chart, inputs, live, run_summary, thresholds
from dashboard.widgets.drawing_board import show_guess
from octcore.data.dataset import Dataset
from octcore.formulations.base import baseline, get_formulation, of_common_objective
from octcore.plotting import text
from octcore.plotting.layout import BREAK, curve
from octcore.plotting.palette import Palette
from octcore.plotting.plane_plot import plane_figure
from octcore.selection.alternatives import Alternatives
from octcore.selection.near_optimal import FORMULATION as EXACT
from octcore.solving.run import Run, SolvedRun
from octcore.verification.certificates.proof import ExcludedCuts

PER_LINE, SEEN = 3, 0.015  # trees beside each other; distance that an eye notices
ALL_NUMBERS = ("Right", "Errors", "Leaves", "Margin")
DEEPEST = 2  # guess by hand
TASK, TASK_SECONDS = "alternatives", 60.0
ERRORS, FIRST_ERRORS = (0, 1, 2, 3, 5), 1  # of good trees beyond the best: offered, at first
FAINTEST, LEVELS = 0.15, 5
"""Opacity of a boundary that few trees have; steps up to one that all of them have."""
PROOF_TASK, PROOF_SECONDS, SAME = "excluded", 180.0, 1e-9


def truth_of(lesson: Lesson) -> drawing.Truth:
    """What is known about the points; nothing once they were moved by hand but the lines."""
    return drawing.truth_data(lessons.lesson_set(lesson), labels_too=lesson.points is None)


def shows_truth(lesson: Lesson) -> bool:
    """Whether the overlay is switched on."""
    return bool(st.session_state.get(session.widget_key("truth", lesson.key)))


def run_view(lesson: Lesson, key: str) -> JobView | None:
    """How the tree of a formulation stands; None when it was not asked for yet."""
    return jobs.view(session.state().lesson_runs.get(lessons.run_key(lesson, key)))


def grow(lesson: Lesson, keys: tuple[str, ...] = ()) -> bool:
    """Start the trees that are missing, by default all; says why it cannot; returns if it could."""
    with inputs.said():
        data = lessons.lesson_data(lesson)
        for key in keys or lesson.formulations:
            if run_view(lesson, key) is None:
                run = jobs.submit(session.token(), data, lessons.solve_settings(lesson, key))
                session.state().lesson_runs[lessons.run_key(lesson, key)] = run
        return True
    return False


def grow_and_step() -> None:
    """Start the trees that are missing and turn to the first; for callbacks."""
    # The lesson of now: this page may still be drawing the points that were moved a moment ago.
    lesson = session.state().lesson
    if lesson is not None and grow(lesson):
        lesson_bar.go_to(lesson, lesson.formulations[0])


def one(lesson: Lesson, key: str) -> None:
    """Draw one tree, large, with its text; it grows if it is not there."""
    draw_growing(lesson, (key,), lambda: _one(lesson, key))


def draw_growing(lesson: Lesson, keys: tuple[str, ...], draw: Callable[[], None]) -> None:
    """Start the trees that are missing, and draw them until none grows any more."""
    if grow(lesson, keys):
        live.until(lambda: live.all_final(run_view(lesson, key) for key in keys), draw)


def _one(lesson: Lesson, key: str) -> None:
    view = run_view(lesson, key)
    if view is None:
        return
    words = get_formulation(key).info.teaching_text
    left, right = st.columns([6, 7] if lesson_bar.is_presenting() else 2, gap="medium")
    with right:
        st.header(text.markdown(words.name), anchor=False)
        shown = view.solved if view.is_final else None
        if shown is not None:
            _numbers(drawing.lesson_numbers(shown))
            run_summary.small_tree(view.id, shown)
        st.markdown(words.idea)
        if shown is not None and not lesson_bar.is_presenting():
            look = words.look if shown.tree.splits else "No line is worth its price here."
            st.markdown(f":material/visibility: {look}")
            icon = ":material/account_tree:"
            if st.button("Explore this tree", icon=icon, key=f"lesson:{view.id}"):
                session.open_page("explore", view.id)
    with left:
        _legend(lesson, (key,))
        _picture(lesson, key, view)
        if shown is not None:
            _band_words(shown)
    if shown is not None and thresholds.has_moments(shown):
        st.header("Which thresholds were still open", anchor=False)
        thresholds.draw_moments(view.id, shown)


def side_by_side(lesson: Lesson) -> None:
    """Draw all trees of the lesson beside each other."""
    draw_growing(lesson, lesson.formulations, lambda: _all(lesson))


def _all(lesson: Lesson) -> None:
    names = lessons.tree_names(lesson.formulations)
    keys = list(names)
    _legend(lesson, keys)
    for start in range(0, len(keys), PER_LINE):
        line = keys[start : start + PER_LINE]
        for place, key in zip(st.columns(min(PER_LINE, len(keys)), gap="medium"), line):  # noqa: B905
            view = run_view(lesson, key)
            if view is None:
                continue
            with place:
                st.header(text.markdown(names[key]), anchor=False)
                _picture(lesson, key, view, lesson_bar.SMALL_PLANE)
                if view.is_final and view.solved is not None:
                    _numbers(drawing.lesson_numbers(view.solved), ("Right", "Errors", "Margin"))
                    run_summary.badge(view.solved)
                    _band_words(view.solved)


def _legend(lesson: Lesson, keys: Iterable[str]) -> None:
    """One legend for all pictures: they mean the same."""
    truth = truth_of(lesson) if shows_truth(lesson) else None
    with_margins = any(get_formulation(key).info.has_margins for key in keys)
    parts = drawing.legend_parts(session.palette(), truth, with_margins)
    size = "1.05rem" if lesson_bar.is_presenting() else "0.9rem"
    st.html(f'<div style="display:flex;flex-wrap:wrap;gap:4px 18px;font-size:{size}">{parts}</div>')


def _picture(lesson: Lesson, key: str, view: JobView, height: int = lesson_bar.PLANE) -> None:
    if not view.is_final:
        st.info(f"Growing: {text.markdown(view.words)}", icon=":material/hourglass_top:")
        return
    run = view.solved
    if run is None:
        no_tree(lesson, key, view)
        return
    palette = session.palette()
    record = drawing.lesson_plane(run.tree, run.encoding, run.train, run.formulation)
    figure = plane_figure(record, palette)
    if shows_truth(lesson):
        drawing.add_truth(figure, truth_of(lesson), palette)
    words = f"Plane of the lesson with the tree by {key}: {len(record.regions)} regions, "
    words += f"{len(record.dots.row)} points, {record.dots.wrong.sum()} of them misclassified"
    show_plane(figure, session.widget_key("lesson_plane", key, height), words, height)


def no_tree(lesson: Lesson, key: str, view: JobView) -> None:
    """Say why a tree did not grow, and offer to try once more."""
    live.no_result(view, "This ended without a tree.")
    if live.again(view.id):
        session.state().lesson_runs.pop(lessons.run_key(lesson, key), None)
        st.rerun()


def _band_words(run: SolvedRun) -> None:
    """Say how lines are drawn; last of all, so that what stands beside it is level."""
    if wide := drawing.wide_bands(run.tree, run.encoding, run.train):
        words = f"{text.count(len(wide), 'line')} without a band: the margin is wider than a fifth "
        change = " The prices of slack can be changed at the points."  # of MARGOT, that is
        st.caption(f"{words}of the picture.{change * ('C_upper' in run.settings['params'])}")
    banded = [s for n, s in run.tree.splits.items() if s.unit_margin and n not in wide]
    if any(abs(s.threshold + s.solved_offset) > SEEN * s.norm for s in banded):
        words = "Colours change between the nearest points of both sides, not always at a line"
        st.caption(f"{words} in the middle of a band: there new points part.")


def show_plane(figure: go.Figure, key: str, alt: str, height: int = lesson_bar.PLANE) -> None:
    """Place a plane of at least this height; on a projector it grows with the screen."""
    figure.update_layout(height=height, showlegend=False, margin={"t": 8})
    figure.update_yaxes(scaleanchor="x", constrain="domain")
    if lesson_bar.is_presenting():
        figure.update_layout(font={"size": 18})
        for update in (figure.update_xaxes, figure.update_yaxes):
            update(tickfont={"size": 18}, title_font={"size": 20})
    with st.container(key=f"plane_{height}_{key}"):
        chart.show(figure, key=key, alt=alt, height="stretch")


def _numbers(numbers: drawing.LessonNumbers, shown: Collection[str] = ALL_NUMBERS) -> None:
    words = "Width of the narrowest empty strip around a line right above two leaves, in units of "
    words += "the axes; points that do not come to that line do not count."
    entries = (
        ("Right", text.percent(numbers.accuracy), None),
        ("Errors", str(numbers.errors), None),
        ("Leaves", str(numbers.leaves), None),
        ("Margin", text.number(numbers.narrowest, 2), words),
    )
    chart.numbers(entry for entry in entries if entry[0] in shown)


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
        data = drawing.guess_data(*lessons.lesson_points(lesson), cuts, session.palette(), serial)
        show_guess(data, key, keep)
    with right:
        st.header("Where would you cut?", anchor=False)
        st.markdown(
            "Drag the lines. Each part takes the class that most of its points have; the others "
            "are errors."
        )
        if st.toggle("Show greedy and optimal", **session.kept("guess_reveal")):
            keys = {"Greedy": baseline().key, "Optimal": of_common_objective()[0].key}
            draw_growing(lesson, tuple(keys.values()), lambda: _others(lesson, keys))


def _others(lesson: Lesson, keys: Mapping[str, str]) -> None:
    views = {name: run_view(lesson, key) for name, key in keys.items()}
    is_live = not live.all_final(views.values())
    for place, (name, view) in zip(st.columns(2), views.items(), strict=True):
        run = None if view is None or not view.is_final else view.solved
        if run is None:
            place.caption(f"{name}: growing …" if is_live else f"{name}: there is no tree.")
            continue
        numbers, greedy = drawing.lesson_numbers(run), run.certificate.method == "heuristic"
        name = name if greedy or run.is_optimal else "Best found"
        place.metric(f"{name}: errors", numbers.errors, help=text.count(numbers.leaves, "leaf"))
    words = "Both cut between neighbours of different class; other cuts may at times do better."
    if price := float(lesson.settings["leaf_penalty"]):
        words += f" The optimal tree counts {text.percent(price)} of the points for every leaf, so "
        words += "that a larger tree may have fewer errors."
    st.caption(words)
    if lesson.depth > DEEPEST:
        st.caption(f"These trees have depth {lesson.depth}; yours has depth {DEEPEST}.")


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
        show_plane(go.Figure(figure), "good_trees_fan", words)
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
    figure = plane_figure(
        drawing.lesson_plane(record.trees[0].tree, record.encoding, data), palette
    )
    counts = Counter(
        (start, end)
        for good in record.trees
        for lines in drawing.lesson_plane(good.tree, record.encoding, data).lines.values()
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


def proof(lesson: Lesson) -> None:
    """Draw the arguments of the proof, and the one that is looked at."""
    data = inputs.tried(lambda: lessons.lesson_data(lesson))
    if data is None:
        return
    settings = {**lessons.solve_settings(lesson, EXACT), "test_size": 0.0}
    question = (PROOF_TASK, cached.data_token(data), data, settings, PROOF_SECONDS)
    live.answer(*question, draw=partial(_steps, lesson, data), doing="Searching the proof")


def _steps(lesson: Lesson, data: Dataset, job: JobView) -> None:
    result = job.result or {}
    run = cached.once_per_run(
        job.id, PROOF_TASK, lambda: Run.from_dict(result["run"], train=data).needed
    )
    cuts = [ExcludedCuts(**cut) for cut in result["cuts"]]
    n, price = data.n_samples, float(lesson.settings["leaf_penalty"]) * data.n_samples
    view = run_view(lesson, of_common_objective()[0].key)
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
        figure = drawing.proof_figure(data, cuts[:at], at <= len(cuts), session.palette())
        words = f"Points, and the cuts that argument {at} excludes"
        show_plane(figure, "proof_plane", words)


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
