"""Rows of one node QP: adding them, recomputing plane and dual value, rebuilding the factor.

Rows ``0..n-1`` charge hinge losses, rows ``n..2n-1`` route; see `solver` for the problem.
"""

import numpy as np

from octcore.numerics.node_qp.factor import (
    ABSENT,
    ACTIVE,
    AT_UPPER,
    AT_ZERO,
    DEPENDENT,
    IS_SETTLED,
    N_ACTIVE,
    N_ROWS,
    add_column,
    clear_factor,
    inner,
    kernel,
    project,
    solve_transposed,
    solve_triangle,
)


@inner
def row_sign(qp, data, row):
    """Sign with which a row multiplies the score."""
    n = data.y.shape[0]
    return data.y[row] if row < n else float(qp.side[row - n])


@inner
def row_target(qp, data, row):
    """Right-hand side of a row, less the part that the offset provides."""
    n = data.y.shape[0]
    if row < n:
        return 1.0 - data.y[row] * data.constants[1]
    side = qp.side[row - n]
    return (data.constants[0] if side < 0 else 0.0) - side * data.constants[1]


@inner
def sample_of(data, row):
    """Sample that a row is about."""
    n = data.y.shape[0]
    return row if row < n else row - n


@inner
def row_upper(data, row):
    """Upper bound of the multiplier of a row."""
    return data.upper[row] if row < data.y.shape[0] else np.inf


@inner
def clear_node(qp):
    """Start from a QP without rows."""
    qp.multiplier[:] = 0.0
    qp.score[:] = 0.0
    qp.vector[:] = 0.0
    qp.status[:] = ABSENT
    qp.side[:] = 0
    qp.count[N_ROWS] = 0
    qp.count[IS_SETTLED] = 0
    qp.value[0] = 0.0
    clear_factor(qp)


@inner
def add_hinge(qp, sample):
    """Charge a sample's hinge loss at this node (no effect if it is charged already)."""
    n = qp.score.shape[0]
    if qp.status[sample] == ABSENT:
        if qp.status[n + sample] == ABSENT:
            qp.rows[qp.count[N_ROWS]] = sample
            qp.count[N_ROWS] += 1
        qp.status[sample] = AT_ZERO
        qp.count[IS_SETTLED] = 0


@inner
def add_route(qp, sample, side):
    """Force a sample to one side of the plane (no effect if it is routed already)."""
    n = qp.score.shape[0]
    if qp.status[n + sample] == ABSENT:
        if qp.status[sample] == ABSENT:
            qp.rows[qp.count[N_ROWS]] = sample
            qp.count[N_ROWS] += 1
        qp.status[n + sample] = AT_ZERO
        qp.side[sample] = side
        qp.count[IS_SETTLED] = 0


@kernel
def load_rows(qp, sides):
    """Empty QP with the rows of samples: routed where the side is -1 or 1, absent where it is 2."""
    clear_node(qp)
    for sample in range(sides.shape[0]):
        if sides[sample] == 2:
            continue
        add_hinge(qp, sample)
        if sides[sample] != 0:
            add_route(qp, sample, sides[sample])


@inner
def dot(one, two):
    """Inner product, vectorised."""
    total = 0.0
    for j in range(one.shape[0]):
        total += one[j] * two[j]
    return total


@kernel
def refresh(qp, data):
    """Recompute the plane, the dual value and the scores of the QP's samples."""
    n = qp.score.shape[0]
    qp.vector[:] = 0.0
    linear = 0.0
    for position in range(qp.count[N_ROWS]):
        sample = qp.rows[position]
        weight = 0.0
        for row in (sample, n + sample):
            if qp.multiplier[row] != 0.0:
                weight += row_sign(qp, data, row) * qp.multiplier[row]
                linear += row_target(qp, data, row) * qp.multiplier[row]
        if weight != 0.0:
            for j in range(qp.vector.shape[0]):
                qp.vector[j] += weight * data.x[sample, j]
    qp.value[0] = linear - 0.5 * dot(qp.vector, qp.vector)
    for position in range(qp.count[N_ROWS]):
        sample = qp.rows[position]
        qp.score[sample] = dot(data.x[sample], qp.vector)


@inner
def score_rest(qp, data):
    """Scores of the samples without a row, which no solve looks at."""
    n = qp.score.shape[0]
    for sample in range(n):
        if qp.status[sample] == ABSENT and qp.status[n + sample] == ABSENT:
            qp.score[sample] = dot(data.x[sample], qp.vector)


@inner
def _park(qp, data, row):
    """Move an active row to its nearer bound."""
    upper = row_upper(data, row)
    if upper < np.inf and qp.multiplier[row] > 0.5 * upper:
        qp.multiplier[row] = upper
        qp.status[row] = AT_UPPER
    else:
        qp.multiplier[row] = 0.0
        qp.status[row] = AT_ZERO


@inner
def _rebuild_factor(qp, data):
    count = qp.count[N_ACTIVE]
    clear_factor(qp)
    coordinates, rest = qp.work[0], qp.work[1]
    for position in range(count):
        row = qp.active[position]  # written at or before this position only
        if qp.status[row] != ACTIVE:
            continue
        x, sign = data.x[sample_of(data, row)], row_sign(qp, data, row)
        free = project(qp, x, sign, coordinates, rest)
        if free < DEPENDENT:
            _park(qp, data, row)
        else:
            add_column(qp, coordinates, rest, np.sqrt(free), row)


@kernel
def refactor(qp, data):
    """Rebuild the factor and solve for the active multipliers, parking those out of bounds."""
    while True:
        _rebuild_factor(qp, data)
        m = qp.count[N_ACTIVE]
        for a in range(m):
            qp.multiplier[qp.active[a]] = 0.0
        refresh(qp, data)
        right, middle, solution = qp.work[1], qp.work[2], qp.work[3]
        for a in range(m):
            row = qp.active[a]
            score = row_sign(qp, data, row) * qp.score[sample_of(data, row)]
            right[a] = row_target(qp, data, row) - score
        solve_transposed(qp, right, middle)
        solve_triangle(qp, middle, solution)
        parked = False
        for a in range(m):
            row = qp.active[a]
            upper = row_upper(data, row)
            scale = 1e-9 * (upper if upper < np.inf else 1.0 + abs(solution[a]))
            qp.multiplier[row] = min(max(solution[a], 0.0), upper)
            if solution[a] < -scale or solution[a] > upper + scale:
                _park(qp, data, row)
                parked = True
        if not parked:
            refresh(qp, data)
            return
