"""Runs a suite, one line per solve, and goes on with the rest next time.

Every line says what it was measured on, so that files of several machines can meet.
"""

import contextlib
import csv
import functools
import os
import platform
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import psutil
from joblib import delayed

from octcore.bench.suite import COLUMNS, KEY, SELECTION_TEST_SIZE, Instance, Line
from octcore.data.dataset import Dataset
from octcore.data.serial import in_words, versions
from octcore.engines.base import Cancel
from octcore.errors import OctError, SettingsError
from octcore.selection.fits import Candidate, Fit, in_parallel, judged
from octcore.selection.protocols import Rows, folds
from octcore.selection.selected_training import solve_selected
from octcore.selection.tuning import choose, settings_with
from octcore.solving.run import Run
from octcore.solving.settings import check_against_data, check_settings
from octcore.solving.solve import solve
from octcore.worker.job import Job, Snapshot
from octcore.worker.process import SolveProcess
from octcore.worker.request import Request

WARM_SECONDS = 180.0  # the first compilation of all kernels on a machine takes about a minute
POLL_SECONDS = 0.1  # the error of a measured time at most
CPU = "cpu"  # among the timings of a run: its processor seconds
Solver = Callable[[Instance, Dataset, float], Run]
"""Solves an instance on some rows within a limit in seconds."""


def run_suite(
    suite: str,
    instances: Sequence[Instance],
    limit: float,
    output: Path | None = None,
    on_line: Callable[[Line, int, int], None] | None = None,
    solver: Solver | None = None,
    backend: str | None = None,
) -> list[Line]:
    """Solve what the output file does not hold yet; returns the new lines.

    `limit`: seconds of every solve; in a child process a hard deadline a little later holds too.
    `output`: CSV file; lines are appended and flushed one by one.
    `on_line`: ``(line, done, total)`` after every solve, for progress.
    `solver`: `in_child` (the default) or `in_this_process`.
    `backend`: a backend of joblib, such as ``"dask"`` for the cluster of the client made last:
    solves many at once, each in a worker's own process, and lines come as they are done.  Data
    files and programs must be where the workers are.
    Raises `SettingsError` if the output is a file of another kind.
    """
    solver = solver or in_child()
    known = existing_keys(output)
    open_ = [i for i in instances if _blank(suite, i, limit).key not in known]
    lines: list[Line] = []
    for line in _solved(suite, open_, limit, solver, backend):
        lines.append(line)
        _append(output, line)
        if on_line is not None:
            on_line(line, len(instances) - len(open_) + len(lines), len(instances))
    return lines


def _solved(
    suite: str, instances: Sequence[Instance], limit: float, solver: Solver, backend: str | None
) -> Iterator[Line]:
    if backend is None:
        return (_solve(suite, instance, limit, solver) for instance in instances)
    calls = [delayed(_solve)(suite, instance, limit, in_this_process) for instance in instances]
    return (line for _, line in in_parallel(calls, -1, backend))


def existing_keys(output: Path | None) -> set[tuple[str, ...]]:
    """Keys of the lines of an output file, which is made where there is none yet."""
    if output is None:
        return set()
    with in_words(output):  # opened as for a line: no solve is for nothing
        output.parent.mkdir(parents=True, exist_ok=True)
        stream = output.open("a+", encoding="utf-8", errors="replace", newline="")
    with stream:
        stream.seek(0)
        reader = csv.DictReader(stream)
        if tuple(reader.fieldnames or COLUMNS) != COLUMNS:
            raise SettingsError(
                "NOT_A_BENCH_FILE",
                f"{output} is no output of octcore bench of this version; choose another file.",
                "output",
            )
        return {tuple(row[name] for name in KEY) for row in reader if is_complete(row)}


def is_complete(row: Mapping[str, str | None]) -> bool:
    """Whether a line was written to its end; an interrupted run may leave half a line."""
    return all(value is not None for value in row.values())


def _append(output: Path | None, line: Line) -> None:
    if output is None:
        return
    with in_words(output):
        before = output.read_bytes()[-1:] if output.exists() else b""
        with output.open("a", encoding="utf-8", newline="") as stream:
            writer = csv.DictWriter(stream, COLUMNS, lineterminator="\n")
            if not before:
                writer.writeheader()
            elif before != b"\n":  # the last run was cut off within a line
                stream.write("\n")
            writer.writerow(line.cells())


def _blank(suite: str, instance: Instance, limit: float) -> Line:
    names = ("dataset", "encoding", "formulation", "depth", "parameters")
    known = {name: getattr(instance, name) for name in names}
    known |= {f"reference_{name}": figure for name, figure in vars(instance.published).items()}
    return Line(suite=suite, status="missing", limit=limit, **known)


def _solve(suite: str, instance: Instance, limit: float, solver: Solver) -> Line:
    blank = replace(_blank(suite, instance, limit), load=load(), machine=machine_words())
    try:
        if instance.program is not None:
            return instance.program(instance, blank, limit)
        if instance.select:
            return _solve_selected(blank, instance, limit, solver)
        train, test, chosen = _prepared(instance, limit, solver)
        run = solver(_with(instance, chosen), train, limit)
    except OctError as error:
        return replace(blank, status="refused", note=error.message)
    words = " ".join(f"{name}={value}" for name, value in chosen)
    return replace(_filled(blank, run, test), note=f"chosen: {words}" if chosen else "")


def _with(instance: Instance, candidate: Candidate) -> Instance:
    fixed = {"formulation": instance.formulation, **instance.settings}
    return replace(instance, settings=settings_with(fixed, candidate))


