"""Givens-updated QR factor of the active rows of one node QP, and the arrays that hold a QP.

The columns of the factored matrix are the signed rows ``sign_k * x_k`` that are active (neither
at a bound nor absent). ``basis`` keeps the orthogonal factor, one *column* per array row, and
``factor`` the upper triangle. Rotations are used instead of an inverse Gram matrix because the
latter drifts, and a drifted factor makes dual values look better than they are.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from octcore import kernels

# Status of a row in a node QP.
ABSENT, AT_ZERO, AT_UPPER, ACTIVE = 0, 1, 2, 3
# Positions in `NodeQp.count`.
N_ACTIVE, N_ROWS, N_UPDATES, N_PIVOTS = 0, 1, 2, 3
# Last position: 1 while value and plane are an optimum of the rows that the QP has.
IS_SETTLED = 4
# Squared length below which a row counts as dependent on the active ones.
DEPENDENT = 1e-12

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


class NodeData(NamedTuple):
    """What one node QP is about; all arrays are shared between nodes and never written."""

    x: Any
    """Centred rows, the bias scale in column ``n_dims - 1``, zeros up to the width."""
    y: Any
    """-1 or +1."""
    upper: Any
    """Penalty of each sample at this node."""
    constants: Any
    """The strip epsilon left of the plane that routing rows must keep free; an offset that is part
    of every score (the bias around which the bias penalty is centred); the violation of a row
    that counts as none."""


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
    """Copy a QP except its pivot counter; only the used part of the triangle is moved."""
    n_active = source.count[N_ACTIVE]
    copy_values(source.multiplier, target.multiplier)
    copy_values(source.score, target.score)
    copy_values(source.vector, target.vector)
    for c in range(source.basis.shape[0]):
        copy_values(source.basis[c], target.basis[c])
    for i in range(n_active):
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
    qp.basis[:] = 0.0
    for j in range(qp.basis.shape[0]):
        qp.basis[j, j] = 1.0
    qp.count[N_ACTIVE] = 0
    qp.count[N_UPDATES] = 0


@inner
def rotate_into(qp, row, sign, out):
    """Coordinates of ``sign * row`` in the orthogonal factor."""
    for c in range(qp.basis.shape[0]):
        total = 0.0
        for j in range(row.shape[0]):
            total += qp.basis[c, j] * row[j]
        out[c] = sign * total


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
def add_column(qp, coordinates, row):
    """Append an active row whose coordinates came from `rotate_into` (they are overwritten)."""
    m = qp.count[N_ACTIVE]
    for c in range(qp.basis.shape[0] - 1, m, -1):
        if coordinates[c] != 0.0:
            length = np.sqrt(coordinates[c - 1] ** 2 + coordinates[c] ** 2)
            cosine, sine = coordinates[c - 1] / length, coordinates[c] / length
            coordinates[c - 1] = length
            coordinates[c] = 0.0
            _rotate_basis(qp, c - 1, c, cosine, sine)
    for r in range(m + 1):
        qp.factor[r, m] = coordinates[r]
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
