"""The exact search where a column costs next to nothing."""

import numpy as np
import pytest

from octcore.search.assignment.search import AssignmentProblem, AssignmentSearch

pytestmark = pytest.mark.long  # kernels are compiled that other tests do without


@pytest.mark.parametrize("price", [1e-12, 1e-3])
def test_prices_next_to_nothing_need_no_memory(price: float):
    X, y = np.linspace(0, 1, 6)[:, None], np.array([0, 1, 0, 1, 0, 1])
    limit = 1e-6 * 2 / 0.1
    problem = AssignmentProblem(
        X, y, np.ones(6), 2, 1, 2e-6 * 2 / 0.1, 1e-6, 21.0, 1e-9, limit, price, 1.0
    )
    search = AssignmentSearch(problem, 3.0)
    for _found in search.run():
        pass
    assert search.cost == pytest.approx(2 + price)
    assert search.bound == pytest.approx(search.cost)


def test_a_bound_rises_to_the_next_sum_of_errors_and_columns_and_no_further():
    X, y = np.linspace(0, 1, 6)[:, None], np.array([0, 1, 0, 1, 0, 1])
    problem = AssignmentProblem(
        X, y, np.ones(6), 2, 2, 2e-6 * 2 / 0.1, 1e-6, 21.0, 1e-9, 6.0, 0.4, 1.0
    )
    search = AssignmentSearch(problem, 3.0)
    assert search._attainable(0.5) == pytest.approx(0.8)  # two columns, no error
    assert search._attainable(1.05) == pytest.approx(1.2)  # three columns
