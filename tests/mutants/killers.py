"""What notices a fault: a kept case of the fuzz, or an ordinary test."""

from __future__ import annotations

from collections.abc import Iterable

from tests.mutants.records import Mutant

HUNTED = 20_000
"""Most random cases that are looked at for one that notices a fault."""
# The faults are in this very process: no options that would start others.  Files of one name in
# two folders are collected side by side.
PYTEST = ("-q", "-p", "no:cacheprovider", "-o", "addopts=--import-mode=importlib",
          "--hypothesis-seed=0",
          "-W", "ignore::RuntimeWarning")  # fmt: skip


def failure(kill: str) -> str | None:
    """Run a killer in this process; what it says when it fails, None when it does not."""
    kind, *names = kill.split()
    return first_failing_case(names) if kind == "case" else first_failing_test(names)


def first_failing_case(names: Iterable[str]) -> str | None:
    """Check kept cases of the fuzz."""
    from tests.fuzz.campaign import verdict
    from tests.fuzz.kept import CASES

    for name in names:
        found, sentence = verdict(CASES[name])
        if found:
            return sentence.splitlines()[0]
    return None


def every_key() -> tuple[str, ...]:
    """Keys of the fuzz."""
    from tests.fuzz.checks import keys

    return keys()


def first_failing_number(names: Iterable[str]) -> str | None:
    """Check random cases, named ``KEY NUMBER``."""
    from tests.fuzz.campaign import numbered, verdict

    for name in names:
        key, number = name.split()
        found, sentence = verdict(numbered(key, 0, int(number)))
        if found in {"failing", "crash"}:
            return f"{name}: {sentence.splitlines()[0]}"
    return None


def first_failing_test(names: list[str]) -> str | None:
    """Run tests until one fails."""
    import pytest

    class Listener:
        said: str | None = None

        def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
            if report.failed and self.said is None:
                crash = getattr(report.longrepr, "reprcrash", None)
                text = report.longreprtext if crash is None else crash.message
                self.said = f"{report.nodeid.split('::')[-1]}: {text.splitlines()[0]}"

    listener = Listener()
    code = pytest.main([*PYTEST, "-x", *names], plugins=[listener])
    return listener.said or (None if code == 0 else f"pytest ended with {int(code)}")


def hunt(mutant: Mutant, keys: tuple[str, ...], seed: int = 0) -> str | None:
    """Look for a random case that notices a fault; its source, as small as it gets."""
    from tests.fuzz.campaign import describe, numbered, verdict

    for number in range(HUNTED):
        for key in keys:
            case = numbered(key, seed, number)
            found, sentence = verdict(case)
            if found in {"failing", "crash"}:
                return describe(case, found, sentence, f"{mutant.name}: {key} number {number}")
    return None
