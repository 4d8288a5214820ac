"""A proof, line by line, that no tree of a case costs less than a given one.

A *statement* says of a node, the splits above it and the rows that come down there for certain:
their errors and the leaves under the node cost so much.  It is proven by contradiction: under its
negation no split at the node is left, because the statements of both children say too much
together, and no label.  A child needs to say only what its parent asks for; one that asks for the
price of a leaf is said by the formula, and two leaves are closed label by label, by propagation.
Sources: Demirović et al., "Pseudo-Boolean reasoning about states and transitions to certify dynamic
programming and decision diagram algorithms" (CP 2024); for the rules Bogaerts, Gocht, McCreesh and
Nordström, "Certified dominance and symmetry breaking for combinatorial optimisation" (JAIR 2023).
"""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from octcore.errors import ProofError
from octcore.verification.certificates.case import IMPOSSIBLE, Costs, Limits, Sides, Tree
from octcore.verification.certificates.checker import HEADER
from octcore.verification.certificates.formula import Formula, Terms, leaf, negated, p, u, words

SAMPLED = 8  # thresholds of the root whose sweeps are proven to estimate the size of all
PATIENCE = 20.0  # seconds after which no further one is


@dataclass(frozen=True)
class State:
    """A node and what is known there."""

    node: int
    depth: int  # splits that may follow on a path
    limit: int | None
    """Most leaves under the node, or most wrong rows of the class that has a floor; None where no
    tree has more."""
    path: tuple[str, ...]  # literals of the splits above
    rows: np.ndarray  # patterns that come down here for certain
    cost: int  # which the leaves under the node are proven to cost at least


@dataclass(frozen=True)
class Split:
    """A sweep at a node: the literals that are false elsewhere, and lines that exclude it."""

    excluded: str  # the clause that it is elsewhere, without its degree
    sums: list[str]  # what added to the negated statement excludes it, by limits of its sides
    clauses: list[str]  # excluded labels of its children, alone or in pairs, where these are leaves
    used: list[int]  # statements that are not needed again


@dataclass(frozen=True)
class ExcludedCuts:
    """Cuts of one column at the root that one argument of the proof excludes."""

    column: int  # of the encoding
    low: float
    high: float  # `low`, `high`: any threshold from the first number up to, but without, the second
    left: float
    right: float
    """`left`, `right`: what the rows at or below `low`, and those at or above `high`, cost at
    least in a tree of one level less: the share of all weight that is wrong, and the leaves."""


def root_of(costs: Costs, tree: Tree) -> State:
    """State of the root, where everything better than a tree is excluded."""
    case = costs.case
    leaves, everything = case.max_leaves, np.ones(len(case.size), bool)
    limit = None if leaves is None or leaves >= 2**case.depth else leaves
    if case.floor is not None:
        limit = costs.limit_of(everything, case.floor.most_wrong)
    return State(1, case.depth, limit, (), everything, case.cost_of(tree))


def sweeps_of(costs: Costs, state: State) -> list[tuple[int, int, int]]:
    """Column, first and last threshold of what is excluded together at a node."""
    found = []
    for j in _columns_of(costs, state):
        first = 0
        while first < costs.case.n_thresholds[j]:
            last = costs.reach(state.rows, state.depth, state.limit, (j, first), state.cost)
            found.append((j, first, last))
            first = last + 1
    return found


def _columns_of(costs: Costs, state: State) -> Sequence[int]:
    """Which a node may test."""
    case = costs.case
    if not state.depth or (state.limit == 1 and case.floor is None):
        return ()
    if state.node == 1 and case.roots is not None:
        return case.roots
    return range(len(case.rank))


