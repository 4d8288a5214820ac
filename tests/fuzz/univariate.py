"""Trees with one column per split: random problems, their optima, and what a run must say."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np

import octcore
from octcore.formulations.base import get_formulation
from octcore.parameters import Choice, Flag
from tests.fuzz.adapter import answered_by, without_kernels
from tests.fuzz.case import KERNELS, NEIGHBOURS, STOPPED, Case
from tests.fuzz.claims import check_verification
from tests.fuzz.failure import Failure, must
from tests.fuzz.rows import (
    EDGES,
    KINDS,
    LABELS,
    SHARP_WEIGHTS,
    draw_columns,
    draw_labels,
    draw_weights,
)
from tests.referee.constrained import OutcomeRules, best_outcome
from tests.referee.encoding import Encoded, encode
from tests.referee.parity import keeps_floors, keeps_parity
from tests.referee.routing import RoutedTree, route
from tests.referee.univariate import error_table

KEYS = (
    "path-search",
    "penalty-path",
    "threshold-search",
    "plain-search",
    "path-columns",
    "flow-oct",
    "bend-oct",
    "accelerated-bend-oct",
    "oct-binary",
    "oct",
    "bin-oct",
)
SEARCHES = frozenset({"path-search", "threshold-search", "plain-search"})
UNFINISHED = frozenset({"feasible", "no_solution", "cancelled"})
OF_A_SOLVER = 1e-4
"""Relative; the largest gap that a solver's tolerance for a row may leave of an objective."""
MINIMISED = frozenset({"oct", "bin-oct"})
TABLED = frozenset(
    {"max_leaves", "max_splits", "min_samples_leaf", "forbidden_features", "root_feature",
     "class_weight"}
)  # fmt: skip
"""Constraints that look at one leaf, or at the number of leaves."""
PARITY = ("statistical_parity", "equal_opportunity", "predictive_equality", "equalized_odds")
ABOUT_SHARES = frozenset({"min_recall", "conditional_parity", *PARITY})
"""Constraints that cannot stand beside costs, but where whole trees are tested."""
SUBJECTS = (
    {"max_leaves", "max_splits", "min_samples_leaf"},
    {"max_features", "forbidden_features", "forbidden_pairs", "root_feature",
     "feature_once_per_path"},
    {"monotone"},
    {"class_weight", "min_recall", "conditional_parity", *PARITY},
)  # fmt: skip
"""What side constraints are about; each as often as the others."""


@dataclass(frozen=True)
class Size:
    """How large the cases of a formulation are."""

    depths: tuple[int, ...]
    rows: tuple[int, int]
    columns: tuple[int, int]


SIZES = {
    "path-search": Size((1, 2, 3, 3, 4, 4, 4, 5, 5), (3, 18), (1, 8)),
    "penalty-path": Size((1, 2, 3, 3, 4, 4, 5), (3, 16), (1, 7)),
    "threshold-search": Size((1, 2, 3, 3, 4, 4), (3, 16), (1, 4)),
    "plain-search": Size((1, 2, 2, 3, 3), (3, 16), (1, 4)),
    "accelerated-bend-oct": Size((1, 2, 3, 4, 4, 5), (3, 18), (1, 6)),
}
DEEP = Size((3, 3, 3, 4), (4, 8), (2, 3))
"""Now and then of the models, whose referee lists all that trees can do."""
TIES = Size((1, 2, 2, 2), (3, 7), (1, 3))
DEEP_TIES = Size((3, 4, 4, 5), (3, 5), (1, 3))
"""`TIES`, `DEEP_TIES`: of threshold-search where constraints may tie subtrees together, for the
same referee."""
NUMERIC = {"oct": "scaled", "bin-oct": "scaled", "threshold-search": "raw", "plain-search": "raw"}
"""Formulations that take numbers as they are, and their encoding."""
SMALL = Size((1, 2, 2), (3, 10), (1, 4))


# What a case is worth


