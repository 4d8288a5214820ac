"""The convex QP of one branch node, solved by a dual active-set method.

A node with plane ``(w, b)``, penalties ``u_i`` and routing sides ``s_i`` asks for

    minimise 1/2 ||w||^2 + b^2 / (2 BIG^2) + sum_i u_i max(0, 1 - y_i (w.x_i + b))
    subject to s_i (w.x_i + b) >= (epsilon if s_i < 0 else 0)   for routed samples.

The bias is the weight of a constant feature BIG, so the dual has bounds only and every dual
point gives a lower bound: ``value`` is always recomputed from the multipliers before it is
trusted. Removing the bias penalty costs at most ``b_max^2 / (2 BIG^2)``; callers subtract it.
Rows enter by largest violation; after a projection on the null space of the active rows a ratio
test decides whether the entering row becomes active or an active row leaves (Goldfarb and
Idnani 1983, with upper bounds on the hinge multipliers).
"""

import numpy as np

from octcore.numerics.node_qp.rows import (
    ACTIVE,
    AT_UPPER,
    AT_ZERO,
    DEPENDENT,
    IS_SETTLED,
    N_ACTIVE,
    N_PIVOTS,
    N_ROWS,
    N_UPDATES,
    add_column,
    delete_column,
    dot,
    inner,
    kernel,
    project,
    refactor,
    refresh,
    row_sign,
    row_target,
    row_upper,
    sample_of,
    solve_triangle,
)

OPTIMAL, CUTOFF, PIVOT_LIMIT, GAVE_UP = 0, 1, 2, 3
# Violation of a row, in units of the score, that is accepted at an optimum; callers may pass a
# larger one in `NodeData.constants` where penalties are so large that rounding reaches it.
TOLERANCE = 1e-6
REBUILD_AFTER = 150  # QR updates after which the factor is rebuilt from the rows
_SETTLED, _STALLED = 4, 5
_TINY = 1e-12  # a change of a multiplier below it is rounding, and blocks no step


@inner
def most_violated(qp, data):
    """Row with the largest violation beyond the tolerance, or -1."""
    n = qp.score.shape[0]
    epsilon, offset = data.constants[0], data.constants[1]
    best, chosen = data.constants[2], -1
    for position in range(qp.count[N_ROWS]):
        sample = qp.rows[position]
        status = qp.status[sample]
        if status == AT_ZERO or status == AT_UPPER:
            gap = 1.0 - data.y[sample] * (qp.score[sample] + offset)
            if status == AT_UPPER:
                gap = -gap
            if gap > best:
                best, chosen = gap, sample
        if qp.status[n + sample] == AT_ZERO:
            side = qp.side[sample]
            gap = (epsilon if side < 0 else 0.0) - side * (qp.score[sample] + offset)
            if gap > best:
                best, chosen = gap, n + sample
    return chosen


@inner
def _direction(qp, data, row, sense):
    """Projected direction of the plane and the multipliers; returns curvature and slope."""
    m = qp.count[N_ACTIVE]
    coordinates, solution, plane = qp.work[0], qp.work[1], qp.work[2]
    x, sign = data.x[sample_of(data, row)], row_sign(qp, data, row)
    curvature = project(qp, x, sign, coordinates, plane)
    solve_triangle(qp, coordinates, solution)
    slope = sense * row_target(qp, data, row)
    for a in range(m):
        solution[a] *= -sense
        slope += solution[a] * row_target(qp, data, qp.active[a])
    along = 0.0
    for j in range(qp.vector.shape[0]):
        along += qp.vector[j] * plane[j]
    return curvature, slope - sense * along


@inner
def _longest_step(qp, data, row, sense):
    """Ratio test: longest step inside the bounds and the position of the row that blocks."""
    change = qp.work[1]
    longest = row_upper(data, row) - qp.multiplier[row] if sense > 0 else qp.multiplier[row]
    blocking = -1
    for a in range(qp.count[N_ACTIVE]):
        other = qp.active[a]
        if change[a] < -_TINY:
            step = qp.multiplier[other] / -change[a]
        elif change[a] > _TINY:
            step = (row_upper(data, other) - qp.multiplier[other]) / change[a]
        else:
            continue
        if step < longest:
            longest, blocking = step, a
    return max(longest, 0.0), blocking


@inner
def _add_products(qp, data, row, amount):
    """Move the scores of all samples as so much more of a row's multiplier does, bias aside."""
    amount *= row_sign(qp, data, row)
    products = data.products[sample_of(data, row)]
    for sample in range(qp.score.shape[0]):
        qp.score[sample] += amount * products[sample]


@inner
def _move(qp, data, row, sense, step, slope, curvature):
    """Take a step along the direction held in the work arrays."""
    change, plane = qp.work[1], qp.work[2]
    for a in range(qp.count[N_ACTIVE]):
        other = qp.active[a]
        moved = qp.multiplier[other] + step * change[a]
        qp.multiplier[other] = min(max(moved, 0.0), row_upper(data, other))
    qp.multiplier[row] += sense * step
    width = qp.vector.shape[0]
    for j in range(width):
        plane[j] *= sense * step
        qp.vector[j] += plane[j]
    n, m = qp.score.shape[0], qp.count[N_ACTIVE]
    is_dense = 0 < n * (m + 2) < qp.count[N_ROWS] * width
    if step > 0.0 and data.products.shape[0] == n and is_dense:
        last = qp.basis.shape[0] - 1
        shift = plane[last] * data.x[0, last]
        for sample in range(n):
            qp.score[sample] += shift
        _add_products(qp, data, row, sense * step)
        for a in range(m):
            _add_products(qp, data, qp.active[a], step * change[a])
    elif step > 0.0:
        direction = plane[:width]
        for position in range(qp.count[N_ROWS]):
            sample = qp.rows[position]
            qp.score[sample] += dot(data.x[sample], direction)
    qp.value[0] += step * slope - 0.5 * step * step * curvature
    qp.count[N_UPDATES] += 1


