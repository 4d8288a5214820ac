"""``python -m tests.mutants [--list] [NAME...]``: put faults in one by one, see them noticed."""

from __future__ import annotations

import argparse
import functools
import sys
import time
from pathlib import Path

from tests.mutants import systematic
from tests.mutants.faulty import import_dependencies, in_child
from tests.mutants.killers import failure, hunt
from tests.mutants.reach import TESTS
from tests.mutants.records import ROOT, Mutant, mutants

HUNT_SECONDS = 1200.0


def main() -> int:
    """Run the mutants; exit 1 when one survived."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="all by default")
    parser.add_argument("--list", action="store_true", help="only list them")
    parser.add_argument(
        "--trust", action="store_true", help="do not first see every test pass without a fault"
    )
    parser.add_argument(
        "--hunt",
        metavar="KEY[,KEY...]",
        help="look for a random case that notices the fault, and print it to be kept",
    )
    sampled = parser.add_argument_group("a sample of all small changes instead of the records")
    sampled.add_argument("--systematic", action="store_true")
    sampled.add_argument("--sample", type=int, default=None, help="how many; all by default")
    sampled.add_argument("--seed", type=int, default=0)
    sampled.add_argument("--paths", nargs="+", default=systematic.PATHS, metavar="PATH")
    sampled.add_argument("--keys", nargs="+", metavar="KEY", help="of the fuzz; all by default")
    sampled.add_argument("--tests", nargs="+", default=TESTS, metavar="PATH")
    sampled.add_argument("--cases", type=int, default=300, help="of every key")
    sampled.add_argument("--jobs", type=int, default=1)
    sampled.add_argument("--folder", type=Path, default=ROOT / ".mutants", help="of the table")
    asked = parser.parse_args()
    if asked.systematic:
        import_dependencies()
        return systematic.run(
            asked.paths, asked.sample, asked.seed, asked.jobs, asked.keys, asked.tests,
            asked.cases, asked.folder,
        )  # fmt: skip
    chosen = [m for m in mutants() if not asked.names or m.name in asked.names]
    if asked.list:
        for mutant in chosen:
            print(f"{mutant.name}: {mutant.place(ROOT).relative_to(ROOT)} ({mutant.kill})")
        return 0
    begin = time.monotonic()
    import_dependencies()
    if asked.hunt:
        for mutant in chosen:
            work = functools.partial(hunt, mutant, tuple(asked.hunt.split(",")))
            found, _ = in_child(mutant.change(), work, HUNT_SECONDS)
            print(found or f"# {mutant.name}: nothing found", flush=True)
        return 0
    if not asked.trust:
        for kill in dict.fromkeys(mutant.kill for mutant in chosen):
            broken, _ = in_child(None, functools.partial(failure, kill))
            if broken is not None:
                print(f"{kill} fails without any fault: {broken}")
                return 2
    survived = [mutant.name for mutant in chosen if not _is_killed_aloud(mutant)]
    seconds = time.monotonic() - begin
    print(f"{len(chosen) - len(survived)} of {len(chosen)} killed in {seconds:.0f} s")
    return 1 if survived else 0


def _is_killed_aloud(mutant: Mutant) -> bool:
    begin = time.monotonic()
    noticed, processor = in_child(mutant.change(), functools.partial(failure, mutant.kill))
    said = "SURVIVED" if noticed is None else "killed"
    seconds = time.monotonic() - begin
    print(
        f"{said:8s} {seconds:5.1f} s ({processor:4.1f} s of CPU)  {mutant.name}: "
        f"{(noticed or '')[:160]}",
        flush=True,
    )
    return noticed is not None


if __name__ == "__main__":
    sys.exit(main())
