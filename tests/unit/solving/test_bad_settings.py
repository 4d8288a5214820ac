"""Settings that make no sense: one sentence in the library and on the command line, no traceback.

`CASES` states what is wrong in our own words; the reference list names the same settings by its
own ids and is run against the same table.
"""

from __future__ import annotations

import json
import pickle
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import psutil
import pytest

import octcore
from octcore.cli import main
from octcore.data.dataset import Dataset
from octcore.data.samples import sample_bytes
from octcore.engines.model_run import check_size
from octcore.errors import SettingsError, StoreError, TooLargeError
from octcore.formulations.base import get_formulation, list_formulations
from octcore.program import ModelSize
from octcore.store.runs import RunStore

IRIS = octcore.load_sample("iris")
TWO = octcore.load_sample("4-partitions")


@dataclass(frozen=True)
class Case:
    """A setting that is refused, or accepted with a remark."""

    settings: dict[str, Any] = field(default_factory=dict)
    options: tuple[str, ...] = ()
    code: str = ""
    remark: str = ""
    data: Dataset = IRIS


def _each(name: str, value: float) -> dict[str, Case]:
    """One case for every formulation that declares a parameter whose name starts so."""
    return {
        f"{info.key}:{p.name}={value:g}": Case(
            {"formulation": info.key, "params": {p.name: value}},
            ("--formulation", info.key, "--param", f"{p.name}={value}"),
            "OUT_OF_RANGE",
            data=TWO,
        )
        for info in list_formulations()
        for p in info.hyperparameters
        if p.name == name or p.name.startswith(f"{name}_")
    }


C_ZERO, EPS_ZERO, EPS_TINY = _each("C", 0.0), _each("epsilon", 0.0), _each("epsilon", 1e-9)

CASES: dict[str, Case] = {
    "binary_only_multiclass": Case(
        {"formulation": "margot"}, ("--formulation", "margot"), "TOO_MANY_CLASSES"
    ),
    "bins_1": Case({"encoding": "QB-1"}, ("--encoding", "QB-1"), "BAD_QUANTILES"),
    "bins_500": Case(
        {"formulation": "cart", "encoding": "QB-500"},
        ("--formulation", "cart", "--encoding", "QB-500"),
        remark="QB-500 makes up to 500 columns",
    ),
    "depth_0": Case({"depth": 0}, ("--depth", "0"), "OUT_OF_RANGE"),
    "depth_20": Case({"depth": 20}, ("--depth", "20"), "DEPTH_TOO_LARGE"),
    "depth_half": Case({"depth": 2.5}, ("--depth", "2.5"), "NOT_A_NUMBER"),
    "depth_text": Case({"depth": "3; import os"}, ("--depth", "3; import os"), "NOT_A_NUMBER"),
    "lambda_nan": Case(
        {"params": {"leaf_penalty": "nan"}}, ("--param", "leaf_penalty=nan"), "NOT_A_NUMBER"
    ),
    "lambda_neg": Case(
        {"params": {"leaf_penalty": -0.1}}, ("--param", "leaf_penalty=-0.1"), "OUT_OF_RANGE"
    ),
    "minleaf_over_n": Case(
        {"constraints": {"min_samples_leaf": 1_000_000}},
        ("--constraint", "min_samples_leaf=1000000"),
        "LEAF_LARGER_THAN_DATA",
    ),
    "seed_huge": Case({"seed": 2**63}, ("--seed", str(2**63)), "OUT_OF_RANGE"),
    "test_share_1": Case({"test_size": 1.0}, ("--test-size", "1.0"), "OUT_OF_RANGE"),
    "tl_inf": Case({"time_limit": "inf"}, ("--time-limit", "inf"), "NOT_A_NUMBER"),
    "tl_nan": Case({"time_limit": "nan"}, ("--time-limit", "nan"), "NOT_A_NUMBER"),
    "tl_neg": Case({"time_limit": -5}, ("--time-limit", "-5"), "OUT_OF_RANGE"),
    **C_ZERO,
    **EPS_ZERO,
    **EPS_TINY,
}
REFUSED = {name: case for name, case in CASES.items() if case.code}


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[str, str]]:
    """Path and target of the sample files by data name."""
    folder = tmp_path_factory.mktemp("samples")
    found = {}
    for data in (IRIS, TWO):
        path = folder / f"{data.name}.csv"
        path.write_bytes(sample_bytes(data.name))
        found[data.name] = (str(path), str(data.target_name))
    return found


