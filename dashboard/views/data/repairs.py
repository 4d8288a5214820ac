"""What reading noticed, each with the press that repairs it; missing values; the way back."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any, cast

import streamlit as st

from dashboard import cached, session
from dashboard.widgets import inputs
from octcore.data.assembly import GapPrice, Missing
from octcore.data.checks import sentinels
from octcore.data.findings import Finding
from octcore.data.numbers import PLAIN
from octcore.data.preparing import missing_words
from octcore.data.samples import sample_info
from octcore.plotting import text

MOST_AT_ONCE = 6  # warnings beside the table; the others are in a tab
SEVERITIES = {
    "error": (":material/error:", "What must be mended"),
    "warning": (":material/warning:", "What to check: it may change the tree or its accuracy"),
    "info": (":material/info:", "Good to know: how the table was read"),
}
"""Mark and meaning of every kind of remark, the gravest first."""
OTHER_KINDS = {
    "FEW_NUMBERS": {"Read {} as categories": "categorical"},
    "MIXED_TYPES": {"Keep the texts of {}": "categorical"},
    "MIXED_TEXT": {"Read {} as numbers, its words as missing": "numeric"},
    "TEXT_NUMBERS": {"Keep the texts of {}": "categorical"},
    "LEADING_ZEROS": {"Read {} as numbers": "numeric"},
    "DATE_COLUMN": {
        "Read {} as days since the first date": "numeric",
        "Read {} as year, month and weekday": "date",
    },
    "PRECISION_LOST": {"Keep {} as categories": "categorical"},
}
"""Other ways to read the column of a finding."""
MERGE, LEAVE_OUT, MISREAD = "LOOK_ALIKE", "LEAKAGE", "MIXED_TEXT"
WORDS, SENTINEL = "LOOKS_MISSING", "SENTINEL"
SAID_ELSEWHERE = {"CONFLICTING_AFTER_BINNING", "EDGES_COLLAPSED", "TITLE_LINES", "UNITS_LINE"}
"""What matters only where a formulation sees columns in parts, and what the first lines show."""
REPAIRED = {*OTHER_KINDS, MERGE, LEAVE_OUT, WORDS, SENTINEL}  # findings that a press answers


def draw_above() -> None:
    """Draw what costs most, where the table is chosen."""
    warned = _warned()
    for finding in warned[:MOST_AT_ONCE]:
        _finding(finding, SEVERITIES["warning"][0])
    if (more := len(warned) - MOST_AT_ONCE) > 0:
        st.caption(f"{text.count(more, 'more warning')} in Findings below.")


def _warned() -> list[Finding]:
    """What is to be said where the table is chosen, what costs most first."""
    return _by_damage(
        f
        for f in session.dataset().findings
        if f.code == MERGE or (f.severity == "warning" and f.code not in SAID_ELSEWHERE)
    )


def draw_all() -> None:
    """List what else reading noticed, errors and warnings first."""
    above = _warned()[:MOST_AT_ONCE]
    found = [finding for finding in session.dataset().findings if finding not in above]
    if not found:
        words = "Nothing more to remark." if above else "Nothing to remark: the table is clean."
        st.success(words, icon=":material/check_circle:")
    for severity, (mark, heading) in SEVERITIES.items():
        here = [finding for finding in found if finding.severity == severity]
        if here:
            st.markdown(f"**{heading}**")
            for finding in _by_damage(here):
                _finding(finding, mark)


def _by_damage(found: Iterable[Finding]) -> list[Finding]:
    """What loses rows and columns, or what they say, first; then what a press answers."""
    found, source = list(found), session.dataset().source
    codes = list(dict.fromkeys(finding.code for finding in found))
    lost = {code for _, code in source.columns_dropped} | {code for code, _ in source.rows_dropped}
    return sorted(
        found,
        key=lambda f: (
            f.code not in {MISREAD, *lost},
            f.code != MISREAD,
            f.code not in REPAIRED,
            codes.index(f.code),
        ),
    )


def _finding(finding: Finding, mark: str) -> None:
    line = f"line {finding.line}" if finding.line else ""
    line = f" ({line})" if line and line not in finding.message else ""
    st.markdown(f"{mark} {text.markdown(finding.message, 600)}{line}")
    if finding.column is None or finding.code not in REPAIRED:
        return
    with st.container(horizontal=True, gap="small"):
        for label, change in _offers(finding.code, finding.column):
            if st.button(label, key=f"{finding.code}_{finding.column}_{label}"):
                session.change_choice(**change)
                st.rerun()
            if finding.code in {MISREAD, WORDS, SENTINEL}:
                st.caption(_price(finding, change))


def _price(finding: Finding, change: dict[str, Any]) -> str:
    """Say what further gaps cost; a text that is missing is a category as it was before."""
    choice = session.choice()
    if finding.column == choice.target:
        return "These rows are left out then."
    if finding.code == WORDS and choice.missing in ("auto", "category"):
        return "As missing values are treated now, that costs nothing."
    before, after = (
        cached.gap_prices(session.table(), c).get(cast("Missing", c.missing))
        for c in (choice, replace(choice, **change))
    )
    if before in (None, after):
        costs = "costs nothing" if after in (None, before) else price_words(after)
        return f"As missing values are treated now, that {costs}."
    return f"All that is missing then {price_words(after)}." if after else ""


def _offers(code: str, column: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Other ways to read a column: what stands on the press, and what it changes."""
    choice, name = session.choice(), text.markdown(column, 40)
    if column not in choice.kinds:
        for label, kind in OTHER_KINDS.get(code, {}).items():
            yield label.format(name), {"kinds": {**choice.kinds, column: kind}}
    if code == MERGE:
        yield f"Merge them in {name}", {"merge": (*choice.merge, column)}
    if code == LEAVE_OUT:
        yield f"Leave {name} out", {"drop": (*choice.drop, column)}
    if code in {WORDS, SENTINEL} and (words := _gaps(code, column)):
        known = choice.na_values.get(column, ())
        change = {"na_values": {**choice.na_values, column: (*known, *words)}}
        yield f"Read {text.markdown(', '.join(words), 40)} in {name} as missing", change


