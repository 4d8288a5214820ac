"""State of the routing search: one node QP per branch node and a path prefix per sample.

A search state fixes, for every sample, how far down the tree its path is known. The sample is
charged at each node of that prefix and routed by all of them but the last. The sum of the node
QPs is a lower bound for all completions, at any dual value.
"""

from typing import Any, NamedTuple

import numpy as np

from octcore.numerics.node_qp.rows import (
    ABSENT,
    ACTIVE,
    AT_UPPER,
    IS_SETTLED,
    N_ACTIVE,
    NodeData,
    add_hinge,
    add_route,
    clear_node,
    copy_node,
    inner,
    kernel,
    refactor,
    row_upper,
    score_rest,
    view_of,
)
from octcore.numerics.node_qp.solver import CUTOFF, GAVE_UP, OPTIMAL, PIVOT_LIMIT, solve_node

# Pivots of one solve inside a kernel; beyond it the bound is valid but not yet the best.  A plain
# int would be a type of its own, and the solver compiled once more for it.
SOLVE_PIVOTS = np.int64(500)


class SearchData(NamedTuple):
    """Arrays shared by all states."""

    x: Any  # shape ``(n_layers, n_samples, width)``
    layer: Any  # layer of the rows that each node sees
    y: Any
    upper: Any  # shape ``(n_nodes, n_samples)``
    constants: Any  # as in `NodeData`
    products: Any  # as in `NodeData`; empty where nodes see different rows
    twin: Any  # the sample with equal features and the other label, or -1
    trail: Any
    """Samples moved since its first entry, their number, was set to 0 (as many as there is room
    for), and in its last entry the sample that has no side left where a state was pruned, or -1."""


@inner
def node_data(data, node):
    """Data of one node QP."""
    x, upper = data.x[data.layer[node]], data.upper[node]
    return NodeData(x, data.y, upper, data.constants, data.products)


@kernel
def lower_bound(bank):
    """Sum of the dual values."""
    total = 0.0
    for node in range(bank.value.shape[0]):
        total += bank.value[node, 0]
    return total


@kernel
def clear_bank(bank):
    """Empty QPs at every node."""
    for node in range(bank.value.shape[0]):
        clear_node(view_of(bank, node))


@inner
def charge_path(bank, sample, last):
    """Charge a sample at ``last`` and all its ancestors and route it by the ancestors."""
    add_hinge(view_of(bank, last), sample)
    while last > 0:
        parent = (last - 1) // 2
        qp = view_of(bank, parent)
        add_hinge(qp, sample)
        add_route(qp, sample, -1 if last % 2 == 1 else 1)
        last = parent


@kernel
def restart_node(bank, prefix, node):
    """Empty one QP and load the rows that the prefixes give it."""
    qp = view_of(bank, node)
    clear_node(qp)
    for sample in range(prefix.shape[0]):
        last = prefix[sample]
        side = 0
        while last > node:
            side = -1 if last % 2 == 1 else 1
            last = (last - 1) // 2
        if last == node:
            add_hinge(qp, sample)
            if side != 0:
                add_route(qp, sample, side)


@kernel
def extend_path(bank, data, prefix, sample, side):
    """Send a sample, and the sample with equal features, one step down."""
    parent = prefix[sample]
    child = 2 * parent + (2 if side > 0 else 1)
    if data.trail[0] + 2 < data.trail.shape[0]:
        data.trail[0] += 1
        data.trail[data.trail[0]] = sample
    for moved in (sample, data.twin[sample]):
        if moved >= 0:
            prefix[moved] = child
            add_hinge(view_of(bank, child), moved)
            add_route(view_of(bank, parent), moved, side)


@kernel
def solve_chunk(bank, data, node, cutoff, pivots):
    """Some pivots on one node and the scores of all samples; nothing where no row is new."""
    qp = view_of(bank, node)
    if qp.count[IS_SETTLED] == 1:
        return CUTOFF if qp.value[0] >= cutoff else OPTIMAL
    own = node_data(data, node)
    code = solve_node(qp, own, cutoff, pivots)
    if code != CUTOFF:
        score_rest(qp, own)
    return code


@kernel
def solve_bank(bank, data, cutoff):
    """Re-solve every node that has new rows; False when the bound reaches the cutoff."""
    total = lower_bound(bank)
    for node in range(bank.value.shape[0]):
        rest = total - bank.value[node, 0]
        code = solve_chunk(bank, data, node, cutoff - rest, SOLVE_PIVOTS)
        total = rest + bank.value[node, 0]
        if code == CUTOFF:
            return False
    return True


@kernel
def start_evaluation(bank, warm, routing):
    """QPs of a complete routing, on top of the QPs of a state that it completes."""
    for node in range(bank.value.shape[0]):
        copy_node(view_of(warm, node), view_of(bank, node))
    for sample in range(routing.shape[0]):
        charge_path(bank, sample, routing[sample])


@kernel
def solve_all_chunks(bank, data, pivots):
    """Some pivots on every node; PIVOT_LIMIT if one needs more, else GAVE_UP if rounding won."""
    worst = OPTIMAL
    for node in range(bank.value.shape[0]):
        code = solve_chunk(bank, data, node, np.inf, pivots)
        if code == PIVOT_LIMIT or (code == GAVE_UP and worst == OPTIMAL):
            worst = code
    return worst


@inner
def side_of(score, epsilon):
    """Side on which a plane puts a sample; the strip is cut in the middle."""
    return -1 if score < -0.5 * epsilon else 1


@kernel
def route_by_planes(bank, data, routing, n_upper):
    """Complete every prefix in ``routing`` by the current planes, down to last-level nodes."""
    for sample in range(routing.shape[0]):
        node = routing[sample]
        while node < n_upper:
            side = side_of(bank.score[node, sample], data.constants[0])
            node = 2 * node + (2 if side > 0 else 1)
        routing[sample] = node


@kernel
def pack(bank, packed):
    """Store the row statuses, four per byte."""
    n_rows = bank.status.shape[1]
    for node in range(bank.status.shape[0]):
        packed[node, :] = 0
        for row in range(n_rows):
            packed[node, row // 4] |= np.uint8(bank.status[node, row] << (2 * (row % 4)))


@inner
def restore_row(qp, own, row, status):
    """Give a row the status that was stored; `refactor` then solves for the active ones."""
    if status != ABSENT:
        qp.status[row] = status
    if status == AT_UPPER:
        qp.multiplier[row] = row_upper(own, row)
    elif status == ACTIVE:
        qp.active[qp.count[N_ACTIVE]] = row
        qp.count[N_ACTIVE] += 1


@inner
def restore_rows(qp, own, packed):
    """Give the rows of a QP the statuses that were stored, and solve for the active ones."""
    for row in range(qp.status.shape[0]):
        restore_row(qp, own, row, (packed[row // 4] >> (2 * (row % 4))) & 3)
    refactor(qp, own)


@kernel
def unpack(bank, data, prefix, packed):
    """Restore the QPs of a stored state (statuses decide the multipliers).

    Rows of the prefix that were absent when the statuses were stored start at zero; samples
    without a prefix (-1) have no rows.
    """
    clear_bank(bank)
    for sample in range(prefix.shape[0]):
        if prefix[sample] >= 0:
            charge_path(bank, sample, prefix[sample])
    for node in range(bank.status.shape[0]):
        restore_rows(view_of(bank, node), node_data(data, node), packed[node])
