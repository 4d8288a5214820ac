"""Value of a matrix game."""

import numpy as np
from scipy.optimize import linprog


def game_value(costs: np.ndarray) -> float:
    """Largest cost of a row in a group that gets its best answer, over all mixtures of classes.

    It is ``max v`` with ``v <= sum_c p_c costs[c, a]`` for every answer a, over shares p.
    """
    n_classes, n_answers = costs.shape
    cost, total = np.append(np.zeros(n_classes), -1.0), np.append(np.ones(n_classes), 0.0)
    answers = np.column_stack([-costs.T, np.ones(n_answers)])
    bounds = [(0, 1)] * n_classes + [(None, None)]
    found = linprog(cost, answers, np.zeros(n_answers), [total], [1.0], bounds)
    return max(0.0, float(-found.fun))
