"""Questions to the exact search itself: every kind of kernels against enumeration.

They ask for more than a formulation does: numbers for all kernels, several roots, rows that count
not at all or twice where leaf sizes are counted, and every number of leaves.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from octcore.data.tasks import COSTS, task_of
from octcore.search.univariate import search
from octcore.search.univariate.question import Answer, Question, Report
from octcore.selection.penalty_path import optimal_by_leaves
from octcore.tree.tree import Tree
from tests.fuzz.adapter import answered_by
from tests.fuzz.case import Case
from tests.fuzz.failure import must
from tests.fuzz.rows import KINDS, LABELS, WEIGHTS, draw_binary, draw_labels, draw_weights
from tests.fuzz.univariate import draw_task
from tests.referee import literal_bounds as literal_bounds
from tests.referee.routing import route
from tests.referee.univariate import ErrorTable, error_table

KEYS = ("question",)
KERNELS = ("auto", "bits", "lanes", "plain")
MOST_CUTS = (60, 60, 40, 16, 9)
"""Thresholds of all columns that the referee enumerates, by depth."""
ROWS = (60, 60, 40, 24, 18)
CLOSE = 1e-8
PRICES = (0.0, 0.0, 1e-4, 0.01, 0.03, 0.1, 0.5, 1.9, 3.0, 1e6)


# What is asked


def question(case: Case) -> Question:
    """The question of a case; with costs it is about copies of the rows by answer."""
    plain = of_rows(case)
    if not is_task(case):
        return plain
    asked = case.settings
    task = task_of(COSTS.check(asked.get("costs")), asked.get("refer"), case.classes)
    weights = np.ones(len(plain.y)) if plain.weights is None else plain.weights
    copies = task.copies(plain.y, weights)
    counts = copies.count if plain.counts is None else copies.count * plain.counts[copies.row]
    return replace(
        plain,
        X=plain.X[copies.row],
        y=copies.label,
        n_classes=len(task.answers),
        weights=copies.weight,
        counts=counts,
    )


def is_task(case: Case) -> bool:
    """Whether answers have costs, or may be a person's."""
    return bool({"costs", "refer"} & set(case.settings))


def of_rows(case: Case) -> Question:
    """The question of a case about its rows, without costs."""
    asked, names = case.constraints, list(case.columns)
    X = np.array(list(case.columns.values())).T
    places = {name: [names.index(f) for f in asked.get(name, ()) if f in names]
              for name in ("forbidden", "roots")}  # fmt: skip
    return Question(
        X.astype(np.uint8) if set(X.ravel().tolist()) <= {0, 1} else X,
        case.codes if is_task(case) else np.array(case.y),
        max(case.y) + 1,
        case.depth,
        case.params["leaf_penalty"],
        weights=None if case.weights is None else np.array(case.weights),
        counts=np.resize(asked["counts"], len(X)) if "counts" in asked else None,
        min_samples_leaf=asked.get("min_samples_leaf", 1),
        max_leaves=asked.get("max_leaves"),
        forbidden=np.isin(np.arange(len(names)), places["forbidden"]),
        roots=tuple(places["roots"]) if "roots" in asked else None,
        all_roots=asked.get("all_roots", False),
    )


