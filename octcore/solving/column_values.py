"""What every column, and every threshold of one, is worth at a node: the best tree, proven."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from octcore.data.serial import Record
from octcore.engines.events import Clock
from octcore.errors import SettingsError
from octcore.formulations.base import get_formulation
from octcore.formulations.shared.constraint_kinds import refuse_coupled
from octcore.formulations.shared.question import question_of
from octcore.formulations.shared.univariate import UnivariateObjective
from octcore.program import Capability, Problem
from octcore.search.univariate.question import Question
from octcore.search.univariate.search import answer
from octcore.solving.prepare import problem_of
from octcore.solving.run import Run, SolvedRun
from octcore.tree.tree import Tree, midpoint

ROUNDING = 1e-9  # objectives closer than this are taken for equal
ORDERED = {"above", "value", "scaled"}  # kinds of columns that compare numbers
WITHIN = 0.01
"""How much of the objective a moved threshold may cost at most, and not quite: a hundredth, or the
price of a leaf where that is less, since a split that changes no answer costs as much anywhere."""


@dataclass(frozen=True)
class ThresholdValue:
    """One threshold of a raw column at a node, where the tree outside of what is below stays."""

    low: float
    high: float
    """`low`, `high`: any threshold from the first number up to, but without, the second parts the
    rows alike."""
    value: float | None
    """Best objective of a tree that splits so, or a bound on that; None if there is none."""
    is_exact: bool  # false where the time was over: no tree that splits so is better than `value`


def ordered_columns(run: SolvedRun) -> list[str]:
    """Raw columns whose splits compare numbers."""
    ordered = {c.raw for c in run.encoding.columns if c.kind in ORDERED and not c.levels}
    return [name for name in run.encoding.raw_features if name in ordered]


def own_column(run: SolvedRun, node: int) -> str:
    """The raw column that a split of one column tests."""
    return run.encoding.columns[run.tree.splits[node].features[0]].raw


def sides(run: SolvedRun, node: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Training rows at a split of one number, their values, and whether they go right."""
    X = run.tree.encoded(run.encoding, run.train.frame)
    rows, split = run.tree.node_rows(X)[node], run.tree.splits[node]
    values = run.train.frame[own_column(run, node)].to_numpy(float)[rows]
    return rows, values, split.goes_right(X, rows)


def threshold_at(run: SolvedRun, column: str, node: int) -> float | None:
    """Threshold of the tree at a node, in units of the column, if it tests that there."""
    if node not in run.tree.splits or own_column(run, node) != column:
        return None
    _, values, right = sides(run, node)
    return float(values[~right].max() + values[right].min()) / 2


def most_lost(run: SolvedRun) -> float:
    """Of the objective, what a threshold that has moved must not cost, see `WITHIN`."""
    return min(WITHIN, run.params.get("leaf_penalty") or WITHIN)


def span_within(
    points: Sequence[ThresholdValue], threshold: float, least: float
) -> tuple[float, float] | None:
    """How far a threshold may be moved, step by step, while the best tree stays above an objective.

    `points`: of one column at one node, ascending.
    `threshold`: where to start, in units of the column.
    `least`: objective that every step must exceed by more than rounding; what is not exact does
    not.
    Returns the ends of the interval; None if the threshold itself does not, or is at no place of
    `points`.
    """
    good = [p.is_exact and p.value is not None and p.value > least + ROUNDING for p in points]
    at = [k for k, point in enumerate(points) if point.low <= threshold < point.high and good[k]]
    if not at:
        return None
    first = last = at[0]
    while first and good[first - 1] and points[first - 1].high == points[first].low:
        first -= 1
    while last + 1 < len(points) and good[last + 1] and points[last].high == points[last + 1].low:
        last += 1
    return points[first].low, points[last].high


