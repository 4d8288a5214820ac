"""A worked example: the best tree with one split, as a mixed-integer program.

=========  ================================================================================
b_f        the split tests column f                                              (binary)
w_sk       side s (0 left, 1 right) predicts class k                             (binary)
z_is       row i is on side s and its class is predicted                         (in [0, 1])
=========  ================================================================================
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyomo.environ as pyo

from octcore.formulations.base import FormulationInfo, Reference, formulation
from octcore.program import Capability, ModelSize, Point, Problem, Program, PyomoModel, Sense
from octcore.tree import metrics
from octcore.tree.tree import Split, Tree

SIDES = (0, 1)

INFO = FormulationInfo(
    key="decision-stump",
    title="Decision stump",
    summary="The best tree with a single split. It is the smallest program one can write.",
    reference=Reference("Iba, W. and Langley, P.", 1992, "Induction of one-level decision trees"),
    split_kind="univariate",
    needs_binary_features=True,
    default_encoding="QT-5",
    hyperparameters=(),
    constraints=frozenset({"class_weight"}),
    capabilities=(Capability.LINEAR,),
    objective="accuracy",
    max_depth=1,
    equations=((r"\max \tfrac{1}{n} \sum_{i,s} z_{is}", "share of rows predicted right"),),
    good_at="Shows how a formulation is written; as a classifier it is a first guess.",
)


@formulation(INFO)
def build(problem: Problem) -> Program:
    """Make the program: how a tree is judged, how large the model is, and how it is built."""
    n, p, classes = problem.n_samples, problem.n_features, problem.n_classes

    def evaluate(tree: Tree) -> float | None:
        right = tree.predict_codes(problem.X) == problem.y
        return float(np.average(right, weights=problem.weights)) if tree.n_splits <= 1 else None

    return Program(
        sense=Sense.MAXIMISE,
        evaluate=evaluate,
        size=ModelSize(4 * n + 3, p + 2 * (classes + n), p + 2 * classes, n * (p + 6)),
        build=lambda guard: _model(problem, guard),
        bound=metrics.accuracy_ceiling(problem.X, problem.y) if (problem.weights == 1).all() else 1,
        claims=("optimal among trees with one split",),
    )


def _model(problem: Problem, guard: Callable[[], None]) -> PyomoModel:
    X, y, share = problem.X, problem.y, problem.weights / problem.weights.sum()
    I, F = range(problem.n_samples), range(problem.n_features)  # noqa: E741 - the usual letters
    model: Any = pyo.ConcreteModel("stump")
    model.b = pyo.Var(F, domain=pyo.Binary, doc="b_f: the split tests column f")
    model.w = pyo.Var(SIDES, range(problem.n_classes), domain=pyo.Binary, doc="w_sk: label")
    model.z = pyo.Var(I, SIDES, domain=pyo.UnitInterval, doc="z_is: right on side s")
    model.one_column = pyo.Constraint(expr=pyo.quicksum(model.b.values()) == 1, doc="(1)")
    model.one_label = pyo.Constraint(
        SIDES, rule=lambda m, s: pyo.quicksum(m.w[s, k] for k in range(problem.n_classes)) == 1
    )

    def on_side(m: Any, i: int, s: int) -> Any:
        guard()  # asked for every row, so that Stop and the time limit work while building
        return m.z[i, s] <= pyo.quicksum(m.b[f] for f in F if X[i, f] == s)

    model.on_side = pyo.Constraint(I, SIDES, rule=on_side, doc="(3) a row is on one side")
    model.label = pyo.Constraint(I, SIDES, rule=lambda m, i, s: m.z[i, s] <= m.w[s, int(y[i])])
    model.accuracy = pyo.Objective(
        expr=pyo.quicksum(share[i] * model.z[i, s] for i in I for s in SIDES), sense=pyo.maximize
    )
    return PyomoModel(
        model,
        read_tree=lambda point: _read(model, point, problem),
        start_values=lambda tree: _start(model, tree, problem),
    )


def _read(model: Any, point: Point, problem: Problem) -> Tree:
    column = int(point.array(model.b).argmax())
    left, right = point.table(model.w, 2, problem.n_classes).argmax(axis=1).tolist()
    split = Split.on_feature(column, 0.5)  # 0 goes left, 1 goes right
    return Tree({1: split}, {2: left, 3: right}, problem.n_features, problem.n_classes)


def _start(model: Any, tree: Tree, problem: Problem) -> list[tuple[Any, np.ndarray]]:
    chosen = tree.splits[1].features[0] if tree.splits else 0
    labels = [tree.labels[node] if tree.splits else tree.labels[1] for node in (2, 3)]
    sides = problem.X[:, chosen].astype(int)
    right = np.array([labels[s] for s in sides]) == problem.y
    w = np.eye(problem.n_classes)[labels].ravel()
    z = np.stack([right & (sides == s) for s in SIDES], axis=1).astype(float).ravel()
    return [(model.b, np.eye(problem.n_features)[chosen]), (model.w, w), (model.z, z)]
