"""The arrays of one node QP: its rows, and the QR factor of those that are active.

Rows ``0..n-1`` charge hinge losses, rows ``n..2n-1`` route; see `solver` for the problem.

The columns of the factored matrix are the signed rows ``sign_k * x_k`` that are active (neither
at a bound nor absent). ``basis`` keeps the orthogonal factor, one *column* per array row and only
those of active rows, which are few beside the features; ``factor`` keeps the upper triangle. Both
are used instead of an inverse Gram matrix because that drifts, and a drifted factor makes dual
values look better than they are.
"""

from typing import Any, NamedTuple

import numpy as np

from octcore.numerics import kernels

ABSENT, AT_ZERO, AT_UPPER, ACTIVE = 0, 1, 2, 3  # status of a row in a node QP
N_ACTIVE, N_ROWS, N_UPDATES, N_PIVOTS = 0, 1, 2, 3  # positions in `NodeQp.count`
IS_SETTLED = 4  # last position: 1 while value and plane are an optimum of the rows that the QP has
DEPENDENT = 1e-12  # squared length below which a row counts as dependent on the active ones
# Squared length of a rest, as a share of its row's, below which it is made orthogonal once more.
TWICE = 1e-8

# Sums may be reordered (needed for vector instructions); infinities keep their meaning.
FAST = {"reassoc", "contract", "nsz"}


kernel = kernels.kernel(fastmath=FAST, owns=False, no_cfunc_wrapper=True)
"""Decorates a kernel that makes no arrays: views that it makes are not counted, which took a third
of a search.  So no array may leave it towards Python."""
inner = kernels.kernel(fastmath=FAST, owns=False, no_cpython_wrapper=True, no_cfunc_wrapper=True)
"""The same for what only kernels call; it compiles faster."""
part = kernels.kernel(fastmath=FAST, owns=False, inline="always")
"""Decorates a part of one large kernel, which is not compiled by itself: whatever a kernel calls is
optimised anew with it."""
allocating_kernel = kernels.kernel(fastmath=FAST, no_cfunc_wrapper=True)
"""Decorates a kernel that makes arrays of its own."""


NO_PRODUCTS = np.zeros((0, 0))


class NodeData(NamedTuple):
    """What one node QP is about; all arrays are shared between nodes and never written."""

    x: Any  # centred rows, the bias scale in column ``n_dims - 1``, zeros up to the width
    y: Any  # -1 or +1
    upper: Any  # penalty of each sample at this node
    constants: Any
    """The strip epsilon left of the plane that routing rows must keep free; an offset that is part
    of every score (the bias around which the bias penalty is centred); the violation of a row
    that counts as none."""
    products: Any = NO_PRODUCTS
    """Inner products of the rows without the bias column, or an empty array: by them a pivot of
    few active rows moves the scores of all samples in less time than by the rows."""


class NodeQp(NamedTuple):
    """State of one node QP; rows ``0..n-1`` are hinge rows, ``n..2n-1`` routing rows."""

    multiplier: Any
    score: Any
    vector: Any
    basis: Any
    factor: Any
    active: Any
    status: Any
    side: Any
    rows: Any
    count: Any
    value: Any
    work: Any


def new_bank(n_nodes: int, n_samples: int, n_dims: int, width: int) -> NodeQp:
    """Arrays for ``n_nodes`` QPs, each with a leading node axis; call `clear_node` before use."""
    size = n_dims + 2
    return NodeQp(
        multiplier=np.zeros((n_nodes, 2 * n_samples)),
        score=np.zeros((n_nodes, n_samples)),
        vector=np.zeros((n_nodes, width)),
        basis=np.zeros((n_nodes, n_dims, width)),
        factor=np.zeros((n_nodes, size, size)),
        active=np.zeros((n_nodes, size), np.int64),
        status=np.zeros((n_nodes, 2 * n_samples), np.int8),
        side=np.zeros((n_nodes, n_samples), np.int8),
        rows=np.zeros((n_nodes, n_samples), np.int64),
        count=np.zeros((n_nodes, 5), np.int64),
        value=np.zeros((n_nodes, 1)),
        work=np.zeros((n_nodes, 4, max(size, width))),
    )


def node_of(bank: NodeQp, node: int) -> NodeQp:
    """View of one QP of a bank; kernels make theirs by `view_of`."""
    return NodeQp(*(array[node] for array in bank))


@inner
def view_of(bank, node):
    """View of one QP of a bank, for kernels only: nobody counts who holds it."""
    return NodeQp(
        bank.multiplier[node],
        bank.score[node],
        bank.vector[node],
        bank.basis[node],
        bank.factor[node],
        bank.active[node],
        bank.status[node],
        bank.side[node],
        bank.rows[node],
        bank.count[node],
        bank.value[node],
        bank.work[node],
    )


@inner
def copy_values(source, target):
    """Copy a row of values; an assignment of slices would make room for an overlap first."""
    for position in range(source.shape[0]):
        target[position] = source[position]


