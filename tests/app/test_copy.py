"""The Solve form with every setting off its default: what it copies repeats its run."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

import pytest
from streamlit.testing.v1 import AppTest

import dashboard
import octcore
from dashboard import session
from dashboard.server import jobs
from dashboard.server.job_view import JobView
from octcore.cli import main, make_parser
from octcore.cli.options import solve_settings
from octcore.formulations.base import get_formulation, list_formulations
from octcore.selection.selected_training import select_rows
from octcore.solving.run import Run
from octcore.solving.settings import GENERAL, SOLVER, check_settings
from octcore.solving.solve import solve
from octcore.tree.constraints import ACCEPTED, FAIRNESS
from tests.app.test_data_link import reloaded
from tests.off_defaults import params_off

pytestmark = pytest.mark.long

APP = str(Path(dashboard.__file__).parent / "app.py")
PATIENCE = 60
SAME = ("status", "objective", "bound", "accuracy", "test_accuracy", "n_train", "n_test", "tree")


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, dict[str, Any]]]:
    """What the form starts: rows and settings."""
    found: list[tuple[Any, dict[str, Any]]] = []

    def submit(owner: str, data: Any, settings: dict[str, Any]) -> str:
        found.append((data, dict(settings)))
        return f"run-{len(found)}"

    monkeypatch.setattr(jobs, "warm_up", lambda: None)
    monkeypatch.setattr(jobs, "submit", submit)
    monkeypatch.setattr(jobs, "view", lambda run_id: None)
    return found


def open_form(sample: str, formulation: str) -> AppTest:
    app = AppTest.from_file(APP, default_timeout=PATIENCE).run()
    if sample != "iris":
        app.switch_page("screens/data.py").run()
        labelled(app.selectbox, "Sample data").set_value(sample).run()
    app.switch_page("screens/solve.py").run()
    labelled(app.selectbox, "Formulation").set_value(formulation).run()
    assert not app.exception
    return app


def labelled(elements: Any, label: str) -> Any:
    return next(e for e in elements if e.label == label or e.label.startswith(f"{label} "))


def keyed(app: AppTest, *parts: str) -> Any:
    """The input of the form whose key has these parts beside each other."""
    kinds = (app.number_input, app.selectbox, app.toggle, app.multiselect, app.slider)
    inside = f":{':'.join(parts)}:"
    return next(e for kind in kinds for e in kind if inside in f":{e.key}:")


def press(app: AppTest) -> None:
    app.run()
    assert not app.exception
    starts = {"Find the optimal tree", "Grow the tree"}
    next(b for b in app.button if b.label in starts).click().run()
    assert not app.exception


def copied(app: AppTest) -> tuple[str, list[str]]:
    """Script, and words of the command, of the form."""
    script = next(block.value for block in app.code if block.value.startswith("import octcore"))
    command = next(block.value for block in app.code if block.value.startswith("octcore"))
    return script, shlex.split(command.replace("\\\n", " ").splitlines()[-1])[1:]


def by_script(script: str) -> dict[str, Any]:
    scope: dict[str, Any] = {}
    exec(script, scope)
    return scope


def by_command(words: list[str], sample: str, folder: Path) -> dict[str, Any]:
    assert main(["samples", sample, "--output", str(folder / words[1])]) == 0
    words[1] = str(folder / words[1])
    assert main([*words, "--json", str(folder / "run.json")]) in (0, 3)
    return json.loads((folder / "run.json").read_text(encoding="utf-8"))


def same_run(first: dict[str, Any], second: dict[str, Any]) -> None:
    assert {name: first[name] for name in SAME} == {name: second[name] for name in SAME}
    assert first["settings"] == second["settings"]


GENERALS: dict[str, Callable[[AppTest], Any]] = {
    "encoding": lambda app: keyed(app, "encoding").set_value("QB-5"),
    "depth": lambda app: keyed(app, "depth").set_value(1),
    "engine": lambda app: keyed(app, "engine").set_value("highs"),
    "time_limit": lambda app: keyed(app, "time_limit").set_value(45.0),
    "test_size": lambda app: keyed(app, "test_share").set_value(20),
    "gap": lambda app: keyed(app, "solver", "param", "gap").set_value(0.001),
    "node_limit": lambda app: keyed(app, "solver", "param", "node_limit").set_value(5000),
    "threads": lambda app: keyed(app, "solver", "param", "threads").set_value(2),
    "seed": lambda app: keyed(app, "solver", "param", "seed").set_value(7),
    "warm_start": lambda app: keyed(app, "solver", "param", "warm_start").set_value("none"),
}
COSTS: dict[str, Callable[[AppTest], Any]] = {
    "costs": lambda app: keyed(app, "costs", "0", "1").set_value(4.0),
    "refer": lambda app: keyed(app, "costs", "refer").set_value(0.25),
}
"""They cannot stand beside limits on shares of predictions."""
CONSTRAINTS: dict[str, Callable[[AppTest], Any]] = {
    "max_leaves": lambda app: keyed(app, "constraint", "max_leaves").set_value(3),
    "max_splits": lambda app: keyed(app, "constraint", "max_splits").set_value(2),
    "min_samples_leaf": lambda app: keyed(app, "constraint", "min_samples_leaf").set_value(4),
    "max_features": lambda app: keyed(app, "constraint", "max_features").set_value(1),
    "forbidden_features": lambda app: keyed(app, "constraint", "forbidden_features").set_value(
        ["smiling"]
    ),
    "forbidden_pairs": lambda app: keyed(app, "constraint", "forbidden_pairs").set_value(
        [("head shape", "holding")]
    ),
    "root_feature": lambda app: keyed(app, "constraint", "root_feature").set_value("jacket"),
    "feature_once_per_path": lambda app: keyed(
        app, "constraint", "feature_once_per_path"
    ).set_value(True),
    "min_recall": lambda app: keyed(app, "constraint", "min_recall:0").set_value(0.1),
    "class_weight": lambda app: keyed(app, "constraint", "class_weight").set_value("balanced"),
}


def set_parity(app: AppTest, name: str) -> None:
    chosen = keyed(app, "constraint", "fairness")
    chosen.set_value(next(o for o in chosen.options if o == name.replace("_", " "))).run()


def test_every_setting_off_its_default_is_copied(started: list[Any], tmp_path: Path) -> None:
    app = open_form("monks-1", "flow-oct")
    for take_off in (*GENERALS.values(), *CONSTRAINTS.values()):
        take_off(app)
    params = params_off(get_formulation("flow-oct").info) | {"leaf_penalty": 0.02}
    for name, value in params.items():
        keyed(app, "flow-oct", "param", name).set_value(value)
    set_parity(app, "statistical_parity")
    press(app)
    data, settings = started[0]
    given = settings.keys() - {"params", "constraints"}
    assert {p.name for p in GENERAL} - COSTS.keys() == given
    assert all(settings[p.name] != p.default for p in GENERAL if p.name in given - {"formulation"})
    assert settings["params"] == params
    assert settings["constraints"].keys() == CONSTRAINTS.keys() | {"statistical_parity"}
    own = solve(data, **settings).to_dict()
    script, words = copied(app)
    assert copied(reloaded(app, "solve")) == (script, words)
    same_run(own, by_script(script)["run"].to_dict())
    same_run(own, by_command(words, "monks-1", tmp_path))


def test_costs_are_copied_and_offered_again(started: list[Any], tmp_path: Path) -> None:
    app = open_form("monks-1", "threshold-search")
    for take_off in COSTS.values():
        take_off(app)
    press(app)
    data, settings = started[0]
    assert settings["costs"] == {"0": {"1": 4.0}}
    assert settings["refer"] == 0.25
    own = solve(data, **settings).to_dict()
    script, words = copied(app)
    same_run(own, by_script(script)["run"].to_dict())
    assert copied(reloaded(app, "solve")) == (script, words)
    same_run(own, by_command(words, "monks-1", tmp_path))
    keyed(app, "costs", "0", "1").set_value(2.0)
    app.session_state[f"offered_{session.SOLVE}"] = settings
    app.run()
    assert keyed(app, "costs", "0", "1").value == 4.0
    assert keyed(app, "costs", "refer").value == 0.25


def test_the_test_names_every_declared_setting() -> None:
    able = get_formulation("threshold-search").info.constraints  # all there are
    assert {p.name for p in ACCEPTED} == able  # else the form would show less than there is
    assert GENERALS.keys() | COSTS.keys() == {p.name for p in GENERAL} - {"formulation"}
    assert {p.name for p in SOLVER} <= GENERALS.keys()
    # flow-oct, whose form is filled here, takes no directions
    assert able - CONSTRAINTS.keys() == {*FAIRNESS, "monotone"}


def same_request(app: AppTest, settings: dict[str, Any], patch: pytest.MonkeyPatch) -> None:
    """What is copied asks for these settings; they are compared, not solved."""
    script, words = copied(app)
    called = MagicMock()
    patch.setattr(octcore, "solve", called, raising=False)
    by_script(script)
    asked = check_settings(**settings)
    assert check_settings(**called.call_args.kwargs) == asked
    assert check_settings(**solve_settings(make_parser("solve").parse_args(words))) == asked


@pytest.mark.sampled(5)
@pytest.mark.parametrize("key", [info.key for info in list_formulations() if info.hyperparameters])
def test_hyperparameters_of_every_formulation_are_copied(
    started: list[Any], key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = open_form("monks-1", key)
    wanted = params_off(get_formulation(key).info)
    wanted.pop("path_bound_cuts", None)  # without these cuts their forms cannot be chosen
    for name, value in wanted.items():
        keyed(app, key, "param", name).set_value(value)
    press(app)
    assert started[0][1]["params"] == wanted
    same_request(app, started[0][1], monkeypatch)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", FAIRNESS)
def test_every_fairness_limit_is_copied(
    started: list[Any], name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = open_form("monks-1", "flow-oct")
    set_parity(app, name)
    keyed(app, "constraint", "fairness_attribute").set_value("smiling")
    keyed(app, "constraint", "fairness_gap").set_value(0.25)
    press(app)
    limit = started[0][1]["constraints"][name]
    assert (limit["attribute"], limit["max_gap"]) == ("smiling", 0.25)
    assert ("given" in limit) == (name == "conditional_parity")
    assert copied(reloaded(app, "solve")) == copied(app)
    same_request(app, started[0][1], monkeypatch)


@pytest.mark.slow
def test_one_class_against_the_rest_is_copied(started: list[Any], tmp_path: Path) -> None:
    app = open_form("iris", "margot")
    keyed(app, "depth").set_value(1)
    labelled(app.selectbox, "Class").set_value("setosa")
    press(app)
    data, settings = started[0]
    own = solve(data, **settings).to_dict()
    script, words = copied(app)
    same_run(own, by_script(script)["run"].to_dict())
    same_run(own, by_command(words, "iris", tmp_path))


@pytest.mark.slow
def test_one_tree_for_every_class_is_copied(started: list[Any], tmp_path: Path) -> None:
    app = open_form("iris", "margot")
    keyed(app, "depth").set_value(1)
    keyed(app, "test_share").set_value(20)
    next(e for e in app.segmented_control if e.label == "Solve").set_value(
        "one tree for every class"
    )
    press(app)
    assert len(started) == 3
    own = [solve(data, **settings) for data, settings in started]
    script, words = copied(app)
    model = by_script(script)["model"]
    record = by_command(words, "iris", tmp_path)
    for run, again, commanded in zip(own, model.runs, record["runs"], strict=True):
        same_run(run.to_dict(), again.to_dict())
        same_run(run.to_dict(), commanded)
    assert record["test_accuracy"] == model.test_accuracy is not None


@pytest.mark.slow
def test_selected_rows_are_copied(
    started: list[Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The task is done at once and in this process; what it is asked is what the form asks."""

    def once(
        key: Any,
        token: str,
        data: Any,
        task: str,
        settings: dict[str, Any],
        limit: float,
        run: Any = None,
        is_look: bool = False,
    ) -> str:
        jobs.followers()[key] = "task"
        found = select_rows(data, **settings)
        results["task"] = {
            "rows": found.rows.tolist(), "n_samples": found.n_samples,
            "clusters": len(found.clusters), "seconds": 0.5,
        }  # fmt: skip
        return "task"

    results: dict[str, dict[str, Any]] = {}
    monkeypatch.setattr(jobs, "once", once)
    monkeypatch.setattr(
        jobs, "task", lambda task: JobView(task, "", {}, "done", result=results[task])
    )
    app = open_form("xor", "svm1-odt")
    keyed(app, "test_share").set_value(20)
    keyed(app, "depth").set_value(1)
    app.run()
    keyed(app, "select_rule").set_value("balanced")
    next(b for b in app.button if b.label == "Select").click().run()
    press(app)
    data, settings = started[0]
    assert data.n_samples == len(results["task"]["rows"]) < 80
    own = solve(data, **settings)
    script, words = copied(app)
    again: Run = by_script(script)["run"]
    record = by_command(words, "xor", tmp_path)
    for name in ("status", "objective", "accuracy", "n_train", "tree"):
        assert again.to_dict()[name] == record[name] == own.to_dict()[name]
    assert record["selection"]["test_accuracy"] is not None
