"""Proofs by assignments of rows: those of the search hold, and no others prove more than is so."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest

import octcore
from octcore.data.dataset import Dataset
from octcore.search.assignment.search import AssignmentProblem, AssignmentSearch
from octcore.verification.assignment import AssignmentData, check_steps
from octcore.verification.base import NotProvenError
from tests.unit.search.assignments import by_enumeration, small_problem

pytestmark = pytest.mark.long  # kernels are compiled that other tests do without

BOX = 1e5
GAP = 0.15
PROBLEMS = ("margins", "three classes", "two levels", "a clearance", "columns", "columns below")


@cache
def case(kind: str) -> tuple[AssignmentProblem, AssignmentData, float, list[Any]]:
    """A problem in the words of the search and of the check, its least cost and the proof of it."""
    seed, n, depth, n_classes = {
        "three classes": (1, 8, 1, 3), "two levels": (2, 5, 2, 2), "columns below": (4, 5, 2, 2),
    }.get(kind, (0, 8, 1, 2))  # fmt: skip
    problem = replace(small_problem(seed, n, depth, n_classes), box=BOX)
    if kind == "a clearance":
        problem = replace(problem, clearance=1.5)
    if kind.startswith("columns"):
        limit = 1e-6 * 2 / GAP
        problem = replace(problem, missing=2 * limit, norm=1e-6, limit=limit, feature=0.4, unit=1.0)
        data = AssignmentData(
            problem.X, problem.y, problem.weights, n_classes, depth, strip=GAP, feature=0.4
        )
    else:
        data = AssignmentData(
            problem.X, problem.y, problem.weights, n_classes, depth,
            problem.missing, problem.norm, (problem.reach, BOX), clearance=problem.clearance,
        )  # fmt: skip
    least = by_enumeration(problem)
    if kind.startswith("columns"):
        least = round(least, 3)  # without the norms, which only say if there is a plane
    steps = list(AssignmentSearch(problem, np.inf).prove(least - 1e-4))
    return problem, data, least, steps


def checked(data: AssignmentData, steps: Iterable[Any], claimed: float = np.inf) -> float:
    """What a proof proves."""
    n, p = data.x.shape
    first = (np.arange(n), np.arange(p))
    bound = check_steps(data, iter([first, *steps]), claimed, lambda: None).bound
    assert bound is not None
    return bound


@pytest.mark.sampled(3)
@pytest.mark.parametrize("kind", PROBLEMS)
def test_the_proof_of_a_search_reaches_the_least_cost_and_no_more(kind: str) -> None:
    _, data, least, steps = case(kind)
    assert any((part.steps > 0).any() for part in steps)
    found = checked(data, steps)
    assert least - 2e-4 <= found <= least + 1e-6
    assert checked(data, steps, 0.5 * least) == 0.5 * least


@pytest.mark.sampled(3)
@pytest.mark.parametrize("kind", PROBLEMS)
def test_whatever_multipliers_say_no_more_is_proven_than_the_least_cost(kind: str) -> None:
    _, data, least, steps = case(kind)
    rng = np.random.default_rng(0)
    for scale in (0.0, 0.5, 2.0, 1e3):
        for _ in range(5):
            changed = [
                part._replace(
                    multipliers=part.multipliers * scale * rng.random(len(part.multipliers))
                )
                for part in steps
            ]
            assert checked(data, changed) <= least + 1e-6


@pytest.mark.parametrize("kind", PROBLEMS)
def test_a_proof_that_ends_early_or_goes_on_is_none(kind: str) -> None:
    _, data, _, steps = case(kind)
    k = int(np.argmax([len(part.multipliers) for part in steps]))
    below = steps[k]._replace(multipliers=-steps[k].multipliers)
    for wrong in (steps[:-1], [*steps, steps[-1]], [*steps[:k], below, *steps[k + 1 :]]):
        with pytest.raises(NotProvenError):
            checked(data, wrong)


def test_rows_and_columns_are_those_of_the_claim() -> None:
    _, data, _, steps = case("margins")
    n, p = data.x.shape
    rows, columns = np.arange(n), np.arange(p)
    for group, used in (
        (np.where(rows == 1, 0, rows), columns),
        (np.where(rows == n - 1, 0, rows), columns),
        (rows[:-1], columns),
        (rows, columns[:1]),
    ):
        with pytest.raises(NotProvenError):
            check_steps(data, iter([(group, used), *steps]), np.inf, lambda: None)


@pytest.mark.parametrize(
    ("columns", "y", "params"),
    [
        ([[2, 2, 2, 2, 0]], [1, 0, 0, 0, 1], {"alpha1": 0.0}),  # equal rows of two classes
        ([[0, 0, 1, 1, 1], [1, 1, 0, 1, 1]], [1, 0, 0, 0, 1], {"alpha1": 5.0}),
        ([[0.0, 0.4, 0.7, 1.0]], [0, 1, 0, 1], {"alpha1": 0.5, "big_m": 10.0}),  # by turns
    ],
)
def test_rows_on_a_plane_that_cost_less_than_an_error_leave_no_gap(
    columns: list[list[float]], y: list[int], params: dict[str, float]
) -> None:
    """The distance of right-goers decides; no plane keeps it where the other side has the row."""
    data = Dataset.from_arrays(np.array(columns, float).T, y)
    params = {"alpha2": 0.01, "start_seconds": 0.1, **params}
    run = octcore.solve(data, "svm1-odt", depth=1, params=params, time_limit=20, verify=False)
    assert run.certificate.method in {"assignment-search", "conflict-bound"}
    assert run.status == "optimal"
    assert run.verify().status == "confirmed"


def test_rounding_of_scores_is_no_worse_tree() -> None:
    """Margins of large planes sum to some 1e-15 beside an optimum of 0."""
    X = [[1.94, 0.21], [2.21, -0.42], [-0.59, -0.45]]
    prices = {"alpha1": 9.0, "alpha2": 0.0, "epsilon": 0.1, "start_seconds": 0.0}
    weights = np.array([4.0, 1.0, 3.0])
    run = octcore.solve(
        Dataset.from_arrays(X, [2, 0, 1]), "svm1-odt", params=prices, sample_weight=weights
    )
    assert run.status == "optimal"
    assert run.objective is not None
    assert run.objective < 1e-12
    assert run.verify().status == "confirmed"
