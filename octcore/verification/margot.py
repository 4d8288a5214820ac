"""Check of the log of a MARGOT search: weak duality at every closed state, and that they cover all.

A *state* says how far down the tree the path of every row is known.  Every tree in it pays, at
each branch node, at least the least cost of a plane for the rows that are known to pass (half the
squared norm plus penalty times slack; rows that are known to go on stay on their sides).  That cost
is bounded from below by the dual value at any multipliers ``0 <= lambda_i <= u_i`` of the slack
rows and ``r_i >= 0`` of the routing rows, as long as the signed multipliers of a node sum to zero,
because the offset of a plane is free:

    sum lambda_i + epsilon sum_{left} r_i - 1/2 || sum (lambda_i y_i + r_i s_i) x_i ||^2

The multipliers of the heavier sign are scaled down until the sum is zero; what rounding leaves is
charged with the largest offset that a tree better than the claim can need.

The layout of the file stands in its reader below.  Equal rows go together, whatever their labels.
"""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from octcore.verification.base import NotProvenError, Proven, WrongError

TITLE = "octcore MARGOT proof 1"
ROUNDING = 1e-13
"""Share of the sums of a dual value that double precision may lose."""
TOLERANCE = 1e-6
"""Relative; how far below the claim the log may end."""


@dataclass(frozen=True, eq=False)
class MargotData:
    """What the claim is about."""

    x: np.ndarray
    """Rows, shape ``(n_samples, n_features)``."""
    y: np.ndarray
    """Labels -1 and +1."""
    weights: np.ndarray
    depth: int
    c_upper: float
    c_last: float
    epsilon: float
    """`c_upper`, `c_last`, `epsilon`: penalties above the last level and on it; width of the strip
    left of an upper plane."""


def check_log(
    data: MargotData, log: str | Path, claimed: float, guard: Callable[[], None] = lambda: None
) -> Proven:
    """Check that a log proves a lower bound on the objective of every tree.

    Parameters
    ----------
    guard : callable
        Called for every state; it raises when the check must end.

    Raises
    ------
    WrongError
        If a state of the log is false, or the states together prove less than the claim.
    NotProvenError
        If the log is missing, ends early, leaves routings out or is of other rows.
    """
    try:
        checker = _Checker.of(data, claimed)
        prefixes = checker.read(Path(log), guard)
    except FileNotFoundError:
        raise NotProvenError("no log, the file of the proof is gone") from None
    except (OSError, EOFError, ValueError, zlib.error):
        raise NotProvenError("the log cannot be read to its end") from None
    if checker.lowest < claimed - TOLERANCE * max(1e-9, abs(claimed)):
        raise WrongError(
            f"the bound {claimed:.9g} is claimed, the closed states prove {checker.lowest:.9g}"
        )
    if not _covers(prefixes, checker.twins, checker.n_upper, guard):
        raise NotProvenError("the log is incomplete, its closed states leave routings out")
    proven = min(checker.lowest, claimed)  # offsets were bounded for trees better than the claim
    return Proven(proven, f"{len(prefixes)} closed states cover all routings")


