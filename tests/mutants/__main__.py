"""``python -m tests.mutants [--list] [NAME...]``: put faults in one by one, see them noticed."""

from __future__ import annotations

import argparse
import functools
import sys
import time

from tests.mutants.faulty import import_dependencies, in_child
from tests.mutants.killers import failure, hunt
from tests.mutants.records import ROOT, Mutant, mutants


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
    asked = parser.parse_args()
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
            print(in_child(mutant, work)[0] or f"# {mutant.name}: nothing found", flush=True)
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
    noticed, processor = in_child(mutant, functools.partial(failure, mutant.kill))
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
