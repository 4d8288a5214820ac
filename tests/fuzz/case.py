"""One random problem: raw rows, a formulation and its settings, and the code that runs it."""

from __future__ import annotations

import pprint
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

import octcore
from octcore.data.dataset import Dataset
from tests.fuzz.failure import must
from tests.referee.convex import Undecided
from tests.referee.encoding import Encoded, encode

SECONDS = 300.0
"""Far beyond what a tiny case needs, so that a busy machine fails none."""
STOPPED = "stopped"
"""Setting of a case: how often the solve may ask whether it was stopped before it was."""
KERNELS = "kernels"
"""Setting of a case: which kind of kernels of the exact search answers wherever it can."""
NEIGHBOURS = "neighbours"
"""Kind of cases that come out of a file."""


@dataclass(frozen=True, eq=False)
class Case:
    """A problem small enough for a referee.

    Parameters
    ----------
    key : str
        Formulation.
    columns : mapping of str to tuple
        Raw columns: numbers, or text for categories.
    y : tuple of int
        Classes.
    depth : int
        Largest depth.
    encoding : str
        As in `octcore.solve`.
    params, constraints, settings : mapping
        Hyperparameters, side constraints, and what else `octcore.solve` is given.
    weights : tuple of float or None
        Weight of every row.
    kind : str
        What sort of data it is, for the summary.
    way : str
        ``"csv"`` for rows that are written to a file and read without a word on their kinds.
    """

    key: str
    columns: Mapping[str, tuple[Any, ...]]
    y: tuple[int, ...]
    depth: int
    encoding: str = "none"
    params: Mapping[str, Any] = field(default_factory=dict)
    constraints: Mapping[str, Any] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)
    weights: tuple[float, ...] | None = None
    kind: str = ""
    way: str = ""

    @cached_property
    def encoded(self) -> Encoded:
        """Encoded rows by the referee's own reading of the rules."""
        return encode(self.columns, self.encoding == "scaled")

    @property
    def classes(self) -> tuple[int, ...]:
        """The classes, sorted."""
        return tuple(sorted(set(self.y)))

    @cached_property
    def codes(self) -> np.ndarray:
        """Class index of every row."""
        return np.unique(self.y, return_inverse=True)[1]

    @cached_property
    def row_weights(self) -> np.ndarray:
        """Weight of every row in the objective: sample weight times class weight."""
        weights = np.ones(len(self.y)) if self.weights is None else np.array(self.weights)
        asked = self.constraints.get("class_weight")
        if asked == "balanced":
            counts = np.bincount(self.codes)
            return weights * (len(self.y) / (len(counts) * counts))[self.codes]
        if asked is not None:
            return weights * np.array([float(asked.get(label, 1.0)) for label in self.y])
        return weights

    @cached_property
    def costs(self) -> np.ndarray:
        """What every answer costs where a class is true; the last may be asking a person."""
        order = np.arange(len(self.classes))
        costs = (order[:, None] != order).astype(float)
        asked, refer = self.settings.get("costs"), self.settings.get("refer")
        if asked == "ordinal":
            costs = np.abs(order[:, None] - order).astype(float)
        else:
            for true, row in (asked or {}).items():
                for answer, cost in row.items():
                    costs[self.classes.index(true), self.classes.index(answer)] = cost
        return costs if refer is None else np.column_stack([costs, np.full(len(order), refer)])

    @property
    def of_rows(self) -> np.ndarray:
        """Cost of every answer to every row, shape ``(n_samples, n_answers)``."""
        return self.row_weights[:, None] * self.costs[self.codes]

    def cost_of(self, predicted: np.ndarray) -> float:
        """What some answers cost together; without costs the weight that is misclassified."""
        return float(self.of_rows[np.arange(len(self.y)), predicted].sum())

    def data(self) -> Dataset:
        """Rows as the product takes them; neighbouring numbers as it reads them in a file."""
        if self.way == "csv" or self.kind == NEIGHBOURS:
            text = pd.DataFrame({**self.columns, "class": self.y}).to_csv(index=False)
            return octcore.read_csv(text.encode(), target="class")
        return Dataset.from_arrays(pd.DataFrame(dict(self.columns)), list(self.y))

    def solve(self, **others: Any) -> octcore.Run:
        """Solve through the public interface.

        Raises Undecided where a model refuses weights that a solver would not tell apart.
        """
        asked: dict[str, Any] = {
            "formulation": self.key,
            "encoding": self.encoding,
            "depth": self.depth,
            "params": dict(self.params),
            "constraints": dict(self.constraints),
            "time_limit": SECONDS,
            "sample_weight": None if self.weights is None else np.array(self.weights),
            **self.settings,
            **others,
        }
        asked.pop(KERNELS, None)
        if STOPPED in asked:
            asked["cancel"] = Countdown(asked.pop(STOPPED))
        try:
            return octcore.solve(self.data(), **asked)
        except octcore.SettingsError as refusal:
            if refusal.code != "WEIGHTS_TOO_FAR_APART":
                raise
            weights, has_costs = self.row_weights, {"costs", "refer"} & {*self.settings}
            share = weights[weights > 0].min() / weights.sum()
            must(bool(has_costs or share < 1e-7), f"weights of other shares: {refusal.message}")
            raise Undecided(refusal.message) from refusal

    @property
    def is_interrupted(self) -> bool:
        """Whether a limit may end the solve before the proof."""
        return bool({STOPPED, "node_limit", "time_limit"} & set(self.settings))

    def rows(self, keep: list[int]) -> Case:
        """Keep some of the rows."""
        weights = None if self.weights is None else tuple(self.weights[i] for i in keep)
        there, settings = {self.y[i] for i in keep}, dict(self.settings)
        if isinstance(settings.get("costs"), Mapping):
            settings["costs"] = {
                true: {answer: cost for answer, cost in row.items() if answer in there}
                for true, row in settings["costs"].items()
                if true in there
            }
        return replace(
            self,
            settings=settings,
            columns={name: tuple(cells[i] for i in keep) for name, cells in self.columns.items()},
            y=tuple(self.y[i] for i in keep),
            weights=weights,
        )

    def without(self, name: str) -> Case:
        """Leave out one raw column."""
        return replace(self, columns={n: c for n, c in self.columns.items() if n != name})

    def source(self) -> str:
        """Python that builds the case again and checks it."""
        fields = {
            name: value
            for name, value in vars(self).items()
            if name in self.__dataclass_fields__ and value not in ({}, None, "")
        }
        text = ",\n".join(
            f"    {name}={pprint.pformat(dict(v) if isinstance(v, Mapping) else v, width=90)}"
            for name, v in fields.items()
        )
        return f"from tests.fuzz import Case, check\n\ncheck(Case(\n{text},\n))"


class Countdown:
    """Says that a stop was asked for after so many questions."""

    def __init__(self, questions: float) -> None:
        self.questions, self.asked = questions, 0

    def __call__(self) -> bool:
        self.asked += 1
        return self.asked > self.questions
