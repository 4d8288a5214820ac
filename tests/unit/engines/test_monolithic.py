"""The monolithic engine: limits, refusals, honesty about claims, live events."""

from __future__ import annotations

import gc
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from octcore.engines import model_run
from octcore.engines.base import Attempt, get_engine
from octcore.engines.events import Clock, Recorder
from octcore.engines.highs import compile_model as compiled
from octcore.engines.model_run import check_size
from octcore.engines.monolithic import highs
from octcore.errors import SettingsError, TooLargeError
from octcore.formulations.base import get_formulation
from octcore.program import ModelSize
from octcore.tree.tree import Tree
from tests.brute import make_problem, random_rows, run


@pytest.fixture
def problem():
    X, y = random_rows(np.random.default_rng(7), 30, 8, 3)
    return make_problem(X, y, 3, 2, {"leaf_penalty": 0.01})


def solve(program, clock, cancel=lambda: False, start: Tree | None = None, **limits):
    events = []
    recorder = Recorder(program.sense, clock, events.append, program.granularity)
    if start is not None:
        recorder.incumbent(program.evaluate(start), start, "warm start")
    outcome = highs(Attempt(program, recorder, cancel, **limits))
    return outcome, recorder, events


def test_trace_holds_phases_model_incumbents_and_falling_bounds(problem):
    outcome, recorder, events = run(problem, starts=False)
    phases = [event.source for event in events if event.kind == "phase"]
    assert phases == ["build", "compile", "solve"]
    assert [event.details for event in events if event.kind == "model"] == [outcome.size.to_dict()]
    assert {event.source for event in events if event.kind == "incumbent"} == {"solver"}
    bounds = [event.bound for event in events if event.kind == "bound"]
    assert bounds == sorted(bounds, reverse=True)
    assert recorder.is_closed
    assert recorder.best_bound == recorder.objective
    assert outcome.root_bound >= recorder.objective - 1e-9
    assert set(outcome.seconds) == {"build", "compile", "solve"}


def test_time_limit_during_building_is_a_normal_outcome(problem):
    program = get_formulation("flow-oct").build(problem)
    outcome, recorder, _ = solve(program, Clock(0.0), start=Tree.leaf(0, 8, 3))
    assert outcome.stop_reason == "time_limit"
    assert recorder.tree is not None


def test_no_garbage_is_collected_while_a_model_is_made(problem, monkeypatch):
    """That took most of the time, and half a second each time of what ended after its limit."""
    program, paused = get_formulation("flow-oct").build(problem), []

    def build(guard):
        paused.append(not gc.isenabled())
        return program.build(guard)

    monkeypatch.setattr(
        model_run,
        "compile_model",
        lambda model: paused.append(not gc.isenabled()) or compiled(model),
    )
    outcome, *_ = solve(replace(program, build=build), Clock(60.0))
    assert outcome.stop_reason == "optimal"
    assert paused == [True, True]
    assert gc.isenabled()


@pytest.mark.long
def test_time_limit_during_the_solve_keeps_tree_and_bound():
    X, y = random_rows(np.random.default_rng(7), 200, 12, 4)
    program = get_formulation("flow-oct").build(make_problem(X, y, 4, 3))
    outcome, recorder, _ = solve(program, Clock(3.0), start=Tree.leaf(0, 12, 4))
    assert outcome.stop_reason == "time_limit"
    assert recorder.best_bound >= recorder.objective


@pytest.mark.long
def test_cancel_stops_while_building_and_while_solving(problem):
    program = get_formulation("flow-oct").build(problem)
    outcome, _, _ = solve(program, Clock(60.0), cancel=lambda: True)
    assert outcome.stop_reason == "cancelled"
    X, y = random_rows(np.random.default_rng(7), 200, 12, 4)
    program = get_formulation("flow-oct").build(make_problem(X, y, 4, 3))
    clock = Clock(60.0)
    seen = []

    def cancel():
        return "solve" in seen

    recorder = Recorder(program.sense, clock, lambda event: seen.append(event.source))
    outcome = highs(Attempt(program, recorder, cancel))
    assert outcome.stop_reason == "cancelled"


def test_gap_limit_is_not_called_optimal(problem):
    program = get_formulation("flow-oct").build(problem)
    outcome, recorder, _ = solve(program, Clock(60.0), start=Tree.leaf(0, 8, 3), gap=5.0)
    assert outcome.stop_reason == "gap_limit"
    assert recorder.best_bound > recorder.objective


@pytest.mark.slow
def test_node_limit(problem):
    X, y = random_rows(np.random.default_rng(7), 60, 10, 4)
    program = get_formulation("flow-oct").build(make_problem(X, y, 4, 2))
    outcome, _, _ = solve(program, Clock(60.0), start=Tree.leaf(0, 10, 4), node_limit=1)
    assert outcome.stop_reason == "node_limit"


