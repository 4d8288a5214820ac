"""The linear program of a branch node with 1-norm margins, solved warm while rows are added.

Rows are kept on given sides of a plane with score ``g - h.x``, those on the right (s = -1) at a
distance d from it; each pays for what it lacks to a margin of 1, and the plane for its 1-norm::

    min  B ||h||_1 + A sum_i v_i m_i    s_i (g - h.x_i) + m_i >= 1,  s_i (g - h.x_i) >= d_i,  m >= 0

A primal simplex method works on the dual, where a further row is two further columns::

    max  sum_i lambda_i + d_i mu_i    |sum_i s_i nu_i x_ij| <= B,  sum_i s_i nu_i = 0,
         nu = lambda + mu,  0 <= lambda_i <= A v_i,  0 <= mu_i <= U

Without U the value of rows that no plane keeps apart at a distance grows without end; it is so
large that it stands for such a value.

Every value is recomputed from its multipliers and scaled until they are feasible, so that it is a
lower bound at whatever pivot the method was stopped and whatever was rounded on the way.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from octcore.numerics.kernels import inner, kernel, part

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
LOWER, UPPER, BASIC = 0, 1, 2
TOLERANCE = 1e-9  # reduced costs up to it are none; what was reached is a bound all the same
SMALLEST_RATE = 1e-10  # below it a pivot would be a division by rounding
_NONE = -(2**40)


class MarginRows(NamedTuple):
    """Rows and prices, the same for all nodes."""

    x: FloatArray  # shape ``(n, p + 1)``, with a first column of ones
    by_column: FloatArray  # the same, a column after the other
    y: IntArray
    weights: FloatArray
    missing: float
    norm: float
    """`missing`, `norm`: A, the price of a whole margin, and B, that of the norm of a plane with
    margins of 1."""
    reach: float
    """Largest ``|g|`` of a plane that counts; it prices what rounding leaves of the balance."""
    limit: float  # value beyond which there is no plane, infinite without such a limit
    feature: float  # price of a column that a plane uses
    columns: int  # columns of all planes of a tree together at least
    clearance: float = 0.0  # d, the distance from a plane that rows on the right keep
    box: float = np.inf
    """Largest weight of a plane that counts; it prices what multipliers exceed B by."""
    most: float = np.inf
    """U, the price of a distance that a row lacks; infinite where rows keep none."""


class NodePrograms(NamedTuple):
    """The programs of many nodes, one per slot.

    A column ``2k`` is lambda of the k-th row of the slot, ``2k + 1`` its mu, and ``-1 - j`` the
    slack of coordinate j; coordinate 0 is the balance of the sides.
    """

    n_rows: IntArray
    rows: IntArray
    side: FloatArray
    status: NDArray[np.int8]
    slack: NDArray[np.int8]
    basis: IntArray
    inverse: FloatArray
    basic: FloatArray
    norm: FloatArray  # price of the weight of a column; infinite where the plane may not use it
    paid: NDArray[np.int8]  # whether the price of using a column is paid
    plane: FloatArray  # ``(g, -h)`` by slot: the multipliers of the simplex method
    value: FloatArray
    scratch: FloatArray


def new_programs(slots: int, most_rows: int, size: int, norm: float) -> NodePrograms:
    """Programs without rows, of `most_rows` at most; `size` counts the column of ones."""
    return NodePrograms(
        np.zeros(slots, np.int64),
        np.zeros((slots, most_rows), np.int64),
        np.zeros((slots, most_rows)),
        np.zeros((slots, 2 * most_rows), np.int8),
        np.full((slots, size), BASIC, np.int8),
        np.tile(-1 - np.arange(size), (slots, 1)),
        np.tile(np.eye(size), (slots, 1, 1)),
        np.zeros((slots, size)),
        np.full((slots, size), norm),
        np.zeros((slots, size), np.int8),
        np.zeros((slots, size)),
        np.zeros(slots),
        np.zeros((3, max(size, most_rows))),
    )


@kernel(owns=False)
def copy_program(programs: Any, source: int, target: int) -> None:
    """Overwrite a slot with another one."""
    n = programs.n_rows[source]
    programs.n_rows[target] = n
    for k in range(n):
        programs.rows[target, k] = programs.rows[source, k]
        programs.side[target, k] = programs.side[source, k]
        programs.status[target, 2 * k] = programs.status[source, 2 * k]
        programs.status[target, 2 * k + 1] = programs.status[source, 2 * k + 1]
    for j in range(programs.plane.shape[1]):
        programs.slack[target, j] = programs.slack[source, j]
        programs.basis[target, j] = programs.basis[source, j]
        programs.basic[target, j] = programs.basic[source, j]
        programs.norm[target, j] = programs.norm[source, j]
        programs.paid[target, j] = programs.paid[source, j]
        programs.plane[target, j] = programs.plane[source, j]
        for i in range(programs.plane.shape[1]):
            programs.inverse[target, j, i] = programs.inverse[source, j, i]
    programs.value[target] = programs.value[source]


@kernel(owns=False)
def add_row(data: Any, programs: Any, slot: int, row: int, side: float, most_pivots: Any) -> None:
    """Keep a row on a side (1 left, -1 right) and solve again; the value never falls."""
    n = programs.n_rows[slot]
    programs.rows[slot, n] = row
    programs.side[slot, n] = side
    programs.status[slot, 2 * n] = LOWER
    programs.status[slot, 2 * n + 1] = LOWER
    programs.n_rows[slot] = n + 1
    _solve(data, programs, slot, most_pivots)


@kernel(owns=False)
def forbid(data: Any, programs: Any, slot: int, column: int, most_pivots: Any) -> None:
    """Take a column from a plane and solve again; the value never falls."""
    programs.norm[slot, column] = np.inf
    _solve(data, programs, slot, most_pivots)


@inner()
def _solve(data: Any, programs: Any, slot: int, most_pivots: Any) -> None:
    for _ in range(most_pivots):
        _multipliers(data, programs, slot)
        entering, grows = _entering(data, programs, slot)
        if entering == _NONE:
            break
        _column(data, programs, slot, entering)
        if not _step(data, programs, slot, entering, grows):
            break
    # Both are bounds: a row more, or a column less, never makes a plane cheaper.
    value = max(programs.value[slot], _safe_value(data, programs, slot))
    programs.value[slot] = value if value <= data.limit else np.inf


@inner()
def score(data: Any, plane: Any, row: int) -> float:
    """Score ``g - h.x`` of a row, 1 at the left margin."""
    total = 0.0
    for j in range(data.x.shape[1]):
        total += plane[j] * data.x[row, j]
    return total


@inner()
def score_all(data: Any, plane: Any, scores: Any) -> None:
    """Scores of all rows."""
    for i in range(len(scores)):
        scores[i] = plane[0]
    for j in range(1, len(plane)):
        if plane[j] != 0.0:
            for i in range(len(scores)):
                scores[i] += plane[j] * data.by_column[j, i]


@inner()
def _distance(data: Any, programs: Any, slot: int, k: int) -> float:
    """Distance from the plane that the k-th row of a slot keeps."""
    return data.clearance if programs.side[slot, k] < 0.0 else 0.0


@part()
def _multipliers(data: Any, programs: Any, slot: int) -> None:
    """Plane of the present basis: lambdas earn 1, mus the distance that they stand for."""
    basis, inverse, plane = programs.basis[slot], programs.inverse[slot], programs.plane[slot]
    size = len(plane)
    for j in range(size):
        plane[j] = 0.0
    for r in range(size):
        if basis[r] >= 0:
            is_margin = basis[r] % 2 == 0
            earned = 1.0 if is_margin else _distance(data, programs, slot, basis[r] // 2)
            for j in range(size):
                plane[j] += earned * inverse[r, j]


@part()
def _entering(data: Any, programs: Any, slot: int) -> Any:
    """Column of the best reduced cost, and whether it grows."""
    plane, status, slack = programs.plane[slot], programs.status[slot], programs.slack[slot]
    best, entering, grows = TOLERANCE, _NONE, True
    for k in range(programs.n_rows[slot]):
        reached = programs.side[slot, k] * score(data, plane, programs.rows[slot, k])
        lack = 1.0 - reached
        if status[2 * k] == LOWER and lack > best:
            best, entering, grows = lack, 2 * k, True
        elif status[2 * k] == UPPER and -lack > best:
            best, entering, grows = -lack, 2 * k, False
        missed = _distance(data, programs, slot, k) - reached
        if status[2 * k + 1] == LOWER and missed > best:
            best, entering, grows = missed, 2 * k + 1, True
        elif status[2 * k + 1] == UPPER and -missed > best:
            best, entering, grows = -missed, 2 * k + 1, False
    for j in range(1, len(plane)):
        is_free = slack[j] != BASIC and programs.norm[slot, j] == np.inf
        if (slack[j] == LOWER or is_free) and -plane[j] > best:
            best, entering, grows = -plane[j], -1 - j, True
        elif (slack[j] == UPPER or is_free) and plane[j] > best:
            best, entering, grows = plane[j], -1 - j, False
    return entering, grows


@part()
def _column(data: Any, programs: Any, slot: int, entering: int) -> None:
    """Column of the entering variable in terms of the basis, into the scratch."""
    inverse, column = programs.inverse[slot], programs.scratch[0]
    size = len(programs.plane[slot])
    if entering < 0:
        for r in range(size):
            column[r] = inverse[r, -1 - entering]
        return
    x = data.x[programs.rows[slot, entering // 2]]
    side = programs.side[slot, entering // 2]
    for r in range(size):
        total = 0.0
        for j in range(size):
            total += inverse[r, j] * x[j]
        column[r] = total * side


@inner()
def _range(data: Any, programs: Any, slot: int, column: int) -> Any:
    """Lower and upper bound of a variable."""
    if column == -1:
        return 0.0, 0.0
    if column < 0:
        norm = programs.norm[slot, -1 - column]
        return -norm, norm
    if column % 2 == 0:
        return 0.0, data.missing * data.weights[programs.rows[slot, column // 2]]
    return 0.0, data.most


@part()
def _value_of(data: Any, programs: Any, slot: int, column: int) -> float:
    """Value of a variable at a bound; that of a forbidden column's slack is the one before."""
    if column < 0:
        return data.norm if programs.slack[slot, -1 - column] == UPPER else -data.norm
    if programs.status[slot, column] == UPPER:
        return _range(data, programs, slot, column)[1]
    return 0.0


