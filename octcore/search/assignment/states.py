"""Depth-first search over decisions "row i is right at leaf l" or "row i is an error".

Labels of the leaves are given.  The bound of a state is the weight of its errors plus the programs
of the branch nodes for the rows that are decided to pass them; rows without a decision cost
nothing, and neither do the margins of a row that is only known to be an error.  The planes of these
programs route all rows: where no row pays more than the bound counts, the state is solved; else one
that pays is decided, the one whose options raise the bound most.
"""

from typing import Any, NamedTuple

import numpy as np

from octcore.numerics.kernels import inner, kernel, part
from octcore.numerics.margin_simplex import (
    FloatArray,
    IntArray,
    add_row,
    copy_program,
    forbid,
    row_multipliers,
    score_all,
)
from octcore.search.assignment.few_columns import sum_of

FREE, ERROR = 0, -1
NEW, CLOSED = -2, -1  # beside the rows and columns that a level decides
CANDIDATES = 8  # rows whose options are all tried before one is chosen
WORTH_SHARE = 0.2
"""How much a new trial counts in what is known of a row (effort only: an average of some five)."""
TRIAL_PIVOTS, PIVOTS = np.int64(25), np.int64(200)
"""Plain ones would be types of their own, and the simplex method compiled once more for each."""
LEAST_COST = 1e-9
"""What rounding makes a row pay, of the weight that an error costs.  A state whose rows pay no more
is done, and its bound noted in `Stack.least`."""
LEAST_GAIN = 1e-6
"""What an option is taken to gain anyway, so that products tell rows with a free option apart."""
FORCED = 1e6  # worth of a row with one option
CLEAR = 1e-6  # share of the distance from a plane that rounding may cost
LEAST_WEIGHT = 1e-7  # share of a plane's 1-norm below which a column counts as not used


class Stack(NamedTuple):
    """The way from the root of the search to the state at hand, one level a decision.

    The programs of level k are those of the slots ``k * n_branch`` and following.
    """

    labels: IntArray
    decided: IntArray  # leaf of every row, ERROR or FREE
    point: IntArray
    """Row that a level decides, or beyond the rows a column of a node: node by node in the order of
    the slots.  NEW before that is chosen, CLOSED without one."""
    option: IntArray  # next option to try: a leaf, counted from the left, and after them an error
    before: IntArray  # what was decided about the row of a level above it
    errors: FloatArray
    bound: FloatArray
    open: IntArray  # rows that would cost less at other leaves, first
    lack: FloatArray  # by row, what it lacks to these leaves; 0 once its options were tried
    worth: FloatArray  # by row, how much its options raised bounds when they were tried, on average
    least: FloatArray
    """Least cost of a tree that was met, and least bound of a state left undecided."""
    planes: FloatArray  # ``(g, -h)`` by branch node of the tree of least cost
    reached: FloatArray  # scores by branch node and row
    missed: FloatArray  # price of the margins that a row misses from a branch node on
    wrong: FloatArray  # 1 where a row is wrong at the leaf that it reaches from a branch node
    short: FloatArray  # least margin that it lacks from there to a leaf that is open to it


class Log(NamedTuple):
    """What the search did, from which its outcome can be checked; empty arrays where nobody asks.

    The steps come depth first.  A decision is the point of a level; the options of the row or the
    column follow, each with all that is below it.  A closed state is CLOSED and for every branch
    node a number of rows, and these rows; their multipliers stand one after another.
    """

    steps: IntArray
    multipliers: FloatArray
    used: IntArray  # number of steps and of multipliers


def new_log(size: int) -> Log:
    """Log with room for so many steps and multipliers."""
    return Log(np.zeros(size, np.int64), np.zeros(size), np.zeros(2, np.int64))


def new_stack(labels: IntArray, worth: FloatArray, levels: int, size: int) -> Stack:
    """Stack at the root of the search, nothing decided; `worth` is learnt on.

    `levels`, `size`: number of decisions at most, and of columns, that of ones included.
    """
    n_rows, n_branch = len(worth), len(labels) - 1
    stack = Stack(
        labels,
        np.full(n_rows, FREE),
        np.full(levels, CLOSED),
        np.zeros(levels, np.int64),
        np.full(levels, FREE),
        np.zeros(levels),
        np.zeros(levels),
        np.zeros(n_rows, np.int64),
        np.zeros(n_rows),
        worth,
        np.full(2, np.inf),
        np.zeros((n_branch, size)),
        *np.zeros((4, n_branch, n_rows)),
    )
    stack.point[0] = NEW
    return stack


