"""Model files: another program reads them, finds the same optimum and takes the tree as start."""

from __future__ import annotations

from pathlib import Path

import highspy
import numpy as np
import pytest

import octcore
from octcore.cli import main
from octcore.data.dataset import Dataset
from octcore.errors import SettingsError, TooLargeError
from octcore.formulations.base import get_formulation
from octcore.solving.model_file import model_files
from octcore.solving.prepare import problem_of

KEYS = ("flow-oct", "oct", "s-oct")


@pytest.fixture(scope="module", params=KEYS)
def run(request: pytest.FixtureRequest) -> octcore.Run:
    data = octcore.load_sample("xor")
    data = data.subset(np.arange(0, data.n_samples, 6))
    encoding = {"flow-oct": "QT-5"}.get(request.param, "auto")
    params = {"cuts": "baseline"} if request.param == "s-oct" else {}
    asked = {"encoding": encoding, "params": params, "depth": 1, "time_limit": 60}
    return octcore.solve(data, request.param, **asked)


def read(path: Path) -> highspy.Highs:
    solver = highspy.Highs()
    solver.setOptionValue("output_flag", False)
    assert solver.readModel(str(path)) == highspy.HighsStatus.kOk
    return solver


def test_an_interrupt_prints_no_error_of_the_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Pyomo wrote it to standard output, where other programs read."""

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    run = octcore.solve(octcore.load_sample("xor"), "flow-oct", depth=1, verify=False)
    monkeypatch.setattr("octcore.formulations.flow_oct.linear", interrupted)
    with pytest.raises(KeyboardInterrupt):
        run.write_model(tmp_path / "model.lp")
    assert not caplog.records
    assert not any(tmp_path.iterdir())


@pytest.mark.sampled(8)
@pytest.mark.parametrize("suffix", [".lp", ".mps"])
def test_another_solver_finds_the_optimum_and_takes_the_start(
    suffix: str, run: octcore.Run, tmp_path: Path
) -> None:
    model, start = run.write_model(str(tmp_path / f"model{suffix}"))
    program = get_formulation(run.formulation).build(problem_of(run))
    solver = read(model)
    solver.run()
    found = program.scale * solver.getInfo().objective_function_value + program.shift
    assert run.is_optimal
    assert found == pytest.approx(run.objective, abs=1e-6)

    values = dict(line.split() for line in start.read_text().splitlines() if line[0] != "#")
    solver, lp = read(model), read(model).getLp()
    fixed = [float(values[name]) for name in lp.col_names_ if name in values]
    columns = [j for j, name in enumerate(lp.col_names_) if name in values]
    assert len(columns) >= 0.9 * len(lp.col_names_)
    solver.changeColsBounds(len(columns), np.array(columns), np.array(fixed), np.array(fixed))
    solver.run()
    reached = program.scale * solver.getInfo().objective_function_value + program.shift
    assert reached == pytest.approx(run.objective, abs=1e-6)


@pytest.mark.long
def test_a_table_alone_will_do(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table, model = str(tmp_path / "xor.csv"), tmp_path / "xor.mps"
    assert main(["samples", "xor", "--output", table]) == 0
    asked = ["model", table, "--output", str(model)]
    assert main(asked) == 2
    assert "is a table; name the column with its classes with --target." in capsys.readouterr().err
    asked += ["--target", "class", "--formulation", "flow-oct", "--depth", "2"]
    assert main([*asked, "--encoding", "QT-2"]) == 0
    solver = read(model)
    solver.run()
    n_rows = octcore.load_sample("xor").n_samples
    run = octcore.solve(octcore.load_sample("xor"), "flow-oct", "QT-2", 2)
    assert run.objective == pytest.approx(solver.getInfo().objective_function_value / n_rows)
    iris = octcore.solve(octcore.load_sample("iris"), "flow-oct", "QT-2", 1)
    head = model_files(iris, [".lp"])[".lp"].splitlines()[1]
    assert head.endswith("objective 0.646666666667, bound 0.646666666667")  # no ...66666666


@pytest.mark.long
@pytest.mark.sampled(3)
def test_what_has_no_whole_model_or_another_place_is_refused(
    run: octcore.Run, tmp_path: Path
) -> None:
    for path, error in ((tmp_path / "model.txt", "UNKNOWN_FORMAT"), ("/dev/null/m.lp", "CANNOT")):
        with pytest.raises(SettingsError) as refused:
            run.write_model(path)
        assert refused.value.code.startswith(error)
    with pytest.raises(TooLargeError):
        model_files(run, most_nonzeros=10)
    data = octcore.load_sample("xor").subset(np.arange(20))
    for key in ("threshold-search", "bend-oct", "s-oct"):  # its default has lazy cuts
        other = octcore.solve(data, key, depth=1, time_limit=30)
        with pytest.raises(SettingsError, match="Solve with flow-oct"):
            other.write_model(tmp_path / "model.lp")
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_the_command_writes_both_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows, result = tmp_path / "rows.csv", tmp_path / "run.json"
    assert main(["samples", "hayes-roth", "--output", str(rows)]) == 0
    asked = ["solve", str(rows), "--target", "class", "--depth", "1", "--test-size", "0"]
    assert main([*asked, "--formulation", "flow-oct", "--json", str(result)]) == 0
    capsys.readouterr()
    model = tmp_path / "out" / "model.mps"
    assert main(["model", str(result), "--data", str(rows), "--output", str(model)]) == 0
    assert capsys.readouterr().out.split() == [str(model), str(model.with_suffix(".mst"))]
    assert read(model).getLp().num_col_ > 0


@pytest.mark.parametrize("key", ["margot", "hfs-margot", "sfs-margot", "mm-svm-oct", "s-oct"])
def test_a_table_whose_columns_are_constant_has_a_model(key: str, tmp_path: Path) -> None:
    data = Dataset.from_arrays(np.ones((3, 2)), ["u", "v", "v"])
    params = {"s-oct": {"cuts": "baseline"}, "margot": {"norm": "l1"}}.get(key, {})
    run = octcore.solve(data, key, params=params)
    model, _ = run.write_model(tmp_path / "model.lp")
    assert run.is_optimal
    if key in {"margot", "s-oct"}:  # the others have squares
        program, solver = get_formulation(key).build(problem_of(run)), read(model)
        solver.run()
        found = program.scale * solver.getInfo().objective_function_value + program.shift
        assert found == pytest.approx(run.objective, abs=1e-6)