def span_at(
    run: SolvedRun, column: str, node: int, points: Sequence[ThresholdValue]
) -> tuple[float, float] | None:
    """How far the threshold of a node may move, from what those of its column are worth there."""
    chosen = threshold_at(run, column, node)
    if chosen is None or run.objective is None:
        return None
    return span_within(points, chosen, run.objective - most_lost(run))


@dataclass(frozen=True)
class ColumnValue(Record):
    """One raw column at a node, where the tree outside of what is below stays."""

    column: str
    value: float | None
    """Best objective of a tree that tests it there, or a bound on that; None if there is none."""
    is_exact: bool
    """False where the time was over: no tree that tests it there is better than `value`."""
    threshold: float | None  # at the root of `tree`, in units of the column; None for a category
    interval: tuple[float, float] | None
    """Any threshold from the first number up to, but without, the second parts the rows alike."""
    tree: Tree | None  # the best tree that was found, from the node on


def column_values(
    run: Run, time_limit: float = 60.0, cancel: Callable[[], bool] | None = None, node: int = 1
) -> tuple[ColumnValue, ...]:
    """Search the best tree with every raw column at a node, on the rows and columns of a run.

    `time_limit`: seconds in all, without those that compile kernels.
    `cancel`: asked often; a true answer ends the search as the time limit does.
    `node`: branch node of the tree of the run: what is below it is searched again, on the rows that
    arrive there; the rest of the tree stays.
    They come in the order of the columns; those of which no split may test one have no value.  Once
    the time is over a column costs no search any more: its bound is that of two leaves without
    errors.
    Raises `SettingsError` if the run is about other trees than those of one column per split, has
    another objective than accuracy and leaves, keeps a constraint that ties subtrees together, or
    does not split at the node.
    Raises `ModelFileError` if it comes without its training rows.
    """
    problem, objective, asked = univariate_question(run, "Columns have no values")
    encoding, answers = run.encoding, run.needed.tree.classes
    here, rest = np.ones(len(problem.y), dtype=bool), 1.0
    if node != 1:
        here, outside, rest = _surroundings(run.needed.tree, problem, asked, node)
        left = None if asked.max_leaves is None else asked.max_leaves - outside
        asked = _below(asked, here, node.bit_length() - 1, left)
    share = _share(problem.weights, here)
    required = asked.roots
    clock = Clock(time_limit)
    found = []
    for number, name in enumerate(encoding.raw_features):
        columns = tuple(np.flatnonzero(problem.groups == number).tolist())
        columns = columns if required is None else tuple(j for j in columns if j in required)
        if not columns or asked.depth == 0:
            found.append(ColumnValue(name, None, True, None, None, None))
            continue
        left = clock.remaining
        if left <= 0 or (cancel is not None and cancel()):
            # Unsearched: two leaves without errors, which cost no more than any split.
            value = objective.from_count(
                (rest - share * 2 * asked.leaf_penalty) * objective.weight_right
            )
            found.append(ColumnValue(name, value, False, None, None, None))
            continue
        best = answer(replace(asked, roots=columns), cancel=cancel, time_limit=left)
        value = None
        if best.bound is not None:
            value = objective.from_count((rest - share * (1 - best.bound)) * objective.weight_right)
        interval = None
        if best.tree is not None:
            root = best.tree.splits[1]
            right = problem.X[:, root.features[0]] > root.threshold
            values = _raw_values(run, problem, root.features[0])
            if values is not None:  # between which its threshold lies
                interval = float(values[~right & here].max()), float(values[right & here].min())
        threshold = None if interval is None else midpoint(*interval)
        exact = best.status in {"optimal", "infeasible"}
        tree = None if best.tree is None else best.tree.named(answers, encoding.names)
        found.append(ColumnValue(name, value, exact, threshold, interval, tree))
    return tuple(found)


