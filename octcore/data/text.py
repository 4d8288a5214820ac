"""Cleaning of names, labels and other texts, and the signs of a missing value."""

from __future__ import annotations

import re
import unicodedata

MISSING_MARKS = frozenset({"", "?"})
"""Values that are missing in every column."""

MISSING_WORDS = frozenset({
    "na", "n/a", "#n/a", "nan", "null", "none", "nil", "missing", "unknown", "-", "--", ".", "n.a.",
    "#value!", "#div/0!", "#ref!", "#name?", "#null!", "<na>", "nat", "(null)",
})  # fmt: skip
"""Values, in lower case, that mean "missing" among numbers but may be a name among texts."""

LOOKS_MISSING = MISSING_WORDS | {
    "k.a.", "k. a.", "keine angabe", "unbekannt", "fehlt", "n.v.", "n.b.", "n.d.", "s.d.", "nd",
    "inconnu", "desconocido", "sconosciuto", "not available", "not known", "not recorded",
    "not applicable", "no data", "no answer", "nicht bekannt", "kein wert",
}  # fmt: skip
"""Values, in lower case, of which a user is asked whether they mean "missing"."""

_BREAKS = re.compile(r"\s*[\t\n\r\v\f]\s*")
_MINUS = re.compile("^\u2212(?=[0-9.])")  # the typographic minus sign before a number
_INVISIBLE = frozenset("\u200b\u2060\ufeff\u061c\u200e\u200f\u2028\u2029\u0085") | frozenset(
    map(chr, [*range(0x202A, 0x202F), *range(0x2066, 0x206A)])
)


def clean_text(text: str) -> str:
    """Trim a text, put it on one line and escape control characters visibly."""
    if text.isascii() and text.isprintable():
        return text.strip()
    one_line = _MINUS.sub("-", _BREAKS.sub(" ", text.strip()))
    return (
        "".join(_escape(character) for character in one_line) if has_control(one_line) else one_line
    )


def has_control(text: str) -> bool:
    """Say whether a text holds control characters or marks that change the reading direction."""
    return any(c in _INVISIBLE or unicodedata.category(c) in {"Cc", "Cs"} for c in text)


def _escape(character: str) -> str:
    if not has_control(character):
        return character
    point = ord(character)
    return f"\\x{point:02x}" if point < 256 else f"\\u{point:04x}"
