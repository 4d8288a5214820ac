"""What verification does not know makes it say so, by name."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import pytest

import octcore
from octcore.data.dataset import Dataset
from octcore.formulations import base
from octcore.parameters import FloatRange, Names
from octcore.program import Problem, Program
from octcore.solving import settings
from octcore.tree import constraints
from octcore.tree.constraints import Constraints
from octcore.verification.known import KNOWN

ROWS = Dataset.from_arrays([[0, 0], [0, 0], [0, 1], [1, 0], [1, 1], [1, 1]], [0, 0, 0, 1, 1, 1])
"""The first column is right everywhere, the second is not."""


@dataclass(frozen=True)
class PlantedConstraints(Constraints):
    """Side constraints with one that verification has never heard of."""

    required_features: tuple[str, ...] = ()


def plant(monkeypatch: pytest.MonkeyPatch, build: Any = None, **changes: Any) -> None:
    """Give path-search another declaration, or another program."""
    known = base.get_formulation("path-search")
    changes = {name: change(getattr(known.info, name)) for name, change in changes.items()}
    info = replace(known.info, **changes)
    monkeypatch.setitem(base._REGISTRY, info.key, base.Formulation(info, build or known.build))


def statement(**asked: Any) -> str:
    run = octcore.solve(ROWS, **{"formulation": "path-search", "depth": 1, **asked})
    assert run.status == "optimal"
    found = run.certificate.verification
    assert found is not None
    assert found.status == "not verified"
    return found.statement


def test_an_unknown_side_constraint(monkeypatch: pytest.MonkeyPatch) -> None:
    """A correct optimum under it is worse than that of the problem without it."""
    build_known = base.get_formulation("path-search").build

    def build(problem: Problem) -> Program:
        (name,) = problem.constraints.required_features  # type: ignore[attr-defined]
        return build_known(replace(problem, constraints=Constraints(root_feature=name)))

    monkeypatch.setitem(constraints._BY_NAME, "required_features", Names("required_features"))
    monkeypatch.setattr(settings, "Constraints", PlantedConstraints)
    plant(monkeypatch, build, constraints=lambda known: known | {"required_features"})
    said = statement(constraints={"required_features": [ROWS.feature_names[1]]})
    assert said == "not verified: it cannot judge required_features"


def test_an_unknown_hyperparameter(monkeypatch: pytest.MonkeyPatch) -> None:
    bonus = FloatRange("bonus", 0.5)
    plant(monkeypatch, hyperparameters=lambda known: (*known, bonus))
    assert statement() == "not verified: it cannot judge bonus"


def test_an_unknown_formulation(monkeypatch: pytest.MonkeyPatch) -> None:
    known = base.get_formulation("path-search")
    info = replace(known.info, key="planted-search")
    monkeypatch.setitem(base._REGISTRY, info.key, base.Formulation(info, known.build))
    said = statement(formulation=info.key)
    assert said == "not verified: it cannot judge planted-search"


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"settings": {"margin": 2}}, "margin"),
        ({"extras": {"mean_depth": 1.5}}, "mean_depth"),
        ({"statements": ("no tree is shorter",)}, "the statement 'no tree is shorter'"),
    ],
)
def test_what_else_a_run_may_hold(changes: dict[str, Any], named: str) -> None:
    run = octcore.solve(ROWS, "path-search", depth=1, verify=False)
    assert run.verify().status == "confirmed"
    fields: dict[str, Any] = {
        name: {**getattr(run, name), **changes[name]}
        for name in ("settings", "extras")
        if name in changes
    }
    if "statements" in changes:
        fields["certificate"] = replace(run.certificate, statements=changes["statements"])
    found = replace(run, **fields).verify()
    assert found.statement == f"not verified: it cannot judge {named}"


@pytest.mark.parametrize("info", octcore.formulations(), ids=lambda info: info.key)
def test_what_a_formulation_declares_is_claimed(info: base.FormulationInfo) -> None:
    known = KNOWN[info.key]
    names = {parameter.name for parameter in info.hyperparameters}
    assert names <= known.params | known.switches
    assert info.constraints <= known.constraints


def test_margot_is_known_with_the_squared_norm_only() -> None:
    run = octcore.solve(ROWS, "margot", depth=1, params={"norm": "l1"}, time_limit=20)
    assert run.verify().statement == "not verified: it cannot judge norm = l1"
