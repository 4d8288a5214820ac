"""The claim of a run as plain values: its rows encoded and routed again, its bound searched again.

Rows are encoded from the raw table and the description of the encoding that a run stores.

A search that is asked again to prove the bound is not trusted, and knows the claim: it looks for
states that cover all trees and reach the bound.  What it yields is checked by the proofs of its
formulation; a tree that it meets and that is better than the bound refutes the claim.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from octcore.errors import OctError
from octcore.tree.tree import Tree
from octcore.verification.base import Guard, NotProvenError, WrongError

Array = np.ndarray
FAIRNESS = (
    "statistical_parity", "equal_opportunity", "predictive_equality", "equalized_odds",
    "conditional_parity",
)  # fmt: skip
MOST_COMBINATIONS = 100_000
"""Of values of the columns of a tree, which are sent through it to see where it rises."""
SHARE_TOLERANCE = 1e-9  # shares of rows are ratios of counts; anything below this is rounding


@dataclass(frozen=True, eq=False)
class Claim:
    """What a run says, and the rows and rules that it says it about."""

    formulation: str
    status: str
    method: str  # `formulation`, `status`, `method`: as in the run and its certificate
    objective: float | None
    bound: float | None  # `objective`, `bound`: as claimed, in the formulation's own sense
    tree: Any  # in encoded columns; only its splits and labels are read
    X: Array
    y: Array
    weights: Array
    """`X`, `y`, `weights`: encoded training rows ``(n_samples, n_features)``, class indices and
    weights."""
    n_classes: int
    depth: int  # `n_classes`, `depth`: number of classes and largest depth
    params: Mapping[str, Any]
    limits: Mapping[str, Any]
    """`params`, `limits`: hyperparameters and side constraints, as stored with the run."""
    group: Array  # raw feature of every encoded column
    raw_features: tuple[str, ...]
    classes: tuple[Any, ...]
    positive_class: int  # class whose share is compared between groups
    attributes: Mapping[str, Array] = field(default_factory=dict)
    """Group codes of the rows by raw column, for fairness limits; ranks of its values for a
    direction."""
    values: Mapping[str, Any] = field(default_factory=dict)
    """Results beside the tree, as stored with the run: among them what a proof is made of."""
    prove: Callable[[float, Callable[[], None]], Iterator[Any]] | None = None
    """``prove(bound, guard)``: seconds that it may take, then steps of a proof of a bound."""
    table: Array | None = None
    """What every answer costs where a class is true, ``(n_classes, n_answers)``: the answers are
    the classes and perhaps a person's.  None where every wrong class costs 1."""

    @property
    def total(self) -> float:
        """Weight of all rows."""
        return float(self.weights.sum())

    @cached_property
    def costs(self) -> Array:
        """`table`, or that of errors."""
        return 1.0 - np.eye(self.n_classes) if self.table is None else self.table

    @cached_property
    def of_rows(self) -> Array:
        """Cost of every answer to every row, shape ``(n_samples, n_answers)``."""
        return self.weights[:, None] * self.costs[self.y]

    @cached_property
    def gains(self) -> Array:
        """What every answer to a row saves against the dearest, ``(n_samples, n_answers)``.

        Without costs these are weights by class.
        """
        return self.weights[:, None] * (self.costs.max(axis=1, keepdims=True) - self.costs)[self.y]

    @cached_property
    def span(self) -> float:
        """Sum of all gains, of which searches keep a share as their tolerance."""
        return float(self.gains.sum())

    @cached_property
    def surplus(self) -> float:
        """``gains that a tree misses = cost of its answers + surplus``."""
        most = self.costs.max(axis=1)
        apart = (most[:, None] - self.costs).sum(axis=1) - most
        return float((self.weights * apart[self.y]).sum())

    @property
    def leaf_limit(self) -> int:
        """Largest number of leaves."""
        limits = [2**self.depth]
        if self.limits.get("max_leaves") is not None:
            limits.append(int(self.limits["max_leaves"]))
        if self.limits.get("max_splits") is not None:
            limits.append(int(self.limits["max_splits"]) + 1)
        return min(limits)

    @property
    def least_rows(self) -> int:
        """Smallest number of rows in a leaf: leaves without rows are none."""
        return max(1, int(self.limits.get("min_samples_leaf") or 1))

    @property
    def columns(self) -> Array:
        """Encoded columns that may be tested."""
        banned = self.raw_indices(self.limits.get("forbidden_features") or ())
        return np.flatnonzero(~np.isin(self.group, banned))

    def raw_indices(self, names: Any) -> list[int]:
        """Indices of raw features by name."""
        return [self.raw_features.index(str(name)) for name in names]

    def class_index(self, label: Any) -> int:
        """Index of a class label, which may be written as text."""
        return [str(known) for known in self.classes].index(str(label))

    @property
    def recalls(self) -> list[tuple[int, float]]:
        """Classes with a floor on their recall, and the floors."""
        floors = self.limits.get("min_recall") or {}
        return [(self.class_index(label), float(floor)) for label, floor in floors.items()]

    @property
    def parities(self) -> list[tuple[Array, Array, float]]:
        """Pairs of groups of rows and the largest gap of their shares of positive predictions."""
        return [
            (a, b, float(self.limits[name]["max_gap"]))
            for name in FAIRNESS
            if self.limits.get(name)
            for cells in self._cells(name, self.limits[name])
            for i, a in enumerate(cells)
            for b in cells[i + 1 :]
        ]

    def _cells(self, name: str, limit: Mapping[str, Any]) -> list[list[Array]]:
        codes = self.attributes[limit["attribute"]]
        positive = self.y == self.positive_class
        if name == "conditional_parity":
            given = self.attributes[limit["given"]]
            strata = [given == level for level in np.unique(given)]
        else:
            strata = {
                "statistical_parity": [np.ones(len(codes), dtype=bool)],
                "equal_opportunity": [positive],
                "predictive_equality": [~positive],
                "equalized_odds": [positive, ~positive],
            }[name]
        cells = [[stratum & (codes == g) for g in np.unique(codes)] for stratum in strata]
        return [[cell for cell in of_stratum if cell.any()] for of_stratum in cells]


