"""Claims of the MARGOT family: trees plane by plane, bounds by closed states that cover all.

A *state* says how far down the tree the path of every row is known, and under feature budgets which
features a plane is charged for anyway (kept) and which it may use at all (allowed).  Every tree in
it pays, at each branch node, at least the least cost of a plane for the rows that are known to pass
(half the squared norm plus penalty times slack; rows that are known to go on stay on their sides).
That cost is bounded from below by the dual value at any multipliers ``0 <= lambda_i <= u_i`` of the
slack rows and ``r_i >= 0`` of the routing rows, as long as the signed multipliers of a node sum to
zero, because the offset of a plane is free:

    sum lambda_i + epsilon sum_{left} r_i - 1/2 || sum (lambda_i y_i + r_i s_i) x_i ||^2

The multipliers of the heavier sign are scaled down until the sum is zero; what rounding leaves is
charged with the largest offset that a tree better than the claim can need.  The norm is that over
the features which a plane uses.  Of those that it may but need not use all beyond the budget are
left out, which gives back their half square, or paid for, whichever costs less.

Equal rows go together, whatever their labels.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import islice

import numpy as np

from octcore.verification.base import Guard, NotProvenError, Proven, WrongError
from octcore.verification.claim import Claim, Routed, found_again, scores
from octcore.verification.value import METHOD, conflict_errors

ROUNDING = 1e-13  # share of the sums of a dual value that double precision may lose
CHUNK_CELLS = 2_000_000  # multipliers that are looked at at once
STRIP_TOLERANCE = 2e-7
"""How far a row may stand inside the strip of an upper plane: a solver's tolerance."""


