"""What an answer costs: errors, a table of costs, and "ask a person" as an answer of its own.

A task is a table ``M[true class, answer]``.  With ``G[c, a] = max_a' M[c, a'] - M[c, a]`` a row of
class c and weight w is worth ``w G[c, a]`` to a leaf that answers a; so it stands as one copy for
every answer a, with label a and that weight.  The weight of the copies that a tree gets right is
``sum w max_a' M[c, a'] - cost``, and whatever maximises it (weights, bounds, cuts, equal rows)
needs to know nothing of costs.  Errors are ``M = 1 - I``, which changes no row.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from octcore.errors import SettingsError
from octcore.parameters import FloatRange, Parameter, as_fraction

ASK = "ask a person"  # the answer of a leaf that leaves its rows to a person
ORDINAL = "ordinal"
ORDINAL_WORDS = "a wrong class costs its distance from the right one in the order of the classes"
LARGEST = 1e6  # of a cost: beyond it one row would hide what a million others cost
FEW_WEIGHTS = 1000  # products of so many different weights with costs are rounded but once
LONGEST = 10**6  # denominator up to which a weight is a fraction; balanced ones are rows by rows
FEW_ROWS = 1000  # costs are read as fractions of so many rows at least, however few there are


@dataclass(frozen=True)
class CostTable(Parameter):
    """Costs by true class and answer, or the word "ordinal"; text is JSON or the word."""

    allowed, bracket = 'a table {true class: {answer: cost}}, or "ordinal"', "{"

    def _checked(self, value: Any) -> dict[str, dict[str, float]] | str | None:
        """Return the costs with labels as text; `task_of` holds them against the classes."""
        if value == ORDINAL:
            return value
        if not isinstance(value, Mapping) or not all(
            isinstance(row, Mapping) for row in value.values()
        ):
            raise self._refuse(value, "BAD_COSTS")
        checked = {
            str(true): {str(answer): self._cost(true, answer, cost) for answer, cost in row.items()}
            for true, row in value.items()
        }
        return checked or None

    def _cost(self, true: object, answer: object, cost: Any) -> float:
        between = FloatRange("cost", default=1.0, low=0.0, high=LARGEST)
        try:
            between.check(cost)
        except SettingsError as error:
            message = f"Answering {answer!r} where {true!r} is true costs {cost!r} in the table; "
            message += f"give {between.describe_range()}."
            raise SettingsError("BAD_COSTS", message, self.name) from error
        return float(cost)


COSTS = CostTable(
    "costs",
    help="What answering one class costs where another is true: 1 where nothing is said, 0 for the "
    "right answer. ordinal: the distance of the classes in their order.",
    label="Costs of errors",
)
REFER = FloatRange(
    "refer", low=0.0, high=LARGEST, label="Cost of asking a person",
    help="Cost of leaving a row to a person, which leaves may then answer; 0.2 is a fifth of an "
    "error.",
)  # fmt: skip
TASK: tuple[Parameter, ...] = (COSTS, REFER)  # what is asked of the answers


@dataclass(frozen=True, eq=False)
class Copies:
    """Rows of a task by answer."""

    row: np.ndarray
    label: np.ndarray  # with its row: which row it is, for which answer
    weight: np.ndarray
    count: np.ndarray  # 1 for the one copy of each row that leaf sizes count
    total: float  # weight of the rows themselves
    offset: float  # ``total - cost = weight of the copies that are right + offset``


@dataclass(frozen=True)
class Task:
    """What every answer costs where a class is true."""

    costs: tuple[tuple[Fraction, ...], ...]
    """By class and answer; the answers are the classes and, where one may ask, a person."""
    classes: tuple[Any, ...]

    @property
    def can_ask(self) -> bool:
        """Whether leaves may answer `ASK`."""
        return len(self.costs[0]) > len(self.classes)

    @property
    def answers(self) -> tuple[Any, ...]:
        """The classes and, where one may ask, `ASK`."""
        return (*self.classes, ASK) if self.can_ask else self.classes

    @cached_property
    def matrix(self) -> np.ndarray:
        """Costs as doubles, shape ``(n_classes, n_answers)``."""
        return np.array([[float(cost) for cost in row] for row in self.costs])

    @property
    def is_errors(self) -> bool:
        """Whether every wrong answer costs 1 and nobody can be asked."""
        return np.array_equal(self.matrix, 1.0 - np.eye(len(self.classes)))

    def copies(self, y: np.ndarray, weights: np.ndarray) -> Copies:
        """Write rows of these classes and weights as copies by answer.

        Of every row that of its own class comes first and counts it.
        """
        gains = [[max(row) - cost for cost in row] for row in self.costs]
        kinds, kind = np.unique(weights, return_inverse=True)
        if len(kinds) > FEW_WEIGHTS:
            worth = np.array(gains, float)[y] * weights[:, None]
        else:
            # Doubles of the exact products: .8 of 11671 has a digit after the point, and .8 of the
            # balanced weight 569/424 a denominator of four.
            exact = [_written(float(weight)) for weight in kinds]
            table = [[[float(gain * w) for gain in row] for row in gains] for w in exact]
            worth = np.array(table)[kind, y]
        own = np.zeros(worth.shape, bool)
        own[np.arange(len(y)), y] = True
        row, label = np.nonzero(own | (worth > 0))
        weight, count = worth[row, label], own[row, label].astype(np.int64)
        total = float(weights.sum())
        offset = total - float(weights @ self.matrix.max(axis=1)[y])
        return Copies(row, label, weight, count, total, offset)

    def mean_cost(
        self, y: np.ndarray, answers: np.ndarray, weights: np.ndarray | None = None
    ) -> float:
        """Mean cost of rows of some classes that got some answers (indices)."""
        return float(np.average(self.matrix[y, answers], weights=weights))

    @property
    def words(self) -> tuple[str, ...]:
        """Sentences about what is not an ordinary error."""
        n = len(self.classes)
        of_errors = [
            f"a {self.classes[c]!s} called {self.classes[a]!s} costs {float(cost):g}"
            for c, row in enumerate(self.costs)
            for a, cost in enumerate(row[:n])
            if a != c and cost != 1
        ]
        if n > 2 and [row[:n] for row in map(list, self.costs)] == ordinal(n):
            of_errors = [ORDINAL_WORDS]
        asking = [f"asking a person costs {float(self.costs[0][-1]):g}"] if self.can_ask else []
        return (*of_errors, *asking)


def _written(weight: float) -> Fraction:
    """The short fraction whose double a weight is, or else its digits."""
    short = Fraction(weight).limit_denominator(LONGEST)
    return short if float(short) == weight else Fraction(repr(weight))


def ordinal(n_classes: int) -> list[list[Fraction]]:
    """A wrong answer costs its distance from the true class, in the order of the classes."""
    return [[Fraction(abs(c - a)) for a in range(n_classes)] for c in range(n_classes)]


def cost_matrix(given: Mapping[str, Mapping[str, float]], classes: Sequence[Any]) -> list:
    """Errors, but for the answers that a table names.

    `SettingsError` for an unknown class, and for a right answer that costs something.
    """
    place = {str(label): k for k, label in enumerate(classes)}
    for label in (str(name) for true, row in given.items() for name in (true, *row)):
        if label not in place:
            message = f"The costs name the class {label!r}; the classes are {list(classes)}."
            raise SettingsError("UNKNOWN_CLASS", message, "costs")
    table = [[Fraction(c != a) for a in range(len(classes))] for c in range(len(classes))]
    for true, row in given.items():
        for answer, cost in row.items():
            if true == answer and cost != 0:
                raise SettingsError(
                    "BAD_COSTS",
                    f"The right answer {answer!r} costs {cost:g} in the table; it must cost 0.",
                    "costs",
                )
            table[place[str(true)]][place[str(answer)]] = as_fraction(cost, FEW_ROWS)
    return table


def task_of(
    costs: Mapping[str, Mapping[str, float]] | str | None,
    refer: float | None,
    classes: Sequence[Any],
) -> Task:
    """Make the task of checked settings.

    `SettingsError` if a table names no class of these, all answers cost nothing, or a class has the
    name of `ASK`.
    """
    if costs == ORDINAL:
        table = ordinal(len(classes))
    else:
        table = cost_matrix(costs or {}, classes)  # type: ignore[arg-type]
    if len(classes) > 1 and not any(map(any, table)):
        message = "No answer costs anything; give some wrong answer a cost."
        raise SettingsError("BAD_COSTS", message, "costs")
    if ASK in map(str, classes):
        message = f"A class is called {ASK!r}, as the answer of asking; rename the class."
        raise SettingsError("BAD_COSTS", message, "refer")
    if refer is not None:
        table = [[*row, as_fraction(refer, FEW_ROWS)] for row in table]
    return Task(tuple(map(tuple, table)), tuple(classes))