@dataclass(frozen=True, eq=False)
class Routed:
    """A tree with the rows sent through it."""

    leaf: Array
    predicted: Array
    """`leaf`, `predicted`: leaf and predicted class of every row, shape ``(n_samples,)``."""
    rows: Mapping[int, Array]


def scores(split: Any, X: Array) -> Array:
    """``w.x`` of a split for some rows, in the order of its columns."""
    found = np.zeros(len(X))
    for j, weight in split.weights:
        found += weight * X[:, j].astype(float)
    return found


def route(tree: Any, X: Array) -> Routed:
    """Send every row left where ``w.x <= threshold`` and right elsewhere."""
    leaf = np.zeros(len(X), dtype=int)
    predicted = np.zeros(len(X), dtype=int)
    visits: dict[int, Array] = {}
    waiting = [(1, np.arange(len(X)))]
    while waiting:
        node, rows = waiting.pop()
        if node in tree.labels:
            leaf[rows], predicted[rows] = node, tree.labels[node]
            continue
        visits[node] = rows
        right = scores(tree.splits[node], X[rows]) > tree.splits[node].threshold
        waiting += [(2 * node, rows[~right]), (2 * node + 1, rows[right])]
    return Routed(leaf, predicted, visits)


def broken_rules(claim: Claim, routed: Routed, guard: Callable[[], None]) -> list[str]:
    """Say which side constraints the claimed tree breaks."""
    tree, limits = claim.tree, claim.limits
    used = {m: {int(claim.group[j]) for j, _ in s.weights} for m, s in tree.splits.items()}
    everything = set().union(*used.values())
    broken = []
    if max(node.bit_length() for node in tree.labels) - 1 > claim.depth:
        broken.append("it is too deep")
    if len(tree.labels) > claim.leaf_limit:
        broken.append("it has too many leaves")
    sizes = np.bincount(routed.leaf, minlength=max(tree.labels) + 1)[list(tree.labels)]
    if limits.get("min_samples_leaf") is not None and sizes.min() < claim.least_rows:
        broken.append("a leaf holds too few rows")
    if everything & set(claim.raw_indices(limits.get("forbidden_features") or ())):
        broken.append("it tests a forbidden feature")
    if limits.get("max_features") is not None and len(everything) > int(limits["max_features"]):
        broken.append("it tests too many features")
    if any(set(claim.raw_indices(p)) <= everything for p in limits.get("forbidden_pairs") or ()):
        broken.append("it tests both features of a forbidden pair")
    root = limits.get("root_feature")
    if root is not None and claim.raw_indices([root])[0] not in used.get(1, set()):
        broken.append("its root tests another feature than the required one")
    if limits.get("feature_once_per_path") and _repeats(tree, used):
        broken.append("it tests a feature twice on a path")
    for name, way in (limits.get("monotone") or {}).items():
        if not _goes_one_way(claim, used, claim.raw_indices([name])[0], way, guard):
            broken.append(f"its prediction does not only go {way} along a column")
    return broken + _broken_shares(claim, routed.predicted, guard)


