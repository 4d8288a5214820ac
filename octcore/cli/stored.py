"""`octcore predict`, `verify`, `report`, `runs`, …: stored models and runs, few with a solver."""

import argparse
import base64
import contextlib
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

from octcore.cli import output
from octcore.cli.options import (
    add_declared,
    add_json,
    add_reading_options,
    add_solve_options,
    read_options,
    solve_settings,
    source_of,
)
from octcore.cli.output import Named, Read, Written, json_line, report_of, write_result, write_text
from octcore.data.dataset import Dataset, unpack
from octcore.data.export import frame_to_csv
from octcore.data.findings import percent
from octcore.data.reading import read_csv, read_table
from octcore.data.serial import default_path, jsonable, read_json
from octcore.data.text import fresh_name
from octcore.encoding.base import Encoding
from octcore.engines.events import Event
from octcore.errors import DataError, ModelFileError, SettingsError, StoreError, read_in_words
from octcore.solving.finish import read_back
from octcore.solving.report import run_report
from octcore.solving.run import Run
from octcore.solving.settings import TIME_LIMIT
from octcore.solving.verified import verified, verified_record
from octcore.store.models import FORMAT as MODEL_FORMAT
from octcore.store.models import load_model, score
from octcore.store.proofs import as_known, bounded
from octcore.store.runs import RunInfo, RunStore

SHORT_ID = 8
SECONDS = 1.0  # of the solve whose tree starts a model
EXITS = {True: 0, False: 1, None: 3}  # of `octcore verify`: confirmed, refuted, no verdict


def add_commands(commands: Any) -> None:
    """Add the commands, and the four actions on the history."""
    add = commands.add("predict", run_predict).add_argument
    add("model", metavar="MODEL.json", type=Read)
    add("data", metavar="DATA.csv", type=Read, help="- for the standard input")
    add("--output", metavar="FILE.csv", type=Written, default="-")
    words = "add the share of every class, by its weights, among the training rows of a row's leaf"
    add("--proba", action="store_true", help=words)
    exits = "Exit 0: confirmed, 1: refuted, 2: wrong input, 3: not verified (too large, or no "
    exits += "independent check exists)."
    parser = commands.add("verify", run_verify, epilog=exits)
    _add_run(parser)
    parser.add_argument("--time-limit", metavar="S", type=float, default=60.0)
    add_json(parser, "the verification")
    exits = "Exit 0: written, 2: refused, 3: written, not checked in time."
    add = _add_run(commands.add("prove", run_prove, epilog=exits))
    words = "gets tree.opb, tree.pbp and README"
    add("--output", metavar="FOLDER", type=Named, required=True, help=words)
    add("--size-limit", metavar="BYTES", type=float, default=200e6, help="of the files (200e6)")
    words = "of writing, estimated, and of a check (600)"
    add("--time-limit", metavar="S", type=float, default=600.0, help=words)
    add("--check", action="store_true", help="follow the proof with the checker of the package")
    words = "follow it with this one instead, such as veripb"
    add("--checker", metavar="PROGRAM", type=Named, help=words)
    parser = commands.add("model", run_model)
    add, words = _add_run(parser, "DATA.csv|RUN"), "beside it goes the tree, as .mst"
    add("--output", metavar="FILE.lp|.mps", type=Named, required=True, help=words)
    words = "column with the classes of a table, which is solved first"
    add("--target", metavar="COL", help=words)
    add_solve_options(parser, without={TIME_LIMIT.name})
    add_declared(parser, [replace(TIME_LIMIT, default=SECONDS)])
    add = _add_run(commands.add("report", run_make_report))
    add("--output", metavar="FILE.html", type=Written, required=True)
    parser = commands.add("runs")
    words = "file of the history; by default that of the app"
    parser.add_argument("--store", metavar="FILE", type=Read, help=words)
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    for name, run, words in (
        ("list", run_list, "one line per run, newest first"),
        ("show", run_show, "tree, numbers and certificate of a run"),
        ("export", run_export, "everything about a run as JSON"),
        ("delete", run_delete, "delete runs and the rows that no other run uses"),
    ):
        action = actions.add_parser(name, help=words)
        action.set_defaults(run=run)
        if name == "list":
            add_json(action, "the list")
        elif name == "delete":
            action.add_argument("ids", metavar="ID", nargs="+")
        else:
            action.add_argument("id", metavar="ID", help="its id, or the first characters of it")
        if name == "export":
            action.add_argument("--output", metavar="FILE.json", type=Written, default="-")
            help_rows = "with the rows it was trained on"
            action.add_argument("--rows", action="store_true", help=help_rows)


