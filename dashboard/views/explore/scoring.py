"""A second file through the tree: predictions, leaves and confidence to look at and to save."""

import re
from pathlib import PurePath

import numpy as np
import streamlit as st

from dashboard import cached, session
from dashboard.views.explore import node_panel
from dashboard.widgets import chart, inputs
from octcore.data.findings import Finding
from octcore.data.reading import read_table
from octcore.plotting import text
from octcore.plotting.row_path import node_counts
from octcore.solving.run import SolvedRun
from octcore.store.models import Scored, load_model, model_to_dict, score


def draw(run_id: str, run: SolvedRun) -> None:
    """Draw the uploader, and what the tree says about the rows of the file."""
    model, counts = cached.once_per_run(
        run_id,
        "stored model",
        lambda: (load_model(model_to_dict(run)), node_counts(run.tree, run.encoding, run.train)),
    )
    named = dict.fromkeys(column.source for column in model.needed)
    names = text.few([text.markdown(name, 40) for name in named], 12)
    what = f"A CSV file with the columns that the tree tests: {names}. Others do no harm"
    st.caption(
        f"{what if named else 'Any CSV file, since the tree tests no column'}; with "
        f"{text.markdown(model.target or 'the target')} in it you also see how many are right."
    )
    upload = st.file_uploader(
        "Rows to score", type=["csv", "tsv", "txt"], key=session.widget_key("score_file", run_id)
    )
    if upload is None:
        return

    def scored() -> tuple[tuple[Finding, ...], Scored]:
        needed = [column.source for column in model.needed]
        table = read_table(upload.getvalue(), file_name=upload.name, names=needed)
        return table.of_lines, score(model, table.frame(), counts)

    key = session.widget_key("scored_file", run_id)
    name, found = st.session_state.get(key, ("", None))
    if name != upload.file_id and (found := inputs.tried(scored)):
        st.session_state[key] = upload.file_id, found  # not at every redraw anew
    if found:
        for finding in found[0]:
            st.caption(f":material/info: {text.markdown(finding.message, 300)}")
        _show(run_id, found[1], upload.name)


def _show(run_id: str, scored: Scored, file_name: str) -> None:
    entries: list[tuple[str, str, str | None]] = [("Rows", f"{len(scored.frame):,}", None)]
    if scored.accuracy is not None:
        words = f"Of {text.count(scored.n_judged, 'row')} with a label in the file."
        entries.append(("Right", text.percent(scored.accuracy), words))
    if scored.confidence is not None and np.isfinite(scored.confidence).any():
        words = (
            "Share of the predicted class among the training rows of the leaf. Far above the share "
            "that is right: the file is unlike the training rows."
        )
        mean = text.percent(float(np.nanmean(scored.confidence)))
        entries.append(("Mean confidence", mean, words))
    chart.numbers(entries)
    for finding in scored.findings:
        st.warning(text.markdown(finding, 300), icon=":material/info:")
    table = scored.table()
    columns = [*table.columns[-3:], *table.columns[:-3]]
    sure, stem = columns[1], re.sub(r"[\W_]", "-", PurePath(file_name).stem)
    chart.rows(
        table[columns].assign(**{sure: 100 * table[sure]}),
        session.widget_key("scored", run_id),
        "Rows of the file with prediction, confidence and leaf",
        ("Scored rows as CSV", f"scored-{stem[:60] or 'rows'}.csv", table),
        height=320,
        column_config={sure: node_panel.SHARE},
    )