@kernel
def copy_node(source, target):
    """Copy a QP except its pivot counter; only the used part of the factor is moved."""
    n_active = source.count[N_ACTIVE]
    copy_values(source.multiplier, target.multiplier)
    copy_values(source.score, target.score)
    copy_values(source.vector, target.vector)
    for i in range(n_active):
        copy_values(source.basis[i], target.basis[i])
        target.active[i] = source.active[i]
        for j in range(i, n_active):
            target.factor[i, j] = source.factor[i, j]
    copy_values(source.status, target.status)
    copy_values(source.side, target.side)
    for i in range(source.count[N_ROWS]):
        target.rows[i] = source.rows[i]
    for position in (N_ACTIVE, N_ROWS, N_UPDATES, IS_SETTLED):
        target.count[position] = source.count[position]
    target.value[0] = source.value[0]


@inner
def clear_factor(qp):
    """Forget all active rows."""
    qp.count[N_ACTIVE] = 0
    qp.count[N_UPDATES] = 0


@inner
def coordinates_of(qp, row, sign, coordinates):
    """Coordinates of ``sign * row`` in the factor, and what is left of its squared length, roughly.

    The bias column is so long that the difference of squares has few digits.
    """
    left = 0.0
    for j in range(row.shape[0]):
        left += row[j] * row[j]
    for a in range(qp.count[N_ACTIVE]):
        along = 0.0
        for j in range(row.shape[0]):
            along += qp.basis[a, j] * row[j]
        coordinates[a] = sign * along
        left -= along * along
    return left


@inner
def project(qp, row, sign, coordinates, rest):
    """Split ``sign * row`` into coordinates in the factor and a rest, whose squared length returns.

    Done twice where the rest is so short beside the row, by the bias column, that one pass would
    leave more than rounding.
    """
    width, whole = row.shape[0], 0.0
    for j in range(width):
        rest[j] = sign * row[j]
        whole += row[j] * row[j]
    for a in range(qp.count[N_ACTIVE]):
        coordinates[a] = 0.0
    left = _leave(qp, coordinates, rest, width)
    if left < TWICE * whole:
        left = _leave(qp, coordinates, rest, width)
    return left


@inner
def _leave(qp, coordinates, rest, width):
    """Move what a rest has along the factor to its coordinates; squared length of what is left."""
    for a in range(qp.count[N_ACTIVE]):
        along = 0.0
        for j in range(width):
            along += qp.basis[a, j] * rest[j]
        coordinates[a] += along
        for j in range(width):
            rest[j] -= along * qp.basis[a, j]
    total = 0.0
    for j in range(width):
        total += rest[j] * rest[j]
    return total


@inner
def solve_triangle(qp, right, out):
    """Back substitution with the upper triangle."""
    for a in range(qp.count[N_ACTIVE] - 1, -1, -1):
        total = right[a]
        for b in range(a + 1, qp.count[N_ACTIVE]):
            total -= qp.factor[a, b] * out[b]
        out[a] = total / qp.factor[a, a]


@inner
def solve_transposed(qp, right, out):
    """Forward substitution with the transposed triangle."""
    for a in range(qp.count[N_ACTIVE]):
        total = right[a]
        for b in range(a):
            total -= qp.factor[b, a] * out[b]
        out[a] = total / qp.factor[a, a]


@inner
def _rotate_basis(qp, first, second, cosine, sine):
    for j in range(qp.basis.shape[1]):
        one, two = qp.basis[first, j], qp.basis[second, j]
        qp.basis[first, j] = cosine * one + sine * two
        qp.basis[second, j] = cosine * two - sine * one


@inner
def add_column(qp, coordinates, rest, length, row):
    """Append an active row of given coordinates, a multiple of its rest and the rest's length."""
    m, square = qp.count[N_ACTIVE], 0.0
    for j in range(qp.basis.shape[1]):
        square += rest[j] * rest[j]
    scale = np.copysign(1.0 / np.sqrt(square), length)
    for j in range(qp.basis.shape[1]):
        qp.basis[m, j] = scale * rest[j]
    for r in range(m):
        qp.factor[r, m] = coordinates[r]
    qp.factor[m, m] = abs(length)
    qp.active[m] = row
    qp.count[N_ACTIVE] = m + 1


@inner
def delete_column(qp, position):
    """Remove the active row at ``position`` and restore the triangle."""
    m = qp.count[N_ACTIVE] - 1
    for c in range(position, m):
        for r in range(c + 2):
            qp.factor[r, c] = qp.factor[r, c + 1]
        qp.active[c] = qp.active[c + 1]
    qp.count[N_ACTIVE] = m
    for c in range(position, m):
        top, low = qp.factor[c, c], qp.factor[c + 1, c]
        if low != 0.0:
            length = np.sqrt(top * top + low * low)
            cosine, sine = top / length, low / length
            for j in range(c, m):
                one, two = qp.factor[c, j], qp.factor[c + 1, j]
                qp.factor[c, j] = cosine * one + sine * two
                qp.factor[c + 1, j] = cosine * two - sine * one
            _rotate_basis(qp, c, c + 1, cosine, sine)


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
