"""What the formulations on binary features share: the objective, its scale, and decoding.

The published objectives are one function on two scales (weights ``W = sum_i w_i``)::

    accuracy - leaf_penalty * leaves   = (hits - a * leaves) / W,            a = W leaf_penalty
    (1 - l) * hits - l * splits        = (1 - l) (hits - a * leaves) + l,    a = l / (1 - l)

with ``l = split_weight``, so every model of the family may maximise the *count value*
``hits - a * leaves``.  Where answers have costs, ``hits + offset = W - cost`` (`data/tasks.py`),
so that the objective is ``1 - mean cost - leaf_penalty * leaves``.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from octcore.formulations.shared.constraint_kinds import fixes_labels
from octcore.parameters import FloatRange, fraction_in_words
from octcore.program import Problem, Program, Sense
from octcore.tree import metrics, topology
from octcore.tree.tree import Split, Tree, grown
from octcore.warmstart.amending import drop_idle_splits

LEAF_PENALTY = FloatRange(
    "leaf_penalty",
    default=0.01,
    symbol="λ",
    help="Price of a leaf in accuracy; a larger value gives a smaller tree.",
    low=0.0,
    high=1.0,
    high_open=True,
)
SPLIT_WEIGHT = FloatRange(
    "split_weight",
    default=None,
    symbol="λ₃",
    help="Weight of the number of splits against the number of correct rows; instead of "
    "leaf_penalty, as in the FlowOCT paper.",
    low=0.0,
    high=1.0,
    high_open=True,
    advanced=True,
)
REGULARISERS = (LEAF_PENALTY, SPLIT_WEIGHT)
INTEGER_TOLERANCE = 1e-9  # counts below a million are exact in double precision far beyond this
SMALLEST_STEP = 1e-9
"""Share of an objective; of a smaller step its rounding, 1e-16, is so much that a bound one step
away could look nearer."""


@dataclass(frozen=True, eq=False)
class UnivariateObjective:
    """Objective of a problem of the univariate family."""

    problem: Problem  # the problem; `split_weight` may be missing from its params

    @property
    def split_weight(self) -> float | None:
        """The FlowOCT paper's weight, None when leaves are penalised."""
        return None if self.problem.params.get("split_weight") is None else float(self.price)

    @cached_property
    def price(self) -> Fraction:
        """The regulariser that is used, `split_weight` or `leaf_penalty`, as it is read."""
        by_weight = self.problem.params.get("split_weight")
        given = self.problem.params["leaf_penalty"] if by_weight is None else by_weight
        read = self.problem.fraction(given)
        return read if read < 1 else Fraction(given)  # a weight of 1 would have no price

    @property
    def reading(self) -> tuple[str, ...]:
        """What the certificate says about the price; nothing where there is none."""
        what = "price of a leaf" if self.split_weight is None else "weight of the splits"
        return (f"the {what} is {fraction_in_words(self.price)}",) if self.price else ()

    @cached_property
    def weight_right(self) -> float:
        """Weight of the rows that a tree without errors gets right, with all copies."""
        return float(self.problem.weights.sum())

    @property
    def penalty(self) -> float:
        """Price of a leaf on the count scale."""
        if self.split_weight is not None:
            return float(self.price / (1 - self.price))
        return float(self.price * Fraction(self.problem.total_weight))

    @property
    def scale(self) -> float:
        """``objective = scale * count_value + shift``."""
        return 1 / self.problem.total_weight if self.split_weight is None else 1 - self.split_weight

    @property
    def shift(self) -> float:
        """See `scale`."""
        return self.scale * self.problem.offset + (self.split_weight or 0.0)

    def program(self, **own: Any) -> Program:
        """Make a program with this objective from what a formulation adds to it."""
        common = {
            "sense": Sense.MAXIMISE,
            "evaluate": self.evaluate,
            "scale": self.scale,
            "shift": self.shift,
            "granularity": self.granularity,
            "claims": self.reading,
            "span": self.scale * self.weight_right,
            "reach": self.reach,
        }
        return Program(**{**common, **own})

    def from_count(self, value: float) -> float:
        """Objective of a count value."""
        return self.scale * value + self.shift

    def to_count(self, objective: float) -> float:
        """Count value of an objective."""
        return (objective - self.shift) / self.scale

    def of(self, tree: Tree) -> float:
        """Objective of a tree, whether or not it keeps the side constraints."""
        hit = tree.predict_codes(self.problem.X) == self.problem.y
        correct = float(self.problem.weights[hit].sum()) + self.problem.offset
        if self.split_weight is not None:
            return (1 - self.split_weight) * correct - self.split_weight * tree.n_splits
        return correct / self.problem.total_weight - float(self.price) * tree.n_leaves

    def evaluate(self, tree: Tree) -> float | None:
        """Objective by routing all rows; None for a tree that breaks a side constraint."""
        return self.of(tree) if self.problem.admits(tree) else None

    @property
    def granularity(self) -> float:
        """Smallest positive difference of two objective values; 0 when there is none to rely on."""
        # More leaves than rows are never of use: one of them would be empty.
        most = min(2**self.problem.depth, self.problem.n_samples) - 1
        unit = weight_unit(self.problem.weights)
        step = self.scale * smallest_step(unit, self.penalty, most)
        size = abs(self.shift) + self.scale * self.weight_right
        return step if step > SMALLEST_STEP * size else 0.0

    @cached_property
    def reach(self) -> float:
        """Objective that no tree exceeds, since every leaf names one class only."""
        problem = self.problem
        leaves = min(2**problem.depth, problem.constraints.leaf_limit or 2**problem.depth)
        rows = np.bincount(problem.y, problem.weights, problem.n_classes)
        named = np.cumsum(np.sort(rows)[::-1])[:leaves]
        return self.from_count(float((named - self.penalty * np.arange(1, len(named) + 1)).max()))

    @cached_property
    def ceiling(self) -> float:
        """Objective of a single leaf as accurate as conflicting identical rows allow."""
        problem = self.problem
        X = problem.X[:, ~problem.forbidden_columns]
        wrong = metrics.conflict_errors(X, problem.y, problem.weights)
        return self.from_count(self.weight_right - wrong - self.penalty)


