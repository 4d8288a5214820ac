"""Two trees compared: where they differ, and what a condition costs."""

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from octcore.data.dataset import Dataset
from octcore.data.tasks import task_of
from octcore.encoding.base import Encoding
from octcore.formulations.base import accuracy_words, loss_unit
from octcore.plotting import text
from octcore.solving.run import SolvedRun
from octcore.solving.settings import class_weights
from octcore.tree import metrics
from octcore.tree.constraints import Constraints
from octcore.tree.tree import Tree

NOTHING = 1e-9  # differences of accuracy below this are rounding
ROUNDING = 1e-6  # of a last digit: less beyond it is rounding, too


@dataclass(frozen=True)
class Difference:
    """Where two trees differ."""

    before: frozenset[int]
    after: frozenset[int]
    """`before`, `after`: nodes of the first and the second tree that the other one does not have in
    this form."""
    rows: int  # training rows that get another prediction

    @property
    def words(self) -> str:
        """What differs, in a sentence."""
        if not self.before and not self.after:
            return "It is the same tree."
        rows, verb = text.count(self.rows, "training row"), "gets" if self.rows == 1 else "get"
        return f"Nodes with a dashed frame (≠) differ; {rows} {verb} another prediction."


def difference_data(
    before: tuple[Tree, Encoding], after: tuple[Tree, Encoding], data: Dataset
) -> Difference:
    """Compare two trees node by node, in the words of their encodings."""
    first, second = _forms(*before), _forms(*after)
    predictions = [
        tree.predict_codes(tree.encoded(encoding, data.frame)) for tree, encoding in (before, after)
    ]
    return Difference(
        frozenset(node for node, form in first.items() if second.get(node) != form),
        frozenset(node for node, form in second.items() if first.get(node) != form),
        int(np.sum(predictions[0] != predictions[1])),
    )


def _forms(tree: Tree, encoding: Encoding) -> dict[int, object]:
    """What stands at every node; equal forms mean equal tests or equal classes."""
    forms: dict[int, object] = {
        node: (
            tuple((encoding.names[j], f"{w:.9g}") for j, w in split.weights),
            f"{split.threshold:.9g}",
        )
        for node, split in tree.splits.items()
    }
    return forms | {leaf: ("leaf", code) for leaf, code in tree.labels.items()}


@dataclass(frozen=True)
class Price:
    """What a condition costs."""

    before: float
    after: float
    """`before`, `after`: accuracy, or the mean cost of a row where answers have costs; by the
    weights of the classes where both objectives have the same."""
    leaves: int  # leaves of the new tree minus leaves of the old one
    low: float | None
    high: float | None
    """`low`, `high`: range of the price in the objective; None where a bound is missing.  Equal
    when proven."""
    own_optima: bool | None = None
    """Where the objectives differ: whether each tree is optimal for its own; None where they are
    the same."""
    measure: str = "accuracy"
    unit: str = "points"  # `measure`, `unit`: see `accuracy_words` and `loss_unit`

    @property
    def of_costs(self) -> bool:
        """Whether answers have costs."""
        return self.measure.endswith("cost")

    @property
    def accuracy(self) -> float:
        """Accuracy lost; negative when the new tree is more accurate."""
        return self.before - self.after

    @property
    def is_proven(self) -> bool:
        """Whether no other pair of trees could give another price in the objective."""
        return self.low is not None and self.high is not None and self.high - self.low < 1e-9


def price_data(before: SolvedRun, after: SolvedRun, same_objective: bool = True) -> Price:
    """Compare two runs; with other class weights objectives differ."""
    settings = before.settings if same_objective else {**before.settings, "constraints": {}}
    old, new = (_worth(run, settings) for run in (before, after))
    low = high = None
    if before.is_optimal and before.objective is not None and after.objective is not None:
        high = before.objective - after.objective
        bound = after.objective if after.is_optimal else after.bound
        low = None if bound is None else before.objective - bound
        if _keeps_all(before.constraints, after.constraints):  # then it cannot gain
            low = max(0.0, low or 0.0)
    leaves, own = after.tree.n_leaves - before.tree.n_leaves, None
    if not same_objective:
        low, high, own = None, None, before.is_optimal and after.is_optimal
    words = accuracy_words(settings), loss_unit(settings)
    return Price(old, new, leaves, low, high, own, *words)


def _keeps_all(given: Mapping[str, Any], others: Mapping[str, Any]) -> bool:
    """Whether constraints are among others, whose lists may be longer."""
    kept = {n: others.get(n) for n in given}
    for name in (n for n, value in given.items() if isinstance(value, list)):
        kept[name] = [entry for entry in kept[name] or () if entry in given[name]]
    return kept == given


def _worth(run: SolvedRun, settings: Mapping[str, Any]) -> float:
    """Mean cost or accuracy on the training rows, which count alike or by their classes."""
    X, asked = run.tree.encoded(run.encoding, run.train.frame), run.asked
    y, classes = run.train.codes, run.train.classes
    weights = class_weights(Constraints.parse(settings.get("constraints")), y, classes)
    if not asked.has_task:
        return metrics.accuracy(run.tree, X, y, weights)
    task = task_of(asked.costs, asked.refer, classes)
    return task.mean_cost(y, run.tree.predict_codes(X), weights)


