"""Choosing the sample to branch on: one-step gains, strong branching, fixing, pseudo-costs.

Branching sends a free sample left or right at the deepest node of its prefix. Candidates are
free samples that pay at the leaf where the current planes route them, or lie in the forbidden
strip; without candidates the relaxed solution is a tree.
"""

from typing import Any, NamedTuple

import numpy as np

from octcore.numerics.node_qp.rows import (
    DEPENDENT,
    N_ACTIVE,
    NodeQp,
    add_hinge,
    add_route,
    coordinates_of,
    copy_node,
    copy_values,
    inner,
    kernel,
    new_bank,
    part,
    refresh,
    row_upper,
    solve_triangle,
    view_of,
)
from octcore.numerics.node_qp.solver import estimate_node
from octcore.search.margot.state import extend_path, lower_bound, node_data, side_of, solve_bank

PRUNED, BRANCH, COMPLETE, AGAIN = 0, 1, 2, 3
# Samples tried by strong branching, fruitless trials before it stops, pivots per trial, and those
# spent to confirm that a one-step gain reaches the cutoff.  A plain int handed to a kernel would
# be a type of its own, and everything below it compiled once more for every value.
_STRONG, PATIENCE = 8, 5
STRONG_PIVOTS, CONFIRM_PIVOTS = np.int64(15), np.int64(40)
# Scores as far inside the strip count as in it: twice what the node QPs accept, so that no routed
# row does.
STRIP_MARGIN = 2e-6


class Desk(NamedTuple):
    """What a search writes on while it chooses a branching."""

    trial: NodeQp  # QPs of a child and a parent
    rating: Any  # by candidate: gains of both sides, second ranking and sample
    shortlist: Any  # samples that strong branching tries
    pseudo: Any  # by sample: gains of both sides so far, and how many
    choice: Any  # sample and cheaper side


def new_desk(n_samples: int, n_dims: int, width: int) -> Desk:
    """Arrays for a search on so many samples."""
    return Desk(
        trial=new_bank(2, n_samples, n_dims, width),
        rating=np.zeros((4, n_samples)),
        shortlist=np.zeros(_STRONG, np.int64),
        pseudo=np.zeros((4, n_samples)),
        choice=np.zeros(2, np.int64),
    )


@inner
def _payment(bank, data, sample, node, n_upper):
    """Hinge losses below ``node`` on the way of the current planes; -1 marks the strip."""
    epsilon = data.constants[0]
    paid = 0.0
    while node < n_upper:
        score = bank.score[node, sample]
        if -epsilon + STRIP_MARGIN < score < -STRIP_MARGIN:
            return -1.0
        node = 2 * node + (2 if side_of(score, epsilon) > 0 else 1)
        hinge = 1.0 - data.y[sample] * bank.score[node, sample]
        if hinge > 0.0:
            paid += data.upper[node, sample] * hinge
    return paid


@inner
def one_step(qp, own, sample, sign, target, upper):
    """Dual gain of the first step that brings in a row, roughly."""
    violation = target - sign * qp.score[sample]
    if violation <= own.constants[2]:
        return 0.0
    coordinates, solution = qp.work[0], qp.work[1]
    curvature = coordinates_of(qp, own.x[sample], sign, coordinates)
    solve_triangle(qp, coordinates, solution)
    step = upper
    for a in range(qp.count[N_ACTIVE]):
        other = qp.active[a]
        if solution[a] > 1e-12:
            step = min(step, qp.multiplier[other] / solution[a])
        elif solution[a] < -1e-12:
            step = min(step, (row_upper(own, other) - qp.multiplier[other]) / -solution[a])
    if curvature > DEPENDENT:
        step = min(step, violation / curvature)
    if step == np.inf:  # the dual grows without end: beside the active rows no plane takes it
        return 1e300
    return step * violation - 0.5 * step * step * curvature


