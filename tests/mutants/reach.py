"""Which lines every killer reaches: cases of the fuzz and tests, run once under a trace."""

from __future__ import annotations

import functools
import hashlib
import json
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

from tests.mutants.faulty import in_child
from tests.mutants.killers import PYTEST
from tests.mutants.records import ROOT

TESTS = (
    "tests/unit/search", "tests/unit/engines", "tests/unit/verification", "tests/unit/formulations",
    "tests/unit/selection", "tests/oracle", "tests/property",
)  # fmt: skip
QUICK = "not slow and not reference and not browser"
TEST_SECONDS = 8.0
"""Longest test that is a killer, in CPU seconds under the trace."""
TASK_SECONDS = 100.0
"""CPU seconds, under the trace, after which no further cases of a key or tests of a file begin."""


@dataclass(frozen=True, eq=False)
class Killer:
    """A case of the fuzz (``"KEY NUMBER"``) or a test (its pytest name)."""

    name: str
    is_case: bool
    seconds: float
    """CPU, under the trace."""
    lines: dict[str, int]
    """Bit n of a file stands for its line n."""

    @property
    def group(self) -> str:
        """Key of a case, file of a test."""
        return self.name.split(" " if self.is_case else "::")[0]

    def reaches(self, file: str, wanted: int) -> bool:
        """Whether one of the lines was run, as bits."""
        return bool(self.lines.get(file, 0) & wanted)


class _Trace:
    """Lines of the package that are run while it is on, on all threads."""

    def __init__(self) -> None:
        self.found: dict[str, set[int]] = {}
        self._local: dict[str, Any] = {}

    def _called(self, frame: FrameType, event: str, argument: Any) -> Any:
        file = frame.f_code.co_filename
        local = self._local.get(file)
        if local is None:
            local = self._local[file] = self._watch(file) if _PACKAGE in file else False
        return local(frame, event, argument) if local else None

    def _watch(self, file: str) -> Callable[[FrameType, str, Any], Any]:
        lines = self.found.setdefault(str(Path(file).relative_to(ROOT)), set())

        def local(frame: FrameType, event: str, argument: Any) -> Any:
            lines.add(frame.f_lineno)
            return local

        return local

    @contextmanager
    def on(self) -> Iterator[Callable[[], dict[str, int]]]:
        """Trace; what is yielded tells the lines as bits."""
        for lines in self.found.values():
            lines.clear()
        threading.settrace(self._called)
        sys.settrace(self._called)
        try:
            yield self._bits
        finally:
            sys.settrace(None)
            threading.settrace(None)  # type: ignore[arg-type]

    def _bits(self) -> dict[str, int]:
        return {file: bits(lines) for file, lines in self.found.items() if lines}


_PACKAGE = str(ROOT / "octcore")


def bits(lines: Iterable[int]) -> int:
    """Line numbers as bits."""
    return sum(1 << line for line in set(lines))


def of_cases(key: str, count: int) -> list[Killer]:
    """Draw and check the first cases of a key; those that hold are killers."""
    from tests.fuzz.campaign import numbered, verdict

    found, trace, begin = [], _Trace(), time.process_time()
    verdict(numbered(key, 1, 0))  # imports and warms caches
    for number in range(count):
        start = time.process_time()
        if start - begin > TASK_SECONDS:
            break
        with trace.on() as lines:
            said = verdict(numbered(key, 0, number))[0]
        if not said:
            seconds = time.process_time() - start
            found.append(Killer(f"{key} {number}", True, seconds, lines()))
    return found


def of_tests(file: str) -> list[Killer]:
    """Run the tests of a file; those that pass soon enough are killers."""
    import pytest

    trace, found, failed = _Trace(), [], set()

    def too_long(number: int, frame: FrameType | None) -> None:
        raise TimeoutError

    class Watcher:
        @pytest.hookimpl(wrapper=True)
        def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
            start = time.process_time()
            signal.setitimer(signal.ITIMER_VIRTUAL, TEST_SECONDS, 1.0)
            with trace.on() as lines:
                result = yield
            signal.setitimer(signal.ITIMER_VIRTUAL, 0.0)
            seconds = time.process_time() - start
            found.append(Killer(item.nodeid, False, seconds, lines()))
            return result

        def pytest_runtest_setup(self, item: pytest.Item) -> None:
            if time.process_time() > TASK_SECONDS:
                pytest.skip("too late")

        def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
            if not report.passed:
                failed.add(report.nodeid)

    signal.signal(signal.SIGVTALRM, too_long)
    pytest.main([*PYTEST, "-m", QUICK, file], plugins=[Watcher()])
    return [killer for killer in found if killer.name not in failed]


def killers(
    keys: Iterable[str], tests: Iterable[str], cases: int, store: Path, jobs: int
) -> list[Killer]:
    """Every killer and its lines, kept in a file until the package or the killer changes."""
    files = [file for path in tests for file in of_path(path, "test_*.py")]
    work = {key: functools.partial(of_cases, key, cases) for key in keys}
    package = _digest(["octcore"])
    fuzz = f"{package} {_digest(['tests/fuzz', 'tests/referee'])} {cases}"
    digest = dict.fromkeys(work, fuzz)
    for file in files:
        work[file] = functools.partial(of_tests, file)
        digest[file] = f"{package} {_digest([file])}"
    known = {}
    for text in store.read_text().splitlines() if store.exists() else ():
        record = json.loads(text)
        if digest.get(record["task"]) == record["digest"]:
            known[record["task"]] = record["killers"]

    def run(task: str) -> list[dict[str, Any]]:
        if task not in known:
            try:
                found, seconds = in_child(None, work[task], 4 * TASK_SECONDS)
            except RuntimeError as died:  # tests that start processes of their own
                found, seconds = str(died), 0.0
            if isinstance(found, str):
                print(f"{task}: {found}", flush=True)
                found = []
            known[task] = [vars(killer) for killer in found]
            print(f"{task}: {len(found)} killers, {seconds:.0f} s of CPU", flush=True)
            record = {"digest": digest[task], "task": task, "killers": known[task]}
            with store.open("a") as out:
                out.write(json.dumps(record) + "\n")
        return known[task]

    with ThreadPoolExecutor(jobs) as pool:
        return [Killer(**record) for records in pool.map(run, work) for record in records]


def of_path(path: str, pattern: str) -> list[str]:
    """Files below a folder, or the file itself, below the root."""
    place = ROOT / path
    found = [place] if place.is_file() else sorted(place.rglob(pattern))
    return [str(file.relative_to(ROOT)) for file in found]


def _digest(paths: Iterable[str]) -> str:
    hashed = hashlib.sha256()
    for file in (file for path in paths for file in of_path(path, "*.py")):
        hashed.update((ROOT / file).read_bytes())
    return hashed.hexdigest()[:16]
