"""Trees of hyperplanes: random problems on a handful of rows, their optima, what a run must say."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

import octcore
from octcore.engines.monolithic import SMALLEST_OBJECTIVE
from octcore.tree.geometry import node_margins
from tests.fuzz.case import Case
from tests.fuzz.claims import check_verification
from tests.fuzz.failure import Failure, must
from tests.fuzz.rows import LABELS, WEIGHTS, draw_labels, draw_weights
from tests.referee import routing_states as routing_states
from tests.referee.convex import Undecided
from tests.referee.encoding import encode
from tests.referee.largest_norm import LargestNorm
from tests.referee.oblique import SVM1, Margot, Separating
from tests.referee.routing import RoutedTree, route

MARGOT = ("margot", "hfs-margot", "sfs-margot")
KEYS = (*MARGOT, "s-oct", "oct-h", "svm1-odt", "mm-svm-oct")
CLOSED = 1.5e-4
"""Relative gap that the quadratic formulations call closed, and a little."""
STRICT = 1e-4
"""Distance of right-goers of SVM1-ODT, per unit of M."""
ROUTED = 1e-6
"""Rounding of scores."""
TINY = 1e-5
"""What the tolerance of a solver may cost where it is no small share of the objective."""


# What a case is worth


def signs(case: Case) -> np.ndarray:
    """-1 or +1 of every row: the larger class is +1."""
    return np.where(case.codes == 1, 1.0, -1.0)


def margot_referee(case: Case) -> Margot:
    """State a MARGOT case for its referee."""
    params = case.params
    return Margot(
        case.encoded.X,
        signs(case),
        case.row_weights,
        case.depth,
        (params["C_upper"], params["C_last"]),
        params["epsilon"],
        None if case.key == "margot" else (params["budget_upper"], params["budget_last"]),
        params.get("alpha"),
        params.get("norm") == "l1",
    )


def separating_referee(case: Case) -> Separating:
    """State an S-OCT or OCT-H case for its referee."""
    asked, weights, X = case.constraints, case.row_weights, case.encoded.X
    limits = [asked[name] - less for name, less in _LIMITS if name in asked]
    shared = {"depth": case.depth, "epsilon": case.params["epsilon"]}
    most = min(limits) if limits else None
    if case.key == "s-oct":
        counts = weights > 0  # rows without weight take no part
        return Separating(
            X[counts],
            case.codes[counts],
            weights[counts],
            split_price=case.params["alpha"] * float(weights.sum()),
            most_splits=most,
            **shared,
        )
    names = list(case.columns)
    banned = [names.index(name) for name in asked.get("forbidden_features", ())]
    return Separating(
        X[:, ~np.isin(case.encoded.groups, banned)],
        case.codes,
        weights,
        feature_price=case.params["alpha"] * majority_errors(case),
        smallest_leaf=asked.get("min_samples_leaf", max(1, int(0.05 * len(case.y)))),
        most_splits=most,
        **shared,
    )


_LIMITS = (("max_leaves", 1), ("max_splits", 0))


def majority_errors(case: Case) -> float:
    """Weight that the majority rule gets wrong; 1 if there is none."""
    shares = np.bincount(case.codes, case.row_weights)
    wrong = float(shares.sum() - shares.max())
    return wrong if wrong > 0 else 1.0


def category_groups(case: Case) -> list[list[int]]:
    """Encoded columns of every text column with three levels at least."""
    groups = case.encoded.groups.tolist()
    return [
        [j for j, g in enumerate(groups) if g == raw]
        for raw in sorted(set(groups))
        if groups.count(raw) > 1
    ]


def svm1_referee(case: Case) -> SVM1:
    """State an SVM1-ODT case for its referee."""
    X, params = case.encoded.X, case.params
    subsets = params["categorical"] == "subsets"
    groups = category_groups(case) if subsets else []
    grouped = [j for group in groups for j in group]
    values = [X[:, group].argmax(axis=1) for group in groups]
    return SVM1(
        np.delete(X, grouped, axis=1),
        case.codes,
        case.row_weights,
        np.array(values, float).T.reshape(len(X), len(groups)),
        case.depth,
        (params["alpha1"], params["alpha2"]),
        params["epsilon"],
        right_distance(case),
        params["big_m"],
    )


def largest_norm_referee(case: Case) -> LargestNorm:
    """State an MM-SVM-OCT case for its referee."""
    params = case.params
    return LargestNorm(
        case.encoded.X,
        signs(case),
        case.row_weights,
        case.depth,
        params["c1"],
        params["c2"] if params["relabel"] else np.inf,
        params["c3"],
        params["epsilon"],
    )


def optimum(case: Case) -> float:
    """Optimum in the formulation's own sense; raises Undecided."""
    if case.key in MARGOT:
        return margot_referee(case).optimum()
    if case.key == "svm1-odt":
        return svm1_referee(case).optimum()
    if case.key == "mm-svm-oct":
        return largest_norm_referee(case).optimum()
    cost, total = separating_referee(case).cost(), float(case.row_weights.sum())
    if case.key == "oct-h":
        return cost / majority_errors(case)
    return total - cost if case.params["alpha"] == 0 else cost / total


