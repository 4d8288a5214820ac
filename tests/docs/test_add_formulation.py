"""The worked example of "How to add a formulation" is registered, solved and checked."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import octcore
from octcore import formulations as package
from octcore.cli import main, make_parser
from octcore.cli.options import solve_settings
from octcore.data.dataset import Dataset
from octcore.docs.generated import formulation_page, formulation_table
from octcore.errors import SettingsError
from octcore.estimator import named
from octcore.formulations import base

HERE = Path(__file__).parent
GUIDE = (Path(octcore.__file__).parent / "ARCHITECTURE.md").read_text(encoding="utf-8")


PRICED = {
    'key="decision-stump"': 'key="priced-stump"',
    "hyperparameters=()": 'hyperparameters=(FloatRange("leaf_penalty", 0.0, low=0.0, high=0.0),)',
    '    objective="accuracy",\n': "",
    "from octcore.program": "from octcore.parameters import FloatRange\nfrom octcore.program",
}
"""Makes another formulation of the example: one of the common objective, with free leaves."""


@pytest.fixture(autouse=True)
def stump(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[base.FormulationInfo]:
    """Two formulations in a temporary folder; nothing but their files says that they exist."""
    example = (HERE / "decision_stump.py").read_text(encoding="utf-8")
    (tmp_path / "decision_stump.py").write_text(example, encoding="utf-8")
    for old, new in PRICED.items():
        assert old in example
        example = example.replace(old, new)
    (tmp_path / "priced_stump.py").write_text(example, encoding="utf-8")
    base.list_formulations()
    monkeypatch.setattr(base, "_REGISTRY", dict(base._REGISTRY))
    monkeypatch.setattr(package, "__path__", [*package.__path__, str(tmp_path)])
    base._load.cache_clear()
    yield base.get_formulation("decision-stump").info
    for name in ("decision_stump", "priced_stump"):
        sys.modules.pop(f"octcore.formulations.{name}", None)
        package.__dict__.pop(name, None)
    named.__dict__.pop("DecisionStumpClassifier", None)


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
    model = named.DecisionStumpClassifier(max_depth=1).fit(iris.frame, iris.y)
    assert model.is_optimal_
    assert model.score(iris.frame, iris.y) == pytest.approx(model.objective_)
    with pytest.raises(SettingsError, match="up to depth 1"):
        octcore.solve(iris, "decision-stump", depth=2)
    with pytest.raises(SettingsError, match="cannot express"):
        octcore.solve(iris, "decision-stump", depth=1, constraints={"max_features": 1})
    # Of copies by answer its share of rows that are right would be no accuracy.
    with pytest.raises(SettingsError, match="counts errors only"):
        octcore.solve(iris, "decision-stump", depth=1, costs="ordinal")


def test_the_command_line_and_the_documents_know_it(
    stump: base.FormulationInfo, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["formulations"]) == 0
    assert "priced-stump" in capsys.readouterr().out
    words = ["solve", "x.csv", "--target", "y", "--formulation", "priced-stump"]
    arguments = make_parser("solve").parse_args([*words, "--param", "leaf_penalty=0"])
    assert solve_settings(arguments)["params"] == {"leaf_penalty": 0.0}
    assert f"| `{stump.key}` | {stump.title}" in formulation_table()
    assert stump.engines == ("highs", "scip", "gurobi")


def test_the_app_offers_it(monkeypatch: pytest.MonkeyPatch) -> None:
    from streamlit.testing.v1 import AppTest

    import dashboard
    from dashboard.server import jobs
    from dashboard.views.compare.presets import fitting_presets
    from dashboard.views.what_if.questions import candidates

    monkeypatch.setattr(jobs, "warm_up", lambda: None)
    path = str(Path(dashboard.__file__).parent / "app.py")
    app = AppTest.from_file(path, default_timeout=60).run()
    app.switch_page("screens/solve.py").run()
    chosen = next(s for s in app.selectbox if s.label == "Formulation")
    chosen.set_value("priced-stump").run()
    assert not app.exception
    assert any("formulation='priced-stump'" in block.value for block in app.code)
    presets = fitting_presets(octcore.load_sample("iris"))
    compared = {entrant["formulation"] for preset in presets for entrant in preset.entrants}
    assert {"decision-stump", "priced-stump"} <= compared
    assert "priced-stump" in candidates({"class_weight": "balanced"}, 1)
    assert "priced-stump" not in candidates({}, 2)
    assert "decision-stump" not in candidates({}, 1)


def test_the_guide_names_the_example() -> None:
    assert "tests/docs/decision_stump.py" in GUIDE
