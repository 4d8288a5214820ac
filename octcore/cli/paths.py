"""`octcore path`: the optimal tree for every number of leaves."""

from __future__ import annotations

import argparse
import json
from dataclasses import replace
from typing import Any

from octcore.cli.options import (
    add_data_options,
    add_declared,
    constraint_values,
    given,
    read_data,
)
from octcore.cli.output import reserved, write_text
from octcore.selection.penalty_path import penalty_path
from octcore.solving.settings import DEPTH, ENCODING, SEED, TEST_SIZE, TIME_LIMIT

SETTINGS = (ENCODING, replace(DEPTH, default=3), TIME_LIMIT, TEST_SIZE, SEED)


def add_commands(commands: Any) -> None:
    """Add the command."""
    parser = commands.add_parser("path")
    add_data_options(parser)
    add_declared(parser, SETTINGS)
    parser.add_argument("--constraint", metavar="NAME=VALUE", action="append", default=[])
    parser.add_argument("--json", metavar="FILE|-", help="write steps and trees as JSON")
    parser.set_defaults(run=run_path)


def run_path(arguments: argparse.Namespace) -> int:
    """Print accuracy against size."""
    with reserved(arguments.json):
        path = penalty_path(
            read_data(arguments),
            constraints=constraint_values(arguments.constraint),
            **given(arguments, SETTINGS),
        )
        if arguments.json:
            write_text(arguments.json, json.dumps(path.to_dict(), allow_nan=False) + "\n")
    if arguments.json != "-":
        table = path.table().dropna(axis="columns", how="all")
        print(table.to_string(index=False, na_rep="-", float_format="{:.5f}".format))
        print(f"each step proven optimal by path-search; {path.seconds:.2f} s")
    return 0
