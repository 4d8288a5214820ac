"""The worked example of "How to add a formulation" is registered, solved and checked."""

from __future__ import annotations

import importlib.util
import itertools
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import octcore
from octcore import estimator
from octcore.cli import main
from octcore.data.dataset import Dataset
from octcore.docs.generated import formulation_page
from octcore.errors import SettingsError
from octcore.formulations import base

HERE = Path(__file__).parent
GUIDE = (Path(octcore.__file__).parent / "ARCHITECTURE.md").read_text(encoding="utf-8")


@pytest.fixture(autouse=True)
def stump(monkeypatch: pytest.MonkeyPatch) -> Iterator[base.FormulationInfo]:
    """Register the example for one test; a file in ``formulations/`` stays registered."""
    base.list_formulations()
    monkeypatch.setattr(base, "_REGISTRY", dict(base._REGISTRY))
    spec = importlib.util.spec_from_file_location("decision_stump", HERE / "decision_stump.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    yield module.INFO
    estimator.__dict__.pop("DecisionStumpClassifier", None)


def best_stump(X: np.ndarray, y: np.ndarray, weights: np.ndarray) -> float:
    """Weighted accuracy of the best split by trying every column and both labels."""
    best = 0.0
    for column, left, right in itertools.product(range(X.shape[1]), set(y), set(y)):
        predicted = np.where(X[:, column] == 1, right, left)
        best = max(best, float(np.average(predicted == y, weights=weights)))
    return best


@pytest.mark.parametrize("seed", range(6))
def test_the_stump_is_as_good_as_brute_force(seed: int) -> None:
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 2, (25, 4)).astype(float)
    y = np.where(rng.random(25) < 0.7, X[:, seed % 4].astype(int) * 2, rng.integers(0, 3, 25))
    weights = rng.integers(1, 4, 25).astype(float)
    data = Dataset.from_arrays(X, y)
    for given in (None, weights):
        run = octcore.solve(data, "decision-stump", "none", depth=1, sample_weight=given)
        expected = best_stump(X, y, np.ones(25) if given is None else given)
        assert run.status == "optimal"
        assert run.objective == pytest.approx(expected)
        assert run.bound == pytest.approx(expected)
        assert run.tree is not None
        assert run.tree.n_splits <= 1


def test_everything_else_follows_from_the_declaration(
    stump: base.FormulationInfo, capsys: pytest.CaptureFixture[str]
) -> None:
    assert stump in octcore.formulations()
    assert main(["describe", "decision-stump"]) == 0
    assert stump.title in capsys.readouterr().out
    assert formulation_page(stump).startswith("# Decision stump")
    assert [info.key for info in octcore.formulations.base.list_formulations()]
    iris = octcore.load_sample("iris")
    assert iris.y is not None
    model = estimator.DecisionStumpClassifier(max_depth=1).fit(iris.frame, iris.y)
    assert model.is_optimal_
    assert model.score(iris.frame, iris.y) == pytest.approx(model.objective_)
    with pytest.raises(SettingsError, match="up to depth 1"):
        octcore.solve(iris, "decision-stump", depth=2)
    with pytest.raises(SettingsError, match="cannot express"):
        octcore.solve(iris, "decision-stump", depth=1, constraints={"max_features": 1})


def test_the_guide_names_the_example() -> None:
    assert "tests/docs/decision_stump.py" in GUIDE
