"""``python -m tests.fuzz [--seconds S] [--cases N] [--seed N] [--jobs N] [--bounds] [KEY...]``.

``--bounds`` compiles the kernels of the searches again with every index checked, which takes
minutes the first time, and runs a few cases with them.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from octcore.numerics import kernels
from tests.fuzz.campaign import Tally, campaign, first_failure
from tests.fuzz.checks import keys

BOUNDS = "NUMBA_BOUNDSCHECK"
COMPILED = ("path-search", "penalty-path", "threshold-search", "near-optimal", "margot")
"""Keys whose cases go through all kernels of the searches."""


def main() -> int:
    """Run a campaign; exit 1 when something failed."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("keys", nargs="*", metavar="KEY", help=f"of {', '.join(keys())}")
    parser.add_argument("--seconds", type=float, default=None)
    parser.add_argument("--cases", type=int, default=None)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--first", action="store_true", help="stop at the first failure")
    parser.add_argument("--bounds", action="store_true", help="check every index of the kernels")
    asked = parser.parse_args()
    unknown = sorted(set(asked.keys) - set(keys()))
    if unknown:
        parser.error(f"unknown key {unknown[0]}; choose from {', '.join(keys())}")
    if asked.bounds and not os.environ.get(BOUNDS):
        return _with_bounds()
    chosen = tuple(asked.keys) or (COMPILED if asked.bounds else keys())
    if asked.seconds is None and asked.cases is None:
        # With bounds the time is that of compiling.
        asked.seconds, asked.cases = (None, 40 * len(chosen)) if asked.bounds else (60.0, None)
    os.environ.setdefault("OCTCORE_CHECK", "1")
    if asked.first:
        found = first_failure(chosen, asked.seed, asked.cases)
        print(found or "nothing failed")
        return 0 if found is None else 1
    tally = Tally(asked.seed)
    start = time.monotonic()
    share = None if asked.cases is None else -(-asked.cases // asked.jobs)
    parts = [(chosen, asked.seed + job, asked.seconds, share) for job in range(asked.jobs)]
    if asked.jobs == 1:
        tally = campaign(*parts[0])
    else:
        with multiprocessing.get_context("spawn").Pool(asked.jobs) as pool:
            for part in pool.starmap(campaign, parts):
                tally.add(part)
    tally.seconds = time.monotonic() - start
    print(tally.report())
    return 0 if tally.is_clean else 1


def _with_bounds() -> int:
    """Run the same campaign in a process whose kernels check every index, and are kept apart."""
    folder = kernels.cache_folder() or Path(tempfile.gettempdir()) / "octcore"
    checked = {BOUNDS: "1", kernels.CACHE_VARIABLE: str(folder.parent / "bounds")}
    command = [sys.executable, "-m", "tests.fuzz", *sys.argv[1:]]
    return subprocess.run(command, env=os.environ | checked, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
