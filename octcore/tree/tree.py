"""One frozen tree for univariate and oblique splits, with one routing rule.

``w.x <= threshold`` goes left, everything else right.  A univariate split has one weight.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from octcore.data.tasks import ASK
from octcore.errors import ModelFileError, read_in_words
from octcore.tree import topology

if TYPE_CHECKING:
    import pandas as pd

    from octcore.encoding.base import Encoding

FORMAT = "octcore-tree"
VERSION = 1
Place = TypeVar("Place")
Test = TypeVar("Test")
SCORE_TOLERANCE = 1e-12  # a score of exactly 0 goes right; rounding must not send it left


@dataclass(frozen=True)
class Split:
    """A test ``w.x <= threshold``; rows that pass go left.

    Parameters
    ----------
    weights : tuple of (int, float)
        Non-zero weights by encoded column, in column order.
    threshold : float
        Routing threshold; it may have been moved inside the gap between training rows.
    offset : float or None
        The hyperplane as solved, ``w.x + offset = 0``; None when it is the threshold itself.
    unit_margin : bool
        Whether ``w.x + offset = -1`` and ``= 1`` are margin lines of the model (SVM-based
        formulations).  Elsewhere only a geometric margin exists.
    """

    weights: tuple[tuple[int, float], ...]
    threshold: float
    offset: float | None = None
    unit_margin: bool = False

    @classmethod
    def on_feature(cls, feature: int, threshold: float = 0.5) -> Split:
        """Make a univariate split; 0.5 separates the two values of a binary feature."""
        return cls(((int(feature), 1.0),), float(threshold))

    @classmethod
    def on_plane(
        cls, weights: Sequence[float] | np.ndarray, offset: float, unit_margin: bool = False
    ) -> Split:
        """Make the oblique split with score ``w.x + offset``; a positive score goes right."""
        sparse = tuple((j, float(v)) for j, v in enumerate(weights) if v != 0.0)
        return cls(sparse, -float(offset), float(offset), unit_margin)

    @property
    def features(self) -> tuple[int, ...]:
        """Encoded columns with a non-zero weight."""
        return tuple(j for j, _ in self.weights)

    @property
    def is_univariate(self) -> bool:
        """Whether a single column with a positive weight is tested."""
        return len(self.weights) == 1 and self.weights[0][1] > 0

    @property
    def solved_offset(self) -> float:
        """Offset of the plane ``w.x + offset = 0`` as solved."""
        return -self.threshold if self.offset is None else self.offset

    def dense(self, n_features: int) -> np.ndarray:
        """Weights as an array of shape ``(n_features,)``."""
        vector = np.zeros(n_features)
        for j, value in self.weights:
            vector[j] = value
        return vector

    def project(self, X: np.ndarray, rows: np.ndarray | None = None) -> np.ndarray:
        """``w.x`` of every row, or of some, shape ``(n_samples,)``."""
        if self.is_univariate and self.weights[0][1] == 1.0:  # no copy of all columns
            column = X[:, self.weights[0][0]]
            return column if rows is None else column[rows]
        own = X.T[[*self.features]]
        own = own if rows is None else own[:, rows]
        if not self.weights:
            return np.zeros(own.shape[1])
        weights = np.array([[value] for _, value in self.weights])
        terms = np.multiply(own, weights, order="C")
        # Column by column, as exported code adds: BLAS sums a row otherwise beside other rows.
        return np.add.reduce(terms) if own.shape[1] > 1 else np.add.accumulate(terms)[-1]

    @property
    def norm(self) -> float:
        """Euclidean norm of the weights."""
        return float(np.linalg.norm([value for _, value in self.weights]))

    def distance(self, X: np.ndarray) -> np.ndarray:
        """Euclidean distance of every row to the plane, 0 without weights."""
        return np.abs(self.project(X) - self.threshold) / (self.norm or 1.0)

    def goes_right(self, X: np.ndarray, rows: np.ndarray | None = None) -> np.ndarray:
        """Boolean array: which rows, or which of some, go to the right child."""
        return self.project(X, rows) > self.threshold


@dataclass(frozen=True)
class Tree:
    """A decision tree in encoded columns.

    Parameters
    ----------
    splits : mapping of int to Split
        Split of every branch node.
    labels : mapping of int to int
        Class index of every leaf.
    n_features, n_classes : int
        Shape of the data that the tree is for.
    classes : tuple
        Class labels in index order; empty for indices 0, 1, …
    features : tuple of str
        Names of the encoded columns; may be empty.
    """

    splits: Mapping[int, Split]
    labels: Mapping[int, int]
    n_features: int
    n_classes: int
    classes: tuple[Any, ...] = ()
    features: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Freeze the mappings and check that every branch node has both children."""
        object.__setattr__(self, "splits", MappingProxyType(dict(sorted(self.splits.items()))))
        object.__setattr__(self, "labels", MappingProxyType(dict(sorted(self.labels.items()))))
        nodes = {1}
        for node in self.splits:
            nodes |= set(topology.children(node))
        known = set(self.splits) | set(self.labels)
        if known != nodes or set(self.splits) & set(self.labels):
            message = "A tree needs both children of every branch node and nothing else; "
            message += f"nodes {sorted(known ^ nodes)} do not fit."
            raise ModelFileError("BROKEN_TREE", message)

    def __hash__(self) -> int:
        return hash((tuple(self.splits.items()), tuple(self.labels.items()), self.n_classes))

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle plain dictionaries: mapping proxies cannot be pickled."""
        parts = vars(self) | {"splits": dict(self.splits), "labels": dict(self.labels)}
        return Tree, tuple(parts.values())

    @classmethod
    def leaf(cls, label: int, n_features: int, n_classes: int) -> Tree:
        """Make the tree that is a single leaf."""
        return cls({}, {1: int(label)}, n_features, n_classes)

    def named(self, classes: Sequence[Any], features: Sequence[str]) -> Tree:
        """Return the same tree carrying class labels and column names."""
        return replace(self, classes=tuple(classes), features=tuple(features))

    def __repr__(self) -> str:
        shown = f"{self.n_leaves} leaves, {self.n_splits} splits, depth {self.max_depth}"
        return f"<Tree: {shown}>"

    def _repr_html_(self) -> str:
        """Picture for notebooks, in encoded columns; that of a `Run` words them."""
        from octcore.encoding.base import EncodedColumn, Encoding
        from octcore.tree.export.drawings import to_svg

        names = self.features or tuple(f"column {j}" for j in range(self.n_features))
        columns = tuple(EncodedColumn(name, "value") for name in names)
        return to_svg(self, Encoding("raw", columns, names))

    @property
    def n_leaves(self) -> int:
        """Number of leaves."""
        return len(self.labels)

    @property
    def n_splits(self) -> int:
        """Number of branch nodes."""
        return len(self.splits)

    @property
    def max_depth(self) -> int:
        """Depth of the deepest leaf."""
        return max(topology.node_depth(node) for node in self.labels)

    @property
    def is_univariate(self) -> bool:
        """Whether every split tests one column."""
        return all(split.is_univariate for split in self.splits.values())

    @property
    def nodes(self) -> tuple[int, ...]:
        """All node numbers, ascending."""
        return tuple(sorted((*self.splits, *self.labels)))

    @property
    def used_features(self) -> tuple[int, ...]:
        """Encoded columns tested anywhere, ascending."""
        return tuple(sorted({j for split in self.splits.values() for j in split.features}))

    def encoded(self, encoding: Encoding, frame: pd.DataFrame) -> np.ndarray:
        """Encode raw rows as far as this tree tests them; columns that it does not test are 0.

        However many these are, memory that nothing is written to costs neither time nor room.
        """
        used, X = [*self.used_features], np.zeros((len(frame), self.n_features), order="F")
        tested = replace(encoding, columns=tuple(encoding.columns[j] for j in used))
        X[:, used] = tested.transform(frame)
        return X

    def node_rows(self, X: np.ndarray, root: int = 1) -> dict[int, np.ndarray]:
        """Row indices that visit every node from a root on, parents before children."""
        rows = {root: np.arange(len(X))}
        for node, split in self.splits.items():
            if (here := rows.get(node)) is not None:
                right = split.goes_right(X, here)
                rows[2 * node], rows[2 * node + 1] = here[~right], here[right]
        return rows

    def apply(self, X: np.ndarray) -> np.ndarray:
        """Leaf number of every row, shape ``(n_samples,)``."""
        return self._at_leaves(X, {leaf: leaf for leaf in self.labels})

    def predict_codes(self, X: np.ndarray) -> np.ndarray:
        """Class index of every row, shape ``(n_samples,)``."""
        return self._at_leaves(X, self.labels)

    def _at_leaves(self, X: np.ndarray, values: Mapping[int, int]) -> np.ndarray:
        found, rows = np.zeros(len(X), dtype=np.int64), self.node_rows(np.asarray(X))
        for leaf, value in values.items():
            found[rows[leaf]] = value
        return found

    @property
    def n_targets(self) -> int:
        """Number of classes that rows may have: all answers but `ASK`, which comes last."""
        asks = bool(self.classes) and isinstance(self.classes[-1], str) and self.classes[-1] == ASK
        return self.n_classes - asks

    def class_of(self, label: int) -> int:
        """Class index of an answer; -1 where a person is asked."""
        return label if label < self.n_targets else -1

    def is_wrong(self, X: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Which rows get a class that is not theirs, shape ``(n_samples,)``, bool."""
        codes = self.predict_codes(X)
        return (codes != y) & (codes < self.n_targets)

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Class label of every row (class index when the tree carries no labels)."""
        codes = self.predict_codes(X)
        return labels_array(self.classes)[codes] if self.classes else codes

    def decision_path(self, row: np.ndarray) -> tuple[int, ...]:
        """Nodes that one row of shape ``(n_features,)`` visits, root first."""
        leaf = int(self.apply(np.asarray(row)[None, :])[0])
        return *topology.ancestors(leaf), leaf

    def walk(self, node: int = 1) -> Iterator[int]:
        """Visit the nodes below (and with) a node in preorder, left before right."""
        yield node
        if node in self.splits:
            for child in topology.children(node):
                yield from self.walk(child)

    def with_labels(self, labels: Mapping[int, int]) -> Tree:
        """Return the same splits with other leaf labels."""
        return replace(self, labels={**self.labels, **labels})

    def collapse(self, node: int, label: int) -> Tree:
        """Return the tree in which a branch node has become a leaf."""
        below = set(self.walk(node))
        splits = {m: s for m, s in self.splits.items() if m not in below}
        labels = {m: k for m, k in self.labels.items() if m not in below}
        return replace(self, splits=splits, labels={**labels, node: int(label)})

    def to_dict(self) -> dict[str, Any]:
        """Return the tree as plain data for JSON; `from_dict` reads it back."""
        return {
            "format": FORMAT,
            "version": VERSION,
            "n_features": self.n_features,
            "n_classes": self.n_classes,
            "classes": list(self.classes),
            "features": list(self.features),
            "nodes": [self._node_record(node) for node in self.nodes],
        }

    def _node_record(self, node: int) -> dict[str, Any]:
        if node in self.labels:
            label = self.labels[node]
            name = self.classes[label] if self.classes else label
            return {"node": node, "kind": "leaf", "label": label, "class": name}
        split = self.splits[node]
        record: dict[str, Any] = {
            "node": node,
            "kind": "branch",
            "weights": [[j, value] for j, value in split.weights],
            "threshold": split.threshold,
            "left": 2 * node,
            "right": 2 * node + 1,
        }
        if split.offset is not None:
            record |= {"offset": split.offset, "unit_margin": split.unit_margin}
        return record

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> Tree:
        """Read a tree from plain data; `ModelFileError` if format, version or structure differ."""
        with read_in_words("BROKEN_TREE", "The stored tree"):
            found = (record.get("format"), record.get("version"))
            if found != (FORMAT, VERSION):
                words = f"Expected {FORMAT} version {VERSION}, found %r version %r." % found
                raise ModelFileError("NOT_A_TREE", words)
            nodes = {int(e["node"]): e for e in record["nodes"]}
            if len(nodes) < len(record["nodes"]):
                raise ValueError("a node stands twice")
            labels = {m: int(e["label"]) for m, e in nodes.items() if e["kind"] == "leaf"}
            splits = {m: _split_from(e) for m, e in nodes.items() if m not in labels}
            classes, n_classes = tuple(record.get("classes", ())), int(record["n_classes"])
            if len(classes) not in (0, n_classes) or not {*labels.values()} <= {*range(n_classes)}:
                raise ValueError("a leaf has a class that does not exist")
            n_features, features = int(record["n_features"]), tuple(record.get("features", ()))
            return cls(splits, labels, n_features, n_classes, classes, features)


def _split_from(entry: Mapping[str, Any]) -> Split:
    offset = entry.get("offset")
    split = Split(
        tuple((int(j), float(value)) for j, value in entry["weights"]),
        float(entry["threshold"]),
        None if offset is None else float(offset),
        bool(entry.get("unit_margin", False)),
    )
    numbers = [split.threshold, split.solved_offset, *(weight for _, weight in split.weights)]
    if not all(map(math.isfinite, numbers)):
        raise ValueError("a split is not a number")
    return split


def labels_array(labels: Sequence[Any]) -> np.ndarray:
    """Labels as an array of their own type; as objects where text stands beside other things."""
    found = np.asarray(labels)
    is_mixed = found.dtype.kind in "US" and not all(isinstance(label, str) for label in labels)
    return np.array(labels, dtype=object) if is_mixed else found


def midpoint(low: float, high: float) -> float:
    """Number halfway between two, not the upper one itself where they are neighbours."""
    middle = low + (high - low) / 2
    return middle if low <= middle < high else low


def midpoints(values: np.ndarray) -> np.ndarray:
    """Those of all neighbours among ascending values, as `midpoint` has them."""
    low, high = values[:-1].astype(float), values[1:].astype(float)
    with np.errstate(over="ignore"):
        middle = low + (high - low) / 2
    return np.where((low <= middle) & (middle < high), middle, low)


def grown(
    root: Place, part: Callable[[Place], int | tuple[Test, Place, Place]]
) -> tuple[dict[int, Test], dict[int, int]]:
    """Tests and labels by node of a tree that is described part by part.

    `part`: ``place -> label``, or ``place -> (test, left place, right place)``.
    """
    tests, labels = dict[int, Test](), dict[int, int]()
    pending = [(root, 1)]
    while pending:
        place, node = pending.pop()
        found = part(place)
        if isinstance(found, tuple):
            tests[node], left, right = found
            pending += [(left, 2 * node), (right, 2 * node + 1)]
        else:
            labels[node] = found
    return tests, labels


def tree_from_planes(
    planes: Mapping[int, tuple[np.ndarray, float]],
    labels: Mapping[int, int],
    X: np.ndarray,
    n_classes: int,
    unit_margin: bool = False,
    tolerance: float = SCORE_TOLERANCE,
) -> Tree:
    """Make a tree from planes with the convention "right when ``w.x + b >= 0``".

    The routing threshold is put between the nearest training rows of the two sides, so that the
    package's rule (``w.x <= t`` goes left) routes every training row alike.  `planes` are weights
    of shape ``(n_features,)`` and offset by node; scores of at least ``-tolerance`` go right.
    """
    splits: dict[int, Split] = {}
    rows = {1: np.arange(len(X))}
    for node in sorted(planes):
        weights, offset = planes[node]
        split = Split.on_plane(weights, offset, unit_margin)
        here = rows[node]
        values = split.project(X[here])
        right = values + offset >= -tolerance
        threshold = _between(values[~right], values[right], -float(offset))
        splits[node] = Split(split.weights, threshold, float(offset), unit_margin)
        rows[2 * node], rows[2 * node + 1] = here[~right], here[right]
    return Tree(splits, labels, X.shape[1], n_classes)


def _between(left: np.ndarray, right: np.ndarray, plane: float) -> float:
    """Threshold with all of `left` at most and all of `right` above it, near the plane."""
    low = float(left.max()) if len(left) else -np.inf
    high = float(right.min()) if len(right) else np.inf
    if np.isfinite(low) and np.isfinite(high):
        return midpoint(low, high)
    step = 1e-9 * max(1.0, abs(plane))
    if np.isfinite(high):
        return min(plane, high - step)
    return max(plane, low) if np.isfinite(low) else plane


def drop_pass_through(tree: Tree) -> Tree:
    """Replace every branch node without weights by the child that all rows take.

    Models that keep a perfect tree mark an unused branch node by a zero plane; the result routes
    alike and has no such node.
    """

    def part(node: int) -> int | tuple[Split, int, int]:
        while node in tree.splits and not tree.splits[node].weights:
            node = 2 * node + int(tree.splits[node].threshold < 0)
        if node in tree.labels:
            return tree.labels[node]
        return tree.splits[node], 2 * node, 2 * node + 1

    splits, labels = grown(1, part)
    return replace(tree, splits=splits, labels=labels)


def join_equal_leaves(tree: Tree, keeps_root: bool) -> Tree:
    """Collapse splits whose leaves predict the same class; predictions do not change.

    `keeps_root`: whether the split at the root stays, as a required one does.
    """
    for node in sorted(tree.splits, reverse=True):
        label, other = (tree.labels.get(child) for child in (2 * node, 2 * node + 1))
        if label is not None and label == other and not (node == 1 and keeps_root):
            tree = tree.collapse(node, label)
    return tree
