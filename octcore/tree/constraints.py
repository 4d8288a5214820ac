"""Side constraints: declared and checked once, and evaluated on any tree by routing rows.

`SIDE_CONSTRAINTS` declares them for form, command line and documentation.  A formulation says
which of them it can express; `violations` is the common referee that tests, warm starts and
incumbents go through.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from octcore.data.distinct import grouped
from octcore.errors import SettingsError
from octcore.parameters import (
    ByClass,
    Column,
    Directions,
    Flag,
    FloatRange,
    IntRange,
    NamePairs,
    Names,
    Parameter,
    looked_up,
)
from octcore.tree import topology
from octcore.tree.tree import Tree

TOLERANCE = 1e-9  # shares of rows are ratios of counts; anything below this is rounding


@dataclass(frozen=True)
class Fairness:
    """A largest allowed difference between protected groups."""

    attribute: str  # raw column that names the protected groups
    max_gap: float  # largest difference of the shares, in [0, 1]
    given: str | None = None  # raw column whose levels are compared separately (conditional parity)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data; `ParityLimit.check` reads it back."""
        return {name: value for name, value in vars(self).items() if value is not None}


MAX_GAP = FloatRange(
    "max_gap", 0.1, low=0.0, high=1.0, label="Largest difference",
    help="Largest difference of the shares between groups, in [0, 1].",
)  # fmt: skip


@dataclass(frozen=True)
class ParityLimit(Parameter):
    """A limit on the difference between groups; text is JSON or ``attribute:max_gap[:given]``."""

    has_given: bool = False  # whether levels of another column are compared separately
    bracket = "{"

    def _checked(self, value: Any) -> Fairness:
        if isinstance(value, Fairness):
            return value
        names = ["attribute", "max_gap", *(["given"] if self.has_given else [])]
        if not isinstance(value, Mapping) or set(value) != set(names):
            raise self._refuse(value, "BAD_CONSTRAINT")
        gap, given = MAX_GAP.check(value["max_gap"]), value.get("given")
        return Fairness(str(value["attribute"]), gap, None if given is None else str(given))

    def parse(self, text: str) -> object:
        """Read JSON, or the parts between colons."""
        if ":" in text and text[0] != "{":
            names = ("attribute", "max_gap", "given")
            return self.check(dict(zip(names, text.split(":"), strict=False)))
        return super().parse(text)

    def to_text(self, value: Any) -> str:
        """Write JSON: names may hold colons."""
        return super().to_text(value.to_dict() if isinstance(value, Fairness) else value)

    def describe_range(self) -> str:
        """Say what is expected."""
        given, third = (", given: another column", ":region") if self.has_given else ("", "")
        words = f"attribute: a column, max_gap: a share in [0, 1]{given}"
        return f"{words}, such as sex:0.1{third}"


SIDE_CONSTRAINTS: tuple[Parameter, ...] = (
    IntRange("max_leaves", help="Largest number of leaves of the tree.", low=1,
             label="Most leaves"),
    IntRange("max_splits", help="Largest number of branch nodes of the tree.", low=0,
             label="Most splits"),
    IntRange("min_samples_leaf", help="Fewest training rows that a leaf may have.", low=1,
             label="Smallest leaf (rows)"),
    IntRange("max_features", help="Largest number of different raw columns in the tree.", low=0,
             label="Most features"),
    Names("forbidden_features", help="Raw columns that no split may test.",
          label="Forbidden features"),
    Column("root_feature", help="Raw column that the root must test.",
           label="Feature at the root"),
    NamePairs("forbidden_pairs", label="Pairs not together",
              help="Pairs of raw columns of which the tree may test one at most."),
    Flag("feature_once_per_path", default=False, label="Each feature at most once on a path",
         help="Whether a raw column may be tested once at most on every path."),
    Directions("monotone", label="One way only",
               help="Columns along which the prediction may only rise, or only fall: towards the "
               "positive class of two, or along the order of the classes."),
    ByClass("min_recall", label="Least recall of a class on the training rows", high=1.0,
            help="Smallest share of the training rows of a class that must get their class."),
    ParityLimit("statistical_parity", help="Groups are predicted positive equally often."),
    ParityLimit("equal_opportunity",
                help="Rows that are positive are found equally often in all groups."),
    ParityLimit("predictive_equality",
                help="Rows that are negative raise equally few false alarms in all groups."),
    ParityLimit("equalized_odds", help="Equal opportunity and predictive equality at once."),
    ParityLimit("conditional_parity", has_given=True,
                help="Statistical parity within every level of another column."),
)  # fmt: skip
"""What a tree can be asked for beside the objective."""
CLASS_WEIGHT = ByClass(
    "class_weight", label="Class weights", words=("balanced",),
    help="Balanced: every class counts the same in the accuracy. One for every class: rows of "
    "a class count so many times.",
)  # fmt: skip
"""Weights of the rows.  It rules out no tree, but is given among the side constraints; what is
built from a `Problem` never sees it there, only the weights."""
ACCEPTED = (*SIDE_CONSTRAINTS, CLASS_WEIGHT)
FAIRNESS = tuple(p.name for p in SIDE_CONSTRAINTS if isinstance(p, ParityLimit))
BY_SUBTREE = frozenset({
    "max_leaves", "max_splits", "min_samples_leaf", "forbidden_features", "root_feature",
    "class_weight",
})  # fmt: skip
"""Constraints that tie no two subtrees together: these can be searched, or counted, apart."""
_BY_NAME = {parameter.name: parameter for parameter in ACCEPTED}


