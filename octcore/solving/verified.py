"""A run with its verification: after a solve by itself, later at a wish."""

import hashlib
import json
import logging
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from octcore.data.serial import default_path, jsonable, write_file
from octcore.solving.run import Run
from octcore.verification import Verdict, Verification, verify

AUTOMATIC_ESTIMATE = 1.5
"""Seconds that a check may be expected to take to be done without being asked for."""
AUTOMATIC_LIMIT, AUTOMATIC_MEMORY = 5.0, 300e6
"""Seconds of CPU and bytes that a check may take without being asked for."""
logger = logging.getLogger(__name__)


def verified(
    run: Run,
    time_limit: float = 60.0,
    cancel: Callable[[], bool] | None = None,
    expected: float | None = None,
    memory_limit: float | None = None,
) -> Run:
    """Return the run with what an independent check says; a refuted case is kept in a file.

    Limits as for `octcore.verify`.
    """
    try:
        found = verify(run, time_limit, cancel, expected, memory_limit)
    except Exception as defect:  # a defect of the check must not cost the run
        logger.warning("A verification failed.", exc_info=True)
        words = f"not verified: the check itself failed ({type(defect).__name__}: {defect})"
        found = Verification(Verdict.NOT_VERIFIED, f"{words}; please report this")
    return _with_case(run, found)


def _with_case(run: Run, found: Verification) -> Run:
    """Keep the case of a refuted run."""
    if found.verified is False and found.case is None:
        try:
            case = str(keep_case(run))
            note = f"the case is kept in {case}, please report it"
        except OSError as error:
            case, note = None, f"the case could not be kept: {error.strerror}"
        found = replace(found, case=case, statement=f"{found.statement}; {note}")
    return run.with_verification(found)


def verified_record(run: Run, record: Mapping[str, Any], time_limit: float = 60.0) -> Run:
    """Return the run of a record as `verified` does, if all of the record follows from it.

    What a record says was verified counts for nothing: anybody may have written it.
    """
    if run.certificate.verified:
        run = replace(run, certificate=replace(run.certificate, verification=None))
    again = run.to_dict()
    for name in again.keys() - {"certificate", "versions"}:
        if _differs(record.get(name), again[name]):
            words = f"refuted: {name} does not follow from the rest of the run"
            return _with_case(run, Verification(Verdict.REFUTED, words))
    return verified(run, time_limit)


def _differs(said: Any, derived: Any) -> bool:
    """Whether plain data differ in what both have."""
    if isinstance(said, Mapping) and isinstance(derived, Mapping):
        return any(_differs(said[name], derived[name]) for name in said.keys() & derived.keys())
    if isinstance(said, list) and isinstance(derived, list):
        return len(said) != len(derived) or any(map(_differs, said, derived))
    return said is not None and said != derived


def after_solve(run: Run, cancel: Callable[[], bool]) -> Run:
    """Verify a run where that is quick."""
    if cancel():
        return run
    return verified(run, AUTOMATIC_LIMIT, cancel, AUTOMATIC_ESTIMATE, AUTOMATIC_MEMORY)


def keep_case(run: Run) -> Path:
    """Write a refuted run and its rows beside the history; returns the file."""
    record = {"format": "octcore-refuted-case", "version": 1, "run": run.to_dict()}
    if run.train is not None and run.train.y is not None:
        record["rows"] = run.train.frame.to_dict("list")
        record["target"] = [run.train.classes[int(k)] for k in run.train.y]
    text = json.dumps(jsonable(record), allow_nan=False)
    folder = default_path().parent
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"refuted-{hashlib.sha256(text.encode()).hexdigest()[:12]}.json"
    write_file(path, text)
    return path
