"""Processor seconds of the search over all thresholds and of ConTree, in turn in one process.

``python -m tests.bench.threshold_times [--output FILE] [--limit S] [CASE...]``, and again to
resume; a case is ``set:depth``, by default every row of the table of the suite `thresholds`.  A
call is repeated for about a second and the median kept, so that milliseconds can be compared: the
suite itself measures whole solves in new processes.  Loading libraries and kernels is not counted.
"""

from __future__ import annotations

import argparse
import csv
import math
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from octcore.bench.data_files import data_folder
from octcore.bench.suites.thresholds import TABLE, loader
from octcore.numerics import kernels
from octcore.search.univariate.question import Question as Asked
from octcore.search.univariate.search import answer
from octcore.search.univariate.warm_up import ALL
from tests.bench.rivals.programs import Question, contree, route

FIELDS: tuple[str, ...] = (
    "set", "depth", "rows", "columns", "least", "errors", "status", "seconds",
    "contree_errors", "contree_proven", "contree_seconds", "ratio",
)  # fmt: skip
REPEATED_SECONDS, MOST_CALLS = 1.0, 15


def timed(call: Callable[[], Any], own: Callable[[Any], float] | None = None) -> tuple[Any, float]:
    """Answer of a call, and the median of its processor seconds.

    `own`: seconds that count, by an answer that knows them.
    """
    seconds: list[float] = []
    answer = None
    while not seconds or (sum(seconds) < REPEATED_SECONDS and len(seconds) < MOST_CALLS):
        begin = time.process_time()
        answer = call()
        seconds.append(own(answer) if own else time.process_time() - begin)
    return answer, statistics.median(seconds)


def measure(folder: Path, name: str, depth: int, least: int, limit: float) -> dict[str, object]:
    """One line: ours and ConTree's on a set, without a price of leaves."""
    data = loader(folder, name)()
    X, y = np.ascontiguousarray(data.frame.to_numpy(float)), np.asarray(data.codes)
    asked = Asked(X, y, data.n_classes, depth)
    kernels.require(*ALL)
    ours, seconds = timed(lambda: answer(asked, time_limit=limit))
    question = Question(X, y, depth, 0.0, limit)
    theirs, their_seconds = timed(lambda: contree(question))
    return {
        "set": name,
        "depth": depth,
        "rows": len(y),
        "columns": X.shape[1],
        "least": least,
        "errors": int((ours.tree.predict_codes(X) != y).sum()),
        "status": ours.status,
        "seconds": round(seconds, 5),
        "contree_errors": int((route(theirs.tree, X) != y).sum()),
        "contree_proven": int(theirs.proven),
        "contree_seconds": round(their_seconds, 5),
        "ratio": round(their_seconds / seconds, 2),
    }


def summary(lines: list[dict[str, str]]) -> str:
    """Geometric means of the ratios by depth, and what is slower above ten milliseconds."""
    words = []
    for depth in ("2", "3", "4", None):
        ratios = [float(x["ratio"]) for x in lines if depth in (None, x["depth"])]
        if ratios:
            mean = math.exp(statistics.fmean(math.log(r) for r in ratios))
            words.append(f"{f'depth {depth}' if depth else 'all'}: {mean:.2f} ({len(ratios)} rows)")
    slower = [x for x in lines if float(x["ratio"]) < 1 and float(x["seconds"]) > 0.01]
    wrong = [x for x in lines if x["status"] == "optimal" and x["errors"] != x["least"]]
    unproven = sum(x["contree_proven"] == "0" for x in lines)
    words.append(f"slower above 10 ms: {[(x['set'], x['depth']) for x in slower]}")
    words.append(f"other optima than the table: {len(wrong)}; ConTree at the limit: {unproven}")
    return "\n".join(words)


def main(arguments: list[str] | None = None) -> int:
    """Measure what the output does not have yet, and say what it amounts to."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.bench.threshold_times", description=__doc__
    )
    parser.add_argument("--data")
    parser.add_argument("--output", type=Path, default=Path("threshold-times.csv"))
    parser.add_argument("--limit", type=float, default=120.0, help="seconds of one call")
    parser.add_argument("cases", nargs="*", metavar="CASE")
    asked = parser.parse_args(arguments)
    folder = data_folder(asked.data)
    with (folder / TABLE).open(encoding="utf-8", newline="") as stream:
        table = [(r["dataset"], int(r["depth"]), int(r["errors"])) for r in csv.DictReader(stream)]
    done = read_lines(asked.output)
    known = {(line["set"], int(line["depth"])) for line in done}
    with asked.output.open("a", encoding="utf-8", newline="") as stream:
        writer = csv.DictWriter(stream, FIELDS)
        if not done:
            writer.writeheader()
        for name, depth, least in sorted(table, key=lambda row: row[1]):
            if (name, depth) in known or (asked.cases and f"{name}:{depth}" not in asked.cases):
                continue
            writer.writerow(measure(folder, name, depth, least, asked.limit))
            stream.flush()
    print(summary(read_lines(asked.output)))
    return 0


def read_lines(path: Path) -> list[dict[str, str]]:
    """Lines that an output has so far."""
    if not path.exists():
        return []
    with path.open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


if __name__ == "__main__":
    sys.exit(main())
