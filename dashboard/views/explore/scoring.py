"""A second file through the tree: predictions, leaves and confidence to look at and to save."""

from __future__ import annotations

import numpy as np
import streamlit as st

from dashboard import cached, session
from dashboard.views.explore import node_panel
from dashboard.widgets import chart, inputs
from octcore.data.export import frame_to_csv
from octcore.data.reading import read_table
from octcore.errors import OctError
from octcore.models.file import load_model, model_to_dict
from octcore.models.scoring import Scored, score
from octcore.plotting import text
from octcore.plotting.row_path import node_counts
from octcore.solving.run import SolvedRun

ROWS_SHOWN = 200


def draw(run_id: str, run: SolvedRun) -> None:
    """Draw the uploader, and what the tree says about the rows of the file."""
    model, counts = cached.once_per_run(
        run_id,
        "stored model",
        lambda: (load_model(model_to_dict(run)), node_counts(run.tree, run.encoding, run.train)),
    )
    names = ", ".join(text.markdown(column.name, 40) for column in model.needed[:12])
    more = f" and {len(model.needed) - 12} more" if len(model.needed) > 12 else ""
    st.caption(
        f"A CSV file with the columns {names}{more}. Further columns do no harm; with "
        f"{text.markdown(model.target or 'the target')} in it you also see how many are right."
    )
    upload = st.file_uploader(
        "Rows to score", type=["csv", "tsv", "txt"], key=session.widget_key("score_file", run_id)
    )
    if upload is None:
        return
    try:
        table = read_table(upload.getvalue(), file_name=upload.name)
        scored = score(model, table.frame(), counts, skip_incomplete=True)
    except OctError as error:
        inputs.say(error, 500)
        return
    _show(run_id, scored, upload.name)


def _show(run_id: str, scored: Scored, file_name: str) -> None:
    with st.container(horizontal=True, gap="medium"):
        st.metric("Rows", f"{len(scored.frame):,}", width="content")
        if scored.accuracy is not None:
            st.metric(
                "Right",
                text.percent(scored.accuracy),
                width="content",
                help=f"Of {text.count(scored.n_judged, 'row')} with a label in the file.",
            )
        if scored.confidence is not None and np.isfinite(scored.confidence).any():
            st.metric(
                "Mean confidence",
                text.percent(float(np.nanmean(scored.confidence))),
                width="content",
                help="Share of the predicted class among the training rows of the leaf. Far above "
                "the share that is right: the file is unlike the training rows.",
            )
    for finding in scored.findings:
        st.warning(text.markdown(finding, 300), icon=":material/info:")
    table = scored.table()
    columns = [*table.columns[-3:], *table.columns[:-3]]
    sure = columns[1]
    chart.table(
        table.head(ROWS_SHOWN)[columns].assign(**{sure: 100 * table[sure].head(ROWS_SHOWN)}),
        session.widget_key("scored", run_id),
        "Rows of the file with prediction, confidence and leaf",
        height=320,
        column_config={sure: node_panel.SHARE},
    )
    left, right = st.columns([3, 1], vertical_alignment="center")
    if len(table) > ROWS_SHOWN:
        left.caption(f"The first {ROWS_SHOWN} of {len(table):,} rows; the download has all.")
    with right:
        name, key = f"scored-{_stem(file_name)}.csv", session.widget_key("save_scored", run_id)
        inputs.download("Scored rows as CSV", name, lambda: frame_to_csv(table), key)


def _stem(file_name: str) -> str:
    """File name without its ending, letters and digits only."""
    stem = file_name.rsplit(".", 1)[0]
    return "".join(c if c.isalnum() else "-" for c in stem)[:60] or "rows"