@dataclass(frozen=True, eq=False)
class Objective:
    """Objective of a case, larger or smaller better, by weight misclassified and leaves."""

    case: Case

    @property
    def sign(self) -> float:
        """1 where larger is better."""
        return -1.0 if self.case.key in MINIMISED else 1.0

    def of(self, errors: float | np.ndarray, leaves: int | np.ndarray) -> Any:
        """Objective in the formulation's own sense."""
        params, weights = self.case.params, self.case.row_weights
        total = weights.sum()
        if self.case.key == "bin-oct":
            return errors
        if self.case.key == "oct":
            majority = self.case.of_rows.sum(axis=0).min()
            return errors / (majority if majority > 0 else 1.0) + params["alpha"] * (leaves - 1)
        share = params.get("split_weight")
        if share is not None:
            return (1 - share) * (total - errors) - share * (leaves - 1)
        return (total - errors) / total - params["leaf_penalty"] * leaves

    def of_tree(self, tree: RoutedTree) -> float:
        """Objective of a routed tree."""
        return float(self.of(self.case.cost_of(tree.predicted), len(tree.labels)))


@dataclass(frozen=True, eq=False)
class Expected:
    """Optimum of a case (None: no tree), and the best objective per root column if known."""

    optimum: float | None
    by_root: np.ndarray | None = None

    def slack(self) -> float:
        """Rounding of sums."""
        return 1e-8 * max(1.0, abs(self.optimum or 0.0))


def leaf_limit(case: Case) -> int:
    """Most leaves that depth and limits allow."""
    limits = [2**case.depth]
    if "max_leaves" in case.constraints:
        limits.append(case.constraints["max_leaves"])
    if "max_splits" in case.constraints:
        limits.append(case.constraints["max_splits"] + 1)
    return min(limits)


def expected(case: Case) -> Expected:
    """Find the optimum by a referee."""
    if set(case.constraints) <= TABLED:
        return _from_table(case)
    return _from_outcomes(case)


def _allowed(case: Case) -> np.ndarray:
    """Raw features that may be tested."""
    banned = set(case.constraints.get("forbidden_features", ()))
    return np.array([name not in banned for name in case.columns])


def _from_table(case: Case) -> Expected:
    encoded, asked = case.encoded, case.constraints
    smallest = asked.get("min_samples_leaf", 1)
    if encoded.cuts.shape[1] == 0:
        leaf = case.of_rows.sum(axis=0).min()
        possible = "root_feature" not in asked and len(case.y) >= smallest
        return Expected(float(Objective(case).of(leaf, 1)) if possible else None)
    table = error_table(
        encoded.cuts,
        case.codes,
        case.depth,
        case.row_weights,
        smallest,
        _allowed(case)[encoded.cut_groups],
        costs=case.costs,
    )
    objective, limit = Objective(case), leaf_limit(case)
    leaves = np.arange(1, limit + 1)
    worst = -objective.sign * np.inf

    def best(errors: np.ndarray) -> np.ndarray:
        errors = errors[..., 1 : limit + 1]
        values = np.where(np.isfinite(errors), objective.of(errors, leaves), worst)
        return objective.sign * (objective.sign * values).max(axis=-1)

    cuts = best(table.by_root)
    by_root = np.array(
        [
            objective.sign * (objective.sign * cuts[encoded.cut_columns == j]).max(initial=-np.inf)
            for j in range(encoded.X.shape[1])
        ]
    )
    if "root_feature" in asked:
        root = list(case.columns).index(asked["root_feature"])
        chosen = objective.sign * by_root[encoded.groups == root]
        optimum = objective.sign * chosen.max(initial=-np.inf)
    else:
        optimum = float(best(table.by_leaves))
    return Expected(float(optimum) if np.isfinite(optimum) else None, by_root)


def _grid(case: Case) -> Encoded:
    """All rows that could be: every value of a raw column beside every one of the others."""
    values = [sorted(set(cells)) for cells in case.columns.values()]
    rows = zip(*itertools.product(*values), strict=True)
    return encode(dict(zip(case.columns, rows, strict=True)), case.encoding == "scaled")