def _surroundings(
    tree: Tree, problem: Problem, asked: Question, node: int
) -> tuple[np.ndarray, int, float]:
    """Rows that arrive at a node, leaves outside, and the worth with all below right and free."""
    here = np.zeros(len(problem.y), dtype=bool)
    if node in tree.splits:
        here[tree.node_rows(problem.X)[node]] = True
    if not problem.weights[here].any():
        raise SettingsError("NO_SPLIT", f"The tree splits no rows at node {node}.", "node")
    wrong = tree.predict_codes(problem.X) != problem.y
    below = (leaf >> max(0, leaf.bit_length() - node.bit_length()) == node for leaf in tree.labels)
    outside = len(tree.labels) - sum(below)
    rest = 1 - _share(problem.weights, wrong & ~here) - asked.leaf_penalty * outside
    return here, outside, rest


def _share(weights: np.ndarray, rows: np.ndarray) -> float:
    return float(weights[rows].sum() / weights.sum())


def threshold_values(
    run: Run,
    column: str,
    time_limit: float = 60.0,
    cancel: Callable[[], bool] | None = None,
    node: int = 1,
) -> tuple[ThresholdValue, ...]:
    """Search the best tree below every threshold of a raw column at a node.

    The sides of a split are searched one after the other, as neither ties the other.

    `column`: with numbers or ordered levels, or binarized at thresholds.
    `time_limit`, `cancel`, `node`: as in `column_values`.
    They come ascending; a split that no tree may have there is left out.  Once the time is over a
    threshold costs no search any more: its bound is that of two leaves without errors.
    Raises `SettingsError`, `ModelFileError` as `column_values`; and if the column is unknown or has
    no order, or the leaves are limited, which ties the sides together.
    """
    problem, objective, asked = univariate_question(run, "Columns have no values")
    encoding = run.encoding
    if column not in encoding.raw_features:
        message = f"There is no column {column!r}; take one of {', '.join(encoding.raw_features)}."
        raise SettingsError("UNKNOWN_FEATURE", message, "column")
    if asked.leaf_limit < 2**asked.depth:
        raise SettingsError(
            "NO_CURVE", "A limit on leaves ties both sides of a split together; solve without.",
            "max_leaves",
        )  # fmt: skip
    clock = Clock(time_limit)
    here, rest = np.ones(len(problem.y), dtype=bool), 1.0
    allowed = problem.groups == encoding.raw_features.index(column)
    if node != 1:
        here, _, rest = _surroundings(run.needed.tree, problem, asked, node)
    elif asked.roots is not None:
        allowed &= np.isin(np.arange(len(allowed)), asked.roots)
    if asked.forbidden is not None:
        allowed &= ~asked.forbidden
    found: dict[tuple[float, float], ThresholdValue] = {}
    for j in np.flatnonzero(allowed) if asked.depth else ():
        raw = _raw_values(run, problem, int(j))
        if raw is None:
            message = f"{column!r} has no order; there are no thresholds."
            raise SettingsError("NO_CURVE", message, "column")
        order = np.flatnonzero(here)[np.argsort(problem.X[here, j], kind="stable")]
        values = problem.X[order, j]
        before = np.maximum.accumulate(raw[order])
        behind = np.minimum.accumulate(raw[order][::-1])[::-1]
        for end in np.flatnonzero(values[1:] != values[:-1]).tolist():
            span = float(before[end]), float(behind[end + 1])
            if span in found:  # another 0/1 column parts the rows of the node alike
                continue
            left = clock.remaining
            # Unsearched: two leaves without errors, which cost no more than any split.
            sides: list[tuple[float | None, bool]] = [(asked.leaf_penalty, False)] * 2
            if left > 0 and not (cancel is not None and cancel()):
                right = problem.X[:, j] > values[end]
                sides = [
                    _side(asked, here & rows, node.bit_length(), left, cancel)
                    for rows in (~right, right)
                ]
            if any(cost is None for cost, _ in sides):
                continue
            lost = sum(cost for cost, _ in sides if cost is not None)
            value = objective.from_count((rest - lost) * objective.weight_right)
            found[span] = ThresholdValue(*span, value, all(exact for _, exact in sides))
    return tuple(found[span] for span in sorted(found))