def price_words(price: Price, change: str) -> str:
    """State the price in points, or in costs of a row, and honestly what is proven about it."""
    of_costs = price.of_costs
    lost = price.after - price.before if of_costs else price.accuracy
    paid = ", paid for with leaves" * (lost < 0 < price.leaves)
    if abs(lost) < NOTHING:
        what = "only leaves" if price.leaves > 0 else "nothing"
        stays = f"{price.measure} stays {text.percent(price.after)}"
        stays = f"the answers cost {price.after:.4g} a row as before" if of_costs else stays
        first = f"{change} costs {what}: {stays}"
    elif of_costs:
        how = f"{'raises' if lost > 0 else 'lowers'} the cost of the answers by {abs(lost):.4g}"
        first = f"{change} {how} a row{paid}: {price.before:.4g} becomes {price.after:.4g}"
    else:
        points, before, after = text.points_between(price.before, price.after)
        how = f"{'costs' if lost > 0 else 'gains'} {points} {price.measure} points{paid}"
        first = f"{change} {how}: {before} becomes {after}"
    if price.leaves:
        number, word = abs(price.leaves), "more" if price.leaves > 0 else "fewer"
        first += f", with {number} {word} {'leaf' if number == 1 else 'leaves'}"
    return first + ". " + _proof_words(price)


def _proof_words(price: Price) -> str:
    if price.own_optima is not None:
        proof = "each proven optimal for its own weights" if price.own_optima else "not both proven"
        return f"The weights change what is optimised; the trees are {proof}."
    if price.is_proven:
        return "Both trees are proven optimal."
    if price.high is None:
        return "This is not proven: the tree to compare with has an open gap."
    # Rounded away from what they bound: tenths of a point, or four digits of another unit.
    of_shares = price.unit.endswith("points") and not price.of_costs
    unit, steps = (f" {price.unit}", 1000) if of_shares else ("", 10_000)
    low, high = (price.low or 0.0) * steps, price.high * steps
    low, high = math.floor(low + ROUNDING), math.ceil(high - ROUNDING)
    ends = (f"{end * 100 / steps:.1f}" if unit else f"{end / steps:g}" for end in (low, high))
    shown = [text.minus(end) for end in ends]
    least = f" It is at least {shown[0]} in any case." * (low > 0)
    return (
        "This is not proven: a better tree may exist, so the price in the objective is at most "
        f"{shown[1]}{unit}.{least}"
    )


def change_words(constraints: Mapping[str, Any]) -> str:
    """Name the conditions at the beginning of a sentence, in plain text."""
    joined = condition_words(constraints)
    return joined[0].upper() + joined[1:]


def condition_words(constraints: Mapping[str, Any]) -> str:
    """Name conditions within a sentence, such as "using at most 3 leaves and starting with age"."""
    parts = [_change(name, value) for name, value in constraints.items()]
    return _all(parts or ["no further condition"])


def _all(words: Iterable[object]) -> str:
    """Join words: ``a``, ``a and b``, ``a, b and c``."""
    *first, last = map(str, words)
    return f"{', '.join(first)} and {last}" if first else last


_WAYS = {"up": "only rise", "down": "only fall"}
_CHANGES: dict[str, Callable[[Any], str]] = {
    "forbidden_features": lambda names: f"dropping {_all(names)}",
    "root_feature": lambda name: f"starting with {name}",
    "forbidden_pairs": lambda pairs: (
        "not using " + " or ".join(f"{a} together with {b}" for a, b in pairs)
    ),
    "feature_once_per_path": lambda _: "testing no feature twice on a path",
    "monotone": lambda ways: (
        f"letting the prediction {_all(f'{_WAYS[way]} with {name}' for name, way in ways.items())}"
    ),
    "class_weight": lambda value: (
        "weighing all classes the same"
        if not isinstance(value, Mapping)
        else f"weighing {', '.join(f'{label} {w:g} times' for label, w in value.items())}"
    ),
    "min_recall": lambda floors: (
        f"getting at least {', '.join(f'{100 * s:g} % of {k}' for k, s in floors.items())} right"
    ),
    "max_features": lambda most: f"using at most {text.count(most, 'feature')}",
    "max_leaves": lambda most: f"using at most {text.count(most, 'leaf')}",
    "max_splits": lambda most: f"using at most {text.count(most, 'split')}",
    "min_samples_leaf": lambda least: f"asking for {least} rows in every leaf",
}
"""By name of a side constraint: what a value of it changes."""


def _change(name: str, value: Any) -> str:
    if name in _CHANGES:
        return _CHANGES[name](value)
    if isinstance(value, Mapping) and "attribute" in value:
        limit = f"{100 * float(value['max_gap']):g} points"
        level = f" at every level of {value['given']}" if value.get("given") else ""
        return f"keeping {name.replace('_', ' ')} of {value['attribute']}{level} within {limit}"
    return f"asking for {name.replace('_', ' ')}"
