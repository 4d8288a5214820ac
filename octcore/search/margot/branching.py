"""Choosing the sample to branch on: one-step gains, strong branching, fixing, pseudo-costs.

Branching sends a free sample left or right at the deepest node of its prefix. Candidates are
free samples that pay at the leaf where the current planes route them, or lie in the forbidden
strip; without candidates the relaxed solution is a tree.
"""

from __future__ import annotations

import numpy as np

from octcore.numerics.node_qp.factor import (
    DEPENDENT,
    N_ACTIVE,
    copy_node,
    kernel,
    node_of,
    rotate_into,
    solve_triangle,
)
from octcore.numerics.node_qp.rows import add_hinge, add_route, row_upper
from octcore.numerics.node_qp.solver import solve_node
from octcore.search.margot.state import (
    extend_path,
    lower_bound,
    node_data,
    pack,
    side_of,
    solve_bank,
)

PRUNED, BRANCH, COMPLETE, AGAIN = 0, 1, 2, 3
# Samples tried by strong branching, fruitless trials before it stops, pivots per trial, and those
# spent to confirm that a one-step gain reaches the cutoff.  A plain int handed to a kernel would
# be a type of its own, and everything below it compiled once more for every value.
_STRONG, _PATIENCE = 8, 5
_STRONG_PIVOTS, _CONFIRM_PIVOTS = np.int64(15), np.int64(40)
_STRIP_MARGIN = 2e-6


@kernel
def _payment(bank, data, sample, node, n_upper):
    """Hinge losses below ``node`` on the way of the current planes; -1 marks the strip."""
    epsilon = data.constants[0]
    paid = 0.0
    while node < n_upper:
        score = bank.score[node, sample]
        if -epsilon + _STRIP_MARGIN < score < -_STRIP_MARGIN:
            return -1.0
        node = 2 * node + (2 if side_of(score, epsilon) > 0 else 1)
        hinge = 1.0 - data.y[sample] * bank.score[node, sample]
        if hinge > 0.0:
            paid += data.upper[node, sample] * hinge
    return paid


@kernel
def _one_step(qp, own, row, sample, sign, target, upper):
    """Dual gain of the first step that brings in a row."""
    violation = target - sign * qp.score[sample]
    if violation <= own.constants[2]:
        return 0.0
    coordinates, solution = qp.work[0], qp.work[1]
    rotate_into(qp, own.x[sample], sign, coordinates)
    solve_triangle(qp, coordinates, solution)
    curvature = 0.0
    for c in range(qp.count[N_ACTIVE], qp.basis.shape[0]):
        curvature += coordinates[c] * coordinates[c]
    step = upper
    for a in range(qp.count[N_ACTIVE]):
        other = qp.active[a]
        if solution[a] > 1e-12:
            step = min(step, qp.multiplier[other] / solution[a])
        elif solution[a] < -1e-12:
            step = min(step, (row_upper(own, other) - qp.multiplier[other]) / -solution[a])
    if curvature > DEPENDENT:
        step = min(step, violation / curvature)
    if step == np.inf:
        return 1e300
    return step * violation - 0.5 * step * step * curvature


@kernel
def _step_gain(child_qp, child, parent_qp, parent, sample, side):
    """One-step gain of sending a sample to a side: hinge below plus routing row here."""
    gain = _one_step(child_qp, child, sample, sample, child.y[sample], 1.0, child.upper[sample])
    target = parent.constants[0] if side < 0 else 0.0
    row = parent.y.shape[0] + sample
    return gain + _one_step(parent_qp, parent, row, sample, float(side), target, np.inf)


@kernel
def trial_gain(bank, trial, data, prefix, sample, side, room, pivots):
    """Gain of sending a sample to a side after some pivots on copies of the two nodes."""
    parent = prefix[sample]
    child = 2 * parent + (2 if side > 0 else 1)
    copy = node_of(trial, 0)
    gain = 0.0
    qp = node_of(bank, child)
    if 1.0 - data.y[sample] * qp.score[sample] > data.constants[2]:
        copy_node(qp, copy)
        add_hinge(copy, sample)
        solve_node(copy, node_data(data, child), qp.value[0] + room, pivots)
        gain = max(0.0, copy.value[0] - qp.value[0])
    qp = node_of(bank, parent)
    target = data.constants[0] if side < 0 else 0.0
    if gain < room and target - side * qp.score[sample] > data.constants[2]:
        copy_node(qp, copy)
        add_route(copy, sample, side)
        solve_node(copy, node_data(data, parent), qp.value[0] + room - gain, pivots)
        gain += max(0.0, copy.value[0] - qp.value[0])
    return gain


@kernel
def _hinge_product(bank, data, prefix, sample):
    """Second ranking: what the sample pays below on either side, and its distance here."""
    parent = prefix[sample]
    score = bank.score[parent, sample]
    near = 2 * parent + (2 if score >= 0.0 else 1)
    far = 2 * parent + (1 if score >= 0.0 else 2)
    y = data.y[sample]
    paid_near = data.upper[near, sample] * max(0.0, 1.0 - y * bank.score[near, sample])
    paid_far = data.upper[far, sample] * max(0.0, 1.0 - y * bank.score[far, sample])
    return (paid_near + 1e-4) * (paid_far + 0.5 * score * score + 1e-4)


