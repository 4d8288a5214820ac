"""The routing search against enumeration, against an SVM, and under interruption."""

from __future__ import annotations

import itertools
import threading
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.svm import SVC

from octcore.data.synthetic import generate
from octcore.errors import EngineError
from octcore.search.margot.core import RoutingSearch
from octcore.search.margot.records import Planes, RoutingProblem, Tracker
from octcore.search.margot.search import routing_search
from octcore.search.margot.start import node_membership, strip_shift, tree_objective
from octcore.search.report import Report
from tests.referee.node_qp import solve_node_qp_reference
from tests.referee.routing_search import Outcome, solved

# The search stops at a relative gap of 1e-4.
GAP = 1e-4
# Accuracy of recomputed objectives.
EXACT = 2e-6
PENALTIES = ((1.0, 1.0), (1.0, 100.0), (0.1, 10.0), (10.0, 1.0), (100.0, 1000.0), (1.0, 1e4))

pytestmark = pytest.mark.usefixtures("compiled_kernels")


def tiny(seed: int, n: int = 8, p: int = 2) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(n) < 0.5, -1.0, 1.0)
    y[:2] = -1.0, 1.0
    return rng.random((n, p)), y


def reference_objective(problem: RoutingProblem, routing: NDArray[np.int64]) -> float:
    """Objective of a routing (0-based) by the independent QP solver."""
    total = 0.0
    penalties = problem.penalties()
    for node in range(problem.n_nodes):
        sides = node_membership(routing, node)
        here = sides < 2
        routed = sides[here] if node < problem.n_upper else None
        rows = (problem.x[here], problem.y[here], penalties[node, here], routed)
        total += solve_node_qp_reference(*rows, problem.epsilon).value
    return total


def enumerated_optimum(problem: RoutingProblem) -> float:
    """Best objective over all routings by the independent QP solver, nodes cached."""
    n = len(problem.y)

    @cache
    def value(node: int, members: tuple[int, ...], sides: tuple[int, ...]) -> float:
        rows = list(members)
        y = problem.y[rows]
        if not sides and (len(rows) == 0 or y.max() == y.min()):
            return 0.0
        c = problem.c_upper if node < problem.n_upper else problem.c_last
        routed = np.array(sides, np.int8) if sides else None
        try:
            upper = np.full(len(rows), c)
            return solve_node_qp_reference(problem.x[rows], y, upper, routed, problem.epsilon).value
        except EngineError:
            return np.inf

    best = np.inf
    last = range(problem.n_upper, problem.n_nodes)
    for choice in itertools.product(last, repeat=n):
        routing = np.array(choice)
        total = 0.0
        for node in range(problem.n_nodes - 1, -1, -1):
            at = node_membership(routing, node)
            members = tuple(np.flatnonzero(at < 2).tolist())
            sides = tuple(at[at < 2].tolist()) if node < problem.n_upper else ()
            level_node = node if node < problem.n_upper else problem.n_upper
            total += value(level_node, members, sides) if members else 0.0
            if total >= best:
                break
        best = min(best, total)
    return best


def check_result(problem: RoutingProblem, result: Outcome) -> None:
    """Planes, routing, objective, bound and events fit together."""
    routing = result.routing - 1
    planes, n_upper = result.planes, problem.n_upper
    scores = problem.x @ planes.weights.T + planes.biases
    node = np.zeros(len(problem.y), np.int64)
    while (node < n_upper).any():
        score = scores[np.arange(len(node)), node]
        assert ((score >= -1e-5) | (score <= -problem.epsilon + 1e-5)).all()
        node = np.where(node < n_upper, 2 * node + 1 + (score > -problem.epsilon / 2), node)
    assert (node == routing).all()
    again = tree_objective(problem, planes, routing)
    assert again == pytest.approx(result.objective, rel=1e-9, abs=1e-9)
    assert result.bound <= result.objective
    assert result.falling == sorted(result.falling, reverse=True)
    assert result.falling[-1] == result.objective
    assert result.bounds == sorted(result.bounds)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("seed", range(6))
def test_depth_two_equals_enumeration(seed: int):
    x, y = tiny(seed)
    problem = RoutingProblem(x, y, 2, *PENALTIES[seed])
    result = solved(problem)
    optimum = enumerated_optimum(problem)
    check_result(problem, result)
    assert result.status == "optimal"
    assert result.gap <= GAP * (1 + 1e-6)
    assert result.bound <= optimum * (1 + EXACT)
    assert result.objective >= optimum * (1 - EXACT) - 1e-9
    assert result.objective <= optimum * (1 + GAP + EXACT)