def _from_outcomes(case: Case) -> Expected:
    encoded, asked, names = case.encoded, case.constraints, list(case.columns)
    n, cuts, costs = len(case.y), encoded.cuts, case.of_rows
    if "monotone" in asked:
        cuts = np.concatenate([cuts, _grid(case).cuts])
        costs = np.concatenate([costs, np.zeros((len(cuts) - n, costs.shape[1]))])
    rules = OutcomeRules(
        cuts,
        encoded.cut_groups,
        case.costs.shape[1],
        asked.get("min_samples_leaf", 1),
        _allowed(case),
        bool(asked.get("feature_once_per_path")),
        n,
    )
    root = asked.get("root_feature")
    outcomes = rules.outcomes(case.depth, None if root is None else names.index(root))
    objective = Objective(case)

    def value(costs: np.ndarray, leaves: np.ndarray) -> np.ndarray:
        return objective.sign * objective.of(costs, leaves)

    def admits(predicted: np.ndarray, features: frozenset[int], leaves: int) -> bool:
        is_kept = leaves <= leaf_limit(case) and keeps(case, predicted[:n], features)
        return is_kept and keeps_directions(case, predicted[n:])

    best = best_outcome(outcomes, costs, value, admits)
    return Expected(None if best is None else objective.sign * best)


def keeps_directions(case: Case, predicted: np.ndarray) -> bool:
    """Tell whether predictions of the rows of `_grid` only rise, or fall, along columns."""
    shape = [len(set(cells)) for cells in case.columns.values()]
    for name, way in case.constraints.get("monotone", {}).items():
        steps = np.diff(predicted.reshape(shape), axis=list(case.columns).index(name))
        if ((steps if way == "up" else -steps) < 0).any():
            return False
    return True


def keeps(case: Case, predicted: np.ndarray, features: frozenset[int]) -> bool:
    """Tell whether predictions and tested raw features keep the constraints that couple leaves."""
    asked, names = case.constraints, list(case.columns)
    if len(features) > asked.get("max_features", len(names)):
        return False
    for first, second in asked.get("forbidden_pairs", ()):
        if {names.index(first), names.index(second)} <= features:
            return False
    floors = {case.classes.index(k): v for k, v in asked.get("min_recall", {}).items()}
    if not keeps_floors(floors, predicted, case.codes):
        return False
    limits = {name: asked[name] for name in (*PARITY, "conditional_parity") if name in asked}
    positive = len(case.classes) - 1
    return all(
        keeps_parity(name, limit, case.columns, predicted == positive, case.codes == positive)
        for name, limit in limits.items()
    )


# What a run must say


