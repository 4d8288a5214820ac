"""A fresh machine: what is imported, what is run, what can be written, how a command ends."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from octcore.cli import main, paths
from octcore.data.samples import sample_bytes
from octcore.numerics import kernels

pytestmark = pytest.mark.long

LIBRARIES = (
    "importlib.metadata",
    "pandas",
    "numba",
    "scipy.stats",
    "sklearn",
    "pyomo",
    "highspy",
    "plotly",
    "streamlit",
)
SOLVE = ["--target", "species", "--formulation", "cart", "--depth", "2"]
COMMAND = [sys.executable, "-P", "-m", "octcore"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "iris.csv").write_bytes(sample_bytes("iris"))
    return tmp_path


def loaded(code: str) -> set[str]:
    """Which of the libraries a fresh interpreter has after some code."""
    told = f"{code}\nimport sys; print([name for name in {LIBRARIES!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", told], capture_output=True, text=True, check=True)
    return set(json.loads(done.stdout.splitlines()[-1].replace("'", '"')))


def test_importing_the_package_and_printing_help_load_nothing() -> None:
    assert loaded("import octcore") == set()
    quiet = "import contextlib, os\nwith contextlib.suppress(SystemExit):\n    main(['--help'])"
    assert loaded(f"from octcore.cli import main\n{quiet}") == set()


def test_exact_search_needs_no_solver_and_no_statistics() -> None:
    code = (
        "import octcore\n"
        "octcore.solve(octcore.load_sample('4-partitions'), formulation='path-search', depth=2)"
    )
    assert loaded(code) <= {"importlib.metadata", "pandas", "numba"}


def test_the_users_folder_is_not_run(folder: Path) -> None:
    for name in ("random.py", "numpy.py", "octcore/__init__.py"):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text("raise SystemExit('run from the folder')")
    done = subprocess.run(
        [*COMMAND, "solve", "iris.csv", *SOLVE],
        cwd=folder,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert "run from the folder" not in done.stdout + done.stderr


@pytest.mark.parametrize("option", ["--json", "--model", "--trace", "--tree"])
def test_a_place_that_cannot_be_written_is_refused_before_the_solve(
    option: str, folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("octcore.cli.solving.solve_in_child", lambda *_, **__: pytest.fail("ran"))
    other = folder / "other.json"
    words = ["solve", str(folder / "iris.csv"), *SOLVE, "--json", str(other)]
    assert main([*words, option, str(folder / "nowhere" / "x.txt")]) == 2
    assert "cannot be written" in capsys.readouterr().err
    assert not other.exists()


@pytest.mark.parametrize("first", ["--json", "--trace"])
def test_two_outputs_of_one_file_are_refused_before_the_solve(
    first: str, folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("octcore.cli.solving.solve_in_child", lambda *_, **__: pytest.fail("ran"))
    words = ["solve", str(folder / "iris.csv"), *SOLVE, first, str(folder / "x.json")]
    assert main([*words, "--model", f"{folder}/./x.json"]) == 2
    assert "two outputs" in capsys.readouterr().err
    assert not (folder / "x.json").exists()


@pytest.mark.parametrize(
    "words",
    [
        ["solve", "iris.csv", *SOLVE, "--json", "./iris.csv"],
        ["solve", "iris.csv", *SOLVE, "--costs", "costs.json", "--tree", "costs.json"],
        ["near-optimal", "iris.csv", "--target", "species", "--rules", "iris.csv"],
        ["predict", "costs.json", "iris.csv", "--output", "link.csv"],
        ["report", "costs.json", "--data", "iris.csv", "--output", "costs.json"],
        ["runs", "--store", "iris.csv", "export", "1", "--output", "iris.csv"],
    ],
    ids=lambda words: words[0],
)
def test_what_a_command_reads_it_does_not_replace(
    words: list[str], folder: Path, capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.chdir(folder)
    (folder / "costs.json").write_text("{}")
    (folder / "link.csv").symlink_to("iris.csv")
    before = (folder / "iris.csv").read_bytes()
    assert main(words) == 2
    assert "is a file that is read" in capsys.readouterr().err
    assert (folder / "iris.csv").read_bytes() == before
    assert (folder / "costs.json").read_text() == "{}"


@pytest.mark.parametrize("option", ["--json", "--model", "--trace", "--report", "--tree"])
def test_the_name_of_a_file_is_not_empty(
    option: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["solve", str(folder / "iris.csv"), *SOLVE, option, ""])
    assert stop.value.code == 2
    assert f"argument {option}: the name is empty" in capsys.readouterr().err


LONG_WORK = [
    ["solve", "--formulation", "cart", "--model", "/dev/full"],
    ["compare", "--formulations", "cart,cart", "--json", "/dev/full"],
    ["tune", "--formulation", "cart", "--grid", "depth=1,2", "--json", "/dev/full"],
    ["path", "--depth", "2", "--json", "/dev/full"],
    ["binarization", "--depth", "1", "--quantiles", "2", "--json", "/dev/full"],
    ["near-optimal", "--depth", "1", "--rules", "/dev/full", "--json", "/dev/full"],
]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("words", LONG_WORK, ids=lambda words: words[0])
def test_what_cannot_be_written_after_all_goes_to_standard_output(
    words: list[str], folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("needs a device that is always full")
    words = [words[0], str(folder / "iris.csv"), "--target", "species", *words[1:]]
    assert main(words) == 2
    out, err = capsys.readouterr()
    assert json.loads(out.splitlines()[-1])
    assert len(out.splitlines()) > 2  # the report, too
    assert err.splitlines()[-1].startswith("octcore: /dev/full cannot be written")


CLOSED = {"output": ">&-", "all": "<&- >&- 2>&-"}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("closed", CLOSED.values(), ids=CLOSED)
def test_closed_streams_end_no_command(closed: str, folder: Path) -> None:
    model = folder / "model.json"
    for words in (
        ["solve", "iris.csv", *SOLVE, "--model", str(model)],
        ["predict", str(model), "iris.csv"],
    ):
        done = subprocess.run(
            ["sh", "-c", f'exec "$@" {closed}', "sh", *COMMAND, *words], cwd=folder, stderr=-1
        )
        assert done.returncode == 0, done.stderr
    assert json.loads(model.read_text())["format"] == "octcore-model"


@pytest.mark.parametrize("words", [["formulations"], ["predict", "model.json", "iris.csv"]])
def test_a_full_standard_output_is_said_in_a_sentence(words: list[str], folder: Path) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("needs a device that is always full")
    data = str(folder / "iris.csv")
    assert main(["solve", data, *SOLVE, "--model", str(folder / "model.json")]) == 0
    with open("/dev/full", "w") as full:
        done = subprocess.run([*COMMAND, *words], cwd=folder, stdout=full, stderr=-1, text=True)
    assert done.returncode == 2
    assert done.stderr.startswith("octcore: the output cannot be written: No space left")
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.sampled(3)
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_a_signal_keeps_the_incumbent(number: int, folder: Path) -> None:
    rng = np.random.default_rng(0)
    table = np.column_stack([rng.integers(0, 50, (600, 12)), rng.integers(0, 4, 600)])
    names = ",".join([*(f"x{i}" for i in range(12)), "species"])
    np.savetxt(folder / "noise.csv", table, "%d", ",", header=names, comments="")
    process = subprocess.Popen(
        [*COMMAND, "solve", "noise.csv", "--target", "species", "--depth", "4",
         "--formulation", "flow-oct", "--time-limit", "300", "--trace", "events.jsonl"],
        cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        preexec_fn=_hear_signals,
    )  # fmt: skip
    try:
        wait_for_worker(process.pid)
        process.send_signal(number)
        out, err = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 0, err
    assert "stopped by cancelled" in out
    assert "leaves" in out
    assert (folder / "events.jsonl").read_text()


def test_a_stopped_comparison_of_encodings_keeps_those_that_are_solved(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    solved = paths.binarization_path

    def stopped(*given: Any, **settings: Any) -> Any:
        settings["on_point"] = lambda *_: signal.raise_signal(signal.SIGINT)
        return solved(*given, **settings)

    monkeypatch.setattr(paths, "binarization_path", stopped)
    words = ["binarization", str(folder / "iris.csv"), "--target", "species", "--depth", "1"]
    # A shell that starts the tests in the background lets them ignore it.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        assert main([*words, "--json", "-"]) == 130
    finally:
        signal.signal(signal.SIGINT, before)
    record = json.loads(capsys.readouterr().out)
    assert [point["encoding"] for point in record["points"]] == ["raw"]
    assert not record["is_complete"]


def _hear_signals() -> None:
    """A shell that starts the tests in the background lets them ignore some signals."""
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


def wait_for_worker(pid: int) -> None:
    """Wait until the child process of a command has worked for some seconds."""
    import psutil

    end = time.monotonic() + 60
    while time.monotonic() < end:
        workers = psutil.Process(pid).children()
        if workers and sum(workers[0].cpu_times()[:2]) > 3.0:
            return
        time.sleep(0.05)
    pytest.fail("no worker has started")


def test_an_engine_that_is_not_installed_is_refused(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if __import__("importlib").util.find_spec("gurobipy") is not None:
        pytest.skip("Gurobi is installed")
    words = ["solve", str(folder / "iris.csv"), "--target", "species", "--formulation", "oct"]
    assert main([*words, "--engine", "gurobi"]) == 2
    out, err = capsys.readouterr()
    assert not out
    assert "gurobipy" in err
    assert len(err.strip().splitlines()) == 1


def test_the_version_and_the_history_are_printed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--version"])
    assert ended.value.code == 0
    assert capsys.readouterr().out.startswith("octcore ")
    assert main(["runs", "--store", str(tmp_path / "none.db"), "list"]) == 2
    assert "There is no history" in capsys.readouterr().err
    assert main(["verify", "typo", "--store", str(tmp_path / "none.db")]) == 2
    assert "typo is no file, and there is no history" in capsys.readouterr().err
    assert not (tmp_path / "none.db").exists()


def test_runs_are_listed_shown_exported_and_deleted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from octcore import load_sample, solve
    from octcore.solving.run import JobState
    from octcore.store.runs import RunStore

    path = str(tmp_path / "runs.db")
    data, settings = load_sample("iris"), {"formulation": "cart", "depth": 2}
    store = RunStore(path)
    ids = [store.begin(data, settings, name) for name in ("first", "second")]
    for run_id in ids:
        store.finish(run_id, JobState.DONE, solve(data, **settings))
    store.close()
    history = ["runs", "--store", path]
    assert main([*history, "list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[-1] for line in lines] == ["second", "first"]
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as damaged:
        damaged.execute("UPDATE run SET created = 9e999 WHERE name = 'second'")
    assert main([*history, "list"]) == 0
    assert "  no date  " in capsys.readouterr().out
    assert main([*history, "show", ids[0][:8]]) == 0
    assert "petal" in capsys.readouterr().out
    assert main([*history, "export", ids[0], "--rows", "--output", str(tmp_path / "r.json")]) == 0
    record = json.loads((tmp_path / "r.json").read_text())
    assert record["id"] == ids[0]
    assert record["rows"]
    assert main([*history, "show", "zzz"]) == 2
    assert "No run begins" in capsys.readouterr().err
    assert main([*history, "delete", ids[0], "zzz"]) == 2
    assert main([*history, "delete", *ids]) == 0
    capsys.readouterr()
    assert main([*history, "list"]) == 0
    assert "no runs" in capsys.readouterr().out


def test_kernels_work_without_a_place_to_keep_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernels, "cache_folder", lambda: None)
    twice = kernels.kernel()(lambda x: 2 * x)
    assert twice(4) == 8
    assert not kernels.is_compiled("anything:else")


def test_the_cache_is_a_private_folder_that_can_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(kernels.CACHE_VARIABLE, "/proc/nowhere")
    monkeypatch.setattr("tempfile.gettempdir", lambda: str(tmp_path))
    kernels.cache_folder.cache_clear()
    try:
        found = kernels.cache_folder()
        assert found is not None
        assert found.parent == tmp_path
        assert found.stat().st_mode & 0o077 == 0
        shared = tmp_path / "numba"
        monkeypatch.setenv(kernels.CACHE_VARIABLE, str(shared))
        kernels.cache_folder.cache_clear()
        own = kernels.cache_folder()
        assert own is not None
        assert own.parent == shared  # what others keep beside it is not ours to delete
        monkeypatch.setenv(kernels.CACHE_VARIABLE, "/proc/nowhere")
        if hasattr(os, "getuid"):
            found.chmod(0o777)  # somebody else could put machine code there
            kernels.cache_folder.cache_clear()
            assert kernels.cache_folder() is None
    finally:
        kernels.cache_folder.cache_clear()


def test_a_command_works_without_a_home(folder: Path) -> None:
    nowhere = {"HOME": "/proc/nowhere", "XDG_CACHE_HOME": "/proc/nowhere", "TMPDIR": str(folder)}
    environment = {name: value for name, value in os.environ.items() if name != "NUMBA_CACHE_DIR"}
    code = (
        "from octcore.numerics import kernels\n"
        "import octcore.search.univariate.warm_up, octcore.search.univariate.pairs\n"
        "print(kernels.cache_folder())"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=environment | nowhere
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(str(folder))


def test_a_fresh_machine_has_an_empty_history(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OCTCORE_STORE", str(folder / "runs.db"))
    assert main(["runs", "list"]) == 0
    assert main(["runs", "list", "--json", "-"]) == 0
    assert capsys.readouterr().out == "There are no runs yet.\n[]\n"
    assert not (folder / "runs.db").exists()
    assert main(["runs", "--store", str(folder / "other.db"), "list"]) == 2


@pytest.mark.slow
def test_a_terminal_without_accents_gets_the_words_and_files_their_bytes(folder: Path) -> None:
    (folder / "rows.csv").write_text("größe,y\n1,é\n2,é\n3,b\n4,b\n", encoding="utf-8")
    words = ["solve", "rows.csv", "--target", "y", "--depth", "1", "--model", "model.json"]
    for command in (["describe", "flow-oct"], words, ["predict", "model.json", "rows.csv"]):
        done = subprocess.run(
            [*COMMAND, *command],
            cwd=folder,
            capture_output=True,
            env={**os.environ, "LC_ALL": "C", "PYTHONIOENCODING": "ascii"},
        )
        assert done.returncode == 0, done.stderr
    assert "größe" in done.stdout.decode("utf-8")


@pytest.mark.sampled(2)
@pytest.mark.parametrize("command", ["solve", "predict"])
def test_a_table_without_end_is_refused(
    command: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, folder: Path
) -> None:
    monkeypatch.setattr("octcore.data.reading.MAX_BYTES", 10**6)
    monkeypatch.setattr("octcore.data.sniffing.MAX_BYTES", 10**6)
    model = folder / "model.json"
    assert main(["solve", str(folder / "iris.csv"), *SOLVE, "--model", str(model)]) == 0
    words = {"solve": ["/dev/zero", "--target", "y"], "predict": [str(model), "/dev/zero"]}
    assert main([command, *words[command]]) == 2
    assert "more than 1 MB" in capsys.readouterr().err


@pytest.mark.slow
def test_a_dash_is_the_standard_input(folder: Path) -> None:
    rows, model = sample_bytes("iris"), str(folder / "model.json")
    for words in (["solve", "-", *SOLVE, "--model", model], ["predict", model, "-"]):
        done = subprocess.run([*COMMAND, *words], input=rows, cwd=folder, capture_output=True)
        assert done.returncode == 0, done.stderr
    assert done.stdout.count(b"\n") == rows.count(b"\n")
