"""Declarations of settings: name, symbol, default, range, unit and help, written once.

The form in the app, the command line options, the range checks of `octcore.solve`, the generated
documentation and the strategies of the property tests all read these records.  Nothing here knows
about any interface.
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from octcore.errors import SettingsError


@dataclass(frozen=True)
class Parameter:
    """What all kinds of settings share.

    Parameters
    ----------
    name : str
        Name in the public interface, such as ``"leaf_penalty"``.
    default : object
        Value used when the caller says nothing; None means "not used".
    symbol : str
        Symbol in the paper, plain text or LaTeX without dollars.
    help : str
        One or two sentences: what it does and what a larger value means.
    unit : str
        Unit shown behind the value, empty for pure numbers.
    advanced : bool
        Whether forms may hide it behind "more settings".
    """

    name: str
    default: object = None
    symbol: str = ""
    help: str = ""
    unit: str = ""
    advanced: bool = False

    def check(self, value: object) -> object:
        """Return `value` in the parameter's own type.

        Raises
        ------
        SettingsError
            If the value is of another type or not allowed; says what is.
        """
        return value

    def parse(self, text: str) -> object:
        """Read the value from command line text."""
        return self.check(None if text.strip().lower() in {"none", ""} else text)

    def describe_range(self) -> str:
        """Say in words which values are allowed."""
        return "any"

    def _refuse(self, value: object, code: str = "OUT_OF_RANGE") -> SettingsError:
        return SettingsError(
            code,
            f"{self.name} must be {self.describe_range()}, but {value!r} was given; "
            f"choose a value in that range (default {self.default!r}).",
            self.name,
        )


@dataclass(frozen=True)
class FloatRange(Parameter):
    """A real number in ``[low, high]``, with open ends where said.

    Parameters
    ----------
    low, high : float
        Ends of the range; infinite for no limit.
    low_open, high_open : bool
        Whether the end itself is excluded.
    log : bool
        Whether a slider should be logarithmic.
    """

    low: float = -math.inf
    high: float = math.inf
    low_open: bool = False
    high_open: bool = False
    log: bool = False

    def check(self, value: object) -> float | None:
        """Return a finite float inside the range, or None if that is the default."""
        if value is None and self.default is None:
            return None
        number = _as_float(value)
        if number is None or not math.isfinite(number):
            raise self._refuse(value, "NOT_A_NUMBER")
        below = number <= self.low if self.low_open else number < self.low
        above = number >= self.high if self.high_open else number > self.high
        if below or above:
            raise self._refuse(value)
        return number

    def describe_range(self) -> str:
        """Say the interval, with words for half-infinite ones."""
        if math.isinf(self.low) and math.isinf(self.high):
            return "a number"
        if math.isinf(self.high):
            return f"a number {'above' if self.low_open else 'of at least'} {self.low:g}"
        left, right = "(" if self.low_open else "[", ")" if self.high_open else "]"
        return f"a number in {left}{self.low:g}, {self.high:g}{right}"


@dataclass(frozen=True)
class IntRange(Parameter):
    """A whole number in ``[low, high]``; `high` None means no limit."""

    low: int = 0
    high: int | None = None

    def check(self, value: object) -> int | None:
        """Return an int inside the range, or None if that is the default."""
        if value is None and self.default is None:
            return None
        number = _as_float(value)
        if number is None or not math.isfinite(number) or number != math.floor(number):
            raise self._refuse(value, "NOT_A_NUMBER")
        whole = int(number)
        if whole < self.low or (self.high is not None and whole > self.high):
            raise self._refuse(value)
        return whole

    def describe_range(self) -> str:
        """Say the interval in words."""
        if self.high is None:
            return f"a whole number of at least {self.low}"
        return f"a whole number from {self.low} to {self.high}"


@dataclass(frozen=True)
class Choice(Parameter):
    """One of a few words."""

    options: tuple[str, ...] = ()

    def check(self, value: object) -> str | None:
        """Return the option, or name near matches."""
        if value is None and self.default is None:
            return None
        if value not in self.options:
            raise self._refuse(value, "UNKNOWN_OPTION")
        return str(value)

    def describe_range(self) -> str:
        """List the options."""
        return "one of " + ", ".join(repr(option) for option in self.options)


@dataclass(frozen=True)
class Flag(Parameter):
    """A switch."""

    def check(self, value: object) -> bool:
        """Accept booleans and the usual words for them."""
        if isinstance(value, bool):
            return value
        if isinstance(value, (int, float)) and value in (0, 1):
            return bool(value)
        words = {"true": True, "yes": True, "on": True, "1": True}
        words |= {"false": False, "no": False, "off": False, "0": False}
        if isinstance(value, str) and value.strip().lower() in words:
            return words[value.strip().lower()]
        raise self._refuse(value, "NOT_A_FLAG")

    def parse(self, text: str) -> bool:
        """Read a switch from command line text."""
        return self.check(text)

    def describe_range(self) -> str:
        """Name the two values."""
        return "true or false"


@dataclass(frozen=True)
class Names(Parameter):
    """A list of names, such as columns; text is split at commas."""

    def check(self, value: object) -> tuple[str, ...] | None:
        """Return a tuple of distinct, non-empty names."""
        if value is None:
            return None
        parts: Iterable[object]
        if isinstance(value, str):
            parts = value.split(",")
        elif isinstance(value, Iterable):
            parts = value
        else:
            raise self._refuse(value, "NOT_A_LIST")
        names = tuple(dict.fromkeys(str(part).strip() for part in parts))
        return tuple(name for name in names if name) or None

    def describe_range(self) -> str:
        """Say what is expected."""
        return "a list of names"


def check_all(
    declared: Iterable[Parameter], given: Mapping[str, object] | None, owner: str
) -> dict[str, object]:
    """Check given values against declarations and fill in the defaults.

    Parameters
    ----------
    declared : iterable of Parameter
        The declarations.
    given : mapping or None
        Values by name.
    owner : str
        Whose settings they are, for the message ("flow-oct").

    Returns
    -------
    dict
        Value for every declared name, in declared order.

    Raises
    ------
    SettingsError
        For an unknown name (near matches are listed) or a value out of range.
    """
    by_name = {parameter.name: parameter for parameter in declared}
    given = dict(given or {})
    for name in given:
        if name not in by_name:
            raise unknown_name("UNKNOWN_PARAMETER", "setting", name, by_name, owner)
    return {
        name: parameter.check(given[name]) if name in given else parameter.default
        for name, parameter in by_name.items()
    }


def unknown_name(
    code: str, what: str, name: str, known: Iterable[str], owner: str
) -> SettingsError:
    """Build the error for an unknown key, with near matches."""
    known = list(known)
    near = difflib.get_close_matches(str(name), known, n=3, cutoff=0.5)
    hint = f"did you mean {' or '.join(near)}?" if near else f"known: {', '.join(known) or 'none'}."
    return SettingsError(code, f"{owner} has no {what} {name!r}; {hint}", str(name))


def _as_float(value: object) -> float | None:
    if isinstance(value, bool) or value is None:
        return None
    try:
        return float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        return None