# What a run must say


@dataclass(frozen=True, eq=False)
class Judged:
    """A case with its optimum and what rounding may do to it."""

    case: Case
    optimum: float

    @property
    def sign(self) -> float:
        """1 where smaller is better."""
        return -1.0 if self.case.key == "s-oct" and self.case.params["alpha"] == 0 else 1.0

    @property
    def slack(self) -> float:
        """Rounding of the referee and of a tree's value, and what a certificate grants."""
        scale, total = 1e-6 * max(abs(self.optimum), 1e-3), float(self.case.row_weights.sum())
        if self.case.key == "svm1-odt":
            scale += 2e-6 * self.case.params["alpha1"] * total
        if self.case.key == "s-oct":
            scale += 1e-6 * (1.0 if self.case.params["alpha"] else total)
        return scale

    @property
    def open(self) -> float:
        """Distance to the optimum that counts as closed."""
        quadratic = self.case.key in (*MARGOT, "mm-svm-oct")
        return (CLOSED * max(abs(self.optimum), 1e-6) if quadratic else 0.0) + self.slack


OF_A_SOLVER = ("highs", "outer-approximation")
"""Engines whose last gap may be the solver's, which they say."""


def _not_claimed(run: octcore.Run, best: float, sign: float, slack: float) -> None:
    """An optimum that the solver's tolerance may feign is found but not called proven."""
    if run.objective is None or run.bound is None:
        raise Failure("no objective or no bound")
    must(abs(run.objective - best) <= TINY, f"objective {run.objective}, optimum {best:.12g}")
    must(sign * (run.bound - best) <= slack, f"bound {run.bound}, optimum {best:.12g}")


def check(case: Case) -> None:
    """Solve a case and compare everything with the referee; raises Failure or Undecided."""
    judged = Judged(case, optimum(case))
    run = case.solve()
    best, sign = judged.optimum, judged.sign
    is_explained = run.stop_reason == "gap_limit" and run.settings["engine"] in OF_A_SOLVER
    if run.status == "feasible" and (abs(best) < SMALLEST_OBJECTIVE or is_explained):
        _not_claimed(run, best, sign, judged.slack)
        return
    must(run.status == "optimal", f"{run.status!r} ({run.stop_reason}), optimum {best:.9g}")
    if run.objective is None or run.bound is None or run.tree is None:
        raise Failure("optimal without objective, bound or tree")
    must(
        abs(run.objective - best) <= judged.open, f"objective {run.objective}, optimum {best:.12g}"
    )
    must(sign * (run.bound - best) <= judged.slack, f"bound {run.bound} beyond optimum {best:.12g}")
    for event in run.trace.events:
        where = f"at event {event.kind!r} ({event.source})"
        if event.incumbent is not None:
            must(
                sign * (event.incumbent - best) >= -judged.slack,
                f"incumbent {event.incumbent} better than optimum {best:.12g} {where}",
            )
        if event.bound is not None:
            must(
                sign * (event.bound - best) <= judged.slack,
                f"bound {event.bound} beyond optimum {best:.12g} {where}",
            )
        if event.tree is not None and event.incumbent is not None:
            value = VALUES[case.key](case, event.tree.to_dict())
            must(
                abs(value - event.incumbent) <= judged.slack + 1e-6 * abs(value),
                f"incumbent {event.incumbent} of a tree that routes to {value:.12g} {where}",
            )
    check_verification(case, run, is_derived=False)
    trees = [event.tree for event in run.trace.events if event.tree is not None]
    check_margins(case, trees[-1])
    if case.key in MARGOT:
        check_nodes(case, trees[-1], judged)