@inner
def _step_gain(child_qp, child, parent_qp, parent, sample, side):
    """One-step gain of sending a sample to a side: hinge below plus routing row here."""
    gain = one_step(child_qp, child, sample, child.y[sample], 1.0, child.upper[sample])
    target = parent.constants[0] if side < 0 else 0.0
    return gain + one_step(parent_qp, parent, sample, float(side), target, np.inf)


@inner
def route_gain(qp, copy, own, sample, side, room, pivots):
    """Gain of routing a sample by a plane after some pivots on a copy; a bound if ``room``."""
    target = own.constants[0] if side < 0 else 0.0
    if target - side * qp.score[sample] <= own.constants[2]:
        return 0.0
    copy_node(qp, copy)
    add_route(copy, sample, side)
    estimate_node(copy, own, qp.value[0] + room, pivots)
    return max(0.0, copy.value[0] - qp.value[0])


@kernel
def trial_gain(bank, trial, data, prefix, sample, side, room, pivots):
    """Gain of sending a sample to a side after some pivots on copies of the two nodes."""
    parent = prefix[sample]
    child = 2 * parent + (2 if side > 0 else 1)
    below, above = 0.0, 0.0
    child_qp, child_copy = view_of(bank, child), view_of(trial, 0)
    is_below = 1.0 - data.y[sample] * child_qp.score[sample] > data.constants[2]
    if is_below:
        copy_node(child_qp, child_copy)
        add_hinge(child_copy, sample)
        own = node_data(data, child)
        estimate_node(child_copy, own, child_qp.value[0] + room, pivots)
        below = max(0.0, child_copy.value[0] - child_qp.value[0])
    if below < room:
        qp, own = view_of(bank, parent), node_data(data, parent)
        above = route_gain(qp, view_of(trial, 1), own, sample, side, room - below, pivots)
        if below + above >= room and is_below:
            # what prunes must be a bound: the parent's value was recomputed, the child's was not
            refresh(child_copy, node_data(data, child))
            below = max(0.0, child_copy.value[0] - child_qp.value[0])
    return below + above


@inner
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


@part
def _rate_candidates(bank, data, prefix, desk, n_upper, cutoff, ignored):
    """Rate all candidates, fixing samples one side of which reaches the cutoff.

    Returns the number of candidates, -1 when the state is pruned, -2 when samples were fixed.
    """
    room = cutoff - lower_bound(bank)
    pseudo, rating = desk.pseudo, desk.rating
    found, fixed = 0, False
    for parent in range(n_upper):
        # One set of views per parent: making them costs more than a step on a small node.
        nodes = (view_of(bank, 2 * parent + 1), view_of(bank, 2 * parent + 2))
        owns = (node_data(data, 2 * parent + 1), node_data(data, 2 * parent + 2))
        qp, own = view_of(bank, parent), node_data(data, parent)
        for sample in range(prefix.shape[0]):
            if prefix[sample] != parent:
                continue
            paid = _payment(bank, data, sample, parent, n_upper)
            if 0.0 <= paid <= ignored:
                continue  # all together less than a tenth of the gap
            closed = 0
            for which in range(2):
                gain = _step_gain(nodes[which], owns[which], qp, own, sample, 2 * which - 1)
                # First steps are estimates: what closes a side is a bound after some pivots.
                if gain >= room:
                    side = 2 * which - 1
                    pivots = CONFIRM_PIVOTS
                    gain = trial_gain(bank, desk.trial, data, prefix, sample, side, room, pivots)
                    if gain >= room:
                        closed += 1 if which == 0 else 2
                if pseudo[2 + which, sample] > 0.0:
                    gain = max(gain, pseudo[which, sample] / pseudo[2 + which, sample])
                rating[which, found] = min(gain, room)
            if closed == 3:  # the sample has to go somewhere
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


