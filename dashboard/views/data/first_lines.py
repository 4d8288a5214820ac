"""The first lines of a file, and what each is taken for; another header is chosen at a press."""

import streamlit as st

from dashboard import session
from octcore.data.findings import Head
from octcore.plotting import text

SHOWN, BELOW = 5, 2
MOST_FIELDS = 8
NO_NAMES = "NO_HEADER"


def draw() -> None:
    """Draw the lines of the file that was read, or of one that could not be."""
    now = session.state()
    if now.refused is not None:
        _draw(now.refused[2], None, ["" for _ in now.refused[2]])
    elif now.content:
        table, first = now.table, int(now.table.lines[0])
        roles = [_role(line, table.header, first) for line, _ in table.head]
        _draw(table.head, table.header, roles)


def _role(line: int, header: int, first: int) -> str:
    if line == header:
        return "names the columns"
    return "left out" if line < first else "a row"


def _draw(head: Head, header: int | None, roles: list[str]) -> None:
    choice, data = session.choice(), session.dataset()
    lines, fields = [line for line, _ in head], dict(head)
    many = SHOWN if header is None else max(SHOWN, lines.index(header) + 1 + BELOW)
    is_odd = header is None or "left out" in roles or choice.header or choice.first_row
    is_odd = is_odd or any(f.code == NO_NAMES for f in data.findings)
    with st.expander("First lines of the file", icon=":material/toc:", expanded=bool(is_odd)):
        key = session.widget_key("header", session.state().uploads, header, lines[:many])
        st.radio(
            "Which line names the columns?",
            lines[:many],
            index=None if header is None else lines.index(header),  # pyright: ignore
            format_func=lambda line: f"{line}: {_shown(fields[line])}",
            captions=roles[:many],
            key=key,
            on_change=_take,
            args=(key,),
            help="Lines above it are titles and are left out. A line of units below it is found, "
            "and left out as well.",
        )
        for line, role in zip(lines, roles, strict=True):
            is_left_out = header is not None and line > header and role == "left out"
            if is_left_out and st.button(f"Keep line {line} as a row", key=f"keep_line:{line}"):
                session.change_lines(first_row=line)
                st.rerun()


def _take(key: str) -> None:
    session.change_lines(header=st.session_state[key], first_row=None)


def _shown(fields: tuple[str, ...]) -> str:
    cells = [text.markdown(field.strip(), 24) or "–" for field in fields[:MOST_FIELDS]]
    return " · ".join([*cells, "…"] if len(fields) > MOST_FIELDS else cells)