def _solve_selected(blank: Line, instance: Instance, limit: float, solver: Solver) -> Line:
    def on_selected(data: Dataset, cancel: object = None, **settings: Any) -> Run:
        del cancel  # the bench stops between lines
        within = settings.pop("time_limit")
        return solver(replace(instance, settings=settings), data, within)

    before = cpu_seconds()
    found = solve_selected(
        instance.load(), depth=instance.depth, rule=instance.select, time_limit=limit,
        formulation=instance.formulation, test_size=SELECTION_TEST_SIZE, solver=on_selected,
        n_jobs=-1, **instance.settings,
    )  # fmt: skip
    return replace(
        _filled(blank, found.run, None),
        accuracy=found.accuracy,
        test_accuracy=found.test_accuracy,
        seconds=round(found.seconds, 4),
        cpu_seconds=round(cpu_seconds() - before, 3),
        note=f"{len(found.selection.rows)} of {found.selection.n_samples} rows selected in "
        f"{found.select_seconds:.1f} s, {found.selection.unfinished} clusters unfinished",
    )


def in_child(on_phase: Callable[[Instance, Snapshot], None] | None = None) -> Solver:
    """Solve in a child process that has imported and compiled everything before the call.

    No other process is started meanwhile, so that the solve has the machine for itself.

    `on_phase`: ``(instance, snapshot)`` a few times a second during a solve.
    """

    def run(instance: Instance, data: Dataset, limit: float) -> Run:
        settings = _settings(instance, limit)
        check_against_data(check_settings(**settings), data)
        with SolveProcess() as process:
            end = time.monotonic() + WARM_SECONDS
            while not process.is_ready and process.is_alive and time.monotonic() < end:
                time.sleep(POLL_SECONDS)
            before = cpu_seconds()
            job = Job(Request(data, settings), process)
            while not job.wait(POLL_SECONDS):
                job.check()
                if on_phase is not None:
                    on_phase(instance, job.snapshot())
            return _timed(job.result(), before)

    return run


def in_this_process(instance: Instance, data: Dataset, limit: float) -> Run:
    """Solve here: no start of a process per line, but also no hard deadline."""
    before = cpu_seconds()
    # An interrupt ends the suite, not this line.
    return _timed(solve(data, **_settings(instance, limit), cancel=Cancel()), before)


def _timed(run: Run, before: float) -> Run:
    """The run with the processor seconds since `before`."""
    return replace(run, timings={**run.timings, CPU: cpu_seconds() - before})


def _settings(instance: Instance, limit: float) -> dict[str, Any]:
    own = {"formulation": instance.formulation, "depth": instance.depth, "time_limit": limit}
    return {**own, **instance.settings}


def _prepared(
    instance: Instance, limit: float, solver: Solver
) -> tuple[Dataset, Dataset | None, Candidate]:
    """Training rows, test rows and the candidate to train, chosen on the validation rows."""
    data = instance.load()
    if instance.rows is None:
        return data, None, ()
    train, validation, test = instance.rows
    parts: Sequence[tuple[Rows, Rows]] = [(train, validation)]
    if instance.folds:
        parts = folds(data.codes, np.array(train), instance.folds, 0)
    fits: list[Fit] = []
    for candidate in (tuple(settings.items()) for settings in instance.grid):
        asked = _with(instance, candidate)
        for k, (first, second) in enumerate(parts):
            run = solver(asked, data.subset(first), limit)
            fits.append(judged(run, data, (candidate, 0, k, first, second)))
    chosen = choose(fits, instance.choice) if fits else ()
    return data.subset(sorted(train + validation)), data.subset(test), chosen


def _filled(blank: Line, run: Run, test: Dataset | None) -> Line:
    tree, size = run.tree, run.model_size
    used = set() if tree is None else {j for s in tree.splits.values() for j in s.features}
    events = run.trace.events
    handed_over = events[0].seconds - run.timings["encode"] if events else 0.0
    same = ("status", "objective", "bound", "gap", "accuracy", "root_bound")
    return replace(
        blank,
        **{name: getattr(run, name) for name in same},
        seconds=round(run.timings["total"], 4),
        solve_seconds=round(run.timings["total"] - max(handed_over, 0.0), 4),
        test_accuracy=run.accuracy_on(test),
        leaves=None if tree is None else tree.n_leaves,
        features=None if tree is None else len(used),
        rows=size.get("rows"),
        binaries=size.get("binaries"),
        nodes=events[-1].nodes if events else None,
        method=run.certificate.method,
        cpu_seconds=round(run.timings[CPU], 3),
    )


CPU_FILE = Path("/proc/cpuinfo")


@functools.cache
def machine_words() -> str:
    """Cores, processor, memory, system and the versions of what determines results."""
    memory = psutil.virtual_memory().total / 2**30
    packages = ", ".join(f"{name} {version}" for name, version in versions().items())
    return (
        f"{os.cpu_count()} cores of {_processor()}, {memory:.0f} GiB, {platform.uname().system}; "
        f"{packages}"
    )


def load() -> float:
    """Processes that ran or wanted to, on average over the last minute."""
    return round(psutil.getloadavg()[0], 2)


def cpu_seconds() -> float:
    """Processor seconds of this process and of all its children, ended ones included, so far."""
    own = psutil.Process()
    total = 0.0
    for process in (own, *own.children(recursive=True)):
        with contextlib.suppress(psutil.Error):  # ended meanwhile: counted by its parent
            times = process.cpu_times()
            total += times.user + times.system + times.children_user + times.children_system
    return total


def _processor() -> str:
    """Name of the processor: from Linux, whose standard library knows the architecture only."""
    if CPU_FILE.exists():
        for line in CPU_FILE.read_text(encoding="utf-8", errors="replace").splitlines():
            if line.startswith("model name"):
                return " ".join(line.partition(":")[2].split())
    return platform.processor() or platform.machine()
