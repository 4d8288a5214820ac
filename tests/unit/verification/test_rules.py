"""Side constraints that a claimed tree breaks, against the words of each for random trees."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pytest

import octcore
from octcore.data.dataset import Dataset
from octcore.tree.tree import Split, Tree
from octcore.verification.base import Guard
from octcore.verification.checking import claim_of
from octcore.verification.claim import Claim, broken_rules, route

N_ROWS, N_COLUMNS, N_TREES = 8, 3, 60
NAMES = [f"f{j}" for j in range(N_COLUMNS)]


@cache
def claim_under(name: str, value: Any, n_classes: int) -> Claim:
    """A claim on a few rows of small numbers, with one side constraint."""
    rng = np.random.default_rng(n_classes)
    frame = pd.DataFrame(rng.integers(0, 3, (N_ROWS, N_COLUMNS)).astype(float), columns=NAMES)
    data = Dataset.from_arrays(frame, np.arange(N_ROWS) % n_classes)
    run = octcore.solve(data, "threshold-search", "raw", 2, verify=False)
    asked = {name: dict(value) if name == "monotone" else value}
    settings = {**run.settings, "depth": 3, "constraints": asked}
    return claim_of(replace(run, settings=settings), Guard(60.0))


def random_tree(rng: np.random.Generator, n_classes: int) -> Tree:
    """Splits on any paths, three at most on one."""
    splits: dict[int, Split] = {}
    labels: dict[int, int] = {}
    waiting = [1]
    while waiting:
        node = waiting.pop()
        if node < 2**3 and (node == 1 or rng.random() < 0.6):
            splits[node] = Split.on_feature(int(rng.integers(N_COLUMNS)), rng.choice([0.5, 1.5]))
            waiting += [2 * node, 2 * node + 1]
        else:
            labels[node] = int(rng.integers(n_classes))
    return Tree(splits, labels, N_COLUMNS, n_classes)


def paths(tree: Tree) -> list[list[int]]:
    """Columns that are tested on the way to every leaf."""
    return [
        [tree.splits[leaf >> up].features[0] for up in range(1, leaf.bit_length())]
        for leaf in tree.labels
    ]


def breaks_a_direction(tree: Tree, claim: Claim, ways: Mapping[str, str]) -> bool:
    """Whether a larger value of one column, all others alike, is told less (up) or more (down)."""
    values = [np.unique(column) for column in claim.X.T]
    for name, way in ways.items():
        own, sign = NAMES.index(name), 1 if way == "up" else -1
        for others in product(*(v[:1] if j == own else v for j, v in enumerate(values))):
            rows = np.tile(np.array(others, float), (len(values[own]), 1))
            rows[:, own] = values[own]
            if (sign * np.diff(tree.predict_codes(rows)) < 0).any():
                return True
    return False


def truth(name: str, value: Any, tree: Tree, claim: Claim) -> bool:
    used = {column for path in paths(tree) for column in path}
    sizes = np.bincount(tree.apply(claim.X), minlength=2**4)[list(tree.labels)]
    match name:
        case "monotone":
            return breaks_a_direction(tree, claim, dict(value))
        case "feature_once_per_path":
            return any(len(path) > len(set(path)) for path in paths(tree))
        case "forbidden_pairs":
            return any({NAMES.index(one) for one in pair} <= used for pair in value)
        case "forbidden_features":
            return bool({NAMES.index(one) for one in value} & used)
        case "max_features":
            return len(used) > value
        case "max_leaves":
            return len(tree.labels) > value
        case "min_samples_leaf":
            return bool(sizes.min() < value)
    return tree.splits[1].features[0] != NAMES.index(value)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize(
    ("name", "value"),
    [("monotone", (("f0", "up"),)), ("monotone", (("f1", "down"),)),
     ("monotone", (("f0", "up"), ("f2", "down"))), ("feature_once_per_path", True),
     ("forbidden_pairs", (("f0", "f1"), ("f1", "f2"))), ("forbidden_features", ("f2",)),
     ("max_features", 2), ("max_leaves", 3), ("min_samples_leaf", 2), ("root_feature", "f1")],
)  # fmt: skip
def test_a_tree_is_said_to_break_what_it_breaks(name: str, value: Any, n_classes: int) -> None:
    claim, rng, broken = claim_under(name, value, n_classes), np.random.default_rng(7), []
    for _ in range(N_TREES):
        tree = random_tree(rng, n_classes)
        found = broken_rules(replace(claim, tree=tree), route(tree, claim.X), Guard(60.0))
        assert bool(found) == truth(name, value, tree, claim), (tree, found)
        broken.append(bool(found))
    assert 0 < sum(broken) < N_TREES
