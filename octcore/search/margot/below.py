"""Open states of the search for a tree below the root, worked on inside one kernel.

They are short: a state of the root has sent few samples to either side, and only these have a node
and statuses in a state below.  The samples are listed in the order in which they joined; a state
that was stored with fewer of them has the others free at the top.
"""

from typing import Any, NamedTuple

import numpy as np

from octcore.numerics.node_qp.rows import copy_values, inner, kernel, part, refactor, view_of
from octcore.search.margot.branching import AGAIN, BRANCH, COMPLETE, PRUNED, branch, process
from octcore.search.margot.records import SideStates
from octcore.search.margot.state import (
    charge_path,
    clear_bank,
    lower_bound,
    node_data,
    restore_row,
    solve_bank,
)

FULL = 4  # beside the codes of `branching`
_CAPACITY = 64  # states that a desk begins with (effort only: `larger` doubles it)
# Positions in `SideDesk.count`: states, how many may still be split, and solves until the caller
# is asked whether to go on.
N_STATES, N_SPLITS, N_SOLVES = 0, 1, 2


class SideDesk(NamedTuple):
    """What a thread writes on while it works on the open states of a side.

    ``bounds`` and ``known`` (capacity,): bounds and how many samples the states were stored with;
    ``rows`` (capacity, n_samples * bytes of a sample): the states; ``order``: samples of the side
    in the order in which they joined; ``far``: prefixes of a child; ``count``: see above.
    """

    bounds: Any
    known: Any
    rows: Any
    order: Any
    far: Any
    count: Any


def width_of(n_nodes: int) -> int:
    """Bytes of a sample in a stored state: its node, and four bits for each node of the tree."""
    return 1 + (n_nodes + 1) // 2


def new_side_desk(n_samples: int, width: int) -> SideDesk:
    """Arrays for states of so many samples."""
    return SideDesk(
        bounds=np.zeros(_CAPACITY),
        known=np.zeros(_CAPACITY, np.int64),
        rows=np.zeros((_CAPACITY, n_samples * width), np.uint8),
        order=np.zeros(n_samples, np.int64),
        far=np.zeros(n_samples, np.int64),
        count=np.zeros(3, np.int64),
    )


def larger(desk: SideDesk) -> SideDesk:
    """A desk of twice the capacity with the same states on it."""
    more = {
        name: np.concatenate([array, np.zeros_like(array)])
        for name, array in zip(("bounds", "known", "rows"), desk[:3], strict=True)
    }
    return desk._replace(**more)


def lay_out(desk: SideDesk, states: SideStates, order: Any) -> SideDesk:
    """Put the open states of a side on a desk; one with more room is made where needed."""
    count, length = states.rows.shape
    while count > len(desk.bounds):
        desk = larger(desk)
    desk.bounds[:count], desk.known[:count] = states.bounds, states.known
    desk.rows[:count, :length] = states.rows
    desk.order[: len(order)] = order
    desk.count[N_STATES] = count
    return desk


def collect(desk: SideDesk, order: Any, width: int) -> SideStates:
    """Take the open states from a desk."""
    count, length = int(desk.count[N_STATES]), len(order) * width
    bounds = desk.bounds[:count].copy()
    low = float(bounds.min()) if count else np.inf
    return SideStates(
        low, order, bounds, desk.known[:count].copy(), desk.rows[:count, :length].copy()
    )