def check_run(case: Case, run: octcore.Run, truth: Expected) -> None:
    """Compare a run with the referee.

    Raises
    ------
    Failure
        With one sentence about the first difference.
    """
    if truth.optimum is None:
        said = run.status == "infeasible" or (case.is_interrupted and run.tree is None)
        must(said, f"no tree exists, but the run is {run.status!r}")
        must(run.tree is None and run.objective is None, "a tree although none exists")
        check_verification(case, run, is_derived=not case.is_interrupted)
        return
    # With costs a model's answer may be off by the tolerance of its rows, which the run says.
    is_tolerated = run.stop_reason == "gap_limit" and run.settings["engine"] == "highs"
    if is_tolerated and run.objective is not None and run.gap is not None:
        must(run.gap < OF_A_SOLVER, f"a gap of {run.gap} is called the solver's")
        must(abs(run.objective - truth.optimum) <= truth.slack(), f"objective {run.objective}")
    if is_tolerated or (case.is_interrupted and run.status in UNFINISHED):
        check_unfinished(case, run, truth)
        return
    must(
        run.status == "optimal", f"{run.status!r} ({run.stop_reason}), optimum {truth.optimum:.9f}"
    )
    found = run.certificate.verification
    missed = found is not None and "within the tolerance of the solver" in found.statement
    by_solver = run.settings["engine"] in ("highs", "branch-and-cut")
    must(not missed or by_solver, "a search has a tolerance of its own")
    slack = 1e-6 * max(1.0, abs(truth.optimum)) if missed else truth.slack()
    must(
        run.objective is not None and abs(run.objective - truth.optimum) <= slack,
        f"objective {run.objective}, optimum {truth.optimum:.12g}",
    )
    must(
        run.bound is not None and abs(run.bound - truth.optimum) <= slack,
        f"bound {run.bound}, optimum {truth.optimum:.12g}",
    )
    if run.tree is None:
        raise Failure("optimal without a tree")
    tree = check_tree(case, run.tree.to_dict(), run.objective, slack)
    told = tree.predicted < len(case.classes)
    right = (tree.predicted == case.codes)[told]
    share = float(right.mean()) if told.any() else None
    must(same(run.accuracy, share), f"accuracy {run.accuracy}, routed {share}")
    must(same(run.referred, 1 - told.mean()), f"{run.referred} are referred, not {1 - told.mean()}")
    mean = float(case.costs[case.codes, tree.predicted].mean())
    must(same(run.mean_cost, mean), f"mean cost {run.mean_cost}, routed {mean}")
    check_verification(case, run, is_derived=not case.is_interrupted)
    if not missed:
        check_events(case, run, truth)
    if truth.by_root is not None and "root_values" in run.extras:
        check_root_values(case, run.extras, truth)


def same(said: float | None, found: float | None) -> bool:
    """Whether a number is the one that was routed, or both are none."""
    return said == found if said is None or found is None else abs(said - found) < 1e-12


def check_unfinished(case: Case, run: octcore.Run, truth: Expected) -> None:
    """Look at what a run that was ended before its proof says: its tree, and bounds that hold."""
    sign, slack = Objective(case).sign, truth.slack()
    optimum = truth.optimum or 0.0
    if run.tree is not None:
        check_tree(case, run.tree.to_dict(), run.objective, slack)
    if run.bound is not None:
        must(
            sign * (run.bound - optimum) >= -slack,
            f"{run.stop_reason}: bound {run.bound} cuts off the optimum {optimum:.12g}",
        )
    check_events(case, run, truth)
    if truth.by_root is not None and "root_values" in run.extras:
        check_root_values(case, run.extras, truth)


def check_tree(
    case: Case, record: Mapping[str, Any], objective: float | None, slack: float
) -> RoutedTree:
    """Route the rows through a tree and compare objective, size, leaves and constraints."""
    tree = route(record, case.encoded.X)
    found = Objective(case).of_tree(tree)
    # An incumbent may be worth far more than the optimum, which the slack is a share of.
    is_same = objective is not None and abs(found - objective) <= slack + 1e-11 * abs(found)
    must(is_same, f"objective {objective} of a tree that routes to {found:.12g}")
    must(tree.depth <= case.depth, f"depth {tree.depth}")
    asked, names = case.constraints, list(case.columns)
    must(len(tree.labels) <= leaf_limit(case), f"{len(tree.labels)} leaves")
    smallest = asked.get("min_samples_leaf", 1)
    must(min(tree.leaf_sizes) >= smallest, f"leaf sizes {tree.leaf_sizes}")
    groups = case.encoded.groups
    tested = {m: {int(groups[j]) for j in tree.columns(m)} for m in tree.splits}
    used = frozenset().union(*tested.values()) if tested else frozenset()
    must(all(len(raw) == 1 for raw in tested.values()), "a split on several features")
    must(bool(_allowed(case)[list(used)].all()), "a forbidden feature is tested")
    must(keeps(case, tree.predicted, used), "a constraint over the leaves is broken")
    if "monotone" in asked:
        anywhere = route(record, _grid(case).X).predicted
        must(keeps_directions(case, anywhere), "the prediction turns along a column")
    if "root_feature" in asked:
        wanted = {names.index(asked["root_feature"])}
        must(tested.get(1) == wanted, "the root tests another feature")
    if asked.get("feature_once_per_path"):
        for path in tree.paths:
            raw = [next(iter(tested[m])) for m in path]
            must(len(raw) == len(set(raw)), "a feature twice on a path")
    return tree


