"""MM-SVM-OCT against enumeration of routings, labels and planes with an independent cone solver."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.sparse import csc_matrix
from sklearn.svm import SVC

from tests.brute import make_problem, run

pytestmark = pytest.mark.long

clarabel = pytest.importorskip("clarabel")

C1, C2, C3, EPSILON = 5.0, 2.0, 0.1, 1e-3
TOLERANCE = 2e-4
"""Outer approximation closes to a relative gap of 1e-4."""


def _cone_value(nodes, p, depth):
    """``min delta + C1 sum e`` for nodes ``(X, signs, sides or None, has plane)``."""
    width = 1 + sum(p + 1 + len(X) for X, *_ in nodes)
    rows, limits, cones, start = [], [], [], 1
    cost, cone_rows = np.zeros(width), []
    cost[0] = 1.0
    for X, signs, sides, has_plane in nodes:
        n, w, b = len(X), slice(start, start + p), start + p
        cost[b + 1 : b + 1 + n] = C1
        for i in range(n):
            row = np.zeros(width)
            row[w], row[b], row[b + 1 + i] = -signs[i] * X[i], -signs[i], -1.0
            rows.append(row)
            limits.append(-1.0)
            positive = np.zeros(width)
            positive[b + 1 + i] = -1.0
            rows.append(positive)
            limits.append(0.0)
            if sides is not None:
                row = np.zeros(width)
                direction = -1.0 if sides[i] else 1.0
                row[w], row[b] = direction * X[i], direction
                rows.append(row)
                limits.append(0.0 if sides[i] else -EPSILON)
        for j in range(0 if has_plane else p):
            for sign in (1.0, -1.0):
                row = np.zeros(width)
                row[start + j] = sign
                rows.append(row)
                limits.append(0.0)
        block = np.zeros((p + 2, width))
        block[0, 0] = block[p + 1, 0] = -1.0
        block[1 : p + 1, w] = -np.sqrt(2) * np.eye(p)
        cone_rows.append((block, np.append(np.append(1.0, np.zeros(p)), -1.0)))
        start = b + 1 + n
    cones = [clarabel.NonnegativeConeT(len(rows))]
    cones += [clarabel.SecondOrderConeT(p + 2) for _ in nodes]
    A = csc_matrix(np.vstack([*rows, *(block for block, _ in cone_rows)]))
    limit = np.concatenate([limits, *(tail for _, tail in cone_rows)])
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    P = csc_matrix((width, width))
    found = clarabel.DefaultSolver(P, cost, A, limit, cones, settings).solve()
    return found.obj_val if str(found.status) in {"Solved", "AlmostSolved"} else np.inf


def _one_node(X, signs, relabel):
    best = np.inf
    for flips in itertools.product((0, 1), repeat=len(X)) if relabel else [(0,) * len(X)]:
        turned = np.where(np.array(flips) > 0, -signs, signs)
        for has_plane in (False, True):
            value = _cone_value([(X, turned, None, has_plane)], X.shape[1], 1)
            best = min(best, value + C2 * sum(flips) + C3 * has_plane)
    return best


def _two_levels(X, signs):
    best = np.inf
    for sides in itertools.product((False, True), repeat=len(X)):
        right = np.array(sides)
        for plan in [(0, 0, 0), *((1, a, b) for a in (0, 1) for b in (0, 1))]:
            nodes = [(X, signs, right, plan[0])]
            nodes += [
                (X[part], signs[part], None, d)
                for part, d in zip((~right, right), plan[1:], strict=True)
            ]
            best = min(best, _cone_value(nodes, X.shape[1], 2) + C3 * sum(plan))
    return best


def _data(seed, n):
    rng = np.random.default_rng(seed)
    X = rng.random((n, 2))
    y = (X[:, 0] + 0.3 * X[:, 1] > 0.6) ^ (rng.random(n) < 0.3)
    return X, y.astype(np.int64)


def _solve(X, y, depth, relabel, starts=True):
    params = {"c1": C1, "c2": C2, "c3": C3, "relabel": relabel, "start_seconds": 0.1}
    problem = make_problem(X, y, 2, depth, params, formulation="mm-svm-oct")
    _, recorder, _ = run(
        problem, "mm-svm-oct", "outer-approximation", starts=starts, gap=1e-4, time_limit=60
    )
    return recorder


@pytest.mark.sampled(3)
@pytest.mark.parametrize("relabel", [False, True])
@pytest.mark.parametrize("starts", [False, True])
@pytest.mark.parametrize("seed", range(2))
def test_one_level_equals_enumeration(seed, starts, relabel):
    X, y = _data(seed, 6)
    recorder = _solve(X, y, 1, relabel, starts)
    wanted = _one_node(X, np.where(y == 1, 1.0, -1.0), relabel)
    assert recorder.objective == pytest.approx(wanted, rel=TOLERANCE)
    assert recorder.best_bound <= recorder.objective + 1e-9
    assert recorder.best_bound == pytest.approx(wanted, rel=TOLERANCE)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("seed", range(2))
def test_two_levels_equal_enumeration(seed):
    X, y = _data(seed + 5, 6)
    recorder = _solve(X, y, 2, False)
    wanted = _two_levels(X, np.where(y == 1, 1.0, -1.0))
    assert recorder.objective == pytest.approx(wanted, rel=TOLERANCE)
    assert recorder.best_bound == pytest.approx(wanted, rel=TOLERANCE)


def test_one_level_is_a_soft_margin_machine():
    X, y = _data(11, 24)
    machine = SVC(C=C1, kernel="linear", tol=1e-9).fit(X, y)
    w = machine.coef_[0]
    slack = np.maximum(0, 1 - np.where(y == 1, 1, -1) * machine.decision_function(X)).sum()
    recorder = _solve(X, y, 1, False)
    assert recorder.objective == pytest.approx(w @ w / 2 + C1 * slack + C3, rel=TOLERANCE)
