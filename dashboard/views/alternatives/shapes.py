"""The near-optimal trees by shape, found at a press: how far every threshold may move."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import pandas as pd
import streamlit as st

from dashboard.server.job_view import JobView
from dashboard.views.what_if.questions import Conditions
from dashboard.widgets import live
from octcore.data.dataset import Dataset
from octcore.plotting import text
from octcore.selection.alternatives import ShapeLine

TASK, TASK_SECONDS = "shapes", 400.0
LONGEST = 400


def draw(run_id: str, data: Dataset, search: Mapping[str, Any], conditions: Conditions) -> None:
    """Draw the press, and the table when it is there."""
    st.markdown(
        "A shape is all trees that ask the same columns at the same places, whatever the "
        "thresholds; columns asked one after the other may come in any order."
    )
    asked = asdict(conditions)
    del asked["attribute"]
    settings = {"search": dict(search), "conditions": asked}
    pressed = st.button(
        "Find the shapes and their thresholds", icon=":material/category:", key="alternatives_shape"
    )
    task = live.ask(TASK, run_id, data, settings, TASK_SECONDS, pressed)
    if task is not None:
        live.task(task, _table, "Finding the shapes")


def _table(job: JobView) -> None:
    found = job.result
    if found is None:
        return
    number, lines = found["number"], [ShapeLine(**line) for line in found["lines"]]
    which = "" if len(lines) == number else f" The best {len(lines)} of them:"
    st.markdown(
        f"**{text.count(number, 'shape')}.** Every range holds the thresholds that some tree of "
        f"the shape has; each of its two ends is one of them.{which}"
    )
    st.dataframe(
        pd.DataFrame(
            {
                "points below": [100 * line.loss for line in lines],
                "right": [line.accuracy for line in lines],
                "leaves": [line.leaves for line in lines],
                "trees": [line.trees for line in lines],
                "thresholds": [
                    text.printable(", ".join(line.thresholds) or line.words, LONGEST)
                    for line in lines
                ],
            }
        ),
        hide_index=True,
        height="content",
        key="alternatives_shapes",
        column_config={
            "points below": st.column_config.NumberColumn(
                format="%.3f",
                width="small",
                help="Of the best tree of the shape, below the proven optimum.",
            ),
            "right": st.column_config.NumberColumn(
                format="percent",
                width="small",
                help="Of the best tree of the shape, on the training rows.",
            ),
            "leaves": st.column_config.NumberColumn(width="small"),
            "trees": st.column_config.NumberColumn(format="localized", width="small"),
            "thresholds": st.column_config.TextColumn(width="large"),
        },
        alt="Shapes of the good trees: the best tree's distance, accuracy and leaves, the number "
        "of trees, and the thresholds of every column",
    )