def _add_run(
    parser: argparse.ArgumentParser, metavar: str = "RUN"
) -> Callable[..., argparse.Action]:
    """Add what names a stored run; returns what adds further options."""
    words = "file of octcore solve --json or --model, of octcore runs export, or the id of a run "
    parser.add_argument("of", metavar=metavar, type=Read, help=words + "of the history")
    words = "the rows of the solve, where the file has none"
    parser.add_argument("--data", metavar="DATA.csv", type=Read, help=words)
    add_reading_options(parser)
    parser.set_defaults(target=None)  # the run names it
    parser.add_argument("--store", metavar="FILE", type=Read, help="file of the history")
    return parser.add_argument


def run_predict(arguments: argparse.Namespace) -> None:
    """Write the rows as read and ``prediction``, after it shares of the classes if asked."""
    model = load_model(arguments.model)
    needed = [column.source for column in model.needed]
    rows = read_table(source_of(arguments.data), names=needed)
    scored = score(model, rows.frame())
    for finding in (*rows.of_lines, *scored.warnings):
        print(f"octcore: {finding.message}", file=sys.stderr)
    table = scored.table(("prediction",))
    if arguments.proba:
        shares = model.shares_of(scored.leaves)
        for label, column in zip(model.classes, shares.T, strict=False):  # none asks a person
            table[fresh_name(f"probability of {label}", table.columns)] = scored.spread(column)
    write_text(arguments.output, frame_to_csv(table))


def run_verify(arguments: argparse.Namespace) -> int:
    """Verify one run and say what came out; a run of the history keeps it."""
    if not arguments.time_limit > 0:
        raise SettingsError("BAD_LIMIT", "--time-limit needs a positive number.", "time_limit")
    with output.ProgressLine("verifying"):
        if Path(arguments.of).is_file() or arguments.of.endswith(".json"):
            run = verified_record(*_run_of_file(arguments), arguments.time_limit)
        else:
            with history(arguments) as store:
                run_id = find_run(store, arguments.of).id
                run = verified(store.load(run_id), arguments.time_limit)
                store.replace_result(run_id, run)
    found = run.certificate.verification
    assert found is not None
    told = sys.stderr if found.verified is False else None
    write_result(arguments.json, found.to_dict, found.statement, told)
    return EXITS[found.verified]


def _whole_run(arguments: argparse.Namespace) -> Run:
    """A run with its rows, of a file or of the history."""
    if Path(arguments.of).is_file() or arguments.of.endswith(".json"):
        return _run_of_file(arguments)[0]
    with history(arguments) as store:
        run_id = find_run(store, arguments.of).id
        return bounded(store, run_id, store.load(run_id))


def run_model(arguments: argparse.Namespace) -> None:
    """Write the model of a run, or of a table for which `--target` is given, and say where."""
    if arguments.target is None and arguments.of.lower().endswith(".csv"):
        message = f"{arguments.of} is a table; name the column with its classes with --target."
        raise SettingsError("NO_TARGET", message, "target")
    if arguments.target is None:
        run = _whole_run(arguments)
    else:
        from octcore.solving.solve import solve  # the other commands need no solver

        data = read_csv(source_of(arguments.of), **read_options(arguments))
        run = solve(data, **{"time_limit": SECONDS, "verify": False, **solve_settings(arguments)})
    for path in run.write_model(arguments.output):
        print(path)


def run_make_report(arguments: argparse.Namespace) -> None:
    """Write the report of a run, as `octcore solve --report` does."""
    run = _whole_run(arguments)
    write_text(arguments.output, report_of(run if run.tree is None else run.needed))


def run_prove(arguments: argparse.Namespace) -> int:
    """Write a proof and say how large it is and what followed it."""
    run = _whole_run(arguments)
    checker, seconds = arguments.checker or arguments.check, arguments.time_limit
    with output.ProgressLine("writing the proof"):
        written = run.prove(arguments.output, arguments.size_limit, checker, time_limit=seconds)
    words = "not checked" if written.accepted_by is None else f"accepted by: {written.accepted_by}"
    words += f" in time ({seconds:g} s)" * written.is_late
    print(
        f"{written.folder}: no tree has an objective above {written.objective:.12g}; "
        f"{written.n_bytes:,} bytes; {words}"
    )
    return EXITS[None] if written.is_late else 0


