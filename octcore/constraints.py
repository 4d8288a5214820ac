"""Side constraints: typed, checked once, and evaluated on any tree by routing rows.

A formulation declares which of them it can express; `Constraints.violations` is the common
referee that tests, warm starts and incumbents go through.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from octcore.errors import SettingsError
from octcore.parameters import unknown_name
from octcore.tree import topology
from octcore.tree.tree import Tree

FAIRNESS = (
    "statistical_parity",
    "equal_opportunity",
    "predictive_equality",
    "equalized_odds",
    "conditional_parity",
)
TOLERANCE = 1e-9
"""Shares of rows are ratios of counts; anything below this is rounding."""


@dataclass(frozen=True)
class Fairness:
    """A largest allowed difference between protected groups.

    Parameters
    ----------
    attribute : str
        Raw column that names the protected groups.
    max_gap : float
        Largest difference of the shares, in [0, 1].
    given : str or None
        Raw column whose levels are compared separately (conditional parity).
    """

    attribute: str
    max_gap: float
    given: str | None = None


@dataclass(frozen=True)
class Constraints:
    """Side constraints on a tree; None means "not asked for".

    Parameters
    ----------
    max_leaves, max_splits, min_samples_leaf : int or None
        Size limits.
    max_features : int or None
        Largest number of distinct raw features in the tree.
    forbidden_features : tuple of str
        Raw features that no split may test.
    forbidden_pairs : tuple of (str, str)
        Pairs of raw features that may not both be tested in the tree.
    root_feature : str or None
        Raw feature that the root must test.
    feature_once_per_path : bool
        Whether a raw feature may be tested once at most on every path.
    class_weight : mapping or "balanced" or None
        Weight of the rows of every class in the accuracy term.
    min_recall : mapping of str to float or None
        Smallest share of a class that must be classified correctly.
    statistical_parity, equal_opportunity, predictive_equality, equalized_odds, \