def side_constraint(name: str) -> Parameter:
    """Find the declaration of a side constraint, or of `class_weight`.

    `SettingsError` if there is none; near matches are named.
    """
    return looked_up("UNKNOWN_CONSTRAINT", "constraint", name, _BY_NAME, "octcore")


@dataclass(frozen=True)
class Constraints:
    """Side constraints on a tree, as `ACCEPTED` declares them; None means "not asked for"."""

    max_leaves: int | None = None
    max_splits: int | None = None
    min_samples_leaf: int | None = None
    max_features: int | None = None
    forbidden_features: tuple[str, ...] = ()
    forbidden_pairs: tuple[tuple[str, str], ...] = ()
    root_feature: str | None = None
    feature_once_per_path: bool = False
    class_weight: Mapping[Any, float] | str | None = None
    monotone: Mapping[str, str] | None = None
    min_recall: Mapping[Any, float] | None = None
    statistical_parity: Fairness | None = None
    equal_opportunity: Fairness | None = None
    predictive_equality: Fairness | None = None
    equalized_odds: Fairness | None = None
    conditional_parity: Fairness | None = None

    @property
    def active(self) -> frozenset[str]:
        """Names of the constraints that were asked for; a limit of 0 is one."""
        # 0 asks for something; None, False and no names at all do not.
        return frozenset(
            n for n, v in vars(self).items() if not (v is None or v is False or v == ())
        )

    @property
    def fairness(self) -> tuple[tuple[str, Fairness], ...]:
        """Active fairness limits by name."""
        return tuple((n, getattr(self, n)) for n in FAIRNESS if getattr(self, n) is not None)

    @property
    def leaf_limit(self) -> int | None:
        """The tighter of `max_leaves` and `max_splits` + 1."""
        limits = [self.max_leaves, None if self.max_splits is None else self.max_splits + 1]
        return min((limit for limit in limits if limit is not None), default=None)

    @classmethod
    def parse(cls, given: Mapping[str, Any] | Constraints | None) -> Constraints:
        """Check constraints given by name; `SettingsError` for an unknown one or a wrong value."""
        if isinstance(given, Constraints):
            return given
        # None is "not asked for" by whatever name, but the name must be one.
        asked = [(side_constraint(name), value) for name, value in (given or {}).items()]
        checked: dict[str, Any] = {p.name: p.check(v) for p, v in asked if v is not None}
        return cls(**{name: value for name, value in checked.items() if value is not None})

    def to_dict(self) -> dict[str, Any]:
        """Return the active constraints as plain data; `parse` reads them back."""
        record: dict[str, Any] = {}
        for name in sorted(self.active):
            value = getattr(self, name)
            if isinstance(value, Fairness):
                value = value.to_dict()
            elif isinstance(value, tuple):
                value = [list(v) if isinstance(v, tuple) else v for v in value]
            elif isinstance(value, Mapping):
                value = dict(value)
            record[name] = value
        return record


