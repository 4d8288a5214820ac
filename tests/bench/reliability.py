"""Measure reliability with real kills: one line of a Markdown table for every figure.

``python tests/bench/reliability.py NAME [--times N]``; ``all`` runs everything in full length,
about an hour and a half on two quiet cores.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.bench import app_loops, input_loops, worker_loops
from tests.bench.figures import HEADER, Figure

FULL: dict[str, tuple[Callable[[int], list[Figure]], int]] = {
    "start": (worker_loops.start, 5),
    "limit": (worker_loops.limit, 5),
    "stop": (worker_loops.stop, 100),
    "deaths": (worker_loops.deaths, 20),
    "writers": (worker_loops.writers, 60),
    "server": (app_loops.server, 50),
    "load": (app_loops.load, 400),
    "soak": (app_loops.soak, 200),
    "files": (input_loops.files, 1),
    "mutations": (input_loops.mutations, 2000),
    "checks": (input_loops.checks, 1),
}


def main() -> None:
    """Run one measurement, or all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="+", choices=[*FULL, "all"], metavar="NAME")
    parser.add_argument("--times", type=int, help="repetitions; by default the full number")
    arguments = parser.parse_args()
    names = list(FULL) if "all" in arguments.names else arguments.names
    print(HEADER, flush=True)
    missed = 0
    for name in names:
        measure, times = FULL[name]
        began = time.monotonic()
        for figure in measure(arguments.times or times):
            print(figure.line(), flush=True)
            missed += not figure.holds
        seconds, load = time.monotonic() - began, os.getloadavg()[0]
        print(f"{name}: {seconds:.0f} s, load {load:.1f}", file=sys.stderr, flush=True)
    sys.exit(1 if missed else 0)


if __name__ == "__main__":
    main()