def check_margins(case: Case, tree: octcore.Tree) -> None:
    """Compare what is shown of every node, its margin and supports, with its rows."""
    X, y = case.encoded.X, signs(case)
    routed = route(tree.to_dict(), X)
    shown = node_margins(tree, X, case.codes, 1)
    expected = {node for node, (weights, _) in routed.splits.items() if weights.any()}
    must(set(shown) == {node for node in expected if len(routed.rows[node])}, "nodes with margins")
    for node, margin in shown.items():
        rows, (weights, threshold) = routed.rows[node], routed.splits[node]
        must(bool((np.sort(margin.rows) == np.sort(rows)).all()), f"rows of node {node}")
        rows, length = margin.rows, float(np.linalg.norm(weights))
        score = X[rows] @ weights
        if tree.splits[node].unit_margin:
            value = y[rows] * (score + tree.splits[node].solved_offset)
            width, support = 2 / length, value <= 1 + 1e-6
        else:
            right = score > threshold
            edges = score[~right].max(initial=-np.inf), score[right].min(initial=np.inf)
            width, near = (edges[1] - edges[0]) / length, 1e-6 * max(1.0, length)
            support = np.where(right, score <= edges[1] + near, score >= edges[0] - near)
        must(bool(np.isclose(margin.width, width, rtol=1e-9, atol=1e-12)), f"margin of {node}")
        must(bool((margin.support == support).all()), f"supports of node {node}")


def check_nodes(case: Case, tree: octcore.Tree, judged: Judged) -> None:
    """Compare every node of a tree of the MARGOT family with its own problem."""
    routed = route(tree.to_dict(), case.encoded.X)
    if set(routed.splits) != set(range(1, 2**case.depth)):
        return
    referee = margot_referee(case)
    for node, (weights, _) in routed.splits.items():
        left, right = routed.rows[2 * node], routed.rows[2 * node + 1]
        last = node >= 2 ** (case.depth - 1)
        rows = tuple(np.concatenate([left, right]).tolist())
        if not rows:
            continue
        sides = None if last else np.array([-1] * len(left) + [1] * len(right))
        best = referee.node(rows, sides, last).value
        cost = node_cost(case, node, weights, tree.splits[node].solved_offset, list(rows))
        must(
            abs(cost - best) <= judged.open + CLOSED * best,
            f"node {node} costs {cost:.9g}, its best plane {best:.9g}",
        )


def node_cost(case: Case, node: int, weights: np.ndarray, offset: float, rows: list[int]) -> float:
    """Norm, slack and features of one node of the MARGOT family."""
    params, last = case.params, node >= 2 ** (case.depth - 1)
    score = case.encoded.X[rows] @ weights + offset
    if not last:
        strip = (score > ROUTED - params["epsilon"]) & (score < -ROUTED)
        must(not strip.any(), f"a row in the strip of node {node}")
    price = params["C_last"] if last else params["C_upper"]
    slack = np.maximum(0.0, 1 - signs(case)[rows] * score)
    linear = params.get("norm") == "l1"
    norm = np.abs(weights).sum() / 2 if linear else weights @ weights / 2
    cost = float(norm + price * (case.row_weights[rows] @ slack))
    if case.key == "margot":
        return cost
    used = np.count_nonzero(weights)
    excess = max(0, used - params["budget_last" if last else "budget_upper"])
    must(case.key == "sfs-margot" or not excess, f"{used} features at node {node}")
    return cost + params.get("alpha", 0.0) * excess


