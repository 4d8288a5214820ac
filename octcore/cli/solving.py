"""`octcore solve` and `octcore compare`, with selected rows or one tree per class if asked for."""

import argparse
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from octcore.cli import EXIT_NO_TREE, EXIT_WRONG_INPUT, options, output
from octcore.cli.cluster import Workers, add_scheduler, connected
from octcore.data.dataset import Dataset, class_versus_rest
from octcore.data.findings import percent
from octcore.errors import CancelledError, OctError, SettingsError, TooLargeError
from octcore.parameters import check_all, unknown_name
from octcore.reports.tables import comparison_table, repeats_table
from octcore.selection.one_vs_rest import solve_one_vs_rest
from octcore.solving.report import EXPORTS, export_file, run_report
from octcore.solving.run import STOPPED, Run
from octcore.solving.settings import ONE_VS_REST, ROWS, check_settings
from octcore.store.models import model_to_dict
from octcore.tree.export.onnx import require_onnx
from octcore.worker.client import solve_in_child
from octcore.worker.process import SolveProcess

FOR_ONE_TREE = ("trace", "model", "report", "tree")  # outputs that describe one tree


def add_commands(commands: Any) -> None:
    """Add the two commands."""
    solve = commands.add("solve", run_solve)
    options.add_data_options(solve)
    options.add_solve_options(solve)
    options.add_declared(solve, ROWS)
    options.add_json(solve)
    trace = "write every event, one JSON a line; as text, as solvers do, if FILE ends in .log"
    add = partial(solve.add_argument, type=output.Written)
    add("--trace", metavar="FILE", help=trace)
    add("--model", metavar="FILE.json", help="write a model for octcore predict")
    add("--report", metavar="FILE.html", help="write what people read, as one file")
    words = "in a format of " + ", ".join(EXPORTS)
    add("--tree", metavar="FILE", action="append", default=[], help=words)
    compare = commands.add("compare", run_compare)
    options.add_data_options(compare)
    compare.add_argument("--formulations", metavar="KEY,KEY,...", required=True)
    options.add_solve_options(compare, without={"formulation"})
    words = "splits of the rows, with --test-size"
    compare.add_argument("--repeats", metavar="N", type=int, default=1, help=words)
    compare.add_argument("--jobs", metavar="N", type=int, default=1, help="trainings at once")
    add_scheduler(compare)
    options.add_json(compare, "all results")


def run_solve(arguments: argparse.Namespace) -> int | None:
    """Train a tree in a child process and write what was asked for."""
    for path in arguments.tree:  # refused before a minute of solving, not after it
        kind = _format_of(path)
        if kind == "onnx":
            require_onnx()
        if kind not in EXPORTS:
            raise unknown_name("UNKNOWN_FORMAT", "tree format", kind, EXPORTS, "octcore")
    rows = _rows_asked(arguments)
    several = rows["classes"] == ONE_VS_REST  # trees
    with SolveProcess() as worker:  # it imports while this process does, for the options
        settings = options.solve_settings(arguments)
        start = time.perf_counter()
        data = options.read_data(arguments)
        read_seconds = time.perf_counter() - start
        if rows["classes"] and not several:
            data = class_versus_rest(data, rows["classes"])
        if not several and not rows["select_rows"]:
            run = _in_child(data, called=arguments.called, process=worker, **settings)
            run = replace(run, timings={"read": read_seconds, **run.timings})
            return _write(arguments, run, run.to_dict(), "")
    if several:
        return _solve_one_vs_rest(arguments, data, settings)
    return _solve_selected(arguments, data, settings, rows)


def _format_of(path: str) -> str:
    return path.rpartition(".")[2].lower()


def _rows_asked(arguments: argparse.Namespace) -> dict[str, Any]:
    """Read which rows and classes are asked for; refuse options that do not go together."""
    rows = check_all(ROWS, options.given(arguments, ROWS), "octcore solve")
    refused = [f"--{name}" for name in FOR_ONE_TREE if getattr(arguments, name)]
    if rows["classes"] == ONE_VS_REST and rows["select_rows"]:
        refused.append("--select-rows")
    if rows["classes"] == ONE_VS_REST and refused:
        raise SettingsError(
            "NOT_ONE_TREE",
            f"--classes {ONE_VS_REST} trains one tree per class, which {' and '.join(refused)} "
            "cannot take; leave it out, or name one class with --classes CLASS.",
            "--classes",
        )
    return rows


def _solve_one_vs_rest(
    arguments: argparse.Namespace, data: Dataset, settings: Mapping[str, Any]
) -> None:
    """One tree per class, each in a child process, sharing the time limit."""
    checked = check_settings(**settings)
    shared = ("time_limit", "test_size", "seed")
    model = solve_one_vs_rest(
        data,
        solver=_in_child,
        **{**settings, **{name: getattr(checked, name) for name in shared}},
    )
    lines = [
        f"{data.target_name} = {label} against the rest\n{run_report(run)}\n"
        for label, run in zip(model.classes, model.runs, strict=True)
    ]
    lines += [model.summary, f"together right on {percent(model.accuracy, 2)} of the training rows"]
    if model.test_accuracy is not None:
        lines.append(f"and on {percent(model.test_accuracy, 2)} of the held-out rows")
    output.write_result(arguments.json, model.to_dict, "\n".join(lines))


