"""`octcore verify` and `octcore prove`: a stored run derived again, or written as a proof."""

from __future__ import annotations

import argparse
import base64
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from octcore.cli.options import add_reading_options, read_options
from octcore.cli.output import write_text
from octcore.cli.runs import find_run, history
from octcore.data.dataset import Dataset
from octcore.data.packing import unpack
from octcore.data.reading import read_csv
from octcore.encoding.base import Encoding
from octcore.errors import ModelFileError, OctError, SettingsError
from octcore.models.file import FORMAT as MODEL_FORMAT
from octcore.serial import read_json
from octcore.solving.recover import read_back
from octcore.solving.run import Run
from octcore.solving.verified import verified, verified_record

EXIT_CONFIRMED, EXIT_REFUTED, EXIT_NO_VERDICT = 0, 1, 3


def add_commands(commands: Any) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "verify",
        epilog="Exit 0: confirmed, 1: refuted, 2: wrong input, 3: not verified (too large, or no "
        "independent check exists).",
    )
    _add_run(parser)
    parser.add_argument("--time-limit", metavar="S", type=float, default=60.0)
    parser.add_argument("--json", metavar="FILE|-", help="write the verification as JSON")
    parser.set_defaults(run=run_verify)
    parser = commands.add_parser("prove")
    _add_run(parser)
    parser.add_argument(
        "--output", metavar="FOLDER", required=True, help="gets tree.opb, tree.pbp and README"
    )
    parser.add_argument(
        "--size-limit", metavar="BYTES", type=float, default=200e6, help="of the files (200e6)"
    )
    parser.add_argument(
        "--check", action="store_true", help="follow the proof with the checker of the package"
    )
    parser.set_defaults(run=run_prove)


def _add_run(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "of",
        metavar="RUN",
        help="file of octcore solve --json or --model, of octcore runs export, or the id of a run "
        "of the history",
    )
    parser.add_argument(
        "--data", metavar="DATA.csv", help="the rows of the solve, where the file has none"
    )
    add_reading_options(parser)
    parser.set_defaults(target=None)  # the run names it
    parser.add_argument("--store", metavar="FILE", help="file of the history")


def run_verify(arguments: argparse.Namespace) -> int:
    """Verify one run and say what came out; a run of the history keeps it."""
    if not arguments.time_limit > 0:
        raise SettingsError("BAD_LIMIT", "--time-limit needs a positive number.", "time_limit")
    if Path(arguments.of).is_file() or arguments.of.endswith(".json"):
        run = verified_record(*_run_of_file(arguments), arguments.time_limit)
    else:
        with history(arguments) as store:
            run_id = find_run(store, arguments.of).id
            run = verified(store.load(run_id), arguments.time_limit)
            store.replace_result(run_id, run)
    found = run.certificate.verification
    assert found is not None
    if arguments.json:
        write_text(arguments.json, json.dumps(found.to_dict(), allow_nan=False) + "\n")
    if arguments.json != "-":
        print(found.statement, file=sys.stderr if found.verified is False else sys.stdout)
    exits = {True: EXIT_CONFIRMED, False: EXIT_REFUTED, None: EXIT_NO_VERDICT}
    return exits[found.verified]


def run_prove(arguments: argparse.Namespace) -> int:
    """Write a proof and say how large it is and what followed it."""
    if Path(arguments.of).is_file() or arguments.of.endswith(".json"):
        run, _ = _run_of_file(arguments)
    else:
        with history(arguments) as store:
            run = store.load(find_run(store, arguments.of).id)
    written = run.prove(arguments.output, arguments.size_limit, arguments.check)
    words = "not checked" if written.accepted_by is None else f"accepted by: {written.accepted_by}"
    print(
        f"{written.folder}: no tree has an objective above {written.objective:.9g}; "
        f"{written.n_bytes:,} bytes; {words}"
    )
    return 0


def _run_of_file(arguments: argparse.Namespace) -> tuple[Run, Mapping[str, Any]]:
    """Read a run, or the claim of a model, joined with its rows, and what it was read from."""
    record = read_json(arguments.of)
    if not isinstance(record, Mapping):
        raise ModelFileError("NOT_A_RUN", f"{arguments.of} is no run and no model of octcore.")
    packed = record.get("rows") if record.get("format") == "octcore-run-export" else None
    try:
        if record.get("format") == "octcore-run-export":
            record = record["run"] or {}
        elif record.get("format") == MODEL_FORMAT:
            record = _claim_of_model(record)
        rows = _rows(arguments, record) if packed is None else unpack(base64.b64decode(packed))
        return read_back(record, rows, ()), record
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        if isinstance(error, OctError):
            raise
        raise ModelFileError(
            "BROKEN_RUN", f"{arguments.of} cannot be read as a run: {error}."
        ) from error


def _claim_of_model(record: Mapping[str, Any]) -> dict[str, Any]:
    """Write what a model file claims in the form of a run."""
    summary = record["summary"]
    kept = ("settings", "tree", "encoding", "classes")
    return {
        **summary,
        **{name: record[name] for name in kept},
        "format": "octcore-run",
        "version": 1,
        "timings": {},
        "model_size": {},
    }


def _rows(arguments: argparse.Namespace, record: Mapping[str, Any]) -> Dataset:
    """Read the rows of a run from the file that is named, its columns meant as in the solve.

    Raises
    ------
    SettingsError
        If none is named, or it is another file than that of the run.
    """
    of_run = record["settings"]["data"]
    if not arguments.data:
        raise SettingsError(
            "NO_ROWS",
            f"{arguments.of} holds no rows; name the file they came from "
            f"({of_run['name']}) with --data.",
            "data",
        )
    options = read_options(arguments)
    kinds = Encoding.from_dict(record["encoding"]).kinds
    options |= {"target": of_run["target"], "kinds": {**kinds, **(options["kinds"] or {})} or None}
    data = read_csv(arguments.data, **options)
    if of_run.get("sha256") and data.source.sha256 != of_run["sha256"]:
        raise SettingsError(
            "OTHER_ROWS",
            f"{arguments.data} is not the file of this run ({of_run['name']}): other content.",
            "data",
        )
    same_columns = list(data.feature_names) == record["encoding"]["raw_features"]
    if not same_columns or list(data.classes) != list(record["classes"]):
        raise SettingsError(
            "OTHER_ROWS",
            f"{arguments.data} is read as other columns or classes than those of this run; give "
            "the options of the solve, such as --drop or --target-bins.",
            "data",
        )
    return data
