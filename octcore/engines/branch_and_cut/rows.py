"""The cuts in the LP: which rows are there, how long they have been idle, which may go.

Keeping every cut makes each LP slow, so rows whose dual value stayed zero for as many LPs as their
family allows are deleted.  Rows age only when the LP value changed; otherwise a plateau would drop
and find the same rows for ever.
"""

from __future__ import annotations

from collections import Counter

import numpy as np

from octcore.engines.branch_and_cut.lp import PersistentLp
from octcore.program import Cuts

KEEP = np.iinfo(np.int64).max
PICTURES_PER_FAMILY = 6
"""Teaching views need a few examples of each family, not all of them."""


class CutPool:
    """Rows that separators added to an LP.

    `least`: no purge while fewer cuts than this are in the LP.
    """

    DUAL_TOLERANCE = 1e-9
    LEAST_SHARE = 0.2
    """A purge costs a refactorisation: only when this share of the cuts goes."""

    def __init__(self, lp: PersistentLp, least: int) -> None:
        self.lp, self.least = lp, least
        self.added: Counter[str] = Counter()
        self.purged = 0
        self._age = np.zeros(0, np.int64)
        self._life = np.zeros(0, np.int64)
        self._pictured: Counter[str] = Counter()
        self._new_counts: Counter[str] = Counter()
        self._new_pictures: list[object] = []

    def add(self, found: list[Cuts]) -> int:
        """Add all rows and return how many there were."""
        total = 0
        for cuts in found:
            count = len(cuts.rhs)
            if not count:
                continue
            self.lp.add_rows(cuts.matrix, cuts.rhs)
            life = KEEP if cuts.life is None else cuts.life
            self._age = np.concatenate([self._age, np.zeros(count, np.int64)])
            self._life = np.concatenate([self._life, np.full(count, life)])
            self.added[cuts.kind] += count
            self._new_counts[cuts.kind] += count
            self._collect_pictures(cuts)
            total += count
        return total

    def age_and_purge(self) -> None:
        """Count one more LP for idle rows and delete those that were idle for too long."""
        duals = self.lp.row_duals()[self.lp.n_base :]
        idle = np.abs(duals) < self.DUAL_TOLERANCE
        self._age = np.where(idle[: len(self._age)], self._age + 1, 0)
        old = np.flatnonzero(self._age >= self._life)
        if len(self._age) < self.least or len(old) <= self.LEAST_SHARE * len(self._age):
            return
        self.lp.delete_rows(old + self.lp.n_base)
        self._age, self._life = np.delete(self._age, old), np.delete(self._life, old)
        self.purged += len(old)

    def news(self) -> tuple[dict[str, int], tuple[object, ...]]:
        """Counts by family and pictures since the last call."""
        counts, pictures = dict(self._new_counts), tuple(self._new_pictures)
        self._new_counts, self._new_pictures = Counter(), []
        return counts, pictures

    def _collect_pictures(self, cuts: Cuts) -> None:
        room = PICTURES_PER_FAMILY - self._pictured[cuts.kind]
        for picture in cuts.pictures[: max(0, room)]:
            self._new_pictures.append({"kind": cuts.kind, **picture})
            self._pictured[cuts.kind] += 1