@part()
def _set_status(programs: Any, slot: int, column: int, status: int) -> None:
    if column < 0:
        programs.slack[slot, -1 - column] = status
    else:
        programs.status[slot, column] = status


@part()
def _step(data: Any, programs: Any, slot: int, entering: int, grows: bool) -> bool:
    """Ratio test and pivot; False where rounding leaves no bound to stop at."""
    basis, basic, column = programs.basis[slot], programs.basic[slot], programs.scratch[0]
    sign = 1.0 if grows else -1.0
    start = _value_of(data, programs, slot, entering)
    low, high = _range(data, programs, slot, entering)
    step, leaving, to_upper, size = high - low, -1, False, 0.0
    for r in range(len(basis)):
        rate = -sign * column[r]
        if abs(rate) < SMALLEST_RATE:
            continue
        least, most = _range(data, programs, slot, basis[r])
        room = max(0.0, ((most if rate > 0 else least) - basic[r]) / rate)
        closer = room < step - 1e-12
        if closer or (room <= step + 1e-12 and leaving >= 0 and abs(rate) > size):
            step, leaving, to_upper, size = min(room, step), r, rate > 0, abs(rate)
    if step == np.inf:
        return False
    for r in range(len(basis)):
        basic[r] -= sign * column[r] * step
    if leaving < 0:
        _set_status(programs, slot, entering, UPPER if grows else LOWER)
        return True
    _set_status(programs, slot, basis[leaving], UPPER if to_upper else LOWER)
    _set_status(programs, slot, entering, BASIC)
    basis[leaving] = entering
    basic[leaving] = start + sign * step
    _pivot(programs.inverse[slot], column, leaving)
    return True