def _goes_one_way(
    claim: Claim, used: Mapping[int, set[int]], own: int, way: str, guard: Callable[[], None]
) -> bool:
    """Whether no rise of one column alone lowers ("up") the prediction.

    All combinations of what the columns of the tree hold somewhere are sent through it.
    """
    tree, columns = claim.tree, sorted(set().union(*used.values()))
    if own not in columns:
        return True
    held: dict[int, Array] = {}
    for raw in columns:
        values = claim.X[:, claim.group == raw]
        splits = [s for m, s in tree.splits.items() if used[m] == {raw}]
        sides = np.stack([scores(s, claim.X) > s.threshold for s in splits], axis=1)
        rank = (
            claim.attributes[str(claim.raw_features[raw])] if raw == own else np.zeros(len(sides))
        )
        # Where a set of sides holds several ranks, the least and the largest stand for it.
        order = np.lexsort((rank, *sides.T))
        sides, values = sides[order], values[order]
        is_new = np.ones(len(sides), bool)
        is_new[1:] = (sides[1:] != sides[:-1]).any(axis=1)
        kept = np.flatnonzero(is_new | np.append(is_new[1:], True) if raw == own else is_new)
        held[raw] = values[kept][np.argsort(rank[order][kept], kind="stable")]
    others = [raw for raw in columns if raw != own]
    shape = [len(held[raw]) for raw in (*others, own)]
    if np.prod(shape, dtype=float) > MOST_COMBINATIONS:
        raise NotProvenError("there are too many combinations of columns to send through the tree")
    number = np.indices(shape).reshape(len(shape), -1)
    rows = np.zeros((number.shape[1], claim.X.shape[1]))
    for at, raw in zip(number, (*others, own), strict=True):
        guard()
        rows[:, claim.group == raw] = held[raw][at]
    label = route(tree, rows).predicted
    worth = label if claim.n_classes > 2 else label == claim.positive_class
    steps = np.diff(worth.astype(int).reshape(-1, shape[-1]), axis=1)
    return bool((steps >= 0).all() if way == "up" else (steps <= 0).all())


def _repeats(tree: Any, used: Mapping[int, set[int]]) -> bool:
    paths = ([leaf >> k for k in range(1, leaf.bit_length())] for leaf in tree.labels)
    raws = ([raw for node in path for raw in used[node]] for path in paths)
    return any(len(above) != len(set(above)) for above in raws)


def _broken_shares(claim: Claim, predicted: Array, guard: Callable[[], None]) -> list[str]:
    broken = []
    for k, floor in claim.recalls:
        of_class = claim.y == k
        if of_class.any() and (predicted[of_class] == k).mean() < floor - SHARE_TOLERANCE:
            broken.append("the recall of a class is too low")
    positive = predicted == claim.positive_class
    for a, b, gap in claim.parities:
        guard()
        if abs(positive[a].mean() - positive[b].mean()) > gap + SHARE_TOLERANCE:
            broken.append("the shares of two groups differ too much")
    return broken


BYTES_AT_ONCE = 20_000_000  # of the rows that the run's own encoding is asked for at once
BINARY = frozenset({"above", "bucket", "level"})
NUMBERS = frozenset({"scaled", "value"})


