"""Choose a sample or upload a CSV file; say what was found in it."""

from collections.abc import Iterable
from dataclasses import replace
from typing import cast

import streamlit as st

from dashboard import cached, session
from dashboard.server import jobs
from dashboard.views.data import gaps
from dashboard.widgets import chart
from octcore.data.assembly import Missing
from octcore.data.findings import Finding
from octcore.data.samples import list_samples, sample_info
from octcore.plotting import text

PREVIEW_ROWS = 200
MOST_AT_ONCE = 6
"""Warnings beside the table; all are in a tab."""
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
    counts = {
        "Rows in use": f"{data.n_samples:,}",
        "Rows left out": f"{source.n_rows_dropped:,}",
        "Features": f"{data.n_features:,}",
        "Classes": "–" if data.y is None else f"{data.n_classes:,}",
    }
    chart.numbers([(name, value, None) for name, value in counts.items()], width=130)
    warned = [
        f
        for f in data.findings
        if f.code == MERGE or (f.severity == "warning" and f.code not in OF_ENCODINGS)
    ]
    for finding in _by_damage(warned)[:MOST_AT_ONCE]:
        _finding(finding, SEVERITIES["warning"][0], "above")
    if more := warned[MOST_AT_ONCE:]:
        st.caption(f"{text.count(len(more), 'more warning')} in Findings below.")
    _undo()


def _by_damage(found: Iterable[Finding]) -> list[Finding]:
    """What loses rows and columns, or what they say, first; then what a press answers."""
    source = session.dataset().source
    lost = {code for _, code in source.columns_dropped} | {code for code, _ in source.rows_dropped}
    return sorted(
        found,
        key=lambda f: (f.code not in {MISREAD, *lost}, f.code != MISREAD, f.code not in REPAIRED),
    )


def _undo() -> None:
    """Say how many columns are read in another way than by themselves, and offer to end that."""
    choice = session.choice()
    own = dict(sample_info(choice.sample).kinds) if choice.sample else {}
    stated = {name for name, kind in choice.kinds.items() if own.get(name) != kind}
    changed = stated.union(own.keys() - choice.kinds.keys(), choice.merge, choice.drop)
    if not changed:
        return
    words, button = st.columns([3, 2], vertical_alignment="center")
    words.caption(f":material/build: Read as stated: {text.count(len(changed), 'column')}.")
    if button.button("Read all as found", icon=":material/undo:", key="as_found"):
        session.change_choice(kinds=own, merge=(), drop=())
        st.rerun()


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
            for finding in _by_damage(here):
                _finding(finding, mark, "tab")


SEVERITIES = {
    "error": (":material/error:", "What must be mended"),
    "warning": (":material/warning:", "What to check: it may change the tree or its accuracy"),
    "info": (":material/info:", "Good to know: how the table was read"),
}
"""Mark and meaning of every kind of remark, the gravest first."""


def _finding(finding: Finding, mark: str, place: str) -> None:
    line = f"line {finding.line}" if finding.line else ""
    line = f" ({line})" if line and line not in finding.message else ""
    st.markdown(f"{mark} {text.markdown(finding.message, 600)}{line}")
    if finding.column is not None:
        _other_reading(finding.code, finding.column, place)


OTHER_KINDS = {
    "FEW_NUMBERS": ("Read {} as categories", "categorical"),
    "MIXED_TYPES": ("Keep the texts of {}", "categorical"),
    "MIXED_TEXT": ("Read {} as numbers, its words as missing", "numeric"),
    "TEXT_NUMBERS": ("Keep the texts of {}", "categorical"),
    "LEADING_ZEROS": ("Read {} as numbers", "numeric"),
    "DATE_COLUMN": ("Read {} as days since the first date", "numeric"),
    "PRECISION_LOST": ("Keep {} as categories", "categorical"),
}
"""Other ways to read the column of a finding."""
MERGE, LEAVE_OUT, MISREAD = "LOOK_ALIKE", "LEAKAGE", "MIXED_TEXT"
OF_ENCODINGS = {"CONFLICTING_AFTER_BINNING", "EDGES_COLLAPSED"}
"""What matters only where a formulation sees columns in parts."""
REPAIRED = {*OTHER_KINDS, MERGE, LEAVE_OUT}
"""Findings that a press answers."""


def _other_reading(code: str, column: str, place: str) -> None:
    """Offer another way to read a column, beside the sentence that says what it changes."""
    choice, name = session.choice(), text.markdown(column, 40)
    if code in OTHER_KINDS and column not in choice.kinds:
        label, kind = OTHER_KINDS[code]
        change = {"kinds": {**choice.kinds, column: kind}}
    elif code == MERGE:
        label, change = "Merge them in {}", {"merge": (*choice.merge, column)}
    elif code == LEAVE_OUT:
        label, change = "Leave {} out", {"drop": (*choice.drop, column)}
    else:
        return
    if code == MISREAD:
        prices = cached.gap_prices(session.table(), replace(choice, **change))
        costs = gaps.price_words(prices[cast("Missing", choice.missing)])
        st.caption(f"As missing values are treated now, that {costs}.")
    if st.button(label.format(name), key=f"{place}_{code}_{column}"):
        session.change_choice(**change)
        st.rerun()
