"""The trees of a case as a pseudo-Boolean formula: its solutions are trees, its goal their cost.

Nodes are numbered from 1, the children of n are 2n and 2n + 1, and the variables are

``u{n}_{j}_{s}``
    node n splits on column j at one of its first s thresholds;
``l{n}``
    node n is a leaf;
``p{n}_{k}``
    node n is a leaf with label k;
``r{x}_{n}``
    the rows of pattern x arrive at node n;
``z{x}_{k}``
    the rows of pattern x and label k are wrong.

Every node splits, is a leaf or lies below one.  Of the T thresholds of a column, q lie below the
value of a row: it goes right where the split is at one of the first q, and left where it is at one
of the others.
"""

import json
from collections.abc import Iterable, Mapping
from functools import cached_property

import numpy as np

from octcore.verification.certificates.case import Case, Tree

Terms = list[tuple[int, str]]  # coefficients and literals; ``~`` negates


def leaf(node: int) -> str:
    """A leaf, whatever its label."""
    return f"l{node}"


def p(node: int, label: int) -> str:
    """A leaf with a label."""
    return f"p{node}_{label}"


def u(node: int, column: int, number: int) -> str:
    """A split at one of the first thresholds of a column."""
    return f"u{node}_{column}_{number}"


def z(pattern: int, label: int) -> str:
    """Wrong rows."""
    return f"z{pattern}_{label}"


def arrives(pattern: int, node: int) -> str:
    """Rows at a node."""
    return f"r{pattern}_{node}"


def negated(literal: str) -> str:
    """The opposite literal."""
    return literal[1:] if literal[0] == "~" else "~" + literal


def words(terms: Iterable[tuple[int, str]]) -> str:
    """Terms as both file formats write them."""
    return " ".join(f"{factor} {literal}" for factor, literal in terms)


