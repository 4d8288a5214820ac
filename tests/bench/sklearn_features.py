"""What scikit-learn users can do with every program of optimal trees, measured by trying it.

``python tests/bench/sklearn_features.py`` prints a Markdown table of the programs installed
here; one that is not is left out, and names as arguments choose among them.  Every cell is
the outcome of a small call: "yes" if it worked and its result was right, "no" otherwise.

ODTLearn finds the solver of mip 1.17 only where ``PMIP_CBC_LIBRARY`` names its ``libCbc.so``; gosdt
needs scikit-learn below 1.8 and so an environment of its own.
"""

from __future__ import annotations

import importlib
import pickle
import sys
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.model_selection import GridSearchCV
from sklearn.utils import estimator_checks

NUMBERS, CLASSES = load_iris(return_X_y=True)
BITS = (NUMBERS > np.median(NUMBERS, axis=0)).astype(int)
FRAME = pd.DataFrame(BITS, columns=["a", "b", "c", "d"])
TWO = (CLASSES > 0).astype(int)
ANY = np.random.default_rng(0).integers(0, 2, (200, 4))
CROSSED = ANY[:, 0] ^ ANY[:, 1]
BAIT = np.where(np.arange(200) % 10 < 3, 1 - CROSSED, CROSSED)
LURED = np.column_stack([ANY, BAIT])
"""The last column is right on 70 % of the rows; two others are right on all, together only."""
ORDERED = np.arange(200.0)[:, None]
BETWEEN = ((ORDERED[:, 0] > 61) & (ORDERED[:, 0] < 82)).astype(int)
"""Found by two thresholds in a column of 200 values, and by no coarser ones."""
SLOPE = np.random.default_rng(0).random((600, 2))
SLOPE = SLOPE[abs(SLOPE.sum(axis=1) - 1) > 0.1]
ABOVE = (SLOPE.sum(axis=1) > 1).astype(int)
"""One line divides them; few questions about one column do not."""
TEXTS = np.array(["a", "b", "c"])[CLASSES]

PROGRAMS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "octcore": ("octcore", "OptimalTreeClassifier", {"max_depth": 2}),
    "ODTLearn": ("odtlearn.flow_oct", "FlowOCT", {"solver": "cbc", "depth": 2, "time_limit": 20}),
    "pystreed": ("pystreed", "STreeDClassifier", {"max_depth": 2}),
    "pycontree": ("pycontree", "ConTree", {"max_depth": 2}),
    "pydl8.5": ("pydl85", "DL85Classifier", {"max_depth": 2}),
    "gosdt": ("gosdt", "GOSDTClassifier", {"regularization": 0.01, "depth_budget": 3}),
    "imodels": ("imodels", "GreedyTreeClassifier", {"max_depth": 2}),
    "interpret": ("interpret.glassbox", "ClassificationTree", {"max_depth": 2}),
    "pytrees-rs": ("pytrees", "ConTreeClassifier", {"max_depth": 2}),
    "rollotree": ("rollotree", "RollingOCT", {"depth": 2, "time_limit": 20}),
    "licketysplit": ("licketysplit", "LicketySPLITClassifier", {"depth_budget": 3}),
}


def fits(make: Callable[[], Any], X: Any, y: Any, **given: Any) -> Any:
    """A model after `fit`, which answers for the rows it saw better than the largest class."""
    model = make().fit(X, y, **given)
    share = np.mean(np.asarray(model.predict(X)) == np.asarray(y))
    assert share > np.unique(y, return_counts=True)[1].max() / len(y)
    return model


def without_error(make: Callable[[], Any], X: np.ndarray, y: np.ndarray) -> None:
    """A tree that is right for every row."""
    model = make().fit(X, y)
    assert (np.asarray(model.predict(X)) == y).all()


def hyperplane(make: Callable[[], Any]) -> None:
    """One split on two columns at once, where a program has them."""
    model = make()
    if "formulation" in getattr(model, "get_params", dict)():
        model.set_params(formulation="margot", max_depth=1)
    without_error(lambda: model, SLOPE, ABOVE)


def polars_table(make: Callable[[], Any]) -> None:
    """A table of polars."""
    import polars

    fits(make, polars.DataFrame(FRAME.to_dict("list")), TWO)


def words(make: Callable[[], Any]) -> None:
    """Columns of text among the features."""
    fits(make, pd.DataFrame({"word": TEXTS, "number": NUMBERS[:, 0]}), TWO)