class Proof:
    """Writes a proof of a formula, with the costs of its case; `write` takes every line."""

    def __init__(self, formula: Formula, costs: Costs, write: Callable[[str], None]) -> None:
        self.formula, self.costs, self.case = formula, costs, formula.case
        self.write, self.last_id = write, formula.n_ids
        self._limits: dict[tuple[int, int], tuple[int, int]] = {}
        self._defined: dict[str, tuple[Terms, int]] = {}
        """Literals of more than a limit: the sum and the limit."""
        self._floors: dict[tuple[bytes, int], tuple[int, int, str]] = {}

    def prove(self, tree: Tree) -> None:
        """Write the proof that a tree is optimal, its first and last line included."""
        self.write(f"{HEADER}\nf {self.formula.n_ids}")
        self.write(f"ov {self.formula.solution(tree)}")  # while the whole formula is there
        self._forget_pairs()
        least = self._statement(root_of(self.costs, tree))
        better = self._line(f"o {self.formula.solution(tree, self._defined)}")
        self._line(f"p {least} {better} +")
        self.write(f"c {self.last_id}")

    def estimate(self, tree: Tree) -> tuple[float, float]:
        """Estimate the bytes of `prove` and its seconds from the sweeps of some root thresholds."""
        costs, root = self.costs, root_of(self.costs, tree)
        sizes = self.case.n_thresholds
        places = [(j, t) for j in _columns_of(costs, root) for t in range(sizes[j])]
        n_bytes, covered, begin, seconds = 0, 0, time.monotonic(), 0.0

        def count(line: str) -> None:
            nonlocal n_bytes
            n_bytes += len(line) + 1

        trial = Proof(self.formula, costs, count)
        evenly = np.linspace(0, len(places) - 1, SAMPLED) if places else ()
        for at in sorted({round(at) for at in evenly}):
            j, first = places[at]
            last = costs.reach(root.rows, root.depth, root.limit, (j, first), root.cost)
            trial._split(root, j, first, last)
            covered += last - first + 1
            seconds = time.monotonic() - begin
            if seconds > PATIENCE:
                break
        share = len(places) / max(1, covered)
        return 2 * len(self.formula.solution(tree)) + n_bytes * share, seconds * share

    def _line(self, text: str, n_ids: int = 1) -> int:
        self.write(text)
        self.last_id += n_ids
        return self.last_id

    def _forget_pairs(self) -> None:
        """Of "a node does one thing" keep that no leaf is at a split or above it; more is not used.

        Otherwise everything that tries a split sets all thresholds of all other columns.
        """
        formula = self.formula
        for n in formula.inner:
            for j, size in enumerate(self.case.n_thresholds):
                for k in range(n.bit_length()):
                    self._line(f"u 1 {negated(u(n, j, size))} 1 {negated(leaf(n >> k))} >= 1 ;")
        self.write(f"del id {' '.join(str(least + 1) for least in formula.one.values())}")

    def _statement(self, state: State) -> int:
        """Prove a statement; returns its number."""
        case, formula = self.case, self.formula
        # With too few rows, propagation alone excludes every leaf.
        is_dead = case.size[state.rows].sum() < (case.min_rows or 0)
        splits = [] if is_dead else list(self._splits(state))
        terms: Terms = [] if is_dead else formula.lost(state.rows)
        if case.price:
            terms += [(case.price, leaf(n)) for n in formula.below(state.node)]
        given = list(state.path)
        if more := self._more(state.node, state.rows, state.limit):
            given.append(negated(more))
        elsewhere = words([*terms, *((state.cost, negated(literal)) for literal in given)])
        # VeriPB watches a line from the next propagation on, but nothing in it that is false then.
        # So what came before is propagated here, where nothing is assumed.
        self._line("u >= 0 ;")
        self._line(f"red {elsewhere} >= {state.cost} ; ; begin")
        denied = self._line("proofgoal #1")
        if given:
            denied = self._shortened(denied, given, terms, state.cost)
        for split in splits:
            self._exclude(denied, split)
        for clause in self._labels(state, [(state.node, state.rows)]):
            self._line(f"u {clause} >= 1 ;")
        self._line("u >= 1 ;")
        self.write("c -1\nend")
        proven = self._line("end")
        if used := [number for split in splits for number in split.used]:
            self.write(f"del id {' '.join(map(str, used))}")
        return proven

    def _shortened(self, denied: int, given: list[str], terms: Terms, cost: int) -> int:
        """Replace the negation of a statement by what is given there and a bound on its cost.

        VeriPB counts in machine words what it has read, and what it negated itself in numbers of
        any length, which is what would take most of its time.
        """
        for literal in given:
            self._line(f"u 1 {literal} >= 1 ;")
        least = sum(factor for factor, _ in terms) - cost + 1
        cheap = words((factor, negated(name)) for factor, name in terms)
        self._line(f"red {cheap} >= {least} ; ; begin")
        opposite = self._line("proofgoal #1")
        self._line(f"p {opposite} {denied} +")
        self.write("c -1\nend")
        shorter = self._line("end")
        self.write(f"d {denied - 1} {denied}")
        return shorter

    def _exclude(self, denied: int, split: Split) -> None:
        """Exclude a sweep under the negation of a statement."""
        for line in split.sums:
            self._line(f"p {denied} {line}")
        for clause in (*split.clauses, split.excluded):
            if clause:
                self._line(f"u {clause} >= 1 ;")

    def _splits(self, state: State) -> Iterator[Split]:
        """All splits of a node, their statements proven."""
        node, price = state.node, self.case.price
        if not state.depth:
            return
        if 2 * price >= state.cost:
            if not price:  # no cost is below 0
                return
            both = f"{self._a_leaf(2 * node, price)} {self._a_leaf(2 * node + 1, price)}"
            yield Split("", [both], [], [])
            return
        for sweep in sweeps_of(self.costs, state):
            yield self._split(state, *sweep)

    def _split(self, state: State, column: int, first: int, last: int) -> Split:
        """Prove what excludes the thresholds of a column from the first to the last."""
        costs, node, below = self.costs, state.node, state.depth - 1
        path = (u(node, column, last + 1), *([negated(u(node, column, first))] if first else ()))
        clause = words((1, negated(literal)) for literal in path)
        rank = self.case.rank[column]
        sides = state.rows & (rank <= first), state.rows & (rank > last)
        if not below:
            leaves = [(2 * node + side, rows) for side, rows in enumerate(sides)]
            labels = [f"{clause} {labels}" for labels in self._labels(state, leaves)]
            return Split(clause, [], labels, [])
        pairs = costs.cover(sides, state.depth, state.limit, state.cost)
        if pairs is None:
            raise ProofError("NOT_OPTIMAL", "There is a tree that costs less than claimed.")
        sums, used = [], []
        for limits in pairs:
            least = [
                costs.least(rows, below, limit, state.cost)
                for rows, limit in zip(sides, limits, strict=True)
            ]
            tokens = []
            for side, cost in enumerate(self._shares(state.cost, least, sides)):
                child = 2 * node + side
                if 0 < cost <= self.case.price:
                    tokens.append(self._a_leaf(child, cost))
                elif cost > 0:
                    rows, limit = sides[side], costs.limit_of(sides[side], limits[side])
                    here = (*state.path, *path)
                    used.append(self._statement(State(child, below, limit, here, rows, cost)))
                    tokens.append(f"{used[-1]} +")
            sums.append(" ".join(tokens))
        if self.case.floor is not None and state.limit is not None:
            used += self._shared_floor(state, sides, pairs)
        return Split(clause, sums, [], used)

    def _shared_floor(self, state: State, sides: Sides, pairs: list[Limits]) -> list[int]:
        """Lines that both sides together get no more rows of the class wrong than their parent.

        If the left side gets more wrong than one pair says, the right side has what the next says.
        """
        at_most, _, _ = self._floor(state.rows, state.limit)
        found = []
        for at in range(len(pairs) + 1):
            limits = pairs[at - 1][0] if at else None, pairs[at][1] if at < len(pairs) else None
            more = [
                f"{self._floor(rows, limit)[1]} +"
                for rows, limit in zip(sides, limits, strict=True)
                if self.costs.limit_of(rows, limit) is not None
            ]
            if more:
                found.append(self._line(f"p {at_most} {' '.join(more)}"))
        return found

    def _shares(self, cost: int, least: list[int], sides: Sides) -> tuple[int, int]:
        """What each side has to say: one alone, or the larger one no more than it must."""
        price, left_is_larger = self.case.price, sides[0].sum() > sides[1].sum()
        alone = cost - price
        if least[0] >= alone and (least[1] < alone or not left_is_larger):
            return alone, price
        if least[1] >= alone:
            return price, alone
        return (cost - least[1], least[1]) if left_is_larger else (least[0], cost - least[0])

    def _labels(self, state: State, leaves: list[tuple[int, np.ndarray]]) -> list[str]:
        """Clauses that exclude labels of one leaf or two, until those left cost enough.

        All rows whose label is excluded are wrong, whatever the leaf says: the labels with most
        weight come first.  Beside a label those of the other leaf are excluded in the same way.
        """
        weight = [(rows @ self.case.weight).tolist() for _, rows in leaves]
        own = [self.costs.of_labels(rows, state.limit) for _, rows in leaves]
        left = [sorted(range(len(of)), key=of.__getitem__) for of in weight]
        has_too_few = [min(of) >= IMPOSSIBLE for of in own]
        least = [IMPOSSIBLE if few else self.case.price for few in has_too_few]
        found = []
        while sum(least) < state.cost and max(map(len, left)) > 1:
            side = max(range(len(left)), key=lambda i: (len(left[i]) > 1, weight[i][left[i][-1]]))
            k = left[side].pop()
            excluded = f"1 {negated(p(leaves[side][0], k))}"
            cost = sum(least) - least[side] + own[side][k]
            other = side ^ 1
            for h in left[other][:0:-1] if len(left) > 1 else ():
                if cost < state.cost:
                    found.append(f"{excluded} 1 {negated(p(leaves[other][0], h))}")
                cost += weight[other][h]
            found.append(excluded)
            least[side] += weight[side][k]
        return found

    def _a_leaf(self, node: int, cost: int) -> str:
        """There is a leaf under a node, or above it; times a cost."""
        return f"{self.formula.one[node << (self.case.depth + 1 - node.bit_length())]} {cost} * +"

    def _more(self, node: int, rows: np.ndarray, limit: int | None) -> str:
        """The literal of more than a limit, defined; empty where the formula itself keeps it."""
        limit = self.costs.limit_of(rows, limit)
        if limit is None:
            return ""
        if self.case.floor is not None:
            return self._floor(rows, limit)[2]
        self._limit(node, limit)
        return "" if node == 1 else _more(node, limit)

    def _floor(self, rows: np.ndarray, limit: int | None) -> tuple[int, int, str]:
        """Define "more wrong rows of the class than so many"; the two lines and the literal."""
        assert limit is not None
        if rows.all():
            return self.formula.limit_id, 0, ""
        key = np.packbits(rows).tobytes(), limit
        if key not in self._floors:
            more = f"g{len(self._floors)}_{limit}"
            self._floors[key] = *self._define(more, self.formula.wrong(rows), limit), more
        return self._floors[key]

    def _define(self, more: str, own: Terms, limit: int) -> tuple[int, int]:
        """Define a literal that is true where a sum is more than a limit; the two lines."""
        self._defined[more] = own, limit
        least = sum(factor for factor, _ in own) - limit
        few = words([(least, more), *((factor, "~" + name) for factor, name in own)])
        at_most = self._line(f"red {few} >= {least} ; {more} -> 1")
        many = words([(limit + 1, "~" + more), *own])
        return at_most, self._line(f"red {many} >= {limit + 1} ; {more} -> 0")

    def _limit(self, node: int, leaves: int) -> tuple[int, int]:
        """Define "more leaves under a node than so many"; returns the two lines that say it.

        With it go the lines that more on the left and more on the right are more together.
        """
        if (node, leaves) in self._limits:
            return self._limits[node, leaves]
        at_most, some = self.formula.limit_id, 0
        if node > 1:
            own: Terms = [(1, leaf(n)) for n in self.formula.below(node)]
            at_most, some = self._define(_more(node, leaves), own, leaves)
        self._limits[node, leaves] = at_most, some
        full = 2 ** (self.case.depth - node.bit_length())
        for left in range(leaves):
            sides = left, leaves - 1 - left
            if max(sides) < full:
                lines = [
                    f"{self._limit(2 * node + side, count)[1]} +" if count
                    else self._a_leaf(2 * node + side, 1)
                    for side, count in enumerate(sides)
                ]  # fmt: skip
                self._line(f"p {at_most} {' '.join(lines)}")
        return at_most, some


def _more(node: int, leaves: int) -> str:
    return f"g{node}_{leaves}"
