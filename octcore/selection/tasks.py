"""What a worker can do beside a solve: tuning, paths over sizes or encodings, selections.

Every task gets the rows, its settings, a function that tells a part at once, and one that says
whether to stop; it returns its whole result.  Both become plain values (`TASKS`).  Libraries are
imported on demand.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from octcore.data.dataset import Dataset
from octcore.data.serial import jsonable

if TYPE_CHECKING:
    from octcore.selection.near_optimal import NearOptimalTrees
    from octcore.solving.run import Run

Settings = Mapping[str, Any]
Result = dict[str, Any]
Tell = Callable[[Mapping[str, Any]], None]
Cancelled = Callable[[], bool]
Task = Callable[[Dataset, Settings, Tell, Cancelled], Result]


def _run_of(data: Dataset, settings: Settings) -> Run:
    """The run that a task is about; the data are its training rows."""
    from octcore.solving.run import Run

    return Run.from_dict(settings["run"], train=data)


def _good_trees(data: Dataset, settings: Settings, cancel: Cancelled) -> NearOptimalTrees:
    from octcore.selection.near_optimal import near_optimal

    return near_optimal(data, cancel=cancel, **settings["search"])


def _telling_points(tell: Tell) -> Callable[[Any, int, int], None]:
    return lambda point, done, total: tell({"point": point, "done": done, "total": total})


def run_path(data: Dataset, settings: Settings, tell: Tell, cancel: Cancelled) -> Result:
    """Compute the optimal tree of every size."""
    from octcore.selection.penalty_path import penalty_path

    return {"path": penalty_path(data, cancel=cancel, **settings)}


def run_tune(data: Dataset, settings: Settings, tell: Tell, cancel: Cancelled) -> Result:
    """Choose hyperparameters by cross-validation; every training is told at once."""
    from octcore.selection.tuning import Fit, tune

    def told(fit: Fit, done: int, total: int) -> None:
        record = {**vars(fit), "candidate": dict(fit.candidate)}
        tell({"fit": record, "done": done, "total": total})

    result = tune(data, on_fit=told, cancel=cancel, **settings)
    # The final trees would be megabytes; the splits, seed and settings say how to repeat them.
    return {key: value for key, value in result.to_dict().items() if key != "runs"}


def run_select(data: Dataset, settings: Settings, tell: Tell, cancel: Cancelled) -> Result:
    """Select rows to train on."""
    from octcore.selection.selected_training import select_rows

    begin = time.perf_counter()
    found = select_rows(data, cancel=cancel, **settings)
    return {
        "rows": [int(row) for row in found.rows],
        "n_samples": found.n_samples,
        "clusters": len(found.clusters),
        "seconds": time.perf_counter() - begin,
    }


def run_verify(data: Dataset, settings: Settings, tell: Tell, cancel: Cancelled) -> Result:
    """Derive the optimum of a run again; the data are its training rows."""
    from octcore.solving.verified import verified

    run = verified(_run_of(data, settings), settings["time_limit"], cancel)
    return {"verification": run.certificate.verification}


def run_alternatives(data: Dataset, settings: Settings, tell: Tell, cancel: Cancelled) -> Result:
    """Count the near-optimal trees, and describe those that meet the conditions."""
    from octcore.selection.alternatives import alternatives

    found = _good_trees(data, settings, cancel)
    return {"alternatives": alternatives(found, **settings["conditions"])}


def run_shapes(data: Dataset, settings: Settings, tell: Tell, cancel: Cancelled) -> Result:
    """Count the near-optimal trees that meet the conditions by shape."""
    from octcore.selection.alternatives import shape_lines

    found = _good_trees(data, settings, cancel)
    number, lines = shape_lines(found.restrict(**settings["conditions"]))
    return {"number": number, "lines": lines}


def run_binarization(data: Dataset, settings: Settings, tell: Tell, cancel: Cancelled) -> Result:
    """Solve on coarser and finer thresholds; every point is told at once, so a stop keeps it."""
    from octcore.selection.binarization import binarization_path

    path = binarization_path(data, on_point=_telling_points(tell), cancel=cancel, **settings)
    return {"is_complete": path.is_complete}


def run_refer(data: Dataset, settings: Settings, tell: Tell, cancel: Cancelled) -> Result:
    """Solve at several prices of asking a person; every point is told at once."""
    from octcore.selection.refer_path import refer_path

    points = refer_path(data, on_point=_telling_points(tell), cancel=cancel, **settings)
    return {"points": points}


def run_repeats(data: Dataset, settings: Settings, tell: Tell, cancel: Cancelled) -> Result:
    """Judge the trees of further random splits on their held-out rows; every split is told."""
    from octcore.selection.repeated_splits import repeated_splits

    found = repeated_splits(
        data, on_split=lambda split: tell({"split": split}), cancel=cancel, **settings
    )
    return {"n_splits": len(found)}


def run_splits(data: Dataset, settings: Settings, tell: Tell, cancel: Cancelled) -> Result:
    """Train by one plan on further random splits; every run is told by its accuracies."""
    from octcore.selection.fits import repetitions
    from octcore.solving.solve import solve

    for plan in repetitions(data, settings["plan"], settings["repeats"]):
        run = solve(data, cancel=cancel, **plan)
        if cancel():
            break  # such a run says nothing of the plan
        tell({"training": run.accuracy, "held_out": run.test_accuracy})
    return {}


def run_curve(data: Dataset, settings: Settings, tell: Tell, cancel: Cancelled) -> Result:
    """Value every threshold of a column at a node of a run; the data are its training rows."""
    asked = (settings["column"], settings["time_limit"], cancel, settings["node"])
    return {"points": _run_of(data, settings).curve(*asked)}


def run_values(data: Dataset, settings: Settings, tell: Tell, cancel: Cancelled) -> Result:
    """Value every column at a node of a run; the data are its training rows."""
    run = _run_of(data, settings)
    return {"values": run.values(settings["time_limit"], cancel, settings["node"])}


def run_prove(data: Dataset, settings: Settings, tell: Tell, cancel: Cancelled) -> Result:
    """Write the proof of a run, follow it, and pack its files; the data are its training rows."""
    import base64
    import io
    import tempfile
    import zipfile
    from pathlib import Path

    run, packed = _run_of(data, settings), io.BytesIO()
    with tempfile.TemporaryDirectory() as folder:
        written = run.prove(folder, size_limit=settings["size_limit"], check=True, cancel=cancel)
        with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as files:
            for path in sorted(Path(folder).iterdir()):
                files.write(path, f"proof/{path.name}")
    zipped = base64.b64encode(packed.getvalue()).decode()
    return {"zip": zipped, "objective": written.objective, "is_late": written.is_late}


def run_excluded(data: Dataset, settings: Settings, tell: Tell, cancel: Cancelled) -> Result:
    """Solve, and tell the proof by the cuts at the root."""
    from octcore.solving.proving import excluded_cuts
    from octcore.solving.solve import solve

    run = solve(data, cancel=cancel, **settings)
    cost, cuts = excluded_cuts(run, cancel)
    return {"run": run, "cost": cost, "cuts": cuts}


def _told_plainly(task: Task) -> Task:
    """A task whose parts and result are plain values."""

    def plain(data: Dataset, settings: Settings, tell: Tell, cancel: Cancelled) -> Result:
        return jsonable(task(data, settings, lambda part: tell(jsonable(part)), cancel))

    return plain


TASKS: dict[str, Task] = {
    name.removeprefix("run_"): _told_plainly(task)
    for name, task in list(globals().items())
    if name.startswith("run_")
}
"""All functions above that are called ``run_`` something, by that."""