class Formula:
    """Constraints of a case, with the numbers by which a proof names them."""

    def __init__(self, case: Case) -> None:
        self.case = case
        self.lines: list[str] = []
        self.n_ids = 0  # constraints as proofs count them: an equation is two
        self.one: dict[int, int] = {}
        """By node: the constraint that it splits, is a leaf or lies below one."""
        self.limit_id = 0
        """The constraint on the leaves, or on the wrong rows of a class, where there is one."""
        counted = case.weight > 0
        if case.floor is not None:
            counted[:, case.floor.label] |= case.floor.rows > 0
        self.groups = [(int(x), int(k)) for x, k in np.argwhere(counted)]
        self._write_nodes()
        self._write_rows()
        self._write_limits()

    @cached_property
    def inner(self) -> range:
        """Nodes that may split."""
        return range(1, 2**self.case.depth)

    @cached_property
    def nodes(self) -> range:
        """All nodes."""
        return range(1, 2 ** (self.case.depth + 1))

    def below(self, node: int) -> list[int]:
        """A node and all under it."""
        return [m for m in self.nodes if m >> max(0, m.bit_length() - node.bit_length()) == node]

    @cached_property
    def cost(self) -> Terms:
        """What is minimised."""
        price, of_rows = self.case.price, self.lost(np.ones(len(self.case.size), bool))
        return of_rows + ([(price, leaf(n)) for n in self.nodes] if price else [])

    def lost(self, rows: np.ndarray) -> Terms:
        """Weight of the wrong rows of some patterns."""
        weight = self.case.weight
        return [(int(weight[x, k]), z(x, k)) for x, k in self.groups if rows[x] and weight[x, k]]

    def wrong(self, rows: np.ndarray) -> Terms:
        """Wrong rows of the class that has a floor, of some patterns."""
        floor = self.case.floor
        assert floor is not None
        at = np.flatnonzero(rows & (floor.rows > 0)).tolist()
        return [(int(floor.rows[x]), z(x, floor.label)) for x in at]

    @cached_property
    def variables(self) -> list[str]:
        """All variables."""
        places = [(j, s + 1) for j, size in enumerate(self.case.n_thresholds) for s in range(size)]
        splits = [u(n, *place) for n in self.inner for place in places]
        leaves = [leaf(n) for n in self.nodes]
        labels = [p(n, k) for n in self.nodes for k in range(self.case.n_labels)]
        rows = [arrives(x, n) for x in range(len(self.case.size)) for n in self.nodes if n > 1]
        return splits + leaves + labels + rows + [z(x, k) for x, k in self.groups]

    def text(self) -> str:
        """The formula in the format OPB; comments say what columns and labels are."""
        case = self.case
        columns = [
            f"* column {j} = {json.dumps(name)}, right above {' '.join(map(repr, at.tolist()))}"
            for j, (name, at) in enumerate(zip(case.names, case.thresholds, strict=True))
        ]
        labels = [f"* label {k} = {json.dumps(name)}" for k, name in enumerate(case.labels)]
        head = f"* #variable= {len(self.variables)} #constraint= {len(self.lines)}"
        goal = f"min: {words(self.cost)} ;"
        return "\n".join([head, *columns, *labels, goal, *self.lines]) + "\n"

    def solution(self, tree: Tree, defined: Mapping[str, tuple[Terms, int]] | None = None) -> str:
        """The tree as literals of all variables.

        `defined`: further ones, each true where a sum is more than a number.
        """
        true: set[str] = set()
        self._add_solution(true, 1, tree, np.ones(len(self.case.size), bool))
        defined = defined or {}
        more = {
            name
            for name, (terms, limit) in defined.items()
            if sum(factor for factor, literal in terms if literal in true) > limit
        }
        names = [*self.variables, *defined]
        return " ".join(name if name in true | more else "~" + name for name in names)

    def _add_solution(self, true: set[str], node: int, tree: Tree | None, rows: np.ndarray) -> None:
        true |= {arrives(x, node) for x in np.flatnonzero(rows).tolist()}
        if isinstance(tree, tuple):
            j, number, left, right = tree
            true |= {u(node, j, s) for s in range(number, self.case.n_thresholds[j] + 1)}
            goes_left = self.case.rank[j] < number
            self._add_solution(true, 2 * node, left, rows & goes_left)
            self._add_solution(true, 2 * node + 1, right, rows & ~goes_left)
            return
        if tree is not None:
            true |= {leaf(node), p(node, tree)}
            true |= {z(x, k) for x, k in self.groups if rows[x] and k != tree}
        if node in self.inner:  # without a split rows arrive on both sides
            self._add_solution(true, 2 * node, None, rows)
            self._add_solution(true, 2 * node + 1, None, rows)

    def _add(self, terms: Terms, least: int, relation: str = ">=") -> int:
        self.lines.append(f"{words(terms)} {relation} {least} ;")
        self.n_ids += 2 if relation == "=" else 1
        return self.n_ids

    def _write_nodes(self) -> None:
        sizes = self.case.n_thresholds
        for n in self.nodes:
            splits = [u(n, j, size) for j, size in enumerate(sizes) if n in self.inner]
            leaves = [leaf(n >> k) for k in range(n.bit_length())]
            self.one[n] = self._add([(1, name) for name in splits + leaves], 1, "=") - 1
            labels = [(1, p(n, k)) for k in range(self.case.n_labels)]
            self._add([*labels, (1, "~" + leaf(n))], 1, "=")
        for n in self.inner:
            for j, size in enumerate(sizes):
                for s in range(1, size):
                    self._add([(1, "~" + u(n, j, s)), (1, u(n, j, s + 1))], 1)

    def _write_rows(self) -> None:
        # By column, although one sum over all would do: no other column has to be looked at then.
        for n in self.inner:
            for x, ranks in enumerate(self.case.rank.T.tolist()):
                here = [(1, "~" + arrives(x, n))] if n > 1 else []
                left, right = [(1, arrives(x, child)) for child in (2 * n, 2 * n + 1)]
                for j, (q, size) in enumerate(zip(ranks, self.case.n_thresholds, strict=True)):
                    below = [(1, u(n, j, q))] if q else []
                    if q < size:
                        self._add([left, *here, (1, "~" + u(n, j, size)), *below], 1)
                    if q:
                        self._add([right, *here, (1, "~" + u(n, j, q))], 1)
        for x, k in self.groups:
            for n in self.nodes:
                here = [(1, "~" + arrives(x, n))] if n > 1 else []
                self._add([(1, z(x, k)), *here, (1, "~" + leaf(n)), (1, p(n, k))], 1)

    def _write_limits(self) -> None:
        case = self.case
        if case.roots is not None:
            self._add([(1, u(1, j, case.n_thresholds[j])) for j in case.roots], 1)
        if case.max_leaves is not None:
            least = len(self.nodes) - case.max_leaves
            self.limit_id = self._add([(1, "~" + leaf(n)) for n in self.nodes], least)
        if case.floor is not None:
            wrong = self.wrong(np.ones(len(case.size), bool))
            least = sum(factor for factor, _ in wrong) - case.floor.most_wrong
            self.limit_id = self._add([(factor, "~" + name) for factor, name in wrong], least)
        if case.min_rows is not None:
            self._write_sizes(case.min_rows)

    def _write_sizes(self, least: int) -> None:
        """Rows arrive only where they come down to, and every leaf has enough of them."""
        case = self.case
        for n in self.inner:
            for x, ranks in enumerate(case.rank.T.tolist()):
                left, right = "~" + arrives(x, 2 * n), "~" + arrives(x, 2 * n + 1)
                for child in (left, right) if n > 1 else ():
                    self._add([(1, child), (1, arrives(x, n))], 1)
                for j, q in enumerate(ranks):
                    if q:
                        self._add([(1, left), (1, "~" + u(n, j, q))], 1)
                    if q < case.n_thresholds[j]:
                        below = [(1, u(n, j, q))] if q else []
                        self._add([(1, right), (1, "~" + u(n, j, case.n_thresholds[j])), *below], 1)
        for n in self.nodes:
            rows = [(int(size), arrives(x, n)) for x, size in enumerate(case.size) if size]
            if n > 1:
                self._add([*rows, (least, "~" + leaf(n))], least)