class Truth:
    """Optima by enumeration of all sets of literals.

    Parameters
    ----------
    asked : Question
    rows : Question or None
        Where `asked` is about copies of rows by answer: the rows themselves.
    costs : ndarray of shape (n_classes, n_answers) or None
        What answers to these rows cost; nothing here looks at the copies.
    """

    def __init__(
        self, asked: Question, rows: Question | None = None, costs: np.ndarray | None = None
    ) -> None:
        self.asked, self.rows = asked, rows or asked
        asked = self.rows
        weights = np.ones(len(asked.y)) if asked.weights is None else np.asarray(asked.weights)
        self.total = float(weights.sum())
        self.surplus = 0.0
        if costs is None:
            costs = 1.0 - np.eye(asked.n_classes)
        else:
            room = costs.max(axis=1, keepdims=True) - costs  # what an answer is worth
            self.total = float(weights @ room.sum(axis=1)[asked.y])
            self.surplus = self.total - float(weights @ costs.max(axis=1)[asked.y])
        self.of_rows = weights[:, None] * costs[asked.y]
        n_features = asked.X.shape[1]
        cuts = [
            (j, asked.X[:, j] > low) for j in range(n_features) for low in np.unique(asked.X[:, j])
        ]
        cuts = [(j, cut) for j, cut in cuts if cut.any()]
        self.owner = np.array([j for j, _ in cuts], int)
        banned = np.zeros(n_features, bool) if asked.forbidden is None else asked.forbidden
        self.allowed = ~np.asarray(banned)
        self.table: ErrorTable = error_table(
            np.array([cut for _, cut in cuts]).reshape(len(cuts), len(asked.y)).T,
            asked.y, asked.depth, asked.weights, asked.min_samples_leaf,
            self.allowed[self.owner], asked.counts, costs,
        )  # fmt: skip

    def by_root(self, columns: list[int]) -> np.ndarray:
        """Least errors with one of some columns at the root, by most leaves."""
        return self.table.by_root[np.isin(self.owner, columns)].min(axis=0, initial=np.inf)

    @cached_property
    def by_leaves(self) -> np.ndarray:
        """Least errors with at most 0, 1, ... leaves, whatever their price."""
        roots = self.asked.roots
        errors = self.table.by_leaves if roots is None else self.by_root(list(roots))
        return errors[: self.asked.leaf_limit + 1]

    def best(self, errors: np.ndarray) -> float:
        """Largest objective; minus infinite where there is no tree."""
        errors = errors[: self.asked.leaf_limit + 1]
        price = self.asked.leaf_penalty * np.arange(len(errors))
        values = 1.0 - (errors + self.surplus) / self.total - price
        return float(values[1:].max())

    def value(self, tree: Tree) -> float:
        """Objective of a tree that keeps everything that was asked; raises Failure else."""
        asked = self.rows
        found = route(tree.to_dict(), np.asarray(asked.X, float))
        counts = np.ones(len(asked.y)) if asked.counts is None else asked.counts
        tested = {m: found.columns(m) for m in found.splits}
        sizes = [counts[found.rows[leaf]].sum() for leaf in found.labels]
        must(all(len(columns) == 1 for columns in tested.values()), "a split on several columns")
        must(found.depth <= asked.depth, f"depth {found.depth}")
        must(len(sizes) <= asked.leaf_limit, f"{len(sizes)} leaves")
        must(min(sizes) >= max(1, asked.min_samples_leaf), f"leaf sizes {sizes}")
        used = {columns[0] for columns in tested.values()}
        must(bool(self.allowed[list(used)].all()), "a forbidden column is tested")
        must(asked.roots is None or tested.get(1, (-1,))[0] in asked.roots, "another root")
        cost = self.of_rows[np.arange(len(asked.y)), found.predicted].sum()
        return float(1.0 - (cost + self.surplus) / self.total - asked.leaf_penalty * len(sizes))


# What it has to be


def check(case: Case) -> None:
    """Ask, and compare everything that comes back with enumeration; raises Failure."""
    asked, reports = question(case), list[Report]()
    truth = Truth(asked, of_rows(case), case.costs if is_task(case) else None)
    with answered_by(case.params["kernel"]):
        found = search.answer(asked, reports.append)
        check_answer(truth, found, reports, case.params["kernel"])
        check_order(asked, found)
        check_leaves(truth)


def check_answer(truth: Truth, found: Answer, reports: list[Report], kernel: str) -> None:
    """Compare tree, proof, values of roots and what was told on the way."""
    asked, best = truth.asked, truth.best(truth.by_leaves)
    slack = CLOSE * max(1.0, abs(best) if np.isfinite(best) else 0.0, asked.leaf_penalty)
    is_limited = asked.leaf_limit < 2**asked.depth and kernel != "lanes"
    check_roots(truth, found, slack, asked.all_roots and not is_limited)
    if not np.isfinite(best):
        must(found.status == "infeasible", f"no tree exists, but {found.status!r}")
        must(found.tree is None and found.objective is None, "a tree although none exists")
        return
    must(found.status == "optimal", f"{found.status!r}, optimum {best:.12g}")
    for name, value in (("objective", found.objective), ("bound", found.bound)):
        must(value is not None and abs(value - best) <= slack, f"{name} {value}, optimum {best}")
    must(found.tree is not None, "no tree")
    assert found.tree is not None
    value = truth.value(found.tree)
    must(abs(value - best) <= slack, f"a tree of {value}, optimum {best}")
    last = -np.inf
    for report in reports:
        if report.bound is not None:
            must(report.bound >= best - slack, f"bound {report.bound} cuts off {best}")
        if report.tree is not None:
            value = truth.value(report.tree)
            must(last - slack <= value <= best + slack, f"incumbent {value}, {last} before")
            last = value


def check_roots(truth: Truth, found: Answer, slack: float, all_exact: bool) -> None:
    """Compare the value of every column at the root; inexact ones must be bounds."""
    asked = truth.asked
    for j, (value, exact) in enumerate(zip(found.root_values, found.root_exact, strict=True)):
        may = asked.roots is None or j in asked.roots
        best = truth.best(truth.by_root([j])) if may else -np.inf
        must(value >= best - slack, f"value {value} of root {j} is no bound, it has {best}")
        if exact:
            same = value == best if not np.isfinite(best) else abs(value - best) <= slack
            must(same, f"value {value} of root {j} said to be exact, it is {best}")
        must(exact or not all_exact, f"value of root {j} is not exact")


