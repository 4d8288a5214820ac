"""What follows from counts and sums of rows alone: as much as they say, and no more."""

from __future__ import annotations

import contextlib
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import octcore
from octcore.data.dataset import Dataset
from octcore.solving.run import Run
from octcore.tree.tree import Split, Tree
from octcore.verification import margot
from octcore.verification.base import Guard, WrongError
from octcore.verification.checking import claim_of
from octcore.verification.claim import route
from octcore.verification.oblique import (
    largest_norm_by_counts,
    largest_norm_worth,
    oct_h_by_counts,
    oct_h_by_steps,
)
from octcore.verification.sheet import make_sheet
from octcore.verification.value import equal_rows
from octcore.warmstart.points import node_gaps


def solved(X: Any, y: Any, key: str, depth: int, **params: Any) -> Run:
    """A run without its verification."""
    data = Dataset.from_arrays(np.array(X, float), y)
    return octcore.solve(data, key, depth=depth, params=params, time_limit=20.0, verify=False)


def test_equal_rows_of_both_classes_pay_twice_their_penalty_on_every_level() -> None:
    run = solved([[0], [0], [0], [1]], [0, 0, 1, 1], "margot", 2, C_upper=1.0, C_last=10.0)
    claim = claim_of(run, Guard(60.0))
    assert margot.by_conflicts(claim, Guard(60.0)).bound == pytest.approx(2 * (1 + 10))
    heavy = replace(claim, weights=np.array([0.5, 0.25, 3.0, 1.0]))
    assert margot.by_conflicts(heavy, Guard(60.0)).bound == pytest.approx(2 * 0.75 * 11)
    apart = replace(claim, X=np.arange(4.0)[:, None])
    assert margot.by_conflicts(apart, Guard(60.0)).bound == 0.0
    assert run.objective is not None
    assert run.objective >= 2 * (1 + 10)


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("y", "alpha", "bound"),
    [
        ([0, 0, 0, 1, 1, 2], 0.01, 2 * 0.01),  # two splits for three classes
        ([0, 0, 0, 1, 1, 2], 0.4, 1 / 3 + 0.4),  # one of the smallest class is wrong
        ([0, 0, 0, 1, 1, 2], 0.9, 1.0),  # a leaf
        ([0, 0, 0, 0, 1, 1, 1, 0], 0.5, 1 / 3 + 0.5),  # one is wrong with a single split
        ([0, 1, 0, 1, 0, 1], 0.01, 2 * 0.01),
        ([0, 1, 0, 1, 0, 1], 0.4, 2 * 0.4),
    ],
)
def test_features_of_oct_h_are_splits_and_one_more_leaf(
    y: list[int], alpha: float, bound: float
) -> None:
    """Rows along a line; the unit is what the majority rule gets wrong."""
    run = solved(np.arange(len(y))[:, None], y, "oct-h", 2, alpha=0.01, start_seconds=0.1)
    claim = claim_of(run, Guard(60.0))
    asked = replace(claim, params={**claim.params, "alpha": alpha}, limits={"min_samples_leaf": 1})
    assert oct_h_by_counts(asked, Guard(60.0)).bound == pytest.approx(bound)


