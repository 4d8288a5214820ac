"""Hand-made runs: no solver, no Streamlit."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from octcore.data.dataset import Dataset
from octcore.encoding.fit import fit_encoding
from octcore.engines.events import Event, Trace
from octcore.tree.tree import Split, Tree
from tests.unit.hostile import HOSTILE


@pytest.fixture
def square() -> Dataset:
    """Four corners of two classes, three rows each, named with hostile characters."""
    corners = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    points = np.repeat(corners, 3, axis=0) + np.tile([[0.0, 0.0], [0.1, 0.0], [0.0, 0.1]], (4, 1))
    labels = np.repeat(["no", HOSTILE, HOSTILE, "no"], 3)
    frame = pd.DataFrame(points, columns=["width", HOSTILE])
    return Dataset.from_arrays(frame, labels, name="square")


@pytest.fixture
def oblique(square: Dataset):
    """A hand-made oblique tree of depth 2 on scaled columns, with unit margins below the root."""
    encoding = fit_encoding("scaled", square)
    splits = {
        1: Split.on_plane([4.0, 0.0], -2.0, unit_margin=True),
        2: Split.on_plane([0.0, 4.0], -2.0, unit_margin=True),
        3: Split.on_plane([1.0, 4.0], -3.0, unit_margin=True),
    }
    hostile, no = square.classes.index(HOSTILE), square.classes.index("no")
    labels = {4: no, 5: hostile, 6: hostile, 7: no}
    tree = Tree(splits, labels, 2, 2, square.classes, encoding.names)
    return tree, encoding, square


@pytest.fixture
def univariate(square: Dataset):
    """The same regions by univariate splits on thresholds."""
    encoding = fit_encoding("QT-2", square, few=0)
    by_raw = {column.raw: j for j, column in enumerate(encoding.columns)}
    splits = {
        1: Split.on_feature(by_raw["width"]),
        2: Split.on_feature(by_raw[HOSTILE]),
        3: Split.on_feature(by_raw[HOSTILE]),
    }
    hostile, no = square.classes.index(HOSTILE), square.classes.index("no")
    labels = {4: no, 5: hostile, 6: hostile, 7: no}
    tree = Tree(splits, labels, len(encoding.columns), 2, square.classes, encoding.names)
    return tree, encoding, square


@pytest.fixture
def trace(univariate) -> Trace:
    """Warm start, build, a better tree from the solver, and a bound that closes in."""
    tree = univariate[0]
    return Trace(
        (
            Event(0.0, "phase", source="warm start"),
            Event(0.1, "incumbent", 0.7, source="warm start", tree=tree),
            Event(0.2, "bound", 0.7, 1.0),
            Event(0.2, "phase", 0.7, 1.0, source="build"),
            Event(0.5, "phase", 0.7, 1.0, source="compile"),
            Event(0.8, "phase", 0.7, 1.0, source="solve"),
            Event(1.0, "bound", 0.7, 0.95),
            Event(2.0, "incumbent", 0.9, 0.95, source="solver", tree=tree),
            Event(3.0, "bound", 0.9, 0.9, nodes=7),
            Event(3.0, "finished", 0.9, 0.9, source="optimal", nodes=7),
        )
    )