def _solve_selected(
    arguments: argparse.Namespace,
    data: Dataset,
    settings: Mapping[str, Any],
    rows: Mapping[str, Any],
) -> int:
    """Select in this process, solve in a child process."""
    # Not above: selecting needs a solver's library, which other commands do not wait for.
    from octcore.selection.selected_training import check_formulation, solve_selected

    checked = check_settings(**settings)
    check_formulation(checked.formulation)
    if checked.encoding != "scaled":
        raise SettingsError(
            "SELECTION_IS_SCALED",
            f"--select-rows works on columns scaled to [0, 1], not on encoding {checked.encoding}.",
            "encoding",
        )
    named = ("depth", "time_limit", "seed", "test_size", "formulation")
    found = solve_selected(
        data,
        rule=rows["select_rows"],
        rounds=rows["select_rounds"],
        solver=_in_child,
        **{**settings, **{name: getattr(checked, name) for name in named}},
    )
    return _write(arguments, found.run, found.to_dict(), found.summary)


def _write(arguments: argparse.Namespace, run: Run, record: dict[str, Any], summary: str) -> int:
    """Write the files that were asked for and the report; returns the exit code."""
    files: dict[str, str | bytes] = {}
    if arguments.json:
        files[arguments.json] = output.json_line(record)
    if arguments.trace:
        is_text = arguments.trace.endswith(".log")
        files[arguments.trace] = run.log() if is_text else run.trace.to_json_lines()
    if run.tree is not None and arguments.model:
        files[arguments.model] = output.json_line(model_to_dict(run))
    if run.tree is not None:
        files |= {path: export_file(run, _format_of(path)) for path in arguments.tree}
    if arguments.report:
        files[arguments.report] = output.report_of(run)
    if run.tree is None:
        output.write_all(files, run_report(run), sys.stderr)
        return EXIT_NO_TREE
    output.write_all(files, run_report(run) + (f"\n{summary}" if summary else ""))
    return 0


def run_compare(arguments: argparse.Namespace) -> int:
    """Train every formulation in turn and print one table."""
    keys = [key.strip() for key in arguments.formulations.split(",") if key.strip()]
    if not keys:
        raise SettingsError("NO_FORMULATIONS", "--formulations names none.", "formulations")
    plans = [options.solve_settings(arguments, key) for key in dict.fromkeys(keys)]
    data = options.read_data(arguments)
    runs, refused = list[Run](), dict[str, str]()
    try:
        with connected(arguments.scheduler, arguments.jobs) as workers:
            _compare(data, plans, arguments.repeats, workers, runs, refused)
    except (OctError, KeyboardInterrupt) as ending:
        if runs:
            _write_table(arguments, runs, refused)
        stopped = isinstance(ending, CancelledError | KeyboardInterrupt)
        raise KeyboardInterrupt if stopped else ending from None
    _write_table(arguments, runs, refused)
    if refused:
        return EXIT_WRONG_INPUT
    return 0 if any(run.tree is not None for run in runs) else EXIT_NO_TREE


def _write_table(arguments: argparse.Namespace, runs: list[Run], refused: dict[str, str]) -> None:
    groups = {
        run.formulation: [r for r in runs if r.formulation == run.formulation] for run in runs
    }
    many = arguments.repeats > 1
    table = repeats_table([*groups.values()]) if many else comparison_table(runs)
    lines = [table.to_string(index=False)] * bool(runs)
    lines += [f"{key} was refused: {why}" for key, why in refused.items()]
    records = [run.to_dict() for run in runs]
    records += [{"formulation": key, "refused": why} for key, why in refused.items()]
    output.write_result(arguments.json, lambda: records, "\n".join(lines))


def _compare(
    data: Dataset,
    plans: Sequence[Mapping[str, Any]],
    repeats: int,
    workers: Workers,
    runs: list[Run],
    refused: dict[str, str],
) -> None:
    """Train all of them: one after the other in child processes, or many at once.

    `runs` gets each when it is there, and at the end has all in order; `refused` says of which the
    model is too large, and why.
    """

    def refuse(key: str, error: TooLargeError) -> None:
        if key not in refused:  # of repetitions the first one says it
            refused[key] = error.message
            print(f"octcore: {key} was refused: {error.message}", file=sys.stderr)

    # Not above: it needs the libraries of a search over settings.
    from octcore.selection.fits import compare, is_here, repetitions

    wanted = [settings for plan in plans for settings in repetitions(data, plan, repeats)]
    if len(wanted) > 1:
        workers.announce(len(wanted), max(check_settings(**p).time_limit for p in plans))

    def keep(run: Run, done: int, total: int) -> None:
        runs.append(run)
        if run.stop_reason in STOPPED:
            raise KeyboardInterrupt  # what ends one of them ends all

    where = (workers.n_jobs, workers.backend)
    solver = _in_child if is_here(*where) else None
    groups = compare(data, plans, repeats, *where, keep, refuse, solver)
    runs[:] = [run for group in groups for run in group]


def _in_child(data: Dataset, **given: Any) -> Run:
    """Train in a child process, as the command line always does; Ctrl-C stops there."""
    names = ("on_event", "sample_weight", "called", "process")
    own = {name: given.pop(name, None) for name in names}
    given.pop("cancel", None)
    with output.ProgressLine() as line:
        return solve_in_child(data, given, on_phase=line, **own)
