"""What is predicted: asked where it would be a guess; numbers are cut into classes."""

import streamlit as st

from dashboard import session
from dashboard.widgets import inputs
from octcore.data.target import BINS, is_continuous
from octcore.plotting import text
from octcore.reports.summary import class_that_matters

MOST_TARGETS, MOST_CLASSES = 500, 50


def is_ready() -> bool:
    """Whether there are classes to predict: a target, and not a measurement."""
    choice = session.choice()
    if choice.target is not None and choice.target_bins is None:
        return not is_continuous(session.table().column(choice.target))
    return session.dataset().y is not None


def draw() -> None:
    """Draw the choice of the column to predict and, for numbers, of the classes made of them."""
    choice, table = session.choice(), session.table()
    names = [name for name in table.names if name != table.index_column][:MOST_TARGETS]
    picked = st.selectbox(
        "What is predicted",
        names,
        index=names.index(choice.target) if choice.target in names else None,
        placeholder="choose the column that holds the classes",
        key=session.widget_key("predicted", choice.sample, choice.file_name, choice.target),
    )
    if picked is not None and picked != choice.target:
        if session.change_choice(target=picked, positive_class=None, target_bins=None):
            st.rerun()
        inputs.say(session.state().problem)
    if choice.target is not None and is_continuous(table.column(choice.target)):
        _bins(choice.target, choice.target_bins)
    _class_that_matters()


def _class_that_matters() -> None:
    """Draw the choice of the class of which recall and precision are told."""
    choice, data = session.choice(), session.dataset()
    if not 2 <= data.n_classes <= MOST_CLASSES:
        return
    labels, default = list(data.classes), class_that_matters(data)
    picked = st.selectbox(
        "Class that matters",
        labels,
        index=labels.index(default) if default in labels else None,
        placeholder="none more than the others",
        format_func=lambda label: text.printable(label, 40),
        key=session.widget_key("matters", session.table().sha256, choice.target, str(default)),
        help="Every tree says how many of its rows it finds. Of two classes the rarer matters "
        "unless you choose. A chosen one is also the positive class of fairness limits and of "
        "formulations for two classes; the last one is, where none is chosen.",
    )
    if picked is not None and picked != default and session.change_choice(positive_class=picked):
        st.rerun()


def _bins(target: str, current: int | None) -> None:
    """Draw how many classes a column of numbers is cut into."""
    if current is None:
        st.warning(
            f"{text.markdown(target, 40)} is a measurement. Predicting numbers is regression, "
            "which these trees do not do. Cut it into classes of about equally many rows:",
            icon=":material/straighten:",
        )
    picked = st.segmented_control(
        "Classes made of it",
        BINS,
        default=current,
        key=session.widget_key("target_bins", target, current),
    )
    if picked is not None and picked != current and session.change_choice(target_bins=picked):
        st.rerun()