def test_sums_of_large_whole_weights_are_exact() -> None:
    """Their total is beyond what single precision tells apart."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (12, 5)).astype(float)
    gains = np.zeros((12, 2))
    gains[np.arange(12), rng.integers(0, 2, 12)] = rng.integers(1, 2**23, 12) * 2 + 1
    assert 2**24 < gains.sum() < 3**24
    sheet, _ = make_sheet(X, gains, np.arange(5), np.arange(5), Guard(60.0))
    left = sheet.sides(np.arange(len(sheet.cuts))).astype(int)
    assert (sheet.cuts.left == left @ sheet.weights.astype(int)).all()
    sums = np.stack([left @ sheet.weights, (1 - left) @ sheet.weights])
    wrong = gains.sum() - sums.max(axis=2).sum(axis=0).max()
    assert sheet.best_splits(np.ones((1, len(sheet.number)), bool), 1)[0] == wrong


def test_the_smallest_gap_is_that_of_the_thinnest_split() -> None:
    rows = [[0.0], [0.1], [0.5], [1.0]]
    run = solved(rows, [0, 1, 1, 0], "s-oct", 2, start_seconds=0.2)
    assert run.tree is not None
    gaps = node_gaps(run.tree, np.array(rows)).values()
    assert run.verify().status == "confirmed"
    (said,) = (words for words in run.certificate.statements if "smallest" in words)
    separable = (
        f"separable: the smallest node gap is {min(gaps):.3g}, below the usual epsilon 0.005"
    )
    widest = said.replace(f"{min(gaps):.3g}", f"{max(gaps):.3g}")
    for other in (widest, said.replace("0.005", "0.05"), separable):
        statements = tuple(
            other if words == said else words for words in run.certificate.statements
        )
        forged = replace(run, certificate=replace(run.certificate, statements=statements))
        assert f"'{other}' is false" in forged.verify().statement


def test_the_interval_of_a_threshold_is_stated_to_the_last_digit() -> None:
    run = solved([[0.0], [1.0], [1.0]], [0, 1, 1], "threshold-search", 1)
    assert run.verify().status == "confirmed"
    intervals = {
        node: (low + 5e-10, high) for node, (low, high) in run.extras["threshold_intervals"].items()
    }
    forged = replace(run, extras={**run.extras, "threshold_intervals": intervals})
    assert "intervals of thresholds" in forged.verify().statement


@pytest.mark.parametrize(
    ("params", "missed"), [({}, 2 * 10.0), ({"relabel": True, "c2": 3.0}, 3.0)]
)
def test_equal_rows_of_both_classes_pay_on_every_level_of_mm_svm_oct(params, missed) -> None:
    X, y = [[0.0], [0.0], [0.0], [1.0], [0.6]], [0, 0, 1, 1, 0]
    run = solved(X, y, "mm-svm-oct", 2, c1=10.0, start_seconds=0.1, **params)
    claim = claim_of(run, Guard(60.0))
    bound = largest_norm_by_counts(claim, Guard(60.0)).bound
    assert bound == pytest.approx(2 * missed + 0.1)
    dear = replace(claim, params={**claim.params, "c3": 1e3})
    assert largest_norm_by_counts(dear, Guard(60.0)).bound == pytest.approx(2 * missed * 2)
    rng = np.random.default_rng(0)
    for _ in range(300):
        planes = {
            node: Split.on_plane(rng.normal(size=1) * 10 ** rng.uniform(-2, 2), rng.normal(), True)
            for node in (1, 2, 3)
        }
        found = route(Tree(planes, {node: node % 2 for node in (4, 5, 6, 7)}, 1, 2), claim.X)
        made = replace(claim, tree=Tree(planes, {node: node % 2 for node in (4, 5, 6, 7)}, 1, 2))
        with contextlib.suppress(WrongError):
            assert bound is not None
            assert largest_norm_worth(made, found) >= bound
    assert run.objective is not None
    assert bound is not None
    assert run.objective >= bound


def test_a_single_leaf_of_mm_svm_oct_is_verified_where_planes_are_dear() -> None:
    run = solved([[0.0], [0.0], [1.0], [2.0]], [0, 1, 1, 1], "mm-svm-oct", 2, c1=1.0, c3=5.0)
    assert run.verify().status == "confirmed"
    assert replace(run, bound=None, status="no_solution").verify().status != "confirmed"


@pytest.mark.parametrize(
    ("key", "engine"), [("mm-svm-oct", "auto"), ("margot", "outer-approximation")]
)
def test_what_is_said_of_a_big_m_is_held_against_the_rows(key: str, engine: str) -> None:
    rng = np.random.default_rng(1)
    X = rng.random((12, 2))
    data = Dataset.from_arrays(X, (X.sum(axis=1) > 1).astype(int))
    run = octcore.solve(data, key, depth=1, engine=engine, time_limit=20, verify=False)
    (said,) = [text for text in run.certificate.statements if "big-M" in text]
    as_it_is = run.verify()
    assert "big-M" not in as_it_is.statement
    least = float(said.split()[2])
    for wrong in (
        said.replace(f"{least:g}", "2.1"),
        f"the big-M {10 * least:g} may forbid trees as good as this one, so the model proves "
        "nothing",
    ):
        statements = tuple(wrong if s == said else s for s in run.certificate.statements)
        forged = replace(run, certificate=replace(run.certificate, statements=statements))
        assert forged.verify().status == "refuted"


@pytest.mark.long
@pytest.mark.parametrize(("least", "bound"), [(1, 1 / 3 + 0.4), (2, 1 / 3 + 0.4), (3, 0.8)])
def test_leaves_of_a_stump_of_oct_h_hold_rows(least: int, bound: float) -> None:
    """One column gets one row wrong beside two of the last three, two columns none."""
    params, limits = {"alpha": 0.4, "start_seconds": 0.1}, {"min_samples_leaf": least}
    data = Dataset.from_arrays(np.arange(6.0)[:, None], [1, 0, 0, 0, 1, 1])
    run = octcore.solve(data, "oct-h", depth=2, params=params, constraints=limits, verify=False)
    claim = claim_of(run, Guard(60.0))
    assert oct_h_by_counts(claim, Guard(60.0)).bound == pytest.approx(bound)
    assert run.status == "optimal"
    assert run.objective is not None
    assert run.objective >= bound - 1e-9


@pytest.mark.long
def test_a_limit_on_leaves_that_is_not_replayed_is_named() -> None:
    """One row of eight is of the other class, and would be a leaf of its own."""
    data = Dataset.from_arrays(np.arange(8.0)[:, None], [1, 0, 0, 0, 0, 0, 0, 0])
    params = {"alpha": 0.0, "start_seconds": 0.1}
    limits = {"min_samples_leaf": 2}
    run = octcore.solve(data, "oct-h", depth=2, params=params, constraints=limits, time_limit=20)
    assert run.status == "optimal"
    assert run.objective == pytest.approx(1.0)
    found = run.verify()
    assert found.status == "not verified"
    assert "a cheaper tree that does not count, as a leaf holds too few rows" in found.statement


@pytest.mark.long
def test_three_leaves_of_oct_h_are_two_levels() -> None:
    data = Dataset.from_arrays(np.arange(6.0)[:, None], [0, 0, 1, 1, 0, 0])
    params, limits = {"alpha": 0.01, "start_seconds": 0.1}, {"min_samples_leaf": 2}
    run = octcore.solve(data, "oct-h", depth=3, params=params, constraints=limits, verify=False)
    assert run.objective == pytest.approx(2 * 0.01)
    found = run.verify()
    assert found.status == "confirmed"
    claim = claim_of(run, Guard(60.0))
    proven = oct_h_by_steps(claim, Guard(60.0))
    assert proven.bound == pytest.approx(2 * 0.01)


def test_rows_that_are_all_apart_are_looked_at_no_further():
    asked = []
    group = equal_rows(np.random.default_rng(0).normal(size=(50, 40)), lambda: asked.append(1))
    assert sorted(group.tolist()) == list(range(50))
    assert len(asked) == 1
