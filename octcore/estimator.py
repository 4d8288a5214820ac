"""Optimal trees as scikit-learn classifiers; a thin coat over `octcore.solve`.

`OptimalTreeClassifier` takes any formulation.  For every formulation there is also a class of its
own, such as `FlowOCTClassifier`, whose constructor lists the hyperparameters of the declaration.
A fit that ends without a proof keeps its best tree, warns, and says so in ``is_optimal_``.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils import validation
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_is_fitted

from octcore.data.dataset import Dataset
from octcore.errors import EngineError, SettingsError
from octcore.estimator_support import (
    all_numbers,
    leaf_shares,
    raw_numbers,
    require_two_classes,
    require_weights,
    seed_of,
    warn_unproven,
)
from octcore.formulations.base import FormulationInfo, get_formulation, list_formulations
from octcore.solving.run import Run
from octcore.solving.solve import solve
from octcore.tree.export.to_sklearn import to_sklearn

# scikit-learn gives these parameters text defaults, from which type checkers conclude text.
check_array: Any = validation.check_array
validate_data: Any = validation.validate_data


class OptimalTreeClassifier(ClassifierMixin, BaseEstimator):
    """A classification tree trained to proven optimality.

    Parameters
    ----------
    formulation : str
        Key of a formulation, see `octcore.formulations`.
    encoding : str
        How raw columns become the columns that splits test; ``"auto"`` is what the formulation
        needs.
    max_depth : int
        Largest depth of the tree.
    params, constraints : mapping or None
        Hyperparameters and side constraints, as in `octcore.solve`.
    engine : str
        Engine key or ``"auto"``.
    time_limit : float
        Seconds of one fit.
    gap : float
        Relative gap at which the fit may stop.
    node_limit : int or None
        Largest number of branch-and-bound nodes; unlike seconds it stops at the same place again.
    threads : int
        Threads of the solver.
    random_state : int
        Seed.

    Attributes
    ----------
    tree_ : Tree
        The tree in encoded columns.
    encoding_ : Encoding
        From raw to encoded columns.
    classes_ : numpy.ndarray
        Sorted class labels.
    n_features_in_ : int
        Number of raw columns.
    feature_names_in_ : numpy.ndarray
        Names of the raw columns, when they were text.
    objective_, bound_, gap_ : float or None
        As in `Run`.
    status_ : str
        As in `Run`.
    is_optimal_ : bool
        Whether optimality is proven.
    trace_ : Trace
        Events of the solve.
    solve_time_ : float
        Seconds.
    run_ : Run
        The whole result.
    """

    def __init__(
        self,
        formulation: str = "threshold-search",
        encoding: str = "auto",
        max_depth: int = 2,
        params: Mapping[str, Any] | None = None,
        constraints: Mapping[str, Any] | None = None,
        engine: str = "auto",
        time_limit: float = 60,
        gap: float = 0.0,
        node_limit: int | None = None,
        threads: int = 1,
        random_state: int = 0,
    ) -> None:
        self.formulation = formulation
        self.encoding = encoding
        self.max_depth = max_depth
        self.params = params
        self.constraints = constraints
        self.engine = engine
        self.time_limit = time_limit
        self.gap = gap
        self.node_limit = node_limit
        self.threads = threads
        self.random_state = random_state

    def _formulation_key(self) -> str:
        return self.formulation

    def _hyperparameters(self) -> Mapping[str, Any] | None:
        return self.params

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> OptimalTreeClassifier:
        """Train the tree.

        Parameters
        ----------
        X : array-like or pandas.DataFrame
            Raw rows, shape ``(n_samples, n_features)``; text columns of a frame are categorical.
        y : array-like
            Class labels, shape ``(n_samples,)``.
        sample_weight : array-like or None
            Weights of the rows in the accuracy, exact where the formulation takes weights and
            refused elsewhere.

        Returns
        -------
        OptimalTreeClassifier
            The fitted estimator itself.

        Raises
        ------
        SettingsError, DataError
            Both are ``ValueError``: a setting or the data cannot be used.
        EngineError
            If no tree was found.

        Warns
        -----
        sklearn.exceptions.ConvergenceWarning
            If the fit ended before optimality was proven.
        """
        info = get_formulation(self._formulation_key()).info
        X, y = self._checked(X, y)
        require_two_classes(info, len(self.classes_))
        data, weights = _weighted_rows(info, X, y, sample_weight)
        run = self._solve(info, data, weights)
        if run.tree is None:
            raise EngineError("NO_TREE", f"No tree was found: {run.stop_reason}.")
        warn_unproven(run)
        self.run_, self.tree_, self.encoding_, self.trace_ = run, run.tree, run.encoding, run.trace
        self.objective_, self.bound_, self.gap_ = run.objective, run.bound, run.gap
        self.status_, self.is_optimal_ = run.status, run.is_optimal
        self.solve_time_ = run.timings["total"]
        self._shares = leaf_shares(run, data, weights)
        return self

    def _solve(self, info: FormulationInfo, data: Dataset, weights: np.ndarray | None) -> Run:
        return solve(
            data,
            formulation=info.key,
            encoding=self.encoding,
            depth=self.max_depth,
            params=self._hyperparameters(),
            constraints=self.constraints,
            engine=self.engine,
            time_limit=self.time_limit,
            gap=self.gap,
            node_limit=self.node_limit,
            threads=self.threads,
            seed=seed_of(self.random_state),
            sample_weight=weights,
        )

    def _checked(self, X: Any, y: Any) -> tuple[Any, np.ndarray]:
        if isinstance(X, pd.DataFrame) and not all_numbers(X):
            validate_data(self, X, skip_check_array=True)
            y = np.asarray(y)
        else:
            names = getattr(X, "columns", None)
            X, y = validate_data(self, X, y, dtype=np.float64)
            if names is not None:
                X = pd.DataFrame(X, columns=[str(name) for name in names])
        check_classification_targets(y)
        self.classes_ = np.unique(y)
        return X, y

    def _frame(self, X: Any) -> pd.DataFrame:
        check_is_fitted(self, "tree_")
        data = self.run_.train
        assert data is not None
        if isinstance(X, pd.DataFrame) and not all_numbers(X):
            validate_data(self, X, reset=False, skip_check_array=True)
            frame = X
        else:
            array = check_array(X, dtype=np.float64)
            validate_data(self, X, reset=False, skip_check_array=True)
            frame = pd.DataFrame(array, columns=list(data.feature_names))
        return data.prepare(frame)

    def predict(self, X: Any) -> np.ndarray:
        """Predict the class labels of raw rows, shape ``(n_samples,)``."""
        encoded = self._encoded(X)
        return self.classes_[self.tree_.predict_codes(encoded)]

    def predict_proba(self, X: Any) -> np.ndarray:
        """Class shares of the training rows in every row's leaf, ``(n_samples, n_classes)``."""
        leaves = self.apply(X)
        return np.array([self._shares[int(leaf)] for leaf in leaves])

    def apply(self, X: Any) -> np.ndarray:
        """Leaf number of every row, shape ``(n_samples,)``."""
        encoded = self._encoded(X)
        return self.tree_.apply(encoded)

    def _encoded(self, X: Any) -> np.ndarray:
        frame = self._frame(X)
        return self.encoding_.transform(frame)

    def get_depth(self) -> int:
        """Depth of the fitted tree."""
        check_is_fitted(self, "tree_")
        return self.tree_.max_depth

    def get_n_leaves(self) -> int:
        """Number of leaves of the fitted tree."""
        check_is_fitted(self, "tree_")
        return self.tree_.n_leaves

    def to_sklearn(self, encoded: bool = False) -> DecisionTreeClassifier:
        """Convert a univariate tree to scikit-learn's own classifier, for its plots and tools.

        Parameters
        ----------
        encoded : bool
            Whether the classifier takes encoded rows; raw rows otherwise.

        Returns
        -------
        sklearn.tree.DecisionTreeClassifier
            With the training rows counted at its nodes.

        Raises
        ------
        SettingsError
            If a split is oblique or, for raw rows, no single threshold on a column of numbers.

        Warns
        -----
        SinglePrecisionWarning
            If scikit-learn predicts training rows differently, since it rounds them to float32.
        """
        check_is_fitted(self, "tree_")
        data = self.run_.train
        assert data is not None
        assert data.y is not None
        raw = None if encoded else raw_numbers(data.frame)
        X = self.encoding_.transform(data.frame)
        model: Any = to_sklearn(self.tree_, self.encoding_, X, data.y, raw)
        model.classes_ = self.classes_
        return model

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        try:
            info = get_formulation(self._formulation_key()).info
        except SettingsError:
            return tags
        tags.classifier_tags.multi_class = info.max_classes != 2
        return tags