def test_root_bound_is_of_the_model_even_where_more_is_known():
    X, y = random_rows(np.random.default_rng(7), 60, 5, 4)
    program = get_formulation("flow-oct").build(make_problem(X, y, 4, 2))
    start = Tree.leaf(0, 5, 4)
    outcome, recorder, _ = solve(program, Clock(60.0), start=start, node_limit=1)
    assert recorder.best_bound == program.bound < outcome.root_bound


def test_claims_that_routing_denies_are_never_optimal(problem):
    program = get_formulation("flow-oct").build(problem)
    worse = replace(
        program, evaluate=lambda tree: 0.8 * (program.evaluate(tree) or 0.0), bound=None
    )
    outcome, recorder, events = solve(worse, Clock(60.0))
    assert outcome.stop_reason == "error"
    assert recorder.best_bound > recorder.objective
    notes = [event.details["text"] for event in events if event.kind == "note"]
    assert any("routing" in text for text in notes)


def test_a_gap_that_the_tolerance_explains_is_no_error(problem):
    program = get_formulation("flow-oct").build(problem)
    worse = replace(
        program,
        evaluate=lambda tree: (1 - 1e-5) * (program.evaluate(tree) or 0.0),
        bound=None,
        granularity=0.0,
    )
    outcome, recorder, _ = solve(worse, Clock(60.0))
    assert outcome.stop_reason == "gap_limit"
    assert recorder.best_bound > recorder.objective


def test_polished_trees_are_recorded_and_injected(problem):
    best = run(problem)[1]
    program = get_formulation("flow-oct").build(problem)
    left = []

    def improve(tree, patience):
        left.append(patience.left())
        return best.tree

    polished = replace(program, improve=improve, bound=None)
    outcome, recorder, events = solve(polished, Clock(60.0))
    assert all(0.0 < seconds <= 60.0 for seconds in left)
    assert outcome.stop_reason == "optimal"
    assert recorder.objective == best.objective
    assert {event.source for event in events if event.kind == "incumbent"} <= {"solver", "polish"}


def test_size_is_refused_in_words(problem, monkeypatch):
    with pytest.raises(TooLargeError, match=r"only 0\.0 GB may be used") as caught:
        check_size(ModelSize(10, 10, 5, 100), 1000.0)
    assert caught.value.size["nonzeros"] == 100
    program = get_formulation("flow-oct").build(problem)
    recorder = Recorder(program.sense, Clock(9.0), lambda event: None)
    monkeypatch.setattr("psutil.virtual_memory", lambda: SimpleNamespace(available=2e5))
    with pytest.raises(TooLargeError, match="choose a smaller depth"):
        highs(Attempt(program, recorder, lambda: False))


def test_memory_error_while_building_becomes_too_large(problem):
    def build(guard):
        raise MemoryError

    program = replace(get_formulation("flow-oct").build(problem), build=build)
    with pytest.raises(TooLargeError, match="memory ran out"):
        solve(program, Clock(60.0))


@pytest.mark.sampled(4)
@pytest.mark.parametrize("formulation", ["flow-oct", "oct-binary", "oct", "bin-oct"])
def test_estimated_size_is_close_to_the_counted_one(formulation):
    X, y = random_rows(np.random.default_rng(7), 80, 9, 3)
    problem = make_problem(X, y, 3, 3, formulation=formulation)
    program = get_formulation(formulation).build(problem)
    program = replace(program, bound=None)
    outcome, _, _ = solve(program, Clock(60.0), start=Tree.leaf(0, 9, 3), gap=5.0)
    for name in ("rows", "columns", "nonzeros"):
        estimate, counted = getattr(program.size, name), getattr(outcome.size, name)
        assert 0.8 * counted <= estimate <= 1.6 * counted, name


@pytest.mark.slow
def test_same_seed_gives_the_same_tree(problem):
    first, second = run(problem, starts=False)[1], run(problem, starts=False)[1]
    assert first.tree == second.tree
    assert first.state.nodes == second.state.nodes


@pytest.mark.slow
def test_the_number_of_threads_may_change_within_a_process(problem):
    program = get_formulation("flow-oct").build(problem)
    values = []
    for threads in (1, 2, 1):
        outcome, recorder, _ = solve(program, Clock(60.0), threads=threads)
        assert outcome.stop_reason == "optimal"
        values.append(recorder.objective)
    assert len(set(values)) == 1


@pytest.mark.parametrize(("engine", "package"), [("scip", "pyscipopt"), ("gurobi", "gurobipy")])
def test_optional_engines_agree_or_are_refused_in_words(problem, engine, package):
    try:
        __import__(package)
    except ImportError:
        with pytest.raises(SettingsError, match=package) as caught:
            run(problem, engine=engine)
        assert caught.value.code == "ENGINE_NOT_INSTALLED"
        return
    small = make_problem(problem.X[:12, :4], problem.y[:12], 3, 2)
    outcome, recorder, _ = run(small, engine=engine)
    assert outcome.stop_reason == "optimal"
    assert recorder.objective == pytest.approx(run(small)[1].objective)


def test_optional_engines_can_be_made_without_their_package():
    assert callable(get_engine("scip"))
    assert callable(get_engine("gurobi"))