def threshold_spans(
    run: SolvedRun, time_limit: float = 60.0
) -> dict[int, tuple[float, float] | None]:
    """How far the threshold of every split of a number may move, by node; None: no time was left.

    Between the ends every threshold costs less than `most_lost`, what is below searched again and
    the rest of the tree kept.  Raises as `threshold_values`.
    """
    clock, found = Clock(time_limit), {}
    ordered = ordered_columns(run)
    for node in sorted(run.tree.splits) if run.tree.is_univariate else ():
        if (column := own_column(run, node)) in ordered:
            points = threshold_values(run, column, clock.remaining, node=node)
            span = span_at(run, column, node, points)
            if not all(point.is_exact for point in points):
                found[node] = None
            elif span is not None:
                found[node] = span
    return found


def _side(
    asked: Question,
    rows: np.ndarray,
    levels: int,
    seconds: float,
    cancel: Callable[[], bool] | None,
) -> tuple[float | None, bool]:
    """Least share of all weight that a side of a split costs, or a bound; None for no tree."""
    assert asked.weights is not None
    share = _share(asked.weights, rows)
    counts = np.ones(len(rows)) if asked.counts is None else asked.counts
    if share == 0:  # nothing to be wrong about: the price of one leaf, if that holds enough rows
        return (asked.leaf_penalty if counts[rows].sum() >= asked.smallest_leaf else None), True
    best = answer(_below(asked, rows, levels), cancel=cancel, time_limit=seconds)
    cost = None if best.bound is None else share * (1 - best.bound)
    return cost, best.status in {"optimal", "infeasible"}


def _below(
    asked: Question, rows: np.ndarray, levels: int, max_leaves: int | None = None
) -> Question:
    """Ask the same of some rows, so many levels below; costs are shares of the weight of these."""
    assert asked.weights is not None
    weights = asked.weights[rows]
    return replace(
        asked,
        X=asked.X[rows],
        y=asked.y[rows],
        weights=weights,
        counts=None if asked.counts is None else asked.counts[rows],
        depth=asked.depth - levels,
        leaf_penalty=asked.leaf_penalty / float(weights.sum() / asked.weights.sum()),
        max_leaves=max_leaves,
        roots=None,
    )


def univariate_question(
    run: Run, refusal: str, beside: frozenset[str] = frozenset()
) -> tuple[Problem, UnivariateObjective, Question]:
    """What the exact search is asked for the rows and columns of a run; raises as `column_values`.

    `refusal` begins the sentence that says what the run is not about; `beside` are side constraints
    that the question leaves out.
    """
    refuse_other_questions(run, refusal, beside)
    problem = problem_of(run)
    objective = UnivariateObjective(problem)
    return problem, objective, question_of(problem, objective)


def refuse_other_questions(run: Run, refusal: str, beside: frozenset[str] = frozenset()) -> None:
    """Raise `SettingsError` where the exact search cannot be asked what a run asked.

    `beside`: side constraints that need not be expressed.
    """
    info = get_formulation(run.formulation).info
    if not (info.has_common_objective or Capability.THRESHOLD_SEARCH in info.capabilities):
        message = f"{refusal} but of trees with one column per split and a price for a leaf; "
        message += f"{info.title} has another objective. Solve with threshold-search."
        raise SettingsError("NO_VALUES", message, "formulation")
    refuse_coupled(set(run.constraints) - beside, refusal)


def _raw_values(run: Run, problem: Problem, j: int) -> np.ndarray | None:
    """Raw values of the rows of a problem in an encoded column; None where it has no order."""
    column = run.encoding.columns[j]
    if column.kind not in ORDERED or column.levels:
        return None
    values = run.needed.train.frame[column.raw].to_numpy(float)
    return values if problem.copies is None else values[problem.copies.row]
