"""Branch and cut on random programs whose rows arrive late, against listing every point.

Limits of nodes, stops and gaps end many of them on the way: every bound on the way must hold.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from unittest.mock import patch

import numpy as np
import pyomo.environ as pyo
import pytest
from scipy.sparse import csr_matrix

from octcore.engines.base import Attempt, StopReason
from octcore.engines.branch_and_cut import search
from octcore.engines.branch_and_cut.search import branch_and_cut
from octcore.engines.events import Clock, Event, Recorder
from octcore.program import (
    Capability,
    Child,
    Columns,
    Cuts,
    Point,
    Program,
    PyomoModel,
    SearchState,
    Sense,
)
from octcore.tree.tree import Split, Tree
from tests.fuzz.case import Countdown

CASES, PER_TEST = 400, 20


@dataclass(frozen=True, eq=False)
class Lazy:
    """Maximise or minimise ``value @ x`` over binary x; separators know rows beyond `known`."""

    value: np.ndarray
    rows: np.ndarray
    most: np.ndarray
    known: int
    sense: Sense
    step: float

    @cached_property
    def points(self) -> np.ndarray:
        """Every point that keeps all rows."""
        n = len(self.value)
        every = np.arange(2**n)[:, None] >> np.arange(n) & 1
        return every[(every @ self.rows.T <= self.most).all(axis=1)]

    @property
    def sign(self) -> float:
        """1 where larger is better."""
        return 1.0 if self.sense is Sense.MAXIMISE else -1.0

    @cached_property
    def optimum(self) -> float | None:
        """Best value."""
        found = self.sign * (self.points @ self.value)
        return self.sign * float(found.max()) if len(found) else None


def draw(rng: np.random.Generator) -> Lazy:
    """Draw values and rows; a model leaves out columns without value and row, so no value is 0."""
    n, m = int(rng.integers(4, 11)), int(rng.integers(2, 9))
    step = float(rng.choice([1.0, 0.5, 1.0 / 3.0]))
    rows = rng.integers(-1, 8, (m, n)) * (rng.random((m, n)) < 0.7)
    most = rng.integers(-1, 4, m) + rows.clip(0).sum(axis=1) // int(rng.integers(2, 4))
    return Lazy(
        rng.choice([-3, -2, -1, *range(1, 10)], n) * step, rows.astype(float), most.astype(float),
        int(rng.integers(0, m)), Sense.MAXIMISE if rng.random() < 0.6 else Sense.MINIMISE, step,
    )  # fmt: skip


def tree_of(chosen: np.ndarray) -> Tree:
    """A chain of splits on the chosen columns stands for a point."""
    splits, labels, node = {}, {}, 1
    for item in np.flatnonzero(chosen):
        splits[node], labels[2 * node], node = Split.on_feature(int(item)), 0, 2 * node + 1
    labels[node] = 1
    return Tree(splits, labels, len(chosen), 2)


class Separator:
    """The rows that the model does not have, where a point breaks them."""

    def __init__(self, lazy: Lazy, variable: pyo.Var, life: int | None) -> None:
        self.lazy, self.variable, self.life = lazy, variable, life

    def separate(self, point: Point, state: SearchState) -> list[Cuts]:
        lazy, where = self.lazy, point.columns.of(self.variable)
        broken = lazy.rows @ point.array(self.variable) > lazy.most + 1e-6
        broken[: lazy.known] = False
        if not broken.any():
            return []
        matrix = np.zeros((int(broken.sum()), len(point.x)))
        matrix[:, where] = lazy.rows[broken]
        return [Cuts("late", csr_matrix(matrix), lazy.most[broken], self.life)]


def program_of(lazy: Lazy, rng: np.random.Generator) -> Program:
    """State the problem, with some of what a formulation may give the engine."""
    n, scale = len(lazy.value), float(rng.choice([1.0, 0.25]))
    shift, helps, life = (
        float(rng.choice([0.0, -7.0])),
        rng.random(3) < (0.4, 0.2, 0.5),
        (None, 1)[rng.integers(2)],
    )

    def evaluate(tree: Tree) -> float | None:
        chosen = np.isin(np.arange(n), list(tree.used_features))
        if (lazy.rows @ chosen > lazy.most).any():
            return None
        return float(lazy.value @ chosen)

    def build(guard: Callable[[], None]) -> PyomoModel:
        model = pyo.ConcreteModel()
        model.x = x = pyo.Var(range(n), domain=pyo.Binary)
        model.rows = pyo.ConstraintList()
        for row, most in zip(lazy.rows[: lazy.known], lazy.most, strict=False):
            if row.any():
                model.rows.add(pyo.quicksum(float(a) * x[i] for i, a in enumerate(row)) <= most)
        model.goal = pyo.Objective(
            expr=(pyo.quicksum(float(v) * x[i] for i, v in enumerate(lazy.value)) - shift) / scale,
            sense=pyo.maximize if lazy.sense is Sense.MAXIMISE else pyo.minimize,
        )

        def probing(
            columns: Columns, lower: np.ndarray, upper: np.ndarray, needed: float
        ) -> tuple[float, Child]:
            where = columns.of(x)
            inside = ((lazy.points >= lower[where]) & (lazy.points <= upper[where])).all(axis=1)
            found = lazy.points[inside]
            better = found[lazy.sign * (found @ lazy.value - needed) >= -1e-9]
            reach = lazy.sign * (lazy.sign * (found @ lazy.value)).max(initial=-np.inf)
            never = where[~better.any(axis=0)] if len(better) else where[:0]
            return float(reach), (never, lower[never], np.zeros(len(never)))

        return PyomoModel(
            model=model,
            read_tree=lambda point: tree_of(point.array(x) > 0.5),
            start_values=lambda tree: [],
            separators=(Separator(lazy, x, life),),
            rounding=(lambda point, _: tree_of(point.array(x) > 0.7)) if helps[0] else None,
            probing=probing if helps[1] else None,
        )

    return Program(
        sense=lazy.sense, evaluate=evaluate, build=build, scale=scale,
        capabilities=(Capability.SEPARATION,), granularity=lazy.step if helps[2] else 0.0,
        shift=shift,
    )  # fmt: skip


@pytest.mark.sampled(4)
@pytest.mark.parametrize("first", range(0, CASES, PER_TEST))
def test_optima_and_bounds_are_those_of_all_points(first: int) -> None:
    for number in range(first, first + PER_TEST):
        check(np.random.default_rng([7, number]))


def check(rng: np.random.Generator) -> None:
    """Solve a random program, perhaps not to its end, and compare what is said on the way."""
    lazy = draw(rng)
    program, events = program_of(lazy, rng), list[Event]()
    clock = Clock(100.0)
    recorder = Recorder(program.sense, clock, events.append, program.granularity)
    rounds = {"ROOT_ROUNDS": int(rng.choice([0, 1, 50])), "NODE_ROUNDS": int(rng.choice([0, 1, 3]))}
    node_limit = int(rng.integers(1, 9)) if rng.random() < 0.4 else None
    cancel = Countdown(int(rng.integers(3, 60)) if rng.random() < 0.3 else np.inf)
    gap = float(rng.choice([0.0, 0.0, 0.2]))
    if rng.random() < 0.3 and len(lazy.points):
        start = tree_of(lazy.points[rng.integers(len(lazy.points))])
        value = program.evaluate(start)
        assert value is not None
        recorder.incumbent(value, start, "start")
    with patch.multiple(search, **rounds):
        outcome = branch_and_cut(Attempt(program, recorder, cancel, gap, node_limit))
    if lazy.optimum is None:
        assert recorder.tree is None
        assert outcome.stop_reason is not StopReason.OPTIMAL
        return
    assert outcome.stop_reason not in {StopReason.INFEASIBLE, StopReason.ERROR}
    for event in events:
        if event.bound is not None:
            assert lazy.sign * (event.bound - lazy.optimum) >= -1e-6
        if event.incumbent is not None:
            assert lazy.sign * (lazy.optimum - event.incumbent) >= -1e-9
    if outcome.root_bound is not None:
        assert lazy.sign * (outcome.root_bound - lazy.optimum) >= -1e-6
    if outcome.stop_reason is StopReason.OPTIMAL:
        assert recorder.objective == pytest.approx(lazy.optimum, abs=1e-9)
        assert recorder.best_bound == pytest.approx(lazy.optimum, abs=1e-6)
    elif outcome.stop_reason is StopReason.NODE_LIMIT:
        assert node_limit is not None
        assert outcome.values["nodes"] <= node_limit
