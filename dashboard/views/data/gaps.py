"""What happens to missing values, with what each way costs, before anything is solved."""

from typing import cast

import streamlit as st

from dashboard import cached, session
from dashboard.widgets import inputs
from octcore.data.assembly import GapPrice, Missing
from octcore.plotting import text

WORDS: dict[Missing, str] = {
    "auto": "as little as possible",
    "category": "treat missing as its own value",
    "drop-rows": "leave out the rows with gaps",
    "drop-columns": "leave out the columns with gaps",
}
MOST_NAMES = 3


def draw() -> None:
    """Draw the choice; nothing where no value is missing."""
    choice = session.choice()
    prices = cached.gap_prices(session.table(), choice)
    if not prices:
        return
    picked = st.radio(
        "Values are missing: what is given up for that?",
        list(WORDS),
        index=[*WORDS].index(cast("Missing", choice.missing)),
        format_func=lambda policy: WORDS[policy].capitalize(),
        captions=[price_words(prices[policy]) for policy in WORDS],
        key=session.widget_key("missing", session.table().sha256, choice.target, choice.missing),
        help="A missing text or a missing one of two values can be a value of its own; for a "
        "missing number its row or its column is left out.",
    )
    if picked == choice.missing:
        return
    if session.change_choice(missing=picked):
        st.rerun()
    inputs.say(session.state().problem)


def price_words(price: GapPrice) -> str:
    """Rows, columns and classes that a way costs, in words."""
    lost = price.n_rows_lost
    parts = [f"{text.count(lost, 'row')} of {price.n_rows:,}"] if lost else []
    for names, noun in ((price.columns, "column"), (price.classes, "class")):
        if names:
            shown = ", ".join(text.printable(name, 20) for name in names[:MOST_NAMES])
            more = ", …" if len(names) > MOST_NAMES else ""
            parts.append(f"{text.count(len(names), noun)} ({shown}{more})")
    return text.markdown(f"costs {' and '.join(parts) or 'nothing'}", 200)
