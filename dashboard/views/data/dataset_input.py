"""Choose a sample or upload a CSV file; say what was found in it."""

import streamlit as st

from dashboard import session
from dashboard.server import jobs
from dashboard.widgets import chart
from octcore.data.findings import Finding
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
        if session.choose_upload(content, upload.name):
            jobs.tables().keep(session.table().sha256, content)
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
    numbers = st.columns(4)
    numbers[0].metric("Rows in use", f"{data.n_samples:,}")
    numbers[1].metric("Rows left out", f"{source.n_rows_dropped:,}")
    numbers[2].metric("Features", f"{data.n_features:,}")
    numbers[3].metric("Classes", f"{data.n_classes:,}")
    warned = sum(finding.severity == "warning" for finding in data.findings)
    if warned:
        st.caption(f":material/warning: {text.count(warned, 'warning')}; see Findings below.")


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


def findings() -> None:
    """List what reading noticed, errors and warnings first."""
    found = session.dataset().findings
    if not found:
        st.success("Nothing to remark: the table is clean.", icon=":material/check_circle:")
        return
    for severity, (mark, heading) in SEVERITIES.items():
        here = [finding for finding in found if finding.severity == severity]
        if here:
            st.markdown(f"**{heading}**")
            for finding in here:
                _finding(finding, mark)


SEVERITIES = {
    "error": (":material/error:", "What must be mended"),
    "warning": (":material/warning:", "What to check: it may change the tree or its accuracy"),
    "info": (":material/info:", "Good to know: how the table was read"),
}
"""Mark and meaning of every kind of remark, the gravest first."""


def _finding(finding: Finding, mark: str) -> None:
    place = f"line {finding.line}" if finding.line else ""
    place = f" ({place})" if place and place not in finding.message else ""
    st.markdown(f"{mark} {text.markdown(finding.message, 600)}{place}")
    if finding.column is not None:
        _other_reading(finding.code, finding.column)


def _other_reading(code: str, column: str) -> None:
    """Offer another way to read a column, beside the sentence that says what it changes."""
    choice, name = session.choice(), text.markdown(column, 40)
    readings = {
        "LOOK_ALIKE": (f"Merge them in {name}", {"merge": (*choice.merge, column)}),
        "FEW_NUMBERS": (
            f"Read {name} as categories",
            {"kinds": {**choice.kinds, column: "categorical"}},
        ),
    }
    if code in readings:
        label, change = readings[code]
        if st.button(label, key=f"{code}_{column}") and session.change_choice(**change):
            st.rerun()
