"""The command line: every command of the public interface, one sub-parser each.

A command's module is imported when the command is asked for: help and refusals are quick, and a
search does not wait for the libraries of the mixed-integer programs.
"""

import argparse
import errno
import importlib
import io
import os
import signal
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

from octcore.errors import OctError, SettingsError
from octcore.parameters import unknown_name

EXIT_TREE, EXIT_WRONG_INPUT, EXIT_NO_TREE, EXIT_STOPPED = 0, 2, 3, 130
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
"""Standard output cannot take more; files are written elsewhere, with their own words."""
COMMANDS = {
    "formulations": ("catalogue", "list the formulations"),
    "describe": ("catalogue", "one formulation with its settings"),
    "samples": ("catalogue", "list the sample data sets, or write one"),
    "solve": ("solving", "train one optimal tree"),
    "compare": ("solving", "train several formulations on the same rows"),
    "predict": ("stored", "predict the classes of new rows"),
    "verify": ("stored", "derive the optimum of a run again, independently"),
    "model": ("stored", "write the mixed-integer model of a table or run for other solvers"),
    "report": ("stored", "what people read of a run, as one HTML file"),
    "prove": ("stored", "write a proof of the optimum in the format of the checker VeriPB"),
    "runs": ("stored", "list, show, export or delete the runs of the app"),
    "path": ("paths", "the optimal tree for every number of leaves"),
    "binarization": ("paths", "what coarser thresholds cost, against all thresholds"),
    "near-optimal": ("near_optimal", "all trees that are nearly as good as the optimum"),
    "tune": ("tuning", "choose hyperparameters by cross-validation"),
    "bench": ("benching", "published instances with the published figures beside ours"),
    "app": ("app", "open the dashboard in a browser"),
}
"""By command: its module in this package, and what it does."""


class _Parser(argparse.ArgumentParser):
    """Argparse with options in full, that says what is wrong in one sentence, without the usage."""

    def __init__(self, **options: Any) -> None:
        super().__init__(allow_abbrev=False, **options)

    def parse_known_args(self, *args: Any, **options: Any) -> Any:
        """Refuse what a command does not know where its options are at hand, to name near ones."""
        found, rest = super().parse_known_args(*args, **options)
        for word in (word for word in rest if word[:2] == "--"):
            known = (option for option in self._option_string_actions if option[:2] == "--")
            name, owner = word.partition("=")[0], self.prog.removeprefix("octcore ")
            raise unknown_name("UNKNOWN_OPTION", "option", name, known, owner)
        return found, rest

    def error(self, message: str) -> None:  # type: ignore[override]
        print(f"{self.prog}: {message}; see {self.prog} --help.", file=sys.stderr)
        raise SystemExit(EXIT_WRONG_INPUT)


class _Version(argparse.Action):
    """Prints the version; looked up only then."""

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> None:
        from importlib import metadata  # not above: it takes a quarter of a command's start

        print(f"octcore {metadata.version('octcore')}")
        parser.exit()


class _Commands:
    """Sub-parsers of the commands, each with its line of the table above."""

    def __init__(self, parser: argparse.ArgumentParser) -> None:
        self._found = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
        self.known: set[str] = set()

    def add(self, name: str, run: Callable[..., int | None] | None = None, **options: Any) -> Any:
        """Add one command and what carries it out, and returns the exit code if it is not 0."""
        self.known.add(name)
        words = COMMANDS[name][1]
        parser = self._found.add_parser(name, help=words, description=words, **options)
        parser.set_defaults(run=run)
        return parser


def make_parser(command: str | None = None) -> argparse.ArgumentParser:
    """Build the parser: of the command that will be parsed, the others known by name, or of all."""
    parser = _Parser(
        prog="octcore", description="Optimal classification trees: train, compare and look at them."
    )
    parser.add_argument("--version", action=_Version, nargs=0, help="print the version")
    commands = _Commands(parser)
    for name, (module, _) in COMMANDS.items():
        if name in commands.known:
            continue
        if command is None or COMMANDS.get(command, ("", ""))[0] == module:
            importlib.import_module(f"octcore.cli.{module}").add_commands(commands)
        else:
            commands.add(name)
    return parser


def _process_start() -> float:
    """`time.monotonic` of the start of this process."""
    import psutil

    return time.monotonic() - max(0.0, time.time() - psutil.Process().create_time())


def _stop_politely() -> None:
    """Let the wish to end this process, or its terminal, keep the incumbent as Ctrl-C does."""
    for name in ("SIGTERM", "SIGHUP"):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), signal.default_int_handler)


def _open_streams() -> None:
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        # Nothing stands for closed streams, before a pipe or a file takes their numbers.
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode))
    for stream in (sys.stdout, sys.stderr):
        # Characters that the terminal does not know are spelled, as in Python's error messages.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command.

    0 with a tree (or a list), 2 for wrong input, 3 when no tree can exist, 130 when it was stopped,
    1 for a defect; `verify` and `prove` have their own.
    """
    words = sys.argv[1:] if argv is None else list(argv)
    _open_streams()
    try:
        arguments = make_parser(next(iter(words), "")).parse_args(words)
        # The limit of a command counts from the shell: starting and importing take seconds.
        arguments.called = _process_start() if argv is None else None
        if argv is None:
            _stop_politely()
        from octcore.cli.output import check_outputs  # not above: help needs no numpy

        check_outputs(vars(arguments).values())
        code = arguments.run(arguments) or EXIT_TREE
        sys.stdout.flush()
        return code
    except OctError as error:
        print("octcore:", *error.message.splitlines(), file=sys.stderr)
        no_tree = isinstance(error, SettingsError) and error.code == "NO_TREE"
        return EXIT_NO_TREE if no_tree else EXIT_WRONG_INPUT
    except OSError as error:
        if not isinstance(error, BrokenPipeError) and error.errno not in FULL:
            raise
        # What is still to be printed goes nowhere, or the interpreter tries it again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        if isinstance(error, BrokenPipeError):
            return EXIT_TREE
        print(f"octcore: the output cannot be written: {error.strerror}.", file=sys.stderr)
        return EXIT_WRONG_INPUT
    except KeyboardInterrupt:
        print("octcore: stopped.", file=sys.stderr)
        return EXIT_STOPPED
