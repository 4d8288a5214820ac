"""``python -m tests.fuzz [--seconds S] [--cases N] [--seed N] [--jobs N] [KEY...]``."""

from __future__ import annotations

import argparse
import multiprocessing
import os
import sys
import time

from tests.fuzz.campaign import Tally, campaign, first_failure
from tests.fuzz.checks import keys


def main() -> int:
    """Run a campaign; exit 1 when something failed."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("keys", nargs="*", metavar="KEY", help=f"of {', '.join(keys())}")
    parser.add_argument("--seconds", type=float, default=None)
    parser.add_argument("--cases", type=int, default=None)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--first", action="store_true", help="stop at the first failure")
    asked = parser.parse_args()
    unknown = sorted(set(asked.keys) - set(keys()))
    if unknown:
        parser.error(f"unknown key {unknown[0]}; choose from {', '.join(keys())}")
    if asked.seconds is None and asked.cases is None:
        asked.seconds = 60.0
    os.environ.setdefault("OCTCORE_CHECK", "1")
    chosen = tuple(asked.keys) or keys()
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


if __name__ == "__main__":
    sys.exit(main())
