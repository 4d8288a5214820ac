"""The first lines of a file, and what each is taken for; another header is chosen at a press."""

import streamlit as st

from dashboard import session
from octcore.data.findings import Head
from octcore.plotting import text

SHOWN, BELOW = 5, 2
MOST_FIELDS = 8
TITLE, HEADER, UNITS = "a title, left out", "names the columns", "units, left out"
NO_NAMES = "NO_HEADER"


def draw_refused() -> None:
    """Draw the lines of an upload that could not be read: another header may mend it."""
    refused = session.state().refused
    if refused is not None:
        _, name, head = refused
        _draw(f"First lines of {text.markdown(name, 40)}, which is not loaded", head, {}, True)


def draw() -> None:
    """Draw the lines of the upload that was read, open where they are no plain table."""
    now = session.state()
    if not now.content or now.refused is not None:
        return
    table, choice = now.table, session.choice()
    roles = {line: _role(line, table.header, int(table.lines[0])) for line, _ in table.head}
    many = sum(role in (TITLE, UNITS) for role in roles.values())
    last = max(SHOWN, [*roles].index(table.header) + 1 + BELOW)
    lines = [*roles][:last]
    has_blanks = lines != [*range(lines[0], lines[0] + len(lines))]
    is_odd = many or has_blanks or choice.header or choice.first_row
    is_odd = is_odd or any(finding.code == NO_NAMES for finding in now.data.findings)
    title = "First lines of the file" + f": {many} left out" * bool(many)
    _draw(title, table.head[:last], roles, bool(is_odd))


def _role(line: int, header: int, first: int) -> str:
    if line == header:
        return HEADER
    return TITLE if line < header else UNITS if line < first else ""


def _draw(title: str, head: Head, roles: dict[int, str], is_open: bool) -> None:
    lines, fields = [line for line, _ in head], dict(head)
    header = next((line for line, role in roles.items() if role == HEADER), None)

    def shown(line: int) -> str:
        role = roles.get(line, "")
        return f"{line}: {_cells(fields[line])}" + f" *({role})*" * bool(role)

    with st.expander(title, icon=":material/toc:", expanded=is_open):
        key = session.widget_key("header", session.state().uploads, header, lines)
        st.radio(
            "Which line names the columns?",
            lines,
            index=None if header is None else lines.index(header),  # pyright: ignore
            format_func=shown,
            key=key,
            on_change=_take,
            args=(key,),
            help="Lines above it are titles and are left out. A line of units below it is found, "
            "and left out as well.",
        )
        for line in lines:
            if roles.get(line) != UNITS:
                continue
            if st.button(f"Keep line {line} as a row", key=f"keep_line:{line}"):
                session.change_lines(first_row=line)
                st.rerun()


def _take(key: str) -> None:
    session.change_lines(header=st.session_state[key], first_row=None)


def _cells(fields: tuple[str, ...]) -> str:
    filled = [k for k, field in enumerate(fields) if field.strip()]
    kept, widest = fields[: filled[-1] + 1], 24 if len(filled) > 1 else 80
    cells = [text.markdown(field.strip(), widest) or "–" for field in kept[:MOST_FIELDS]]
    return " · ".join([*cells, "…"] if len(kept) > MOST_FIELDS else cells)