@kernel
def _rate_candidates(bank, trial, data, prefix, n_upper, cutoff, ignored, pseudo, rating):
    """Rate all candidates, fixing samples one side of which reaches the cutoff.

    Returns the number of candidates, -1 when the state is pruned, -2 when samples were fixed.
    """
    room = cutoff - lower_bound(bank)
    found, fixed = 0, False
    for parent in range(n_upper):
        # One set of views per parent: making them costs more than a step on a small node.
        nodes = (node_of(bank, 2 * parent + 1), node_of(bank, 2 * parent + 2))
        owns = (node_data(data, 2 * parent + 1), node_data(data, 2 * parent + 2))
        qp, own = node_of(bank, parent), node_data(data, parent)
        for sample in range(prefix.shape[0]):
            if prefix[sample] != parent:
                continue
            paid = _payment(bank, data, sample, parent, n_upper)
            if 0.0 <= paid <= ignored:
                continue
            closed = 0
            for which in range(2):
                gain = _step_gain(nodes[which], owns[which], qp, own, sample, 2 * which - 1)
                if gain >= room:
                    side = 2 * which - 1
                    pivots = _CONFIRM_PIVOTS
                    gain = trial_gain(bank, trial, data, prefix, sample, side, room, pivots)
                    if gain >= room:
                        closed += 1 if which == 0 else 2
                if pseudo[2 + which, sample] > 0.0:
                    gain = max(gain, pseudo[which, sample] / pseudo[2 + which, sample])
                rating[which, found] = min(gain, room)
            if closed == 3:
                data.trail[data.trail.shape[0] - 1] = sample
                return -1
            if closed > 0:
                extend_path(bank, data, prefix, sample, 1 if closed == 1 else -1)
                fixed = True
                continue
            rating[2, found] = _hinge_product(bank, data, prefix, sample)
            rating[3, found] = sample
            found += 1
    return -2 if fixed else found


@kernel
def _shortlist(rating, found, room):
    """Samples to try: the best of both rankings in turn, without repeats."""
    product = (rating[0, :found] + 1e-4 * room) * (rating[1, :found] + 1e-4 * room)
    by_gain = np.argsort(-product)
    by_hinge = np.argsort(-rating[2, :found])
    chosen = np.full(_STRONG, -1, np.int64)
    size = 0
    for rank in range(found):
        for position in (by_gain[rank], by_hinge[rank]):
            sample = np.int64(rating[3, position])
            repeated = False
            for other in range(size):
                repeated = repeated or chosen[other] == sample
            if not repeated:
                chosen[size] = sample
                size += 1
                if size == _STRONG:
                    return chosen
    return chosen


@kernel
def _strong_branch(bank, trial, data, prefix, cutoff, pseudo, shortlist, choice):
    """Try the shortlist, fixing samples on the way; PRUNED, BRANCH or AGAIN (all were fixed)."""
    best, idle = -1.0, 0
    level = prefix[shortlist[0]]
    for sample in shortlist:
        if sample < 0 or idle >= _PATIENCE:
            break
        if prefix[sample] >= bank.value.shape[0] // 2:
            continue
        room = cutoff - lower_bound(bank)
        gains = np.zeros(2)
        first = 0 if bank.score[prefix[sample], sample] < 0.0 else 1
        for which in (first, 1 - first):
            gain = trial_gain(
                bank, trial, data, prefix, sample, 2 * which - 1, room, _STRONG_PIVOTS
            )
            gains[which] = min(gain, room)
            pseudo[which, sample] += min(gain, room)
            pseudo[2 + which, sample] += 1.0
        if gains[0] >= room and gains[1] >= room:
            data.trail[data.trail.shape[0] - 1] = sample
            return PRUNED
        if gains[0] >= room or gains[1] >= room:
            extend_path(bank, data, prefix, sample, 1 if gains[0] >= room else -1)
            if not solve_bank(bank, data, cutoff):
                return PRUNED
            continue
        score = (gains[0] + 1e-4 * room) * (gains[1] + 1e-4 * room)
        if score > best * 1.0001:
            best, idle = score, 0
            choice[0], choice[1] = sample, -1 if gains[0] < gains[1] else 1
            level = prefix[sample]
        else:
            idle += 1
    return BRANCH if best >= 0.0 and prefix[choice[0]] == level else AGAIN


@kernel
def process(bank, trial, data, prefix, n_upper, cutoff, ignored, pseudo, choice, rounds):
    """Fix what can be fixed and choose a branching (``choice`` = sample, cheaper side).

    AGAIN is returned after ``rounds`` rounds of fixing, so that the caller can poll.
    """
    rating = np.empty((4, prefix.shape[0]))
    for _ in range(rounds):
        if lower_bound(bank) >= cutoff:
            return PRUNED
        found = _rate_candidates(
            bank, trial, data, prefix, n_upper, cutoff, ignored, pseudo, rating
        )
        if found == -1:
            return PRUNED
        if found == 0:
            return COMPLETE
        if found > 0:
            shortlist = _shortlist(rating, found, cutoff - lower_bound(bank))
            code = _strong_branch(bank, trial, data, prefix, cutoff, pseudo, shortlist, choice)
            if code != AGAIN:
                return code
        elif not solve_bank(bank, data, cutoff):
            return PRUNED
    return AGAIN


@kernel
def branch(bank, pair, data, prefix, cutoff, choice, far_prefix, far_packed):
    """Split a state: the far side is packed, ``bank`` becomes the near side.

    Returns the bound of the far side (infinity when pruned) and whether the near side lives.
    """
    sample, side = choice[0], choice[1]
    for node in range(bank.value.shape[0]):
        copy_node(node_of(bank, node), node_of(pair, node))
    far_prefix[:] = prefix
    extend_path(pair, data, far_prefix, sample, -side)
    before = lower_bound(bank)
    bound = np.inf
    if solve_bank(pair, data, cutoff):
        bound = max(before, lower_bound(pair))
        pack(pair, far_packed)
    extend_path(bank, data, prefix, sample, side)
    return bound, solve_bank(bank, data, cutoff)
