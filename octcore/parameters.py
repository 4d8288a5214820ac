"""Declarations of settings: name, symbol, default, range, unit and help, written once.

The form in the app, the command line options, the range checks of `octcore.solve`, the generated
documentation and the strategies of the property tests all read these records.  Nothing here knows
about any interface.

A setting has a value, which `check` makes sure of, and a text: `parse` reads what `to_text` wrote.
"""

from __future__ import annotations

import difflib
import functools
import inspect
import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from numbers import Number
from types import SimpleNamespace, UnionType
from typing import Any, ClassVar, TypeVar, Union, cast, get_args, get_origin, get_type_hints

from octcore.errors import SettingsError

READING = Fraction(1, 10**12)
"""Relative distance at which a fraction is what a number was meant to be."""
FINEST = 10_000
"""Parts of a row, or of a unit of weight, that prices and tolerances are fractions of."""


@dataclass(frozen=True)
class Parameter:
    """What all kinds of settings share."""

    name: str  # name in the public interface, such as ``"leaf_penalty"``
    default: object = None  # value used when the caller says nothing; None means "not used"
    symbol: str = ""  # that of the paper, as screen readers say it: no LaTeX
    help: str = ""  # one or two sentences: what it does and what a larger value means
    unit: str = ""  # unit shown behind the value, empty for pure numbers
    advanced: bool = False  # whether forms may hide it behind "more settings"
    label: str = field(default="", kw_only=True)
    """Words above an input; made of the name by default."""
    allowed: ClassVar[str] = "any"
    """Which values are allowed, in words, where that is the same for all of a kind."""
    bracket: ClassVar[str] = ""
    """With which a text in JSON begins, for values that are written so: names may hold commas."""

    def check(self, value: Any) -> Any:
        """Return `value` in the parameter's own type; None stays where it is the default.

        `SettingsError` if the value is of another type or not allowed; it says what is.
        """
        return None if value is None and self.default is None else self._checked(value)

    def _checked(self, value: Any) -> Any:
        """What a kind of setting makes of a value."""
        return value

    def parse(self, text: str) -> object:
        """Read the value from command line text."""
        if self.bracket and text[:1] == self.bracket:
            return self.check(as_json(self, text))
        return self.check(None if text.strip().lower() in {"none", ""} else text)

    def to_text(self, value: Any) -> str:
        """Write a value as command line text, from which `parse` reads it back."""
        if self.bracket and value is not None and not isinstance(value, str):
            return to_json(value)
        return "none" if value is None else str(value)

    @property
    def option(self) -> str:
        """The option of the command line: ``--time-limit`` for ``time_limit``."""
        return "--" + self.name.replace("_", "-")

    @property
    def title(self) -> str:
        """Words for the setting: its label, or its name in words."""
        words = self.name.replace("_", " ")
        return self.label or words[0].upper() + words[1:]

    def describe_range(self) -> str:
        """Say in words which values are allowed."""
        return self.allowed

    def _refuse(self, value: object, code: str = "OUT_OF_RANGE") -> SettingsError:
        default = "" if self.default is None else f"; the default is {self.default!r}"
        words = f"{self.name} must be {self.describe_range()}, but {value!r} was given{default}."
        return SettingsError(code, words, self.name)


@dataclass(frozen=True)
class FloatRange(Parameter):
    """A real number in ``[low, high]``, with open ends where said."""

    low: float = -math.inf
    high: float = math.inf  # `low`, `high`: ends of the range; infinite for no limit
    low_open: bool = False
    high_open: bool = False  # `low_open`, `high_open`: whether the end itself is excluded
    log: bool = False  # whether a slider should be logarithmic

    def _checked(self, value: Any) -> float:
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

    def _checked(self, value: Any) -> int:
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

    def _checked(self, value: Any) -> str:
        if value not in self.options:
            raise self._refuse(value, "UNKNOWN_OPTION")
        return str(value)

    def parse(self, text: str) -> object:
        """Read an option; one of them may be called "none"."""
        return self.check(text) if text in self.options else super().parse(text)

    def describe_range(self) -> str:
        """List the options."""
        return "one of " + ", ".join(repr(option) for option in self.options)


@dataclass(frozen=True)
class Flag(Parameter):
    """A switch."""

    allowed = "true or false"

    def _checked(self, value: Any) -> bool:
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

    def to_text(self, value: object) -> str:
        """Write a switch."""
        return "true" if self.check(value) else "false"


@dataclass(frozen=True)
class Key(Parameter):
    """A key such as that of an encoding; whoever knows the keys checks that there is one."""

    allowed = "a key"

    def _checked(self, value: Any) -> str:
        if not isinstance(value, str) or not value.strip():
            raise self._refuse(value, "NOT_A_KEY")
        return value.strip()

    def parse(self, text: str) -> str | None:
        """Read a key; one may be called "none"."""
        return self.check(text)