def _run_of_file(arguments: argparse.Namespace) -> tuple[Run, Mapping[str, Any]]:
    """Read a run, or the claim of a model, joined with its rows, and what it was read from."""
    record = read_json(arguments.of)
    if not isinstance(record, Mapping):
        raise ModelFileError("NOT_A_RUN", f"{arguments.of} is no run and no model of octcore.")
    is_export = record.get("format") == "octcore-run-export"
    packed = record.get("rows") if is_export else None
    with read_in_words("BROKEN_RUN", arguments.of):
        events = [Event.from_dict(event) for event in record["events"]] if is_export else []
        if is_export:
            record = record["run"] or {}
        elif record.get("format") == MODEL_FORMAT:  # what it claims, in the form of a run
            kept = {name: record[name] for name in ("settings", "tree", "encoding", "classes")}
            claimed = {"format": "octcore-run", "version": 1, "timings": {}, "model_size": {}}
            record = {**record["summary"], **kept, **claimed}
        rows = _rows(arguments, record) if packed is None else unpack(base64.b64decode(packed))
        return read_back(record, rows, events), record


def _rows(arguments: argparse.Namespace, record: Mapping[str, Any]) -> Dataset:
    """Read the rows of a run from the file that is named, its columns meant as in the solve."""
    of_run = record["settings"]["data"]
    if not arguments.data:
        message = f"{arguments.of} holds no rows; name the file they came from "
        message += f"({of_run['name']}) with --data."
        raise SettingsError("NO_ROWS", message, "data")
    options = read_options(arguments)
    kinds = Encoding.from_dict(record["encoding"]).kinds
    options |= {"target": of_run["target"], "kinds": {**kinds, **(options["kinds"] or {})} or None}
    other = SettingsError(
        "OTHER_ROWS",
        f"{arguments.data} is read as other columns or classes than those of this run; give "
        "the options of the solve, such as --drop, --kind or --target-bins.",
        "data",
    )
    try:
        data = read_csv(arguments.data, **options)
    except DataError as error:
        raise (other if error.code == "UNKNOWN_COLUMN" else error) from None
    if of_run.get("sha256") and data.source.sha256 != of_run["sha256"]:
        message = f"{arguments.data} is not the file of this run ({of_run['name']}): other content."
        raise SettingsError("OTHER_ROWS", message, "data")
    same_columns = list(data.feature_names) == record["encoding"]["raw_features"]
    if not same_columns or list(data.classes) != list(record["classes"]):
        raise other
    return data


def run_list(arguments: argparse.Namespace) -> None:
    """Print the history."""
    infos: tuple[RunInfo, ...] = ()
    if arguments.store or default_path().exists():
        with history(arguments) as store:
            infos = as_known(store, store.list())
    lines = "\n".join(_line(info) for info in infos) or "There are no runs yet."
    write_result(arguments.json, lambda: jsonable(infos), lines)


def run_show(arguments: argparse.Namespace) -> None:
    """Print one run as `octcore solve` would."""
    with history(arguments) as store:
        info = find_run(store, arguments.id)
        run = bounded(store, info.id, store.load(info.id))
    print(f"{_line(info)}\n\n{run_report(run)}")


def run_export(arguments: argparse.Namespace) -> None:
    """Write one run with its events."""
    with history(arguments) as store:
        record = store.export(find_run(store, arguments.id).id, rows=arguments.rows)
    write_text(arguments.output, json_line(record))


def run_delete(arguments: argparse.Namespace) -> None:
    """Delete runs; all of them are looked up before the first one goes."""
    with history(arguments) as store:
        found = [find_run(store, text) for text in arguments.ids]
        for info in found:
            store.delete(info.id)
            print(f"deleted {info.id[:SHORT_ID]}  {info.name}")


@contextlib.contextmanager
def history(arguments: argparse.Namespace) -> Iterator[RunStore]:
    """Open the history; one that does not exist is not made by looking at it."""
    path = Path(arguments.store) if arguments.store else default_path()
    if not path.exists():
        of = vars(arguments).get("of")  # a file that is not there was perhaps meant
        words = f"{of} is no file, and there" if of else "There"
        raise StoreError("NO_HISTORY", f"{words} is no history of runs in {path}.")
    store = RunStore(path)
    try:
        yield store
    finally:
        store.close()


def find_run(store: RunStore, text: str) -> RunInfo:
    """Find the one run whose id begins with a text."""
    found = [info for info in store.list() if info.id.startswith(text)]
    if len(found) != 1:
        many = f"{len(found)} runs begin" if found else "No run begins"
        raise StoreError("NO_SUCH_RUN", f"{many} with {text[:40]!r}; see octcore runs list.")
    return found[0]


def _line(info: RunInfo) -> str:
    try:
        when = datetime.fromtimestamp(info.created).strftime("%Y-%m-%d %H:%M")
    except (OverflowError, ValueError, OSError):  # no date: a damaged file still tells its runs
        when = f"{'no date':<16}"
    accuracy = info.summary.get("accuracy")
    shown = "-" if accuracy is None else percent(accuracy, 2).replace(" ", "")
    return f"{info.id[:SHORT_ID]}  {when}  {info.state:<11}  {shown:>7}  {info.name}"
