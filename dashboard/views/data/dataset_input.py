"""Choose a sample or upload a CSV file; what it is, its first lines and its first rows."""

import hashlib
import math

import streamlit as st

from dashboard import session
from dashboard.server import jobs
from dashboard.views.data import repairs
from dashboard.widgets import chart
from octcore.data.findings import Head
from octcore.data.samples import list_samples, sample_info
from octcore.plotting import text

PREVIEW_ROWS = 200
OWN_FILE = "(your own file)"


def draw() -> None:
    """Draw the choice of a sample and the uploader."""
    choice = session.choice()
    names = [sample.name for sample in list_samples()]
    titles = {s.name: f"{s.title}, {s.rows:,} rows" for s in list_samples()}
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
            # Of a larger one the browser says so only under the mouse.
            f"Or your own CSV file, at most {st.get_option('server.maxUploadSize')} MB",
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
        size = math.ceil(data.source.n_bytes / 1024)  # a small file is not of 0
        is_lost = bool(session.state().content) and session.DATA_PARAMETER not in st.query_params
        lost = "; the server could not keep it: a page that is loaded anew needs the file again"
        st.markdown(f"**{text.markdown(choice.file_name, 80)}**, {size:,} KiB{lost * is_lost}")
    used, left_out = f"{data.n_samples:,}", f"{data.source.n_rows_dropped:,}"
    chart.numbers([("Rows in use", used, None), ("Rows left out", left_out, None)], width=130)
    _draw_lines()
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


LINES_SHOWN, LINES_BELOW = 5, 2
MOST_FIELDS = 8
TITLE, HEADER, UNITS = "a title, left out", "names the columns", "units, left out"
NO_NAMES = "NO_HEADER"


def draw_refused() -> None:
    """Draw the lines of an upload that could not be read: another header may mend it."""
    refused = session.state().refused
    if refused is not None:
        _, name, head = refused
        _lines(f"First lines of {text.markdown(name, 40)}, which is not loaded", head, {}, True)


def _draw_lines() -> None:
    """Draw the lines of the upload that was read, open where they are no plain table."""
    now = session.state()
    if not now.content or now.refused is not None:
        return
    table, choice = now.table, session.choice()
    first = int(table.lines[0])
    roles = {n: TITLE if n < table.header else UNITS if n < first else "" for n, _ in table.head}
    roles[table.header] = HEADER
    many = sum(role in (TITLE, UNITS) for role in roles.values())
    last = max(LINES_SHOWN, [*roles].index(table.header) + 1 + LINES_BELOW)
    lines = [*roles][:last]
    has_blanks = lines != [*range(lines[0], lines[0] + len(lines))]
    is_odd = many or has_blanks or choice.header or choice.first_row
    is_odd = is_odd or any(finding.code == NO_NAMES for finding in now.data.findings)
    title = "First lines of the file" + f": {many} left out" * bool(many)
    _lines(title, table.head[:last], roles, bool(is_odd))


def _lines(title: str, head: Head, roles: dict[int, str], is_open: bool) -> None:
    lines, fields = [line for line, _ in head], dict(head)
    header = next((line for line, role in roles.items() if role == HEADER), None)

    def shown(line: int) -> str:
        role = roles.get(line, "")
        return f"{line}: {_cells(fields[line])}" + f" *({role})*" * bool(role)

    def take_header() -> None:
        session.change_lines(header=st.session_state[key], first_row=None)

    with st.expander(title, icon=":material/toc:", expanded=is_open):
        key = session.widget_key("header", session.state().uploads, header, lines)
        st.radio(
            "Which line names the columns?",
            lines,
            index=None if header is None else lines.index(header),  # pyright: ignore
            format_func=shown,
            key=key,
            on_change=take_header,
            help="Lines above it are titles and are left out. A line of units below it is found, "
            "and left out as well.",
        )
        for line in lines:
            if roles.get(line) != UNITS:
                continue
            if st.button(f"Keep line {line} as a row", key=f"keep_line:{line}"):
                session.change_lines(first_row=line)
                st.rerun()


def _cells(fields: tuple[str, ...]) -> str:
    filled = [k for k, field in enumerate(fields) if field.strip()]
    kept, widest = fields[: filled[-1] + 1], 24 if len(filled) > 1 else 80
    cells = [text.markdown(field.strip(), widest) or "–" for field in kept[:MOST_FIELDS]]
    return " · ".join([*cells, "…"] if len(kept) > MOST_FIELDS else cells)