@kernel(owns=False)
def search_states(
    data: Any,
    programs: Any,
    stack: Any,
    log: Any,
    level: int,
    cutoff: float,
    mirrored: bool,
    states: int,
) -> Any:
    """Go on until no state below the cutoff is left (level -1), or for a number of states.

    A full log ends it as well.
    With `mirrored` the tree and its mirror image cost the same, so that the first row that is
    decided keeps to the left half of the leaves.
    """
    seen, n_branch, n_rows = 0, len(stack.labels) - 1, len(data.y)
    room = 2 + n_branch * (len(stack.point) + 1) if len(log.steps) else 0  # of a closed state
    while level >= 0 and log.used[0] + room <= len(log.steps):
        if stack.point[level] == NEW:
            if seen >= states:
                return level, seen
            seen += 1
            chosen = _choose(data, programs, stack, log, level, cutoff, mirrored)
            stack.point[level] = chosen
            if chosen == CLOSED:  # its bound reaches the cutoff, or it is noted in `least`
                _note_closed(data, programs, log, level * n_branch, n_branch)
                level -= 1
                continue
            if len(log.steps):
                log.steps[log.used[0]] = chosen
                log.used[0] += 1
            if chosen < len(data.y):
                stack.before[level] = stack.decided[chosen]
            stack.option[level] = 0
        row, option = stack.point[level], stack.option[level]
        is_row = row < n_rows
        if is_row:
            stack.decided[row] = stack.before[level]
        if option > (n_branch + 1 if is_row else 1):
            stack.point[level] = CLOSED
            level -= 1
            continue
        stack.option[level] = option + 1
        if is_row and not _admits(data, stack, level, row, option, mirrored):
            continue
        closed_at = _descend(data, programs, stack, level, option, cutoff)
        if closed_at >= 0:
            _note_closed(data, programs, log, closed_at, n_branch)
        else:
            level += 1
            stack.point[level] = NEW
    return level, seen


@inner()
def _note_closed(data: Any, programs: Any, log: Any, first: int, n_branch: int) -> None:
    """Write a closed state whose programs are those of some slots."""
    if len(log.steps) == 0:
        return
    at, there = log.used[0], log.used[1]
    log.steps[at] = CLOSED
    at += 1
    for slot in range(first, first + n_branch):
        row_multipliers(data, programs, slot)
        head, multiplier = at, programs.scratch[2]
        at += 1
        for k in range(programs.n_rows[slot]):
            if multiplier[k] > 0.0:
                log.steps[at], log.multipliers[there] = programs.rows[slot, k], multiplier[k]
                at, there = at + 1, there + 1
        log.steps[head] = at - head - 1
    log.used[0], log.used[1] = at, there


@inner()
def _admits(data: Any, stack: Any, level: int, row: int, option: int, mirrored: bool) -> bool:
    """Whether an option of a row is to be tried: its leaves if free, all others if an error."""
    n_leaves = len(stack.labels)
    is_error = stack.decided[row] == ERROR
    if option == n_leaves:
        return not is_error
    # Of a tree and its mirror image one sends the first row left.
    if mirrored and level == 0 and option >= n_leaves // 2:
        return False
    return (stack.labels[option] == data.y[row]) != is_error


