"""Why is no tree better?  The proof of the optimum, one argument after the other."""

from functools import partial

import streamlit as st

from dashboard import cached, session
from dashboard.server.job_view import JobView
from dashboard.teaching import lessons
from dashboard.teaching.drawing import proof_figure
from dashboard.teaching.lessons import Lesson
from dashboard.views.teach import trees as lesson_trees
from dashboard.widgets import inputs, live, run_summary
from octcore.capabilities import Capability
from octcore.certificates.proof import ExcludedCuts
from octcore.data.dataset import Dataset
from octcore.formulations.base import list_formulations
from octcore.plotting import text
from octcore.solving.run import Run

TASK, TASK_SECONDS = "excluded", 180.0


def draw(lesson: Lesson) -> None:
    """Draw the arguments of the proof, and the one that is looked at."""
    data = inputs.tried(lambda: lessons.lesson_data(lesson))
    if data is None:
        return
    exact = next(i for i in list_formulations() if Capability.THRESHOLD_SEARCH in i.capabilities)
    settings = {**lessons.solve_settings(lesson, exact.key), "test_size": 0.0}
    question = (TASK, cached.data_token(data), data, settings, TASK_SECONDS)
    live.answer(*question, draw=partial(_steps, lesson, data), doing="Searching the proof")


def _steps(lesson: Lesson, data: Dataset, job: JobView) -> None:
    result = job.result or {}
    run = cached.once_per_run(job.id, TASK, lambda: Run.from_dict(result["run"], train=data).needed)
    cuts = [ExcludedCuts(**cut) for cut in result["cuts"]]
    n, price = data.n_samples, float(lesson.settings["leaf_penalty"]) * data.n_samples
    left, right = st.columns([6, 5], gap="large")
    with right:
        st.subheader("Why is no tree better?", anchor=False)
        at = 1
        if cuts:
            at = st.slider(
                "Argument", 1, len(cuts) + 1, key=session.widget_key("proof_step", job.id)
            )
        tree_cost = f"{result['cost'] * n:g}"
        wrong = text.count(round((1 - (run.accuracy or 0.0)) * n), "error")
        price_words = f", and {price:g} for every leaf" if price else ""
        st.markdown(f"The best tree costs **{tree_cost}**: {wrong}{price_words}.")
        st.markdown(_words(run, cuts, at, n, tree_cost))
        with st.container(key="beside_words"):  # a presentation keeps both in sight
            key = session.widget_key("proof_tree", job.id)
            run_summary.still_tree(run_summary.tree_view(run), key)
    with left:
        figure = proof_figure(data, cuts[:at], at <= len(cuts), session.palette())
        words = f"Points, and the cuts that argument {at} excludes"
        lesson_trees.show_plane(figure, "proof_plane", words)


def _words(run: Run, cuts: list[ExcludedCuts], at: int, n: int, tree_cost: str) -> str:
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
