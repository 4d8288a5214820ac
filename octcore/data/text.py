"""Texts of users: cleaned, the signs of a missing value, columns found by the names they wrote."""

import difflib
import re
import unicodedata
from collections.abc import Container, Iterable, Iterator, Sequence
from itertools import count

from octcore.data.findings import listing, quote
from octcore.errors import DataError

MISSING_MARKS = frozenset({"", "?"})  # values that are missing in every column
MISSING_WORDS = frozenset({
    "na", "n/a", "#n/a", "nan", "null", "none", "nil", "missing", "unknown", "-", "--", ".", "n.a.",
    "#value!", "#div/0!", "#ref!", "#name?", "#null!", "#num!", "<na>", "nat", "(null)", "\\n",
    "---", "\u2013", "\u2014", "#nv", "#wert!", "#bezug!",
})  # fmt: skip
"""Values, in lower case, that mean "missing" among numbers but may be a name among texts."""
LOOKS_MISSING = MISSING_WORDS | {
    "k.a.", "k. a.", "keine angabe", "unbekannt", "fehlt", "n.v.", "n.b.", "n.d.", "s.d.", "nd",
    "inconnu", "desconocido", "sconosciuto", "not available", "not known", "not recorded",
    "not applicable", "no data", "no answer", "nicht bekannt", "kein wert", "(blank)", "(leer)",
    "..", "\u2026", "n.a", "tbd",
}  # fmt: skip
"""Values, in lower case, of which a user is asked whether they mean "missing"."""
AFFIRMED = frozenset({
    ("yes", "no"), ("y", "n"), ("true", "false"), ("t", "f"), ("1", "0"), ("1", "-1"), ("+", "-"),
    ("positive", "negative"), ("pos", "neg"), ("malignant", "benign"), ("abnormal", "normal"),
    ("present", "absent"), ("on", "off"), ("sick", "healthy"), ("ill", "healthy"), ("spam", "ham"),
    ("dead", "alive"), ("died", "survived"), ("case", "control"),
    ("ja", "nein"), ("j", "n"), ("positiv", "negativ"), ("wahr", "falsch"), ("krank", "gesund"),
    ("ja", "nee"), ("ja", "nej"), ("oui", "non"), ("s\u00ed", "no"), ("si", "no"),
    ("sim", "n\u00e3o"), ("tak", "nie"), ("\u0434\u0430", "\u043d\u0435\u0442"),
})  # fmt: skip
"""Pairs of labels, in lower case, of which the first says that something is so."""
_DENIALS = ("not ", "no ", "non ", "non-", "kein ", "keine ", "nicht ")
_BREAKS = re.compile(r"\s*[\t\n\r\v\f]\s*")
_MINUS = re.compile("^[\u2212\u2013](?=[0-9.,])")  # a typographic minus, or a dash, before a number
_KEPT = re.compile('^="([^"]*)"$')  # how a program keeps a spreadsheet from changing a text
_INVISIBLE = frozenset("\u200b\u2060\ufeff\u061c\u200e\u200f\u2028\u2029\u0085") | frozenset(
    map(chr, [*range(0x202A, 0x202F), *range(0x2066, 0x206A)])
)


def clean_text(text: str) -> str:
    """Trim a text, put it on one line and escape control characters visibly."""
    text = text.strip()
    if text.startswith('="'):
        text = _KEPT.sub(r"\1", text)
    if text.isascii() and text.isprintable():
        return text
    one_line = _MINUS.sub("-", _BREAKS.sub(" ", text))
    return "".join(map(_escape, one_line)) if has_control(one_line) else one_line


def is_spaced(text: str) -> bool:
    """Say whether `clean_text` takes spaces or line breaks from a text."""
    return text != text.strip() or _BREAKS.search(text) is not None


def rewritten(texts: Sequence[str], cleaned: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Codes and words for what `clean_text` did to texts, beside taking spaces from them."""
    if any(has_control(" ".join(text.split())) for text in texts):
        yield "CONTROL_CHARS", "control characters; they are written out, as in \\x07"
    for text, clean in zip(texts, cleaned, strict=True):
        if _KEPT.match(text.strip()) or _MINUS.match(text.strip()):
            yield "REWRITTEN", f"{quote(text)} in the file, which is read as {quote(clean)}"
            return


def has_control(text: str) -> bool:
    """Say whether a text holds control characters or marks that change the reading direction."""
    return any(c in _INVISIBLE or unicodedata.category(c) in {"Cc", "Cs"} for c in text)


def _escape(character: str) -> str:
    if not has_control(character):
        return character
    point = ord(character)
    return f"\\x{point:02x}" if point < 256 else f"\\u{point:04x}"


def find_column(name: str, names: Sequence[str], what: str = "column") -> str:
    """Return the table's own spelling of a column name; `DataError` with near matches if none fits.

    An exact match wins; otherwise the name is compared with spaces trimmed and composed (NFC).
    """
    if name in names:
        return name
    wanted = normal(name)
    matches = [candidate for candidate in names if normal(candidate) == wanted]
    if len(matches) == 1:
        return matches[0]
    raise unknown_column(name, names, what)


def normal(name: str) -> str:
    """Reduce a name to what a reader sees: clean, composed, with single spaces."""
    return unicodedata.normalize("NFC", " ".join(clean_text(str(name)).split()))


def fresh_name(name: str, taken: Container[str], numbers: Iterator[int] | None = None) -> str:
    """Return a name that no column has, numbering it where needed.

    `numbers` go on where an earlier call with the same name has left them; else they start at 2.
    """
    fresh, numbers = name, numbers or count(2)
    while fresh in taken:
        fresh = f"{name} ({next(numbers)})"
    return fresh


def free_name(name: str, taken: Container[str], mark: str = "'") -> str:
    """Return a name that is not taken: with a mark behind it, or several, where it is."""
    while name in taken:
        name += mark
    return name


def affirmed(labels: Sequence[object]) -> int | None:
    """Which of two labels says that something is so, where the other one denies it; else None."""
    pair = [normal(str(label)).casefold() for label in labels]
    for place, (yes, no) in enumerate((pair, pair[::-1])):
        if (yes, no) in AFFIRMED or no in {denial + yes for denial in _DENIALS}:
            return place
    return None


def unknown_column(name: object, names: Iterable[str], what: str = "column") -> DataError:
    """Make the error for a column that is not there."""
    known = list(names)
    near = difflib.get_close_matches(str(name)[:200], known[:2000], n=3, cutoff=0.5)
    hint = f"did you mean {listing(near)}?" if near else f"the columns are {listing(known)}."
    return DataError(
        "UNKNOWN_COLUMN", f"There is no {what} {quote(name)}; {hint}", column=str(name)
    )
