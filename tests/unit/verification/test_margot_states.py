"""Closed states of the MARGOT family: right ones prove a bound, wrong ones nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import octcore
from octcore.data.dataset import Dataset
from octcore.engines.events import Trace
from octcore.search.margot.proof import ClosedState, _Prover, prove
from octcore.search.margot.records import Planes, RoutingProblem, Variant
from octcore.verification.base import Guard, NotProvenError, Proven, Verdict
from octcore.verification.claim import Claim
from octcore.verification.margot import check_states
from tests.referee.routing_search import solved

CASES: list[tuple[int, Variant]] = [
    *((seed, "margot") for seed in range(6)),
    *((seed, variant) for seed in range(3) for variant in ("hfs", "sfs")),
]


def problem_of(seed: int, variant: Variant = "margot") -> RoutingProblem:
    """Rows of a grid with noisy labels: equal rows with both labels, slack, several states."""
    rng = np.random.default_rng([3, seed])
    n, depth = (14, 2) if seed % 2 == 0 else (7, 3)
    x = rng.integers(0, 5, (n, 3 if variant != "margot" else 2)) / 4.0
    y = np.where((x[:, 0] > 0.5) ^ (x[:, 1] > 0.5) ^ (rng.random(n) < 0.1), 1.0, -1.0)
    weights = rng.integers(1, 4, n).astype(float)
    budget = {} if variant == "margot" else {"budget_upper": 1, "budget_last": 1}
    alpha = 5.0 if variant == "sfs" else 0.0
    return RoutingProblem(
        x, y, min(depth, 2) if budget else depth, 1.0, 100.0, weights=weights, variant=variant,
        alpha=alpha, **budget,
    )  # fmt: skip


def claim(x: np.ndarray, signs: np.ndarray, depth: int, **given: Any) -> Claim:
    """A claim about rows of weight 1, unless others are given; the bound is claimed later."""
    params = {"C_upper": 10.0, "C_last": 10.0, "epsilon": 0.01} | given.pop("params", {})
    columns, y = np.arange(x.shape[1]), (signs > 0).astype(int)
    return Claim(
        "margot", "optimal", "routing-search", None, None, None, x, y,
        given.pop("weights", np.ones(len(y))), 2, depth, params, {}, columns,
        tuple(map(str, columns)), (-1, 1), 1,
    )  # fmt: skip


def claim_of(problem: RoutingProblem) -> Claim:
    params = {"C_upper": problem.c_upper, "C_last": problem.c_last, "epsilon": problem.epsilon}
    if problem.variant != "margot":
        params |= {"budget_upper": problem.budget_upper, "budget_last": problem.budget_last}
    if problem.variant == "sfs":
        params["alpha"] = problem.alpha
    weights = problem.weights
    return claim(problem.x, problem.y, problem.depth, params=params, weights=weights)


def checked(claim: Claim, states: Sequence[ClosedState], claimed: float) -> Proven:
    return check_states(replace(claim, bound=claimed), states, Guard(60.0))


def steps_of(problem: RoutingProblem, bound: float) -> list[Any]:
    return list(prove(problem, bound * (1 - 5e-7), lambda: False, lambda planes: planes))


@pytest.fixture(scope="module", params=CASES, ids=lambda case: f"{case[1]}-{case[0]}")
def proof(request: pytest.FixtureRequest) -> tuple[RoutingProblem, float, list[ClosedState]]:
    """Problem, bound and closed states."""
    problem = problem_of(*request.param)
    result = solved(problem, time_limit=60)
    assert result.status == "optimal"
    return problem, result.bound, steps_of(problem, result.bound)


@pytest.mark.sampled(2)
def test_states_prove_the_bound(proof):
    problem, bound, states = proof
    proven = checked(claim_of(problem), states, bound)
    assert proven.bound == pytest.approx(bound, rel=1e-6)
    assert "closed states" in proven.method


@pytest.mark.sampled(3)
def test_a_higher_bound_meets_a_better_tree(proof):
    """And what its states prove stays below it."""
    problem, bound, _ = proof
    steps = steps_of(problem, bound * 1.01)
    assert isinstance(steps[-1], Planes)
    try:
        assert checked(claim_of(problem), steps[:-1], bound * 1.01).bound <= bound * (1 + 2e-4)
    except NotProvenError:
        pass


@pytest.mark.sampled(3)
def test_every_state_is_needed(proof):
    problem, bound, states = proof

    def what(state: ClosedState) -> bytes:
        return b"".join(part.tobytes() for part in (state.prefix, state.kept, state.allowed))

    for missing in states[:15]:
        rest = [state for state in states if what(state) != what(missing)]
        with pytest.raises(NotProvenError, match=r"leave something out|no states"):
            checked(claim_of(problem), rest, bound)


def test_other_problems_are_not_proven(proof):
    problem, bound, states = proof
    data = claim_of(problem)
    cheaper = {"C_upper": 0.5, "C_last": 50.0}
    with pytest.raises(NotProvenError):
        checked(replace(data, params={**data.params, **cheaper}), states, bound)
    with pytest.raises(NotProvenError):
        checked(replace(data, depth=data.depth + 1), states, bound)
    fewer = replace(data, X=data.X[:4], y=data.y[:4], weights=np.ones(4))
    with pytest.raises(NotProvenError):
        checked(fewer, states, bound)


@pytest.mark.parametrize("factor", [-1.0, np.nan, np.inf])
def test_multipliers_are_numbers_and_not_negative(proof, factor):
    problem, bound, states = proof
    for k, state in enumerate(states[:10]):
        multipliers = state.multipliers.copy()
        at = np.unravel_index(multipliers.argmax(), multipliers.shape)
        if multipliers[at] > 0:
            multipliers[at] *= factor
            changed = [*states[:k], state._replace(multipliers=multipliers), *states[k + 1 :]]
            with pytest.raises(NotProvenError, match="negative"):
                checked(claim_of(problem), changed, bound)


def no_masks(n_nodes: int, p: int) -> tuple[np.ndarray, np.ndarray]:
    return np.zeros((n_nodes, p), bool), np.ones((n_nodes, p), bool)


def test_slack_is_not_charged_beyond_its_penalty():
    """Two rows at distance 1 cost 2 where slack is dear, here 0.2 at most."""
    data = claim(np.array([[0.0], [1.0]]), np.array([-1.0, 1.0]), 1, params={"C_last": 0.1})

    def state(multiplier: float) -> ClosedState:
        multipliers = np.array([[multiplier, multiplier, 0.0, 0.0]])
        return ClosedState(np.zeros(2, np.int64), multipliers, *no_masks(1, 1))

    assert checked(data, [state(0.1)], 0.19).bound == pytest.approx(0.19)
    with pytest.raises(NotProvenError, match="penalty"):
        checked(data, [state(2.0)], 2.0)


def test_slack_is_not_charged_where_the_path_is_open(proof):
    problem, bound, states = proof
    data = claim_of(problem)
    first = states[0]
    multipliers = np.zeros_like(first.multipliers)
    multipliers[1, 0] = 1e-3  # the second node, which no row is known to pass
    masks = no_masks(*first.kept.shape)
    open_state = ClosedState(np.zeros_like(first.prefix), multipliers, *masks)
    with pytest.raises(NotProvenError, match="not known"):
        checked(data, [*states, open_state], bound)


def one_node(budget: int, alpha: float | None) -> Claim:
    """Rows at distance 1 in two of three columns: planes on one of them cost 2, on both 1."""
    x, y = np.array([[0.0, 0.0, 0.0], [1.0, 1.0, 0.0]]), np.array([-1.0, 1.0])
    params = {"budget_upper": budget, "budget_last": budget}
    return claim(x, y, 1, params=params | ({} if alpha is None else {"alpha": alpha}))


@pytest.mark.parametrize(
    ("budget", "alpha", "wide", "narrow"),
    [(2, None, 1.0, 0.0), (1, None, 1.5, 2.0), (1, 0.3, 1.3, 0.3), (1, 5.0, 1.5, 2.0)],
)
def test_features_beyond_the_budget_are_left_out_or_paid_for(budget, alpha, wide, narrow):
    """Multipliers of the best plane on two columns, and of that on one of them."""
    data, masks = one_node(budget, alpha), no_masks(1, 3)
    for multiplier, value in ((1.0, wide), (2.0, narrow)):
        multipliers = multiplier * np.array([[1.0, 1.0, 0.0, 0.0]])
        state = ClosedState(np.zeros(2, np.int64), multipliers, *masks)
        assert checked(data, [state], 9.0).bound == pytest.approx(value, abs=1e-9)


@pytest.mark.parametrize(("alpha", "cost"), [(None, 2.0), (0.3, 1.3), (5.0, 2.0)])
def test_a_feature_is_used_or_not(alpha, cost):
    """Deciding two columns proves the cost that no single set of multipliers does."""
    data, states = one_node(1, alpha), []
    for used in ((), (0,), (1,), (0, 1)):
        if alpha is None and len(used) > 1:
            continue
        kept, allowed = np.zeros((1, 3), bool), np.ones((1, 3), bool)
        kept[0, list(used)] = True
        allowed[0, [j for j in (0, 1) if j not in used]] = False
        if alpha is None and used:
            allowed = kept.copy()  # the budget is used up
        multiplier = {0: 10.0, 1: 2.0, 2: 1.0}[len(used)]
        multipliers = multiplier * np.array([[1.0, 1.0, 0.0, 0.0]])
        states.append(ClosedState(np.zeros(2, np.int64), multipliers, kept, allowed))
    assert checked(data, states, 9.0).bound == pytest.approx(cost, abs=1e-9)
    for missing in range(len(states)):
        with pytest.raises(NotProvenError, match="leave something out"):
            checked(data, [*states[:missing], *states[missing + 1 :]], 9.0)


def test_a_kept_feature_may_be_used():
    kept, allowed = no_masks(1, 3)
    kept[0, 1], allowed[0, 1] = True, False
    state = ClosedState(np.zeros(2, np.int64), np.zeros((1, 4)), kept, allowed)
    with pytest.raises(NotProvenError, match="kept"):
        checked(one_node(1, None), [state], 0.0)


# Runs


@pytest.fixture(scope="module", params=["margot", "hfs-margot", "sfs-margot"])
def run(request: pytest.FixtureRequest) -> octcore.Run:
    data = octcore.load_sample("4-partitions")
    return octcore.solve(data, request.param, depth=2)


def test_small_optimal_runs_are_verified_by_default(run):
    found = run.certificate.verification
    assert run.status == "optimal"
    assert found.status == Verdict.CONFIRMED
    assert "closed states" in found.statement


def test_false_claims_of_a_run_are_refuted(run):
    run = replace(run, certificate=replace(run.certificate, verification=None))
    for change in (
        {"bound": run.bound * 1.01, "objective": None, "tree": None, "status": "no_solution"},
        {"bound": run.objective * 1.01},
        {"bound": 0.0},
        {"bound": 0.5 * run.bound},
        {"objective": 0.5 * run.objective, "bound": 0.5 * run.bound},
        {"objective": run.objective * 0.999, "bound": run.objective * 0.999},
        {"tree": run.tree.with_labels({m: 1 - k for m, k in run.tree.labels.items()})},
    ):
        found = octcore.verify(replace(run, **change))
        assert found.status == Verdict.REFUTED, (change, found.statement)


def test_a_worse_tree_is_not_optimal(run):
    """A single leaf with its own objective and a bound to match: better trees are met."""
    cost = 2.0 * 54 * (100.0 + 1000.0)
    claimed = replace(
        run,
        certificate=replace(run.certificate, verification=None),
        tree=octcore.Tree.leaf(0, 2, 2),
        objective=cost,
        bound=cost,
        gap=0.0,
        accuracy=None,
        balanced_accuracy=None,
        mean_cost=None,
        referred=None,
        trace=Trace(),
    )
    found = octcore.verify(claimed)
    assert found.status == Verdict.REFUTED
    assert "a tree of objective" in found.statement


def test_the_bound_of_a_stopped_run_is_verified(run):
    stopped = octcore.solve(run.train, run.formulation, depth=2, node_limit=3, verify=False)
    found = octcore.verify(stopped)
    assert found.status == Verdict.CONFIRMED, found.statement


def test_the_tree_of_a_run_is_worth_what_its_planes_say():
    """Also where a branch node that all rows pass is not stored."""
    for seed in range(6):
        problem = problem_of(seed)
        data = Dataset.from_arrays(problem.x, problem.y.astype(int))
        for params in ({}, {"C_upper": 1.0, "C_last": 0.01}):
            run = octcore.solve(data, "margot", depth=problem.depth, params=params)
            assert run.certificate.verified, (seed, params, run.certificate.verification)


def test_rows_without_weight_are_in_the_proof():
    rng = np.random.default_rng(2)
    x, y = rng.random((12, 2)), rng.integers(0, 2, 12)
    weights = np.append(np.ones(9), np.zeros(3))
    run = octcore.solve(
        Dataset.from_arrays(x, y), "margot", depth=2, params={"C_upper": 1.0}, sample_weight=weights
    )
    assert run.status == "optimal"
    assert run.certificate.verified, run.certificate.verification


def test_a_proof_stops_amid_a_step_that_fixes_many_rows(monkeypatch):
    rng = np.random.default_rng(1)
    x = rng.random((40, 2)).round(2)
    y = np.where(x.sum(axis=1) + rng.normal(size=40) * 0.1 > 1.0, 1.0, -1.0)
    problem, looked, verdict = RoutingProblem(x, y, 2, 1.0, 100.0), [], []
    target = solved(problem, time_limit=60).bound * (1 - 5e-7)
    look_aside = _Prover._look_aside
    monkeypatch.setattr(_Prover, "_look_aside", lambda *a: looked.append(1) or look_aside(*a))

    def told():
        verdict.append((yield from prove(problem, target, lambda: len(looked) >= 2, lambda it: it)))

    list(told())
    assert len(looked) == 2  # the first step fixes 34
    assert verdict == [False]
