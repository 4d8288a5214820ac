import shlex

import pytest

from octcore.data.samples import load_sample, sample_info
from octcore.solving.recipe import DataChoice, command_line, python_recipe

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


def test_python_recipe_is_valid_and_carries_the_settings(iris):
    code = python_recipe(iris, SETTINGS)
    compile(code, "recipe", "exec")
    assert "octcore.load_sample('iris')" in code
    assert "params={'leaf_penalty': 0.02}" in code


def test_python_recipe_runs_on_the_baseline(iris, capsys):
    exec(python_recipe(iris, {"formulation": "cart", "depth": 1}), {})
    assert "heuristic" in capsys.readouterr().out


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
    from octcore.cli import make_parser
    from octcore.cli.options import read_options, solve_settings

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
