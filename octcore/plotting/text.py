"""User text made harmless for each place it is shown in; numbers made short.

Tables, canvas grids and SVG text nodes take plain text; Markdown and plotly do not.
"""

import html
import re
from collections.abc import Mapping, Sequence
from decimal import Decimal

from octcore.data.findings import count as count
from octcore.data.findings import few as few
from octcore.data.findings import percent as percent
from octcore.data.text import free_name as free  # noqa: F401
from octcore.tree.wording import cut, short_names
from octcore.tree.wording import minus as minus
from octcore.tree.wording import with_signs as words  # noqa: F401

_LINKS = re.compile(r"(?i)\b(https?|ftp|mailto|xmpp|www)(?=[:.])|(?<=\S)@(?=\S)")
_MARKDOWN = re.compile(r"([\\`*_{}\[\]()<>#+\-.!|~$:&^=])")


def printable(text: object, at_most: int = 60) -> str:
    """Show user text in one line: no control or direction characters, cut in the middle."""
    shown = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in str(text))
    return cut(shown.strip(), at_most)


def markdown(text: object, at_most: int = 60) -> str:
    """Escape user text for Streamlit's Markdown: no links, images, LaTeX, colours or icons."""
    broken = _LINKS.sub(lambda match: match[0] + "\N{WORD JOINER}", printable(text, at_most))
    return _MARKDOWN.sub(r"\\\1", broken)


def markdown_table(*rows: Sequence[str]) -> str:
    """A table in Markdown, the heading first; its cells may hold Markdown."""
    cells = ([cell.replace("|", "\\|").replace("\n", " ") for cell in row] for row in rows)
    heading, *lines = (f"| {' | '.join(row)} |" for row in cells)
    return "\n".join([heading, "|" + "---|" * len(rows[0]), *lines])


def plotly(text: object, at_most: int = 40) -> str:
    """Escape user text for plotly, which reads a subset of HTML in every label."""
    return html.escape(printable(text, at_most), quote=False)


def apart(texts: Sequence[object], at_most: int = 40) -> dict[object, str]:
    """Show user texts as `printable` does, shortened so that they show where they differ."""
    whole = {text: printable(text, len(str(text))) for text in texts}
    short = short_names(tuple(whole.values()), at_most)
    return {text: short[shown] for text, shown in whole.items()}


def unique_labels(texts: Sequence[object], at_most: int = 40) -> list[str]:
    """Plotly labels that stay apart: shortened so that they show where they differ."""
    short = apart(texts, at_most)
    labels: list[str] = []
    for text in texts:
        label = html.escape(short[text], quote=False)
        while label in labels:  # the same text twice: apart for plotly, the same for readers
            label += "\N{ZERO WIDTH SPACE}"
        labels.append(label)
    return labels


def number(value: float | None, digits: int = 4) -> str:
    """Write a number briefly; a dash where there is none."""
    if value is None:
        return "–"
    return minus(f"{value:,.1f}" if 1000 <= abs(value) < 1e9 else f"{value:.{digits}g}")


def fixed(value: float | None) -> str:
    """Write a number of a column of alike numbers: all with four decimals."""
    return "–" if value is None else minus(f"{value:,.4f}")


def hundredfold(share: float | None) -> float | None:
    """A share as the number of a column of percentages."""
    return None if share is None else 100 * share


MOST_DIGITS = 6  # of points


def points_between(first: float, second: float) -> tuple[str, str, str]:
    """How far two shares are apart, in points, and both, with the digits that it takes to add up.

    Rounded to one digit, 50.88 % and 48.44 % are 2.4 points apart, but what is shown 2.5.
    """
    apart = abs(first - second)

    def adds_up(digits: int) -> bool:
        shares = (first, second, apart)
        one, other, points = (Decimal(f"{100 * share:.{digits}f}") for share in shares)
        return points != 0 and abs(one - other) == points

    digits = next(filter(adds_up, range(1, MOST_DIGITS)), MOST_DIGITS)
    return f"{100 * apart:.{digits}f}", percent(first, digits), percent(second, digits)


def value(given: object) -> str:
    """Write the value of a setting."""
    if isinstance(given, bool):
        return "on" if given else "off"
    if isinstance(given, Mapping):
        given = [f"{name}: {value(one)}" for name, one in given.items()]
    if isinstance(given, (list, tuple)):
        return ", ".join(map(value, given))
    return f"{given:g}" if isinstance(given, float) else str(given)


def gap(value: float | None) -> str:
    """Write a relative gap: 0 is said to be closed."""
    if value is None:
        return "–"
    if value <= 0:
        return "0 %"
    return f"{float(f'{100 * value:.2g}'):g} %" if value < 10 else "> 1000 %"


def objective(told: str) -> str:
    """Give the words of an objective the signs of print, and its settings their spaces."""
    return told.replace(" - ", " \N{MINUS SIGN} ").replace(" x ", " × ").replace("_", " ")


def seconds(value: float | None) -> str:
    """Write a duration with a unit that fits."""
    if value is None:
        return "–"
    if value < 0.1:
        return f"{1000 * value:.0f} ms"
    if value < 60:
        return f"{value:.1f} s"
    minutes, rest = divmod(round(value), 60)
    return f"{minutes} min {rest:02d} s"
