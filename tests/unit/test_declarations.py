"""General settings and side constraints are declared once; everything else agrees with them."""

from __future__ import annotations

import inspect
from dataclasses import fields

import pytest

import octcore
from octcore.cli import make_parser
from octcore.cli.options import given, solve_settings
from octcore.data.synthetic import list_generators
from octcore.errors import SettingsError
from octcore.formulations import base
from octcore.formulations.base import get_formulation, list_formulations
from octcore.parameters import ByClass, Column, Key, NamePairs, Names
from octcore.solving.settings import GENERAL, ROWS, Settings
from octcore.tree.constraints import ACCEPTED, Constraints

OWN = {"params", "constraints"}


def test_signatures_have_the_declared_defaults() -> None:
    known = inspect.signature(octcore.solve).parameters
    assert {p.name for p in GENERAL} == {f.name for f in fields(Settings)} - OWN
    for parameter in GENERAL:
        assert known[parameter.name].default == parameter.default
    model = inspect.signature(octcore.OptimalTreeClassifier).parameters
    for parameter in GENERAL:
        if parameter.name in model and parameter.name != "formulation":
            assert model[parameter.name].default == parameter.default
    assert {f.name for f in fields(Constraints)} == {p.name for p in ACCEPTED}


@pytest.mark.parametrize("name", ["solve", "compare", "path", "tune"])
def test_help_says_what_the_declarations_say(name: str, capsys: pytest.CaptureFixture) -> None:
    with pytest.raises(SystemExit):
        make_parser(name).parse_args([name, "--help"])
    words = " ".join(capsys.readouterr().out.split())
    asked = {p for p in (*GENERAL, *ROWS) if f"{p.option} " in words}
    assert len(asked) >= 5
    assert all(p.help.split(". ")[0] in words for p in asked if p.name != "depth")


def test_a_formulation_is_found_without_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    infos = list_formulations()
    homes = [get_formulation(info.key).build.__module__ for info in infos]
    loaded: list[str] = []
    load = base._load.__wrapped__  # type: ignore[attr-defined]
    monkeypatch.setattr(base.importlib, "import_module", loaded.append)
    monkeypatch.setattr(base, "_load", lambda name: load(name) if name else None)
    monkeypatch.setattr(base, "_REGISTRY", {})
    for info, home in zip(infos, homes, strict=True):
        loaded.clear()
        with pytest.raises(SettingsError):
            get_formulation(info.key)
        assert base.of_class(info.class_name) is None
        here = [f"{home}.".startswith(f"{name}.") for name in loaded]
        assert here == [True, True], (info.key, loaded)


@pytest.mark.parametrize("value", [["a,b", "c"], ["[x]"], ['"q"']])
def test_names_survive_the_command_line(value: list[str]) -> None:
    names, column = Names("drop"), Column("root")
    assert names.parse(names.to_text(value)) == tuple(value)
    assert column.parse(column.to_text(value[0])) == value[0]
    pairs = NamePairs("pairs")
    assert pairs.parse(pairs.to_text([(value[0], "b:c")])) == ((value[0], "b:c"),)


def test_numbers_by_class_survive_the_command_line() -> None:
    floors = ByClass("floors", high=1.0, words=("even",))
    assert floors.parse(floors.to_text({"a:b": 0.5})) == {"a:b": 0.5}
    assert floors.parse("x:0.5,y:1") == {"x": 0.5, "y": 1.0}
    assert floors.parse("even") == "even"


def test_keys_may_be_called_none() -> None:
    assert Key("encoding", "auto").parse("none") == "none"
    words = ["solve", "x.csv", "--target", "y", "--warm-start", "none", "--encoding", "none"]
    arguments = make_parser("solve").parse_args([*words, "--classes", "none"])
    assert solve_settings(arguments)["warm_start"] == "none"
    assert solve_settings(arguments)["encoding"] == "none"
    assert given(arguments, ROWS) == {"classes": "none"}


def test_every_side_constraint_of_a_formulation_is_declared() -> None:
    names = {p.name for p in ACCEPTED}
    assert all(info.constraints <= names for info in list_formulations())


def test_symbols_are_letters_that_a_screen_reader_says() -> None:
    declared = [p for info in list_formulations() for p in info.hyperparameters]
    declared += [*GENERAL, *ROWS, *ACCEPTED, *(p for g in list_generators() for p in g.parameters)]
    symbols = {p.symbol for p in declared if p.symbol}
    assert symbols >= {"λ", "α₁", "Cₜ, t ∈ T′"}
    assert not any(set("$\\^_{}") & set(symbol) for symbol in symbols)


def test_formulations_of_two_classes_promise_no_more() -> None:
    two = [info for info in list_formulations() if info.max_classes == 2]
    assert {"margot", "mm-svm-oct"} <= {info.key for info in two}
    for info in two:
        words = (info.summary, info.good_at, info.teaching_text.idea, info.teaching_text.look)
        told = " ".join(words).lower()
        assert "several classes" not in told, info.key
        assert "groups of classes" not in told, info.key
