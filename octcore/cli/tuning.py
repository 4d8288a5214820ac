"""`octcore tune`: hyperparameters by cross-validation."""

import argparse
import sys
from typing import Any

import numpy as np

from octcore.cli import options
from octcore.cli.cluster import add_scheduler, connected
from octcore.cli.output import ProgressLine, write_result
from octcore.data.findings import count
from octcore.errors import CancelledError, SettingsError
from octcore.formulations.base import get_formulation
from octcore.selection import tuning
from octcore.selection.fits import Fit
from octcore.selection.protocols import PROTOCOLS, get_protocol
from octcore.solving.settings import DEPTH, check_settings
from octcore.solving.solve import interruptible
from octcore.tree.constraints import ACCEPTED

IGNORED = ("gap", "node_limit", "threads", "warm_start", "test_size")
"""A protocol holds rows out itself, and every training is a plain one."""


def add_commands(commands: Any) -> None:
    """Add the command."""
    parser = commands.add("tune", run_tune)
    options.add_data_options(parser)
    options.add_solve_options(parser, without=IGNORED)
    words = "again for every name (default: what the formulation declares, if it does)"
    options.add_many(parser, "--grid", "NAME=V,V,...", words)
    parser.add_argument("--protocol", metavar="KEY", default="k-fold", help=", ".join(PROTOCOLS))
    words = f"{', '.join(tuning.CHOICES)} (default: the formulation's own)"
    parser.add_argument("--choice", metavar="KEY", help=words)
    parser.add_argument("--jobs", metavar="N", type=int, default=1, help="trainings at once")
    add_scheduler(parser)
    options.add_json(parser, "every fit")


def run_tune(arguments: argparse.Namespace) -> None:
    """Run the protocol and print one line per candidate."""
    settings = options.solve_settings(arguments)
    key = settings["formulation"]
    grid = parse_grid(arguments.grid, key) if arguments.grid else tuning.declared_grid(key)
    data = options.read_data(arguments)
    checked = check_settings(**settings)
    for name in sorted({*settings, *settings["params"], *settings["constraints"]} & {*grid}):
        print(f"octcore: {name} is taken from the grid, not from its own option.", file=sys.stderr)
    plans, choice = tuning.checked_plans(data, settings, grid, arguments.choice)
    splits = get_protocol(arguments.protocol).make(data.codes, checked.seed)
    total, fits = tuning.count_trainings(splits, plans), list[Fit]()
    try:
        with (
            connected(arguments.scheduler, arguments.jobs) as workers,
            ProgressLine() as line,
            interruptible() as stop,
        ):
            workers.announce(total, checked.time_limit)

            def keep(fit: Fit, done: int, total: int) -> None:
                fits.append(fit)
                words = ", ".join(f"{k}={v}" for k, v in fit.candidate)
                line.show(f"{done} of {total}  {words}")

            result = tuning.tune(
                data,
                grid=grid,
                protocol=arguments.protocol,
                choice=choice,
                n_jobs=workers.n_jobs,
                backend=workers.backend,
                on_fit=keep,
                cancel=stop,
                **settings,
            )
    except (CancelledError, KeyboardInterrupt) as ending:
        if fits:
            parts = (key, arguments.protocol, choice, tuple(fits), (), (), splits, checked.seed)
            result = tuning.TuneResult(*parts)
            words = f"stopped after {len(fits)} of {count(total, 'training')}; no choice was made"
            write_result(arguments.json, result.to_dict, f"{tune_report(result)}\n{words}")
        raise KeyboardInterrupt from ending
    write_result(arguments.json, result.to_dict, tune_report(result))


def parse_grid(texts: list[str], formulation: str) -> dict[str, list[Any]]:
    """Read ``NAME=V,V,...``; hyperparameters, side constraints and depth get their own type."""
    own = get_formulation(formulation).info.hyperparameters
    declared = {parameter.name: parameter for parameter in (*own, *ACCEPTED, DEPTH)}
    grid: dict[str, list[Any]] = {}
    for text in texts:
        name, equals, values = text.partition("=")
        if not equals or not values:
            raise SettingsError("BAD_OPTION", f"--grid needs NAME=V,V,..., not {text!r}.", "--grid")
        parts = [part.strip() for part in values.split(",")]
        parameter = declared.get(name.strip())
        grid[name.strip()] = [parameter.parse(p) for p in parts] if parameter else list(parts)
    return grid


def tune_report(result: tuning.TuneResult) -> str:
    """Table of the candidates and what came out."""
    table = result.table()
    lines = [table.to_string(index=False, float_format="{:.4f}".format), ""]
    tests = result.test_accuracies
    if tests:
        spread = f" +- {np.std(tests):.2%}" if len(tests) > 1 else ""
        lines.append(
            f"test accuracy {np.mean(tests):.2%}{spread} over {count(len(tests), 'split')}"
        )
    if winners := dict.fromkeys(result.chosen):
        chosen = "; ".join(", ".join(f"{k}={v}" for k, v in winner) for winner in winners)
        measure = next((n for n in ("mean cost", "weighted accuracy") if n in table), "accuracy")
        by = measure if result.choice == "accuracy" else result.choice
        lines.append(f"chosen by {by}: {chosen}")
    return "\n".join(lines)
