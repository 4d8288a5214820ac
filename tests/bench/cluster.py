"""Wall time of one tuning and one bench suite: alone, in two processes, on two Dask workers.

``python -m tests.bench.cluster [FOLDER]`` prints a Markdown table; the folder holds the data of the
suite, laid out as ``octcore/bench/README.md`` says, and without it only the tuning is timed.  All
workers are warmed up first, so that neither their start nor compiling counts.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from distributed import Client, LocalCluster
from joblib import Parallel, delayed

import octcore
from octcore.bench.runner import in_this_process, run_suite
from octcore.bench.suite import get_suite, pick

WAYS: dict[str, tuple[int, str | None]] = {
    "one process": (1, None),
    "joblib, two processes": (2, "loky"),
    "Dask, two workers": (-1, "dask"),
}
KEY, GRID = "bend-oct", {"leaf_penalty": [0.01, 0.02, 0.05]}
CASES, LIMIT = 12, 10.0


def tuning(n_jobs: int, backend: str | None) -> Any:
    """Five folds, three prices and a final training; seconds each."""
    data = octcore.load_sample("hayes-roth")
    return octcore.tune(data, KEY, GRID, depth=2, time_limit=60, n_jobs=n_jobs, backend=backend)


def suite(folder: Path, backend: str | None) -> Any:
    """Solve some cases of the suite of accelerated BendOCT."""
    found = get_suite("accelerated")
    chosen = pick(found.instances(folder, found.studies[0], found.formulations), CASES)
    return run_suite(found.key, chosen, LIMIT, solver=in_this_process, backend=backend)


def warm(seconds: float) -> None:
    """Load the libraries of the solves; long enough that every worker takes one."""
    octcore.solve(octcore.load_sample("hayes-roth"), KEY, depth=1, time_limit=60)
    time.sleep(seconds)


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    """Wall-clock seconds and the result."""
    start = time.perf_counter()
    result = work()
    return time.perf_counter() - start, result


def main(folder: Path | None) -> None:
    """Print the table; every way must choose the same, and prove the same optima."""
    print("| way | tune, s | bench suite, s |\n|---|---|---|")
    chosen, proven = set(), {}
    cluster = LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None)
    with cluster, Client(cluster) as client:
        client.run(warm, 0.0)
        Parallel(n_jobs=2)(delayed(warm)(2.0) for _ in range(2))
        warm(0.0)
        for name, (n_jobs, backend) in WAYS.items():
            spent, result = timed(lambda n=n_jobs, b=backend: tuning(n, b))
            chosen.add(result.chosen)
            cells = [f"{spent:.1f}"]
            if folder is not None:
                spent, lines = timed(lambda b=backend: suite(folder, b))
                optimal = [line for line in lines if line.status == "optimal"]
                for line in optimal:
                    known = proven.setdefault(line.key, line.objective)
                    assert abs(known - line.objective) < 1e-9, line.key
                cells.append(f"{spent:.1f} ({len(optimal)} of {len(lines)} proven)")
            print(f"| {name} | {' | '.join(cells)} |", flush=True)
    assert len(chosen) == 1, chosen


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else None)