@part()
def _choose(
    data: Any, programs: Any, stack: Any, log: Any, level: int, cutoff: float, mirrored: bool
) -> int:
    """Row to decide next; CLOSED where no tree below the cutoff is left."""
    if data.feature > 0.0 and len(log.steps) == 0:
        _forbid_dear_columns(data, programs, stack, level, cutoff)
    bound, n_open = _evaluate(data, programs, stack, level)
    stack.bound[level] = bound
    if bound >= cutoff:
        return CLOSED
    column = _unpaid_column(data, programs, stack, level) if data.feature > 0.0 else -1
    if column >= 0 and level + 1 < len(stack.point):
        return len(data.y) + column
    # Planes that use a column without paying for it cost more than the errors.
    is_settled = column < 0 and n_open == 0
    if is_settled or level + 1 >= len(stack.point):
        # Values of programs that only say if there is a plane are no part of a cost.
        for slot in range(level * len(stack.planes), (level + 1) * len(stack.planes)):
            bound += data.limit - programs.value[slot] if data.limit < np.inf else 0.0
        stack.least[1] = min(stack.least[1], bound)
        if is_settled and data.limit < np.inf:
            _keep(programs, stack, level, stack.errors[level])
        return CLOSED
    chosen, best = CLOSED, -1.0
    for k in range(CANDIDATES):
        row, most = -1, 0.0
        for i in stack.open[:n_open]:
            rank = stack.worth[i] if k % 2 == 1 else stack.lack[i]
            if stack.lack[i] > 0.0 and (row < 0 or rank > most):
                row, most = i, rank
        if row < 0:
            break
        stack.lack[row] = 0.0
        worth = _worth(data, programs, stack, level, row, cutoff, mirrored)
        if worth == np.inf:
            return row if len(log.steps) else CLOSED
        stack.worth[row] += WORTH_SHARE * (min(worth, 1.0) ** 0.5 - stack.worth[row])
        if worth > best:
            chosen, best = row, worth
        if worth >= FORCED:
            break
    return chosen


@part()
def _worth(
    data: Any, programs: Any, stack: Any, level: int, row: int, cutoff: float, mirrored: bool
) -> float:
    """How much deciding a row raises the bound; infinite where no option stays below the cutoff."""
    bound, first, second, alive = stack.bound[level], np.inf, np.inf, 0
    for option in range(len(stack.labels) + 1):
        if not _admits(data, stack, level, row, option, mirrored):
            continue
        value = _trial(data, programs, stack, level, row, option, cutoff)
        if value >= cutoff:  # programs are solved from below, so that few pivots give a bound, too
            continue
        alive += 1
        if value < first:
            first, second = value, first
        elif value < second:
            second = value
    if alive == 0:
        return np.inf
    gain = max(first - bound, LEAST_GAIN)
    if alive == 1:
        return FORCED + gain
    return gain * max(min(second, cutoff) - bound, LEAST_GAIN)


@part()
def _trial(
    data: Any, programs: Any, stack: Any, level: int, row: int, option: int, cutoff: float
) -> float:
    """Bound with one more decision."""
    n_leaves = len(stack.labels)
    if option == n_leaves:
        return stack.bound[level] + data.weights[row]
    n_branch = n_leaves - 1
    first, trial = level * n_branch - 1, len(stack.point) * n_branch
    value, leaf, node = stack.bound[level], n_leaves + option, 1
    while node < n_leaves:
        child = _child_towards(node, leaf)
        side = 1.0 if child == 2 * node else -1.0
        if side * stack.reached[node - 1, row] < 1.0:  # else the plane stays the best one
            copy_program(programs, first + node, trial)
            add_row(data, programs, trial, row, side, TRIAL_PIVOTS)
            value += programs.value[trial] - programs.value[first + node]
            if value >= cutoff:
                return value
        node = child
    return value


@part()
def _child_towards(node: int, leaf: int) -> int:
    """Child of a node on the way to a leaf below it."""
    while leaf // 2 != node:
        leaf //= 2
    return leaf


