"""Many cases in a row: counts by key and kind, failures with a small case."""

from __future__ import annotations

import time
import traceback
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from tests.fuzz.case import Case
from tests.fuzz.checks import check, draw
from tests.fuzz.failure import Failure
from tests.fuzz.shrink import shrink
from tests.referee.convex import Undecided


@dataclass(eq=False)
class Tally:
    """What a campaign counted."""

    seed: int
    cases: Counter[tuple[str, str]] = field(default_factory=Counter)
    failing: Counter[str] = field(default_factory=Counter)
    crashes: Counter[str] = field(default_factory=Counter)
    undecided: Counter[str] = field(default_factory=Counter)
    seconds: float = 0.0

    @property
    def total(self) -> int:
        """Number of cases."""
        return sum(self.cases.values())

    @property
    def is_clean(self) -> bool:
        """Whether nothing failed."""
        return not self.failing and not self.crashes

    def add(self, other: Tally) -> None:
        """Take over what another campaign counted."""
        self.cases += other.cases
        self.failing += other.failing
        self.crashes += other.crashes
        self.undecided += other.undecided

    def report(self) -> str:
        """Table of keys, kinds and failures."""
        lines = []
        for key in dict.fromkeys(key for key, _ in self.cases):
            kinds = {kind: n for (k, kind), n in sorted(self.cases.items()) if k == key}
            text = ", ".join(f"{kind} {n}" for kind, n in kinds.items())
            unknown = self.undecided[key]
            lines.append(
                f"{key}: {sum(kinds.values())} cases ({text}); "
                f"{self.failing[key]} failing, {self.crashes[key]} crashes"
                + (f", {unknown} undecided by the referee" if unknown else "")
            )
        lines.append(f"{self.total} cases in {self.seconds:.1f} s, seed {self.seed}")
        return "\n".join(lines)


def verdict(case: Case) -> tuple[str, str]:
    """Return ("", "") for a case that holds, else "failing" or "crash" and a sentence."""
    try:
        check(case)
    except Failure as failure:
        return "failing", str(failure)
    except Undecided as undecided:
        return "undecided", str(undecided)
    except Exception as error:
        return "crash", f"{type(error).__name__}: {error}\n{traceback.format_exc(limit=-3)}"
    return "", ""


def campaign(
    keys: tuple[str, ...],
    seed: int,
    seconds: float | None = None,
    cases: int | None = None,
    say: Callable[[str], None] = print,
    most_shown: int = 3,
) -> Tally:
    """Draw and check cases, key by key in turn, until time or number is reached.

    Parameters
    ----------
    keys : tuple of str
        What to draw.
    seed : int
        Case i of a key depends on the seed, the key and i only.
    seconds, cases : float, int or None
        Limits; None for no limit.
    say : callable
        Receives failures as text.
    most_shown : int
        How many failures of a key are shrunken and shown.
    """
    tally, start, number = Tally(seed), time.monotonic(), 0
    while True:
        for key in keys:
            enough = cases is not None and tally.total >= cases
            tally.seconds = time.monotonic() - start
            if enough or (seconds is not None and tally.seconds >= seconds):
                return tally
            case = numbered(key, seed, number)
            found, sentence = verdict(case)
            tally.cases[key, case.kind] += 1
            if found == "undecided":
                tally.undecided[key] += 1
            elif found:
                counter = tally.failing if found == "failing" else tally.crashes
                counter[key] += 1
                if counter[key] <= most_shown:
                    say(describe(case, found, sentence, f"{key} seed {seed} number {number}"))
        number += 1


def first_failure(keys: tuple[str, ...], seed: int, cases: int | None) -> str | None:
    """Return what the first failing case says, None when all hold; nothing is shrunken."""
    for number in range(10**9 if cases is None else -(-cases // len(keys))):
        for key in keys:
            found, sentence = verdict(numbered(key, seed, number))
            if found in {"failing", "crash"}:
                return f"{key} {number}: {found}: {sentence.splitlines()[0]}"
    return None


def numbered(key: str, seed: int, number: int) -> Case:
    """Draw the case of a number."""
    return draw(np.random.default_rng([seed, number, *key.encode()]), key)


def describe(case: Case, found: str, sentence: str, name: str) -> str:
    """Return a failure as a shrunken case in Python."""
    small = shrink(case, lambda smaller: _alike(verdict(smaller), (found, sentence)))
    said = (verdict(small)[1] or sentence).splitlines()[0]
    return (
        f"# {found}: {name}\n# {sentence.splitlines()[0]}\n# shrunken: {said}\n{small.source()}\n"
    )


def _alike(first: tuple[str, str], second: tuple[str, str]) -> bool:
    """Tell whether two verdicts say the same, but for the numbers in them."""
    return first[0] == second[0] and first[1].split()[:2] == second[1].split()[:2]
