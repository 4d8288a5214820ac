"""Every error that users meet, in one place.

::

    OctError                    the message is one sentence for the user
    ├── DataError               a file or table cannot be used (code, line, column); a ValueError
    ├── SettingsError           a setting is wrong (code, setting); a ValueError
    ├── TooLargeError           the model would not fit; carries the estimated size
    ├── CancelledError          the caller asked to stop
    ├── ModelFileError          a stored model or run cannot be read
    ├── StoreError              the history of runs cannot be read or written
    ├── ProofError              a written proof does not prove what it should
    └── EngineError             a solver failed in a way that is not a result
"""

from __future__ import annotations

import contextlib
import copyreg
import zlib
from collections.abc import Callable, Iterator
from typing import Any


class OctError(Exception):
    """Base of all errors that octcore raises on purpose.

    Parameters
    ----------
    code : str
        Stable upper-case identifier, such as ``"EMPTY_FILE"``; tests and the app rely on it.
    message : str
        One sentence: what was expected, what came, where, what to do.
    """

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message

    def __reduce__(self) -> tuple[object, ...]:
        """Keep errors with extra fields picklable (process pools send them back)."""
        return copyreg.__newobj__, (type(self), self.message), dict(vars(self))  # type: ignore


class DataError(OctError, ValueError):
    """A file or table cannot be used; `line` is one of the file, or a row, counted from 1."""

    def __init__(
        self, code: str, message: str, line: int | None = None, column: str | None = None
    ) -> None:
        super().__init__(code, message)
        self.line, self.column = line, column


class SettingsError(OctError, ValueError):
    """A setting, by its public name, is unknown, out of range or does not go with another one."""

    def __init__(self, code: str, message: str, setting: str | None = None) -> None:
        super().__init__(code, message)
        self.setting = setting


class TooLargeError(OctError):
    """The model would not fit into memory, or not be built within the time limit.

    `size` estimates its ``rows``, ``columns``, ``binaries``, ``nonzeros`` and ``bytes``.
    """

    def __init__(self, code: str, message: str, size: dict[str, float]) -> None:
        super().__init__(code, message)
        self.size = size


class CancelledError(OctError):
    """The caller asked to stop before there was anything to return."""

    def __init__(self, message: str = "The solve was stopped.") -> None:
        super().__init__("CANCELLED", message)


class ModelFileError(OctError):
    """A stored model or run cannot be read."""


class StoreError(OctError):
    """The history of runs cannot be read or written; solving goes on without it."""


class ProofError(OctError):
    """A written proof does not prove what it should."""


class EngineError(OctError):
    """A solver failed in a way that is not a result."""


DAMAGE = (
    ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError, zlib.error
)  # fmt: skip
"""What reading plain data raises where a part is missing, of another type, or no number."""
MOST_WORDS = 200  # characters of a reason that are shown; it may quote what is damaged


@contextlib.contextmanager
def read_in_words(code: str, what: str, advice: str = "") -> Iterator[None]:
    """Say in a sentence, as `ModelFileError`, that something stored is damaged."""
    try:
        yield
    except OctError:
        raise
    except DAMAGE as error:
        reason = " ".join(("it lacks " * isinstance(error, KeyError) + str(error)).split())
        message = f"{what} cannot be read: {reason[:MOST_WORDS].rstrip('.')}{advice}."
        raise ModelFileError(code, message) from error


def refusal(call: Callable[..., object], *args: Any) -> str:
    """Say in a sentence why a call is refused; empty if it is not."""
    try:
        call(*args)
    except OctError as error:
        return error.message
    return ""
