"""Writing results to files: the places are tried before a solve, and nothing found is lost."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from octcore.errors import SettingsError

STANDARD_OUTPUT = "-"


@contextlib.contextmanager
def reserved(*paths: str | None) -> Iterator[None]:
    """Make sure that files can be written before time is spent on what they will hold.

    What stands in them stays until the results replace it; a file that this made is removed again
    when there are no results.

    Raises
    ------
    SettingsError
        If one cannot be written.
    """
    made: list[Path] = []
    try:
        for path in paths:
            if path and path != STANDARD_OUTPUT:
                is_new = not Path(path).exists()
                with _in_words(path), open(path, "ab"):
                    made += [Path(path)] if is_new else []
        yield
    except BaseException:
        for path in made:
            if path.stat().st_size == 0:
                path.unlink()
        raise


def write_text(path: str, text: str) -> None:
    """Write text to a file, or to standard output for ``-``.

    Raises
    ------
    SettingsError
        If the file cannot be written.
    """
    if path == STANDARD_OUTPUT:
        sys.stdout.write(text)
        sys.stdout.flush()
        return
    with _in_words(path):
        Path(path).write_text(text, encoding="utf-8")


def write_files(files: Mapping[str, str]) -> dict[str, SettingsError]:
    """Write several files by path; returns what was wrong with those that cannot be written."""
    failures: dict[str, SettingsError] = {}
    for path, text in files.items():
        try:
            write_text(path, text)
        except SettingsError as error:
            failures[path] = error
    return failures


@contextlib.contextmanager
def _in_words(path: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise SettingsError(
            "CANNOT_WRITE", f"{path} cannot be written: {error.strerror}; choose another place."
        ) from error