def encode(encoding: Any, frame: Any, guard: Guard) -> Array:
    """Encode raw rows by the description of an encoding, and compare with its own ``transform``.

    `WrongError` if that gives other values than its description, `NotProvenError` if the
    description has a kind of column that is not known here.  The cells are bytes where all columns
    are binary.

    `encoding`: ``to_dict()`` describes it: of every column raw feature, kind, and threshold, ends,
    level or scale.
    `frame`: numbers, or text.
    """
    columns = encoding.to_dict()["columns"]
    kinds = {column["kind"] for column in columns}
    if kinds - BINARY - NUMBERS:
        raise NotProvenError(f"it cannot judge {min(kinds - BINARY - NUMBERS)} columns")
    kind = np.float64 if kinds & NUMBERS else np.uint8
    n_rows, width = len(frame), max(1, len(columns)) * np.dtype(kind).itemsize
    guard.needs(n_rows * (width + 100))
    X = np.zeros((n_rows, len(columns)), kind)
    places: dict[str, list[int]] = {}
    for j, column in enumerate(columns):
        places.setdefault(column["raw"], []).append(j)
    for raw, own in places.items():
        _fill(X, own, [columns[j] for j in own], frame[raw].to_numpy(), guard)
    step = max(1, BYTES_AT_ONCE // (8 * max(1, len(columns))))
    for start in range(0, n_rows, step):
        guard()
        part = slice(start, start + step)
        differs = (encoding.transform(frame.iloc[part], kind) != X[part]).any(axis=0)
        if differs.any():
            name = columns[int(np.flatnonzero(differs)[0])]["raw"]
            raise WrongError(f"the rows were not encoded as described, in a column of {name}")
    return X


def _fill(X: Array, places: list[int], columns: list[Mapping[str, Any]], values: Array, guard):
    """Write the encoded columns of one raw column."""
    if columns[0]["kind"] == "level":
        guard()
        place_of = {c["level"]: j for c, j in zip(columns, places, strict=True)}
        at = np.array([place_of.get(value, -1) for value in values.tolist()])
        X[np.flatnonzero(at >= 0), at[at >= 0]] = 1
        return
    levels = columns[0].get("levels")
    if levels:
        rank = {level: number for number, level in enumerate(levels)}
        values = np.array([rank[value] for value in values.tolist()])
    numbers = values.astype(np.float64)
    for j, column in zip(places, columns, strict=True):
        guard()
        if column["kind"] in NUMBERS:
            X[:, j] = (numbers - column.get("shift", 0.0)) / column.get("scale", 1.0)
            continue
        low, high = column.get("lower", -np.inf), column.get("upper", np.inf)
        X[:, j] = (numbers > low) & (numbers <= high)


SHARE = 1e-6  # relative distance of two objectives that count as one


def found_again(
    claim: Claim, guard: Guard, worth: Callable[[Claim, Routed], float], slack: float = 0.0
) -> Iterator[Any]:
    """Yield the steps of the search.

    `NotProvenError` if there is no such search, or it would take too long; `WrongError` if it meets
    a tree that is better than the bound.

    `slack`: by how much two objectives that count as one may differ, if that is more than `SHARE`.
    """
    assert claim.bound is not None
    slack = max(slack, SHARE * abs(claim.bound))
    try:
        steps = iter(()) if claim.prove is None else claim.prove(claim.bound - 0.5 * slack, guard)
        estimate = next(steps, None)
        if estimate is None:
            raise NotProvenError("the search that proves it again is not at hand")
        guard.expects(estimate)
        for step in steps:
            if isinstance(step, Tree):
                value = _value_of(replace(claim, tree=step), worth, guard)
                if value < claim.bound - slack:
                    raise WrongError(
                        f"the bound {claim.bound:.9g} is claimed, a tree of objective {value:.9g} "
                        "exists"
                    )
                message = f"its search finds no proof: what it reaches is worth {value:.9g} as a "
                message += f"tree, and the bound {claim.bound:.9g} is claimed"
                raise NotProvenError(message)
            yield step
    except OctError as error:
        raise NotProvenError(f"its search cannot be repeated: {error}") from error


def _value_of(claim: Claim, worth: Callable[[Claim, Routed], float], guard: Guard) -> float:
    """What a tree that the search meets is worth; one that may not be refutes nothing.

    Searches may leave side constraints out: what they prove holds all the same.
    """
    routed = route(claim.tree, claim.X)
    try:
        value, broken = worth(claim, routed), broken_rules(claim, routed, guard)
    except WrongError as error:
        value, broken = np.nan, [str(error)]
    if broken:
        message = f"its search meets a cheaper tree that does not count, as {broken[0]}; trees "
        message += "without that limit are all that it proves something about"
        raise NotProvenError(message)
    return value
