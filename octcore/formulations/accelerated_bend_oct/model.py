"""The model of accelerated BendOCT: the BendOCT master and the techniques that are switched on."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyomo.environ as pyo

from octcore.formulations.accelerated_bend_oct.accelerations import equivalent_form
from octcore.formulations.shared.benders import (
    ReducedProblem,
    TreeVariables,
    make_master,
)
from octcore.formulations.shared.benders_search import (
    LinkedSeparator,
    TopDownBranching,
    TreeReader,
    cut_tolerance,
    renumbered,
)
from octcore.formulations.shared.fixing import FIXING
from octcore.formulations.shared.root_values import RootValues
from octcore.formulations.shared.rows import linear
from octcore.formulations.shared.univariate import UnivariateObjective
from octcore.program import ENDLESS, Child, Columns, Cuts, Patience, PyomoModel, SearchState
from octcore.separation.equivalent_points import EquivalentForm, EquivalentPointCuts
from octcore.separation.equivalent_sets import conflict_groups, find_sets
from octcore.separation.max_flow import BendersCuts
from octcore.separation.path_bound import PathBoundCuts, PathBoundForms, TreePath
from octcore.separation.probing import PathProbe
from octcore.separation.tree_rows import Instance, TreePoint
from octcore.separation.value_rows import ValueRows
from octcore.tree.tree import Tree
from octcore.warmstart.amending import amended
from octcore.warmstart.greedy import greedy_starts
from octcore.warmstart.polishing import Polisher, SubtreeCache


@dataclass(frozen=True, eq=False)
class Tools:
    """What the techniques share; there is one cache of subtrees for all of them."""

    reduced: ReducedProblem
    objective: UnivariateObjective
    forms: PathBoundForms | None
    """Of path bound cuts."""

    @property
    def params(self) -> Mapping[str, Any]:
        """The switches."""
        return self.reduced.problem.params

    @cached_property
    def cache(self) -> SubtreeCache:
        """Best subtrees of depth two."""
        instance = self.reduced.instance
        X = instance.X[instance.pattern]
        return SubtreeCache(
            X, instance.target, instance.weight, instance.n_classes, self.objective.penalty
        )

    @cached_property
    def polisher(self) -> Polisher:
        """Solution polishing."""
        problem, instance = self.reduced.problem, self.reduced.instance
        X = problem.X[instance.sample[instance.pattern]]
        return Polisher(self.cache, X, instance.feature, problem.depth)

    def starts(self, patience: Patience = ENDLESS) -> Iterator[tuple[str, Tree]]:
        """Yield greedy trees, then polished ones where that is on, and amended ones."""
        greedy: list[Tree] = []
        for source, tree in greedy_starts(self.reduced.problem, self.objective.penalty):
            greedy.append(tree)
            yield source, tree
        # Polishing may have to load compiled kernels first, so the quick trees are out by then.
        for tree in greedy if self.params["solution_polishing"] else ():
            yield "polish", self.polisher.improve(tree)
        for tree in amended(self.reduced.problem, self.objective.penalty, greedy, patience):
            yield "warm start", tree


def build_model(tools: Tools, guard: Callable[[], None]) -> PyomoModel:
    """Build the master problem with its separators."""
    reduced, params = tools.reduced, tools.params
    penalty, strict = tools.objective.penalty, params["strengthened_cuts"]
    model, variables = make_master("AcceleratedBendOCT", reduced, penalty, guard, strict)
    form = equivalent_form(params)
    if form is not None and not reduced.all_pairs:
        _add_conflicts(model, reduced.instance, form)
    found = None
    if params["search_start"] or any(params[flag.name] for flag in FIXING):
        found = RootValues(reduced.problem, tools.objective, guard)
        found.fix(model, model.b, variables.features, (tree for _, tree in tools.starts()))
    guard()
    tools.cache.guard = guard
    cuts = AcceleratedCuts(tools, guard)
    reader = TreeReader(reduced, variables)
    separator = LinkedSeparator(variables, cuts.find)
    return PyomoModel(
        model=model,
        read_tree=reader.read,
        start_values=reader.start_values,
        separators=(separator,),
        branching=TopDownBranching(variables),
        rounding=reader.read,
        starts=() if found is None else found.starts,
        values={} if found is None else found.record,
        node_rows=lambda columns, lower, upper: renumbered(
            cuts.enter(upper[variables.positions(columns)]),
            variables.positions(columns),
            columns.n_columns,
        ),
        probing=_probing(tools, variables) if tools.forms and params["probing"] else None,
    )


def _probing(
    tools: Tools, variables: TreeVariables
) -> Callable[[Columns, np.ndarray, np.ndarray, float], tuple[float, Child]]:
    """Probe the splits of nodes whose path is decided, in terms of the objective."""
    objective, layout = tools.objective, tools.reduced.layout
    probe = PathProbe(layout, tools.reduced.instance, tools.cache.value, objective.penalty)

    def probing(
        columns: Columns, lower: np.ndarray, upper: np.ndarray, needed: float
    ) -> tuple[float, Child]:
        positions = variables.positions(columns)
        bound, refused = probe(upper[positions], objective.to_count(needed))
        refused = positions[refused]
        return objective.from_count(bound), (refused, lower[refused], np.zeros(len(refused)))

    return probing


def _add_conflicts(model: Any, instance: Instance, form: EquivalentForm) -> None:
    """Hits of one pattern have one label: S = {} of the equivalent-point inequalities."""
    groups = conflict_groups(instance)

    def conflict(model: Any, r: int) -> Any:
        hits = groups[r]
        if form.group_selection:
            return pyo.quicksum(model.theta[int(h)] for h in hits) <= 1
        weight = instance.weight[hits]
        gained = linear(weight.tolist(), [model.theta[int(h)] for h in hits])
        return gained <= float(weight.max())

    model.conflicts = pyo.Constraint(
        range(len(groups)),
        rule=conflict,
        doc="(17), (22) with beta = 0: rows with equal features get one class",
    )


class AcceleratedCuts:
    """Runs the separators in the order in which they pay off."""

    def __init__(self, tools: Tools, guard: Callable[[], None]) -> None:
        params, instance = tools.params, tools.reduced.instance
        layout, penalty = tools.reduced.layout, tools.objective.penalty
        self.layout, self.instance = layout, instance
        self.benders = BendersCuts(layout, instance, params["strengthened_cuts"])
        self.equivalent = self.paths = self.values = None
        form = equivalent_form(params)
        if form is not None and params["eqp_split_size"] and layout.n_features:
            sets = find_sets(instance, params["eqp_split_size"])
            guard()
            self.equivalent = EquivalentPointCuts(layout, instance, sets, form)
        if tools.forms is not None and layout.depth >= 2:
            self.paths = PathBoundCuts(layout, instance, tools.cache.subtree, penalty, tools.forms)
        if params["value_row"]:
            self.values = ValueRows(layout, instance, tools.cache.values_by_root, penalty)
        self._entered = False
        self._written: set[tuple[tuple[int, int, int], ...]] = set()

    def enter(self, upper: np.ndarray) -> list[Cuts]:
        """Rows of the paths that the bounds of a node decide, written once each."""
        found: list[Cuts] = []
        if self.values is not None:
            found += self.values.decided(upper)
        if self.paths is None:
            return found
        paths = [] if self._entered else [TreePath.root(self.instance)]
        self._entered = True
        for path in self.paths.fixed_paths(upper):
            if path.steps not in self._written:
                self._written.add(path.steps)
                paths.append(path)
        return found + self.paths.rows(paths)

    def find(self, point: TreePoint, state: SearchState) -> list[Cuts]:
        """Violated rows of all families; path bounds first, for they make others needless."""
        tolerance = cut_tolerance(state)
        found: list[Cuts] = []
        if self.values is not None:
            found += self.values.separate(point)
            if not state.is_integral:
                # Value rows close the gap; fractional cuts would only slow the programs down.
                return found
        if self.paths is not None:
            found += self.paths.separate(point)
        if found and not state.is_root:
            return found
        if self.equivalent is not None:
            found += self.equivalent.separate(point, 10 * tolerance)
        return found + self.benders.separate(point, tolerance, state.is_integral)
