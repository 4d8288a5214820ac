"""One file that scores new rows in a browser: the tree as a script, without a server or network."""

import json
from pathlib import Path
from typing import Any

from octcore.data.columns import MISSING_LEVEL, Column
from octcore.data.numbers import DRESSED, MARKED, OTHER_MARK, WEEKDAYS
from octcore.data.text import MISSING_MARKS, MISSING_WORDS
from octcore.encoding.base import Encoding
from octcore.plotting import text
from octcore.reports.page import escaped, page
from octcore.solving.run import SolvedRun
from octcore.tree.export.code import asked_columns, to_code

SCRIPT = Path(__file__).with_suffix(".js").read_text(encoding="utf-8")


def scorer_html(run: SolvedRun, name: str) -> str:
    """Make the page: choose a CSV, see the class of every row, save it."""
    columns = asked_columns(run.tree, run.encoding)
    lists = {
        "COLUMNS": columns,
        "READ": {name: _reading(run.train.column(name), run.encoding) for name, *_ in columns},
        "MARKS": sorted(MISSING_MARKS),
        "WORDS": sorted(MISSING_WORDS),
        "MARKED": {key: (shape.pattern, marks) for key, (shape, marks) in MARKED.items()},
        "DRESSED": DRESSED.pattern.replace("(?P<", "(?<"),
        "OTHER_MARK": OTHER_MARK,
        "WEEKDAYS": WEEKDAYS,
    }
    code = to_code(run.tree, run.encoding, "js")
    code += "".join(f"const {key} = {json.dumps(values)};\n" for key, values in lists.items())
    script = code.replace("</", "<\\/") + SCRIPT
    sources = dict.fromkeys(run.train.column(column).source for column, *_ in columns)
    names = ", ".join(f"<b>{escaped(name, 100)}</b>" for name in sources)
    asks = f"It asks for {names}; other columns are kept." if columns else "It asks for nothing."
    shares = [(run.accuracy, run.n_answered, "training")]
    if run.test_accuracy is not None:
        shares.insert(0, (run.test_accuracy, run.n_test_answered, "held-out"))
    told = " that get a class" * (run.asked.refer is not None)
    right = ", ".join(
        f"{text.percent(share)} of {text.count(n, f'{which} row')}{told}"
        for share, n, which in shares
    )
    parts = (
        f"<h1>{escaped(name)}</h1>",
        f"<p>This page gives every row of a CSV file its class. {asks} Nothing leaves this "
        "computer.</p>",
        '<noscript><p class="weak">Scoring needs scripts.</p></noscript>'
        '<p><label>Rows (CSV) <input id="rows" type="file" accept=".csv,text/csv"></label></p>'
        '<p id="said" aria-live="polite"></p>'
        '<p><a id="save" download="scored.csv" hidden>Save the scored rows</a></p>'
        '<table id="scored"></table>',
        f'<p class="weak">{escaped(text.printable(run.badge))}; right for {right}.</p>',
        f"<script>{script}</script>",
    )
    return page(name, parts, script)


def _reading(column: Column, encoding: Encoding) -> dict[str, Any]:
    """How the cells of a column are read: from which column, which texts as which, and dates.

    `known`: texts that came up in training, where splits ask for one of them.
    """
    kind, *about = column.number_format.split(":", 2)
    dates = {} if not about else {"first": about[0], "order": about[1]}
    if column.source != column.name:
        dates = {"order": about[0]}
    names = column.numbers_as_names
    aliases = [*names.items(), *column.meant.items()]
    has_words = bool(names) and MISSING_LEVEL in column.levels  # and so is a word a gap
    levels = [c for c in encoding.columns if c.raw == column.name and c.kind == "level"]
    known = [level for c in levels for level in (c.level, c.other) if isinstance(level, str)]
    told = {"source": column.source, "aliases": aliases, "kind": kind, "words": has_words}
    return told | {"known": known} | dates
