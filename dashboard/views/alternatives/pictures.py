"""Pictures of near-optimal trees: count, features, paths, rows and shapes."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from dashboard import session
from dashboard.server.job_view import JobView
from dashboard.views.what_if.questions import Conditions
from dashboard.widgets import chart, live
from octcore.data.dataset import Dataset
from octcore.formulations.base import loss_words
from octcore.plotting import alternatives, text
from octcore.plotting.plane_axes import plane_columns
from octcore.selection.alternatives import LISTED, Alternatives, ShapeLine

MOST_ROWS = 200


def counts(task: str, record: Alternatives, search: Mapping[str, Any]) -> None:
    """Draw how many trees a `search` of these settings found, by distance and by leaves."""
    palette = session.palette()
    left, right = st.columns([3, 2], gap="large")
    with left:
        st.markdown("**Trees against the distance from the optimum**")
        chart.show(
            alternatives.count_figure(record, palette),
            key=session.widget_key("alternatives_count", task),
            alt=f"{record.total:,} trees within {record.tolerance:g}; a curve that rises to the "
            f"{sum(n for _, _, n in record.steps):,} within {record.searched:g}",
        )
    with right:
        st.markdown(f"**By leaves, within {loss_words(record.tolerance, search)}**")
        chart.show(
            alternatives.leaves_figure(record, palette),
            key=session.widget_key("alternatives_leaves", task),
            alt="Numbers of trees by number of leaves",
        )
    whole = f"all {text.count(record.total, 'tree')} within so many points"
    if record.count < record.total:
        whole += f", not only the {record.count:,} that meet the conditions above"
    st.caption(f"Both charts count {whole}; the scale is logarithmic.")


def features(task: str, record: Alternatives) -> None:
    """Draw which features the trees test, and how much they need them."""
    palette = session.palette()
    used = alternatives.ranked_features(record)
    most = alternatives.SHOWN_FEATURES
    shown = f" Below: the {most} in most trees." * (len(used) > most)
    st.markdown(alternatives.features_words(record) + shown)
    left, right = st.columns(2, gap="large")
    with left:
        st.markdown("**Share of the trees with a feature**")
        chart.show(
            alternatives.features_figure(record, palette),
            key=session.widget_key("alternatives_features", task),
            alt="; ".join(f"{f.name} in {text.percent(f.trees / record.count)}" for f in used),
        )
    with right:
        st.markdown(
            "**Reliance on a feature**",
            help="Smallest and largest loss of training accuracy over the good trees when the "
            "values of a feature are permuted among the rows: the expected loss over all rows a "
            "value can come from, computed, not drawn. A feature that some good tree does without "
            "has a smallest loss of 0. Open circles: looked at in a uniform sample of the trees.",
        )
        chart.show(
            alternatives.reliance_figure(record, palette),
            key=session.widget_key("alternatives_reliance", task),
            alt="; ".join(
                f"{f.name} from {text.percent(f.low)} to {text.percent(f.high)}" for f in used
            ),
        )


def paths(task: str, record: Alternatives) -> None:
    """Draw the trees by the splits they begin with."""
    which = "All trees" if record.count <= LISTED else f"The best {len(record.trees)} trees"
    st.caption(
        f"{which} by their splits: the root inside, then its children, then theirs. Click a sector "
        "to look into it, click the middle to go back."
    )
    chart.show(
        alternatives.sunburst_figure(record.trees, record.encoding, session.palette()),
        key=session.widget_key("alternatives_paths", task),
        alt=f"Sunburst of {len(record.trees)} trees by root, children and grandchildren",
    )


def rows(task: str, record: Alternatives, train: Dataset) -> None:
    """Draw the rows on which the trees disagree, in a plane and as a table."""
    possible = plane_columns(train)
    ranked = [f.name for f in alternatives.ranked_features(record) if f.name in possible]
    names = [*ranked, *(name for name in possible if name not in ranked)]
    left, right = st.columns([3, 2], gap="large")
    with left:
        if len(names) < 2:
            st.caption("A plane needs two columns of numbers or of few categories.")
        else:
            key = session.widget_key("alternatives_axis", *names)
            x, y = chart.axes(names, names[0], names[1], key)
            chart.show(
                alternatives.disagreement_figure(record, train, x, y, session.palette()),
                key=session.widget_key("alternatives_plane", task),
                alt=f"Training rows over {x} and {y}; the stronger the colour, the more of the "
                "good trees disagree",
            )
    with right:
        _rows_table(record, train)


def _rows_table(record: Alternatives, train: Dataset) -> None:
    order = np.argsort(-record.disagreement, kind="stable")
    order = order[record.disagreement[order] > 0][:MOST_ROWS]
    split = int((record.disagreement > 0).sum())
    st.markdown(
        f"**{text.count(split, 'row')}** of {train.n_samples:,} get another class from some good "
        "tree."
    )
    if not len(order):
        return
    classes = np.array([text.printable(label, 30) for label in train.classes], object)
    table = pd.DataFrame(
        {
            "line": train.row_lines[order],
            "class": classes[train.codes[order]],
            "most trees say": classes[record.favourite[order]],
            "others": record.disagreement[order],
        }
    )
    chart.table(
        pd.concat([table, train.frame.iloc[order].reset_index(drop=True)], axis=1),
        "alternatives_rows",
        "Rows on which the good trees disagree most",
        shares=["others"],
        height=350,
    )


SHAPES, SHAPES_SECONDS = "shapes", 400.0
LONGEST = 400


def shapes(run_id: str, data: Dataset, search: Mapping[str, Any], conditions: Conditions) -> None:
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
    question = (SHAPES, run_id, data, settings, SHAPES_SECONDS, pressed)
    live.answer(*question, draw=_shapes_table, doing="Finding the shapes")


def _shapes_table(job: JobView) -> None:
    found = job.result
    if found is None:
        return
    number, lines = found["number"], [ShapeLine(**line) for line in found["lines"]]
    which = "" if len(lines) == number else f" The best {len(lines)} of them:"
    st.markdown(
        f"**{text.count(number, 'shape')}.** Every range holds the thresholds that some tree of "
        f"the shape has; each of its two ends is one of them.{which}"
    )
    chart.table(
        {
            "points below": [100 * line.loss for line in lines],
            "right": [line.accuracy for line in lines],
            "leaves": [line.leaves for line in lines],
            "trees": [line.trees for line in lines],
            "thresholds": [
                text.printable(", ".join(line.thresholds) or line.words, LONGEST) for line in lines
            ],
        },
        "alternatives_shapes",
        "Shapes of the good trees: the best tree's distance, accuracy and leaves, the number "
        "of trees, and the thresholds of every column",
        wide="thresholds",
        shares=["right"],
        height="content",
        column_config={
            "points below": st.column_config.NumberColumn(
                format="%.3f",
                width="small",
                help="In the objective, of the best tree of the shape, below the proven optimum.",
            ),
            "leaves": st.column_config.NumberColumn(width="small"),
            "trees": st.column_config.NumberColumn(format="%,d", width="small"),
        },
    )