conditional_parity : Fairness or None
        Fairness limits.
    """

    max_leaves: int | None = None
    max_splits: int | None = None
    min_samples_leaf: int | None = None
    max_features: int | None = None
    forbidden_features: tuple[str, ...] = ()
    forbidden_pairs: tuple[tuple[str, str], ...] = ()
    root_feature: str | None = None
    feature_once_per_path: bool = False
    class_weight: Mapping[Any, float] | str | None = None
    min_recall: Mapping[Any, float] | None = None
    statistical_parity: Fairness | None = None
    equal_opportunity: Fairness | None = None
    predictive_equality: Fairness | None = None
    equalized_odds: Fairness | None = None
    conditional_parity: Fairness | None = None

    @property
    def active(self) -> frozenset[str]:
        """Names of the constraints that were asked for."""
        return frozenset(
            f.name for f in fields(self) if getattr(self, f.name) not in (None, (), False)
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
        """Check constraints given by name.

        Raises
        ------
        SettingsError
            For an unknown name or a value that makes no sense.
        """
        if isinstance(given, Constraints):
            return given
        names = [f.name for f in fields(cls)]
        checked: dict[str, Any] = {}
        for name, value in (given or {}).items():
            if name not in names:
                raise unknown_name("UNKNOWN_CONSTRAINT", "constraint", name, names, "octcore")
            if value is not None:
                checked[name] = _check(name, value)
        return cls(**checked)

    def to_dict(self) -> dict[str, Any]:
        """Return the active constraints as plain data; `parse` reads them back."""
        record: dict[str, Any] = {}
        for name in sorted(self.active):
            value = getattr(self, name)
            if isinstance(value, Fairness):
                value = {k: v for k, v in vars(value).items() if v is not None}
            elif isinstance(value, tuple):
                value = [list(v) if isinstance(v, tuple) else v for v in value]
            elif isinstance(value, Mapping):
                value = dict(value)
            record[name] = value
        return record


def _check(name: str, value: Any) -> Any:
    if name in {"max_leaves", "min_samples_leaf", "max_features", "max_splits"}:
        return _whole(name, value, 0 if name in {"max_splits", "max_features"} else 1)
    if name == "forbidden_features":
        return tuple(_strings(name, value))
    if name == "forbidden_pairs":
        return _pairs(value)
    if name == "root_feature":
        return str(value)
    if name == "feature_once_per_path":
        return str(value).lower() in {"true", "1", "yes", "on"}
    if name == "class_weight":
        if isinstance(value, str) and value != "balanced":
            raise SettingsError(
                "BAD_CONSTRAINT", f"class_weight is a mapping or 'balanced', not {value!r}.", name
            )
        return value if isinstance(value, str) else _shares(name, value, np.inf)
    if name == "min_recall":
        return _shares(name, value, 1.0)
    return _fairness(name, value)


def _whole(name: str, value: Any, low: int) -> int:
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = np.nan
    if isinstance(value, bool) or not np.isfinite(number) or number != int(number) or number < low:
        raise SettingsError(
            "BAD_CONSTRAINT",
            f"{name} must be a whole number of at least {low}, but {value!r} was given.",
            name,
        )
    return int(number)


def _strings(name: str, value: Any) -> Iterable[str]:
    if isinstance(value, str):
        value = value.split(",")
    if not isinstance(value, Iterable):
        raise SettingsError(
            "BAD_CONSTRAINT", f"{name} is a list of column names, not {value!r}.", name
        )
    return [str(v).strip() for v in value if str(v).strip()]


def _pairs(value: Any) -> tuple[tuple[str, str], ...]:
    if isinstance(value, str):
        value = [pair.split(":") for pair in value.split(",")]
    try:
        pairs = tuple((str(a).strip(), str(b).strip()) for a, b in value)
    except (TypeError, ValueError):
        raise SettingsError(
            "BAD_CONSTRAINT",
            f"forbidden_pairs is a list of pairs of column names, not {value!r}.",
            "forbidden_pairs",
        ) from None
    return pairs


def _shares(name: str, value: Any, high: float) -> dict[Any, float]:
    if not isinstance(value, Mapping) or not value:
        raise SettingsError(
            "BAD_CONSTRAINT", f"{name} maps classes to numbers, but {value!r} was given.", name
        )
    shares = {}
    for key, share in value.items():
        try:
            number = float(share)
        except (TypeError, ValueError):
            number = np.nan
        if not np.isfinite(number) or not 0 <= number <= high:
            raise SettingsError(
                "BAD_CONSTRAINT",
                f"{name} of class {key!r} must be a number in [0, {high:g}], not {share!r}.",
                name,
            )
        shares[key] = number
    return shares


def _fairness(name: str, value: Any) -> Fairness:
    if isinstance(value, Fairness):
        return value
    allowed = (
        {"attribute", "max_gap", "given"}
        if name == "conditional_parity"
        else {"attribute", "max_gap"}
    )
    if not isinstance(value, Mapping) or set(value) != allowed:
        raise SettingsError(
            "BAD_CONSTRAINT", f"{name} needs {sorted(allowed)}, but {value!r} was given.", name
        )
    gap = _shares(name, {"max_gap": value["max_gap"]}, 1.0)["max_gap"]
    given = value.get("given")
    return Fairness(str(value["attribute"]), gap, None if given is None else str(given))


@dataclass(frozen=True, eq=False)
class ConstraintContext:
    """What constraints refer to, resolved against the data in use.

    Parameters
    ----------
    X, y : numpy.ndarray
        Encoded training rows ``(n_samples, n_features)`` and class indices ``(n_samples,)``.
    groups : numpy.ndarray
        Raw feature index of every encoded column.
    raw_features : tuple of str
        Names of the raw features.
    classes : tuple
        Class labels in index order.
    attributes : mapping of str to numpy.ndarray
        Group codes of the rows for every raw column that a fairness limit names.
    positive_class : int
        Class index that counts as the favourable prediction.
    """

    X: np.ndarray
    y: np.ndarray
    groups: np.ndarray
    raw_features: tuple[str, ...]
    classes: tuple[Any, ...]
    attributes: Mapping[str, np.ndarray]
    positive_class: int

    def class_index(self, label: Any) -> int:
        """Index of a class label; labels given as text match by their text.

        Raises
        ------
        SettingsError
            If no class has the label.
        """
        for k, known in enumerate(self.classes):
            if known == label or str(known) == str(label):
                return k
        raise SettingsError(
            "UNKNOWN_CLASS", f"There is no class {label!r}; the classes are {list(self.classes)}."
        )

    def raw_index(self, name: str) -> int:
        """Index of a raw feature by name.

        Raises
        ------
        SettingsError
            If no feature has the name; near matches are named.
        """
        if name not in self.raw_features:
            raise unknown_name("UNKNOWN_COLUMN", "feature", name, self.raw_features, "the data")
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


def violations(constraints: Constraints, tree: Tree, context: ConstraintContext) -> tuple[str, ...]:
    """Say in words which constraints a tree breaks on the training rows; empty if none."""
    found = list(_size_violations(constraints, tree, context))
    found += _feature_violations(constraints, tree, context)
    if constraints.min_recall or constraints.fairness:
        found += _prediction_violations(constraints, tree, context)
    return tuple(found)


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
