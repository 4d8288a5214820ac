"""One row on its way through a tree: the question of every node, its answer, and the leaf."""

import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from octcore.data.dataset import Dataset
from octcore.data.tasks import ASK
from octcore.encoding.base import Encoding
from octcore.plotting import text
from octcore.plotting.plane_plot import typical_values
from octcore.plotting.tree_view import split_texts
from octcore.tree import metrics
from octcore.tree.raw_units import SURE_DIGITS, left_condition, raw_plane
from octcore.tree.tree import Tree
from octcore.tree.wording import asks_for_right, format_number

VALUE_DIGITS = 5


@dataclass(frozen=True, eq=False)
class ChosenRow:
    """A row that somebody looks at."""

    source: str  # ``"training"``, ``"held-out"`` or ``"typed"``
    position: int  # place in its part, from 0; -1 for a typed row
    frame: pd.DataFrame  # the one row, raw columns typed as at training
    line: int = 0  # of the table; 0 for a typed row

    @property
    def title(self) -> str:
        """Name of the row."""
        return f"Line {self.line}, a {self.source} row," if self.line else "The typed row"


@dataclass(frozen=True)
class Step:
    """One question on the way."""

    node: int
    question: str  # its split in raw units, worded positively
    value: str
    is_yes: bool


@dataclass(frozen=True)
class RowPath:
    """The whole way of a row."""

    nodes: tuple[int, ...]
    steps: tuple[Step, ...]
    label: int

    @property
    def leaf(self) -> int:
        """Where it ends."""
        return self.nodes[-1]


@dataclass(frozen=True)
class ClassShare:
    """Rows of one class at a node, in training and among the held-out rows (None without)."""

    label: str
    train: int
    train_share: float | None
    test: int | None
    test_share: float | None


def row_path_data(tree: Tree, encoding: Encoding, frame: pd.DataFrame) -> RowPath:
    """Follow one row."""
    X, words = tree.encoded(encoding, frame), split_texts(tree, encoding)
    nodes = tree.decision_path(X[0])
    steps = []
    for node, child in itertools.pairwise(nodes):
        goes_right = child % 2 == 1
        is_yes = goes_right == asks_for_right(tree.splits[node], encoding)
        value = _value_words(tree, encoding, node, frame, X)
        steps.append(Step(node, words[node], value, is_yes))
    return RowPath(nodes, tuple(steps), tree.labels[nodes[-1]])


def _value_words(
    tree: Tree, encoding: Encoding, node: int, frame: pd.DataFrame, X: np.ndarray
) -> str:
    """What a row has at a node: the value that is compared, or that of the weighted sum."""
    split = tree.splits[node]
    condition = left_condition(split, encoding)
    if condition is not None and condition.raw in frame.columns:
        return value_text(frame[condition.raw].iloc[0])
    if condition is not None:
        return "–"
    plane = raw_plane(split, encoding)
    total = float(split.project(X)[0]) - (split.threshold - plane.threshold)
    return f"sum = {text.number(plane.sign * total, VALUE_DIGITS)}"


def value_text(value: Any) -> str:
    """Write a raw value: numbers as they stand in the table, texts in one line."""
    if isinstance(value, int | float | np.integer | np.floating):
        return text.minus(format_number(float(value), SURE_DIGITS))
    return text.printable(value)


def class_shares(
    tree: Tree, encoding: Encoding, train: Dataset, test: Dataset | None
) -> dict[int, tuple[ClassShare, ...]]:
    """Rows by class at every node, in both parts."""
    inside, outside = node_counts(tree, encoding, train), node_counts(tree, encoding, test)
    return {
        node: tuple(
            ClassShare(
                text.printable(label, 40),
                counts[k],
                counts[k] / sum(counts) if sum(counts) else None,
                outside[node][k] if outside else None,
                outside[node][k] / sum(outside[node]) if outside and sum(outside[node]) else None,
            )
            for k, label in enumerate(train.classes)
        )
        for node, counts in inside.items()
    }


def node_counts(tree: Tree, encoding: Encoding, data: Dataset | None) -> dict[int, tuple[int, ...]]:
    """Rows by class at every node; empty without rows."""
    if data is None or data.y is None:
        return {}
    found = metrics.node_summaries(tree, tree.encoded(encoding, data.frame), data.y)
    return {node: summary.class_counts for node, summary in found.items()}


def row_of(data: Dataset, position: int, source: str) -> ChosenRow:
    """Take one row out of a data set."""
    frame = data.frame.iloc[[position]].reset_index(drop=True)
    return ChosenRow(source, position, frame, int(data.row_lines[position]))


def typed_row(data: Dataset, values: Mapping[str, Any]) -> ChosenRow:
    """Make a row of values that somebody typed; other columns get typical ones."""
    record = typical_values(data, list(data.feature_names)) | dict(values)
    frame = pd.DataFrame({name: [record[name]] for name in data.feature_names})
    return ChosenRow("typed", -1, frame.astype(data.frame.dtypes.to_dict()))


def sentence(path: RowPath, shares: tuple[ClassShare, ...], start: str) -> str:
    """Say where the row ends and how sure that is, in Markdown, after its title."""
    total = sum(s.train for s in shares)
    if path.label >= len(shares):
        came = text.count(total, "training row")
        verb = "does" if total == 1 else "do"
        return f"{start} ends in **leaf {path.leaf}: {ASK}**, as {verb} {came}."
    share = shares[path.label]
    if not total:
        sure = "no training row gets there, so there is no confidence to state"
    else:
        sure = (
            f"{share.train:,} of the {text.count(total, 'training row')} there are of this class "
            f"({text.percent(share.train_share)})"
        )
    held = sum(s.test or 0 for s in shares)
    if share.test is not None and held:
        sure += f", and {share.test:,} of {text.count(held, 'held-out row')}"
        sure += f" ({text.percent(share.test_share)})"
    return f"{start} ends in **leaf {path.leaf}: predicts {text.markdown(share.label)}**; {sure}."
