"""Stored models: our own versioned JSON, readable without the training data and never executable.

``model.schema.json`` beside this file states the format.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from octcore.data.arrays import prepare_rows
from octcore.data.columns import KINDS, Column
from octcore.data.dataset import Dataset
from octcore.data.serial import jsonable, read_json, versions
from octcore.encoding.base import Encoding
from octcore.errors import ModelFileError, read_in_words
from octcore.solving.run import NUMBERS, Run
from octcore.solving.settings import class_weights
from octcore.tree.constraints import Constraints
from octcore.tree.tree import Tree, labels_array

FORMAT = "octcore-model"
VERSION = 1
TIE = 1e-9  # relative difference of summed weights that is rounding
DEEPEST = 60  # deepest tree to read: node numbers fit into 64 bits


@dataclass(frozen=True, eq=False)
class StoredModel:
    """A model read back: everything that prediction and wording need."""

    columns: tuple[Column, ...]
    encoding: Encoding  # from raw columns to those of the tree
    tree: Tree
    classes: tuple[Any, ...]  # class labels in the order of the tree's indices
    target: str | None = None
    shares: Mapping[int, npt.NDArray[np.float64]] | None = None  # of classes by leaf, if known
    settings: Mapping[str, Any] = field(default_factory=dict)
    summary: Mapping[str, Any] = field(default_factory=dict)  # what came out under the settings

    def prepare(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Check and type raw rows as at training; what it does not test is made up."""
        return prepare_rows(frame, self.columns, needed=self.needed)

    def predict(self, frame: pd.DataFrame) -> npt.NDArray[Any]:
        """Predict class labels, ``(n_samples,)``; columns that are not needed are ignored.

        Raises
        ------
        DataError
            For a lacking column, a missing value, or text where a number is needed.

        Warns
        -----
        UserWarning
            If a category never came up in training.
        """
        return labels_array(self.classes)[self.tree.predict_codes(self._encoded(frame))]

    def predict_proba(self, frame: pd.DataFrame) -> npt.NDArray[np.float64]:
        """Shares of the classes among the training rows of every row's leaf, by all weights.

        Parameters
        ----------
        frame : pandas.DataFrame
            As in `predict`, also for what is raised and warned.

        Returns
        -------
        numpy.ndarray
            Shape ``(n_samples, n_classes)``, in the order of `classes`; "ask a person" is none.

        Raises
        ------
        ModelFileError
            If the file has no shares (``NO_SHARES``): it was written by an earlier version.
        """
        return self.shares_of(self.tree.apply(self._encoded(frame)))

    def shares_of(self, leaves: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
        """Rows of `predict_proba` by leaf, ``(n_samples, n_classes)``."""
        if self.shares is None:
            message = "The stored model does not say how many training rows of every class are in "
            message += "its leaves; train and store it again."
            raise ModelFileError("NO_SHARES", message)
        n_classes = len(next(iter(self.shares.values())))
        return np.array([self.shares[leaf] for leaf in leaves.tolist()]).reshape(-1, n_classes)

    def _encoded(self, frame: pd.DataFrame) -> npt.NDArray[Any]:
        prepared = self.prepare(frame)
        self.encoding.warn_unseen(prepared.filter([c.name for c in self.needed]), self.needed)
        return self.tree.encoded(self.encoding, prepared)

    @property
    def needed(self) -> tuple[Column, ...]:
        """Columns that the tree tests; others may be absent from rows to predict."""
        return self.encoding.sources(self.columns, self.tree.used_features)


def leaf_shares(
    run: Run, data: Dataset, weights: npt.NDArray[np.float64] | None
) -> dict[int, npt.NDArray[np.float64]]:
    """Class shares per leaf by the weights of rows and classes; an empty leaf is sure of its label.

    As in scikit-learn the label has the largest share, of equal ones the largest by a rounding,
    unless a side constraint, the costs or a hyperplane chose another class: shares stay what they
    are.
    """
    X, tree = run.final_tree.encoded(run.encoding, data.frame), run.final_tree
    of_class = class_weights(Constraints.parse(run.constraints), data.codes, data.classes)
    weights = of_class if weights is None else weights * of_class
    leaves, shares = tree.apply(X), {}
    for leaf, label in tree.labels.items():
        here = leaves == leaf
        counts = np.bincount(data.codes[here], weights[here], minlength=data.n_classes)
        if not counts.any():
            counts = np.bincount(data.codes[here], minlength=data.n_classes).astype(float)
        if not here.any():
            counts[label] = 1.0
        own = shares[leaf] = counts / counts.sum()
        others = own[np.arange(len(own)) != label].max(initial=0.0)
        if label < data.n_classes and own[label] >= others * (1.0 - TIE):
            own[label] = max(own[label], np.nextafter(others, np.inf))
    return shares


def model_to_dict(run: Run) -> dict[str, Any]:
    """Return the model of a run as plain data for JSON (see ``model.schema.json``)."""
    if run.tree is None or run.train is None:
        raise ModelFileError("NO_TREE", "This run has no tree, so there is no model to store.")
    summary = {name: getattr(run, name) for name in NUMBERS}
    return jsonable(
        {
            "format": FORMAT,
            "version": VERSION,
            "target": run.train.target_name,
            "columns": [column.to_dict() for column in run.train.columns],
            "classes": list(run.tree.classes or run.classes or run.train.classes),
            "encoding": run.encoding.to_dict(),
            "tree": run.tree.to_dict(),
            "shares": leaf_shares(run, run.train, run.sample_weight),
            "settings": dict(run.settings),
            "summary": summary | {"certificate": run.certificate.to_dict()},
            "versions": versions(),
        }
    )


def load_model(source: str | Path | Mapping[str, Any]) -> StoredModel:
    """Read a stored model.

    Parameters
    ----------
    source : path or mapping
        A JSON file, or its content.

    Raises
    ------
    ModelFileError
        If it cannot be read, is of another format or version, or its parts do not fit together.
    """
    record = source if isinstance(source, Mapping) else read_json(source)
    if not isinstance(record, Mapping) or record.get("format") != FORMAT:
        found = record.get("format") if isinstance(record, Mapping) else type(record).__name__
        message = f"Expected a stored model ({FORMAT}), found {str(found)[:60]!r}; "
        message += "write one with octcore solve --model."
        raise ModelFileError("NOT_A_MODEL", message)
    if record.get("version") != VERSION:
        message = f"The model has version {str(record.get('version'))[:20]!r}, this program reads "
        message += f"version {VERSION}; train it again or install the program that wrote it."
        raise ModelFileError("OTHER_VERSION", message)
    with read_in_words("BROKEN_MODEL", "The stored model"):
        target, shares = record.get("target"), record.get("shares")
        model = StoredModel(
            tuple(Column.from_dict(entry) for entry in record["columns"]),
            Encoding.from_dict(record["encoding"]),
            Tree.from_dict(record["tree"]),
            tuple(record["classes"]),
            None if target is None else str(target),
            None if shares is None else {int(m): np.array(s, float) for m, s in shares.items()},
            dict(record.get("settings") or {}),
            dict(record.get("summary") or {}),
        )
        _check(model)
    return model


def _check(model: StoredModel) -> None:
    """Refuse a model whose parts name columns or classes that are not there."""
    tree, n_columns = model.tree, len(model.encoding.columns)
    names, shares = {column.name for column in model.columns}, model.shares
    problems = {
        "a column has an unknown kind": any(c.kind not in KINDS for c in model.columns),
        "two columns have the same name": len(names) != len(model.columns),
        "the encoding uses a column that is not listed": any(
            c.raw not in names for c in model.encoding.columns
        ),
        "the tree is too deep": tree.max_depth > DEEPEST,
        "the tree is for another number of columns": tree.n_features != n_columns,
        "a split tests a column that is not there": any(
            not 0 <= j < n_columns for j in tree.used_features
        ),
        "a leaf predicts a class that is not there": tree.n_classes != len(model.classes)
        or any(not 0 <= k < len(model.classes) for k in tree.labels.values()),
        "its shares of classes are not those of its leaves": shares is not None
        and not (
            set(shares) == set(tree.labels)
            and all(own.shape == (tree.n_targets,) and (own >= 0).all() for own in shares.values())
            and all(abs(own.sum() - 1) < 1e-6 for own in shares.values())
        ),
        "a class is not a plain value": any(
            not isinstance(c, (str, int, float, bool)) for c in model.classes
        ),
    }
    for problem, is_there in problems.items():
        if is_there:
            raise ModelFileError("BROKEN_MODEL", f"The stored model cannot be used: {problem}.")
