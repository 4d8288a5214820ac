"""The warm linear program of a node with 1-norm margins, beside SciPy's."""

import numpy as np
import pytest
from scipy.optimize import linprog

from octcore.numerics.margin_simplex import MarginRows, add_row, copy_program, new_programs

pytestmark = pytest.mark.long  # kernels are compiled that other tests do without


def _data(seed: int, n: int, p: int, missing: float, norm: float) -> tuple[MarginRows, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = np.round(rng.random((n, p)), 1)
    weights = rng.integers(1, 4, n).astype(float)
    rows = np.column_stack([np.ones(n), X])
    y = rng.integers(0, 2, n)
    columns = np.ascontiguousarray(rows.T)
    data = MarginRows(rows, columns, y, weights, missing, norm, 1e4, np.inf, 0.0, 0)
    return data, rng.choice([-1.0, 1.0], n)


def _by_scipy(data: MarginRows, side: np.ndarray) -> float:
    """Value for the first rows on their sides, columns h+, h-, g, m; infinite without a plane."""
    n, p = len(side), data.x.shape[1] - 1
    x, signs = data.x[:n, 1:], side[:, None]
    scores = np.hstack([-signs * x, signs * x, signs])
    cost = np.concatenate([np.full(2 * p, data.norm), [0.0], data.missing * data.weights[:n]])
    rows = np.vstack([np.hstack([scores, np.eye(n)]), np.hstack([scores, np.zeros((n, n))])])
    least = np.append(np.ones(n), np.where(side < 0, data.clearance, 0.0))
    bounds = [(0, None)] * (2 * p) + [(None, None)] + [(0, None)] * n
    found = linprog(cost, A_ub=-rows, b_ub=-least, bounds=bounds)
    return float(found.fun) if found.status == 0 else np.inf


@pytest.mark.parametrize(
    ("seed", "p", "missing", "norm"),
    [(0, 1, 1.0, 0.03), (1, 2, 1.0, 0.3), (2, 3, 10.0, 0.1), (3, 4, 1.0, 0.03), (4, 2, 2.0, 1e-3)],
)
def test_every_further_row_gives_the_value_of_a_cold_program(
    seed: int, p: int, missing: float, norm: float
) -> None:
    data, side = _data(seed, 12, p, missing, norm)
    programs = new_programs(2, 12, p + 1, norm)
    for row in range(12):
        add_row(data, programs, 0, row, side[row], 500)
        assert programs.value[0] == pytest.approx(_by_scipy(data, side[: row + 1]), abs=1e-7)


def test_a_program_that_was_stopped_gives_a_lower_bound_and_goes_on_in_its_copy() -> None:
    data, side = _data(7, 14, 3, 1.0, 0.05)
    programs = new_programs(2, 14, 4, 0.05)
    for row in range(14):
        add_row(data, programs, 0, row, side[row], 1)
        assert programs.value[0] <= _by_scipy(data, side[: row + 1]) + 1e-9
    copy_program(programs, 0, 1)
    programs.n_rows[1] -= 1  # the last row again, with all pivots that it takes
    before = programs.value[0]
    add_row(data, programs, 1, 13, side[13], 500)
    assert before <= programs.value[1] <= _by_scipy(data, side) + 1e-9


@pytest.mark.parametrize("seed", range(7))
def test_rows_that_no_plane_keeps_apart_cost_more_than_all_errors(seed: int) -> None:
    data, side = _data(seed, 10, 2, 0.05, 0.01)
    most = 2.0 * data.weights.sum() / 0.3
    data = data._replace(clearance=0.3, most=most)
    programs = new_programs(1, 10, 3, 0.01)
    for row in range(10):
        add_row(data, programs, 0, row, side[row], 500)
        exact = _by_scipy(data, side[: row + 1])
        if np.isinf(exact):
            assert programs.value[0] > data.weights.sum()
        else:
            assert programs.value[0] == pytest.approx(exact, abs=1e-7)
    assert np.isinf(exact)