def margot_value(case: Case, record: Mapping[str, Any]) -> float:
    """Objective of a tree of the MARGOT family by routing."""
    offsets = {e["node"]: e.get("offset") for e in record["nodes"] if e["kind"] == "branch"}
    tree = route(record, case.encoded.X)
    if not tree.splits:
        sign = 1.0 if tree.labels[1] == 1 else -1.0
        wrong = float(case.row_weights[signs(case) != sign].sum())
        upper = (case.depth - 1) * case.params["C_upper"]
        return 2 * wrong * (upper + case.params["C_last"])
    for leaf, label in tree.labels.items():
        must(label == leaf % 2, f"leaf {leaf} predicts the other side")
    total = 0.0
    for node, (weights, threshold) in tree.splits.items():
        offset = -threshold if offsets[node] is None else offsets[node]
        total += node_cost(case, node, weights, offset, tree.rows[node].tolist())
    return total


def check_strips(case: Case, tree: RoutedTree, counts: np.ndarray) -> None:
    """Every split with rows on both sides leaves a strip of epsilon."""
    for node, (weights, _) in tree.splits.items():
        score = case.encoded.X @ weights / np.abs(weights).sum()
        left, right = (
            np.array([i for i in tree.rows[child] if counts[i]], int)
            for child in (2 * node, 2 * node + 1)
        )
        if len(left) and len(right):
            width = float(score[right].min() - score[left].max())
            least = case.params["epsilon"] * 0.998
            must(width >= least, f"a strip of {width:.6g} at node {node}")


def separating_value(case: Case, record: Mapping[str, Any]) -> float:
    """Objective of a tree of S-OCT or OCT-H by routing."""
    tree = route(record, case.encoded.X)
    weights = case.row_weights
    wrong = float(weights[tree.predicted != case.codes].sum())
    must(tree.depth <= case.depth, f"depth {tree.depth}")
    for name, less in _LIMITS:
        if name in case.constraints:
            must(len(tree.splits) <= case.constraints[name] - less, f"{len(tree.splits)} splits")
    if case.key == "oct-h":
        check_strips(case, tree, np.ones(len(weights), bool))
        least = case.constraints.get("min_samples_leaf", 0)
        must(min(tree.leaf_sizes) >= least, f"leaf sizes {tree.leaf_sizes}")
        used = sum(len(tree.columns(node)) for node in tree.splits)
        return wrong / majority_errors(case) + case.params["alpha"] * used
    check_strips(case, tree, weights > 0)
    if case.params["alpha"] == 0:
        return float(weights.sum()) - wrong
    return wrong / float(weights.sum()) + case.params["alpha"] * len(tree.splits)


def right_distance(case: Case) -> float:
    """Least distance of right rows from a plane of SVM1-ODT; none as published."""
    return STRICT * case.params["big_m"] if case.params.get("strict", True) else 0.0


def svm1_value(case: Case, record: Mapping[str, Any]) -> float:
    """Objective of a tree of SVM1-ODT by routing."""
    offsets = {e["node"]: e.get("offset") for e in record["nodes"] if e["kind"] == "branch"}
    tree, params = route(record, case.encoded.X), case.params
    total = float(case.row_weights[tree.predicted != case.codes].sum())
    groups = category_groups(case) if params["categorical"] == "subsets" else []
    for node, (weights, threshold) in tree.splits.items():
        if any(set(tree.columns(node)) <= set(group) for group in groups):
            must(set(weights[weights != 0].tolist()) == {-1.0}, f"node {node} is no set of values")
            continue
        distance = right_distance(case)
        g = -(-threshold if offsets[node] is None else offsets[node]) - (distance / 2 or 1e-9)
        score = g - case.encoded.X @ weights
        left, right = tree.rows[2 * node], tree.rows[2 * node + 1]
        must(bool((np.abs(score) <= params["big_m"] * (1 + 1e-5)).all()), f"scores of node {node}")
        must(bool((score[left] >= -1e-5).all()), f"left rows of node {node}")
        must(bool((score[right] <= 1e-5 - distance).all()), f"right rows of node {node}")
        margin = np.concatenate([score[left], -score[right]])
        missing = np.maximum(0.0, params["epsilon"] - margin)
        rows = np.concatenate([left, right])
        total += float(params["alpha1"] * (case.row_weights[rows] @ missing))
        total += float(params["alpha2"] * np.abs(weights).sum())
    return total