@dataclass(frozen=True, eq=False)
class ConstraintContext:
    """What constraints refer to, resolved against the data in use."""

    X: np.ndarray
    y: np.ndarray
    """`X`, `y`: encoded training rows ``(n_samples, n_features)`` and class indices
    ``(n_samples,)``."""
    groups: np.ndarray  # raw feature index of every encoded column
    raw_features: tuple[str, ...]
    classes: tuple[Any, ...]  # class labels in index order
    attributes: Mapping[str, np.ndarray]
    """Codes of the rows for every raw column that a fairness limit names (its groups), or a
    direction (ranks)."""
    positive_class: int  # class index that counts as the favourable prediction

    def class_index(self, label: Any) -> int:
        """Index of a class label, also by its text; `SettingsError` if no class has it."""
        for k, known in enumerate(self.classes):
            if known == label or str(known) == str(label):
                return k
        message = f"There is no class {label!r}; the classes are {list(self.classes)}."
        raise SettingsError("UNKNOWN_CLASS", message)

    def raw_index(self, name: str) -> int:
        """Index of a raw feature, which was looked for before anything was built."""
        return self.raw_features.index(name)


def parity_cells(
    name: str, limit: Fairness, context: ConstraintContext
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Pairs of row masks whose shares of positive predictions may differ by `max_gap` at most.

    Empty groups give no pair.  Each mask has shape ``(n_samples,)``.
    """
    codes = context.attributes[limit.attribute]
    positive = context.y == context.positive_class
    strata = {
        "statistical_parity": [np.ones(len(codes), dtype=bool)],
        "equal_opportunity": [positive],
        "predictive_equality": [~positive],
        "equalized_odds": [positive, ~positive],
    }.get(name)
    if strata is None:
        given = context.attributes[str(limit.given)]
        strata = [given == level for level in np.unique(given)]
    pairs = []
    for stratum in strata:
        cells = [stratum & (codes == g) for g in np.unique(codes)]
        cells = [cell for cell in cells if cell.any()]
        pairs += [(a, b) for i, a in enumerate(cells) for b in cells[i + 1 :]]
    return pairs


def violations(
    constraints: Constraints, tree: Tree, context: ConstraintContext, of_shape: bool = False
) -> tuple[str, ...]:
    """Say in words which constraints a tree breaks on the training rows; empty if none.

    `of_shape`: whether those on recalls and between groups are left out.
    """
    found = list(_size_violations(constraints, tree, context))
    found += _feature_violations(constraints, tree, context)
    for name, way in (constraints.monotone or {}).items():
        if not is_monotone(tree, context, name, way):
            wrong = "falls" if way == "up" else "rises"
            found.append(f"the prediction {wrong} somewhere where {name} rises")
    if not of_shape and (constraints.min_recall or constraints.fairness):
        found += _prediction_violations(constraints, tree, context)
    return tuple(found)


def is_monotone(tree: Tree, context: ConstraintContext, name: str, way: str) -> bool:
    """Whether a tree of splits on one column predicts no less ("up") where a column rises.

    That holds for all rows that could be, not only for those at hand: of two leaves which a row
    can change between by a rise of this column alone, the upper one predicts no less.
    """
    own = context.raw_index(name)
    nodes_of = grouped((int(context.groups[s.features[0]]), m) for m, s in tree.splits.items())
    if own not in nodes_of:
        return True
    # Of every column the ways to pass its splits; a value between two others passes like one.
    passed, lowest, highest = {}, np.zeros(0), np.zeros(0)
    for raw, nodes in nodes_of.items():
        sides = {m: tree.splits[m].goes_right(context.X) for m in nodes}
        number = np.zeros(len(context.X), dtype=int)
        for side in sides.values():  # many trees are asked: counting is quicker than to sort rows
            number = 2 * number + side
            number = (np.cumsum(np.bincount(number) > 0) - 1)[number]
        row = np.zeros(number.max() + 1, dtype=int)
        row[number] = np.arange(len(number))  # one that passes so
        passed[raw] = {m: side[row] for m, side in sides.items()}
        if raw == own:
            codes = context.attributes[name]
            lowest, highest = np.full(len(row), codes.max()), np.full(len(row), codes.min())
            np.minimum.at(lowest, number, codes)
            np.maximum.at(highest, number, codes)
    allowed = {leaf: _ways_to(leaf, passed) for leaf in tree.labels}
    sign = 1 if way == "up" else -1

    def rank(leaf: int) -> int:
        label = tree.labels[leaf]
        return sign * (label if len(context.classes) > 2 else label == context.positive_class)

    for low, at_low in allowed.items():
        for high, at_high in allowed.items():
            if rank(low) <= rank(high) or not (at_low[own].any() and at_high[own].any()):
                continue
            rises = lowest[at_low[own]].min() < highest[at_high[own]].max()
            others = (at_low[raw] & at_high[raw] for raw in passed if raw != own)
            if rises and all(both.any() for both in others):
                return False
    return True


def _ways_to(leaf: int, passed: Mapping[int, Mapping[int, np.ndarray]]) -> dict[int, np.ndarray]:
    """Which of the ways to pass the splits of every column lead to a leaf."""
    above = {node: bool(child & 1) for node, child in topology.path(leaf)}
    found = {}
    for raw, sides in passed.items():
        ways = np.ones(len(next(iter(sides.values()))), dtype=bool)
        for node, right in sides.items():
            if node in above:
                ways &= right == above[node]
        found[raw] = ways
    return found


def _size_violations(
    constraints: Constraints, tree: Tree, context: ConstraintContext
) -> Iterable[str]:
    limit = constraints.leaf_limit
    if limit is not None and tree.n_leaves > limit:
        yield f"{tree.n_leaves} leaves, at most {limit} are allowed"
    if constraints.min_samples_leaf is not None:
        sizes = np.bincount(tree.apply(context.X), minlength=2 ** (tree.max_depth + 1))
        smallest = min(int(sizes[leaf]) for leaf in tree.labels)
        if smallest < constraints.min_samples_leaf:
            yield f"a leaf of {smallest} rows, at least {constraints.min_samples_leaf} are needed"


def _feature_violations(
    constraints: Constraints, tree: Tree, context: ConstraintContext
) -> Iterable[str]:
    by_node = {m: {int(context.groups[j]) for j in s.features} for m, s in tree.splits.items()}
    used = set().union(*by_node.values()) if by_node else set()
    if constraints.max_features is not None and len(used) > constraints.max_features:
        yield f"{len(used)} features, at most {constraints.max_features} are allowed"
    for name in constraints.forbidden_features:
        if context.raw_index(name) in used:
            yield f"{name} is tested, but forbidden"
    for first, second in constraints.forbidden_pairs:
        if {context.raw_index(first), context.raw_index(second)} <= used:
            yield f"{first} and {second} are both tested"
    if constraints.root_feature is not None:
        wanted = context.raw_index(constraints.root_feature)
        if wanted not in by_node.get(1, set()):
            yield f"the root does not test {constraints.root_feature}"
        elif len(np.unique(tree.splits[1].goes_right(context.X))) < 2:
            yield f"the root sends all rows to one side of {constraints.root_feature}"
    if constraints.feature_once_per_path:
        for leaf in tree.labels:
            tested = [raw for m in topology.ancestors(leaf) for raw in by_node[m]]
            if len(tested) != len(set(tested)):
                yield f"a feature is tested twice on the path to leaf {leaf}"
                break


def _prediction_violations(
    constraints: Constraints, tree: Tree, context: ConstraintContext
) -> Iterable[str]:
    predicted = tree.predict_codes(context.X)
    for label, floor in (constraints.min_recall or {}).items():
        k = context.class_index(label)
        rows = context.y == k
        if rows.any() and (predicted[rows] == k).mean() < floor - TOLERANCE:
            yield f"recall of {label} is {(predicted[rows] == k).mean():.4f}, below {floor:g}"
    positive = predicted == context.positive_class
    for name, limit in constraints.fairness:
        for a, b in parity_cells(name, limit, context):
            gap = abs(positive[a].mean() - positive[b].mean())
            if gap > limit.max_gap + TOLERANCE:
                yield f"{name} gap is {gap:.4f}, above {limit.max_gap:g}"
                break
