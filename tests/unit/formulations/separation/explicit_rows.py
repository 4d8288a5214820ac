"""Equivalent-point inequalities with their auxiliary variables, as they are published.

The projected cuts of `equivalent_points` must say the same.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from octcore.formulations.shared.separation.equivalent_points import EquivalentForm, EquivalentSets
from octcore.formulations.shared.separation.tree_rows import Instance, RowBuilder, TreeLayout
from octcore.program import Cuts


@dataclass(frozen=True, eq=False)
class ExplicitRows:
    """Rows over the variables of a layout and auxiliary variables in [0, 1] behind them.

    Parameters
    ----------
    rows : Cuts
        Inequalities; there may be none.
    binary : numpy.ndarray
        Which auxiliary variables must be binary, shape ``(n_auxiliary,)``.
    """

    rows: Cuts | None
    binary: np.ndarray


@dataclass
class _Writer:
    layout: TreeLayout
    instance: Instance
    form: EquivalentForm
    builder: RowBuilder
    binary: list[bool] = field(default_factory=list)
    shared: dict[tuple[int, ...], int] = field(default_factory=dict)

    def new(self, binary: bool = False) -> int:
        """Open an auxiliary variable and return its position."""
        self.binary.append(binary)
        return self.layout.n_variables + len(self.binary) - 1

    def at_most(self, factor: float, variable: int, *sums: np.ndarray) -> None:
        """Write ``factor * variable <= sum of the given variables``."""
        row = self.builder.open_row(0.0)
        self.builder.add(row, variable, factor)
        for positions in sums:
            self.builder.add(row, positions, -1.0)

    def inside(self, split_set: tuple[int, ...], node: int) -> np.ndarray:
        """Tests of a split set at a node."""
        return self.layout.branch(node, np.array(split_set))

    def way(self, split_set: tuple[int, ...], pattern: int, node: int, side: int) -> np.ndarray:
        """Tests outside a split set that send a pattern to one side."""
        features = np.flatnonzero(self.instance.X[pattern] == side)
        return self.layout.branch(node, np.setdiff1d(features, split_set))

    def basic(self, split_set: tuple[int, ...]) -> list[int]:
        """beta, shared by all sets of a split set."""
        if split_set not in self.shared:
            beta = self.shared[split_set] = self.new()
            nodes = range(1, self.layout.n_branch + 1)
            self.at_most(1.0, beta, *(self.inside(split_set, m) for m in nodes))
        return [self.shared[split_set]]

    def chain(self, split_set: tuple[int, ...], pattern: int) -> list[int]:
        """One alpha per node; beta is their sum."""
        alphas = []
        for m in range(1, self.layout.n_branch + 1):
            steps = [(m >> k, (m >> (k - 1)) & 1) for k in range(1, m.bit_length())]
            terms = [self.inside(split_set, m)]
            terms += [self.way(split_set, pattern, a, side) for a, side in steps]
            alphas.append(self.new(binary=not self.form.disaggregated))
            self.all_of(alphas[-1], terms)
        return alphas

    def recursive(self, split_set: tuple[int, ...], pattern: int) -> list[int]:
        """Alpha of the root; deeper ones arrive through the way of the pattern."""
        last = 2 ** (self.layout.depth - 1)
        alpha = {m: self.new() for m in range(1, self.layout.n_branch + 1)}
        for m in alpha:
            arrivals = []
            for side in (0, 1) if m < last else ():
                arrivals.append(self.new(binary=not self.form.disaggregated))
                way = self.way(split_set, pattern, m, side)
                self.all_of(arrivals[-1], [way, np.array([alpha[2 * m + side]])])
            self.at_most(1.0, alpha[m], self.inside(split_set, m), np.array(arrivals, np.int64))
        return [alpha[1]]

    def all_of(self, variable: int, terms: list[np.ndarray]) -> None:
        """Bound a variable by every term, or by their mean when aggregated."""
        if self.form.disaggregated:
            for positions in terms:
                self.at_most(1.0, variable, positions)
        else:
            self.at_most(float(len(terms)), variable, *terms)

    def bound(self, groups: list[np.ndarray], beta: list[int]) -> None:
        """Bound the weight of a set by its largest class."""
        weights = [self.instance.weight[group] for group in groups]
        largest = max(float(weight.sum()) for weight in weights)
        total = float(sum(weight.sum() for weight in weights))
        row = self.builder.open_row(largest)
        for group, weight in zip(groups, weights, strict=True):
            self.builder.add(row, self.layout.hit(group), weight)
        self.builder.add(row, np.array(beta), -(total - largest))

    def choose(self, groups: list[np.ndarray], beta: list[int]) -> None:
        """Choose one class of a set."""
        chosen = [self.new() for _ in groups]
        row = self.builder.open_row(1.0)
        self.builder.add(row, np.array(chosen), 1.0)
        self.builder.add(row, np.array(beta), -(len(groups) - 1.0))
        for group, variable in zip(groups, chosen, strict=True):
            weight = self.instance.weight[group]
            if self.form.disaggregated:
                for hit in group:
                    row = self.builder.open_row(0.0)
                    self.builder.add(row, [self.layout.hit(hit), variable], [1.0, -1.0])
            else:
                row = self.builder.open_row(0.0)
                self.builder.add(row, self.layout.hit(group), weight)
                self.builder.add(row, variable, -float(weight.sum()))


def explicit_rows(
    layout: TreeLayout, instance: Instance, sets: EquivalentSets, form: EquivalentForm
) -> ExplicitRows:
    """Write all equivalent-point inequalities with auxiliary variables.

    Parameters
    ----------
    layout : TreeLayout
        Variables.
    instance : Instance
        Patterns and hits.
    sets : EquivalentSets
        From `find_sets`.
    form : EquivalentForm
        Which inequality; the bounded form comes along with group selection.
    """
    writer = _Writer(layout, instance, form, RowBuilder(layout))
    for j, split_set in enumerate(sets.split_sets):
        groups = sets.groups(j)
        pattern = int(instance.pattern[groups[0][0]])
        if form.indicator == "basic":
            beta = writer.basic(split_set)
        elif form.indicator == "chain":
            beta = writer.chain(split_set, pattern)
        else:
            beta = writer.recursive(split_set, pattern)
        writer.bound(groups, beta)
        if form.group_selection:
            writer.choose(groups, beta)
    extra = replace(layout, n_hits=layout.n_hits + len(writer.binary))  # they stand behind the hits
    found = replace(writer.builder, layout=extra).finish("equivalent-points", None)
    return ExplicitRows(found[0] if found else None, np.array(writer.binary, bool))
