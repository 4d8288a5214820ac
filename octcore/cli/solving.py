"""`octcore solve` and `octcore compare`."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from octcore.cli.cluster import Workers, add_scheduler, connected
from octcore.cli.options import (
    add_data_options,
    add_many,
    add_solve_options,
    read_data,
    solve_settings,
)
from octcore.cli.output import reserved, write_files, write_text
from octcore.cli.progress import ProgressLine
from octcore.cli.several import (
    add_several_options,
    check_several,
    report_one_vs_rest,
    train_one_vs_rest,
    train_selected,
)
from octcore.data.dataset import Dataset
from octcore.data.grouping import class_versus_rest
from octcore.errors import SettingsError
from octcore.models.file import model_to_dict
from octcore.parameters import unknown_name
from octcore.reports.tables import comparison_table, repeats_table
from octcore.solving.report import EXPORTS, export_tree, run_report
from octcore.solving.run import Run
from octcore.solving.settings import ONE_VS_REST, check_settings
from octcore.worker import solve_in_child

NO_TREE = 3


def add_commands(commands: Any) -> None:
    """Add the two commands."""
    solve = commands.add_parser("solve")
    add_data_options(solve)
    add_solve_options(solve)
    add_several_options(solve)
    solve.add_argument("--json", metavar="FILE|-", help="write the result as JSON")
    solve.add_argument("--trace", metavar="FILE.jsonl", help="write every event, one JSON a line")
    solve.add_argument("--model", metavar="FILE.json", help="write a model for octcore predict")
    add_many(solve, "--tree", "FILE", "txt, dot, svg or json")
    solve.set_defaults(run=run_solve)
    compare = commands.add_parser("compare")
    add_data_options(compare)
    compare.add_argument("--formulations", metavar="KEY,KEY,...", required=True)
    add_solve_options(compare, without={"formulation"})
    compare.add_argument(
        "--repeats", metavar="N", type=int, default=1, help="splits of the rows, with --test-size"
    )
    compare.add_argument("--jobs", metavar="N", type=int, default=1, help="trainings at once")
    add_scheduler(compare)
    compare.add_argument("--json", metavar="FILE|-", help="write all results as JSON")
    compare.set_defaults(run=run_compare)


def run_solve(arguments: argparse.Namespace) -> int:
    """Train a tree in a child process and write what was asked for."""
    _check_outputs(arguments)
    rows = check_several(arguments)
    settings = solve_settings(arguments)
    with reserved(arguments.json, arguments.trace, arguments.model, *arguments.tree):
        return _solve_and_write(arguments, settings, rows)


def _solve_and_write(
    arguments: argparse.Namespace, settings: dict[str, Any], rows: dict[str, Any]
) -> int:
    start = time.perf_counter()
    data = read_data(arguments)
    read_seconds = time.perf_counter() - start
    if rows["classes"] == ONE_VS_REST:
        report_one_vs_rest(arguments, data, train_one_vs_rest(data, settings))
        return 0
    if rows["classes"]:
        data = class_versus_rest(data, rows["classes"])
    if not rows["select_rows"]:
        run = _solve(data, settings, read_seconds, arguments.called)
        return _write(arguments, run, run.to_dict(), "")
    found = train_selected(data, settings, rows["select_rows"], rows["select_rounds"])
    return _write(arguments, found.run, found.to_dict(), found.summary)


def _write(arguments: argparse.Namespace, run: Run, record: dict[str, Any], summary: str) -> int:
    """Write the files that were asked for and the report; returns the exit code.

    What cannot be written after all, as on a full disk, goes to standard output behind the report.
    """
    files: dict[str, str] = {}
    if arguments.json:
        files[arguments.json] = json.dumps(record, allow_nan=False) + "\n"
    if arguments.trace:
        files[arguments.trace] = run.trace.to_json_lines()
    if run.tree is not None and arguments.model:
        files[arguments.model] = json.dumps(model_to_dict(run), allow_nan=False) + "\n"
    if run.tree is not None:
        files |= {path: export_tree(run, path.rpartition(".")[2]) for path in arguments.tree}
    failures = write_files(files)
    if run.tree is None:
        print(run_report(run), file=sys.stderr)
    elif arguments.json != "-":
        print(run_report(run) + (f"\n{summary}" if summary else ""))
    for path in failures:
        print(f"{path}:\n{files[path].rstrip()}")
    for failure in failures.values():
        raise failure
    return NO_TREE if run.tree is None else 0


def run_compare(arguments: argparse.Namespace) -> int:
    """Train every formulation in turn and print one table."""
    keys = [key.strip() for key in arguments.formulations.split(",") if key.strip()]
    if not keys:
        raise SettingsError("NO_FORMULATIONS", "--formulations names none.", "formulations")
    plans = [solve_settings(arguments, key) for key in dict.fromkeys(keys)]
    data = read_data(arguments)
    with (
        reserved(arguments.json),
        connected(arguments.scheduler, arguments.jobs) as workers,
    ):
        groups = _compared(data, plans, arguments.repeats, workers)
        runs = [run for group in groups for run in group]
        if arguments.json:
            records = [run.to_dict() for run in runs]
            write_text(arguments.json, json.dumps(records, allow_nan=False) + "\n")
    if arguments.json != "-":
        table = comparison_table(runs) if arguments.repeats == 1 else repeats_table(groups)
        print(table.to_string(index=False))
    return 0 if any(run.tree is not None for run in runs) else NO_TREE


def _compared(
    data: Dataset, plans: Sequence[Mapping[str, Any]], repeats: int, workers: Workers
) -> Sequence[Sequence[Run]]:
    """Train all of them: one after the other in child processes, or many at once."""
    # Not above: it needs the libraries of a search over settings.
    from octcore.selection.comparing import compare, repetitions

    wanted = [repetitions(plan, repeats) for plan in plans]
    if len(wanted) * repeats > 1:
        workers.announce(len(wanted) * repeats, max(check_settings(**p).time_limit for p in plans))
    if workers.backend is None and workers.at_once == 1:
        return [[_solve(data, settings, 0.0) for settings in group] for group in wanted]
    return compare(data, plans, repeats, workers.n_jobs, workers.backend)


def _solve(
    data: Dataset, settings: dict[str, Any], read_seconds: float, called: float | None = None
) -> Run:
    line = ProgressLine()
    try:
        run = solve_in_child(data, settings, on_phase=line, called=called)
    finally:
        line.close()
    return replace(run, timings={"read": read_seconds, **run.timings})


def _check_outputs(arguments: argparse.Namespace) -> None:
    """Refuse unknown kinds of files before a minute of solving, not after it."""
    for path in arguments.tree:
        kind = path.rpartition(".")[2]
        if kind not in EXPORTS:
            raise unknown_name("UNKNOWN_FORMAT", "tree format", kind, EXPORTS, "octcore")