@pytest.mark.parametrize("seed", range(2))
def test_depth_three_equals_enumeration(seed: int):
    x, y = tiny(seed + 20, n=5)
    y[:] = 1.0, -1.0, 1.0, -1.0, 1.0
    x[:, 1] = 0.5
    x[:, 0] = np.linspace(0, 1, 5)
    problem = RoutingProblem(x, y, 3, 0.01 + seed, 50.0)
    result = solved(problem)
    optimum = enumerated_optimum(problem)
    check_result(problem, result)
    assert result.status == "optimal"
    assert result.bound <= optimum * (1 + EXACT)
    assert optimum * (1 - EXACT) <= result.objective <= optimum * (1 + GAP + EXACT)


@pytest.mark.parametrize("c", [0.1, 10.0, 1000.0])
def test_depth_one_is_a_support_vector_machine(c: float):
    x, y = tiny(3, n=40, p=3)
    result = solved(RoutingProblem(x, y, 1, 1.0, c))
    machine = SVC(kernel="linear", C=c, tol=1e-8).fit(x, y)
    weights = machine.coef_[0]
    hinge = np.maximum(0.0, 1.0 - y * (x @ weights + machine.intercept_[0]))
    assert result.status == "optimal"
    assert result.objective == pytest.approx(0.5 * weights @ weights + c * hinge.sum(), rel=1e-5)


def test_four_partitions_is_proven_perfect():
    data = generate("4-partitions")
    problem = RoutingProblem(data.points, data.labels.astype(float), 2, 1.0, 1000.0)
    result = solved(problem)
    check_result(problem, result)
    last = np.take_along_axis(
        problem.x @ result.planes.weights.T + result.planes.biases, result.routing[:, None] - 1, 1
    )[:, 0]
    assert result.status == "optimal"
    assert (np.sign(last) == problem.y).all()
    confirmed = reference_objective(problem, result.routing - 1)
    assert result.objective == pytest.approx(confirmed, rel=1e-5)


@pytest.mark.slow
def test_six_partitions_is_proven():
    data = generate("6-partitions")
    problem = RoutingProblem(data.points, data.labels.astype(float), 3, 1.0, 1000.0)
    result = solved(problem, time_limit=120.0)
    check_result(problem, result)
    assert result.status == "optimal"


def test_bound_holds_when_stopped_early():
    rng = np.random.default_rng(5)
    x, y = rng.random((30, 3)), np.where(rng.random(30) < 0.5, -1.0, 1.0)
    problem = RoutingProblem(x, y, 2, 1.0, 20.0)
    full = solved(problem, time_limit=60.0)
    assert full.status == "optimal"
    for node_limit in (1, 3, 10, 40, 100):
        early = solved(problem, node_limit=node_limit)
        check_result(problem, early)
        assert early.status == "stopped"
        assert early.bound <= full.objective
        assert full.bound <= early.objective


def test_weights_are_repeated_rows():
    x, y = tiny(4, n=12)
    counts = np.array([1, 2, 3] * 4)
    weighted = RoutingProblem(x, y, 2, 1.0, 30.0, weights=counts.astype(float))
    repeated = RoutingProblem(np.repeat(x, counts, 0), np.repeat(y, counts), 2, 1.0, 30.0)
    one, two = solved(weighted), solved(repeated)
    check_result(weighted, one)
    check_result(repeated, two)
    assert one.objective == pytest.approx(two.objective, rel=2 * GAP)


def test_rows_of_weight_0_cost_nothing_but_lie_in_no_strip():
    x, y = tiny(5, n=9)
    given = np.arange(9) % 3 > 0
    problem = RoutingProblem(x, y, 2, 1.0, 30.0, epsilon=0.3, weights=given.astype(float))
    result = solved(problem)
    check_result(problem, result)  # every row lies left of the strip, or right of it
    without = solved(replace(problem, x=x[given], y=y[given], weights=None))
    assert result.objective >= without.objective * (1 - 2 * GAP)


def test_equal_rows_with_unequal_labels_travel_together():
    x = np.array([[0.0], [0.0], [0.5], [1.0]])
    y = np.array([-1.0, 1.0, 1.0, -1.0])
    problem = RoutingProblem(x, y, 2, 1.0, 100.0)
    result = solved(problem)
    check_result(problem, result)
    assert result.routing[0] == result.routing[1]
    assert result.objective == pytest.approx(enumerated_optimum(problem), rel=GAP)


