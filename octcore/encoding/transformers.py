"""The quantile encodings as scikit-learn transformers for numeric arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted, validate_data

from octcore.data.arrays import refuse_rounded_table
from octcore.data.columns import Column
from octcore.encoding.base import Encoding
from octcore.encoding.fit import fit_encoding

_check: Any = validate_data  # scikit-learn's own hint says that X is a str


class _QuantileTransformer(TransformerMixin, BaseEstimator):
    """What both transformers share: fit an `Encoding` on numeric columns and apply it."""

    _family = ""

    def __init__(self, q: int = 5) -> None:
        self.q = q

    def fit(self, X: npt.ArrayLike | pd.DataFrame, y: object = None) -> _QuantileTransformer:
        """Learn the quantiles.

        Parameters
        ----------
        X : array, shape (n_samples, n_features)
            Finite numbers.
        y : object
            Ignored.

        Returns
        -------
        object
            The transformer itself.
        """
        numbers: Any = _check(self, X, dtype=np.float64)
        names = getattr(self, "feature_names_in_", None)
        raw = [f"x{j}" for j in range(numbers.shape[1])] if names is None else list(names)
        refuse_rounded_table(X, numbers)
        columns = tuple(Column(str(name), "numeric") for name in raw)
        frame = pd.DataFrame(numbers, columns=[column.name for column in columns])
        key = f"{self._family}-{self.q}"
        self.encoding_: Encoding = fit_encoding(key, (frame, columns), few=0)
        return self

    def transform(self, X: npt.ArrayLike | pd.DataFrame) -> npt.NDArray[np.float64]:
        """Encode rows of shape ``(n_samples, n_features)`` to 0 and 1."""
        check_is_fitted(self)
        numbers: Any = _check(self, X, dtype=np.float64, reset=False)
        encoding: Encoding = self.encoding_
        refuse_rounded_table(X, numbers)
        return encoding.transform(pd.DataFrame(numbers, columns=list(encoding.raw_features)))

    def get_feature_names_out(
        self, input_features: npt.ArrayLike | None = None
    ) -> npt.NDArray[np.object_]:
        """Names of the encoded columns.

        Parameters
        ----------
        input_features : array of str or None
            Names of the input columns; must be those of the training rows if these had names.

        Returns
        -------
        numpy.ndarray
            Shape ``(n_columns,)``.
        """
        check_is_fitted(self)
        encoding: Encoding = self.encoding_
        given: Any = _check_feature_names_in(self, input_features)
        renamed = dict(zip(encoding.raw_features, map(str, given), strict=True))
        return np.asarray(encoding.renamed(renamed).names, dtype=object)


class QuantileBuckets(_QuantileTransformer):
    """One indicator per bucket between quantiles (``QB-q``, of few distinct numbers too).

    Parameters
    ----------
    q : int
        Number of buckets per column, fewer where quantiles coincide; at least 2.

    Attributes
    ----------
    encoding_ : Encoding
        The fitted encoding.
    """

    _family = "QB"


class QuantileThresholds(_QuantileTransformer):
    """One indicator "strictly above the quantile" per inner quantile.

    That is ``QT-q``, but of few distinct numbers too.

    Parameters
    ----------
    q : int
        Number of quantile steps; up to q - 1 columns per raw column; at least 2.

    Attributes
    ----------
    encoding_ : Encoding
        The fitted encoding.
    """

    _family = "QT"
