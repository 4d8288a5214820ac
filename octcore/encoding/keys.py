"""Encoding keys: what users write, such as ``QT-5``."""

from __future__ import annotations

import re
from dataclasses import dataclass

from octcore.errors import SettingsError
from octcore.parameters import unknown_name

PLAIN_KEYS = ("class-change", "one-hot", "raw", "scaled", "none")
MANY_QUANTILES = 100
"""Above this q the model grows large for little gain; it is accepted with a remark."""


@dataclass(frozen=True)
class EncodingKey:
    """An encoding key taken apart."""

    family: str
    """``"QB"``, ``"QT"`` or one of the keys without a number."""
    q: int = 0
    """Number of quantile steps; 0 for keys without one."""
    findings: tuple[str, ...] = ()

    @property
    def key(self) -> str:
        """The key in its normal spelling."""
        return f"{self.family}-{self.q}" if self.q else self.family


def encoding_keys() -> tuple[str, ...]:
    """Return the encoding keys to offer; ``QB-q`` and ``QT-q`` exist for every q from 2."""
    return ("QB-5", "QT-5", *PLAIN_KEYS)


def parse_encoding_key(key: object) -> EncodingKey:
    """Take an encoding key apart, in any spelling."""
    text = str(key).strip()
    if text in PLAIN_KEYS:
        return EncodingKey(text)
    match = re.fullmatch(r"(QB|QT)[-_ ]?(.*)", text, re.IGNORECASE | re.DOTALL)
    if match is None:
        known = (*encoding_keys(), "auto")
        raise unknown_name("UNKNOWN_ENCODING", "encoding", text, known, "octcore")
    family, digits = match[1].upper(), match[2]
    if not re.fullmatch(r"[0-9]{1,9}", digits) or int(digits) < 2:
        raise SettingsError(
            "BAD_QUANTILES",
            f"{family}-q needs a whole number q of at least 2, but {text!r} was given; "
            f"write for example {family}-5.",
            "encoding",
        )
    q = int(digits)
    return EncodingKey(family, q, _findings(family, q))


def _findings(family: str, q: int) -> tuple[str, ...]:
    if q <= MANY_QUANTILES:
        return ()
    columns = q if family == "QB" else q - 1
    return (
        f"{family}-{q} makes up to {columns} columns of every numeric column; "
        f"the model grows accordingly, and {family}-5 to {family}-20 usually suffice.",
    )
