"""`octcore path` and `octcore binarization`: optima by number of leaves, and by encoding."""

import argparse
import contextlib
from dataclasses import replace
from typing import Any

import pandas as pd

from octcore.cli import EXIT_NO_TREE, options
from octcore.cli.output import ProgressLine, write_result
from octcore.data.tasks import TASK
from octcore.errors import SettingsError
from octcore.selection.binarization import binarization_path
from octcore.selection.penalty_path import penalty_path
from octcore.solving.settings import DEPTH, ENCODING, SEED, TEST_SIZE, TIME_LIMIT
from octcore.solving.solve import interruptible

BINARIZATION = (replace(DEPTH, default=3), TIME_LIMIT, replace(TEST_SIZE, default=0.25), SEED)
SETTINGS = (ENCODING, replace(DEPTH, default=3), TIME_LIMIT, TEST_SIZE, SEED, *TASK)


def add_commands(commands: Any) -> None:
    """Add the command."""
    parser = commands.add("path", run_path)
    options.add_data_options(parser)
    options.add_declared(parser, SETTINGS)
    options.add_constraint(parser)
    options.add_json(parser, "steps and trees")
    parser = commands.add("binarization", run_binarization)
    options.add_data_options(parser)
    options.add_declared(parser, BINARIZATION)
    parser.add_argument("--leaf-penalty", metavar="P", type=float, default=0.01)
    parser.add_argument("--quantiles", metavar="A-B", default="2-20", help="such as 2-20 or 5")
    options.add_constraint(parser)
    options.add_json(parser, "points and thresholds")


def run_path(arguments: argparse.Namespace) -> None:
    """Print accuracy against size."""
    data = options.read_data(arguments)
    constraints = options.constraint_values(arguments.constraint)
    with ProgressLine("searching for the best tree of every size"):
        path = penalty_path(data, constraints=constraints, **options.given(arguments, SETTINGS))
    words = f"{path.measure}; each step proven optimal on {path.encoding.key} columns; "
    words += f"{path.seconds:.2f} s"
    write_result(arguments.json, path.to_dict, _table(path.table(), words))


def run_binarization(arguments: argparse.Namespace) -> int:
    """Print the optimum on every encoding, and what it loses against all thresholds."""
    quantiles, data = _range(arguments.quantiles), options.read_data(arguments)
    with interruptible() as stop, ProgressLine("the optimum on all thresholds") as line:
        path = binarization_path(
            data,
            leaf_penalty=arguments.leaf_penalty,
            quantiles=quantiles,
            constraints=options.constraint_values(arguments.constraint),
            on_point=lambda _, done, total: line.show(f"{done} of {total} encodings"),
            cancel=stop,
            **options.given(arguments, BINARIZATION),
        )
    if not path.points:
        raise KeyboardInterrupt
    words = (
        "price: objective lost against all thresholds, below 0 where buckets (QB), which ask for "
        "two thresholds at once, gain; said where both are proven"
    )
    table = path.table().drop(columns="q")
    write_result(arguments.json, path.to_dict, _table(table, words))
    if not path.is_complete:
        raise KeyboardInterrupt
    return 0 if any(point.leaves for point in path.points) else EXIT_NO_TREE


def _table(table: pd.DataFrame, words: str) -> str:
    filled = table.dropna(axis="columns", how="all")
    return f"{filled.to_string(index=False, na_rep='-', float_format='{:.5f}'.format)}\n{words}"


def _range(text: str) -> range:
    first, _, last = text.partition("-")
    with contextlib.suppress(ValueError):
        if found := range(int(first), int(last or first) + 1):
            return found
    message = f"--quantiles takes 2-20 or 5, but {text!r} came."
    raise SettingsError("BAD_VALUE", message, "quantiles")
