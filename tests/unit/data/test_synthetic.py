"""The two-dimensional recipes: counts, margins, ground truth, reproducibility."""

from __future__ import annotations

import numpy as np
import pytest

from octcore.data.synthetic import generate, list_generators, route
from octcore.errors import SettingsError

KEYS = [recipe.key for recipe in list_generators()]
COUNTS = {
    "4-partitions": (54, 54),
    "wedges": (55, 55),
    "6-partitions": (48, 48),
    "xor": (50, 50),
    "moons": (60, 60),
    "circles": (60, 60),
    "spiral": (60, 60),
    "checkerboard": (64, 64),
    "fourclass-like": (555, 307),
}


@pytest.mark.parametrize("key", KEYS)
def test_counts_range_and_reproducibility(key):
    made, again = generate(key), generate(key)
    assert (int((made.labels < 0).sum()), int((made.labels > 0).sum())) == COUNTS[key]
    assert made.points.min() >= 0
    assert made.points.max() <= 1
    assert np.array_equal(made.points, again.points)
    assert not np.array_equal(made.points, generate(key, seed=99).points)


@pytest.mark.parametrize("key", ["4-partitions", "wedges", "6-partitions", "xor"])
@pytest.mark.parametrize("seed", range(5))
def test_the_ground_truth_tree_has_no_error_and_keeps_its_margin(key, seed):
    made = generate(key, seed=seed)
    leaves, distance = route(made.planes, made.points)
    assert [made.leaf_labels[leaf] for leaf in leaves.tolist()] == made.labels.tolist()
    declared = next(recipe for recipe in list_generators() if recipe.key == key).parameters
    gamma = next(parameter.default for parameter in declared if parameter.name == "gamma")
    assert distance.min() >= gamma - 1e-12
    counts = np.unique(leaves, return_counts=True)[1]
    assert len(set(counts.tolist())) == (2 if key == "wedges" else 1)


def test_six_points_in_a_row_prove_that_depth_two_is_not_enough():
    made = generate("6-partitions", seed=3)
    on_line = made.points[:, 1] == 0.5
    row = made.labels[on_line][np.argsort(made.points[on_line, 0])]
    assert row.tolist() == [-1, 1, -1, 1, -1, 1]


@pytest.mark.parametrize("key", KEYS)
def test_flip_turns_over_an_exact_share(key):
    made = generate(key, flip=0.1)
    assert int((made.labels != made.true_labels).sum()) == round(0.1 * len(made.labels))


def test_checkerboard_follows_its_board():
    made = generate("checkerboard", cells=3, n=90)
    cells = np.floor(made.points * 3).astype(int)
    assert np.array_equal(made.labels, np.where(cells.sum(axis=1) % 2 == 1, 1, -1))


@pytest.mark.parametrize(
    ("key", "settings"),
    [
        ("nothing", {}),
        ("xor", {"noise": 0.1}),
        ("xor", {"n": 2.5}),
        ("xor", {"gamma": 0.9}),
        ("xor", {"flip": float("nan")}),
        ("checkerboard", {"cells": 8, "gamma": 0.06, "n": 128, "seed": -1}),
        ("checkerboard", {"cells": 8, "gamma": 0.0625}),
    ],
)
def test_wrong_settings_are_refused(key, settings):
    with pytest.raises(SettingsError):
        generate(key, **settings)


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("end", ["low", "high"])
def test_every_recipe_works_at_the_ends_of_its_ranges(key, end):
    recipe = next(recipe for recipe in list_generators() if recipe.key == key)
    for parameter in recipe.parameters:
        made = generate(key, **{parameter.name: getattr(parameter, end)})
        assert np.isfinite(made.points).all()