def _weighted_rows(
    info: FormulationInfo, X: Any, y: np.ndarray, sample_weight: Any
) -> tuple[Dataset, np.ndarray | None]:
    """Rows and their weights; rows of weight zero count nowhere and are left out."""
    data = Dataset.from_arrays(X, y)
    if sample_weight is None:
        return data, None
    weights = _check_sample_weight(sample_weight, X)
    require_weights(info)
    if weights.ndim == 1 and not (weights > 0).all() and (weights >= 0).all():
        data, weights = data.subset(weights > 0), weights[weights > 0]
    return data, weights


_GENERAL = [
    p
    for name, p in inspect.signature(OptimalTreeClassifier.__init__).parameters.items()
    if name not in {"self", "formulation", "params"}
]


def _make_class(info: FormulationInfo) -> type[OptimalTreeClassifier]:
    """Make the class of one formulation, with an explicit signature from its declaration."""
    own = [
        inspect.Parameter(p.name, inspect.Parameter.KEYWORD_ONLY, default=p.default)
        for p in info.hyperparameters
    ]
    general = [p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in _GENERAL]
    this = inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    signature = inspect.Signature([this, *general, *own])

    def __init__(self: Any, **given: Any) -> None:
        bound = signature.bind(self, **given)
        bound.apply_defaults()
        for name, value in bound.arguments.items():
            if name != "self":
                setattr(self, name, value)

    __init__.__signature__ = signature  # type: ignore[attr-defined]

    def hyperparameters(self: Any) -> Mapping[str, Any]:
        return {p.name: getattr(self, p.name) for p in info.hyperparameters}

    lines = [f"    {p.name} : {p.describe_range()}\n        {p.help}" for p in info.hyperparameters]
    doc = f"{info.title}.\n\n    {info.summary}\n\n    Parameters\n    ----------\n"
    body = {
        "__init__": __init__,
        "__doc__": doc + "\n".join(lines),
        "__module__": __name__,
        "_formulation_key": lambda self: info.key,
        "_hyperparameters": hyperparameters,
    }
    return type(info.class_name, (OptimalTreeClassifier,), body)


def __getattr__(name: str) -> Any:
    for info in list_formulations():
        if info.class_name == name:
            globals()[name] = _make_class(info)
            return globals()[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
