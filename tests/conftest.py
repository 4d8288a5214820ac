"""Fixtures and switches that all tests share."""

from __future__ import annotations

import contextlib
import importlib
import os
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from octcore.search.univariate import warm_up
from tests.browser.conftest import BROWSER
from tests.referee import literal_bounds as literal_bounds
from tests.referee import routing_states as routing_states

_SEARCHES = (*warm_up.lane_sets(2, True), *warm_up.bit_sets(1, 5))

# Three processes read the tests, and those start hundreds: what one compiles, the others find.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

settings.register_profile(
    "quick", max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("long", max_examples=500, deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "quick"))


def pytest_sessionstart(session: pytest.Session) -> None:
    """Compile all kernels beside the first tests, which need none, not in front of others.

    A few folders that somebody names compile what they ask for.
    """
    is_whole = session.config.args_source is pytest.Config.ArgsSource.TESTPATHS
    if is_whole and not hasattr(session.config, "workerinput"):
        from octcore.numerics import kernels
        from octcore.search.margot import search as routing

        for names in (routing.ALL, _SEARCHES):
            if not kernels.are_ready(*names):
                kernels.prepare_later(*names)


@pytest.hookimpl(tryfirst=True)
def pytest_collection(session: pytest.Session) -> None:
    """Read every n-th file of a whole run first: what one process rewrites, the others find.

    Each process collects all tests; pytest writes the assertions of a new file out, which takes
    half of the time of collecting and is kept beside the file.
    """
    worker = getattr(session.config, "workerinput", None)
    if worker is None or session.config.args_source is not pytest.Config.ArgsSource.TESTPATHS:
        return
    files = sorted(session.config.rootpath.glob("tests/**/test_*.py"))
    own = int(worker["workerid"].removeprefix("gw"))
    for file in files[own :: worker["workercount"]]:
        name = ".".join(file.relative_to(session.config.rootpath).with_suffix("").parts)
        # What a file cannot import is said where it is collected.
        with contextlib.suppress(Exception, pytest.skip.Exception):
            importlib.import_module(name)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave all but every n-th case of a ``sampled(n)`` test to the slow ones.

    What this machine cannot run is skipped, with the reason; in CI these may not skip.
    """
    cases = Counter[str]()
    for item in items:
        if sampled := item.get_closest_marker("sampled"):
            test = item.nodeid.partition("[")[0]
            if cases[test] % sampled.args[0]:
                item.add_marker(pytest.mark.slow)
            cases[test] += 1
    reference = os.environ.get("OCT_REFERENCE")
    for item in items:
        if item.get_closest_marker("reference") and not reference:
            _leave_out(item, "OCT_REQUIRE_REFERENCE", "OCT_REFERENCE names no reference data")
        if item.get_closest_marker("browser") and BROWSER is None:
            _leave_out(item, "OCT_REQUIRE_BROWSER", "Chromium is not installed")


def _leave_out(item: pytest.Item, required_by: str, reason: str) -> None:
    if os.environ.get(required_by):
        raise pytest.UsageError(f"{required_by} is set, but {reason}")
    item.add_marker(pytest.mark.skip(reason=reason))


@pytest.fixture(scope="session")
def compiled_kernels() -> None:
    """Compile the search kernels once, so that no test waits for it."""
    from octcore.numerics import kernels
    from octcore.search.margot import search as routing

    kernels.require(*_SEARCHES, *routing.ALL)


@pytest.fixture(scope="session")
def reference() -> Path:
    """Folder of the reference data; tests that use it are marked `reference`."""
    return Path(os.environ["OCT_REFERENCE"])