@inner
def shortlist_candidates(rating, found, room, shortlist):
    """Samples to try: the best of both rankings in turn, without repeats; -1 ends them."""
    for candidate in range(found):
        product = (rating[0, candidate] + 1e-4 * room) * (rating[1, candidate] + 1e-4 * room)
        rating[0, candidate] = product
    shortlist[:] = -1
    for size in range(min(found, shortlist.shape[0])):
        ranking = rating[0] if size % 2 == 0 else rating[2]
        best, chosen = -1.0, 0
        for candidate in range(found):
            if ranking[candidate] > best and rating[3, candidate] >= 0.0:
                best, chosen = ranking[candidate], candidate
        shortlist[size] = np.int64(rating[3, chosen])
        rating[3, chosen] = -1.0


@part
def _strong_branch(bank, data, prefix, desk, cutoff):
    """Try the shortlist, fixing samples on the way; PRUNED, BRANCH or AGAIN (all were fixed)."""
    best, idle = -1.0, 0
    level = prefix[desk.shortlist[0]]
    for position in range(desk.shortlist.shape[0]):
        sample = desk.shortlist[position]
        if sample < 0 or idle >= PATIENCE:
            break
        if prefix[sample] >= bank.value.shape[0] // 2:  # its twin took it along
            continue
        room = cutoff - lower_bound(bank)
        left, right = 0.0, 0.0
        for which in range(2):
            side = 2 * which - 1
            gain = trial_gain(bank, desk.trial, data, prefix, sample, side, room, STRONG_PIVOTS)
            left, right = right, min(gain, room)
            desk.pseudo[which, sample] += right
            desk.pseudo[2 + which, sample] += 1.0
        if left >= room and right >= room:
            data.trail[data.trail.shape[0] - 1] = sample
            return PRUNED
        if left >= room or right >= room:
            extend_path(bank, data, prefix, sample, 1 if left >= room else -1)
            if not solve_bank(bank, data, cutoff):
                return PRUNED
            continue
        # A ten-thousandth of the room, so that products tell sides without any gain apart.
        score = (left + 1e-4 * room) * (right + 1e-4 * room)
        if score > best * 1.0001:  # ties of rounding stay with the first one
            best, idle = score, 0
            desk.choice[0], desk.choice[1] = sample, -1 if left < right else 1
            level = prefix[sample]
        else:
            idle += 1
    return BRANCH if best >= 0.0 and prefix[desk.choice[0]] == level else AGAIN


@kernel
def process(bank, data, prefix, desk, n_upper, cutoff, ignored, rounds):
    """Fix what can be fixed and choose a branching, in ``desk.choice``.

    AGAIN is returned after ``rounds`` rounds of fixing, so that the caller can poll.
    """
    for _ in range(rounds):
        if lower_bound(bank) >= cutoff:
            return PRUNED
        found = _rate_candidates(bank, data, prefix, desk, n_upper, cutoff, ignored)
        if found == -1:
            return PRUNED
        if found == 0:
            return COMPLETE
        if found > 0:
            shortlist_candidates(desk.rating, found, cutoff - lower_bound(bank), desk.shortlist)
            code = _strong_branch(bank, data, prefix, desk, cutoff)
            if code != AGAIN:
                return code
        elif not solve_bank(bank, data, cutoff):
            return PRUNED
    return AGAIN


@kernel
def branch(bank, pair, data, prefix, cutoff, choice, far_prefix):
    """Split a state: ``bank`` becomes the near side, ``pair`` the far one.

    Returns the bound of the far side (infinity when pruned) and whether the near side lives.
    """
    sample, side = choice[0], choice[1]
    for node in range(bank.value.shape[0]):
        copy_node(view_of(bank, node), view_of(pair, node))
    copy_values(prefix, far_prefix)
    extend_path(pair, data, far_prefix, sample, -side)
    before = lower_bound(bank)
    bound = np.inf
    if solve_bank(pair, data, cutoff):
        bound = max(before, lower_bound(pair))
    extend_path(bank, data, prefix, sample, side)
    return bound, solve_bank(bank, data, cutoff)