def _refused_by_library(case: Case) -> None:
    with pytest.raises(SettingsError) as caught:
        octcore.solve(case.data, **case.settings)
    assert caught.value.code == case.code
    _one_sentence(caught.value.message)


def _refused_by_command_line(
    case: Case, files: dict[str, tuple[str, str]], capsys: pytest.CaptureFixture[str]
) -> None:
    path, target = files[case.data.name]
    assert main(["solve", path, "--target", target, *case.options]) == 2
    _one_sentence(capsys.readouterr().err.strip())


def _one_sentence(message: str) -> None:
    assert message.endswith((".", "?"))
    assert "\n" not in message
    assert "Traceback" not in message


def test_penalties_and_gaps_are_declared_by_somebody() -> None:
    """Else the cases made from the declarations would be empty and nothing would be tested."""
    assert {"margot:C_upper=0", "margot:C_last=0", "hfs-margot:C_last=0"} <= C_ZERO.keys()
    assert {"margot:epsilon=0", "s-oct:epsilon=0", "oct-h:epsilon=0"} <= EPS_ZERO.keys()
    assert len(EPS_TINY) == len(EPS_ZERO)


@pytest.mark.parametrize("name", REFUSED)
def test_the_library_refuses(name: str) -> None:
    _refused_by_library(REFUSED[name])


@pytest.mark.parametrize("name", REFUSED)
def test_the_command_line_refuses(
    name: str, files: dict[str, tuple[str, str]], capsys: pytest.CaptureFixture[str]
) -> None:
    _refused_by_command_line(REFUSED[name], files, capsys)


def test_a_fine_encoding_is_accepted_with_a_remark() -> None:
    run = octcore.solve(IRIS, **CASES["bins_500"].settings)
    assert run.tree is not None
    assert any(CASES["bins_500"].remark in text for text in run.findings)


@pytest.mark.slow
def test_a_fine_encoding_is_remarked_on_the_command_line(
    files: dict[str, tuple[str, str]], capsys: pytest.CaptureFixture[str]
) -> None:
    path, target = files["iris"]
    assert main(["solve", path, "--target", target, *CASES["bins_500"].options]) == 0
    assert CASES["bins_500"].remark in capsys.readouterr().out


def test_a_tiny_time_limit_gives_the_heuristic_tree_without_a_proof() -> None:
    data = octcore.load_sample("wdbc")
    run = octcore.solve(data, "flow-oct", depth=3, time_limit=0.001)
    assert run.tree is not None
    assert (run.status, run.stop_reason) == ("feasible", "time_limit")
    assert not run.certificate.proven


def test_no_column_to_split_on_is_refused(
    files: dict[str, tuple[str, str]], capsys: pytest.CaptureFixture[str]
) -> None:
    path, target = files["iris"]
    drop = [part for name in IRIS.feature_names for part in ("--drop", name)]
    assert main(["solve", path, "--target", target, *drop]) == 2
    _one_sentence(capsys.readouterr().err.strip())
    with pytest.raises(octcore.OctError) as caught:
        octcore.read_csv(path, target=target, drop=IRIS.feature_names)
    _one_sentence(caught.value.message)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("info", list_formulations(), ids=lambda info: info.key)
