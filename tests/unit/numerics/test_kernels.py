"""Machine code is kept by the sources that it depends on."""

from __future__ import annotations

import ast
import fcntl
import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import octcore
from octcore.numerics import kernels

ROOT = Path(octcore.__file__).parent
SETS = {
    "octcore.search.univariate.warm_up",
    "octcore.search.near_optimal.warm_up",
    "octcore.search.margot.search",
}

NAME = "octcore.search.margot.search:some"


def compiling_in(folder: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Keep machine code there, and make none; the sets that would be compiled."""
    compiled = list[str]()
    monkeypatch.setattr(kernels, "cache_folder", lambda: folder)
    monkeypatch.setattr(kernels, "_load", compiled.append)
    return compiled


def lock_of(folder: Path) -> Path:
    marker = kernels._marker(NAME)
    assert marker is not None
    return folder / f"{marker.name}.lock"


def parsed_imports(path: Path) -> set[str]:
    """Modules of the package that a file imports, by Python's own parser."""
    found = set[str]()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names if alias.name.startswith("octcore")}
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("octcore"):
            members = {f"{node.module}.{alias.name}" for alias in node.names}
            inside = {name for name in members if is_module(name)}
            found |= inside | ({str(node.module)} if inside != members else set())
    return found


def is_module(name: str) -> bool:
    path = ROOT.parent.joinpath(*name.split("."))
    return path.with_suffix(".py").exists() or (path / "__init__.py").exists()


@pytest.mark.long
def test_no_import_is_overlooked() -> None:
    for path in ROOT.rglob("*.py"):
        parts = path.relative_to(ROOT.parent).with_suffix("").parts
        name = ".".join(part for part in parts if part != "__init__")
        assert kernels.imports(name) == parsed_imports(path), name