def largest_norm_value(case: Case, record: Mapping[str, Any]) -> float:
    """Objective of a tree of MM-SVM-OCT by routing."""
    offsets = {e["node"]: e.get("offset") for e in record["nodes"] if e["kind"] == "branch"}
    tree, params, y = route(record, case.encoded.X), case.params, signs(case)

    def price(rows: np.ndarray, score: np.ndarray) -> float:
        cost = params["c1"] * np.maximum(0.0, 1 - y[rows] * score)
        if params["relabel"]:
            flipped = params["c2"] + params["c1"] * np.maximum(0.0, 1 + y[rows] * score)
            cost = np.minimum(cost, flipped)
        return float(case.row_weights[rows] @ cost)

    total = largest = 0.0
    for node, (weights, threshold) in tree.splits.items():
        rows = tree.rows[node]
        score = case.encoded.X[rows] @ weights + (
            -threshold if offsets[node] is None else offsets[node]
        )
        if node < 2 ** (case.depth - 1):
            strip = (score > ROUTED - params["epsilon"]) & (score < -ROUTED)
            must(not strip.any(), f"a row in the strip of node {node}")
        largest = max(largest, float(weights @ weights) / 2)
        total += price(rows, score) + params["c3"] * bool(weights.any())
    for leaf, label in tree.labels.items():
        levels = case.depth - leaf.bit_length() + 1
        if levels == 0:
            must(label == leaf % 2, f"leaf {leaf} predicts the other side")
        rows = tree.rows[leaf]
        total += levels * price(rows, np.full(len(rows), 1.0 if label == 1 else -1.0))
    return total + largest


VALUES: dict[str, Callable[[Case, Mapping[str, Any]], float]] = {
    **dict.fromkeys(MARGOT, margot_value),
    "s-oct": separating_value,
    "oct-h": separating_value,
    "svm1-odt": svm1_value,
    "mm-svm-oct": largest_norm_value,
}


# Random cases


def draw(rng: np.random.Generator, key: str) -> Case:
    """Draw one case of a formulation."""
    # from depth 3 on MARGOT has a search of its own
    depth = int(rng.choice([1, 2, 3] if key == "margot" else [1, 2, 2]))
    most = {"mm-svm-oct": 5, "svm1-odt": 6}.get(key, 7)
    if depth == 3:
        most = 5
    if key == "mm-svm-oct" and depth == 2:
        most = 4
    n = int(rng.integers(3, most, endpoint=True))
    p = int(rng.integers(1, 3, endpoint=True))
    kind = str(rng.choice(["grid", "line", "normal", "binary", "far apart"]))
    columns = draw_numbers(rng, kind, n, p)
    if key == "svm1-odt" and rng.random() < 0.5:
        kind = "categories"
        columns["f0"] = tuple("abcd"[v] for v in rng.integers(0, 4, n))
    two = key in (*MARGOT, "mm-svm-oct")
    X = (encode(columns, True).X > 0.5).astype(np.uint8)
    y = draw_labels(rng, str(rng.choice(LABELS)), X, 2 if two or rng.random() < 0.6 else 3)
    settings: dict[str, Any] = {"warm_start": "none"} if rng.random() < 0.2 else {}
    if key in {"svm1-odt", "oct-h"} and rng.random() < 0.4:
        settings["engine"] = "highs"  # the model itself, which the search would spare it
    case = Case(
        key,
        columns,
        tuple(y.tolist()),
        depth,
        "scaled",
        draw_params(rng, key),
        draw_constraints(rng, key, n, columns, y),
        settings,
        draw_weights(rng, str(rng.choice(WEIGHTS)), n),
        kind,
    )
    usable = len(set(case.y)) > 1 and case.encoded.X.shape[1] and case.row_weights.sum() > 0
    return case if usable else draw(rng, key)


def draw_numbers(rng: np.random.Generator, kind: str, n: int, p: int) -> dict[str, tuple[Any, ...]]:
    """Draw numeric columns; some rows are equal to others."""
    if kind == "grid":
        X = rng.integers(0, 5, (n, p)) / 4
    elif kind == "line":  # what cuts a line into many pieces takes a deep tree
        X = np.outer(rng.permutation(n), rng.integers(1, 4, p)).astype(float)
    elif kind == "binary":
        X = rng.integers(0, 2, (n, p)).astype(float)
    elif kind == "far apart":
        X = np.round(10.0 ** rng.uniform(-2, 2, (n, p)), 3)
    else:
        X = np.round(rng.normal(0, 1, (n, p)), 2)
    if rng.random() < 0.3:
        X[int(rng.integers(0, n))] = X[int(rng.integers(0, n))]
    return {f"f{j}": tuple(X[:, j].tolist()) for j in range(p)}