def test_depth_is_refused_only_where_a_model_would_not_fit(info: Any) -> None:
    data = TWO if info.max_classes == 2 else IRIS
    with pytest.raises(SettingsError, match="leaves") as caught:
        octcore.solve(data, info.key, depth=info.max_depth + 1)
    assert caught.value.setting == "depth"
    if info.key in {"cart", "path-search"}:
        assert info.max_depth >= 20
        run = octcore.solve(data, info.key, depth=20, time_limit=1.0)
        assert run.tree is not None


def _rows(n: int, p: int) -> Dataset:
    rng = np.random.default_rng(0)
    return Dataset.from_arrays(rng.normal(size=(n, p)), rng.integers(0, 2, n))


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("formulation", "depth"),
    [("flow-oct", 8), ("oct-binary", 8), ("oct", 8), ("s-oct", 6), ("svm1-odt", 6), ("oct-h", 6)],
)
def test_models_that_would_exhaust_the_machine_are_refused_before_they_are_built(
    formulation: str, depth: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    _pretend_free(monkeypatch, 2e9)
    before = psutil.Process().memory_info().rss
    with pytest.raises(TooLargeError) as caught:
        octcore.solve(_rows(20_000, 10), formulation, depth=depth, time_limit=60.0)
    size = caught.value.size
    assert size["bytes"] > 1e9
    assert size["nonzeros"] > 1e6
    assert psutil.Process().memory_info().rss - before < 1e9
    _one_sentence(caught.value.message)


@pytest.mark.parametrize("encoding", ["QT-100000", "QB-999999999", "QT-999999999"])
def test_encodings_that_would_exhaust_the_machine_are_refused(encoding: str) -> None:
    before = psutil.Process().memory_info().rss
    with pytest.raises(TooLargeError, match="fewer quantiles") as caught:
        octcore.solve(_rows(20_000, 20), "path-search", encoding=encoding)
    assert caught.value.size["bytes"] > 1e9
    assert psutil.Process().memory_info().rss - before < 3e8


@pytest.mark.parametrize("key", ["s-oct", "oct-h", "svm1-odt", "hfs-margot", "mm-svm-oct"])
def test_planes_of_numbers_that_no_solver_takes_are_refused(key: str) -> None:
    table = pd.DataFrame({"u": [0, 5e299, 1e300, 1e300], "v": [0, 0, 1, 1]})
    data = Dataset.from_arrays(table, ["a", "b", "b", "b"])
    with pytest.raises(SettingsError, match=r"not 1e\+300; use encoding scaled"):
        octcore.solve(data, key, encoding="raw", time_limit=5)
    assert octcore.solve(data, key, time_limit=5).accuracy == 1.0


def test_a_model_within_the_budget_passes() -> None:
    size = ModelSize(rows=10, columns=10, binaries=5, nonzeros=100)
    check_size(size, 1e6)
    with pytest.raises(TooLargeError):
        check_size(size, 1e4)


def _pretend_free(monkeypatch: pytest.MonkeyPatch, n_bytes: float) -> None:
    """Make the limit the same on every machine."""
    memory = psutil.virtual_memory()._replace(available=int(n_bytes))
    monkeypatch.setattr(psutil, "virtual_memory", lambda: memory)


def test_what_an_address_names_is_looked_up_and_never_opened(tmp_path: Path) -> None:
    store = RunStore(tmp_path / "runs.sqlite")
    for name in ("../../x", "..%2F..%2Fx", "x' OR 1=1 --", "A" * 10_000):
        with pytest.raises(StoreError) as caught:
            store.load(name)
        assert caught.value.code == "NO_SUCH_RUN"
        assert len(caught.value.message) < 200
    with pytest.raises(SettingsError):
        octcore.solve(IRIS, depth="1e9")  # type: ignore[arg-type]
    store.close()


ACCEPTED: dict[str, Callable[[], None]] = {
    "bins_500": test_a_fine_encoding_is_accepted_with_a_remark,
    "tl_tiny": test_a_tiny_time_limit_gives_the_heuristic_tree_without_a_proof,
}
GROUPS = {"C_zero": C_ZERO, "eps_zero": EPS_ZERO, "eps_1e-9": EPS_TINY}


@pytest.mark.reference
def test_every_setting_of_the_reference_list_behaves_as_stated(
    reference: Path,
    files: dict[str, tuple[str, str]],
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    text = (reference / "bad_inputs" / "manifest.json").read_text(encoding="utf-8")
    for entry in json.loads(text)["settings"]:
        name, refuses = entry["id"], entry["expect"] == "clear-error"
        if name in ACCEPTED:
            assert not refuses
            ACCEPTED[name]()
        elif name == "query_param_inject":
            test_what_an_address_names_is_looked_up_and_never_opened(tmp_path)
        elif name == "features_none":
            test_no_column_to_split_on_is_refused(files, capsys)
        else:
            cases = list(GROUPS.get(name, {}).values()) or [CASES[name]]
            assert refuses, name
            for case in cases:
                _refused_by_library(case)
                _refused_by_command_line(case, files, capsys)


def test_the_declared_ranges_hold_their_own_defaults() -> None:
    for info in list_formulations():
        for parameter in get_formulation(info.key).info.hyperparameters:
            assert parameter.check(parameter.default) == parameter.default


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"formulation": "flow-oct", "engine": "margot-search"}, "FlowOCT (flow-oct) does not run"),
        ({"formulation": "margot"}, "MARGOT (margot) separates 2 classes, the data have 3; use "),
        ({"formulation": "cart", "constraints": {"max_features": 1}}, "(threshold-search)"),
        ({"formulation": "margot", "refer": 0.1}, "MARGOT (margot) counts errors only"),
    ],
)
def test_a_refusal_names_formulations_as_pages_do_and_as_commands_take_them(asked, words):
    with pytest.raises(SettingsError) as caught:
        octcore.solve(octcore.load_sample("iris"), **asked)
    assert words in caught.value.message