def weight_unit(weights: np.ndarray) -> float:
    """Largest number of which all positive weights are whole multiples; 0 if there is none."""
    positive = np.unique(weights[weights > 0])
    if not len(positive):
        return 0.0
    # Whole numbers have to be whole exactly: 1e-9 is no multiple of 1.
    base = 1.0 if (positive == np.round(positive)).all() else float(positive[0])
    multiples = positive / base
    if np.abs(multiples - np.round(multiples)).max() > INTEGER_TOLERANCE:
        return 0.0
    return base * math.gcd(*(round(float(m)) for m in multiples))


def smallest_step(unit: float, price: float, most: int) -> float:
    """Smallest positive ``|k * unit - n * price|`` over whole k, and n from 0 to `most`."""
    if unit <= 0:
        return 0.0
    rest = price * np.arange(most + 1) % unit
    distances = np.concatenate([rest, unit - rest])
    # Less is rounding of weights and prices.
    return float(distances[distances > INTEGER_TOLERANCE * unit].min(initial=unit))


def decode(
    feature_of: Callable[[int], int | None],
    label_of: Callable[[int], int],
    problem: Problem,
    threshold_of: Callable[[int], float] = lambda node: 0.5,
) -> Tree:
    """Read a tree from the root; nothing below a leaf is looked at.

    `feature_of`: encoded column that a branch node tests; None where the node is a leaf.
    `label_of`: class index of a leaf.
    `threshold_of`: threshold of a branch node; by default that between 0 and 1.
    """

    def part(node: int) -> int | tuple[Split, int, int]:
        feature = feature_of(node) if topology.node_depth(node) < problem.depth else None
        if feature is None:
            return label_of(node)
        return Split.on_feature(feature, threshold_of(node)), *topology.children(node)

    return Tree(*grown(1, part), problem.n_features, problem.n_classes)


def read_splits(
    feature_of: Callable[[int], int | None],
    label_of: Callable[[int], int],
    problem: Problem,
    threshold_of: Callable[[int], float] | None = None,
) -> Tree:
    """Decode a tree, without idle splits.

    Leaves are labelled by majority, unless a side constraint makes labels part of the solution.
    Thresholds of numbers move to the middle between the nearest rows.
    """
    tree = decode(feature_of, label_of, problem, threshold_of or (lambda node: 0.5))
    if not fixes_labels(problem):
        rows = problem.X, problem.y, problem.weights
        tree = tree.with_labels(metrics.majority_labels(tree, *rows))
    tree = drop_idle_splits(tree, problem)
    return tree if threshold_of is None else metrics.centre_thresholds(tree, problem.X)
