"""What a solve is a part of: one tree for every class, or a training on selected rows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

from octcore.data.dataset import Dataset, class_versus_rest
from octcore.formulations.base import FormulationInfo
from octcore.selection.one_vs_rest import OneVsRest
from octcore.solving.prepare import split_rows
from octcore.solving.run import Run
from octcore.solving.settings import Asked

SELECT_TASK = "select"


@dataclass(frozen=True, eq=False)
class Family:
    """The rows from which the rows of one solve, or of one solve for every class, were made."""

    whole: Dataset  # all rows with all their classes
    runs: tuple[str, ...]  # ids of the solves in the order of the classes; one id for selected rows
    test_size: float = 0.0  # share that was held out from all solves together
    seed: int = 0  # by which it was chosen
    n_selected: int = 0  # rows that were selected; 0 for one solve for every class

    @classmethod
    def from_dict(cls, record: Mapping[str, Any], whole: Dataset) -> "Family":
        """Read a family back; its rows are kept apart from it."""
        return cls(whole, **{**record, "runs": tuple(record["runs"])})

    def to_dict(self) -> dict[str, Any]:
        """Return the fields for JSON, without the rows."""
        return {f.name: getattr(self, f.name) for f in fields(self) if f.name != "whole"}

    @cached_property
    def parts(self) -> tuple[Dataset, Dataset | None]:
        """Training rows, and held-out rows where there are any."""
        return split_rows(self.whole, self.test_size, self.seed)[:2]

    @property
    def train(self) -> Dataset:
        """The rows that the solves were made from."""
        return self.parts[0]

    def accuracy(self, runs: Sequence[Run]) -> tuple[float | None, float | None]:
        """Share of all training rows, and of the held-out rows, that the trees have right.

        Trees of every class together give every row the class whose tree puts it farthest on its
        own side.
        """
        return self._share(runs, self.train), self._share(runs, self.parts[1])

    def _share(self, runs: Sequence[Run], data: Dataset | None) -> float | None:
        if data is None or data.y is None:
            return None
        if self.n_selected:
            return runs[0].accuracy_on(data)
        told = OneVsRest(data.classes, tuple(runs)).distances(data.frame).argmax(axis=1)
        return float((told == data.y).mean())


def takes_too_few_classes(info: FormulationInfo, data: Dataset) -> bool:
    """Whether the data have more classes than the formulation separates."""
    return info.max_classes is not None and data.n_classes > info.max_classes


def one_for_every_class(
    data: Dataset, settings: Mapping[str, Any]
) -> tuple[tuple[Dataset, ...], dict[str, Any]]:
    """Rows and settings of one solve per class; held-out rows are the same for all."""
    asked = Asked.of(settings)
    train = split_rows(data, asked.test_size, asked.seed)[0]
    each = {name: value for name, value in settings.items() if name != "test_size"}
    return tuple(class_versus_rest(train, label) for label in train.classes), each
