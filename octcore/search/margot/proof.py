"""The routing search that writes what closes every state, so that a proof can be read again.

File (gzip): a line of text, a line of JSON, then records of equal layout for the closed states, in
any order.  Rows are the distinct pairs of features and label in the order of `numpy.unique`.  A
record holds, for n rows and every branch node of the perfect tree (0-based heap),

- n bytes: deepest node to which the path of each row is known;
- per node ceil(2 n / 4) bytes: for the n slack rows and the n routing rows two bits each, lowest
  bits first: 0 the multiplier is zero, 1 it is the penalty of the row, 2 it is given;
- 8 bytes for every multiplier that is given, node by node.

Together the states cover all routings, and at the multipliers of each the dual value of its node
problems is the bound of all trees in it.
"""

from __future__ import annotations

import gzip
import json
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from octcore.numerics.node_qp.factor import copy_node, node_of
from octcore.numerics.node_qp.plane import balanced_dual
from octcore.search.margot.branching import AGAIN, COMPLETE, PRUNED, branch, process
from octcore.search.margot.core import EAGER_STATES, EVERY, RoutingSearch
from octcore.search.margot.frame import SHARE
from octcore.search.margot.incumbent import Tracker
from octcore.search.margot.records import RoutingProblem
from octcore.search.margot.start import node_membership
from octcore.search.margot.state import extend_path, lower_bound, pack, solve_bank, unpack

TITLE = "octcore MARGOT proof 1"


