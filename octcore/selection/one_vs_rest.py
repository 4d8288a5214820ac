"""Many classes with a formulation for two: one tree per class against the rest."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from octcore.data.columns import Label
from octcore.data.dataset import Dataset, class_versus_rest
from octcore.data.serial import Record
from octcore.engines.events import Event
from octcore.errors import SettingsError
from octcore.solving.prepare import split_rows
from octcore.solving.run import STOPPED, Run
from octcore.solving.solve import solve
from octcore.tree.tree import Tree


@dataclass(frozen=True, eq=False)
class OneVsRest(Record):
    """K trees, one per class; there is no single tree, objective, bound or gap."""

    classes: tuple[Label, ...]
    runs: tuple[Run, ...]  # run of every class against the rest
    accuracy: float | None = None
    test_accuracy: float | None = None

    @property
    def n_trees(self) -> int:
        """Number of trees."""
        return len(self.runs)

    @property
    def summary(self) -> str:
        """What this is, in one sentence."""
        proven = sum(run.status == "optimal" for run in self.runs)
        return (
            f"{self.n_trees} trees, one class against the rest each; {proven} of them proven "
            "optimal for their own two classes, nothing is proven about them together"
        )

    def to_dict(self) -> dict[str, Any]:
        """Every tree with its own numbers, and what they reach together."""
        record = {"format": "octcore-one-vs-rest", "version": 1, "summary": self.summary}
        return record | super().to_dict()

    def distances(self, frame: pd.DataFrame) -> np.ndarray:
        """Signed distance of every row for every class, shape ``(n_rows, n_classes)``.

        It is the distance to the last hyperplane on the row's path, positive where the leaf says
        "this class"; a tree that is a single leaf gives infinite distances.
        """
        columns = []
        for run in (given.needed for given in self.runs):
            X = run.tree.encoded(run.encoding, run.prepared(frame))
            positive = list(run.classes).index(run.train.positive_class)
            columns.append(signed_distance(run.tree, X, positive))
        return np.column_stack(columns)

    def predict(self, frame: pd.DataFrame) -> np.ndarray:
        """Predict the class of the largest signed distance; the first one among equals."""
        return np.array(self.classes, dtype=object)[self.distances(frame).argmax(axis=1)]


def signed_distance(tree: Tree, X: np.ndarray, positive: int) -> np.ndarray:
    """Distance to the split above each row's leaf, positive where the leaf has the positive class.

    Shape ``(n_rows,)``; infinite where the tree is a single leaf.
    """
    leaves = tree.apply(X)
    distance = np.full(len(X), np.inf)
    for leaf, label in tree.labels.items():
        here = leaves == leaf
        if leaf > 1:
            distance[here] = tree.splits[leaf // 2].distance(X[here])
        distance[here] *= 1.0 if label == positive else -1.0
    return distance


def solve_one_vs_rest(
    data: Dataset,
    formulation: str = "margot",
    time_limit: float = 60.0,
    test_size: float = 0.0,
    seed: int = 0,
    on_event: Callable[[Label, Event], None] | None = None,
    cancel: Callable[[], bool] | None = None,
    solver: Callable[..., Run] = solve,
    **settings: Any,
) -> OneVsRest:
    """Train one tree per class against the rest with a formulation for two classes.

    Parameters
    ----------
    data : Dataset
        Rows with a target of any number of classes.
    formulation : str
        Key of a formulation.
    time_limit : float
        Seconds for all trees together, shared equally.
    test_size : float
        Share of the rows held out, the same rows for all trees.
    seed : int
        Seed of the split and of everything else.
    on_event : callable or None
        Receives the label and every event of its solve.
    cancel : callable or None
        Asked often; a true answer stops the tree at hand, and the classes that are left keep the
        majority leaf.
    solver : callable
        What trains a tree, with the arguments of `octcore.solve`.
    **settings
        Further settings of `octcore.solve`.

    Returns
    -------
    OneVsRest
        The trees and their combined accuracy.
    """
    _ = data.codes  # refuses rows without a target
    train, test, _ = split_rows(data, test_size, seed)
    runs: list[Run] = []
    for label in data.classes:
        is_stopped = any(run.stop_reason in STOPPED for run in runs)
        tell = None if on_event is None else partial(on_event, label)
        runs.append(
            (solve if is_stopped else solver)(
                class_versus_rest(train, label), formulation=formulation, seed=seed,
                time_limit=time_limit / data.n_classes, on_event=tell,
                cancel=(lambda: True) if is_stopped else cancel, **settings,
            )
        )  # fmt: skip
        if runs[-1].tree is None:
            message = f"No tree for {label!r} against the rest: {runs[-1].status}; relax a side "
            message += "constraint, or allow more time."
            raise SettingsError("NO_TREE", message, "constraints")
    combined = OneVsRest(data.classes, tuple(runs))
    scores = [
        float((combined.distances(part.frame).argmax(axis=1) == part.codes).mean())
        for part in (train, test)
        if part is not None
    ]
    return OneVsRest(data.classes, tuple(runs), *scores)