def test_a_given_routing_is_the_first_incumbent():
    x, y = tiny(1, 12)
    problem = RoutingProblem(x, y, 2, 1.0, 100.0)
    full = solved(problem)
    assert solved(problem, node_limit=1).objective > full.objective * (1 + GAP)
    given = solved(problem, node_limit=1, start=full.routing)
    assert given.objective == pytest.approx(full.objective, rel=EXACT)
    least = given.falling[-1]
    assert least == min(given.falling)
    close = [
        e for e, value in zip(given.trees, given.falling, strict=True) if value <= 1.01 * least
    ]
    assert any(tree.source == "warm start" for tree in close)


def test_one_class_needs_no_plane():
    result = solved(RoutingProblem(np.eye(3), np.ones(3), 2, 1.0, 1.0))
    assert result.status == "optimal"
    assert (result.objective, result.bound) == (0.0, 0.0)


def test_cancel_and_time_limit_stop_the_search():
    rng = np.random.default_rng(0)
    x, y = rng.random((300, 10)), np.where(rng.random(300) < 0.5, -1.0, 1.0)
    problem = RoutingProblem(x, y, 2, 1.0, 100.0)
    answers = [False] * 200 + [True]
    result = solved(problem, stop=lambda: answers.pop(0))
    assert result.status == "stopped"
    assert not answers
    check_result(problem, result)
    limited = solved(problem, time_limit=0.5)
    assert limited.status == "stopped"
    check_result(problem, limited)


def test_strip_shift_finds_the_nearest_gap():
    scores = np.array([-0.5, -0.0005, 0.3, 0.3002])
    shift = strip_shift(scores, 1e-3)
    moved = scores + shift
    assert not ((moved > -1e-3 + 1e-12) & (moved < -1e-12)).any()
    assert abs(shift) <= 0.0005 + 1e-12
    assert strip_shift(np.array([-1.0, 1.0]), 1e-3) == 0.0


def test_planes_are_frozen():
    planes = Planes(np.zeros((1, 2)), np.zeros(1))
    with pytest.raises(ValueError, match="read-only"):
        planes.biases[0] = 1.0


@pytest.mark.parametrize("seed", range(3))
def test_threads_share_the_open_states(seed: int):
    """Two threads prove what one proves; events come from the thread that asked, in order."""
    rng = np.random.default_rng(seed)
    x = rng.random((40, 2))
    y = np.where((x[:, 0] > 0.5) ^ (x[:, 1] > 0.5), 1.0, -1.0)
    y[:3] = -y[:3]
    problem = RoutingProblem(x, y, 2, 1.0, 100.0)
    callers, objectives, bounds = set(), [], []

    def receive(report: Report) -> bool:
        callers.add(threading.get_ident())
        if report.planes is not None:
            objectives.append(report.objective)
        else:
            bounds.append(report.bound)
        return False

    alone = solved(problem)
    team = routing_search(replace(problem, threads=2), receive)
    assert (alone.status, team.status) == ("optimal", "optimal")
    assert team.objective == pytest.approx(alone.objective, rel=2 * GAP)
    assert team.lowest <= alone.objective * (1 + EXACT)
    assert callers == {threading.get_ident()}
    assert objectives == sorted(objectives, reverse=True)
    assert bounds == sorted(bounds)


def test_threads_stop_when_asked():
    rng = np.random.default_rng(5)
    x, y = rng.random((60, 4)), np.where(rng.random(60) < 0.5, -1.0, 1.0)
    problem = RoutingProblem(x, y, 3, 1.0, 100.0, threads=2)
    polls = itertools.count()
    result = solved(problem, stop=lambda: next(polls) > 50)
    assert result.status == "stopped"
    assert result.bound <= result.objective


def test_a_fault_in_a_helping_thread_reaches_the_caller(monkeypatch: pytest.MonkeyPatch):
    def fail(_search: RoutingSearch) -> None:
        raise EngineError("TRIED", "a fault")

    monkeypatch.setattr(RoutingSearch, "help", fail)
    x, y = tiny(3)
    with pytest.raises(EngineError, match="a fault"):
        solved(RoutingProblem(x, y, 2, 1.0, 100.0, threads=2))


def test_a_state_that_was_given_up_bounds_no_more_after_a_better_tree():
    """What bias penalties amount to falls with the incumbent; the bound of the state does not."""
    search = RoutingSearch(RoutingProblem(*tiny(0), 2, 1.0, 1e5), Tracker())
    search.tracker.objective = 100.0
    search.allocate()
    search.give_up(50.0)
    search.tracker.objective = 60.0
    search.report_bound(np.inf)
    assert search.bound == 50.0
