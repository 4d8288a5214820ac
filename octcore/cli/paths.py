"""`octcore path`: the optimal tree for every number of leaves."""

from __future__ import annotations

import argparse
import json
from typing import Any

from octcore.cli.options import add_data_options, constraint_values, read_data
from octcore.cli.output import write_text
from octcore.selection.penalty_path import penalty_path


def add_commands(commands: Any) -> None:
    """Add the command."""
    parser = commands.add_parser("path", help="the optimal tree for every number of leaves")
    add_data_options(parser)
    parser.add_argument("--encoding", metavar="KEY", default="auto")
    parser.add_argument("--depth", metavar="N", default="3")
    parser.add_argument("--constraint", metavar="NAME=VALUE", action="append", default=[])
    parser.add_argument("--time-limit", metavar="S", default="60")
    parser.add_argument("--test-size", metavar="F", default="0")
    parser.add_argument("--seed", metavar="N", default="0")
    parser.add_argument("--json", metavar="FILE|-", help="write steps and trees as JSON")
    parser.set_defaults(run=run_path)


def run_path(arguments: argparse.Namespace) -> int:
    """Print accuracy against size."""
    path = penalty_path(
        read_data(arguments),
        encoding=arguments.encoding,
        depth=arguments.depth,
        constraints=constraint_values(arguments.constraint),
        time_limit=arguments.time_limit,
        test_size=arguments.test_size,
        seed=arguments.seed,
    )
    if arguments.json:
        write_text(arguments.json, json.dumps(path.to_dict(), allow_nan=False) + "\n")
    if arguments.json != "-":
        table = path.table().dropna(axis="columns", how="all")
        print(table.to_string(index=False, na_rep="-", float_format="{:.5f}".format))
        print(f"each step proven optimal by path-search; {path.seconds:.2f} s")
    return 0
