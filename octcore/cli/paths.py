"""`octcore path` and `octcore binarization`: optima by number of leaves, and by encoding."""

from __future__ import annotations

import argparse
import json
from dataclasses import replace
from typing import Any

from octcore.cli.options import (
    add_constraint,
    add_data_options,
    add_declared,
    constraint_values,
    given,
    read_data,
)
from octcore.cli.output import reserved, write_text
from octcore.errors import SettingsError
from octcore.selection.binarization import binarization_path
from octcore.selection.penalty_path import penalty_path
from octcore.solving.settings import DEPTH, ENCODING, SEED, TEST_SIZE, TIME_LIMIT
from octcore.tasks import TASK

BINARIZATION = (replace(DEPTH, default=3), TIME_LIMIT, replace(TEST_SIZE, default=0.25), SEED)
SETTINGS = (ENCODING, replace(DEPTH, default=3), TIME_LIMIT, TEST_SIZE, SEED, *TASK)


def add_commands(commands: Any) -> None:
    """Add the command."""
    parser = commands.add_parser("path")
    add_data_options(parser)
    add_declared(parser, SETTINGS)
    add_constraint(parser)
    parser.add_argument("--json", metavar="FILE|-", help="write steps and trees as JSON")
    parser.set_defaults(run=run_path)
    parser = commands.add_parser("binarization")
    add_data_options(parser)
    add_declared(parser, BINARIZATION)
    parser.add_argument("--leaf-penalty", metavar="P", type=float, default=0.01)
    parser.add_argument("--quantiles", metavar="A-B", default="2-20", help="such as 2-20 or 5")
    add_constraint(parser)
    parser.add_argument("--json", metavar="FILE|-", help="write points and thresholds as JSON")
    parser.set_defaults(run=run_binarization)


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
        print(f"each step proven optimal on {path.encoding.key} columns; {path.seconds:.2f} s")
    return 0


def run_binarization(arguments: argparse.Namespace) -> int:
    """Print the optimum on every encoding, and what it loses against all thresholds."""
    with reserved(arguments.json):
        path = binarization_path(
            read_data(arguments),
            leaf_penalty=arguments.leaf_penalty,
            quantiles=_range(arguments.quantiles),
            constraints=constraint_values(arguments.constraint),
            **given(arguments, BINARIZATION),
        )
        if arguments.json:
            write_text(arguments.json, json.dumps(path.to_dict(), allow_nan=False) + "\n")
    if arguments.json != "-":
        table = path.table().drop(columns="q").dropna(axis="columns", how="all")
        print(table.to_string(index=False, na_rep="-", float_format="{:.5f}".format))
        print("price: objective lost against all thresholds; said where both are proven")
    return 0


def _range(text: str) -> range:
    first, _, last = text.partition("-")
    try:
        return range(int(first), int(last or first) + 1)
    except ValueError:
        raise SettingsError(
            "BAD_VALUE", f"--quantiles takes 2-20 or 5, but {text!r} came.", "quantiles"
        ) from None
