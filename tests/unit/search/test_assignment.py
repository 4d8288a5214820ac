"""Exact search over assignments of rows to leaves, beside plain enumeration."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from octcore.search.assignment import few_columns
from octcore.search.assignment import search as assignment
from octcore.search.assignment.search import AssignmentProblem, AssignmentSearch, labellings
from octcore.tree.tree import Tree
from tests.unit.search.assignments import by_enumeration, small_problem

pytestmark = pytest.mark.long  # kernels are compiled that other tests do without


def _bound(search: AssignmentSearch) -> float:
    for _ in search.run():
        pass
    return search.bound


def _problem_of_columns(seed: int, n: int, depth: int, unit: float) -> AssignmentProblem:
    norm, gap = 1e-6, 0.15
    limit = norm * 2 / gap
    return replace(
        small_problem(seed, n, depth),
        missing=2 * limit,
        norm=norm,
        limit=limit,
        feature=0.4,
        unit=unit,
    )


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("seed", "n", "depth", "n_classes"), [(0, 8, 1, 2), (1, 8, 1, 3), (2, 5, 2, 2), (3, 5, 2, 3)]
)
def test_bound_and_cost_are_the_least_of_all_assignments(
    seed: int, n: int, depth: int, n_classes: int
) -> None:
    problem = small_problem(seed, n, depth, n_classes)
    least = by_enumeration(problem)
    search = AssignmentSearch(problem, 1.5 * least + 1.0)
    bound = _bound(search)
    assert search.cost == pytest.approx(least, rel=1e-6)
    assert bound == pytest.approx(least, rel=1e-6)


@pytest.mark.sampled(7)
@pytest.mark.parametrize("unit", [0.0, 1.0])
@pytest.mark.parametrize(
    ("seed", "n", "depth"),
    # the last two have trees that are cheaper with an error inside the strip
    [(0, 8, 1), (1, 8, 1), (4, 5, 2), (10, 8, 1), (45, 8, 1)],
)
def test_planes_within_a_limit_pay_for_columns_alone(
    seed: int, n: int, depth: int, unit: float
) -> None:
    problem = _problem_of_columns(seed, n, depth, unit)
    least = by_enumeration(problem)
    search = AssignmentSearch(problem, 2.0 * least + 1.0)
    found = [step.planes for step in search.run() if step.planes is not None]
    assert all(set(planes) == set(range(1, 2**depth)) for planes in found)
    assert search.cost == pytest.approx(least, abs=1e-3)
    assert search.bound == pytest.approx(least, abs=1e-3)


def test_bounds_never_exceed_the_least_cost_on_the_way() -> None:
    problem = small_problem(5, 9, 1)
    least = by_enumeration(problem)
    bounds = [found.bound for found in AssignmentSearch(problem, 2 * least).run() if found.bound]
    assert len(bounds) > 1
    assert max(bounds) <= least * (1 + 1e-9)


def test_every_phase_shows_more_than_the_phases_before() -> None:
    search = AssignmentSearch(_problem_of_columns(0, 8, 1, 1.0), 2.0)
    bounds = [found.bound for found in search.run() if found.bound is not None]
    assert len(bounds) > 1
    assert bounds == sorted(set(bounds))


@pytest.mark.parametrize(("seed", "n"), [(2, 12), (17, 7)])  # better trees come on the way
def test_no_phase_but_the_last_is_about_one_that_was(seed: int, n: int) -> None:
    search = AssignmentSearch(small_problem(seed, n, 2), np.inf)
    bounds = [found.bound for found in search.run() if found.bound is not None]
    assert len(bounds) > 3
    assert bounds[-1] == pytest.approx(search.cost, rel=1e-6)
    assert (np.diff(bounds[:-1]) > 0.04 * search.cost).all()


def test_boxes_that_were_too_many_are_not_tried_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = list[tuple[int, float]]()

    def count(*task: Any) -> Iterator[tuple[int, int, Any]]:
        asked.append((task[1], task[3]))
        yield few_columns.MOST_BOXES, few_columns.UNFINISHED, np.zeros((3, 3))

    monkeypatch.setattr("octcore.search.assignment.search.trees_within", count)
    for _ in AssignmentSearch(_problem_of_columns(10, 8, 1, 1.0), 5.0).run():
        pass
    assert len(asked) > 1
    assert asked == sorted(set(asked), reverse=True)


def test_states_too_deep_to_be_decided_hold_the_bound_down() -> None:
    problem = small_problem(0, 8, 1)
    least = by_enumeration(problem)
    search = AssignmentSearch(problem, 2 * least)
    search._levels = 3
    assert 0 < _bound(search) < 0.99 * least


def test_planes_too_deep_to_pay_for_their_columns_are_no_tree(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(few_columns, "MOST_BOXES", 0)
    problem = _problem_of_columns(2, 7, 1, 1.0)
    search = AssignmentSearch(problem, 5.0)
    search._levels = 4
    assert _bound(search) <= by_enumeration(problem) <= search.cost + 1e-6


def test_labellings_leave_out_exchanged_subtrees() -> None:
    assert labellings(2, 2) == [(0, 1, 0, 1)]
    assert len(labellings(3, 2)) == 6
    assert labellings(1, 2) == [(0, 0, 0, 0)]


@pytest.mark.parametrize("levels", [1, 2, 3, 4, 20])
def test_what_is_left_undecided_proves_no_bound(
    levels: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A plane whose norm alone costs more than the light row, which is wrong in the best tree."""
    monkeypatch.setattr(assignment, "MOST_LEVELS", levels)
    X, y, light = np.array([[0.0], [0.5], [0.9], [0.903]]), np.array([0, 1, 0, 1]), 6e-4
    problem = assignment.AssignmentProblem(
        X, y, np.array([1.0, light, 1.0, 1.0]), 2, 1, 2e-3 / light, 1e-6, 2e3, 1e-9, 1e-3
    )
    task = assignment.AssignmentTask(problem, lambda planes: Tree({}, {1: 0}, 1, 2), y, y)

    def is_proven(target: float) -> bool:
        proof = task.prove(target, lambda: False)
        try:
            while True:
                next(proof)
        except StopIteration as end:
            return end.value

    assert not is_proven(1.05 * light)
    assert is_proven(light) == (levels == 20)


def _searched(problem: AssignmentProblem, costs: list[float]) -> tuple[int, float]:
    """States and last bound of a search whose trees are improved to the last of some costs."""
    known, heard = costs[:1], []
    tree = Tree({}, {1: 0}, 1, 2)
    task = assignment.AssignmentTask(problem, lambda planes: tree, problem.y, problem.y)

    def receive(report: Any) -> bool:
        heard.append(report)
        known[0] = costs[-1] if report.planes is not None else known[0]
        return False

    task.search(receive, lambda states: False, lambda: (known[0], tree), 1e-9, 1)
    return heard[-1].states, max(r.bound for r in heard if r.bound is not None)


def test_the_search_goes_on_below_what_its_trees_are_improved_to() -> None:
    problem = small_problem(6, 12, 2)
    states, least = _searched(problem, [np.inf])
    first = AssignmentSearch(problem, np.inf)
    met = next(report for report in first.run() if report.planes is not None and first.cost > least)
    assert met.states < states
    fewer, bound = _searched(problem, [np.inf, least])
    assert bound == pytest.approx(least, rel=1e-6)
    assert fewer < states
