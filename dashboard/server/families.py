"""Solves that belong together: one tree for every class, and trees trained on selected rows."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from octcore.data.dataset import Dataset
from octcore.data.grouping import class_versus_rest
from octcore.formulations.base import FormulationInfo
from octcore.selection.one_vs_rest import OneVsRest
from octcore.solving.prepare import split_rows
from octcore.solving.run import Run

KEPT = 64
SELECT_TASK = "select"


@dataclass(frozen=True, eq=False)
class Family:
    """One tree for every class against the rest.

    Parameters
    ----------
    id : str
        Full UUID.
    runs : tuple of str
        Ids of the solves, in the order of the classes.
    train, test : Dataset
        The rows with all their classes; `test` may be empty.
    """

    id: str
    runs: tuple[str, ...]
    train: Dataset
    test: Dataset | None

    def together(self, runs: Sequence[Run]) -> tuple[float, float | None]:
        """Accuracy of all trees together on the training and on the held-out rows.

        Every row gets the class whose tree puts it farthest on its own side.
        """
        trees = OneVsRest(self.train.classes, tuple(runs))
        test = None if self.test is None else _accuracy(trees, self.test)
        return _accuracy(trees, self.train), test


def _accuracy(trees: OneVsRest, data: Dataset) -> float:
    assert data.y is not None
    return float((trees.distances(data.frame).argmax(axis=1) == data.y).mean())


@dataclass(frozen=True, eq=False)
class Selected:
    """A solve on some of the rows, and all of them, on which its tree is judged."""

    whole: Dataset
    n_selected: int
    held_out: Dataset | None = None

    def accuracy(self, run: Run) -> tuple[float | None, float | None]:
        """Share of all training rows and of the held-out rows that the tree has right."""
        return _share(run, self.whole), _share(run, self.held_out)


def _share(run: Run, data: Dataset | None) -> float | None:
    if run.tree is None or data is None or data.y is None:
        return None
    X = np.asarray(run.encoding.transform(data.frame), dtype=float)
    return float((run.tree.predict_codes(X) == data.y).mean())


class Families:
    """What this server knows about solves that belong together; the newest are kept."""

    def __init__(self) -> None:
        self._of_run: dict[str, Family] = {}
        self._selected: dict[str, Selected] = {}

    def add(self, runs: Sequence[str], train: Dataset, test: Dataset | None) -> Family:
        """Remember that these solves are one tree each for the classes of some rows."""
        family = Family(str(uuid.uuid4()), tuple(runs), train, test)
        self._of_run |= dict.fromkeys(runs, family)
        _forget(self._of_run)
        return family

    def of(self, run_id: str) -> Family | None:
        """The family of a solve."""
        return self._of_run.get(run_id)

    def note_selection(
        self, run_id: str, whole: Dataset, n_selected: int, held_out: Dataset | None = None
    ) -> None:
        """Remember from which rows those of a solve were selected, and which were held out."""
        self._selected[run_id] = Selected(whole, n_selected, held_out)
        _forget(self._selected)

    def selection(self, run_id: str) -> Selected | None:
        """All rows of a solve that was given some of them."""
        return self._selected.get(run_id)


def _forget(kept: dict[str, Any]) -> None:
    for old in list(kept)[:-KEPT]:
        del kept[old]


def takes_too_few_classes(info: FormulationInfo, data: Dataset) -> bool:
    """Whether the data have more classes than the formulation separates."""
    return info.max_classes is not None and data.n_classes > info.max_classes


def one_for_every_class(
    data: Dataset, settings: Mapping[str, Any]
) -> tuple[Dataset, Dataset | None, tuple[Dataset, ...], dict[str, Any]]:
    """Rows and settings of one solve per class; held-out rows are the same for all.

    Parameters
    ----------
    data : Dataset
        With many classes.
    settings : mapping
        Keywords of `octcore.solve`.

    Returns
    -------
    tuple
        Training rows, held-out rows or None, the rows of every solve, its settings.
    """
    share, seed = float(settings.get("test_size", 0.0)), int(settings.get("seed", 0))
    train, test, _ = split_rows(data, share, seed)
    each = {name: value for name, value in settings.items() if name != "test_size"}
    parts = tuple(class_versus_rest(train, label) for label in train.classes)
    held = test if share and test is not None and test.n_samples else None
    return train, held, parts, each