@dataclass(eq=False)
class ProofLog:
    """Writer of the file; streams, so that a stopped search leaves what it has closed.

    Parameters
    ----------
    path : pathlib.Path
        File to write.
    problem : RoutingProblem
        On merged rows.
    """

    path: Path
    problem: RoutingProblem
    states: int = 0
    lowest: float = np.inf
    """Least dual value of the states written so far."""
    _stream: Any = field(init=False)

    def __post_init__(self) -> None:
        """Open the file and write its head."""
        self._stream = gzip.open(self.path, "wb", compresslevel=3)
        head = {"rows": len(self.problem.y), "depth": self.problem.depth}
        self._stream.write(f"{TITLE}\n{json.dumps(head)}\n".encode())

    def write(
        self, prefix: NDArray[np.int64], multipliers: NDArray[np.float64], value: float
    ) -> None:
        """Write a state; ``multipliers`` has shape (n_nodes, 2 * n_samples)."""
        n = len(prefix)
        penalties = self.problem.penalties(np.asarray(self.problem.weights, float))
        self._stream.write(prefix.astype(np.uint8).tobytes())
        given = []
        for node, row in enumerate(multipliers):
            codes = np.zeros((2 * n + 3) // 4 * 4, np.uint8)
            codes[: 2 * n] = np.where(row == 0.0, 0, 2)
            codes[:n][(row[:n] == penalties[node]) & (row[:n] != 0.0)] = 1
            quads = codes.reshape(-1, 4)
            shifted = quads << np.array([0, 2, 4, 6], np.uint8)
            self._stream.write(shifted.sum(axis=1, dtype=np.uint8).tobytes())
            given.append(row[codes[: 2 * n] == 2])
        self._stream.write(np.concatenate(given).astype("<f8").tobytes())
        self.states += 1
        self.lowest = min(self.lowest, value)

    def close(self) -> None:
        """End the file."""
        self._stream.close()


class ProvenSearch(RoutingSearch):
    """The search without feature budgets, with every closed state in a log.

    What the plain search infers in passing (a sample has only one side left) is here a closed
    state of its own: the state with the sample on the other side.
    """

    def __init__(self, problem: RoutingProblem, tracker: Tracker, path: Path) -> None:
        super().__init__(replace(problem, threads=1), tracker)
        self.log = ProofLog(path, problem)

    def _trail_length(self) -> int:
        return len(self.problem.y) * self.problem.depth + 2

    def seek_nearby(self) -> None:
        """Do nothing: every state that is processed here must be one of the proof."""

    def finish(self) -> None:
        """Write the states that are still open, so that the log covers everything."""
        if self.alive:
            self._close(self.bank, self.prefix)
        while self.states:
            self._restore()
            self._close(self.bank, self.prefix)
        self.log.close()
        self.bound = min(self.bound, self.log.lowest)

    # -- states ---------------------------------------------------------------------------------

    def _restore(self) -> None:
        state = self.states.pop(self.number)
        assert state is not None
        self.prefix = state.prefix.astype(np.int64)
        unpack(self.bank, self.data, self.prefix, state.packed)
        self.settle()

    def _pop(self) -> bool:
        if self.states.lowest() < self.cutoff():
            return super()._pop() or self._closed_after_pop()
        self._restore()
        self._drop()
        return False

    def _closed_after_pop(self) -> bool:
        """A state that its solve closed is written; one that a stop put back is not."""
        if self.value() >= self.cutoff():
            self._drop()
        return False

    def _drop(self) -> None:
        self._close(self.bank, self.prefix)

    def _close(self, bank: Any, prefix: NDArray[np.int64]) -> None:
        """Write a state with the best multipliers at hand: of the bank, else of cold solves."""
        multipliers, value = bank.multiplier, self._dual(bank.multiplier, prefix)
        if value < self.finished():
            cold = self._cold_multipliers(prefix)
            found = self._dual(cold, prefix)
            if found > value:
                multipliers, value = cold, found
        self.log.write(prefix, multipliers, value)

    def _cold_multipliers(self, prefix: NDArray[np.int64]) -> NDArray[np.float64]:
        n = len(prefix)
        multipliers = np.zeros((self.problem.n_nodes, 2 * n))
        for node in range(self.problem.n_nodes):
            sides = node_membership(prefix, node)
            here = np.flatnonzero(sides < 2)
            found = self.solve_node(sides, node).multipliers
            multipliers[node, here], multipliers[node, n + here] = np.split(found, 2)
        return multipliers

    def _dual(self, multipliers: NDArray[np.float64], prefix: NDArray[np.int64]) -> float:
        """Bound of a state at multipliers, without bias penalties."""
        total, n = 0.0, len(prefix)
        for node, row in enumerate(multipliers):
            used = np.flatnonzero((row[:n] != 0.0) | (row[n:] != 0.0))
            if len(used):
                sides = node_membership(prefix, node)[used]
                x, y = self.problem.x[used], self.problem.y[used]
                total += balanced_dual(x, y, sides, self.problem.epsilon, row[used], row[n + used])[
                    0
                ]
        return total

    # -- branching ------------------------------------------------------------------------------

    def _expand(self) -> bool:
        """As in the plain search, one round of fixing at a time; what it closes is written."""
        ignored = SHARE * self.problem.gap * self.tracker.objective / len(self.prefix)
        before, trail = self.prefix.copy(), self.data.trail
        for node in range(self.problem.n_nodes):
            copy_node(node_of(self.bank, node), node_of(self.pair, node))
        trail[0], trail[-1] = 0, -1
        arguments = (self.bank, self.data, self.prefix, self.desk, self.problem.n_upper)
        code = process(*arguments, self.cutoff(), ignored, 1)
        moved, stuck = trail[1 : 1 + trail[0]].tolist(), int(trail[-1])
        self._close_other_sides(before, moved)
        if code == AGAIN:
            return True
        self.nodes += 1
        if code == PRUNED:
            return self._drop_pruned(stuck)
        if self._is_closed_exactly():
            self._drop()
            return False
        if code == COMPLETE:
            return self._finish_complete()
        if self.nodes <= EAGER_STATES or self.nodes % EVERY == 0:
            self.descend()
        return self._split()

    def _close_other_sides(self, before: NDArray[np.int64], moved: list[int]) -> None:
        """Close the states in which a sample that was fixed goes the other way.

        ``pair`` holds the QPs of the state before and follows the fixed samples.
        """
        prefix = before
        for sample in moved:
            side = self._side_taken(int(prefix[sample]), int(self.prefix[sample]))
            other = prefix.copy()
            for node in range(self.problem.n_nodes):
                copy_node(node_of(self.pair, node), node_of(self.complete, node))
            self._move(self.complete, other, sample, -side)
            self._close_or_keep(self.complete, other)
            self._move(self.pair, prefix, sample, side)

    def _side_taken(self, parent: int, deepest: int) -> int:
        while (deepest - 1) // 2 != parent:
            deepest = (deepest - 1) // 2
        return -1 if deepest % 2 == 1 else 1

    def _move(self, bank: Any, prefix: NDArray[np.int64], sample: int, side: int) -> None:
        extend_path(bank, self.data, prefix, sample, side)
        solve_bank(bank, self.data, np.inf)

    def _close_or_keep(self, bank: Any, prefix: NDArray[np.int64]) -> None:
        """Write a state whose bound says so; else it stays open."""
        if self._dual(bank.multiplier, prefix) >= self.finished():
            self._close(bank, prefix)
            return
        bound = float(lower_bound(bank))
        if bound >= self.cutoff():
            self._close(bank, prefix)
            return
        packed = np.zeros((self.problem.n_nodes, (2 * len(prefix) + 3) // 4), np.uint8)
        pack(bank, packed)
        self.states.push(bound, prefix, packed)

    def _drop_pruned(self, stuck: int) -> bool:
        """Close a state that the kernels pruned: as it is, or by both sides of one sample."""
        if stuck < 0:
            self._close_or_keep(self.bank, self.prefix)
            return False
        for side in (-1, 1):
            child = self.prefix.copy()
            for node in range(self.problem.n_nodes):
                copy_node(node_of(self.bank, node), node_of(self.pair, node))
            self._move(self.pair, child, stuck, side)
            self._close_or_keep(self.pair, child)
        return False

    def _split(self) -> bool:
        far_prefix = np.empty_like(self.prefix)
        packed = np.zeros((self.problem.n_nodes, (2 * len(self.prefix) + 3) // 4), np.uint8)
        arguments = (self.bank, self.pair, self.data, self.prefix)
        branch(*arguments, np.inf, self.desk.choice, far_prefix, packed)
        self._close_or_keep(self.pair, far_prefix)
        if self.value() >= self.cutoff():
            self._drop()
            return False
        return self._dive(self.value())