@part()
def _pivot(inverse: Any, column: Any, leaving: int) -> None:
    size = len(inverse)
    factor = 1.0 / column[leaving]
    for j in range(size):
        inverse[leaving, j] *= factor
    for r in range(size):
        if r != leaving and column[r] != 0.0:
            for j in range(size):
                inverse[r, j] -= column[r] * inverse[leaving, j]


@inner()
def row_multipliers(data: Any, programs: Any, slot: int) -> None:
    """Multiplier of every row of the slot, lambda and mu together, in the scratch."""
    multiplier, size = programs.scratch[2], len(programs.plane[slot])
    for k in range(programs.n_rows[slot]):
        high = data.missing * data.weights[programs.rows[slot, k]]
        multiplier[k] = high if programs.status[slot, 2 * k] == UPPER else 0.0
        if programs.status[slot, 2 * k + 1] == UPPER:
            multiplier[k] += data.most
    for r in range(size):
        column = programs.basis[slot, r]
        if column >= 0:
            multiplier[column // 2] += max(0.0, programs.basic[slot, r])


@part()
def _safe_value(data: Any, programs: Any, slot: int) -> float:
    """Value of the multipliers, scaled into the box and paid for what they miss of the balance."""
    row_multipliers(data, programs, slot)
    multiplier, balance = programs.scratch[2], programs.scratch[1]
    size, n = len(programs.plane[slot]), programs.n_rows[slot]
    for j in range(size):
        balance[j] = 0.0
    total = 0.0
    for k in range(n):
        row = programs.rows[slot, k]
        if multiplier[k] > 0.0:
            # However a multiplier is parted into lambda and mu, it stays feasible: the best way.
            of_margin = min(multiplier[k], data.missing * data.weights[row])
            distance = _distance(data, programs, slot, k)
            total += max(1.0, distance) * of_margin + distance * (multiplier[k] - of_margin)
            for j in range(size):
                balance[j] += multiplier[k] * programs.side[slot, k] * data.x[row, j]
    share, excess = 1.0, 0.0
    for j in range(1, size):
        if abs(balance[j]) > programs.norm[slot, j]:
            share = min(share, programs.norm[slot, j] / abs(balance[j]))
            excess += abs(balance[j]) - programs.norm[slot, j]
    if excess > 0.0:  # the multipliers are scaled down, or the excess is paid for
        total = max(share * total, total - data.box * excess)
    # g is free, so that the balance should be 0; |g| is at most the reach where a plane counts.
    return max(0.0, total - data.reach * abs(balance[0]))
