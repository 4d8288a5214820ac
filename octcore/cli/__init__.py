"""The command line: every command of the public interface, one sub-parser each."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence

import psutil

from octcore.cli import app, benching, catalogue, paths, predicting, solving, tuning
from octcore.errors import OctError

EXIT_TREE, EXIT_DEFECT, EXIT_WRONG_INPUT, EXIT_NO_TREE = 0, 1, 2, 3

COMMANDS = (catalogue, solving, predicting, paths, tuning, benching, app)


class _Parser(argparse.ArgumentParser):
    """Argparse that says what is wrong in one sentence, without the usage dump."""

    def error(self, message: str) -> None:  # type: ignore[override]
        print(f"{self.prog}: {message}; see {self.prog} --help.", file=sys.stderr)
        raise SystemExit(EXIT_WRONG_INPUT)


def make_parser() -> argparse.ArgumentParser:
    """Build the parser of all commands."""
    parser = _Parser(
        prog="octcore",
        description="Optimal classification trees: train, compare and look at them.",
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for module in COMMANDS:
        module.add_commands(commands)
    return parser


def _process_start() -> float:
    """`time.monotonic` of the start of this process."""
    return time.monotonic() - max(0.0, time.time() - psutil.Process().create_time())


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command.

    Returns
    -------
    int
        0 with a tree (or a list), 2 for wrong input, 3 when no tree can exist, 1 for a defect.
    """
    try:
        arguments = make_parser().parse_args(argv)
        # The limit of a command counts from the shell: starting and importing take seconds.
        arguments.called = _process_start() if argv is None else None
        return int(arguments.run(arguments))
    except OctError as error:
        print(f"octcore: {error.message}", file=sys.stderr)
        return EXIT_WRONG_INPUT
    except BrokenPipeError:
        return EXIT_TREE
    except KeyboardInterrupt:
        print("octcore: stopped.", file=sys.stderr)
        return 130