def check_states(
    claim: Claim, states: Iterable[tuple[np.ndarray, ...]], guard: Callable[[], None]
) -> Proven:
    """Add up what closed states prove, and check that they cover everything.

    `NotProvenError` if a state is none, as its multipliers are not feasible, or the states leave
    something out.

    `states`: ``(prefix, multipliers, kept, allowed)``: deepest known node of every distinct pair of
    row and label in the order of `numpy.unique`, 0-based heap; multipliers of their slack rows and
    routing rows by node, shape ``(n_nodes, 2 * n_rows)``; features by node.
    """
    assert claim.bound is not None
    checker = _Checker.of(claim)
    stream, lowest = iter(states), np.inf
    prefixes, features = [], []
    size = max(1, CHUNK_CELLS // (2 * len(checker.y) * checker.n_nodes))
    while chunk := list(islice(stream, size)):
        guard()
        parts = [np.array(part) for part in zip(*chunk, strict=True)]
        lowest = min(lowest, checker.least(*parts))
        prefixes.append(parts[0].astype(np.uint8))
        features.append(np.where(parts[2], 1, np.where(parts[3], 0, 2)).astype(np.uint8))
    if not prefixes:
        raise NotProvenError("the proof has no states")
    prefix, feature = np.concatenate(prefixes), np.concatenate(features)
    if not checker.covers(prefix, feature.reshape(len(prefix), -1), guard):
        raise NotProvenError("the closed states leave something out")
    # offsets were bounded for trees better than the claim
    return Proven(min(lowest, claim.bound), f"weak duality at {len(prefix)} closed states")


@dataclass(eq=False)
class _Checker:
    """Distinct rows of the problem."""

    x: np.ndarray
    y: np.ndarray
    penalties: np.ndarray
    twins: np.ndarray
    claim: Claim

    @classmethod
    def of(cls, claim: Claim) -> "_Checker":
        """Merge equal rows; labels keep apart what features do not."""
        table = np.column_stack([np.asarray(claim.X, float), _signs(claim)])
        table, inverse = np.unique(table, axis=0, return_inverse=True)
        weights = np.bincount(inverse.ravel(), claim.weights)
        x = table[:, :-1]
        _, groups = np.unique(x, axis=0, return_inverse=True)
        levels = [(node + 1).bit_length() - 1 for node in range(2**claim.depth - 1)]
        prices = np.array([_penalty(claim, level) for level in levels])
        penalties = prices[:, None] * weights[None, :]
        return cls(x - x.mean(axis=0), table[:, -1], penalties, groups.ravel(), claim)

    @property
    def n_nodes(self) -> int:
        return len(self.penalties)

    @property
    def n_upper(self) -> int:
        """Branch nodes above the last level."""
        return self.n_nodes // 2

    def budget(self, node: int) -> int:
        """Features of a plane; as many as there are without budgets."""
        budget, p = _budget(self.claim, (node + 1).bit_length() - 1), self.x.shape[1]
        return p if budget is None else min(p, budget)

    def least(
        self, prefix: np.ndarray, multipliers: np.ndarray, kept: np.ndarray, allowed: np.ndarray
    ) -> float:
        """Least bound of some states."""
        n, count = len(self.y), len(prefix)
        shapes = (count, n), (count, self.n_nodes, 2 * n), (count, self.n_nodes, self.x.shape[1])
        if (prefix.shape, multipliers.shape, kept.shape, allowed.shape) != (*shapes, shapes[2]):
            raise NotProvenError("the proof is of another problem")
        if (prefix < 0).any() or (prefix >= self.n_nodes).any():
            raise NotProvenError("a path leads out of the tree")
        if not np.isfinite(multipliers).all() or (multipliers < 0).any():
            raise NotProvenError("a multiplier is negative")
        if (kept & ~allowed).any():
            raise NotProvenError("a feature is kept that may not be used")
        with np.errstate(over="ignore", invalid="ignore"):
            total = np.zeros(count)
            for node in range(self.n_nodes):
                total += self._node(
                    node, prefix, multipliers[:, node], kept[:, node], allowed[:, node]
                )
        if np.isnan(total).any():
            raise NotProvenError("a multiplier is too large")
        return float(total.min())

    def _node(
        self, node: int, prefix: np.ndarray, row: np.ndarray, kept: np.ndarray, allowed: np.ndarray
    ) -> np.ndarray:
        """Dual values of a node, and the price of its features, in some states."""
        n = len(self.y)
        side = _sides(node, prefix, self.claim.depth)
        hinge, route = row[:, :n], row[:, n:]
        if hinge[side == 2].any() or route[(side == 2) | (side == 0)].any():
            raise NotProvenError("a row is charged where its path is not known")
        if (hinge > self.penalties[node]).any():
            raise NotProvenError("a multiplier exceeds its penalty")
        slack, force = hinge * self.y, route * np.where(side == 2, 0, side)
        right = np.maximum(slack, 0).sum(axis=1) + np.maximum(force, 0).sum(axis=1)
        left = -np.minimum(slack, 0).sum(axis=1) - np.minimum(force, 0).sum(axis=1)
        least = np.minimum(right, left)
        by_left, by_right = (
            np.divide(least, heavy, out=np.ones(len(least)), where=heavy > 0)[:, None]
            for heavy in (left, right)
        )
        slack = slack * np.where(slack > 0, by_right, by_left)
        force = force * np.where(force > 0, by_right, by_left)
        vector = (slack + force) @ self.x
        linear = np.abs(slack).sum(axis=1)
        linear += float(self.claim.params["epsilon"]) * np.abs(force * (side == -1)).sum(axis=1)
        half = 0.5 * vector**2
        square = (half * allowed).sum(axis=1)
        residual = np.abs(slack.sum(axis=1) + force.sum(axis=1))
        size = np.abs(slack).sum(axis=1) + np.abs(force).sum(axis=1) + square
        # The offset is free: the sum of the signed multipliers is charged with the largest one.
        dual = linear - square - residual * self._largest_offset() - ROUNDING * size
        return dual + self._beyond_budget(node, half, kept, allowed)

    def _beyond_budget(
        self, node: int, half: np.ndarray, kept: np.ndarray, allowed: np.ndarray
    ) -> np.ndarray:
        """Least price of the features beyond the budget: not used, or paid for.

        The heaviest of the free features take the places that the kept ones leave.
        """
        price = _feature_price(self.claim)
        beyond = kept.sum(axis=1) - self.budget(node)
        worth = np.where(allowed & ~kept, np.minimum(half, price), 0.0)
        ordered = np.cumsum(np.sort(worth, axis=1)[:, ::-1], axis=1)
        ordered = np.column_stack([np.zeros(len(worth)), ordered])
        covered = ordered[np.arange(len(worth)), np.maximum(0, -beyond)]
        charge = np.zeros(len(worth))
        charge[beyond > 0] = price * beyond[beyond > 0]
        return charge + ordered[:, -1] - covered

    def _largest_offset(self) -> float:
        """Of a plane in a tree worth less than the claim: some row that passes scores within 1."""
        assert self.claim.bound is not None
        radius = float(np.linalg.norm(self.x, axis=1).max())
        return 1.0 + radius * float(np.sqrt(2.0 * max(self.claim.bound, 0.0)))

    def covers(self, prefix: np.ndarray, feature: np.ndarray, guard: Callable[[], None]) -> bool:
        """Whether every tree is in some state: every routing, with every choice of features.

        Branching made the states, so wherever none of them holds all that is left, there is a row,
        or a feature of a node, that all of them know better; its two ways are covered one by one.
        """
        _, first = np.unique(self.twins, return_index=True)
        if (prefix != prefix[:, first][:, self.twins]).any():
            return False
        states = np.column_stack([prefix[:, first], feature]).astype(np.int64)
        n_rows, p = len(first), self.x.shape[1]
        pending = [(np.arange(len(states)), np.zeros(states.shape[1], np.int64))]
        while pending:
            guard()
            members, known = pending.pop()
            if not len(members):
                return False
            deeper = states[members] != known
            if (~deeper.any(axis=1)).any():
                continue
            is_open = np.append(known[:n_rows] < self.n_upper, known[n_rows:] == 0)
            choices = np.flatnonzero(deeper.all(axis=0) & is_open)
            if not len(choices):
                return False
            chosen = int(choices[0])
            step = states[members, chosen]
            first_child = 2 * known[chosen] + 1 if chosen < n_rows else 1
            while chosen < n_rows and (step > first_child + 1).any():
                step = np.where(step > first_child + 1, (step - 1) // 2, step)
            for child in (first_child, first_child + 1):
                below = known.copy()
                below[chosen] = child
                if chosen >= n_rows:
                    self._fill(below[n_rows:], (chosen - n_rows) // p)
                pending.append((members[step == child], below))
        return True

    def _fill(self, features: np.ndarray, node: int) -> None:
        """Forbid the rest of the features of a node whose hard budget is used up."""
        p = self.x.shape[1]
        own = features[node * p : (node + 1) * p]
        if np.isinf(_feature_price(self.claim)) and (own == 1).sum() >= self.budget(node):
            own[own == 0] = 2


def _sides(node: int, prefix: np.ndarray, depth: int) -> np.ndarray:
    """Where rows with these known paths go at a node: -1, 1, 0 (not known) or 2 (elsewhere)."""
    side = np.full(prefix.shape, 2)
    at, came = prefix.astype(np.int64), np.zeros(prefix.shape, np.int64)
    for _ in range(depth):
        here = (side == 2) & (at == node)
        side[here] = came[here]
        came = np.where(at % 2 == 1, -1, 1)
        at = np.where(at > 0, (at - 1) // 2, -1)
    return side


def worth(claim: Claim, routed: Routed) -> float:
    """Objective of the claimed tree, plane by plane."""
    if not all(split.unit_margin for split in claim.tree.splits.values()):
        raise WrongError("a split lacks the margins of its formulation")
    found = _worth(claim, routed, 1, 0, np.arange(len(claim.y)))
    if not np.isfinite(found):
        message = "a row stands in the strip of an upper plane, a label is on the wrong side, or a "
        message += "plane uses too many features"
        raise WrongError(message)
    return float(found)


def reach(claim: Claim, objective: float) -> float:
    """Least big-M that forbids no tree of an objective, nor a better one.

    The norm of a plane is bounded by the objective less what no tree avoids, and some row has a
    score of -1 to 1, so that no score is farther from 0 than the norm times the distance of rows,
    and 1; a slack is 1 larger, and the model gives it half of the constant.
    """
    spare = objective - _of_levels(claim, conflict_errors(claim.X, claim.of_rows, lambda: None))
    ranges = np.sort(np.ptp(claim.X, axis=0))[::-1]
    if claim.formulation == "hfs-margot":
        budgets = [_budget(claim, level) or len(ranges) for level in range(claim.depth)]
        ranges = ranges[: max(budgets)]
    return 2.0 * (2.0 + float(np.sqrt(2.0 * max(0.0, spare)) * np.linalg.norm(ranges)))


def _of_levels(claim: Claim, paired: float) -> float:
    return sum(2.0 * _penalty(claim, level) * paired for level in range(claim.depth))


def by_conflicts(claim: Claim, guard: Guard) -> Proven:
    """Bound by equal rows of both classes, whose slacks sum to two at least on every level."""
    return Proven(_of_levels(claim, conflict_errors(claim.X, claim.of_rows, guard)), METHOD)


def by_states(claim: Claim, guard: Guard) -> Proven:
    """Bound by states that cover all trees, with the multipliers that close each of them."""
    return check_states(claim, found_again(claim, guard, worth), guard)


def _signs(claim: Claim) -> np.ndarray:
    return np.where(claim.y == claim.positive_class, 1.0, -1.0)


def _worth(claim: Claim, routed: Routed, node: int, level: int, rows: np.ndarray) -> float:
    """Least cost of what is below a node of the tree, if it stands on a level of the perfect one.

    Infinite if it cannot stand there.  A stored tree has no branch nodes that all rows pass, which
    the perfect tree has, with the plane without weights that is best for its rows; as their level
    is not stored, every level is tried.
    """
    is_leaf = node in claim.tree.labels
    if level == claim.depth:
        return 0.0 if is_leaf else np.inf
    passed = _without_weights(claim, level, rows, claim.tree.labels[node] if is_leaf else None)
    passed += _worth(claim, routed, node, level + 1, rows)
    if is_leaf or not _labels_fit(claim, node, level):
        return passed
    cost = _plane_cost(claim, routed, node, level)
    for child in (2 * node, 2 * node + 1):
        below = routed.rows[child] if child in routed.rows else np.flatnonzero(routed.leaf == child)
        cost += _worth(claim, routed, child, level + 1, below)
    return min(passed, cost)


def _labels_fit(claim: Claim, node: int, level: int) -> bool:
    """Below a plane of the last level the second class is on the right, the first on the left."""
    if level < claim.depth - 1:
        return True
    labels = [claim.tree.labels.get(child) for child in (2 * node, 2 * node + 1)]
    return labels == [1 - claim.positive_class, claim.positive_class]


def _penalty(claim: Claim, level: int) -> float:
    return float(claim.params["C_last" if level == claim.depth - 1 else "C_upper"])


def _without_weights(claim: Claim, level: int, rows: np.ndarray, label: int | None) -> float:
    """Slack of rows that a plane without weights sends to one side, on the last level the label's.

    Its offset is -1 or 1, where only rows of the other class pay.
    """
    signs, weights = _signs(claim)[rows], claim.weights[rows]
    wrong = [2.0 * float(weights[signs != sign].sum()) for sign in (-1.0, 1.0)]
    if level == claim.depth - 1 and label is not None:
        cost = min(wrong[int(label == claim.positive_class)], float(weights.sum()))
    else:
        cost = min(wrong)
    return _penalty(claim, level) * cost


def _plane_cost(claim: Claim, routed: Routed, node: int, level: int) -> float:
    """Half the squared norm of a plane as solved, and the slack of the rows that pass."""
    split, rows = claim.tree.splits[node], routed.rows[node]
    at = scores(split, claim.X[rows])
    score, right = at + split.solved_offset, at > split.threshold
    misses = np.where(right, -score, score + float(claim.params["epsilon"]))
    if level < claim.depth - 1 and (misses > STRIP_TOLERANCE).any():
        return np.inf
    square = sum(weight * weight for _, weight in split.weights)
    slack = np.maximum(0.0, 1.0 - _signs(claim)[rows] * score)
    budget = _budget(claim, level)
    beyond = 0 if budget is None else max(0, len(split.weights) - budget)
    price = _feature_price(claim) * beyond if beyond else 0.0  # it may be infinite
    return price + 0.5 * square + _penalty(claim, level) * float(claim.weights[rows] @ slack)


def _budget(claim: Claim, level: int) -> int | None:
    """Features of a plane on a level; None without budgets."""
    budget = claim.params.get("budget_last" if level == claim.depth - 1 else "budget_upper")
    return None if budget is None else int(budget)


def _feature_price(claim: Claim) -> float:
    """Price of a feature beyond the budget; infinite where there may be none."""
    return float(claim.params.get("alpha", np.inf))
