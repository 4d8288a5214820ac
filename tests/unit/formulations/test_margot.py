"""The MARGOT family: its first tree, and what a tree is worth where planes weigh nothing."""

from __future__ import annotations

import numpy as np
import pytest

import octcore
from octcore.data.dataset import Dataset
from octcore.engines.events import Event
from octcore.errors import CancelledError
from octcore.formulations.base import get_formulation
from octcore.numerics import kernels
from octcore.program import ENDLESS
from octcore.solving.finish import run_from_incumbent
from octcore.tree.tree import Split, Tree, drop_pass_through
from tests.brute import make_problem

X = np.array([[0.0], [0.4], [0.6], [1.0]])
Y = np.array([0, 0, 1, 1])
PLANE = Split.on_plane([10.0], -5.0, True)
LEFT, RIGHT = (Split.on_plane([0.0], offset, True) for offset in (-1.0, 1.0))


def _worth(tree: Tree, depth: int = 2) -> float | None:
    params = {"C_upper": 1.0, "C_last": 100.0}
    problem = make_problem(X, Y, 2, depth, params, formulation="margot")
    return get_formulation("margot").build(problem).evaluate(tree)


def test_a_split_stands_where_it_costs_least() -> None:
    """Below a plane without weights, whose rows pay 4, it costs 54; above two of them it costs 50.

    Verification takes the least, and refuted runs that a limit had ended at such a start.
    """
    low = Tree({1: LEFT, 2: PLANE, 3: RIGHT}, {t: t % 2 for t in (4, 5, 6, 7)}, 1, 2)
    high = Tree({1: PLANE, 2: LEFT, 3: RIGHT}, {t: t % 2 for t in (4, 5, 6, 7)}, 1, 2)
    assert (_worth(low), _worth(high)) == pytest.approx((54.0, 50.0))
    assert _worth(drop_pass_through(low)) == pytest.approx(50.0)


def test_a_split_stands_low_where_slack_is_cheaper_there() -> None:
    """At the root its rows pay 310; below a plane without weights that is 3.1, and 200 there."""
    X, y = np.array([[0.0], [0.5], [0.55], [0.6], [0.65], [0.7]]), np.array([0, 1, 1, 1, 1, 1])
    params = {"C_upper": 100.0, "C_last": 1.0}
    program = get_formulation("margot").build(
        make_problem(X, y, 2, 2, params, formulation="margot")
    )
    tree = Tree({1: Split.on_plane([1.5], -0.4, True)}, {2: 0, 3: 1}, 1, 2)
    assert program.evaluate(tree) == pytest.approx(1.5**2 / 2 + 200.0 + 3.1)


def test_a_tree_of_any_shape_has_its_worth() -> None:
    """A split that became a leaf had none, so that estimators could not be stored."""
    tree = Tree({1: PLANE, 2: PLANE}, {3: 1, 4: 0, 5: 1}, 1, 2)
    assert _worth(tree) == pytest.approx(100.0)
    assert _worth(tree.collapse(2, 0)) == pytest.approx(50.0)
    assert _worth(tree.collapse(2, 1)) == pytest.approx(50.0 + 100.0 * 2)  # rows pay 1 at score 0
    assert _worth(tree, depth=1) is None


def test_a_run_is_worth_what_its_final_tree_is() -> None:
    """It has no planes without weights any more, so that they cost what their best place does."""
    low = Tree({1: LEFT, 2: PLANE, 3: RIGHT}, {t: t % 2 for t in (4, 5, 6, 7)}, 1, 2)
    data = Dataset.from_arrays(X, Y)
    settings = {"formulation": "margot", "depth": 2, "params": {"C_upper": 1.0, "C_last": 100.0}}
    events = (Event(0.1, "incumbent", 54.0, 0.0, "warm start", tree=low),)
    run = run_from_incumbent(data, settings, events, "time_limit", 0.2)
    assert (run.status, run.objective) == ("feasible", pytest.approx(50.0))
    assert octcore.verify(run).verified is not False
    assert run.certificate.method == "routing-search"


@pytest.mark.parametrize("key", ["margot", "hfs-margot"])
def test_a_first_tree_that_closes_the_bound_is_optimal_when_no_time_is_left(key: str) -> None:
    """It was said to be proven by a model that nobody had made, and was refuted."""
    data = Dataset.from_arrays(np.array([[2.0], [0], [1], [2], [1]]), np.array([1, 0, 0, 0, 1]))
    params = {"C_upper": 0.1, "C_last": 0.1}
    run = octcore.solve(data, key, depth=1, params=params, time_limit=1e-6)
    proof = run.certificate
    assert (run.status, proof.method, proof.verified) == ("optimal", "conflict-bound", True)
    wide = Dataset.from_arrays(np.arange(6.0)[:, None], np.arange(6) % 2)
    late = octcore.solve(wide, key, depth=2, time_limit=1e-6)
    assert (late.status, late.certificate.method) == ("feasible", "routing-search")


@pytest.mark.parametrize("key", ["margot", "hfs-margot"])
def test_the_first_tree_comes_after_its_kernels(key: str, monkeypatch) -> None:
    """They are waited for while the clock stands still, else the first call compiles them on it."""
    random = np.random.default_rng(0)
    X, y = random.random((20, 2)), np.arange(20) % 2
    program = get_formulation(key).build(make_problem(X, y, 2, 2, formulation=key))
    asked: list[str] = []

    def require(*names: str, stop) -> None:
        asked.extend(names)
        raise CancelledError("Stopped while the search was being prepared.")

    monkeypatch.setattr(kernels, "require", require)
    assert list(program.starts(ENDLESS)) == []
    assert tuple(asked) == program.kernels


def test_no_score_of_a_tree_is_beyond_its_reach() -> None:
    """A plane of the last level may use both columns, one above it only one."""
    params = {"C_upper": 1.0, "C_last": 100.0, "budget_upper": 1, "budget_last": 2}
    corners = np.array([[0.0, 0.0], [1.0, 1.0]])
    problem = make_problem(corners, np.array([0, 1]), 2, 2, params, formulation="hfs-margot")
    program = get_formulation("hfs-margot").build(problem)
    tree = Tree({1: Split.on_plane([5.0, 5.0], -1.0, True)}, {2: 0, 3: 1}, 2, 2)
    objective = program.evaluate(tree)
    assert objective is not None
    assert program.big_m is not None
    assert program.big_m.needed(objective) / 2 - 1 >= 9.0  # score of the second row
