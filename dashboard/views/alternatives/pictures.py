"""Pictures of near-optimal trees: count, features, paths and rows."""

import numpy as np
import pandas as pd
import streamlit as st

from dashboard import session
from dashboard.widgets import chart
from octcore.data.dataset import Dataset
from octcore.plotting import text
from octcore.plotting.alternatives import (
    SHOWN_FEATURES,
    count_figure,
    disagreement_figure,
    features_figure,
    features_words,
    leaves_figure,
    points_words,
    ranked_features,
    reliance_figure,
    sunburst_figure,
)
from octcore.plotting.plane_axes import plane_columns
from octcore.selection.alternatives import LISTED, Alternatives

MOST_ROWS = 200


def counts(task: str, record: Alternatives) -> None:
    """Draw how many trees there are, by distance and by leaves."""
    palette = session.palette()
    left, right = st.columns([3, 2], gap="large")
    with left:
        st.markdown("**Trees against the distance from the optimum**")
        chart.show(
            count_figure(record, palette),
            key=session.widget_key("alternatives_count", task),
            alt=f"{record.total:,} trees within {record.tolerance:g}; a curve that rises to the "
            f"{sum(n for _, _, n in record.steps):,} within {record.searched:g}",
        )
    with right:
        st.markdown(f"**By leaves, within {points_words(record.tolerance)}**")
        chart.show(
            leaves_figure(record, palette),
            key=session.widget_key("alternatives_leaves", task),
            alt="Numbers of trees by number of leaves",
        )
    st.caption("Both charts count all trees, whatever features they use; the scale is logarithmic.")


def features(task: str, record: Alternatives) -> None:
    """Draw which features the trees test, and how much they need them."""
    palette = session.palette()
    used = ranked_features(record)
    shown = f" Below: the {SHOWN_FEATURES} in most trees." if len(used) > SHOWN_FEATURES else ""
    st.markdown(features_words(record) + shown)
    left, right = st.columns(2, gap="large")
    with left:
        st.markdown("**Share of the trees with a feature**")
        chart.show(
            features_figure(record, palette),
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
            reliance_figure(record, palette),
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
        sunburst_figure(record.trees, record.encoding, session.palette()),
        key=session.widget_key("alternatives_paths", task),
        alt=f"Sunburst of {len(record.trees)} trees by root, children and grandchildren",
    )


def rows(task: str, record: Alternatives, train: Dataset) -> None:
    """Draw the rows on which the trees disagree, in a plane and as a table."""
    possible = plane_columns(train)
    ranked = [f.name for f in ranked_features(record) if f.name in possible]
    names = [*ranked, *(name for name in possible if name not in ranked)]
    left, right = st.columns([3, 2], gap="large")
    with left:
        if len(names) < 2:
            st.caption("A plane needs two columns of numbers or of few categories.")
        else:
            x, y = chart.axes(
                names, names[0], names[1], session.widget_key("alternatives_axis", *names)
            )
            chart.show(
                disagreement_figure(record, train, x, y, session.palette()),
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
            "row": order,
            "class": classes[train.codes[order]],
            "most trees say": classes[record.favourite[order]],
            "others": 100 * record.disagreement[order],
        }
    )
    shown = train.frame.iloc[order].reset_index(drop=True)
    st.dataframe(
        pd.concat([table, shown], axis=1),
        hide_index=True,
        height=350,
        key="alternatives_rows",
        column_config={"others": st.column_config.NumberColumn(format="%.1f %%")},
        alt="Rows on which the good trees disagree most",
    )