def _gaps(code: str, column: str) -> list[str]:
    """Texts of a column that may mean a gap; the finding says in how many rows."""
    raw = session.table().column(column)
    if code == WORDS:
        return [*missing_words(raw)]
    known = dict(sentinels(session.dataset().frame[column].to_numpy(dtype=float)))
    return [value for value in raw.values if PLAIN.fullmatch(value) and float(value) in known]


def draw_steps() -> None:
    """Say what was done to the table, and offer the way back from each and from all of it."""
    steps = list(_steps())
    if not steps:
        return
    st.caption(f":material/build: Prepared: {text.count(len(steps), 'step')}.")
    look: dict[str, Any] = {"icon": ":material/undo:", "on_click": _undo}
    step: dict[str, Any] = {"type": "tertiary", "help": "Take this step back.", **look}
    with st.container(horizontal=True, gap="small"):
        for words, change in steps:
            st.button(words, key=session.widget_key("undo", words), args=(change,), **step)
        every = {"kinds": _own_kinds(), **NO_STEPS}
        st.button("Read all as found", key="as_found", args=(every,), **look)


def _own_kinds() -> dict[str, str]:
    choice = session.choice()
    return dict(sample_info(choice.sample).kinds) if choice.sample else {}


NO_STEPS = {"merge": (), "drop": (), "na_values": {}, "header": None, "first_row": None}


def _steps() -> Iterator[tuple[str, dict[str, Any]]]:
    """Every step in words, and the change that takes it back."""
    choice, own = session.choice(), _own_kinds()

    def without(names: tuple[str, ...], name: str) -> tuple[str, ...]:
        return tuple(other for other in names if other != name)

    def named(column: str) -> str:
        return text.markdown(column, 30)

    for line, what in (("header", "names the columns"), ("first_row", "is the first row")):
        if number := getattr(choice, line):
            yield f"line {number} {what}", {line: None}
    for column, texts in choice.na_values.items():
        shown = text.markdown(", ".join(texts), 30)
        left = {name: t for name, t in choice.na_values.items() if name != column}
        yield f"{named(column)}: {shown} is missing", {"na_values": left}
    for column in choice.merge:
        yield f"{named(column)}: merged", {"merge": without(choice.merge, column)}
    for column in {**own, **choice.kinds}:
        kind = choice.kinds.get(column, "").split(":")[0] or "as found"
        if choice.kinds.get(column) != own.get(column):
            back = {name: k for name, k in choice.kinds.items() if name != column}
            back |= {column: own[column]} if column in own else {}
            yield f"{named(column)}: {kind}", {"kinds": back}
    for column in choice.drop:
        yield f"{named(column)}: left out", {"drop": without(choice.drop, column)}


def _undo(change: dict[str, Any]) -> None:
    """Take steps back; other lines mean that the file is read again."""
    lines = {name: change[name] for name in ("header", "first_row") if name in change}
    session.change_lines(**lines)
    session.change_choice(**{name: v for name, v in change.items() if name not in lines})


WAYS: dict[Missing, str] = {
    "auto": "as little as possible",
    "category": "treat missing as its own value",
    "drop-rows": "leave out the rows with gaps",
    "drop-columns": "leave out the columns with gaps",
}
MOST_NAMES = 3


def draw_gaps() -> None:
    """Draw the choice, of what costs the same one; nothing where no value is missing."""
    choice = session.choice()
    prices = cached.gap_prices(session.table(), choice)
    if not prices:
        return
    current = cast("Missing", choice.missing)
    # What costs the same does the same; "a value of its own" is its last name.
    names: tuple[Missing, ...] = ("category", "drop-columns", "drop-rows", "auto", current)
    of_price = {prices[way]: way for way in names}
    ways: list[Missing] = [way for way in WAYS if way in of_price.values()]
    picked = st.radio(
        "Values are missing: what is given up for that?",
        ways,
        index=ways.index(current),
        format_func=lambda policy: WAYS[policy].capitalize(),
        captions=[price_words(prices[policy]) for policy in ways],
        key=session.widget_key("missing", session.table().sha256, choice.target, choice.missing),
        help="A missing text or a missing one of two values can be a value of its own; for a "
        "missing number its row or its column is left out.",
    )
    if picked != choice.missing:
        inputs.change_data(missing=picked)


def price_words(price: GapPrice) -> str:
    """Rows, columns and classes that a way costs, in words."""
    lost = price.n_rows_lost
    parts = [f"{text.count(lost, 'row')} of {price.n_rows:,}"] if lost else []
    for names, noun in ((price.columns, "column"), (price.classes, "class")):
        if names:
            shown = text.few([text.printable(name, 20) for name in names], MOST_NAMES)
            parts.append(f"{text.count(len(names), noun)} ({shown})")
    return text.markdown(f"costs {' and '.join(parts) or 'nothing'}", 200)
