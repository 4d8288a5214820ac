"""Near-optimal sets: random questions, and everything a set says against the list of all trees."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from math import lcm
from typing import Any
from unittest.mock import patch

import numpy as np

import octcore
from octcore.search.near_optimal import instance
from octcore.selection.near_optimal import NearOptimalTrees
from tests.fuzz import univariate
from tests.fuzz.case import SECONDS, Case
from tests.fuzz.failure import must
from tests.fuzz.rows import KINDS, LABELS, MOST_UNITS, draw_columns, draw_labels
from tests.referee.encoding import encode
from tests.referee.near_optimal import (
    LEAF,
    NearOptimal,
    Question,
    Shape,
    class_shares,
    lowers_errors,
    near_optimal,
    read_number,
    read_weight,
    tested,
    within,
)
from tests.referee.routing import RoutedTree, route

KEYS = ("near-optimal",)
NUMBERS = "numbers"
"""Kind of rows with more than two values a column."""
SORTED = "sorted"
"""Setting of a case: whether thresholds are counted along sorted columns, however few they are."""
MOST_WRITTEN = 12_000
"""Trees that a question may have; drawn again with less depth otherwise."""
LEVELS = 24
"""Costs next to the optimum of which one is the border."""
LISTED = 1_500
"""Trees that are compared one by one, and of which runs and shares are made."""


# Random cases


def draw(rng: np.random.Generator, key: str) -> Case:
    """Draw rows, prices that make ties, a tolerance on or next to the border, and conditions."""
    kind = str(rng.choice((*KINDS, "levels", "levels", *4 * (NUMBERS,))))
    n = int(rng.integers(2, 15) if rng.random() < 0.8 else rng.integers(33, 120))
    if kind == "levels":
        columns, y = draw_levels(rng, n)
    else:
        classes = int(rng.choice([1, 2, 2, 2, 3, 3, 4]))
        columns = draw_columns(rng, kind, n, int(rng.integers(1, 7)))
        y = draw_labels(rng, str(rng.choice(LABELS)), encode(columns).X, classes)
    able = frozenset() if kind == "levels" and rng.random() < 0.6 else univariate.PATH_CONSTRAINTS
    constraints = univariate.draw_constraints(rng, able, columns, y)
    if "class_weight" in constraints and rng.random() < 0.4:
        values = (0.1, 1 / 3, 0.7, 0.1 + 0.2, 1000.0, 2.0**40, 1e-9)
        weights = {int(k): float(rng.choice(values)) for k in np.unique(y)}
        constraints["class_weight"] = weights
    case = Case(
        key,
        columns,
        tuple(y.tolist()),
        int(rng.choice([3, 4, 4, 4, 5] if kind == "levels" else [1, 2, 2, 3, 3, 3, 4, 4, 5])),
        "auto" if kind == NUMBERS else "one-hot" if kind in {"categories", "levels"} else "none",
        constraints=constraints,
        kind=kind,
    )
    if case.row_weights.sum() <= 0:
        return draw(rng, key)
    while case.depth > 1 and question(case).count_trees() > MOST_WRITTEN:
        case = replace(case, depth=case.depth - 1)
    price = draw_price(rng, case)
    case = replace(case, params={"leaf_penalty": float(price)})
    tolerance = draw_tolerance(rng, case)
    narrower = draw_narrower(rng, case, tolerance)
    settings = {"tolerance": tolerance, "restrict": narrower, SORTED: bool(rng.random() < 0.5)}
    return replace(case, settings=settings)


def draw_levels(rng: np.random.Generator, n: int) -> tuple[dict[str, tuple[str, ...]], np.ndarray]:
    """Draw text of many levels of several classes: good trees take off one level after the other.

    Only there does a bound decide that counts the leaves of a deep tree.
    """
    levels = int(rng.integers(4, 8))
    f0, f1 = rng.integers(0, levels, n), rng.integers(0, 2, n)
    y = f0 % int(rng.integers(2, 6))
    columns = {"f0": tuple("abcdefg"[v] for v in f0), "f1": tuple("ab"[v] for v in f1)}
    if rng.random() < 0.5:
        del columns["f1"]
    return columns, np.where(rng.random(n) < rng.choice([0.0, 0.1]), rng.integers(0, 2, n), y)


def draw_price(rng: np.random.Generator, case: Case) -> Fraction:
    """Draw a price: parts of a row, awkward fractions, decimals, and any double."""
    rows = Fraction(len(case.y))
    total = sum(map(read_weight, case.row_weights.tolist()), Fraction(0))
    k = int(rng.integers(1, 7))
    if case.kind == "levels" and rng.random() < 0.6:
        return k / (7 * rows)
    prices = (
        Fraction(0), 1 / rows, k / (2 * rows), k / (7 * rows), k / (7 * rows), k / total,
        Fraction(1, 3), Fraction(1, 7), Fraction(k, 232), Fraction("0.01"), Fraction("0.05"),
        Fraction("0.123456789"), Fraction(0.1 + 0.2), Fraction(0.006250000000000001),
        Fraction(float(rng.random() / 4)), Fraction(1, 10**9), Fraction("0.99"),
    )  # fmt: skip
    return min(prices[int(rng.integers(len(prices)))], Fraction("0.99"))


def draw_tolerance(rng: np.random.Generator, case: Case) -> float:
    """Draw a tolerance that some trees lie on, or next to, or any other."""
    asked = question(case)
    costs = sorted({asked.cost(tree) for tree in asked.every_tree()})[:LEVELS]
    if rng.random() < 0.2 or not costs:
        return float(rng.choice([0.0, 0.02, 0.1, 1 / 3, 1 / len(case.y), 0.5, 1.0, rng.random()]))
    border = float(costs[int(rng.integers(len(costs)))] - costs[0])
    off = (1, 1, 1, 1 + 1e-14, 1 - 1e-11, 1 + 1e-10, 1 - 1e-7)
    return min(1.0, border * float(rng.choice(off)))


def draw_narrower(rng: np.random.Generator, case: Case, tolerance: float) -> dict[str, Any]:
    """Draw further conditions on the trees of the set."""
    roles = rng.choice(["with", "without", "", "", ""], len(case.columns))
    narrower: dict[str, Any] = {
        f"{role}_features": [f for f, own in zip(case.columns, roles, strict=True) if own == role]
        for role in ("with", "without")
    }
    if rng.random() < 0.5:
        narrower["max_leaves"] = int(rng.integers(0, 7))
    if rng.random() < 0.5:
        narrower["tolerance"] = tolerance * float(rng.choice([0.0, 0.5, 1 / 3, 1.0]))
    if rng.random() < 0.4:
        narrower["gain"] = True
    return narrower


# What a case asks


def question(case: Case) -> Question:
    """The question of a case, for the referee."""
    encoded, asked, names = case.encoded, case.constraints, list(case.columns)
    rows = max(len(case.y), float(case.row_weights.sum()))
    weights = [Fraction(0)] * len(case.classes)
    for label, weight in zip(case.codes, case.row_weights.tolist(), strict=True):
        weights[label] = read_weight(weight)

    def of(features: Any) -> frozenset[int]:
        wanted = {names.index(name) for name in features}
        return frozenset(j for j, raw in enumerate(encoded.cut_groups.tolist()) if raw in wanted)

    return Question(
        encoded.cuts,
        case.codes,
        case.depth,
        read_number(case.params.get("leaf_penalty", 0.01), rows),
        read_number(case.settings.get("tolerance", 0.02), rows),
        tuple(weights),
        max(1, asked.get("min_samples_leaf", 1)),
        univariate.leaf_limit(case),
        of(asked.get("forbidden_features", ())),
        of([asked["root_feature"]]) if "root_feature" in asked else None,
    )


# What a set must say


def check(case: Case) -> None:
    """Count, list, draw and narrow; compare with the list of all trees; raises Failure."""
    asked = question(case)
    truth = near_optimal(asked)
    few = instance.suits_bits
    chosen = (lambda table: False) if case.settings.get(SORTED) else few
    try:
        with patch.object(instance, "suits_bits", chosen):
            found = octcore.near_optimal(
                case.data(),
                case.encoding,
                case.depth,
                dict(case.params),
                dict(case.constraints),
                case.settings.get("tolerance", 0.02),
                time_limit=SECONDS,
            )
    except octcore.SettingsError as refusal:
        if refusal.code == "TOO_MANY_DIGITS":
            units = lcm(*(w.denominator for w in asked.class_weight))
            shared = np.gcd.reduce(np.array([int(w * units) for w in asked.class_weight], object))
            must(asked.total * units / shared > MOST_UNITS, f"refused: {refusal.message}")
            return
        tiny = refusal.code == "BAD_WEIGHTS" and case.row_weights.max() < 1e-6
        must(truth is None or tiny, f"refused: {refusal.message}")
        return
    if truth is None:
        must(False, f"{found.count} trees although none keeps the constraints")
        return
    compare(case, found, truth)
    compare_narrower(case, found, truth)


def compare_narrower(case: Case, found: NearOptimalTrees, truth: NearOptimal) -> None:
    """Narrow the set, and what was narrowed once more."""
    narrower = dict(case.settings.get("restrict", {}))
    asked, names = truth.question, list(case.columns)
    rows = max(len(case.y), float(case.row_weights.sum()))
    margin = read_number(narrower["tolerance"], rows) if "tolerance" in narrower else None
    if margin is not None and margin > asked.tolerance:
        return  # rounded up beyond what was searched
    wanted = {names.index(name) for name in narrower.get("with_features", ())}
    banned = {names.index(name) for name in narrower.get("without_features", ())}
    if len(wanted) > 6:
        return
    groups = case.encoded.cut_groups.tolist()

    def meets(shape: Shape) -> bool:
        used = {groups[j] for j in tested(shape)}
        gains = "gain" not in narrower or lowers_errors(asked, shape)
        return wanted <= used and not banned & used and gains

    inside = [
        tree
        for tree in asked.every_tree()
        if tree.leaves <= narrower.get("max_leaves", tree.leaves) and meets(tree.shape)
    ]
    tolerance = asked.tolerance if margin is None else margin
    first, *others = ({k: v} for k, v in narrower.items()) if narrower else ({},)
    narrow = found.restrict(**first)
    for condition in others:
        narrow = narrow.restrict(**condition)
    compare(case, narrow, within(asked, inside, truth.optimum, tolerance))


def compare(case: Case, found: NearOptimalTrees, truth: NearOptimal) -> None:
    """Compare everything that a set says with the list of its trees."""
    asked, trees = truth.question, truth.trees
    optimum = float(1 - truth.optimum)
    must(found.optimum == optimum, f"optimum {found.optimum!r} instead of {optimum!r}")
    must(found.count == len(trees), f"{found.count} trees instead of {len(trees)}")
    cells = Counter((tree.errors, tree.leaves) for tree in trees)
    must(found.counts == cells, f"counts {found.counts} instead of {dict(cells)}")
    steps = Counter((asked.cost(tree) - truth.optimum, tree.leaves) for tree in trees)
    by_tolerance = tuple((float(loss), leaves, n) for (loss, leaves), n in sorted(steps.items()))
    must(found.by_tolerance == by_tolerance, f"steps {found.by_tolerance}, not {by_tolerance}")
    inside, outside = truth.near_border
    said = f"{inside:,} of the trees and {outside:,} others"
    near = [text for text in found.statements if "border" in text]
    must(len(near) == bool(inside or outside), f"border {near}, found {said}")
    must(not near or said in near[0], f"border {near}, found {said}")
    compare_features(case, found, trees)
    if len(trees) <= LISTED:
        shares = class_shares(trees, len(case.y), len(asked.class_weight))
        must(np.allclose(found.class_shares(), shares, atol=1e-9), "shares of classes differ")
    listed = [nested(case, tree.to_dict()) for tree in found.trees(min(len(trees), LISTED) + 1)]
    wanted = [tree.shape for tree in trees[: len(listed)]]
    must([shape for shape, _ in listed] == wanted, "other trees, or in another order")
    weights, K = case.row_weights, len(asked.class_weight)
    for (shape, routed), tree in zip(listed, trees, strict=False):
        predicted = sum(1 << i * K + int(k) for i, k in enumerate(routed.predicted))
        must(predicted == tree.classes, f"classes of {shape} differ")
        wrong = weights[routed.predicted != case.codes].sum() / weights.sum()
        must(
            abs(wrong + float(asked.price) * tree.leaves - float(asked.cost(tree))) < 1e-9,
            f"cost of {shape} by routing",
        )
    members = {tree.shape for tree in trees}
    drawn = found.sample(8, seed=len(trees))
    must(len(drawn) == (8 if trees else 0), f"{len(drawn)} trees drawn")
    for tree in drawn:
        must(nested(case, tree.to_dict())[0] in members, "a tree is drawn that is not in the set")
    for tree in found.trees(1):
        compare_run(found, tree)


def compare_features(case: Case, found: NearOptimalTrees, trees: list[Any]) -> None:
    """Compare how many trees test a raw feature at the root, and anywhere."""
    names, groups = list(case.columns), case.encoded.cut_groups.tolist()
    roots = Counter(names[groups[tree.shape[0]]] for tree in trees if tree.shape != LEAF)
    used: Counter[str] = Counter()
    for tree in trees:
        used.update({names[groups[j]] for j in tested(tree.shape)})
    for said, wanted in ((found.roots, roots), (found.features, used)):
        seen = {name: n for name, n in said.items() if n}
        must(seen == dict(wanted), f"features {seen} instead of {dict(wanted)}")


def compare_run(found: NearOptimalTrees, tree: octcore.Tree) -> None:
    """Look at the run of a tree."""
    said, objective = found.run_of(tree).objective, found.objective(tree)
    must(said is not None and abs(said - objective) < 1e-9, f"run {said}, tree {objective}")


def nested(case: Case, record: Mapping[str, Any]) -> tuple[Shape, RoutedTree]:
    """Shape of a tree, and where it sends the rows."""
    encoded = case.encoded
    tree = route(record, encoded.X)

    def below(node: int) -> Shape:
        if node in tree.labels:
            return LEAF
        (column,) = tree.columns(node)
        right = encoded.X[:, column] > tree.splits[node][1]
        own = (encoded.cuts > 0) == right[:, None]
        (cut,) = np.flatnonzero((encoded.cut_columns == column) & own.all(axis=0))
        return (int(cut), below(2 * node), below(2 * node + 1))

    return below(1), tree
