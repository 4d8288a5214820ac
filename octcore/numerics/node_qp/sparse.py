"""Lower bound of a node QP under a feature budget, by branch and bound inside a kernel.

As `sparse_plane`, on the warm QP of the routing search: at any multipliers, forbidding feature j
raises the dual value by ``v_j^2 / 2``, so the dual value plus the cheapest way to forbid or to pay
for the features beyond the budget bounds all choices that are left. Depth first, features kept
before they are forbidden.
"""

import numpy as np

from octcore.numerics.node_qp.factor import allocating_kernel
from octcore.numerics.node_qp.rows import refactor
from octcore.numerics.node_qp.solver import solve_node

SLACK = 1e-7  # relative slack of comparisons, above the accuracy of a node value
# Pivots of one solve; beyond them its bound is valid but not yet the best.
_PIVOTS = np.int64(2_000)


@allocating_kernel
def mask_rows(rows, x, usable):
    """Rows with the features that may not be used set to zero."""
    for i in range(rows.shape[0]):
        for j in range(usable.shape[0]):
            rows[i, j] = x[i, j] if usable[j] else 0.0


@allocating_kernel
def budget_rest(vector, held, usable, slots, price):
    """Least price of bringing the free features down to ``slots``: forbid them or pay."""
    worth = np.zeros(held.shape[0])
    count = 0
    for j in range(held.shape[0]):
        if usable[j] and not held[j]:
            worth[count] = min(0.5 * vector[j] * vector[j], price)
            count += 1
    if count <= slots:
        return 0.0
    ordered = np.sort(worth[:count])
    total = 0.0
    for k in range(count - slots):
        total += ordered[k]
    return total


@allocating_kernel
def heaviest_free(vector, held, usable):
    """Free feature of largest weight and the number of free features."""
    best, chosen, count = -1.0, -1, 0
    for j in range(held.shape[0]):
        if usable[j] and not held[j]:
            count += 1
            if abs(vector[j]) > best:
                best, chosen = abs(vector[j]), j
    return chosen, count


@allocating_kernel
def sparse_bound(qp, data, x, kept, allowed, budget, price, cutoff, steps, chosen):
    """Bound of the node problem over all ways to respect the budget; at least ``cutoff`` if so.

    ``qp`` holds the rows of the node with any multipliers, ``data.x`` is overwritten by masked
    copies of ``x``, ``kept`` features are charged anyway, ``allowed`` ones may be used. The
    features of the best choice found are written to ``chosen``. After ``steps`` solves the bound
    of what is left counts, so that callers can poll.
    """
    p = kept.shape[0]
    held_of, usable_of = np.zeros((2 * p + 3, p), np.bool_), np.zeros((2 * p + 3, p), np.bool_)
    inherited = np.zeros(2 * p + 3)
    held_of[0], usable_of[0] = kept, allowed
    depth, best, lowest = 1, cutoff, np.inf
    chosen[:] = kept
    for _ in range(steps):
        if depth == 0:
            return lowest
        depth -= 1
        held, usable = held_of[depth].copy(), usable_of[depth].copy()
        # What is closed unsolved enters the answer by its bound, so that nothing is lost.
        if inherited[depth] >= best * (1.0 - SLACK):
            lowest = min(lowest, inherited[depth])
            continue
        mask_rows(data.x, x, usable)
        refactor(qp, data)
        used = 0
        for j in range(p):
            used += held[j]
        charge = (used - budget) * price if used > budget else 0.0
        solve_node(qp, data, best - charge, _PIVOTS)
        slots = max(0, budget - used)
        bound = qp.value[0] + charge + budget_rest(qp.vector, held, usable, slots, price)
        bound = max(bound, inherited[depth])
        feature, free = heaviest_free(qp.vector, held, usable)
        if bound >= best * (1.0 - SLACK):
            lowest = min(lowest, bound)
            continue
        if free <= slots:
            best, lowest = bound, min(lowest, bound)
            chosen[:] = usable
            continue
        held_of[depth], usable_of[depth], inherited[depth] = held, usable, bound
        usable_of[depth, feature] = False
        held_of[depth + 1], usable_of[depth + 1], inherited[depth + 1] = held, usable, bound
        held_of[depth + 1, feature] = True
        if price == np.inf and used + 1 >= budget:  # the budget is used up: no other feature
            usable_of[depth + 1] = held_of[depth + 1]
        depth += 2
    for position in range(depth):
        lowest = min(lowest, inherited[position])
    return lowest