def holes(make: Callable[[], Any]) -> None:
    """Missing values, as they are or by one setting."""
    model = make()
    if "missing" in getattr(model, "get_params", dict)():
        model.set_params(missing="branch")
    fits(lambda: model, np.where(NUMBERS > 6, np.nan, NUMBERS), TWO)


def path_of_rows(make: Callable[[], Any]) -> None:
    """Nodes that a row visits, and its leaf."""
    model = fits(make, BITS, TWO)
    assert model.decision_path(BITS).shape[0] == len(BITS) == len(model.apply(BITS))


def grid(make: Callable[[], Any]) -> None:
    """Choose a hyperparameter of the constructor by cross-validation."""
    model = make()
    name = next(n for n in ("max_depth", "depth", "depth_budget") if n in model.get_params())
    GridSearchCV(model, {name: [2, 3]}, cv=2, error_score="raise").fit(BITS, TWO)


def probabilities(make: Callable[[], Any]) -> None:
    """Class probabilities that sum to one."""
    found = np.asarray(fits(make, BITS, TWO).predict_proba(BITS), float)
    assert np.allclose(found.sum(axis=1), 1)


def weights(make: Callable[[], Any]) -> None:
    """Weights of rows change the tree: rows without weight do not count."""
    model = make().fit(BITS, TWO, sample_weight=np.where(TWO == 1, 1.0, 1e-6))
    assert np.mean(np.asarray(model.predict(BITS)) == 1) > 0.99


def stored(make: Callable[[], Any]) -> None:
    """A model answers alike after pickling."""
    model = fits(make, BITS, TWO)
    again = pickle.loads(pickle.dumps(model))
    assert (np.asarray(again.predict(BITS)) == np.asarray(model.predict(BITS))).all()


def importances(make: Callable[[], Any]) -> None:
    """Importance of every feature."""
    assert len(fits(make, BITS, TWO).feature_importances_) == BITS.shape[1]


def checks(make: Callable[[], Any]) -> str:
    """How many of scikit-learn's checks pass."""
    found = estimator_checks.check_estimator(make(), on_fail=None, on_skip=None)
    passed = sum(entry["status"] == "passed" for entry in found)
    return f"{passed} of {sum(entry['status'] != 'skipped' for entry in found)}"


FEATURES: dict[str, Callable[[Callable[[], Any]], Any]] = {
    "`clone`": lambda make: clone(make()),
    "`GridSearchCV`": grid,
    "0/1 features, two classes": lambda make: fits(make, BITS, TWO),
    "the best tree where greedy ones fail": lambda make: without_error(make, LURED, CROSSED),
    "numbers as they are": lambda make: fits(make, NUMBERS, TWO),
    "every threshold of a column": lambda make: without_error(make, ORDERED, BETWEEN),
    "a hyperplane as a split": hyperplane,
    "pandas": lambda make: fits(make, FRAME, pd.Series(TWO)),
    "polars": polars_table,
    "columns of text": words,
    "missing values": holes,
    "three classes": lambda make: fits(make, BITS, CLASSES),
    "text labels": lambda make: fits(make, BITS, TEXTS),
    "`sample_weight`": weights,
    "`predict_proba`": probabilities,
    "`feature_importances_`": importances,
    "`decision_path`, `apply`": path_of_rows,
    "pickle": stored,
}


def outcome(trial: Callable[[], Any]) -> str:
    """Say whether a call works; programs raise errors of every kind."""
    try:
        trial()
    except (Exception, SystemExit):
        return "no"
    return "yes"


def main(names: list[str]) -> None:
    """Print the table."""
    warnings.simplefilter("ignore")
    columns: dict[str, list[str]] = {}
    for name, (module, kind, settings) in PROGRAMS.items():
        if names and name not in names:
            continue
        try:
            program = getattr(importlib.import_module(module), kind)
        except ImportError:
            continue
        make = partial(program, **settings)
        cells = [outcome(partial(trial, make)) for trial in FEATURES.values()]
        try:
            counted = checks(make)
        except Exception:
            counted = "no"
        columns[name] = [*cells, counted]
    print("| | " + " | ".join(columns) + " |")
    print("|---" * (len(columns) + 1) + "|")
    for row, label in enumerate([*FEATURES, "`check_estimator`"]):
        print(f"| {label} | " + " | ".join(cells[row] for cells in columns.values()) + " |")


if __name__ == "__main__":
    main(sys.argv[1:])
