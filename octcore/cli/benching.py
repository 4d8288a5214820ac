"""`octcore bench`: published experiments, with our figures beside the papers'."""

import argparse
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd

from octcore.bench.data_files import check_files, data_folder
from octcore.bench.profiles import read_bench, summary
from octcore.bench.runner import in_child, in_this_process, run_suite
from octcore.bench.suite import Instance, Line, get_suite, list_suites, of_datasets, pick
from octcore.cli.cluster import add_scheduler, connected
from octcore.cli.output import Named, ProgressLine, progress_text, write_text
from octcore.data.serial import in_words
from octcore.errors import SettingsError
from octcore.formulations.base import get_formulation
from octcore.parameters import unknown_name
from octcore.solving.settings import check_settings
from octcore.worker.job import Snapshot

REPORT = "report"


def add_commands(commands: Any) -> None:
    """Add the command."""
    parser = commands.add("bench", run_bench)
    add, suites = parser.add_argument, ", ".join(list_suites())
    add("suite", metavar="SUITE", help=f"{suites}; or report, with files")
    add("files", metavar="FILE.csv", nargs="*", help="of report: outputs of any suites")
    add("--limit", metavar="S", default="60", help="seconds of every solve")
    add("--instances", metavar="N|all", default="all")
    add("--formulations", metavar="KEY,...", default="")
    add("--datasets", metavar="NAME,...", default="", help="leave out all others")
    add("--study", metavar="KEY", default="", help="main, ablation, variants, ...")
    add("--seed", metavar="N", help="of every solve, instead of the suite's own")
    add("--output", metavar="FILE.csv", type=Named, help="lines are appended; a rerun resumes")
    add("--data", metavar="FOLDER", type=Named, help="see octcore/bench/README.md")
    words = "no child process per solve: for many short solves; no hard deadline"
    add("--in-process", action="store_true", help=words)
    add_scheduler(parser)


def run_bench(arguments: argparse.Namespace) -> None:
    """Run a suite and print a line per solve, then medians; or report what files hold."""
    if arguments.suite == REPORT:
        return _report(arguments.files, arguments.output)
    if arguments.files:
        message = "Files are for octcore bench report; a suite takes --output."
        raise SettingsError("BAD_OPTION", message, "files")
    suite = get_suite(arguments.suite)
    limit = check_settings(time_limit=arguments.limit).time_limit
    study = arguments.study or suite.studies[0]
    if study not in suite.studies:
        raise unknown_name("UNKNOWN_STUDY", "study", study, suite.studies, f"suite {suite.key}")
    keys = _names(arguments.formulations)
    for key in (key for key in keys if key not in suite.programs):
        get_formulation(key)
    folder = data_folder(arguments.data) if suite.needs else Path()
    check_files(folder, suite.needs, suite.key)
    found = suite.instances(folder, study, keys or suite.formulations)
    chosen = pick(of_datasets(found, _names(arguments.datasets)), _count(arguments.instances))
    chosen = [replace(one, program=suite.programs.get(one.formulation)) for one in chosen]
    if arguments.seed is not None:
        chosen = [_seeded(instance, arguments.seed) for instance in chosen]
    output = None if arguments.output is None else Path(arguments.output)
    line = ProgressLine()

    def show(instance: Instance, snapshot: Snapshot) -> None:
        line.show(f"{instance.dataset} {instance.formulation}  {progress_text(snapshot)}")

    def tell(*result: Any) -> None:
        line.show("")
        print(_words(*result), flush=True)

    watch = show if line.is_shown else None
    solver = in_this_process if arguments.in_process else in_child(watch)
    with connected(arguments.scheduler) as workers:
        workers.announce(sum(instance.n_solves for instance in chosen), limit)
        lines = run_suite(suite.key, chosen, limit, output, tell, solver, workers.backend)
    if len(lines) < len(chosen):
        print(f"{len(chosen) - len(lines)} lines were in {output} already.")
    heading, *rows = summary(line.cells() for line in lines)
    if rows:
        print(pd.DataFrame(rows, columns=heading).to_string(index=False))


def _report(files: list[str], output: str | None) -> None:
    """Write the report of some outputs as HTML and as Markdown."""
    from octcore.reports.bench_report import as_html, as_markdown, bench_sections

    if not files or output is None:
        message = "octcore bench report needs FILE.csv ... and --output NAME."
        raise SettingsError("BAD_OPTION", message, "files")
    sections = bench_sections({Path(file).name: read_bench(file) for file in files})
    for suffix, content in ((".html", as_html(sections)), (".md", as_markdown(sections))):
        path = Path(output).with_suffix(suffix)
        with in_words(path):
            path.parent.mkdir(parents=True, exist_ok=True)
        write_text(str(path), content)
        print(path)


def _names(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(",") if name.strip())


def _count(text: str) -> int | None:
    if text == "all":
        return None
    if not text.isdecimal() or int(text) < 1:
        message = f"--instances needs a whole number or all, not {text!r}."
        raise SettingsError("BAD_OPTION", message, "--instances")
    return int(text)


def _seeded(instance: Instance, seed: str) -> Instance:
    """The same instance with another seed, which its label names."""
    given = check_settings(seed=seed).seed
    label = f"{instance.label} seed={given}".strip()
    return replace(instance, settings={**instance.settings, "seed": given}, label=label)


def _words(line: Line, done: int, total: int) -> str:
    told = {"objective": line.objective, "gap": line.gap, "test": line.test_accuracy,
            "trees": line.trees, "reference": line.reference_objective,
            "seconds": line.seconds}  # fmt: skip
    numbers = [
        f"{name} {value}" if name == "trees" else f"{name} {value:.6g}"
        for name, value in told.items()
        if value is not None
    ]
    words = [f"{done}/{total}", line.dataset, line.encoding, f"D={line.depth}", line.formulation]
    words += [line.parameters, line.status, *numbers, line.note]
    return "  ".join(word for word in words if word)