@dataclass(frozen=True)
class Column(Parameter):
    """The name of one raw column."""

    allowed = "the name of a column"

    def _checked(self, value: Any) -> str:
        return str(value)  # columns may be called anything

    def parse(self, text: str) -> str | None:
        """Read a name; a column called "none" has that name."""
        return self.check(as_json(self, text) if text.startswith('"') else text)

    def to_text(self, value: object) -> str:
        """Write the name, quoted where it starts with a quote itself."""
        text = str(value)
        return to_json(text) if text.startswith('"') else text


@dataclass(frozen=True)
class Names(Parameter):
    """A list of names, such as columns; text is a JSON list, or split at commas."""

    allowed, bracket = "a list of names, such as age,income", "["

    def _checked(self, value: Any) -> tuple[str, ...] | None:
        """Return a tuple of distinct, non-empty names."""
        parts: Iterable[object]
        if isinstance(value, str):
            parts = value.split(",")
        elif isinstance(value, Iterable):
            parts = value
        else:
            raise self._refuse(value, "NOT_A_LIST")
        names = tuple(dict.fromkeys(str(part).strip() for part in parts))
        return tuple(name for name in names if name) or None


@dataclass(frozen=True)
class NamePairs(Parameter):
    """Pairs of names; text is a JSON list of pairs, or ``a:b,c:d``."""

    allowed, bracket = "a list of pairs of names, such as age:income,age:sex", "["

    def _checked(self, value: Any) -> tuple[tuple[str, str], ...] | None:
        if isinstance(value, str):
            value = [pair.split(":") for pair in value.split(",")]
        try:
            return tuple((str(a).strip(), str(b).strip()) for a, b in value) or None
        except (TypeError, ValueError):
            raise self._refuse(value, "NOT_A_LIST") from None


@dataclass(frozen=True)
class Directions(Parameter):
    """A direction for some columns; text is JSON, or ``income:up,age:down``."""

    allowed, bracket = "columns with the word up or down, such as income:up", "{"

    def _checked(self, value: Any) -> dict[str, str] | None:
        if isinstance(value, str):
            value = {name: way for name, _, way in (p.rpartition(":") for p in value.split(","))}
        if not isinstance(value, Mapping) or not {*value.values()} <= {"up", "down"}:
            raise self._refuse(value, "NOT_A_DIRECTION")
        return {str(name).strip(): way for name, way in value.items()} or None


@dataclass(frozen=True)
class ByClass(Parameter):
    """A number in ``[0, high]`` for some classes, or a word that stands for such numbers."""

    high: float = math.inf  # largest number; infinite for no limit
    words: tuple[str, ...] = ()  # words that may be given instead
    bracket = "{"

    def _checked(self, value: Any) -> dict[Any, float] | str:
        if isinstance(value, str) and value in self.words:
            return value
        if not isinstance(value, Mapping) or not value:
            raise self._refuse(value, "NOT_BY_CLASS")
        shares: dict[Any, float] = {}
        for label, share in value.items():
            number = _as_float(share)
            if number is None or not 0 <= number <= self.high or math.isinf(number):
                message = f"{self.name} of class {label!r} must be a number in [0, {self.high:g}], "
                message += f"not {share!r}."
                raise SettingsError("OUT_OF_RANGE", message, self.name)
            shares[label] = number
        return shares

    def parse(self, text: str) -> object:
        """Read a JSON object, ``class:number,class:number``, or a word."""
        if text not in self.words and ":" in text and text[0] != "{":
            return self.check(dict(part.rsplit(":", 1) for part in text.split(",")))
        return super().parse(text)

    def to_text(self, value: Any) -> str:
        """Write the word, or a JSON object whose keys are the classes as text."""
        if isinstance(value, Mapping):
            value = {str(label): number for label, number in value.items()}
        return super().to_text(value)

    def describe_range(self) -> str:
        """Say what is expected."""
        span = "of at least 0" if math.isinf(self.high) else f"in [0, {self.high:g}]"
        by_class = f"classes with a number {span}, such as yes:0.7"
        return " or ".join([by_class, *map(repr, self.words)])


KINDS = {
    "Dataset": "a Dataset, as octcore.read_csv makes it",
    "Mapping": "a mapping, such as a dict",
    "Callable": "a function",
    "Iterable": "a list",
    "Sequence": "a list",
    "str": "a text",
    "NoneType": "None",
}
"""What arguments are asked for, in words; other types by their name."""
T = TypeVar("T")
Called = TypeVar("Called", bound=Callable[..., Any])


