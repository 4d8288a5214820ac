"""Equivalent-point inequalities: rows that differ only in a few features need a split on those.

For a *split set* S of features, rows that agree outside S form an equivalent-point set J.  A tree
that never separates J gives all of J one label, so only one of its classes is correct.  Whether J
is separated is an expression beta_J >= that indicator, in one of three strengths:

basic       (16): sum of b[m, f] over all nodes and f in S
chain       (18), (19): one term per node m: S is tested at m, and the path to m is the way of J
recursive   (20), (21): alpha(m) = sum_S b[m, f] + for both sides min(flow of J to the child,
            alpha(child))

and beta_J enters a bound on the hits of J (largest class, (17)), or the choice of one class (group
selection, (22)).  The published rows have auxiliary variables; `EquivalentPointCuts` projects them
out: the smallest beta at a point is found by one walk over the nodes, and the minima that were
taken say which sums over b make the violated row.

References
----------
Keegan et al., "Acceleration techniques for learning optimal classification trees": (13) to (22).
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_matrix

from octcore.formulations.shared.separation.max_flow import capacities
from octcore.formulations.shared.separation.tree_rows import (
    Instance,
    RowBuilder,
    TreeLayout,
    TreePoint,
)
from octcore.program import Cuts

LIFE = 3  # rounds without being tight after which a row is dropped
MOST_SETS = 30_000  # more sets than this cost more than they gain; smaller split sets come first
BLOCK_ROWS = 512  # rows compared with all others at once, so that memory stays flat


@dataclass(frozen=True, eq=False)
class EquivalentSets:
    """Equivalent-point sets with at least two classes."""

    split_sets: tuple[tuple[int, ...], ...]  # split set of every equivalent-point set
    members: np.ndarray  # hits, set by set and class by class within a set
    group_start: np.ndarray  # where the members of every (set, class) begin
    set_of_group: np.ndarray

    def __len__(self) -> int:
        return len(self.split_sets)

    def groups(self, j: int) -> list[np.ndarray]:
        """Hits of every class of a set."""
        chosen = np.flatnonzero(self.set_of_group == j)
        ends = np.append(self.group_start[1:], len(self.members))
        return [self.members[self.group_start[g] : ends[g]] for g in chosen]

    def incidence(self, X: np.ndarray) -> tuple[csr_matrix, csr_matrix, csr_matrix]:
        """Features of the split sets: all, those where the set is 0, those where it is 1.

        `X`: a row of every set, shape ``(n_sets, n_features)``, which is that of the three as well.
        """
        rows = np.repeat(np.arange(len(self)), [len(s) for s in self.split_sets])
        features = np.array([f for s in self.split_sets for f in s], np.int64)
        value = X[rows, features].astype(float) if len(rows) else np.zeros(0)

        def member(data: np.ndarray) -> csr_matrix:
            return csr_matrix((data, (rows, features)), shape=(len(self), X.shape[1]))

        return member(np.ones(len(rows))), member(1.0 - value), member(value)


def find_sets(instance: Instance, split_size: int, guard: Callable[[], None]) -> EquivalentSets:
    """Find maximal equivalent-point sets, split sets of one feature first.

    A split set is considered if some pair of hits of different classes differs exactly there; all
    hits that agree outside it are then one set.  Hits without weight are left out.

    `split_size`: largest number of features in a split set.
    """
    hits = np.flatnonzero(instance.weight > 0)
    X, y = instance.is_one[hits], instance.target[hits]
    keys = np.random.default_rng(1).integers(1, 2**63, X.shape[1], dtype=np.uint64)
    # Sums of random numbers tell rows apart; of what they call equal, columns are compared.
    whole = (X * keys).sum(axis=1, dtype=np.uint64)
    split_sets, parts = list[tuple[int, ...]](), list[list[np.ndarray]]()
    for split_set in _differences(X, y, split_size, guard):
        guard()
        # Rows that agree outside the split set, of several classes, every feature of it varying.
        outside = whole - (X[:, split_set] * keys[list(split_set)]).sum(axis=1, dtype=np.uint64)
        order = np.argsort(outside, kind="stable")
        start = np.flatnonzero(np.append(True, np.diff(outside[order]) != 0))
        varies = np.ones(len(start), bool)
        for column in (y, *X.T[list(split_set)]):
            values = column[order]
            varies &= np.maximum.reduceat(values, start) != np.minimum.reduceat(values, start)
        end = np.append(start[1:], len(order))
        for g in np.flatnonzero(varies):
            group = order[start[g] : end[g]]
            if (X[group] != X[group[0]]).any(axis=0).sum() > len(split_set):
                continue
            split_sets.append(split_set)
            parts.append([hits[group[y[group] == k]] for k in np.unique(y[group])])
        if len(parts) >= MOST_SETS:
            break
    groups = [group for part in parts for group in part]
    sizes = np.array([len(group) for group in groups], np.int64)
    members = np.concatenate(groups) if groups else np.zeros(0, np.int64)
    set_of = np.repeat(np.arange(len(parts)), [len(part) for part in parts])
    return EquivalentSets(tuple(split_sets), members, np.cumsum(sizes) - sizes, set_of)


def _differences(
    X: np.ndarray, y: np.ndarray, split_size: int, guard: Callable[[], None]
) -> list[tuple[int, ...]]:
    """Sets of at most `split_size` features in which two rows of different classes differ."""
    found, values = set[tuple[int, ...]](), X.astype(np.float32)
    ones = values.sum(axis=1)
    for start in range(0, len(X), BLOCK_ROWS):
        guard()
        block = slice(start, min(start + BLOCK_ROWS, len(X)))
        distance = ones[block, None] + ones[None, :] - 2 * (values[block] @ values.T)
        near = (distance > 0.5) & (distance < split_size + 0.5) & (y[block, None] != y[None, :])
        i, j = np.nonzero(np.triu(near, start + 1))  # every pair once
        for size in range(1, split_size + 1):
            chosen = np.abs(distance[i, j] - size) < 0.5
            if chosen.any():
                sets = np.nonzero(X[block][i[chosen]] ^ X[j[chosen]])[1].reshape(-1, size)
                found.update(map(tuple, np.unique(sets, axis=0).tolist()))
    return sorted(found, key=lambda s: (len(s), s))


def conflict_groups(instance: Instance) -> list[np.ndarray]:
    """Hits with weight of every pattern that has several classes: the sets for S = {}."""
    used = np.flatnonzero(instance.weight > 0)
    order = used[np.argsort(instance.pattern[used], kind="stable")]
    starts = np.flatnonzero(np.diff(instance.pattern[order])) + 1
    return [hits for hits in np.split(order, starts) if len(hits) > 1]


@dataclass(frozen=True)
class EquivalentForm:
    """Which inequality is used."""

    indicator: str = "recursive"  # ``"basic"``, ``"chain"`` or ``"recursive"``
    disaggregated: bool = True
    """Separate rows for the conditions of one auxiliary variable (tighter)."""
    group_selection: bool = True  # choose one class, instead of only bounding by the largest class


@dataclass(frozen=True, eq=False)
class Indicator:
    """beta of every set at a point, as factors of sums over b."""

    value: np.ndarray  # smallest beta, shape ``(n_sets,)``
    inside: np.ndarray
    left: np.ndarray
    right: np.ndarray
    """`inside`, `left`, `right`: factors of the sum over S, and over the features outside S that
    send the set to the left or right, shape ``(n_branch + 1, n_sets)``."""


class EquivalentPointCuts:
    """Finds violated equivalent-point inequalities without auxiliary variables."""

    kind = "equivalent-points"
    MOST = 100  # most cuts of one call

    def __init__(
        self, layout: TreeLayout, instance: Instance, sets: EquivalentSets, form: EquivalentForm
    ) -> None:
        self.layout, self.instance, self.sets, self.form = layout, instance, sets, form
        self._member_weight = instance.weight[sets.members]
        self._set_start = sets.group_start[
            np.flatnonzero(np.append(True, np.diff(sets.set_of_group) != 0))[: len(sets)]
        ]
        self._classes = np.bincount(sets.set_of_group, minlength=len(sets)).astype(float)
        if len(sets):
            own = np.add.reduceat(self._member_weight, sets.group_start)
            self._group_weight = own
            self._total = np.bincount(sets.set_of_group, own, len(sets))
            self._bound = np.zeros(len(sets))
            np.maximum.at(self._bound, sets.set_of_group, own)
        self._pattern = instance.pattern[sets.members[self._set_start]]
        self._splits, self._zeros, self._ones = sets.incidence(instance.X[self._pattern])

    def indicator(self, point: TreePoint) -> Indicator:
        """Smallest beta of every set at a point and how it is made of sums over b."""
        n_sets, n_branch = len(self.sets), self.layout.n_branch
        inside = np.zeros((n_branch + 1, n_sets))
        inside[1:] = (self._splits @ point.branch.T).T
        if self.form.indicator == "basic":
            ones, none = np.ones_like(inside), np.zeros_like(inside)
            ones[0] = 0.0
            return Indicator(inside.sum(axis=0), ones, none, none)
        left, right = capacities(point, self.instance.values)
        flow = np.zeros((2, n_branch + 1, n_sets))
        flow[0, 1:] = left[:, self._pattern] - (self._zeros @ point.branch.T).T
        flow[1, 1:] = right[:, self._pattern] - (self._ones @ point.branch.T).T
        if self.form.indicator == "chain":
            return self._chain(inside, flow)
        return self._recursive(inside, flow)

    def _chain(self, inside: np.ndarray, flow: np.ndarray) -> Indicator:
        factors = np.zeros((3, *inside.shape))  # inside, left, right
        value = np.zeros(inside.shape[1])
        for m in range(1, self.layout.n_branch + 1):
            steps = [(m >> k, (m >> (k - 1)) & 1) for k in range(1, m.bit_length())]
            terms = np.stack([inside[m], *(flow[side, a] for a, side in steps)])
            places = [(0, m), *((1 + side, a) for a, side in steps)]
            if self.form.disaggregated:
                smallest = terms.argmin(axis=0)
                value += terms.min(axis=0)
                for k, (kind, node) in enumerate(places):
                    factors[kind, node] += smallest == k
            else:
                value += terms.mean(axis=0)
                for kind, node in places:
                    factors[kind, node] += 1 / len(places)
        return Indicator(value, factors[0], factors[1], factors[2])

    def _recursive(self, inside: np.ndarray, flow: np.ndarray) -> Indicator:
        last = 2 ** (self.layout.depth - 1)
        alpha = inside.copy()
        takes_flow = np.zeros((2, *inside.shape), bool)
        for m in range(last - 1, 0, -1):
            for side in (0, 1):
                below = alpha[2 * m + side]
                takes_flow[side, m] = flow[side, m] <= below
                if self.form.disaggregated:
                    alpha[m] += np.minimum(flow[side, m], below)
                else:
                    alpha[m] += 0.5 * (flow[side, m] + below)
        reach, factors = np.zeros_like(inside), np.zeros((2, *inside.shape))
        reach[1:2] = 1.0
        for m in range(1, last):
            for side in (0, 1):
                share = takes_flow[side, m] if self.form.disaggregated else 0.5
                factors[side, m] = share * reach[m]
                reach[2 * m + side] = reach[m] - factors[side, m]
                if not self.form.disaggregated:
                    reach[2 * m + side] = 0.5 * reach[m]
        return Indicator(alpha[1], reach, factors[0], factors[1])

    def separate(self, point: TreePoint, tolerance: float) -> list[Cuts]:
        """Return the most violated inequalities of a point."""
        if not len(self.sets) or not self.layout.n_branch:
            return []
        sets = self.sets
        beta = self.indicator(point)
        hit = point.hit[sets.members]
        by_group = np.add.reduceat(hit * self._member_weight, sets.group_start)
        gained = np.bincount(sets.set_of_group, by_group)
        excess = gained - self._bound - (self._total - self._bound) * beta.value
        # By the length of such a row where weights are 1, so that large sets do not come first.
        excess = excess / np.sqrt(self._total)
        by_choice = np.zeros(len(sets), bool)
        if self.form.group_selection:
            chosen = np.bincount(sets.set_of_group, self._class_level(hit))
            choice = chosen - 1 - (self._classes - 1) * beta.value
            by_choice = choice >= excess
            excess = np.maximum(choice, excess)
        violated = np.flatnonzero(excess > tolerance)
        if len(violated) > self.MOST:
            violated = violated[np.argsort(-excess[violated], kind="stable")[: self.MOST]]
        return self._rows(violated, by_choice[violated], beta, hit) if len(violated) else []

    def _class_level(self, hit: np.ndarray) -> np.ndarray:
        """How correct every class of every set is: its best hit, or its mean when aggregated."""
        start = self.sets.group_start
        if self.form.disaggregated:
            return np.maximum.reduceat(hit, start)
        return np.add.reduceat(hit * self._member_weight, start) / self._group_weight

    def _rows(
        self, chosen: np.ndarray, by_choice: np.ndarray, beta: Indicator, hit: np.ndarray
    ) -> list[Cuts]:
        bound, spare = self._bound[chosen], self._total[chosen] - self._bound[chosen]
        factor = np.where(by_choice, self._classes[chosen] - 1, spare)
        builder = RowBuilder(self.layout, np.where(by_choice, 1.0, bound).tolist())
        first = np.searchsorted(self.sets.set_of_group, chosen)
        ends = np.append(self.sets.group_start[1:], len(self.sets.members))
        for row, j in enumerate(chosen):
            for g in range(first[row], first[row] + int(self._classes[j])):
                part = np.arange(self.sets.group_start[g], ends[g])
                builder.add(row, *self._hit_terms(part, g, hit, bool(by_choice[row])))
        self._add_indicator(builder, chosen, factor, beta)
        j, instance = int(chosen[0]), self.instance
        features = [int(instance.feature[f]) for f in self.sets.split_sets[j]]
        samples = (instance.sample[instance.pattern[hits]] for hits in self.sets.groups(j))
        rows = [int(row) for part in samples for row in part]
        builder.pictures = [{"split_set": features, "rows": rows}]
        return builder.finish(self.kind, LIFE)

    def _hit_terms(
        self, part: np.ndarray, group: int, hit: np.ndarray, by_choice: bool
    ) -> tuple[np.ndarray, np.ndarray]:
        members = self.sets.members[part]
        if not by_choice:
            return self.layout.hit(members), self._member_weight[part]
        if self.form.disaggregated:
            return self.layout.hit(members[[int(hit[part].argmax())]]), np.ones(1)
        return self.layout.hit(members), self._member_weight[part] / self._group_weight[group]

    def _add_indicator(
        self, builder: RowBuilder, chosen: np.ndarray, factor: np.ndarray, beta: Indicator
    ) -> None:
        """Subtract ``factor * beta``, each node through its mass where that has fewer terms."""
        layout = self.layout
        is_one = self.instance.X[self._pattern[chosen]].astype(bool)
        is_split = self._splits[chosen].toarray() > 0
        own = np.arange(len(chosen))
        for m in range(1, layout.n_branch + 1):
            left, right = beta.left[m, chosen], beta.right[m, chosen]
            weights = np.where(is_one, right[:, None], left[:, None])
            weights = np.where(is_split, beta.inside[m, chosen][:, None], weights)
            base = np.where(2 * is_one.sum(axis=1) > layout.n_features, right, left)
            rest = weights - base[:, None]
            r, f = np.nonzero(rest)
            builder.add(r, layout.branch(m, f), -factor[r] * rest[r, f])
            builder.add(own, layout.mass(m), -factor * base)