@pytest.mark.parametrize(
    ("name", "given", "words"),
    [
        ("solve", {"data": None}, "data must be a Dataset, as octcore.read_csv makes it, but None"),
        ("near_optimal", {"data": [[1.0, 2.0]]}, "but list came"),
        ("penalty_path", {"data": pd.DataFrame({"a": [1]})}, "but DataFrame came"),
        ("compare", {"data": "iris", "plans": []}, "but str came"),
        ("tune", {"data": IRIS, "formulation": ["oct"]}, "formulation must be a text"),
        ("verify", {"run": None}, "run must be a Run"),
        ("solve", {"data": IRIS, "params": 3}, "params must be a mapping"),
        ("solve", {"data": IRIS, "cancel": True}, "cancel must be a function or None"),
        ("solve", {"data": IRIS, "sample_weight": "x"}, "150 non-negative numbers"),
        ("solve", {"data": IRIS, "sample_weight": [1e308] * 150}, "150 non-negative numbers"),
        ("solve_one_vs_rest", {"data": IRIS, "constraints": 3}, "constraints must be"),
        ("solve_one_vs_rest", {"data": IRIS, "time_limit": "x"}, "time_limit must be a number"),
        ("solve_one_vs_rest", {"data": IRIS, "test_size": "nan"}, "test_size must be a number"),
        ("solve_selected", {"data": IRIS, "rounds": 1.5}, "rounds must be a whole number, but 1.5"),
        ("solve_selected", {"data": IRIS, "test_size": -1}, "test_size must be a number in [0, 1)"),
        ("select_rows", {"data": IRIS, "time_limit": "soon"}, "time_limit must be a number, b"),
        ("select_rows", {"data": IRIS, "n_jobs": float("nan")}, "n_jobs must be a whole number"),
        ("select_rows", {"data": IRIS, "n_jobs": 0}, "n_jobs must be 1 or more, or -1."),
        ("binarization_path", {"data": IRIS, "class_change": "x"}, "must be true or false, but"),
        ("read_csv", {"source": b"a,b\n1,x\n2,y\n", "header": "x"}, "header must be a whole"),
        ("read_csv", {"source": b"a,b\n1,x\n2,y\n", "header": 10**30}, "starts in line 1000"),
        ("compare", {"data": IRIS, "plans": 3}, "plans must be a list, but int came"),
        ("compare", {"data": IRIS, "plans": ["cart"]}, "plan must be a mapping, such as a dict"),
    ],
)  # fmt: skip
def test_arguments_of_another_type_are_refused_at_the_door(
    name: str, given: dict[str, Any], words: str
) -> None:
    with pytest.raises(octcore.SettingsError, match=re.escape(words)):
        getattr(octcore, name)(**given)


