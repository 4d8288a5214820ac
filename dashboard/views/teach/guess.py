"""Where would you cut?  A tree by hand, its errors at once, then the greedy and the optimal one."""

from collections.abc import Mapping

import streamlit as st

from dashboard import session
from dashboard.teaching import lessons
from dashboard.teaching.drawing import lesson_plane
from dashboard.teaching.lessons import Lesson
from dashboard.views.teach import bar as lesson_bar
from dashboard.views.teach import trees as lesson_trees
from dashboard.widgets import chart, inputs, live
from octcore.data.dataset import Dataset
from octcore.encoding.fit import fit_encoding
from octcore.formulations.base import baseline, of_common_objective
from octcore.plotting import text
from octcore.plotting.plane_plot import plane_figure
from octcore.tree import metrics
from octcore.tree.tree import Split, Tree

DEEPEST = 2
PLACES = {1: "First cut", 2: "Then, left of it or below", 3: "Then, right of it or above"}


def draw(lesson: Lesson) -> None:
    """Draw the cuts to choose, the plane, and on request the trees beside it."""
    data = inputs.tried(lambda: lessons.lesson_data(lesson))
    if data is None:
        return
    left, right = st.columns(2, gap="medium")
    with right:
        st.subheader("Where would you cut?", anchor=False)
        cuts = _cuts(lesson, 1 if lesson.depth == 1 else DEEPEST)
    tree = guessed_tree(data, cuts)
    with left:
        encoding = fit_encoding("raw", data)
        figure = plane_figure(lesson_plane(tree, encoding, data), session.palette())
        lesson_trees.enlarge(figure, lesson_bar.plane_height())
        chart.show(figure, key="guess_plane", alt="Plane with the cuts that you chose")
    with right:
        _compare(lesson, errors_of(tree, data), tree.n_leaves)


def _cuts(lesson: Lesson, depth: int) -> dict[int, tuple[str, float]]:
    cuts = {}
    for node in range(1, 2**depth):
        places = st.columns([1, 3], vertical_alignment="bottom")
        key = session.widget_key("guess", lesson.key, node)
        axis = places[0].segmented_control(
            PLACES[node], ("x", "y"), default="x" if node == 1 else "y", required=True,
            key=f"{key}:axis", persist_state="session",
        )  # fmt: skip
        at = places[1].slider(
            f"{PLACES[node]} at", 0.0, 1.0, 0.5, 0.01, key=key, persist_state="session",
            label_visibility="collapsed",
        )  # fmt: skip
        cuts[node] = (str(axis or "x"), float(at))
    return cuts


def guessed_tree(data: Dataset, cuts: dict[int, tuple[str, float]]) -> Tree:
    """The tree with these cuts; every leaf gives the class that most of its points have.

    `cuts`: axis and place of the cut by branch node.
    """
    names = list(data.feature_names)
    splits = {node: Split.on_feature(names.index(axis), at) for node, (axis, at) in cuts.items()}
    leaves = [child for node in cuts for child in (2 * node, 2 * node + 1) if child not in cuts]
    tree = Tree(splits, dict.fromkeys(leaves, 0), len(names), data.n_classes)
    X = fit_encoding("raw", data).transform(data.frame)
    return tree.with_labels(metrics.majority_labels(tree, X, data.codes)).named(data.classes, names)


def errors_of(tree: Tree, data: Dataset) -> int:
    """Points that a tree on x and y gets wrong, by routing."""
    X = fit_encoding("raw", data).transform(data.frame)
    return round((1 - metrics.accuracy(tree, X, data.codes)) * data.n_samples)


def _compare(lesson: Lesson, own: int, n_leaves: int) -> None:
    st.metric("Your errors", own, help=text.count(n_leaves, "leaf"))
    if not st.toggle("Show greedy and optimal", key="guess_reveal", persist_state="session"):
        return
    keys = {"Greedy": baseline().key, "Optimal": of_common_objective()[0].key}
    if not lesson_trees.grow(lesson, tuple(keys.values())):
        return
    live.until(lambda: lesson_trees.are_grown(lesson, keys.values()), lambda: _others(lesson, keys))
    price = float(lesson.settings["leaf_penalty"])
    if price:
        st.caption(
            f"The optimal tree counts {text.percent(price)} of the points for every leaf, so that "
            "a larger tree may have fewer errors."
        )
    if lesson.depth > DEEPEST:
        st.caption(f"These trees have depth {lesson.depth}; yours has depth {DEEPEST}.")


def _others(lesson: Lesson, keys: Mapping[str, str]) -> None:
    views = {name: lesson_trees.run_view(lesson, key) for name, key in keys.items()}
    is_live = not live.all_final(views.values())
    for place, (name, view) in zip(st.columns(2), views.items(), strict=True):
        run = None if view is None or not view.is_final else view.solved
        if run is None:
            place.caption(f"{name}: growing …" if is_live else f"{name}: there is no tree.")
            continue
        numbers = lesson_trees.numbers_of(run)
        place.metric(f"{name}: errors", numbers.errors, help=text.count(numbers.leaves, "leaf"))