def at_the_door(call: Called) -> Called:
    """Refuse arguments of another type than a function is annotated with, in a sentence.

    Numbers and switches may be texts that say them, and a list may be the text it would hold.
    """
    signature = inspect.signature(call)
    said = {n: p.annotation for n, p in signature.parameters.items() if p.annotation is not p.empty}
    of_arguments = SimpleNamespace(__annotations__=said)  # what is returned may be no module's yet
    names_here = getattr(call, "__globals__", None)
    hints = functools.cache(lambda: get_type_hints(of_arguments, names_here))

    @functools.wraps(call)
    def checked(*args: Any, **kwargs: Any) -> Any:
        try:
            given = signature.bind(*args, **kwargs)
        except TypeError as error:
            raise TypeError(f"{call.__name__}() {error}") from None
        for name, value in given.arguments.items():
            asked = hints().get(name, Any)
            kinds = get_args(asked) if get_origin(asked) in (Union, UnionType) else (asked,)
            if not any(_fits(kind, value) for kind in kinds):
                names = [getattr(get_origin(kind) or kind, "__name__", str(kind)) for kind in kinds]
                words = " or ".join(KINDS.get(name, name) for name in names)
                message = f"{name} must be {words}, but {type(value).__name__} came."
                raise SettingsError("WRONG_TYPE", message, name)
            if value is not None and {bool, int, float} & {*kinds} and str not in kinds:
                given.arguments[name] = _read(name, kinds, value)
            if isinstance(value, str) and {Iterable, Sequence} & {*map(get_origin, kinds)}:
                given.arguments[name] = [value]  # of one name, not of its letters
        return call(*given.args, **given.kwargs)

    return cast(Called, checked)


def _fits(kind: Any, value: object) -> bool:
    outer = get_origin(kind) or kind
    if not isinstance(outer, type) or outer.__module__.startswith(("typing", "numpy")):
        return True  # the call itself says what it takes of files and arrays
    if outer in (bool, int, float):
        return isinstance(value, (str, Number)) or getattr(value, "shape", None) == ()
    return isinstance(value, outer)


def _read(name: str, kinds: tuple[Any, ...], value: Any) -> Any:
    """A switch or a number that came as such or as a text; its declaration knows its range."""
    if bool in kinds:
        return Flag(name).check(value)
    number, is_whole = value if isinstance(value, int) else _as_float(value), float not in kinds
    if number is None or number != number or (is_whole and number % 1):  # infinite: also NaN
        words = f"{name} must be a {'whole ' * is_whole}number, but {value!r} was given."
        raise SettingsError("NOT_A_NUMBER", words, name)
    if name == "time_limit" and number < 0:  # not all that take one have a declaration of it
        words = f"{name} must be 0 or more, but {value!r} was given."
        raise SettingsError("OUT_OF_RANGE", words, name)
    return int(number) if is_whole else number


def check_all(
    declared: Iterable[Parameter], given: Mapping[str, object] | None, owner: str
) -> dict[str, object]:
    """Check given values against declarations and fill in the defaults, in declared order.

    `SettingsError` for an unknown name of the `owner` ("flow-oct"), which lists near matches, and
    for a value out of range.
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


def as_fraction(number: float, rows: float) -> Fraction:
    """Read a price or a tolerance as the fraction that was meant: 1/232, not its nearest double.

    It is the nearest fraction whose denominator is at most `FINEST` times the rows, if that is
    within `READING` of the number; else the number is taken exactly as the computer holds it.
    `rows` is the number of rows, or their total weight where that is more.
    """
    exact = Fraction(number)
    near = exact.limit_denominator(int(FINEST * rows))
    return near if abs(near - exact) <= READING * abs(exact) else exact


def fraction_in_words(number: Fraction) -> str:
    """Write a fraction, or the double that stands for one too long to be read."""
    is_short = number.denominator <= 10**15
    return str(number) if is_short else f"the double {float(number)!r}"


def unknown_name(
    code: str, what: str, name: str, known: Iterable[str], owner: str
) -> SettingsError:
    """Build the error for an unknown key, with near matches."""
    known = list(known)
    near = difflib.get_close_matches(str(name), known, n=3, cutoff=0.5)
    hint = f"did you mean {' or '.join(near)}?" if near else f"known: {', '.join(known) or 'none'}."
    return SettingsError(code, f"{owner} has no {what} {name!r}; {hint}", str(name))


def looked_up(code: str, what: str, name: str, known: Mapping[str, T], owner: str) -> T:
    """What stands under a key; `SettingsError` with near matches if nothing does."""
    if name not in known:
        raise unknown_name(code, what, name, known, owner)
    return known[name]


def as_json(parameter: Parameter, text: str) -> Any:
    """Read a value that was written as JSON; `SettingsError` if the text is none."""
    try:
        return json.loads(text)
    except ValueError as error:
        message = f"The value of {parameter.name} is not JSON: {error}."
        raise SettingsError("NOT_JSON", message, parameter.name) from error


def to_json(value: object) -> str:
    """Write a value as JSON on one line."""
    return json.dumps(value, ensure_ascii=False)


def _as_float(value: object) -> float | None:
    if isinstance(value, bool) or value is None:
        return None
    try:
        return float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        return None