@pytest.mark.parametrize(
    ("name", "given", "words"),
    [
        ("verify", {"time_limit": "x"}, "time_limit must be a number, but 'x' was given."),
        ("verify", {"time_limit": float("nan")}, "time_limit must be a number, but nan was given."),
        ("values", {"node": [1]}, "node must be int, but list came."),
        ("export", {"kind": ["py"]}, "kind must be a text, but list came."),
        ("write_model", {"path": None}, "path must be a text or Path, but NoneType came."),
        ("prove", {"folder": 3}, "folder must be a text or Path, but int came."),
        ("explain", {"row": 3}, "row must be a mapping, such as a dict or Series or DataFrame"),
        ("predict", {"frame": np.zeros((2, 4))}, "a table with named columns, not as ndarray."),
    ],
)
def test_arguments_of_another_type_are_refused_by_a_run(
    name: str, given: dict[str, Any], words: str
) -> None:
    with pytest.raises(octcore.OctError, match=re.escape(words)):
        getattr(octcore.solve(IRIS, depth=1), name)(**given)


def test_an_argument_that_does_not_exist_is_refused_with_the_name_of_the_function() -> None:
    """Python alone said "got an unexpected keyword argument"."""
    with pytest.raises(TypeError, match=r"^solve\(\) got an unexpected .* 'max_depth'$"):
        octcore.solve(IRIS, max_depth=3)  # type: ignore


def test_a_text_where_a_list_is_asked_for_is_a_list_of_it() -> None:
    """Its letters were taken for names, but for `drop`."""
    table = b"ab,cd,y\nu,A,p\nv,a,q\nw,b,q\n"
    data = octcore.read_csv(table, "y", drop="ab", merge="cd")
    assert [(column.name, column.levels) for column in data.columns] == [("cd", ("A", "b"))]
    good = octcore.near_optimal(IRIS, depth=1)
    both = ("petal width (cm)", ["petal width (cm)"])
    without = [good.restrict((), names).count for names in both]
    assert 0 < without[0] == without[1] < good.count


def test_texts_that_say_numbers_are_taken_for_them() -> None:
    assert len(octcore.select_rows(IRIS, depth="2", time_limit="9").rows) < 150  # type: ignore
    assert octcore.solve(IRIS, depth=1).verify("60").status == "confirmed"  # type: ignore
    data = octcore.read_csv(b"a,b\n1,x\n2,y\n999,x\n3,y\n", "b", na_values={"a": 999})  # type: ignore
    assert data.n_samples == 3


def test_sets_of_trees_and_paths_refuse_what_is_no_number_of_theirs() -> None:
    good = octcore.near_optimal(IRIS, depth=1)
    some: tuple[Any, ...] = (-1, "x", None, float("nan"))
    for call in (good.trees, good.sample, octcore.penalty_path(IRIS, depth=1).at):
        for wrong in some:
            with pytest.raises(octcore.SettingsError, match="must be"):
                call(wrong)


def test_public_functions_are_found_again_by_other_processes() -> None:
    assert pickle.loads(pickle.dumps(octcore.solve)) is octcore.solve
