"""Accelerated BendOCT: the BendOCT master with inequalities, cutting planes and polishing.

The model is that of BendOCT.  Every technique of the paper is a switch: equivalent-point
inequalities (`eqp`), path bound cutting planes (`path_bound_cuts`), solution polishing and the
strengthened Benders cuts (off by default, as in the paper's best setting).  `probing` stands
between: a solver's probing of the equation "one decision per node", by the paper's path bounds, but
of paths that no linear program has chosen yet.  Three switches are ours: a start from exact search,
value rows, and the fixing of root features.

Equation numbers are the paper's: master (4), Benders cuts (9), (10), strengthened (12), equivalent
points (13) to (22), path bounds (23) to (26).

Differences from the paper: HiGHS' linear programs under an own branch and cut instead of Gurobi;
equivalent-point rows are separated with their auxiliary variables projected out; where a side
constraint couples subtrees, path bound cuts take a form that stays valid (`objective form`).
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyomo.environ as pyo

from octcore.errors import SettingsError
from octcore.formulations.base import ACCELERATIONS, FormulationInfo, TeachingText, formulation
from octcore.formulations.shared import benders, constraint_kinds
from octcore.formulations.shared.root_values import FEATURE_FIXING, RootValues, proof_method
from octcore.formulations.shared.separation import equivalent_points, path_bound
from octcore.formulations.shared.separation.max_flow import BendersCuts
from octcore.formulations.shared.separation.tree_rows import Instance, TreePoint
from octcore.formulations.shared.tree_model import linear
from octcore.formulations.shared.univariate import REGULARISERS, UnivariateObjective
from octcore.parameters import Choice, Flag, IntRange
from octcore.program import (
    ENDLESS,
    Capability,
    Child,
    Columns,
    Cuts,
    Patience,
    Problem,
    Program,
    PyomoModel,
    SearchState,
)
from octcore.tree.tree import Tree
from octcore.warmstart.amending import amended
from octcore.warmstart.greedy import greedy_starts
from octcore.warmstart.polishing import Polisher, SubtreeCache


@dataclass(frozen=True)
class Switch(Choice):
    """A switch with a third state: on wherever it is valid."""

    options: tuple[str, ...] = ("auto", "on", "off")

    def check(self, value: object) -> str | None:
        """Accept the three words and the usual words for yes and no."""
        text = str(value).strip().lower()
        if text in self.options:
            return text
        try:
            return "on" if Flag(self.name, False).check(value) else "off"
        except SettingsError:
            return super().check(value)


INFO = FormulationInfo(
    key="accelerated-bend-oct",
    place=40,
    rank=3,
    title="Accelerated BendOCT",
    summary=(
        "BendOCT with ideas of dynamic programming: rows that only a few features tell apart, and "
        "optimal subtrees of depth two, become cuts. Each technique can be switched off."
    ),
    reference=ACCELERATIONS,
    needs_binary_features=True,
    hyperparameters=(
        *REGULARISERS,
        Flag(
            "strengthened_cuts",
            False,
            "",
            "Benders cuts at terminal nodes count half a wrong turn and half the sibling's label; "
            "labels become binary.",
        ),
        Flag(
            "solution_polishing",
            True,
            "",
            "Replace the lowest two levels of every tree that is found by the optimal ones.",
        ),
        Choice(
            "eqp",
            "recursive",
            "β(J)",
            "Equivalent-point inequalities; the later word is the tighter sign of a separation.",
            options=("off", "basic", "chain", "recursive"),
        ),
        Flag(
            "eqp_disaggregated", True, "", "One row per condition instead of their sum (tighter)."
        ),
        Flag(
            "eqp_group_selection", True, "gₖ", "Choose one class per set, not only bound the set."
        ),
        IntRange("eqp_split_size", 2, "|S|", "Most features in a split set.", low=0, high=3),
        Flag("path_bound_cuts", True, "", "Cuts from optimal subtrees of depth two below a path."),
        Switch(
            "bound_negative_samples",
            "auto",
            "J⁻",
            "Bound only the rows that the best subtree gets wrong; auto: unless a side constraint "
            "makes that invalid.",
        ),
        Switch(
            "bound_structure",
            "auto",
            "",
            "Demand the best subtree itself below a path; auto: unless a side constraint makes "
            "that invalid.",
        ),
        Flag(
            "probing",
            True,
            "",
            "As a solver probes: below a decided path, try every split of the next node by the "
            "path bounds of its two sides, and exclude those that cannot improve on the best tree.",
        ),
        Flag(
            "search_start", False, "", "Ours: start from the tree of the exact search (10 seconds)."
        ),
        Flag(
            "value_row", False, "V(f)", "Ours: rows with the exact value of every split of a node."
        ),
        FEATURE_FIXING,
    ),
    constraints=constraint_kinds.ALL,
    has_costs=True,
    capabilities=(Capability.SEPARATION,),
    equations=(
        (
            r"\sum_k g_k \le 1 + (q - 1)\,\beta_J,\quad \theta_i \le g_{y_i}",
            "equivalent points: only one class is correct unless the tree separates them",
        ),
        (
            r"\sum_{i \in J^-} \theta_i \le |J^-|\,\mathrm{relax}(P)",
            "path bound: below a fixed path the best subtree of depth two decides",
        ),
        (
            r"\sum_{i \in P} \theta_i - a \sum_{m \succeq u} p_m \le \sum_g V_g b_{ug} + V p_u + "
            r"M\,\mathrm{relax}(P)",
            "value row (ours): every split of a node is worth at most its exact value",
        ),
    ),
    teaching=TeachingText(
        "Accelerated BendOCT",
        "BendOCT with help: stronger cuts, subtrees solved exactly, and the fact that points which "
        "look the same must go the same way.",
        "The same optimum again, with a bound that falls much faster. Compare the gap curves.",
    ),
    good_at="Shows which idea closes the gap: switch the techniques on one by one and watch it.",
)


@formulation(INFO)
def build(problem: Problem) -> Program:
    """Make the program.

    Raises `SettingsError` if the switches contradict each other or the side constraints.
    """
    objective = UnivariateObjective(problem)
    reduced = benders.reduce_problem(problem)
    tools = Tools(reduced, objective, path_bound_forms(problem.params, reduced.couples))
    return objective.program(
        size=benders.estimate_size(reduced),
        build=lambda guard: build_model(tools, guard),
        bound=objective.ceiling,
        starts=tools.starts,
        improve=tools.polished if problem.params["solution_polishing"] else None,
        method=proof_method(problem),
    )


def equivalent_form(params: Mapping[str, Any]) -> equivalent_points.EquivalentForm | None:
    """Form of the equivalent-point inequalities; None for none."""
    if params["eqp"] == "off":
        return None
    return equivalent_points.EquivalentForm(
        params["eqp"], params["eqp_disaggregated"], params["eqp_group_selection"]
    )


def path_bound_forms(params: Mapping[str, Any], couples: bool) -> path_bound.PathBoundForms | None:
    """Forms of path bound cuts; None for no such cuts.

    `couples`: whether a side constraint couples a subtree with the rest of the tree.
    Raises `SettingsError` if a switch is not valid with the others or with the side constraints.
    """
    wanted = {name: params[name] for name in ("bound_negative_samples", "bound_structure")}
    for name, value in wanted.items():
        if value == "on" and not params["path_bound_cuts"]:
            message = f"{name} is a form of path bound cuts, but path_bound_cuts is off; switch it "
            message += f"on or leave {name} at auto."
            raise SettingsError("SWITCH_WITHOUT_CUTS", message, name)
        if value == "on" and couples:
            message = f"{name} assumes that every subtree may be replaced by a better one, which "
            message += f"the side constraints do not allow; set {name} to auto or off, then path "
            message += "bound cuts take the form that stays valid."
            raise SettingsError("INVALID_WITH_CONSTRAINTS", message, name)
    if not params["path_bound_cuts"]:
        return None
    if couples:
        return path_bound.PathBoundForms(negative=False, structure=False, objective=True)
    negative = wanted["bound_negative_samples"] != "off"
    return path_bound.PathBoundForms(
        basic=not negative, negative=negative, structure=wanted["bound_structure"] != "off"
    )


@dataclass(frozen=True, eq=False)
class Tools:
    """What the techniques share; there is one cache of subtrees for all of them."""

    reduced: benders.ReducedProblem
    objective: UnivariateObjective
    forms: path_bound.PathBoundForms | None  # of path bound cuts

    @property
    def params(self) -> Mapping[str, Any]:
        """The switches."""
        return self.reduced.problem.params

    @cached_property
    def cache(self) -> SubtreeCache:
        """Best subtrees of depth two."""
        instance = self.reduced.instance
        hits = instance.X[instance.pattern], instance.target, instance.weight
        return SubtreeCache(*hits, instance.n_classes, self.objective.penalty)

    @cached_property
    def polisher(self) -> Polisher:
        """Solution polishing."""
        problem, instance = self.reduced.problem, self.reduced.instance
        X = problem.X[instance.sample[instance.pattern]]
        return Polisher(self.cache, X, instance.feature, problem.depth)

    def polished(self, tree: Tree, _: Patience = ENDLESS) -> Tree:
        """Polish a tree, which takes no time worth asking for."""
        return self.polisher.improve(tree)

    def starts(self, patience: Patience = ENDLESS) -> Iterator[tuple[str, Tree]]:
        """Yield greedy trees, then polished ones where that is on, and amended ones."""
        greedy: list[Tree] = []
        problem, price = self.reduced.problem, self.objective.penalty
        for source, tree in greedy_starts(problem, price, patience):
            greedy.append(tree)
            yield source, tree
        # Polishing may have to load compiled kernels first, so the quick trees are out by then.
        for tree in greedy if self.params["solution_polishing"] else ():
            yield "polish", self.polished(tree)
        for tree in amended(problem, price, greedy, patience):
            yield "warm start", tree


def build_model(tools: Tools, guard: Callable[[], None]) -> PyomoModel:
    """Build the master problem with its separators."""
    reduced, params = tools.reduced, tools.params
    penalty, strict = tools.objective.penalty, params["strengthened_cuts"]
    model, variables = benders.make_master("AcceleratedBendOCT", reduced, penalty, guard, strict)
    form = equivalent_form(params)
    if form is not None and not reduced.all_pairs:
        _add_conflicts(model, reduced.instance, form)
    found = None
    if params["search_start"] or params["feature_fixing"]:
        found = RootValues(reduced.problem, tools.objective, guard)
        found.fix(model.b, variables.features, (tree for _, tree in tools.starts()))
    guard()
    tools.cache.guard = guard
    cuts = AcceleratedCuts(tools, guard)
    reader = benders.TreeReader(reduced, variables)

    def node_rows(columns: Columns, lower: np.ndarray, upper: np.ndarray) -> list[Cuts]:
        places = variables.positions(columns)
        return benders.renumbered(cuts.enter(upper[places]), places, columns.n_columns)

    return PyomoModel(
        model=model,
        read_tree=reader.read,
        start_values=reader.start_values,
        separators=(benders.LinkedSeparator(variables, cuts.find),),
        branching=benders.TopDownBranching(variables),
        rounding=lambda point, _: reader.read(point),
        starts=() if found is None else found.starts,
        values={} if found is None else found.record,
        node_rows=node_rows,
        probing=_probing(tools, variables) if tools.forms and params["probing"] else None,
    )


def _probing(
    tools: Tools, variables: benders.TreeVariables
) -> Callable[[Columns, np.ndarray, np.ndarray, float], tuple[float, Child]]:
    """Probe the splits of nodes whose path is decided, in terms of the objective."""
    objective, reduced, best = tools.objective, tools.reduced, tools.cache.value
    probe = path_bound.PathProbe(reduced.layout, reduced.instance, best, objective.penalty)

    def probing(
        columns: Columns, lower: np.ndarray, upper: np.ndarray, needed: float
    ) -> tuple[float, Child]:
        positions = variables.positions(columns)
        bound, refused = probe(upper[positions], objective.to_count(needed))
        refused = positions[refused]
        return objective.from_count(bound), (refused, lower[refused], np.zeros(len(refused)))

    return probing


def _add_conflicts(model: Any, instance: Instance, form: equivalent_points.EquivalentForm) -> None:
    """Hits of one pattern have one label: S = {} of the equivalent-point inequalities."""
    groups = equivalent_points.conflict_groups(instance)
    doc = "(17), (22) with beta = 0: rows with equal features get one class"

    @model.Constraint(range(len(groups)), doc=doc)
    def conflicts(model: Any, r: int) -> Any:
        hits = groups[r]
        if form.group_selection:
            return pyo.quicksum(model.theta[int(h)] for h in hits) <= 1
        weight = instance.weight[hits]
        return linear(weight.tolist(), [model.theta[int(h)] for h in hits]) <= float(weight.max())


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
            sets = equivalent_points.find_sets(instance, params["eqp_split_size"], guard)
            self.equivalent = equivalent_points.EquivalentPointCuts(layout, instance, sets, form)
        if tools.forms is not None and layout.depth >= 2:
            best = tools.cache.subtree
            self.paths = path_bound.PathBoundCuts(layout, instance, best, penalty, tools.forms)
        if params["value_row"]:
            values = tools.cache.values_by_root
            self.values = path_bound.ValueRows(layout, instance, values, penalty)
        self._entered = False
        self._written: set[tuple[tuple[int, int, int], ...]] = set()

    def enter(self, upper: np.ndarray) -> list[Cuts]:
        """Rows of the paths that the bounds of a node decide, written once each."""
        found: list[Cuts] = []
        if self.values is not None:
            found += self.values.decided(upper)
        if self.paths is None:
            return found
        paths = [] if self._entered else [path_bound.TreePath.root(self.instance)]
        self._entered = True
        for path in self.paths.fixed_paths(upper):
            if path.steps not in self._written:
                self._written.add(path.steps)
                paths.append(path)
        return found + self.paths.rows(paths)

    def find(self, point: TreePoint, state: SearchState) -> list[Cuts]:
        """Violated rows of all families; path bounds first, for they make others needless."""
        tolerance = benders.cut_tolerance(state)
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
