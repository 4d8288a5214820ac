"""Branching on the rows at the root, for the search that treats the trees below it by themselves.

The root has a QP of its own; the planes below it are those of one open state for either side.
"""

import numpy as np

from octcore.numerics.node_qp.rows import add_route, inner, kernel, part, view_of
from octcore.search.margot.branching import (
    CONFIRM_PIVOTS,
    PATIENCE,
    STRIP_MARGIN,
    one_step,
    route_gain,
    shortlist_candidates,
)
from octcore.search.margot.state import node_data, restart_node, restore_rows, side_of

# Pivots of a trial at the root.  All rows are charged there, so that a few pivots show little of
# what a side costs, and a poor choice doubles the states.
_ROOT_PIVOTS = np.int64(200)
# Share of the room that a side is taken to gain anyway: a row whose one side gains next to nothing
# is not the worse for it by orders of magnitude.
_ANYWAY = 0.005


@kernel
def restore_root(root, data, prefix, packed):
    """Restore the QP of the root; rows that go to either side have prefix 1 or 2."""
    restart_node(root, prefix, 0)
    restore_rows(view_of(root, 0), node_data(data, 0), packed[0])


@kernel
def send(root, data, prefix, sample, side):
    """Send a sample, and the sample with equal features, to one side of the root."""
    for moved in (sample, data.twin[sample]):
        if moved >= 0:
            prefix[moved] = 1 if side < 0 else 2
            add_route(view_of(root, 0), moved, side)


@inner
def route_below(bank, data, sample, node):
    """Last node on the way of a sample by the planes, what it pays, or -1 for the strip."""
    epsilon = data.constants[0]
    n_upper = bank.value.shape[0] // 2
    paid, strip = 0.0, False
    while True:
        score = bank.score[node, sample]
        paid += data.upper[node, sample] * max(0.0, 1.0 - data.y[sample] * score)
        if node >= n_upper:
            return node, (-1.0 if strip else paid)
        if -epsilon + STRIP_MARGIN < score < -STRIP_MARGIN:
            strip = True
        node = 2 * node + (2 if side_of(score, epsilon) > 0 else 1)


@inner
def _gain_below(bank, data, sample):
    """First steps of a sample's losses at the top of the tree below and at one of its children."""
    top, least = 0.0, np.inf
    for node in range(3):
        own, upper = node_data(data, node), data.upper[node, sample]
        gain = one_step(view_of(bank, node), own, sample, data.y[sample], 1.0, upper)
        if node == 0:
            top = gain
        else:
            least = min(least, gain)
    return top + least


@part
def _rate_root(root, left, right, data, below, prefix, desk, room, ignored):
    """Rate the samples that are free at the root, sending those with one side left there.

    Returns the number of candidates, -1 when the state is pruned, -2 when samples were sent.
    """
    rating, own = desk.rating, node_data(data, 0)
    qp, copy = view_of(root, 0), view_of(desk.trial, 0)
    epsilon, found, sent = data.constants[0], 0, False
    for sample in range(prefix.shape[0]):
        if prefix[sample] != 0:
            continue
        score = qp.score[sample]
        paid = -1.0
        if not -epsilon + STRIP_MARGIN < score < -STRIP_MARGIN:
            bank = right if side_of(score, epsilon) > 0 else left
            paid = route_below(bank, below, sample, np.int64(0))[1]
        if 0.0 <= paid <= ignored:
            continue
        closed = 0
        for which in range(2):
            side = 2 * which - 1
            target = epsilon if side < 0 else 0.0
            gain = one_step(qp, own, sample, float(side), target, np.inf)
            if gain >= room:  # an estimate; a side is closed by a bound alone
                gain = route_gain(qp, copy, own, sample, side, room, CONFIRM_PIVOTS)
                if gain >= room:
                    closed += 1 + which
            gain += _gain_below(right if which == 1 else left, below, sample)
            rating[which, found] = min(gain, room)
        if closed == 3:
            return -1
        if closed > 0:
            send(root, data, prefix, sample, 1 if closed == 1 else -1)
            sent = True
            continue
        rating[2, found] = (rating[0, found] + 1e-4) * (rating[1, found] + 0.5 * score**2 + 1e-4)
        rating[3, found] = sample
        found += 1
    return -2 if sent else found


@part
def _choose_root_row(root, left, right, data, below, desk, found, room):
    """Try the best candidates at the root; sample and cheaper side go to ``desk.choice``."""
    shortlist_candidates(desk.rating, found, room, desk.shortlist)
    qp, copy, own = view_of(root, 0), view_of(desk.trial, 0), node_data(data, 0)
    best, idle = -1.0, 0
    for position in range(desk.shortlist.shape[0]):
        sample = desk.shortlist[position]
        if sample < 0 or idle >= PATIENCE:
            break
        one, two = 0.0, 0.0
        for which in range(2):
            gain = route_gain(qp, copy, own, sample, 2 * which - 1, room, _ROOT_PIVOTS)
            gain += _gain_below(right if which == 1 else left, below, sample)
            one, two = two, min(room, gain)
        score = (one + _ANYWAY * room) * (two + _ANYWAY * room)
        if score > best * 1.0001:
            best, idle = score, 0
            desk.choice[0], desk.choice[1] = sample, -1 if one < two else 1
        else:
            idle += 1


@kernel
def choose_root(root, left, right, data, below, prefix, desk, room, ignored):
    """Rate the samples that are free at the root and choose one, with the cheaper side.

    Returns what `_rate_root` does; without candidates nothing is chosen.
    """
    found = _rate_root(root, left, right, data, below, prefix, desk, room, ignored)
    if found > 0:
        _choose_root_row(root, left, right, data, below, desk, found, room)
    return found


@kernel
def complete_routing(root, left, right, data, below, prefix, left_prefix, right_prefix, routing):
    """Last-level node of every sample by its prefixes and, from where they end, by the planes."""
    epsilon = data.constants[0]
    for sample in range(prefix.shape[0]):
        side = prefix[sample]
        if side == 0:
            side = 2 if side_of(view_of(root, 0).score[sample], epsilon) > 0 else 1
        node = max(left_prefix[sample] if side == 1 else right_prefix[sample], 0)
        node = route_below(left if side == 1 else right, below, sample, node)[0]
        row = 1
        while 2 * row <= node + 1:
            row *= 2
        routing[sample] = node + row if side == 1 else node + 2 * row
