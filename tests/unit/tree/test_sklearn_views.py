"""Tools that people know draw and explain a converted tree as if scikit-learn had grown it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
import sklearn.datasets
from sklearn.tree import export_text, plot_tree

import octcore


@pytest.fixture(scope="module")
def converted() -> tuple[Any, Any, np.ndarray, np.ndarray]:
    """A proven tree on raw columns, its twin, and the rows; classes are numbers.

    dtreeviz takes text classes of no scikit-learn tree.
    """
    frame, y = sklearn.datasets.load_breast_cancer(return_X_y=True, as_frame=True)
    model = octcore.PathSearchClassifier(max_depth=2, leaf_penalty=0.005).fit(frame, y)
    assert model.is_optimal_
    return model, model.to_sklearn(), frame.to_numpy(), y.to_numpy()


def _named(model: Any, X: np.ndarray) -> pd.DataFrame:
    return pd.DataFrame(X, columns=model.feature_names_in_)


@pytest.mark.long
def test_plot_tree_and_export_text_show_every_node(converted: Any) -> None:
    matplotlib = pytest.importorskip("matplotlib", reason="plot_tree draws with matplotlib")
    matplotlib.use("Agg")
    model, twin, _, _ = converted
    names = list(model.feature_names_in_)
    boxes = plot_tree(twin, feature_names=names)
    n_nodes = model.get_n_leaves() + model.tree_.n_splits
    assert sum("samples" in box.get_text() for box in boxes) == n_nodes
    shown = export_text(twin, feature_names=names)
    assert shown.count("class:") == model.get_n_leaves()
    assert any(name in shown for name in names)


def test_shap_explains_the_predictions_of_the_tree(converted: Any) -> None:
    shap = pytest.importorskip("shap", reason="the extra 'views' is not installed")
    model, twin, X, _ = converted
    explainer = shap.TreeExplainer(twin)
    values = np.asarray(explainer.shap_values(X))
    assert values.shape == (*X.shape, 2)
    explained = values.sum(axis=1) + np.asarray(explainer.expected_value)
    assert explained == pytest.approx(model.predict_proba(_named(model, X)), abs=1e-6)
    used = set(np.flatnonzero(np.abs(values).sum(axis=(0, 2)) > 1e-9))
    assert used == set(twin.tree_.feature[twin.tree_.feature >= 0])


def test_dtreeviz_draws_the_tree_and_words_a_path(converted: Any) -> None:
    dtreeviz = pytest.importorskip("dtreeviz", reason="the extra 'views' is not installed")
    model, twin, X, y = converted
    names = list(model.feature_names_in_)
    view = dtreeviz.model(
        twin, X, y, feature_names=names, target_name="diagnosis", class_names=["bad", "fine"]
    )
    assert view.view().svg().count("<svg") >= model.get_n_leaves()
    used = {names[j] for j in twin.tree_.feature if j >= 0}
    assert any(name in view.explain_prediction_path(X[0]) for name in used)


def test_a_tree_that_asks_a_person_asks_there_too() -> None:
    """The answer had no name among the classes: predicting ended with an IndexError."""
    X = np.repeat([0.0, 1.0], 50)[:, None]
    y = np.r_[np.zeros(50), np.arange(50) % 2].astype(int)
    model = octcore.OptimalTreeClassifier(max_depth=1, refer=0.2).fit(X, y)
    assert set(model.predict(X)) == {0, octcore.ASK}
    assert (model.to_sklearn().predict(X) == model.predict(X)).all()
