"""Stored models: our own versioned JSON, readable without the training data and never executable.

``model.schema.json`` beside this file states the format.  New rows get predictions, leaves and
confidence from them, and are counted where they are right.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from octcore.data.arrays import as_meant, distinct_cells, other_marks, prepare_rows
from octcore.data.columns import KINDS, MISSING_LEVEL, Column
from octcore.data.dataset import Dataset
from octcore.data.findings import Finding, count, few, listing, quote, warning
from octcore.data.numbers import spelling
from octcore.data.serial import jsonable, read_json, versions
from octcore.data.tasks import ASK
from octcore.data.text import MISSING_MARKS, find_column, free_name, normal
from octcore.encoding.base import Encoding
from octcore.errors import DataError, ModelFileError, read_in_words
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


@dataclass(frozen=True, eq=False)
class Scored:
    """Rows with what a tree says about them."""

    frame: pd.DataFrame
    complete: npt.NDArray[np.bool_]  # rows that have all values; only these get a prediction
    labels: npt.NDArray[Any]  # shape ``(n_complete,)``: predicted classes
    leaves: npt.NDArray[np.int64]  # shape ``(n_complete,)``: leaf that every row reaches
    confidence: npt.NDArray[np.float64] | None = None
    """Shape ``(n_complete,)``: share of the predicted class among the training rows of the leaf,
    NaN in a leaf that no training row reaches; None when these are not known."""
    warnings: tuple[Finding, ...] = ()  # rows without a prediction, columns unlike training
    extra: tuple[str, ...] = ()  # columns that the model does not know
    right: npt.NDArray[np.int8] | None = None
    """Shape ``(n_complete,)``: 1 where the prediction is right, 0 where not, -1 where the file
    states no label, -2 where it does and a person is asked; None when it has no target column."""
    target: str | None = None  # the target column in the spelling of the file

    @property
    def n_judged(self) -> int:
        """Rows whose label is stated."""
        return 0 if self.right is None else int((self.right >= 0).sum())

    @property
    def accuracy(self) -> float | None:
        """Share of the rows with a stated label that are right; None without such rows."""
        if self.right is None or not self.n_judged:
            return None
        return float((self.right == 1).sum()) / self.n_judged

    @property
    def findings(self) -> tuple[str, ...]:
        """What the reader should know about the columns, one sentence each."""
        found = [finding.message for finding in self.warnings]
        if self.extra:
            verb = "is not a column" if len(self.extra) == 1 else "are not columns"
            found.append(f"{listing(self.extra)} {verb} of the model and not used.")
        asked = int((self.labels == ASK).sum())
        if asked:
            found.append(f"{count(asked, 'row')} {'is' if asked == 1 else 'are'} left to a person.")
        unknown = 0 if self.right is None else int((self.right == -1).sum())
        if unknown:
            found.append(
                f"{count(unknown, 'row')} with no label, or with one that the model does not know, "
                f"in {quote(self.target)}; {'it does' if unknown == 1 else 'they do'} not count."
            )
        return tuple(found)

    def table(self, names: Sequence[str] = ("prediction", "confidence", "leaf")) -> pd.DataFrame:
        """Return the rows with further columns; a name that is taken gets a trailing ``_``."""
        values = {"prediction": self.labels, "confidence": self.confidence, "leaf": self.leaves}
        table = self.frame
        for name in names:
            column = values[name]
            if column is not None:
                fresh = free_name(name, table.columns, "_")
                table = table.assign(**{fresh: self.spread(column)})
        return table

    def spread(self, values: npt.NDArray[Any]) -> pd.Series | npt.NDArray[Any]:
        """One value per row of the frame; empty where a row got none."""
        if self.complete.all():
            return values
        whole = "Int64" if values.dtype.kind == "i" else None
        known = pd.Series(values, index=self.frame.index[self.complete], dtype=whole)
        return known.reindex(self.frame.index)


def score(
    model: StoredModel, frame: pd.DataFrame, leaf_counts: Mapping[int, Sequence[int]] | None = None
) -> Scored:
    """Send raw rows, as numbers or as text, through the tree of a model.

    `leaf_counts` are the training rows by class of every leaf, for the confidence.  A row with an
    empty cell in a needed column, or with a word without a digit where a number is needed, gets no
    prediction.

    `DataError` for columns that are lacking (all of them in one sentence), or text with a digit
    where a number is needed.
    """
    cells = as_meant(frame, model.needed)
    names = [str(name) for name in cells.columns]
    _check_columns(model, names)
    cells = cells.iloc[:, [names.index(find_column(c.name, names)) for c in model.needed]]
    complete = _complete(model, cells)
    kept = frame.loc[complete]
    prepared = _prepared(model, cells, complete)
    X = model.tree.encoded(model.encoding, prepared)
    leaves, codes = model.tree.apply(X), model.tree.predict_codes(X)
    target, right = _judged(model, kept, codes)
    known = {normal(name) for column in model.columns for name in (column.name, column.source)}
    known.add(normal(str(target)))
    extra = tuple(str(name) for name in frame.columns if normal(str(name)) not in known)
    confidence = None
    if leaf_counts is not None:
        shares = {
            leaf: _share(leaf_counts.get(leaf, ()), k) for leaf, k in model.tree.labels.items()
        }
        confidence = np.array([shares[int(leaf)] for leaf in leaves], dtype=np.float64)
    labels = labels_array(model.classes)[codes]
    marked = [frame.columns[place] for place in other_marks(frame, model.needed)]
    tested = prepared.filter([column.name for column in model.needed])
    new = model.encoding.unseen(tested, model.needed)
    warnings = (*_remarks(complete, marked), *new)
    return Scored(frame, complete, labels, leaves, confidence, warnings, extra, right, target)


def _remarks(complete: npt.NDArray[np.bool_], marked: Sequence[Any]) -> Iterator[Finding]:
    """Say which rows get no prediction, and which columns have another decimal mark."""
    if gone := (np.flatnonzero(~complete) + 1).tolist():
        verb, noun = ("gets", "row") if len(gone) == 1 else ("get", "rows")
        message = (
            f"{count(len(gone), 'row')} without a usable value in a column that is needed "
            f"({noun} {few(gone)}) {verb} no prediction."
        )
        yield warning("MISSING_VALUES", message, gone[0])
    if marked:
        words = f"The decimal mark of {listing(marked)} is another than in training; it is obeyed."
        yield warning("DECIMAL_MARK", words)


def _prepared(
    model: StoredModel, cells: pd.DataFrame, complete: npt.NDArray[np.bool_]
) -> pd.DataFrame:
    """Typed complete rows; the others are made up meanwhile, so that errors count all rows."""
    if not complete.any():
        return model.prepare(cells.loc[complete])
    rows = np.where(complete, np.arange(len(cells)), np.argmax(complete))
    return model.prepare(cells.iloc[rows].set_axis(cells.index)).loc[complete]


def _complete(model: StoredModel, cells: pd.DataFrame) -> npt.NDArray[np.bool_]:
    """Which rows have a value in every needed column; one may count missing as a category."""
    found = np.ones(len(cells), dtype=bool)
    for column, (_, values) in zip(model.needed, cells.items(), strict=True):
        if MISSING_LEVEL not in column.levels:
            codes, distinct = distinct_cells(values)
            is_text, texts = not column.holds_numbers, [str(cell).strip() for cell in distinct]
            # A word such as "k.A." is no number, as when reading.
            empty = [t in MISSING_MARKS or not (is_text or any(map(str.isdigit, t))) for t in texts]
            found &= ~(np.array(empty, dtype=bool)[codes] | values.isna().to_numpy())
    return found


def _share(counts: Sequence[int], code: int) -> float:
    total = sum(counts)
    return counts[code] / total if total and code < len(counts) else float("nan")


def _check_columns(model: StoredModel, names: Sequence[str]) -> None:
    present = {normal(name) for name in names}
    missing = [column.source for column in model.needed if normal(column.name) not in present]
    if len(missing) == 1:
        find_column(missing[0], names)  # Says which column may have been meant.
    if missing:
        message = f"The rows lack {count(len(missing), 'column')} that the tree tests "
        message += f"({listing(missing)}); add them."
        known = {normal(str(name)) for c in model.columns for name in (c.source, model.target)}
        if new := [name for name in names if normal(name) not in known]:
            message = f"{message[:-1]}, or rename what training did not have ({listing(new)})."
        raise DataError("UNKNOWN_COLUMN", message, column=missing[0])


def _judged(
    model: StoredModel, frame: pd.DataFrame, codes: npt.NDArray[np.int64]
) -> tuple[str | None, npt.NDArray[np.int8] | None]:
    """Return the target column of the rows, and which predictions are right (-1 unknown)."""
    if model.target is None:
        return None, None
    found = [name for name in frame.columns if normal(str(name)) == normal(model.target)]
    if len(found) != 1:
        return None, None
    texts = [str(label) for label in model.classes]
    code_of: dict[str | float, int] = {}
    for write in (_spelled, normal, str):
        code_of |= {write(text): code for code, text in enumerate(texts)}
    rows, cells = distinct_cells(pd.Series(frame[found[0]]))
    truth = np.array([_code(str(cell), code_of) for cell in cells], dtype=np.int64)[rows]
    right = np.where(codes < model.tree.n_targets, truth == codes, -2)
    right = np.where(truth < 0, -1, right).astype(np.int8)
    return str(found[0]), right


def _spelled(text: str) -> str | float:
    return spelling(normal(text))


def _code(label: str, code_of: Mapping[str | float, int]) -> int:
    """Class of a label as the classes are written, else of the same number: 1.0 is the class 1."""
    ways = (label, normal(label), _spelled(label))
    return next((code_of[way] for way in ways if way in code_of), -1)