def check_events(case: Case, run: octcore.Run, truth: Expected) -> None:
    """Look at incumbent and bound at every event."""
    sign, slack = Objective(case).sign, truth.slack()
    optimum = sign * (truth.optimum or 0.0)
    last = -np.inf
    for event in run.trace.events:
        where = f"at event {event.kind!r} ({event.source})"
        if event.incumbent is not None:
            value = sign * event.incumbent
            must(value <= optimum + slack, f"incumbent {event.incumbent} beyond optimum {where}")
            must(value >= last - slack, f"incumbent falls {where}")
            last = value
        if event.bound is not None:
            must(
                sign * event.bound >= optimum - slack,
                f"bound {event.bound} cuts off the optimum {truth.optimum:.12g} {where}",
            )
        if event.tree is not None:
            check_tree(case, event.tree.to_dict(), event.incumbent, slack)


def check_root_values(case: Case, values: Mapping[str, Any], truth: Expected) -> None:
    """Compare the value of every root column; inexact ones must be bounds."""
    assert truth.by_root is not None
    root = case.constraints.get("root_feature")
    groups = case.encoded.groups
    for j, (value, exact) in enumerate(
        zip(values["root_values"], values["root_values_exact"], strict=True)
    ):
        if root is not None and groups[j] != list(case.columns).index(root):
            continue
        best = truth.by_root[j]
        if value is None:
            must(
                not exact or not np.isfinite(best), f"no value for root {j}, which has {best:.12g}"
            )
        elif exact:
            must(
                abs(value - best) <= truth.slack(),
                f"value {value:.12g} of root {j} said to be exact, it is {best:.12g}",
            )
        else:
            must(
                value >= best - truth.slack(),
                f"value {value:.12g} of root {j} is no bound, it has {best:.12g}",
            )


def check(case: Case) -> None:
    """Solve a case and compare everything with the referee; raises Failure."""
    with answered_by(case.settings.get(KERNELS, "auto")):
        _check(case)


def _check(case: Case) -> None:
    if case.key == "penalty-path":
        check_path(case)
        return
    truth = expected(case)
    try:
        with without_kernels() if case.key == "plain-search" else nullcontext():
            run = case.solve()
    except octcore.SettingsError as refusal:
        impossible = refusal.code == "LEAF_LARGER_THAN_DATA" and truth.optimum is None
        costless = refusal.code == "BAD_COSTS" and not np.ptp(case.of_rows, axis=1).any()
        must(impossible or costless, f"refused: {refusal.message}")
        return
    check_run(case, run, truth)


def check_path(case: Case) -> None:
    """Compare every number of leaves of the penalty path, and the tree at some penalties."""
    encoded = case.encoded
    table = error_table(
        encoded.cuts,
        case.codes,
        case.depth,
        case.row_weights,
        case.constraints.get("min_samples_leaf", 1),
        _allowed(case)[encoded.cut_groups],
    )
    total, errors = table.total, table.by_leaves
    if "root_feature" in case.constraints:
        root = list(case.columns).index(case.constraints["root_feature"])
        errors = table.by_root[encoded.cut_groups == root].min(axis=0, initial=np.inf)
    errors = errors[: leaf_limit(case) + 1]
    try:
        path = octcore.penalty_path(
            case.data(), case.encoding, case.depth, dict(case.constraints), time_limit=300.0
        )
    except octcore.SettingsError as refusal:
        must(not np.isfinite(errors).any(), f"refused: {refusal.message}")
        return
    for step in path.steps:
        tree = route(step.tree.to_dict(), encoded.X)
        right = float(case.row_weights[tree.predicted == case.codes].sum()) / total
        must(abs(right - step.accuracy) < 1e-9, f"{step.leaves} leaves: accuracy is not routed")
        must(len(tree.labels) == step.leaves, f"{len(tree.labels)} leaves, said {step.leaves}")
    accuracies = {}
    for leaves in range(1, leaf_limit(case) + 1):
        best = 1 - errors[leaves] / total
        if not np.isfinite(best):
            continue
        accuracies[leaves] = best
        reached = max((s.accuracy for s in path.steps if s.leaves <= leaves), default=-np.inf)
        must(abs(reached - best) < 1e-9, f"{leaves} leaves: accuracy {reached}, optimum {best}")
    must(bool(accuracies), "a path although no tree exists")
    for penalty in (0.0, 0.003, 0.01, 0.04, 0.2):
        best = max(v - penalty * leaves for leaves, v in accuracies.items())
        step = path.at(penalty)
        value = step.accuracy - penalty * step.leaves
        must(abs(value - best) < 1e-9, f"penalty {penalty}: {value}, optimum {best}")


