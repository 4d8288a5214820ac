"""`octcore runs`: the history of the app, read back without a solver."""

from __future__ import annotations

import argparse
import contextlib
import json
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

from octcore.cli.output import write_text
from octcore.errors import StoreError
from octcore.solving.report import run_report
from octcore.store import RunInfo, RunStore, default_path

SHORT_ID = 8


def add_commands(commands: Any) -> None:
    """Add the command with its four actions."""
    parser = commands.add_parser("runs")
    parser.add_argument(
        "--store", metavar="FILE", help="file of the history; by default that of the app"
    )
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    listing = actions.add_parser("list", help="one line per run, newest first")
    listing.add_argument("--json", metavar="FILE|-", help="write the list as JSON")
    listing.set_defaults(run=run_list)
    show = actions.add_parser("show", help="tree, numbers and certificate of a run")
    show.set_defaults(run=run_show)
    export = actions.add_parser("export", help="everything about a run as JSON")
    export.add_argument("--output", metavar="FILE.json", default="-")
    export.add_argument("--rows", action="store_true", help="with the rows it was trained on")
    export.set_defaults(run=run_export)
    delete = actions.add_parser("delete", help="delete runs and the rows that no other run uses")
    delete.set_defaults(run=run_delete)
    for parser_of_one in (show, export):
        parser_of_one.add_argument("id", metavar="ID", help="its id, or the first characters of it")
    delete.add_argument("ids", metavar="ID", nargs="+")


def run_list(arguments: argparse.Namespace) -> int:
    """Print the history."""
    with history(arguments) as store:
        infos = store.list()
    if arguments.json:
        records = [{name: _plain(value) for name, value in vars(info).items()} for info in infos]
        write_text(arguments.json, json.dumps(records, allow_nan=False) + "\n")
    if arguments.json != "-":
        print("\n".join(_line(info) for info in infos) or "There are no runs yet.")
    return 0


def run_show(arguments: argparse.Namespace) -> int:
    """Print one run as `octcore solve` would."""
    with history(arguments) as store:
        info = find_run(store, arguments.id)
        run = store.load(info.id)
    print(f"{_line(info)}\n\n{run_report(run)}")
    return 0


def run_export(arguments: argparse.Namespace) -> int:
    """Write one run with its events."""
    with history(arguments) as store:
        record = store.export(find_run(store, arguments.id).id, rows=arguments.rows)
    write_text(arguments.output, json.dumps(record, allow_nan=False) + "\n")
    return 0


def run_delete(arguments: argparse.Namespace) -> int:
    """Delete runs; all of them are looked up before the first one goes."""
    with history(arguments) as store:
        found = [find_run(store, text) for text in arguments.ids]
        for info in found:
            store.delete(info.id)
            print(f"deleted {info.id[:SHORT_ID]}  {info.name}")
    return 0


@contextlib.contextmanager
def history(arguments: argparse.Namespace) -> Iterator[RunStore]:
    """Open the history; one that does not exist is not made by looking at it."""
    path = Path(arguments.store) if arguments.store else default_path()
    if not path.exists():
        raise StoreError("NO_HISTORY", f"There is no history of runs in {path}.")
    store = RunStore(path)
    try:
        yield store
    finally:
        store.close()


def find_run(store: RunStore, text: str) -> RunInfo:
    """Find the run whose id begins with a text.

    Raises
    ------
    StoreError
        If there is none, or more than one.
    """
    found = [info for info in store.list() if info.id.startswith(text)]
    if len(found) != 1:
        many = f"{len(found)} runs begin" if found else "No run begins"
        raise StoreError("NO_SUCH_RUN", f"{many} with {text[:40]!r}; see octcore runs list.")
    return found[0]


def _line(info: RunInfo) -> str:
    when = datetime.fromtimestamp(info.created).strftime("%Y-%m-%d %H:%M")
    accuracy = info.summary.get("accuracy")
    shown = "-" if accuracy is None else f"{accuracy:.2%}"
    return f"{info.id[:SHORT_ID]}  {when}  {info.state.value:<11}  {shown:>7}  {info.name}"


def _plain(value: Any) -> Any:
    return dict(value) if hasattr(value, "items") else value
