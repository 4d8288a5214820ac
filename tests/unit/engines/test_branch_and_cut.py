"""The branch-and-cut engine on small programs of its own; it knows no formulation."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pyomo.environ as pyo
import pytest
from scipy.sparse import csr_matrix

from octcore.engines.base import Attempt, StopReason
from octcore.engines.branch_and_cut import lp as lp_module
from octcore.engines.branch_and_cut import search
from octcore.engines.branch_and_cut.lp import LpStatus, PersistentLp
from octcore.engines.branch_and_cut.search import (
    CutPool,
    branch_and_cut,
    default_children,
    fixings,
)
from octcore.engines.events import Clock, Recorder
from octcore.errors import EngineError
from octcore.numerics.linear import linear_program
from octcore.program import Capability, Cuts, Program, PyomoModel, Sense
from octcore.tree.tree import Split, Tree

VALUES = np.array([9.0, 8.0, 7.0, 6.0, 5.0, 4.0, 4.0, 3.0])
ROOM = 4.0
"""Items in a circle of which no two neighbours may be chosen; that is only known to a separator."""


def chosen_of(tree: Tree) -> np.ndarray:
    """A 'tree' here is a chain that tests the chosen items, so any subset can be one."""
    chosen = np.zeros(len(VALUES), bool)
    chosen[list(tree.used_features)] = True
    return chosen


def tree_of(chosen: np.ndarray) -> Tree:
    splits, labels, node = {}, {}, 1
    for item in np.flatnonzero(chosen):
        splits[node] = Split.on_feature(int(item))
        labels[2 * node] = 0
        node = 2 * node + 1
    labels[node] = 1
    return Tree(splits, labels, len(VALUES), 2)


def value_of(tree: Tree) -> float | None:
    chosen = chosen_of(tree)
    if chosen.sum() > ROOM or (chosen & np.roll(chosen, 1)).any():
        return None
    return float(VALUES @ chosen)


class Neighbours:
    """Lazy rows x_i + x_(i+1) <= 1."""

    kind = "neighbours"
    required = True

    def __init__(self, component, life=None):
        self.component, self.life, self.calls = component, life, []

    def separate(self, point, state):
        self.calls.append(state)
        x = point.array(self.component)
        columns = point.columns.of(self.component)
        pairs = [(i, (i + 1) % len(x)) for i in range(len(x))]
        bad = [(a, b) for a, b in pairs if x[a] + x[b] > 1 + 1e-6]
        if not bad:
            return []
        rows = np.repeat(np.arange(len(bad)), 2)
        where = columns[np.array(bad).ravel()]
        matrix = csr_matrix((np.ones(len(where)), (rows, where)), shape=(len(bad), len(point.x)))
        pictures = tuple({"pair": pair} for pair in bad)
        return [Cuts(self.kind, matrix, np.ones(len(bad)), self.life, pictures)]


def make_program(life=None, infeasible=False, seen=None) -> Program:
    def build(guard):
        guard()
        model = pyo.ConcreteModel()
        model.x = pyo.Var(range(len(VALUES)), domain=pyo.Binary)
        model.room = pyo.Constraint(expr=pyo.quicksum(model.x.values()) <= ROOM)
        if infeasible:
            model.all = pyo.Constraint(expr=pyo.quicksum(model.x.values()) >= ROOM + 0.5)
        model.value = pyo.Objective(
            expr=pyo.quicksum(float(v) * model.x[i] for i, v in enumerate(VALUES)),
            sense=pyo.maximize,
        )
        separator = Neighbours(model.x, life)
        if seen is not None:
            seen.append(separator)
        return PyomoModel(
            model=model,
            read_tree=lambda point: tree_of(point.array(model.x) > 0.5),
            start_values=lambda tree: [(model.x, chosen_of(tree).astype(float))],
            separators=(separator,),
        )

    return Program(
        sense=Sense.MAXIMISE,
        capabilities=(Capability.SEPARATION,),
        evaluate=value_of,
        build=build,
        granularity=1.0,
    )


def optimum() -> float:
    n = len(VALUES)
    subsets = (np.array([bits >> i & 1 for i in range(n)], bool) for bits in range(2**n))
    return max(v for v in (value_of(tree_of(s)) for s in subsets) if v is not None)


def run(program, clock=None, cancel=lambda: False, gap=0.0, node_limit=None):
    events = []
    clock = clock or Clock(20.0)
    recorder = Recorder(program.sense, clock, events.append, program.granularity)
    outcome = branch_and_cut(Attempt(program, recorder, cancel, gap, node_limit))
    return outcome, recorder, events


@pytest.mark.parametrize("life", [None, 1])
@pytest.mark.parametrize("granularity", [0.0, 1.0])
def test_lazy_rows_are_found_and_optimality_is_proven(life, granularity):
    seen = []
    program = replace(make_program(life, seen=seen), granularity=granularity)
    outcome, recorder, events = run(program)
    assert outcome.stop_reason is StopReason.OPTIMAL
    assert recorder.objective == recorder.best_bound == optimum()
    assert outcome.values["cuts_by_family"]["neighbours"] > 0
    assert outcome.root_bound >= optimum() - 1e-6
    assert any(state.is_integral or state.is_root for state in seen[0].calls)
    pictures = [p for e in events if e.kind == "cuts" for p in e.details["pictures"]]
    assert pictures
    assert set(pictures[0]) == {"kind", "pair"}


def test_minimisation_and_scale():
    program = make_program()

    def build(guard):
        model = program.build(guard)
        expression = model.model.value.expr
        model.model.del_component("value")
        model.model.value = pyo.Objective(expr=100 - expression, sense=pyo.minimize)
        return model

    half = replace(
        program,
        sense=Sense.MINIMISE,
        build=build,
        evaluate=lambda tree: None if value_of(tree) is None else 50 - value_of(tree) / 2,
        scale=0.5,
        granularity=0.5,
    )
    outcome, recorder, _ = run(half)
    assert outcome.stop_reason is StopReason.OPTIMAL
    assert recorder.objective == pytest.approx(50 - optimum() / 2)
    assert recorder.best_bound == pytest.approx(50 - optimum() / 2)


def test_bound_and_incumbent_are_monotone_and_never_cross():
    _, _, events = run(make_program())
    for before, after in pairwise(events):
        if before.bound is not None:
            assert after.bound is not None
            assert after.bound <= before.bound + 1e-9
        if before.incumbent is not None:
            assert after.incumbent >= before.incumbent
        if after.bound is not None and after.incumbent is not None:
            assert after.bound >= after.incumbent - 1e-9
    assert events[-1].bound is not None
    assert events[-1].incumbent is not None


@pytest.fixture
def without_rounds(monkeypatch):
    """No rounds at fractional points, so that some are branched on."""
    monkeypatch.setattr(search, "ROOT_ROUNDS", 0)
    monkeypatch.setattr(search, "NODE_ROUNDS", 0)


@pytest.mark.usefixtures("without_rounds")
@pytest.mark.parametrize("nodes", [1, 2, 3, 5])
def test_bound_is_valid_when_nodes_run_out(nodes):
    outcome, recorder, _ = run(make_program(), node_limit=nodes)
    assert recorder.best_bound is not None
    assert recorder.best_bound >= optimum() - 1e-6
    assert recorder.objective is None or recorder.objective <= optimum()
    assert outcome.stop_reason in {StopReason.NODE_LIMIT, StopReason.OPTIMAL}


def test_time_and_cancel_are_heard():
    outcome, _, _ = run(make_program(), clock=Clock(0.0))
    assert outcome.stop_reason is StopReason.TIME_LIMIT
    calls = []

    def after_build():
        calls.append(1)
        return len(calls) > 2

    outcome, recorder, _ = run(make_program(), cancel=after_build)
    assert outcome.stop_reason is StopReason.CANCELLED
    assert recorder.best_bound is None or recorder.best_bound >= optimum() - 1e-6


def test_infeasible_is_proven():
    outcome, recorder, _ = run(make_program(infeasible=True))
    assert outcome.stop_reason is StopReason.INFEASIBLE
    assert recorder.objective is None


@pytest.mark.usefixtures("without_rounds")
def test_gap_limit_stops_early():
    outcome, recorder, _ = run(make_program(), gap=10.0)
    assert outcome.stop_reason in {StopReason.GAP_LIMIT, StopReason.OPTIMAL}
    assert recorder.best_bound >= optimum() - 1e-6


def test_claims_that_the_tree_denies_leave_the_gap_open():
    """Evaluation says less than the model: the bound must not be pulled down to the tree."""
    program = replace(
        make_program(), evaluate=lambda t: None if value_of(t) is None else value_of(t) - 5
    )
    outcome, recorder, events = run(program)
    assert outcome.stop_reason is StopReason.ERROR
    assert recorder.best_bound >= optimum() - 1e-6
    assert recorder.objective <= optimum() - 5
    assert any(event.kind == "note" for event in events)


def test_claims_that_the_tree_denies_by_little_leave_the_gap_open_too():
    """Where values have no granularity, no difference is too small to count."""
    program = replace(
        make_program(),
        evaluate=lambda t: None if value_of(t) is None else value_of(t) - 0.01,
        granularity=0.0,
    )
    outcome, recorder, _ = run(program)
    assert outcome.stop_reason is StopReason.ERROR
    assert recorder.best_bound >= optimum() - 1e-6


def test_a_program_without_model_is_refused():
    with pytest.raises(EngineError, match="model"):
        run(replace(make_program(), build=None))


def small_lp() -> PersistentLp:
    """max x0 + x1 + x2 in a unit box with x0 + x1 <= 1.5."""
    return PersistentLp(
        linear_program(
            -np.ones(3), np.zeros(3), np.ones(3), csr_matrix([[1.0, 1.0, 0.0]]),
            np.array([-np.inf]), np.array([1.5]),
        )
    )  # fmt: skip


def test_lp_keeps_rows_and_bases_apart():
    lp = small_lp()
    assert lp.solve(np.inf, lambda: 10.0) is LpStatus.OPTIMAL
    assert lp.value == pytest.approx(-2.5)
    basis = lp.basis()
    lp.add_rows(csr_matrix([[0.0, 1.0, 1.0], [1.0, 0.0, 1.0]]), np.ones(2))
    lp.set_basis(basis)
    assert lp.solve(np.inf, lambda: 10.0) is LpStatus.OPTIMAL
    assert lp.value == pytest.approx(-1.75)
    late = lp.basis()
    lp.delete_rows(np.array([1]))
    lp.set_basis(late)
    assert lp.solve(np.inf, lambda: 10.0) is LpStatus.OPTIMAL
    assert lp.value == pytest.approx(-2.0)
    lp.set_bounds(np.zeros(3), np.array([1.0, 0.0, 0.0]))
    assert lp.solve(np.inf, lambda: 10.0) is LpStatus.OPTIMAL
    assert lp.value == pytest.approx(-1.0)
    assert lp.solve(-1.5, lambda: 10.0) in {LpStatus.CUT_OFF, LpStatus.OPTIMAL}
    assert lp.solve(np.inf, lambda: 0.0) is LpStatus.STOPPED
    lp.set_bounds(np.array([1.0, 1.0, 0.0]), np.ones(3))
    assert lp.solve(np.inf, lambda: 10.0) is LpStatus.INFEASIBLE


def test_a_program_that_needs_many_steps_goes_on_with_perturbed_costs(monkeypatch):
    monkeypatch.setattr(lp_module, "PLAIN_STEPS", 0)
    lp = small_lp()
    statuses = []
    for upper in (1.0, 0.5):
        lp.set_bounds(np.zeros(3), np.array([upper, 1.0, 1.0]))
        assert lp.solve(np.inf, lambda: 10.0) is LpStatus.OPTIMAL
        statuses.append((lp.value, lp.solves))
    assert statuses == [(pytest.approx(-2.5), 2), (pytest.approx(-2.5), 3)]


def test_idle_rows_go_and_lasting_rows_stay():
    lp = small_lp()
    pool = CutPool(lp, least=0)
    loose = csr_matrix([[1.0, 1.0, 1.0]])
    pool.add([Cuts("loose", loose, np.array([5.0]), 2), Cuts("kept", loose, np.array([6.0]))])
    for n_rows in (3, 2, 2):
        lp.solve(np.inf, lambda: 10.0)
        pool.age_and_purge()
        assert lp.n_rows == n_rows
    assert pool.purged == 1
    counts, _ = pool.news()
    assert counts == {"loose": 1, "kept": 1}
    assert pool.news() == ({}, ())


def test_default_branching_splits_the_most_fractional_column():
    x = np.array([0.9, 0.5, 0.2, 1.6])
    integer, lower, upper = np.array([0, 1, 3]), np.zeros(4), np.array([1.0, 1.0, 1.0, 3.0])
    down, up = default_children(x, integer, lower, upper)
    assert (down[0], down[2], up[1]) == ([1], [0.0], [1.0])
    up, down = default_children(np.array([0.9, 1.0, 0.2, 1.6]), integer, lower, upper)
    assert (up[0], up[1], down[2]) == ([3], [2.0], [1.0])


def test_reduced_costs_fix_only_what_would_pass_the_cutoff():
    costs = np.array([3.0, -3.0, 0.5, 3.0])
    found = fixings(10.0, costs, 12.0, np.zeros(4), np.ones(4), np.array([0, 1, 2]))
    assert [(c.tolist(), v.tolist()) for c, v, _ in found] == [([0], [0.0]), ([1], [1.0])]
    assert fixings(10.0, costs, np.inf, np.zeros(4), np.ones(4), np.array([0, 1, 2])) == ()