# Random cases


def draw(rng: np.random.Generator, key: str) -> Case:
    """Draw one case of a formulation."""
    size = SIZES.get(key, SMALL)
    if key in DEEP_MODELS and rng.random() < 0.2:
        size = DEEP
    if key == "threshold-search" and rng.random() < 0.5:
        size = TIES if rng.random() < 0.6 else DEEP_TIES
    is_tied = size in (TIES, DEEP_TIES, DEEP)
    numeric = NUMERIC.get(key)
    kind = "numbers" if numeric and rng.random() < 0.6 else str(rng.choice(KINDS))
    if numeric == "raw" and rng.random() < 0.2:
        kind = NEIGHBOURS
    n = int(rng.integers(*size.rows, endpoint=True))
    p = int(rng.integers(*size.columns, endpoint=True))
    columns = draw_columns(rng, kind, n, p)
    encoding = numeric or ("one-hot" if kind == "categories" else "none")
    classes = int(rng.choice([2, 2, 2, 3] if is_tied else [2, 2, 3, 4]))
    y = draw_labels(rng, str(rng.choice(LABELS)), encode(columns).cuts, classes)
    # Solvers of models lose what is small beside coefficients of thousands of millions.
    edges = EDGES if key in SEARCHES else EDGES[:2]
    weights = draw_weights(rng, str(rng.choice(SHARP_WEIGHTS)), n, edges)
    if key == "penalty-path":
        weights = None
    depth, allowed = int(rng.choice(size.depths)), PATH_CONSTRAINTS
    for info in octcore.formulations():
        if info.key == key:
            depth, allowed = min(depth, info.max_depth), info.constraints
    if key == "plain-search":
        allowed = PLAIN_CONSTRAINTS
    if key == "threshold-search" and not is_tied:
        allowed = PATH_CONSTRAINTS
    if key == "accelerated-bend-oct" and depth > 2:
        # Parity and the like take the published model longer than a case may.
        allowed = PATH_CONSTRAINTS
    constraints = draw_constraints(rng, allowed, columns, y, is_tied)
    settings = draw_settings(rng, key)
    labels = sorted(set(y.tolist()))
    # The plain search takes no rows that leaf sizes do not count, as those of costs.
    takes_costs = key not in {"penalty-path", "plain-search"}
    tests_trees = key == "threshold-search"
    may_stand = tests_trees or not set(constraints) & ABOUT_SHARES
    if takes_costs and may_stand and rng.random() < 0.4:
        settings |= draw_task(rng, labels)
        if "monotone" in constraints:  # a person's answer has no place among the classes
            settings.pop("refer", None)
    total = float(n if weights is None else sum(weights))
    unit = 1.0 if weights is None else min((w for w in weights if w > 0), default=1.0)
    case = Case(
        key,
        columns,
        tuple(y.tolist()),
        depth,
        encoding,
        draw_params(rng, key, unit / total if total > 0 else 1.0),
        constraints,
        settings,
        weights,
        kind,
        draw_way(rng, key, columns, y),
    )
    # A file needs two classes.
    is_sound = case.row_weights.sum() > 0 and (kind != NEIGHBOURS or len(case.classes) > 1)
    return case if is_sound else draw(rng, key)


