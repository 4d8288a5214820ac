"""``python -m tests.mutants [--list] [NAME...]``: put faults into a copy, see them noticed."""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.mutants.records import ROOT, Mutant, mutants

COPIED = ("octcore", "dashboard", "tests", "sample_data", "pyproject.toml")
PLACE = Path(tempfile.gettempdir()) / "octcore-mutants"
"""Always the same, since compiled kernels belong to a place; they stay for the next run."""
SECONDS = 900.0
"""Longest time for one mutant; a test that hangs has noticed it too."""
KERNEL_MARKS = ("@kernel(", "@inner(", "@njit")


def main() -> int:
    """Run the mutants; exit 1 when one survived."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="all by default")
    parser.add_argument("--list", action="store_true", help="only list them")
    parser.add_argument(
        "--trust", action="store_true", help="do not first see every test pass without a fault"
    )
    asked = parser.parse_args()
    chosen = [m for m in mutants() if not asked.names or m.name in asked.names]
    if asked.list:
        for mutant in chosen:
            print(f"{mutant.name}: {mutant.place(ROOT).relative_to(ROOT)} ({mutant.kill})")
        return 0
    begin = time.monotonic()
    copy = make_copy(PLACE / "copy")
    if not asked.trust:
        for kill, mutant in {m.kill: m for m in chosen}.items():
            broken = failure(mutant.command, copy, PLACE / "kernels")
            if broken is not None:
                print(f"{kill} fails without any fault: {broken}")
                return 2
    survived = [m.name for m in chosen if not _is_killed_aloud(m, copy)]
    shutil.rmtree(copy)
    seconds = time.monotonic() - begin
    print(f"{len(chosen) - len(survived)} of {len(chosen)} killed in {seconds:.0f} s")
    return 1 if survived else 0


def _is_killed_aloud(mutant: Mutant, copy: Path) -> bool:
    start = time.monotonic()
    noticed = noticed_by(mutant, copy)
    said = "SURVIVED" if noticed is None else "killed"
    print(f"{said:8s} {time.monotonic() - start:6.1f} s  {mutant.name}: {noticed}", flush=True)
    return noticed is not None


def make_copy(folder: Path) -> Path:
    """Copy what the tests need; times stay, so that compiled kernels can be used again."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True, mode=0o700)
    for name in COPIED:
        if (ROOT / name).is_dir():
            shutil.copytree(
                ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__")
            )
        else:
            shutil.copy2(ROOT / name, folder / name)
    return folder


def noticed_by(mutant: Mutant, copy: Path) -> str | None:
    """Put a fault into the copy, run its test, take the fault out; what failed, if anything."""
    path = mutant.place(copy)
    text, times = path.read_text(), path.stat()
    changed = text.replace(mutant.find, mutant.replace)
    compile(changed, str(path), "exec")
    path.write_text(changed)
    kernels = copy.parent / "kernels"
    fresh = any(mark in text for mark in KERNEL_MARKS)
    if fresh:  # callers of a kernel hold its machine code
        kernels = Path(tempfile.mkdtemp(dir=copy.parent))
    try:
        return failure(mutant.command, copy, kernels)
    finally:
        path.write_text(text)
        os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
        if fresh:
            shutil.rmtree(kernels, ignore_errors=True)


def failure(command: list[str], copy: Path, kernels: Path) -> str | None:
    """Run ``python -m`` in the copy; its last words when it fails, None when it does not."""
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(kernels), "PYTHONDONTWRITEBYTECODE": "1"}
    try:
        run = subprocess.run(
            [sys.executable, "-m", *command],
            cwd=copy,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return "it never ends"
    lines = [line for line in run.stdout.splitlines() if line.strip()]
    return None if run.returncode == 0 else (lines[-1] if lines else "")[:200]


if __name__ == "__main__":
    sys.exit(main())
