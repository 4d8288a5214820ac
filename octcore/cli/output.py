"""What a command writes: results to files, how work stands to one line of a terminal.

The places of files are tried before a solve, and nothing found is lost.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import sys
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Self, TextIO

from octcore.data.serial import in_words, replacing, write_file
from octcore.errors import OctError, SettingsError

if TYPE_CHECKING:
    from octcore.solving.run import Run
    from octcore.worker.job import Snapshot

STANDARD_OUTPUT = "-"
CLEAR = "\r\x1b[K"


class ProgressLine:
    """Rewrites one line of standard error while work goes on; nothing when it is piped.

    `text`: what it shows from the beginning, of work that tells nothing itself.
    """

    def __init__(self, text: str = "") -> None:
        self._text = text
        self.is_shown = sys.stderr.isatty() and os.environ.get("TERM") != "dumb"

    def __enter__(self) -> ProgressLine:
        self.show(self._text)
        return self

    def __exit__(self, *_: object) -> None:
        self.show("")

    def __call__(self, snapshot: Snapshot) -> None:
        """Show how a solve stands."""
        self.show(progress_text(snapshot))

    def show(self, text: str) -> None:
        """Show a text instead of the last one, as much of it as fits into a line."""
        if self.is_shown:
            # A terminal that was closed must not end the solve.
            with contextlib.suppress(OSError):
                width = os.get_terminal_size(sys.stderr.fileno()).columns or len(text) + 1
                sys.stderr.write(CLEAR + text[: width - 1])
                sys.stderr.flush()


def report_of(run: Run) -> str:
    """What the app calls *Report for others*."""
    # Not above: figures and their library are for this alone.
    from octcore.reports.run_report import report_html
    from octcore.reports.summary import grown_greedily

    greedy = None
    if run.tree is not None and run.certificate.method != "heuristic":
        with contextlib.suppress(OctError):  # CART takes no such rows
            greedy = grown_greedily(run.needed)
    return report_html(run, f"{run.about_data.get('name', 'data')}: {run.formulation}", greedy)


def progress_text(snapshot: Snapshot) -> str:
    """Elapsed time, phase, incumbent, bound and gap in words."""
    from octcore.solving.telling import standing

    last = snapshot.last
    incumbent, bound = (None, None) if last is None else (last.incumbent, last.bound)
    return standing(snapshot.elapsed, snapshot.phase, incumbent, bound)


class Named(str):
    """A file or folder of an option; an empty name, as of a variable that is not set, is none."""

    def __new__(cls, text: str) -> Self:
        """Refuse what names nothing."""
        if not text:
            raise argparse.ArgumentTypeError("the name is empty")
        return super().__new__(cls, text)


class Read(Named):
    """A file that a command reads."""


class Written(Named):
    """A file that a command writes in the end."""


def check_outputs(options: Iterable[object]) -> None:
    """Refuse places where nothing can be written before time is spent on what belongs there.

    What stands in the files stays until the results replace it; what is read stays for good.
    """
    words = [w for option in options for w in (option if isinstance(option, list) else [option])]
    read = [word for word in words if isinstance(word, Read) and os.path.isfile(word)]
    named = [word for word in words if isinstance(word, Written)]
    places: list[str] = []
    for path in named:
        with in_words(path):  # a folder that is gone has no path
            places.append(path if path == STANDARD_OUTPUT else os.path.realpath(path))
    for path, place in zip(named, places, strict=True):
        is_device = os.path.exists(place) and not os.path.isfile(place)
        if places.count(place) > 1 and not is_device:
            raise SettingsError("SAME_FILE", f"{path} is named for two outputs; name another file.")
        if os.path.exists(place) and any(os.path.samefile(place, file) for file in read):
            message = f"{path} is a file that is read; name another file for what is written."
            raise SettingsError("SAME_FILE", message)
        if path != STANDARD_OUTPUT:
            with in_words(path), contextlib.suppress(_OnlyTried), replacing(path):
                raise _OnlyTried


class _OnlyTried(Exception):
    """Ends the writing of a file that is not meant to be replaced yet."""


def write_text(path: str, text: str | bytes) -> None:
    """Write text to a file, or to standard output for ``-``; both as UTF-8."""
    if path == STANDARD_OUTPUT:
        sys.stdout.flush()
        if (stream := getattr(sys.stdout, "buffer", None)) is not None:
            stream.write(text.encode() if isinstance(text, str) else text)
            stream.flush()
        else:  # a stream of text that stands for it
            sys.stdout.write(text if isinstance(text, str) else text.decode())
        return
    with in_words(path):
        write_file(path, text)


def write_result(
    path: str | None, record: Callable[[], Any], text: str, told: TextIO | None = None
) -> None:
    """Write a record as JSON where that was asked for, and print a text unless it went there."""
    write_all({path: json_line(record())} if path else {}, text, told)


def write_all(files: Mapping[str, str | bytes], text: str, told: TextIO | None = None) -> None:
    """Write files by path, and print a text to `told`, or where no file went to standard output.

    What cannot be written after all, as on a full disk, goes to standard output behind the text,
    and the first reason is raised.
    """
    failures: dict[str, SettingsError] = {}
    for path, content in files.items():
        try:
            write_text(path, content)
        except SettingsError as error:
            failures[path] = error
    if told or STANDARD_OUTPUT not in files:
        print(text, file=told)
    for path in failures:
        content = files[path]
        if isinstance(content, str):
            print(f"{path}:\n{content.rstrip()}")
    for failure in failures.values():
        raise failure


def json_line(record: Any) -> str:
    """Write plain data as one line."""
    return json.dumps(record, allow_nan=False) + "\n"