@part
def _store(bank, prefix, desk, joined, place):
    """Write the state in the bank to a place on the desk."""
    size, n, row = bank.value.shape[0], prefix.shape[0], desk.rows[place]
    width = 1 + (size + 1) // 2
    for position in range(joined):
        sample, start = desk.order[position], position * width
        row[start] = np.uint8(prefix[sample])
        for byte in range(1, width):
            row[start + byte] = 0
        for node in range(size):
            code = bank.status[node, sample] | (bank.status[node, n + sample] << 2)
            row[start + 1 + node // 2] |= np.uint8(code << (4 * (node % 2)))
    desk.known[place] = joined


@part
def _load(bank, data, prefix, desk, joined, place):
    """Restore a state with all samples of the side; those it was stored without are free."""
    size, n, row = bank.value.shape[0], prefix.shape[0], desk.rows[place]
    width = 1 + (size + 1) // 2
    known = desk.known[place]
    clear_bank(bank)
    prefix[:] = -1
    for position in range(joined):
        sample = desk.order[position]
        prefix[sample] = np.int64(row[position * width]) if position < known else 0
        charge_path(bank, sample, prefix[sample])
    for node in range(size):
        qp, own = view_of(bank, node), node_data(data, node)
        for position in range(known):
            sample = desk.order[position]
            code = row[position * width + 1 + node // 2] >> (4 * (node % 2))
            restore_row(qp, own, sample, code & 3)
            restore_row(qp, own, n + sample, (code >> 2) & 3)
        refactor(qp, own)


@inner
def _first(desk):
    """Place of the state of least bound."""
    best = 0
    for place in range(1, desk.count[N_STATES]):
        if desk.bounds[place] < desk.bounds[best]:
            best = place
    return best


@inner
def _remove(desk, place):
    """Drop a state; the last one takes its place."""
    last = desk.count[N_STATES] - 1
    desk.count[N_STATES] = last
    if place != last:
        desk.bounds[place], desk.known[place] = desk.bounds[last], desk.known[last]
        copy_values(desk.rows[last], desk.rows[place])


@inner
def _keep(bank, prefix, desk, joined, place):
    """Put the state in the bank in the place of the one that it was made from."""
    desk.bounds[place] = max(desk.bounds[place], lower_bound(bank))
    _store(bank, prefix, desk, joined, place)


@part
def _split(bank, pair, data, prefix, desk, joined, place, room, choice):
    """Split the state in the bank; False if the nearer side, which the bank becomes, is closed."""
    bound, is_open = branch(bank, pair, data, prefix, room, choice, desk.far)
    if bound < np.inf:
        last = desk.count[N_STATES]
        desk.count[N_STATES] = last + 1
        desk.bounds[last] = desk.bounds[place]
        _keep(pair, desk.far, desk, joined, last)
    if is_open:
        _keep(bank, prefix, desk, joined, place)
    else:
        _remove(desk, place)
    return is_open


@kernel
def raise_side(bank, pair, data, prefix, desk, joined, branching, room, ignored, rounds, chosen):
    """Work on the open states of a side, those of least bound first.

    States whose bound reaches ``room`` go.  Ends with the first one in the bank: COMPLETE when its
    planes are a tree for the samples of the side, BRANCH when enough states were split, PRUNED when
    no state is left; or with AGAIN, so that callers can poll, or FULL.  Where the bank holds the
    first one already and it is known how to split it, by ``branching.choice``, ``chosen`` says so.
    """
    held, n_upper = _first(desk) if chosen else -1, bank.value.shape[0] // 2
    while desk.count[N_STATES] > 0:
        first = _first(desk)
        # The room falls below states of the root; what reaches it once is closed for good.
        if desk.bounds[first] >= room:
            break
        if first != held:
            if desk.count[N_SOLVES] <= 0:
                return AGAIN
            desk.count[N_SOLVES] -= 1
            is_new = desk.known[first] < joined
            _load(bank, data, prefix, desk, joined, first)
            held = first
            if not solve_bank(bank, data, room):  # the sum of dual values reaches the room
                _remove(desk, first)
                held = -1
                continue
            if is_new:
                _keep(bank, prefix, desk, joined, first)
                continue
        if desk.count[N_SPLITS] <= 0:
            return BRANCH
        if desk.count[N_STATES] >= desk.bounds.shape[0]:
            return FULL
        desk.count[N_SOLVES] -= 5
        code = BRANCH
        if not chosen:
            code = process(bank, data, prefix, branching, n_upper, room, ignored, rounds)
        chosen = False
        if code == PRUNED:
            _remove(desk, first)
            held = -1
        elif code == COMPLETE:
            _keep(bank, prefix, desk, joined, first)
            if _first(desk) == first:
                return COMPLETE
        elif code == AGAIN:
            # what is fixed holds for the states of the root below this one, too: ``room`` falls
            _keep(bank, prefix, desk, joined, first)
            if desk.count[N_SOLVES] <= 0:
                return AGAIN
        else:
            desk.count[N_SPLITS] -= 1
            choice = branching.choice
            if not _split(bank, pair, data, prefix, desk, joined, first, room, choice):
                held = -1
    desk.count[N_STATES] = 0
    return PRUNED
