from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import SkipTestWarning
from sklearn.pipeline import make_pipeline
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import check_estimator

from octcore.encoding.transformers import QuantileBuckets, QuantileThresholds
from octcore.errors import DataError, SettingsError

BOTH = pytest.mark.parametrize("kind", [QuantileBuckets, QuantileThresholds])


@BOTH
def test_scikit_learn_checks(kind: type) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SkipTestWarning)
        results = check_estimator(kind(), on_fail=None)
    failed = [r["check_name"] for r in results if r["status"] not in {"passed", "skipped"}]
    assert failed == []
    skipped = {r["check_name"] for r in results if r["status"] == "skipped"}
    assert skipped <= {"check_array_api_input"}
    assert len(results) > 30


def test_names_and_pandas_output() -> None:
    frame = pd.DataFrame({"a": np.arange(10.0), "b": np.arange(10.0) ** 2})
    encoder = QuantileThresholds(2).set_output(transform="pandas")
    found = encoder.fit_transform(frame)
    assert list(found.columns) == ["a>4.5", "b>20.5"]
    assert list(encoder.get_feature_names_out()) == ["a>4.5", "b>20.5"]


def test_names_of_unnamed_columns_can_be_given() -> None:
    encoder = QuantileBuckets(2).fit(np.arange(10.0)[:, None])
    assert list(encoder.get_feature_names_out(["age"])) == [
        "age in (-inf,4.5]",
        "age in (4.5,inf]",
    ]
    with pytest.raises(ValueError, match="length"):
        encoder.get_feature_names_out(["a", "b"])


@BOTH
def test_in_a_pipeline(kind: type) -> None:
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(60, 2))
    y = (X[:, 0] > 0.5).astype(int)
    model = make_pipeline(kind(4), DecisionTreeClassifier(random_state=0)).fit(X, y)
    assert model.score(X, y) > 0.9


def test_too_few_quantiles_are_refused() -> None:
    with pytest.raises(SettingsError, match="at least 2"):
        QuantileBuckets(q=1).fit(np.arange(4.0)[:, None])


def test_whole_numbers_that_floats_would_merge_are_refused() -> None:
    good, bad = (np.array([0, 1, 2, 2**53 + more])[:, None] for more in (0, 1))
    for ask in (QuantileThresholds(q=2).fit(good).transform, QuantileThresholds(q=2).fit):
        with pytest.raises(DataError, match="9007199254740993"):
            ask(bad)