@dataclass(eq=False)
class _Checker:
    """Distinct rows of the problem and the least dual value seen."""

    x: np.ndarray
    y: np.ndarray
    penalties: np.ndarray
    twins: np.ndarray
    epsilon: float
    depth: int
    claimed: float
    lowest: float = np.inf

    @classmethod
    def of(cls, data: MargotData, claimed: float) -> _Checker:
        """Merge equal rows; labels keep apart what features do not."""
        table = np.column_stack([np.asarray(data.x, float), np.asarray(data.y, float)])
        table, inverse = np.unique(table, axis=0, return_inverse=True)
        weights = np.bincount(inverse.ravel(), np.asarray(data.weights, float))
        last = np.arange(2**data.depth - 1) >= 2 ** (data.depth - 1) - 1
        prices = np.where(last, data.c_last, data.c_upper)
        x = table[:, :-1]
        _, groups = np.unique(x, axis=0, return_inverse=True)
        return cls(
            x - x.mean(axis=0),
            table[:, -1],
            prices[:, None] * weights[None, :],
            groups.ravel(),
            data.epsilon,
            data.depth,
            claimed,
        )

    @property
    def n_upper(self) -> int:
        """Branch nodes above the last level."""
        return 2 ** (self.depth - 1) - 1

    # -- reading --------------------------------------------------------------------------------

    def read(self, path: Path, guard: Callable[[], None]) -> np.ndarray:
        """Check every state; returns their known paths, shape ``(n_states, n_rows)``.

        After a title and a line of JSON come records: a byte per row (deepest known node, 0-based
        heap); per node two bits per slack row and routing row (0 zero, 1 the penalty, 2 given),
        lowest bits first; eight bytes per given multiplier.
        """
        n, n_nodes = len(self.y), 2**self.depth - 1
        width = (2 * n + 3) // 4
        fixed = n + n_nodes * width
        prefixes = []
        with gzip.open(path, "rb") as stream:
            head = stream.readline().decode().strip(), json.loads(stream.readline())
            if head != (TITLE, {"rows": n, "depth": self.depth}):
                raise NotProvenError("the log is of another problem")
            while record := stream.read(fixed):
                guard()
                if len(record) < fixed:
                    raise NotProvenError("the log ends in the middle of a state")
                array = np.frombuffer(record, np.uint8)
                quads = array[n:].reshape(n_nodes, width)
                codes = (quads[:, :, None] >> np.array([0, 2, 4, 6], np.uint8)) & 3
                codes = codes.reshape(n_nodes, -1)[:, : 2 * n]
                count = int((codes == 2).sum())
                given = stream.read(8 * count)
                if len(given) < 8 * count:
                    raise NotProvenError("the log ends in the middle of a state")
                if (codes == 3).any():
                    raise WrongError("a state of the log has an unknown code")
                prefix = array[:n].astype(np.int64)
                self._see(prefix, codes, np.frombuffer(given, "<f8"))
                prefixes.append(array[:n])
        if not prefixes:
            raise NotProvenError("the log has no states")
        return np.array(prefixes)

    def _see(self, prefix: np.ndarray, codes: np.ndarray, given: np.ndarray) -> None:
        """Check one state and keep its bound."""
        if (prefix >= len(codes)).any():
            raise WrongError("a path leads out of the tree")
        if not np.isfinite(given).all() or (given < 0).any():
            raise WrongError("a multiplier is negative")
        n = len(prefix)
        if (codes[:, n:] == 1).any():
            raise WrongError("a routing row has no penalty")
        values = np.zeros(codes.shape)
        values[:, :n] = np.where(codes[:, :n] == 1, self.penalties, 0.0)
        values[codes == 2] = given
        with np.errstate(over="ignore", invalid="ignore"):
            total = sum(self._node_dual(node, prefix, row) for node, row in enumerate(values))
        if not np.isfinite(total):
            raise WrongError("a multiplier is too large")
        self.lowest = min(self.lowest, float(total))

    def _node_dual(self, node: int, prefix: np.ndarray, row: np.ndarray) -> float:
        n = len(prefix)
        if not row.any():
            return 0.0
        side = _sides(node, prefix, self.depth)
        hinge, route = row[:n], row[n:]
        if hinge[side == 2].any() or route[(side == 2) | (side == 0)].any():
            raise WrongError("a row is charged where its path is not known")
        if (hinge > self.penalties[node]).any():
            raise WrongError("a multiplier exceeds its penalty")
        slack = hinge * self.y
        force = route * np.where(side == 2, 0, side)
        right = slack[slack > 0].sum() + force[force > 0].sum()
        left = -slack[slack < 0].sum() - force[force < 0].sum()
        by_sign = np.array(
            [min(1.0, right / left) if left else 1.0, min(1.0, left / right) if right else 1.0]
        )
        slack, force = (
            slack * by_sign[(slack > 0).astype(int)],
            force * by_sign[(force > 0).astype(int)],
        )
        vector = (slack + force) @ self.x
        linear = np.abs(slack).sum() + self.epsilon * np.abs(force[side == -1]).sum()
        square = 0.5 * float(vector @ vector)
        residual = abs(slack.sum() + force.sum())
        lost = ROUNDING * (np.abs(slack).sum() + np.abs(force).sum() + square)
        return float(linear - square - residual * self._largest_offset() - lost)

    def _largest_offset(self) -> float:
        """Of a plane in a tree worth less than the claim: some row that passes scores within 1."""
        radius = float(np.linalg.norm(self.x, axis=1).max())
        return 1.0 + radius * float(np.sqrt(2.0 * max(self.claimed, 0.0)))


def _sides(node: int, prefix: np.ndarray, depth: int) -> np.ndarray:
    """Where rows with these known paths go at a node: -1, 1, 0 (not known) or 2 (elsewhere)."""
    side = np.full(len(prefix), 2)
    at, came = prefix.copy(), np.zeros(len(prefix), np.int64)
    for _ in range(depth):
        side[(side == 2) & (at == node)] = came[(side == 2) & (at == node)]
        came = np.where(at % 2 == 1, -1, 1)
        at = np.where(at > 0, (at - 1) // 2, -1)
    return side


def _covers(
    prefixes: np.ndarray, groups: np.ndarray, n_upper: int, guard: Callable[[], None]
) -> bool:
    """Whether every way of sending rows down the tree, equal rows together, is in some state.

    Branching made the states, so wherever none of them holds all that is left, there is a row that
    all of them know better; its two ways are covered one by one.
    """
    _, first = np.unique(groups, return_index=True)
    if (prefixes != prefixes[:, first][:, groups]).any():
        return False
    states = prefixes[:, first].astype(np.int64)
    pending = [(np.arange(len(states)), np.zeros(states.shape[1], np.int64))]
    while pending:
        guard()
        members, known = pending.pop()
        if not len(members):
            return False
        deeper = states[members] != known
        if (~deeper.any(axis=1)).any():
            continue
        choices = np.flatnonzero(deeper.all(axis=0) & (known < n_upper))
        if not len(choices):
            return False
        row = int(choices[0])
        step = states[members, row]
        while (step > 2 * known[row] + 2).any():
            step = np.where(step > 2 * known[row] + 2, (step - 1) // 2, step)
        for child in (2 * known[row] + 1, 2 * known[row] + 2):
            below = known.copy()
            below[row] = child
            pending.append((members[step == child], below))
    return True
