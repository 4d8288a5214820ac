"""Side constraints: parsed once, judged on any tree by routing rows."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from octcore.errors import SettingsError
from octcore.tree.constraints import (
    ConstraintContext,
    Constraints,
    Fairness,
    parity_cells,
    violations,
)
from octcore.tree.tree import Split, Tree

X = np.array([[0, 0, 1], [0, 1, 1], [1, 0, 0], [1, 1, 0], [1, 1, 1]], dtype=float)
Y = np.array([0, 1, 1, 1, 0])
CONTEXT = ConstraintContext(
    X, Y, np.array([0, 0, 1]), ("size", "colour"), ("no", "yes"), {"colour": X[:, 2].astype(int)}, 1
)
TREE = Tree(
    {1: Split.on_feature(0), 2: Split.on_feature(1)}, {3: 1, 4: 0, 5: 1}, n_features=3, n_classes=2
)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"max_leaves": 2}, "3 leaves"),
        ({"max_splits": 1}, "3 leaves"),
        ({"min_samples_leaf": 2}, "a leaf of 1 rows"),
        ({"max_features": 0}, "1 features"),
        ({"forbidden_features": ["size"]}, "size is tested"),
        ({"root_feature": "colour"}, "root does not test colour"),
        ({"feature_once_per_path": True}, "tested twice"),
        ({"min_recall": {"no": 0.6}}, "recall of no is 0.5"),
        ({"statistical_parity": {"attribute": "colour", "max_gap": 0.1}}, "gap is 0.33"),
        ({"equal_opportunity": {"attribute": "colour", "max_gap": 0.0}}, None),
        ({"predictive_equality": {"attribute": "colour", "max_gap": 0.0}}, None),
        ({"max_leaves": 3, "max_features": 1, "root_feature": "size"}, None),
    ],
)
def test_violations_are_found_by_routing(given: dict, words: str | None) -> None:
    found = violations(Constraints.parse(given), TREE, CONTEXT)
    assert found == () if words is None else any(words in text for text in found)


def test_forbidden_pairs_need_both_features() -> None:
    limit = Constraints.parse({"forbidden_pairs": "size:colour"})
    both = Tree({1: Split.on_feature(0), 3: Split.on_feature(2)}, {2: 0, 6: 1, 7: 0}, 3, 2)
    assert violations(limit, TREE, CONTEXT) == ()
    assert violations(limit, both, CONTEXT) == ("size and colour are both tested",)


def test_a_direction_is_kept_where_no_row_that_could_be_breaks_it() -> None:
    grid = np.array(list(itertools.product(range(4), repeat=2)), dtype=float)
    ranks = {"a": grid[:, 0].astype(int)}
    context = ConstraintContext(
        grid, np.zeros(16, int), np.arange(2), ("a", "b"), ("x", "y", "z"), ranks, 2
    )
    rng, seen = np.random.default_rng(3), set()
    for _ in range(60):
        at = rng.integers(0, [2, 3], (3, 2))
        splits = {m + 1: Split.on_feature(int(j), t + 0.5) for m, (j, t) in enumerate(at)}
        tree = Tree(splits, {m: int(rng.integers(3)) for m in range(4, 8)}, 2, 3)
        rises = np.diff(tree.predict_codes(grid).reshape(4, 4), axis=0)  # of a, b being the same
        for way, is_kept in ("up", (rises >= 0).all()), ("down", (rises <= 0).all()):
            found = violations(Constraints.parse({"monotone": {"a": way}}), tree, context)
            assert (found == ()) == is_kept
            seen.add((way, bool(is_kept)))
    assert len(seen) == 4


@pytest.mark.parametrize("name", ["max_splits", "max_features"])
def test_a_limit_of_zero_is_a_limit(name: str) -> None:
    limit = Constraints.parse({name: 0})
    assert limit.active == {name}
    assert limit.to_dict() == {name: 0}
    assert violations(limit, TREE, CONTEXT)


def test_nothing_asked_for_is_not_active() -> None:
    nothing = {"forbidden_features": [], "feature_once_per_path": "false", "max_leaves": None}
    assert Constraints.parse(nothing).active == frozenset()


def test_empty_groups_give_no_pair() -> None:
    rows = parity_cells("predictive_equality", Fairness("colour", 0.1), CONTEXT)
    assert rows == []


def test_conditional_parity_compares_within_levels() -> None:
    context = ConstraintContext(
        X, Y, CONTEXT.groups, CONTEXT.raw_features, CONTEXT.classes,
        {"colour": X[:, 2].astype(int), "size": X[:, 0].astype(int)}, 1,
    )  # fmt: skip
    cells = parity_cells("conditional_parity", Fairness("colour", 0.1, given="size"), context)
    assert [(a.sum(), b.sum()) for a, b in cells] == [(2, 1)]


@pytest.mark.parametrize(
    "given",
    [
        {"max_leaves": 0},
        {"max_leaves": 2.5},
        {"min_samples_leaf": "many"},
        {"min_recall": {"no": 1.5}},
        {"min_recall": 0.5},
        {"class_weight": "even"},
        {"statistical_parity": {"attribute": "colour"}},
        {"forbidden_pairs": "size"},
        {"max_leafs": 3},
    ],
)
def test_nonsense_is_refused(given: dict) -> None:
    with pytest.raises(SettingsError):
        Constraints.parse(given)


def test_constraints_survive_storage() -> None:
    given = {
        "max_leaves": 4,
        "forbidden_pairs": [["size", "colour"]],
        "forbidden_features": ["size"],
        "class_weight": {"no": 2.0},
        "conditional_parity": {"attribute": "colour", "max_gap": 0.1, "given": "size"},
    }
    limit = Constraints.parse(given)
    assert limit.to_dict() == given
    assert Constraints.parse(limit.to_dict()) == limit
    assert limit.active == set(given)
