import shlex
from dataclasses import replace
from typing import Any
from unittest.mock import MagicMock

import pytest

import octcore
from octcore.cli import make_parser
from octcore.cli.options import read_options, solve_settings
from octcore.data.samples import load_sample, sample_info
from octcore.data.tasks import TASK
from octcore.formulations.base import FormulationInfo, get_formulation, list_formulations
from octcore.solving.recipe import DataChoice, command_line, python_recipe
from octcore.solving.settings import GENERAL, check_settings
from octcore.tree.constraints import ACCEPTED, FAIRNESS
from tests.off_defaults import OTHER_REGULARISER, REGULARISER, constraints_off, params_off

SETTINGS = {
    "formulation": "flow-oct",
    "encoding": "QT-5",
    "depth": 2,
    "params": {"leaf_penalty": 0.02},
    "constraints": {"forbidden_features": ["a b", "c"], "max_leaves": 3},
    "time_limit": 30.0,
}


@pytest.fixture
def iris() -> DataChoice:
    info = sample_info("iris")
    return DataChoice(sample="iris", target=info.target, kinds=dict(info.kinds))


ABOUT_SHARES = frozenset({"min_recall", "monotone", *FAIRNESS})


def test_python_recipe_is_valid_and_carries_the_settings(iris):
    code = python_recipe(iris, SETTINGS)
    compile(code, "recipe", "exec")
    assert "octcore.load_sample('iris')" in code
    assert "params={'leaf_penalty': 0.02}" in code


def test_python_recipe_runs_on_the_baseline(iris, capsys):
    exec(python_recipe(iris, {"formulation": "cart", "depth": 1}), {})
    assert "heuristic" in capsys.readouterr().out


def test_a_sample_whose_columns_were_changed_is_read_without_its_file(iris):
    """It was looked for in the current folder."""
    names, here = load_sample("iris").feature_names, dict[str, Any]()
    changed = replace(iris, drop=names[:1])
    exec(python_recipe(changed, {"formulation": "cart", "depth": 1}), here)
    assert (here["data"].name, here["data"].feature_names) == ("iris", names[1:])


def test_a_class_that_matters_may_be_0():
    """The label 0 was taken for none, and the copied run had the other positive class."""
    choice = DataChoice(file_name="rows.csv", target="y", positive_class=0)
    assert "positive_class=0" in python_recipe(choice, {})
    assert "--positive-class 0" in command_line(choice, {})


def test_changed_columns_are_part_of_the_recipe():
    choice = DataChoice(
        file_name="my data.csv",
        target="y'",
        drop=("id",),
        kinds={"age": "ordinal"},
        missing="category",
        positive_class="yes",
    )
    code = python_recipe(choice, {"depth": 1})
    compile(code, "recipe", "exec")
    for part in ("my data.csv", "drop=['id']", "'age': 'ordinal'", "category", "'yes'"):
        assert part in code


def test_command_line_is_understood_by_the_command(iris):
    lines = command_line(iris, SETTINGS).replace("\\\n", " ").splitlines()
    assert lines[0] == "octcore samples iris --output iris.csv"
    words = shlex.split(lines[1])
    arguments = make_parser().parse_args(words[1:])
    assert read_options(arguments)["target"] == load_sample("iris").target_name
    settings = solve_settings(arguments)
    assert float(settings["params"]["leaf_penalty"]) == 0.02
    assert settings["constraints"]["forbidden_features"] == ("a b", "c")


def test_hostile_file_names_stay_one_word():
    choice = DataChoice(file_name="$(rm -rf x);.csv", target="`id`")
    words = shlex.split(command_line(choice, {"depth": 1}))
    assert words[2] == "$(rm -rf x);.csv"
    assert words[4] == "`id`"


def off_defaults(formulation: str, without: str) -> dict:
    """Settings of a solve, all of them off their defaults."""
    info = get_formulation(formulation).info
    general = {
        "encoding": "QB-3", "depth": 1, "engine": info.engines[0], "time_limit": 7.5, "gap": 0.125,
        "node_limit": 50, "threads": 2, "seed": 9, "warm_start": "none", "test_size": 0.25,
        "costs": {"0": {"1": 3.0}}, "refer": 0.25,
    }  # fmt: skip
    assert general.keys() == {p.name for p in GENERAL} - {"formulation"}
    assert all(general[p.name] != p.default for p in GENERAL if p.name != "formulation")
    constraints = constraints_off(info)
    if has_task(info, without):
        constraints = {k: v for k, v in constraints.items() if k not in ABOUT_SHARES}
    else:
        general = {k: v for k, v in general.items() if k not in {p.name for p in TASK}}
    return {
        "formulation": formulation, **general,
        "params": params_off(info, without), "constraints": constraints,
    }  # fmt: skip


def has_task(info: FormulationInfo, without: str) -> bool:
    """Whether answers get costs: these cannot stand beside limits on shares of predictions."""
    return info.has_costs and without == REGULARISER


@pytest.mark.sampled(3)
@pytest.mark.parametrize("without", [OTHER_REGULARISER, REGULARISER])
@pytest.mark.parametrize("formulation", [info.key for info in list_formulations()])
def test_every_setting_of_every_formulation_is_copied(
    formulation: str, without: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Script and command ask for what the settings say; what is asked is compared, not solved."""
    settings = off_defaults(formulation, without)
    info = get_formulation(formulation).info
    asked = check_settings(**settings)
    assert all(asked.params[p.name] != p.default for p in info.hyperparameters if p.name != without)
    left_out = ABOUT_SHARES if has_task(info, without) else frozenset()
    assert asked.constraints.active == info.constraints - left_out
    choice = DataChoice(sample="monks-1", target=sample_info("monks-1").target)
    called = MagicMock()
    monkeypatch.setattr(octcore, "solve", called, raising=False)
    exec(python_recipe(choice, settings), {})
    assert check_settings(**called.call_args.kwargs) == asked
    words = command_line(choice, settings).replace("\\\n", " ").splitlines()[-1]
    arguments = make_parser("solve").parse_args(shlex.split(words)[1:])
    assert as_texts(check_settings(**solve_settings(arguments))) == as_texts(asked)


def as_texts(settings) -> dict:
    """Settings as plain data; labels of classes are texts on a command line."""
    record = settings.to_dict()
    for name in ("min_recall", "class_weight"):
        if name in record["constraints"]:
            record["constraints"][name] = {
                str(label): number for label, number in record["constraints"][name].items()
            }
    return record


def test_side_constraints_are_copied_with_some_formulation() -> None:
    able = set().union(*(info.constraints for info in list_formulations()))
    assert able == {parameter.name for parameter in ACCEPTED}