def draw_way(
    rng: np.random.Generator, key: str, columns: Mapping[str, tuple[Any, ...]], y: np.ndarray
) -> str:
    """Draw whether rows come from a file; reading leaves out what is constant, so not those."""
    varies = all(len(set(cells)) > 1 for cells in (*columns.values(), tuple(y.tolist())))
    return "csv" if key == "threshold-search" and varies and rng.random() < 0.5 else ""


DEEP_MODELS = frozenset({"path-columns", "flow-oct", "bend-oct", "oct-binary"})
PLAIN_CONSTRAINTS = frozenset({"forbidden_features", "root_feature", "class_weight"})
"""What the search without kernels takes; with limits on leaves kernels are waited for."""
PATH_CONSTRAINTS = frozenset(
    {
        "max_leaves",
        "max_splits",
        "min_samples_leaf",
        "forbidden_features",
        "root_feature",
        "class_weight",
    }
)


def draw_params(rng: np.random.Generator, key: str, step: float) -> dict[str, Any]:
    """Draw hyperparameters, with prices that make ties, exactly or nearly.

    `step` is the share of the weight that the lightest row has.
    """
    price = float(rng.choice([0.0, 1e-4, 0.002, 0.01, 0.03, 0.05, 0.1, step, step / 2]))
    if rng.random() < 0.15:
        least = float(rng.choice([1e-4, 1e-7])) if key in SEARCHES else 1e-4
        price = step * float(rng.choice([0.5, 1.0, 2.0])) * (1 + float(rng.choice([-least, least])))
    if key in {"bin-oct", "penalty-path"}:
        return {}
    if key == "oct":
        return {"alpha": price * float(rng.choice([0.5, 1.0, 3.0]))}
    params: dict[str, Any] = {"leaf_penalty": min(price, 0.99)}
    if rng.random() < 0.15:
        params = {"split_weight": float(rng.choice([0.0, 0.1, 0.5, 0.9]))}
    if key == "path-search" and rng.random() < 0.4:
        params["exact_root_values"] = True
    if key not in SEARCHES:
        # A polished start is the optimum of most small cases, and hides what the search cuts off.
        share = {"solution_polishing": 0.5}
        for known in get_formulation(key).info.hyperparameters:
            if isinstance(known, Flag | Choice) and rng.random() < share.get(known.name, 0.2):
                options = known.options if isinstance(known, Choice) else (not known.default,)
                drawn = options[int(rng.integers(len(options)))]
                if drawn != "on":  # which is refused beside some side constraints
                    params[known.name] = drawn
    return params


def draw_task(rng: np.random.Generator, classes: list[int]) -> dict[str, Any]:
    """Draw what answers cost, and whether a person may be asked."""
    settings: dict[str, Any] = {}
    odd = [0.25, 0.5, 1.0, 2.0, 3.0, 5.0, 1 / 3, 0.0]
    if rng.random() < 0.7:
        pairs = [(c, a) for c in classes for a in classes if a != c and rng.random() < 0.6]
        costs: dict[int, dict[int, float]] = {}
        for c, a in pairs:
            costs.setdefault(c, {})[a] = float(rng.choice(odd))
        if pairs and any(v for row in costs.values() for v in row.values()):
            settings["costs"] = "ordinal" if rng.random() < 0.15 else costs
    if len(classes) > 1 and rng.random() < 0.6:
        # A person who costs half of the cheapest error is worth asking somewhere.
        given = settings.get("costs", {})
        least = 1.0
        if given != "ordinal":
            least = min([1.0, *(v for row in given.values() for v in row.values())])
        settings["refer"] = least * float(rng.choice([0.0, 0.1, 0.2, 1 / 3, 0.5]))
    return settings


