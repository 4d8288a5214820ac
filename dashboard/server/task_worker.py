"""Child process for longer work than one solve: tuning, paths over sizes or encodings, selections.

Started with ``python -m dashboard.server.task_worker``; it speaks the protocol of `octcore.worker`:
one request line, then messages of kind ``progress`` with a ``part`` each, and ``done`` with the
``result``.  The end of its input ends it, so it never outlives the server.
"""

from __future__ import annotations

import base64
import json
import os
import time
import traceback
from collections.abc import Callable, Mapping
from typing import Any

from octcore.errors import OctError
from octcore.worker.channel import Channel, Inbox, Watch
from octcore.worker.protocol import PROTOCOL, error_fields

Tell = Callable[[Mapping[str, Any]], None]
Cancelled = Callable[[], bool]


def main() -> None:
    """Serve one request and end the process."""
    channel = Channel()
    channel.send("hello", pid=os.getpid(), protocol=PROTOCOL)
    inbox, watch = Inbox(), Watch(channel)
    try:
        request = json.loads(inbox.request())
        channel.send("warming", what="importing libraries")
        work = TASKS[str(request["task"])]
        watch.limit_memory(None)
        from octcore.data.packing import unpack

        data = unpack(base64.b64decode(request["data"]))
        channel.send("ready")
        result = work(
            data,
            request["settings"],
            lambda part: channel.send("progress", part=dict(part)),
            inbox.cancel.is_set,
        )
        channel.send("done", result=result)
    except OctError as error:
        channel.end(1, **error_fields(error))
    except BaseException as error:
        traceback.print_exc()
        channel.end(1, **error_fields(error))
    # Without the interpreter's own shutdown: threads of native libraries may hang in it.
    os._exit(0)


def run_path(
    data: Any, settings: Mapping[str, Any], tell: Tell, cancel: Cancelled
) -> dict[str, Any]:
    """Compute the optimal tree of every size."""
    from octcore.selection.penalty_path import penalty_path

    return {"path": penalty_path(data, cancel=cancel, **settings).to_dict()}


def run_tune(
    data: Any, settings: Mapping[str, Any], tell: Tell, cancel: Cancelled
) -> dict[str, Any]:
    """Choose hyperparameters by cross-validation; every training is told at once."""
    from octcore.selection.tuning import Fit, tune
    from octcore.serial import jsonable

    def told(fit: Fit, done: int, total: int) -> None:
        record = {**vars(fit), "candidate": dict(fit.candidate)}
        tell({"fit": jsonable(record), "done": done, "total": total})

    result = tune(data, on_fit=told, cancel=cancel, **settings)
    # The final trees would be megabytes; the splits, seed and settings say how to repeat them.
    return {key: value for key, value in result.to_dict().items() if key != "runs"}


def run_select(
    data: Any, settings: Mapping[str, Any], tell: Tell, cancel: Cancelled
) -> dict[str, Any]:
    """Select rows to train on."""
    from octcore.selection.data_selection import select_rows

    begin = time.perf_counter()
    found = select_rows(data, cancel=cancel, **settings)
    return {
        "rows": [int(row) for row in found.rows],
        "n_samples": found.n_samples,
        "clusters": len(found.clusters),
        "seconds": time.perf_counter() - begin,
    }


def run_verify(
    data: Any, settings: Mapping[str, Any], tell: Tell, cancel: Cancelled
) -> dict[str, Any]:
    """Derive the optimum of a run again; the data are its training rows."""
    from octcore.solving.run import Run
    from octcore.solving.verified import verified

    run = Run.from_dict(settings["run"], train=data)
    found = verified(run, settings["time_limit"], cancel).certificate.verification
    return {"verification": None if found is None else found.to_dict()}


def run_alternatives(
    data: Any, settings: Mapping[str, Any], tell: Tell, cancel: Cancelled
) -> dict[str, Any]:
    """Count the near-optimal trees, and describe those that meet the conditions."""
    from octcore.selection.alternatives import alternatives
    from octcore.selection.near_optimal import near_optimal

    found = near_optimal(data, cancel=cancel, **settings["search"])
    return {"alternatives": alternatives(found, **settings["conditions"]).to_dict()}


def run_binarization(
    data: Any, settings: Mapping[str, Any], tell: Tell, cancel: Cancelled
) -> dict[str, Any]:
    """Solve on coarser and finer thresholds; every point is told at once, so a stop keeps it."""
    from octcore.selection.binarization import BinarizationPoint, binarization_path
    from octcore.serial import jsonable

    def told(point: BinarizationPoint, done: int, total: int) -> None:
        tell({"point": jsonable(vars(point)), "done": done, "total": total})

    path = binarization_path(data, on_point=told, cancel=cancel, **settings)
    return {"is_complete": path.is_complete}


TASKS: dict[str, Callable[[Any, Mapping[str, Any], Tell, Cancelled], dict[str, Any]]] = {
    "alternatives": run_alternatives,
    "binarization": run_binarization,
    "path": run_path,
    "select": run_select,
    "tune": run_tune,
    "verify": run_verify,
}


if __name__ == "__main__":
    main()