@pytest.mark.parametrize(
    ("edited", "users"),
    [
        ("octcore.search.univariate.pairs", {"univariate", "near_optimal"}),
        ("octcore.search.univariate.node", {"univariate", "near_optimal"}),
        ("octcore.numerics.node_qp.solver", {"margot"}),
        ("octcore.numerics.kernels", {"univariate", "near_optimal", "margot"}),
    ],
)
def test_an_edit_makes_new_what_depends_on_it(
    edited: str, users: set[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = {name: kernels._state(name) for name in SETS}
    file = kernels._file
    copy = tmp_path / "edited.py"
    copy.write_text((file(edited) or tmp_path).read_text() + "# edited\n")
    monkeypatch.setattr(kernels, "_file", lambda name: copy if name == edited else file(name))
    kernels._state.cache_clear()
    try:
        changed = {name for name in SETS if kernels._state(name) != before[name]}
    finally:
        kernels._state.cache_clear()
    assert {name.split(".")[2] for name in changed} == users


def test_machine_code_that_nobody_uses_is_deleted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kernels, "KEPT_ENTRIES", 3)
    now, month = time.time(), kernels.KEPT_SECONDS
    ages = {"new": 0.0, "recent": month / 2, "older": month / 2 + 9, "old": month - 99}
    for name, age in {**ages, "ancient": month + 99}.items():
        (tmp_path / name / "module").mkdir(parents=True)
        (tmp_path / name / "module" / "code.nbc").write_bytes(b"")
        (tmp_path / name).touch()
        os.utime(tmp_path / name, (now - age, now - age))
    (tmp_path / "ancient-marker").touch()
    os.utime(tmp_path / "ancient-marker", (now - month - 99, now - month - 99))
    kernels.delete_unused(tmp_path)
    kernels.delete_unused(tmp_path)
    assert {entry.name for entry in tmp_path.iterdir()} == {"new", "recent", "older"}


@pytest.mark.parametrize("content", ["", "1", str(os.getpid())], ids=["empty", "init", "own"])
def test_no_lock_outlives_its_owner(
    content: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiled = compiling_in(tmp_path, monkeypatch)
    lock_of(tmp_path).write_text(content)
    kernels.main([NAME])
    kernels.main([NAME])
    assert compiled == [NAME]


def test_waiting_for_a_frozen_process_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compiled = compiling_in(tmp_path, monkeypatch)
    monkeypatch.setattr(kernels, "LOCK_SECONDS", 0.2)
    with open(lock_of(tmp_path), "a") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        kernels.main([NAME])
    assert compiled == [NAME]


def test_one_process_compiles_and_the_others_wait(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiled = compiling_in(tmp_path, monkeypatch)
    with open(lock_of(tmp_path), "a") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        other = threading.Thread(target=kernels.main, args=([NAME],))
        other.start()
        time.sleep(0.2)
        assert not compiled
        (tmp_path / lock_of(tmp_path).stem).touch()  # the one that holds the lock is done
    other.join(5)
    assert not other.is_alive()
    assert not compiled


def test_a_kernel_is_compiled_once_for_all_constants(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernels, "cache_folder", lambda: None)  # what is kept is not compiled
    ones = np.ones(1)

    @kernels.inner()
    def scaled(values: NDArray[np.float64], by: int, is_negative: bool) -> float:
        return -by * values[0] if is_negative else by * values[0]

    @kernels.kernel()
    def in_many_ways(values: NDArray[np.float64], by: int) -> float:
        return scaled(values, by, by > 9) + scaled(values, 10, False) + scaled(ones, 100, True)

    assert in_many_ways(np.full(1, 2.0), 3) == 6 + 20 - 100
    assert len(scaled.signatures) == 1


@pytest.mark.long
def test_what_borrows_arrays_hands_none_on(tmp_path: Path) -> None:
    """It counts no references: an array that it returned would be lost, one it was given kept."""
    code = f"from {__name__} import handed_on; print(handed_on())"
    environment = os.environ | {
        "NUMBA_CACHE_DIR": str(tmp_path),
        "NUMBA_OPT": "0",  # types are looked at, nothing is run
        "PYTHONPATH": str(ROOT.parent),
    }
    command = [sys.executable, "-c", code]
    said = subprocess.run(command, env=environment, cwd=ROOT.parent, capture_output=True, text=True)
    assert said.stdout.startswith("[]"), said.stdout + said.stderr


def handed_on() -> list[str]:
    """Compile kernels here and now; where arrays come from kernels that do not count them."""
    from numba.core import ir, types

    from octcore.formulations.shared.separation import chains
    from octcore.search.assignment import search as assignment
    from octcore.search.near_optimal import warm_up as near_optimal
    from octcore.search.univariate import warm_up

    lanes = warm_up.lane_sets(2, True)
    names = (*lanes, *warm_up.bit_sets(1, 5), *near_optimal.ALL, *assignment.ALL, *chains.ALL)
    for module, part in (name.split(":") for name in names):
        sys.modules[module].compile_part(part)

    def has_array(kind: Any) -> bool:
        many = isinstance(kind, types.BaseTuple)
        return any(map(has_array, kind)) if many else isinstance(kind, types.Array)

    found, looked_at = [], set()
    for module in [m for name, m in sys.modules.items() if name.startswith("octcore.")]:
        for name, kernel in vars(module).items():
            if not hasattr(kernel, "overloads") or kernel.targetoptions.get("_nrt", True):
                continue
            for made in kernel.overloads.values():
                looked_at.add(name)
                if has_array(made.signature.return_type):
                    found.append(f"{name} returns one")
                for call, kind in made.type_annotation.calltypes.items():
                    is_call = isinstance(call, ir.Expr) and call.op == "call"
                    if is_call and kind is not None and has_array(kind.return_type):
                        found.append(f"{name} is given one by {call.func}")
    assert {"_search", "count_columns", "score", "_find", "solve_pack"} <= looked_at
    return found


def test_clocks_stand_still_for_those_who_wait_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is loaded while nobody waits was taken off a solve that ran meanwhile."""
    loading, go_on = threading.Event(), threading.Event()

    def load(name: str) -> None:
        loading.set()
        assert go_on.wait(60)
        kernels._loaded.add(name)

    monkeypatch.setattr(kernels, "_load", load)
    monkeypatch.setattr(kernels, "is_compiled", lambda name: True)
    monkeypatch.setattr(kernels, "_loaded", set())

    def ahead() -> None:
        kernels.in_background()
        kernels.require("a:b")

    warmer = threading.Thread(target=ahead)
    before = kernels.spent()
    warmer.start()
    assert loading.wait(60)
    time.sleep(0.05)
    assert kernels.spent() == before

    waits = threading.Thread(target=kernels.require, args=("a:b",))
    waits.start()
    while kernels.spent() < before + 0.05:  # who needs it now waits for the other
        assert waits.is_alive()
        time.sleep(0.005)
    go_on.set()
    warmer.join()
    waits.join()
    after = kernels.spent()
    time.sleep(0.01)
    assert kernels.spent() == after