def draw_params(rng: np.random.Generator, key: str) -> dict[str, Any]:
    """Draw hyperparameters, prices over several decades."""

    def decade(low: int, high: int) -> float:
        return float(10.0 ** rng.integers(low, high, endpoint=True))

    if key in MARGOT:
        params: dict[str, Any] = {
            "C_upper": decade(-2, 3),
            "C_last": decade(-2, 4),
            "epsilon": float(rng.choice([0.001, 0.01])),
        }
        if key == "margot" and rng.random() < 0.35:
            params["norm"] = "l1"
            params["big_m"] = float(rng.choice([2.0, 100.0]))
        if key != "margot":
            params["budget_upper"], params["budget_last"] = rng.integers(1, 3, 2).tolist()
        if key == "sfs-margot":
            params["alpha"] = decade(-1, 2)
        return params
    if key == "s-oct":
        cuts = ["benders-last-10", "benders-all-1", "benders-root-5", "baseline", "init-1"]
        return {
            "alpha": float(rng.choice([0.0, 0.0, 0.05, 0.2])),
            "epsilon": float(rng.choice([0.005, 0.05, 0.2])),
            "cuts": str(rng.choice(cuts)),
            "symmetry_breaking": bool(rng.random() < 0.7),
            "start_seconds": float(rng.choice([0.0, 0.2])),
        }
    if key == "oct-h":
        return {
            "alpha": float(rng.choice([0.0, 1 / 64, 0.1, 0.5])),
            "epsilon": float(rng.choice([0.005, 0.05])),
            "start_seconds": float(rng.choice([0.0, 0.2])),
        }
    if key == "svm1-odt":
        alpha1, epsilon = float(rng.choice([0.0, 1.0, 1000.0, 1e6])), float(rng.choice([0.01, 0.1]))
        return {
            "alpha1": alpha1,
            "alpha2": float(rng.choice([0.0, 0.01, 0.1, 1.0])),
            "epsilon": epsilon,
            # as published it is refused where a row on a plane costs less than an error
            "strict": bool(alpha1 * epsilon < 1 or rng.random() < 0.5),
            "labels": str(rng.choice(["binary", "published"])),
            "categorical": str(rng.choice(["subsets", "subsets", "one-hot"])),
            "cuts": bool(rng.random() < 0.7),
            "big_m": float(rng.choice([1.0, 1.0, 10.0])),
            "start_seconds": float(rng.choice([0.0, 0.2])),
        }
    return {
        "c1": decade(-1, 2),
        "c2": decade(-1, 1),
        "c3": float(rng.choice([0.0, 0.1, 1.0])),
        "relabel": bool(rng.random() < 0.5),
        "epsilon": float(rng.choice([0.001, 0.01])),
        "start_seconds": float(rng.choice([0.0, 0.2])),
    }


def draw_constraints(
    rng: np.random.Generator,
    key: str,
    n: int,
    columns: Mapping[str, tuple[Any, ...]],
    y: np.ndarray,
) -> dict[str, Any]:
    """Draw none or one side constraint."""
    found: dict[str, Any] = {}
    if rng.random() < 0.15:
        found["class_weight"] = {
            int(k): float(rng.choice([0.0, 0.5, 1.0, 3.0])) for k in sorted(set(y.tolist()))
        }
    if key in {"s-oct", "oct-h"} and rng.random() < 0.4:
        name = str(rng.choice(["max_leaves", "max_splits"]))
        found[name] = int(rng.integers(1 if name == "max_leaves" else 0, 4))
    if key == "oct-h" and rng.random() < 0.4:
        found["min_samples_leaf"] = int(rng.choice([1, 2, 3, max(1, n // 2)]))
    if key == "oct-h" and len(columns) > 1 and rng.random() < 0.2:
        found["forbidden_features"] = [str(rng.choice(list(columns)))]
    return found


__all__ = ["KEYS", "Undecided", "check", "draw"]