@part()
def _descend(data: Any, programs: Any, stack: Any, level: int, option: int, cutoff: float) -> int:
    """Set up the level below with one more decision: a row's, or a column of a node's.

    A column is paid for (option 0), or not used.
    Returns the first slot of the programs by which it need not be looked at, -1 where it must be.
    """
    row, n_leaves, paid = stack.point[level], len(stack.labels), 0.0
    n_branch, column, is_error = n_leaves - 1, row - len(data.y), option == n_leaves
    if column < 0:
        paid = data.weights[row] if is_error else 0.0
    elif option == 0:
        paid = data.feature
    # The programs only cost more with another row: those of this level close the one below.
    if column < 0 and stack.bound[level] + paid >= cutoff:
        return level * n_branch
    below = (level + 1) * n_branch
    for b in range(n_branch):
        copy_program(programs, level * n_branch + b, below + b)
    size = data.x.shape[1]
    if column >= 0 and option == 0:
        programs.paid[below + column // size, column % size] = 1
    elif column >= 0:
        forbid(data, programs, below + column // size, column % size, PIVOTS)
    elif not is_error:
        leaf, node = n_leaves + option, 1
        while node < n_leaves:
            child = _child_towards(node, leaf)
            side = 1.0 if child == 2 * node else -1.0
            add_row(data, programs, below + node - 1, row, side, PIVOTS)
            node = child
    stack.errors[level + 1] = stack.errors[level] + paid
    if stack.errors[level + 1] + _least_of_planes(data, programs, below, n_branch) >= cutoff:
        return below
    if column < 0:
        stack.decided[row] = ERROR if is_error else n_leaves + option
    return -1


@part()
def _evaluate(data: Any, programs: Any, stack: Any, level: int) -> Any:
    """Bound of a state; routes all rows by its planes, and counts those that lack something."""
    n_leaves, n_open = len(stack.labels), 0
    first = level * (n_leaves - 1) - 1
    bound = stack.errors[level] + _least_of_planes(data, programs, first + 1, n_leaves - 1)
    cost = 0.0
    for node in range(n_leaves - 1, 0, -1):
        cost += data.norm * _norm(programs.plane[first + node])
        score_all(data, programs.plane[first + node], stack.reached[node - 1])
        _route_all(data, stack, node)
    for row in range(len(data.y)):
        missed, wrong = stack.missed[0, row], stack.wrong[0, row]
        if missed + wrong == 0.0:
            continue
        cost += data.weights[row] * (missed + wrong)
        decided = stack.decided[row]
        paid = missed
        if decided != ERROR:
            paid += wrong
        elif data.limit == np.inf:  # a right row that lacks margin pays less than its error
            paid += wrong - 1.0
        is_open = decided == FREE or decided == ERROR
        is_open &= missed == np.inf or data.weights[row] * paid > LEAST_COST
        if is_open and stack.short[0, row] < np.inf:
            weight = max(data.weights[row], LEAST_COST)
            stack.lack[row] = weight * (stack.short[0, row] + LEAST_COST)
            stack.open[n_open] = row
            n_open += 1
    if data.limit == np.inf:
        _keep(programs, stack, level, cost)
    return bound, n_open


@inner()
def _route_all(data: Any, stack: Any, node: int) -> None:
    """What rows pay from a node on, after the nodes below it: loops that become vectors."""
    reached, missed, wrong = stack.reached[node - 1], stack.missed[node - 1], stack.wrong[node - 1]
    short, y, decided = stack.short[node - 1], data.y, stack.decided
    n_leaves, least = len(stack.labels), -CLEAR * data.clearance  # rounding aside, left from 0 on
    if 2 * node >= n_leaves:
        left, right = stack.labels[2 * node - n_leaves], stack.labels[2 * node + 1 - n_leaves]
        for i in range(len(reached)):
            score, label, is_error = reached[i], y[i], decided[i] == ERROR
            on_left, on_right = max(0.0, 1.0 - score), max(0.0, 1.0 + score)
            missed[i] = data.missing * min(on_left, on_right)
            wrong[i] = 1.0 if label != (left if score >= least else right) else 0.0
            on_left = on_left if (left == label) != is_error else np.inf
            on_right = on_right if (right == label) != is_error else np.inf
            short[i] = min(on_left, on_right)
    else:
        missed_left, missed_right = stack.missed[2 * node - 1], stack.missed[2 * node]
        wrong_left, wrong_right = stack.wrong[2 * node - 1], stack.wrong[2 * node]
        short_left, short_right = stack.short[2 * node - 1], stack.short[2 * node]
        for i in range(len(reached)):
            score, is_left = reached[i], reached[i] >= least
            on_left, on_right = max(0.0, 1.0 - score), max(0.0, 1.0 + score)
            lefts, rights = missed_left[i], missed_right[i]
            missed[i] = data.missing * min(on_left, on_right) + (lefts if is_left else rights)
            lefts, rights = wrong_left[i], wrong_right[i]
            wrong[i] = lefts if is_left else rights
            short[i] = min(on_left + short_left[i], on_right + short_right[i])
    if data.clearance > 0.0:  # too near to a plane for either side
        for i in range(len(reached)):
            if CLEAR * data.clearance - data.clearance < reached[i] < least:
                missed[i] = np.inf


@inner()
def _norm(plane: Any) -> float:
    """1-norm of the weights of a plane."""
    total = 0.0
    for j in range(1, len(plane)):
        total += abs(plane[j])
    return total


@part()
def _keep(programs: Any, stack: Any, level: int, cost: float) -> None:
    """Keep the planes of a state if nothing cheaper was met."""
    if cost < stack.least[0]:
        stack.least[0] = cost
        for b in range(len(stack.planes)):
            for j in range(programs.plane.shape[1]):
                stack.planes[b, j] = programs.plane[level * len(stack.planes) + b, j]


@inner()
def _least_of_planes(data: Any, programs: Any, first: int, n_branch: int) -> float:
    """Values of the programs of a state, and price of the columns they need beyond paid ones.

    All of them together have the least number of columns that no tree below the cutoff undercuts.
    """
    values, unpaid, paid = 0.0, 0.0, 0
    for slot in range(first, first + n_branch):
        values += programs.value[slot]
        unpaid += _least_features(data, programs, slot)
        paid += sum_of(programs.paid[slot])
    return values + max(unpaid, (data.columns - paid) * data.feature)


@part()
def _least_features(data: Any, programs: Any, slot: int) -> float:
    """Price of the columns that a plane needs at least beyond those that are paid."""
    if data.feature <= 0.0 or programs.value[slot] <= 0.0:  # no rows on two sides: no plane needed
        return 0.0
    paid = programs.paid[slot]
    n_paid = sum_of(paid)
    if n_paid > 1:  # two columns may part what one does not: only programs tell
        return 0.0
    for j in range(1, len(paid)):
        is_open = paid[j] == 1 if n_paid else programs.norm[slot, j] < np.inf
        if is_open and _parts_alone(data, programs, slot, j):
            return 0.0 if n_paid else data.feature
    return data.feature if n_paid else 2 * data.feature


@part()
def _parts_alone(data: Any, programs: Any, slot: int, column: int) -> bool:
    """Whether one column parts the rows of a node with the gap that the limit asks for."""
    left_low, left_high, right_low, right_high = np.inf, -np.inf, np.inf, -np.inf
    for k in range(programs.n_rows[slot]):
        value = data.x[programs.rows[slot, k], column]
        if programs.side[slot, k] > 0:
            left_low, left_high = min(left_low, value), max(left_high, value)
        else:
            right_low, right_high = min(right_low, value), max(right_high, value)
    gap = max(right_low - left_high, left_low - right_high)
    # Two margins of 1, and a weight of limit / norm at most; rounding hides no column.
    return gap >= 2 * data.norm / data.limit * (1 - 1e-9)


@part()
def _unpaid_column(data: Any, programs: Any, stack: Any, level: int) -> int:
    """Column of largest weight that a plane uses without having paid for it; -1 without any."""
    n_branch, size = len(stack.planes), data.x.shape[1]
    found, largest = -1, LEAST_WEIGHT
    for b in range(n_branch):
        slot = level * n_branch + b
        total = _norm(programs.plane[slot])
        for j in range(1, size):
            weight = abs(programs.plane[slot, j])
            if not programs.paid[slot, j] and weight > largest * total:
                found, largest = b * size + j, weight / total
    return found


@part()
def _forbid_dear_columns(data: Any, programs: Any, stack: Any, level: int, cutoff: float) -> None:
    """Take all columns from a plane that cannot pay for one more; a log has them one by one."""
    n_branch, size = len(stack.planes), data.x.shape[1]
    first = level * n_branch
    values, paid, unpaid = stack.errors[level], 0, 0.0
    for slot in range(first, first + n_branch):
        values += programs.value[slot]
        paid += sum_of(programs.paid[slot])
        unpaid += _least_features(data, programs, slot)
    for slot in range(first, first + n_branch):
        others = unpaid - _least_features(data, programs, slot)
        least = max(others, (data.columns - paid - 1) * data.feature)
        # One column more here, what the others need, or what all trees have: it may stay below.
        if values + data.feature + least < cutoff:
            continue
        last = 0
        for j in range(1, size):
            if not programs.paid[slot, j] and programs.norm[slot, j] < np.inf:
                programs.norm[slot, j], last = np.inf, j
        if last:
            forbid(data, programs, slot, last, PIVOTS)