def draw_settings(rng: np.random.Generator, key: str) -> dict[str, Any]:
    """Draw whether there are starts, and what ends a solve before its proof, if anything."""
    settings: dict[str, Any] = {}
    if key in {"path-search", "threshold-search", "penalty-path"} and rng.random() < 0.6:
        settings[KERNELS] = str(rng.choice(["lanes", "bits"]))
    if key == "penalty-path":
        return settings
    if rng.random() < 0.3:
        settings["warm_start"] = "none"
    if key == "plain-search":
        settings["formulation"] = "threshold-search"
    if rng.random() < 0.15:
        limits = {
            "node_limit": int(rng.integers(1, 6)),
            STOPPED: int(rng.integers(0, 60)),
            "time_limit": float(10 ** rng.uniform(-3.5, -1.5)),
        }
        name = str(rng.choice(list(limits)))
        settings[name] = limits[name]
    return settings


def draw_constraints(
    rng: np.random.Generator,
    able: frozenset[str],
    columns: Mapping[str, tuple[Any, ...]],
    y: np.ndarray,
    is_tied: bool = False,
) -> dict[str, Any]:
    """Draw none, one or two side constraints, at small legal values.

    `is_tied`: up to three, and more often those on what is predicted.
    """
    chosen: set[str] = set()
    subjects = [names for subject in SUBJECTS if (names := sorted(able & subject))]
    numbers = [0, 0, 1, 1, 1, 2, 2]
    if is_tied:
        numbers, subjects = [1, 2, 2, 3], [*subjects, *2 * subjects[-1:]]
    for _ in range(int(rng.choice(numbers)) if subjects else 0):
        chosen.add(str(rng.choice(subjects[int(rng.integers(len(subjects)))])))
    found = {name: _draw_constraint(rng, name, columns, y) for name in sorted(chosen)}
    return {name: value for name, value in found.items() if value is not None}


def _draw_constraint(
    rng: np.random.Generator, name: str, columns: Mapping[str, tuple[Any, ...]], y: np.ndarray
) -> Any:
    n, names = len(y), list(columns)
    pick = lambda: str(rng.choice(names))  # noqa: E731
    if name == "max_leaves":
        return int(rng.choice([1, 2, 3, 5]))
    if name in {"max_splits", "max_features"}:
        return int(rng.choice([0, 0, 1, 2, 3]))
    if name == "min_samples_leaf":
        return int(rng.choice([1, 1, 2, 2, 3, max(1, n // 2), n]))
    if name == "forbidden_features":
        count = int(rng.choice([1, 1, 2, len(names)]))
        return sorted({pick() for _ in range(count)} if count < len(names) else set(names))
    if name == "forbidden_pairs":
        pairs = [[pick(), pick()] for _ in range(int(rng.integers(1, 3)))]
        return [pair for pair in pairs if pair[0] != pair[1]] or None
    if name == "root_feature":
        return pick()
    if name == "feature_once_per_path":
        return True
    if name == "monotone":
        ordered = [own for own, cells in columns.items() if not isinstance(cells[0], str)]
        chosen = rng.permutation(ordered)[: int(rng.choice([1, 1, 2, 3]))].tolist()
        return {own: str(rng.choice(["up", "down"])) for own in chosen} or None
    classes = sorted(set(y.tolist()))
    if name == "class_weight":
        if rng.random() < 0.4:
            return "balanced"
        return {int(k): float(rng.choice([0.0, 0.5, 1.0, 3.0, 7.25])) for k in classes}
    if name == "min_recall":
        asked = rng.permutation(classes)[: int(rng.choice([1, 1, 2, len(classes)]))]
        return {int(k): float(rng.choice([0.0, 0.5, 0.8, 1.0])) for k in asked}
    if len(classes) != 2:
        return None  # Parity needs a class that counts as the favourable one.
    limit: dict[str, Any] = {
        "attribute": pick(),
        "max_gap": float(rng.choice([0.0, 0.0, 0.1, 0.25, 0.5, 1.0])),
    }
    if name == "conditional_parity":
        limit["given"] = pick()
    return limit