def check_order(asked: Question, found: Answer) -> None:
    """Rows in another order have the same tree."""
    others: dict[str, Any] = {
        name: None if rows is None else np.asarray(rows)[::-1]
        for name in ("X", "y", "weights", "counts")
        for rows in (getattr(asked, name),)
    }
    other = search.answer(Question(**vars(asked) | others))
    must(other.tree == found.tree, "another order of the rows, another tree")


def check_leaves(truth: Truth) -> None:
    """Compare the most accurate tree of every number of leaves."""
    optima = {optimum.max_leaves: optimum for optimum in optimal_by_leaves(truth.asked)}
    possible = np.flatnonzero(np.isfinite(truth.by_leaves)).tolist()
    must(sorted(optima) == possible, f"trees of {sorted(optima)} leaves, there are {possible}")
    for leaves, optimum in optima.items():
        best = 1.0 - (truth.by_leaves[leaves] + truth.surplus) / truth.total
        must(abs(optimum.accuracy - best) <= CLOSE, f"{leaves} leaves: {optimum.accuracy}, {best}")
        size = optimum.tree.n_leaves
        must(size <= leaves, f"{size} leaves, {leaves} allowed")
        value = truth.value(optimum.tree) + truth.asked.leaf_penalty * size
        slack = CLOSE * max(1.0, truth.asked.leaf_penalty)
        must(abs(value - best) <= slack, f"{leaves} leaves: a tree of {value}, said {best}")


# Random cases


def draw(rng: np.random.Generator, key: str) -> Case:
    """Draw one case."""
    depth = int(rng.choice([0, 1, 2, 2, 3, 3, 3, 4, 4]))
    n = int(rng.integers(1, ROWS[depth], endpoint=True))
    kind = str(rng.choice(["binary", "few", "numbers", "mixed"]))
    columns = _columns(rng, kind, n, depth)
    X = np.array(list(columns.values())).T
    classes = int(rng.choice([1, 2, 2, 2, 3, 4]))
    y = draw_labels(rng, str(rng.choice(LABELS)), (X > np.median(X, axis=0)).astype(int), classes)
    weights = draw_weights(rng, str(rng.choice(WEIGHTS)), n)
    if rng.random() < 0.1:  # counters of other widths
        weights = tuple(rng.choice([1.0, 3.0, 20_000.0, 2.0**28], n).tolist())
    case = Case(
        key,
        columns,
        tuple(y.tolist()),
        depth,
        params={"kernel": str(rng.choice(KERNELS)), "leaf_penalty": float(rng.choice(PRICES))},
        constraints=_limits(rng, list(columns), n, depth),
        weights=weights,
        kind=kind,
        settings=draw_task(rng, sorted(set(y.tolist()))) if rng.random() < 0.4 else {},
    )
    is_free = is_task(case) and not np.any(question(case).weights)  # no answer costs anything
    return draw(rng, key) if is_free else case


def _columns(rng: np.random.Generator, kind: str, n: int, depth: int) -> dict[str, tuple[Any, ...]]:
    """Columns of 0 and 1, of few values and of many, constant, copies, reversed and cut."""
    found: list[np.ndarray] = []
    left = MOST_CUTS[depth]
    for _ in range(int(rng.integers(1, 9))):
        sort = str(rng.choice(["binary", "few", "numbers"])) if kind == "mixed" else kind
        if sort == "binary":
            column = draw_binary(rng, str(rng.choice(KINDS[:5])), n, 1)[:, 0]
        else:
            column = rng.integers(0, 4 if sort == "few" else 2 * n, n) * rng.choice([1, 0.5, -3])
        if found and rng.random() < 0.25:
            other = found[int(rng.integers(len(found)))]
            column = (other.copy(), 1 - other, 1 * (other > np.median(other)))[rng.integers(3)]
        if rng.random() < 0.04:
            column = np.full(n, column[0])
        over = len(np.unique(column)) - 1 - left
        if over > 0:  # the largest values become one
            column = np.minimum(column, np.unique(column)[left])
        left -= len(np.unique(column)) - 1
        found.append(column)
    return {f"f{j}": tuple(column.tolist()) for j, column in enumerate(found)}


def _limits(rng: np.random.Generator, names: list[str], n: int, depth: int) -> dict[str, Any]:
    """Some of the things that may be asked for."""
    some = lambda: rng.choice(names, int(rng.integers(1, 3))).tolist()  # noqa: E731
    offered: dict[str, Any] = {
        "min_samples_leaf": int(rng.choice([0, 1, 2, 2, 3, 5, max(1, n // 2), n])),
        "max_leaves": int(rng.integers(1, 2**depth, endpoint=True)),
        "forbidden": some(),
        "roots": some(),
        "all_roots": True,
        "counts": [int(v) for v in rng.integers(0, 3, int(rng.integers(1, 6)))],
    }
    return {name: value for name, value in offered.items() if rng.random() < 0.3}
