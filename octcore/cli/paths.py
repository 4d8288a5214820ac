"""`octcore path`: the optimum for every number of leaves."""

from __future__ import annotations

import argparse
from dataclasses import replace
from typing import Any

from octcore.cli import options
from octcore.cli.output import check_outputs, write_result
from octcore.selection.penalty_path import penalty_path
from octcore.solving.settings import DEPTH, ENCODING, SEED, TEST_SIZE, TIME_LIMIT
from octcore.tasks import TASK

SETTINGS = (ENCODING, replace(DEPTH, default=3), TIME_LIMIT, TEST_SIZE, SEED, *TASK)


def add_commands(commands: Any) -> None:
    """Add the command."""
    parser = commands.add("path", run_path)
    options.add_data_options(parser)
    options.add_declared(parser, SETTINGS)
    options.add_constraint(parser)
    options.add_json(parser, "steps and trees")


def run_path(arguments: argparse.Namespace) -> int:
    """Print accuracy against size."""
    check_outputs(arguments.json)
    path = penalty_path(
        options.read_data(arguments),
        constraints=options.constraint_values(arguments.constraint),
        **options.given(arguments, SETTINGS),
    )
    filled = path.table().dropna(axis="columns", how="all")
    table = filled.to_string(index=False, na_rep="-", float_format="{:.5f}".format)
    words = f"each step proven optimal on {path.encoding.key} columns; {path.seconds:.2f} s"
    write_result(arguments.json, path.to_dict, f"{table}\n{words}")
    return 0