@inner
def _follow_ray(qp, data, row, sense, slope, cutoff):
    """Nothing blocks: step until the recomputed dual value proves the cutoff, else step back."""
    change, saved = qp.work[1], qp.work[3]
    target = cutoff if cutoff < np.inf else 1e9 * (1.0 + abs(qp.value[0]))
    step = 2.0 * (target - qp.value[0] + 1.0) / slope
    before, m = qp.multiplier[row], qp.count[N_ACTIVE]
    for a in range(m):
        other = qp.active[a]
        saved[a] = qp.multiplier[other]
        qp.multiplier[other] = min(max(saved[a] + step * change[a], 0.0), row_upper(data, other))
    qp.multiplier[row] += sense * step
    qp.count[N_UPDATES] += 1
    refresh(qp, data)
    if qp.value[0] >= target:
        return CUTOFF
    for a in range(m):
        qp.multiplier[qp.active[a]] = saved[a]
    qp.multiplier[row] = before
    refresh(qp, data)
    return _STALLED


@inner
def _enter(qp, data, row, cutoff):
    """Bring one violated row to its place; active rows that reach a bound leave on the way."""
    sense = 1 if qp.status[row] == AT_ZERO else -1
    n_dims = qp.basis.shape[0]
    while True:
        qp.count[N_PIVOTS] += 1
        m = qp.count[N_ACTIVE]
        curvature, slope = _direction(qp, data, row, sense)
        independent = curvature > DEPENDENT and m < n_dims
        if slope <= 0.0:
            inside = 0.0 < qp.multiplier[row] < row_upper(data, row)
            if inside:
                qp.status[row] = ACTIVE
                qp.active[m] = row
                qp.count[N_ACTIVE] = m + 1
            return _STALLED
        step, blocking = _longest_step(qp, data, row, sense)
        full = independent and slope / curvature <= step
        if full:
            step = slope / curvature
        elif step == np.inf:
            return _follow_ray(qp, data, row, sense, slope, cutoff)
        _move(qp, data, row, sense, step, slope, curvature)
        if full:
            qp.status[row] = ACTIVE
            add_column(qp, qp.work[0], qp.work[2], sense * np.sqrt(curvature), row)
        elif blocking < 0:
            qp.status[row] = AT_UPPER if sense > 0 else AT_ZERO
            qp.multiplier[row] = row_upper(data, row) if sense > 0 else 0.0
        else:
            leaving = qp.active[blocking]
            falls = qp.work[1][blocking] < 0.0
            qp.status[leaving] = AT_ZERO if falls else AT_UPPER
            qp.multiplier[leaving] = 0.0 if falls else row_upper(data, leaving)
            delete_column(qp, blocking)
        if full or blocking < 0:
            return _SETTLED


@inner
def _active_error(qp, data):
    worst = 0.0
    for a in range(qp.count[N_ACTIVE]):
        row = qp.active[a]
        score = row_sign(qp, data, row) * qp.score[sample_of(data, row)]
        worst = max(worst, abs(row_target(qp, data, row) - score))
    return worst


@kernel
def solve_node(qp, data, cutoff, max_pivots):
    """Raise the dual value until optimal, above ``cutoff`` or out of pivots.

    Whatever is returned, ``value`` is a valid lower bound recomputed from the multipliers, and
    the scores of the QP's samples are those of its plane.
    """
    qp.count[IS_SETTLED] = 0
    limit = qp.count[N_PIVOTS] + max_pivots
    repairs = 0
    while True:
        if qp.value[0] >= cutoff:
            refresh(qp, data)
            if qp.value[0] >= cutoff:
                return CUTOFF
        if qp.count[N_UPDATES] > REBUILD_AFTER:
            refactor(qp, data)
        row = most_violated(qp, data)
        stalled = False
        if row < 0:
            refresh(qp, data)
            row = most_violated(qp, data)
            if row < 0 and _active_error(qp, data) <= data.constants[2]:
                qp.count[IS_SETTLED] = 1
                return OPTIMAL
            stalled = row < 0
        if not stalled:
            if qp.count[N_PIVOTS] >= limit:
                refresh(qp, data)
                return PIVOT_LIMIT
            code = _enter(qp, data, row, cutoff)
            if code == CUTOFF:
                return CUTOFF
            stalled = code == _STALLED
        if stalled:
            repairs += 1
            refactor(qp, data)
            if repairs > 3:
                return GAVE_UP  # the value is a bound all the same


@inner
def estimate_node(qp, data, cutoff, max_pivots):
    """Raise the dual value as `solve_node` does, for an estimate of where it ends.

    Only with CUTOFF ``value`` is recomputed from the multipliers, and a bound to rely on.
    """
    limit = qp.count[N_PIVOTS] + max_pivots
    while qp.value[0] < cutoff:
        row = most_violated(qp, data)
        if row < 0:
            return OPTIMAL
        if qp.count[N_PIVOTS] >= limit:
            return PIVOT_LIMIT
        code = _enter(qp, data, row, cutoff)
        if code == CUTOFF:
            return CUTOFF
        if code == _STALLED:
            break
    return solve_node(qp, data, cutoff, limit - qp.count[N_PIVOTS])
