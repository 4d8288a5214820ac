"""Choose a sample or upload a CSV file; say what it is and show its first rows."""

import hashlib

import streamlit as st

from dashboard import session
from dashboard.server import jobs
from dashboard.views.data import first_lines, repairs
from dashboard.widgets import chart
from octcore.data.samples import list_samples, sample_info
from octcore.plotting import text

PREVIEW_ROWS = 200
OWN_FILE = "(your own file)"


def draw() -> None:
    """Draw the choice of a sample and the uploader."""
    choice = session.choice()
    names = [sample.name for sample in list_samples()]
    titles = {s.name: f"{s.title}, {s.rows} rows" for s in list_samples()}
    options = names if choice.sample else [OWN_FILE, *names]
    current = choice.sample or OWN_FILE
    sample_column, upload_column = st.columns(2)
    with sample_column:
        picked = st.selectbox(
            "Sample data",
            options,
            index=options.index(current),
            format_func=lambda name: titles.get(name, choice.file_name or OWN_FILE),
            key=session.widget_key("sample", current, choice.file_name),
        )
    if picked not in (current, OWN_FILE):
        session.choose_sample(picked)
        st.rerun()
    with upload_column:
        upload = st.file_uploader(
            "Or your own CSV file",
            type=["csv", "tsv", "txt"],
            key=session.widget_key("upload", session.state().uploads),
            help="Comma, semicolon, tab or | between the fields; the first line holds the names. "
            "The rows stay on this machine.",
        )
    if upload is not None:
        content = upload.getvalue()
        if session.choose_upload(content, upload.name) or session.state().refused:
            jobs.tables().keep(hashlib.sha256(content).hexdigest(), content)
        session.state().uploads += 1  # a new uploader, which is empty
        st.rerun()


def describe_source() -> None:
    """Say in two lines what the table is and where it comes from."""
    choice, data = session.choice(), session.dataset()
    if choice.sample:
        info = sample_info(choice.sample)
        st.markdown(f"**{text.markdown(info.title)}.** {text.markdown(info.summary, 300)}")
        if info.ground_truth:
            st.caption(f"Known: {text.markdown(info.ground_truth, 300)}")
        st.caption(
            f"{text.markdown(info.source, 200)} · {text.markdown(info.licence, 200)} · "
            f"{text.markdown(info.citation, 400)}"
        )
    else:
        size = data.source.n_bytes / 1024
        st.markdown(f"**{text.markdown(choice.file_name, 80)}**, {size:,.0f} KiB")
    _counts()


def _counts() -> None:
    data = session.dataset()
    source = data.source
    counts = {
        "Rows in use": f"{data.n_samples:,}",
        "Rows left out": f"{source.n_rows_dropped:,}",
        "Features": f"{data.n_features:,}",
        "Classes": "–" if data.y is None else f"{data.n_classes:,}",
    }
    chart.numbers([(name, value, None) for name, value in counts.items()], width=130)
    first_lines.draw()
    repairs.draw_above()
    repairs.draw_steps()


def preview() -> None:
    """Show the first rows as they are used."""
    data = session.dataset()
    shown = data.frame.head(PREVIEW_ROWS).copy()
    if data.y is not None:
        labels = [str(data.classes[k]) for k in data.y[:PREVIEW_ROWS]]
        shown.insert(0, text.free(f"→ {data.target_name}", shown.columns), labels)
    chart.table(shown, "preview", "The first rows of the table", height=320)
    if data.n_samples > PREVIEW_ROWS:
        st.caption(f"The first {PREVIEW_ROWS} of {text.count(data.n_samples, 'row')}.")
