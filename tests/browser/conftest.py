"""A real server on a free loopback port and a real Chromium."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import dashboard
import octcore
from octcore.solving.run import JobState
from octcore.store.runs import RunStore

APP = Path(dashboard.__file__).parent / "app.py"
BROWSER = shutil.which("chromium-headless-shell") or shutil.which("chromium")
"""The shell draws the same pages without windows, for half of the processor's time."""
ARGUMENTS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
START_SECONDS = 90
SOLVE_MILLISECONDS = 180_000
PATIENCE = 90_000
"""Patience with a busy machine; a quiet one needs some seconds."""


def free_port() -> int:
    """Port that nobody uses now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextlib.contextmanager
def running_app(folder: Path) -> Iterator[str]:
    """Address of a fresh server that keeps its history in a folder."""
    port = free_port()
    environment = {**os.environ, "OCTCORE_STORE": str(folder / "runs.sqlite")}
    flags = [f"--server.port={port}", "--server.headless=true", "--server.fileWatcherType=none"]
    with (folder / "log.txt").open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "streamlit", "run", str(APP), *flags],
            cwd=APP.parents[1],
            env=environment,
            stdout=log,
            stderr=subprocess.STDOUT,
        )
        address = f"http://localhost:{port}"
        try:
            wait_until_healthy(address, process, folder / "log.txt")
            yield address
        finally:
            process.terminate()
            try:
                process.wait(15)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait(5)


@pytest.fixture(scope="session")
def app_folder(tmp_path_factory) -> Path:
    """Folder of the app's history."""
    return tmp_path_factory.mktemp("app")


@pytest.fixture(scope="session")
def server(app_folder) -> Iterator[str]:
    """Address of a running app with a history of its own."""
    with running_app(app_folder) as address:
        yield address


@pytest.fixture(scope="session")
def modelled(server, app_folder) -> str:
    """Path of the page of a run by FlowOCT in the history: four leaves, several incumbents."""
    data = octcore.load_sample("iris")
    settings = {"formulation": "flow-oct", "encoding": "QT-5", "depth": 2, "time_limit": 60.0}
    run = octcore.solve(data, **settings)
    store = RunStore(app_folder / "runs.sqlite")
    number = store.begin(data, settings, "FlowOCT", "")
    store.append(number, run.trace.events)
    store.finish(number, JobState.DONE, run)
    store.close()
    return f"?run={number}"


def wait_until_healthy(address: str, process: subprocess.Popen, log: Path) -> None:
    """Wait until a server answers; its log is shown when it does not."""
    end = time.monotonic() + START_SECONDS
    while time.monotonic() < end:
        if process.poll() is not None:
            break
        with contextlib.suppress(OSError):
            urllib.request.urlopen(f"{address}/_stcore/health", timeout=2)
            return
        time.sleep(0.2)
    pytest.fail(f"The app did not start:\n{log.read_text(errors='replace')[-2000:]}")


def launch(playwright):
    """Start the browser."""
    return playwright.chromium.launch(executable_path=BROWSER, args=ARGUMENTS)


@pytest.fixture(scope="session")
def chromium():
    """One browser for all tests."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = launch(playwright)
        yield browser
        browser.close()


class Watched:
    """A page, and what must never happen on it."""

    def __init__(self, context, address: str) -> None:
        self.page = context.new_page()
        self.page.set_default_timeout(PATIENCE)
        self.address = address
        self.errors: list[str] = []
        self.foreign: list[str] = []
        self.dialogs: list[str] = []
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("dialog", self._dialog)
        self.page.on("request", self._request)

    def _dialog(self, dialog) -> None:
        self.dialogs.append(dialog.message)
        dialog.dismiss()

    def _request(self, request) -> None:
        own = request.url.startswith((self.address, "data:", "blob:"))
        if not own and not request.url.startswith(self.address.replace("http", "ws")):
            self.foreign.append(request.url)

    def open(self, path: str = "/data"):
        """Open a path and wait until a page has been drawn."""
        self.page.goto(self.address + path)
        self.page.get_by_role("heading", level=1).first.wait_for()
        return self.page

    def go(self, section: str, page: str) -> None:
        """Open a page by the menu of its section."""
        self.page.get_by_text(section, exact=True).first.click()
        self.page.get_by_role("menuitem", name=page, exact=True).first.click()

    def settle(self) -> None:
        """Wait until no script runs."""
        self.page.wait_for_timeout(400)
        self.page.wait_for_selector("[data-test-script-state=notRunning]", timeout=PATIENCE)
        self.page.wait_for_timeout(300)

    def until(self, shown, act: Callable[[], None]) -> None:
        """Act, and again if it was too early: a page under a load redraws what is being clicked."""
        for _ in range(3):
            self.settle()
            act()
            for _ in range(PATIENCE // 3 // 250):
                if shown.first.is_visible():
                    return
                self.page.wait_for_timeout(250)
        raise AssertionError(f"{shown} never came; the page says: {self.page.inner_text('body')}")

    def assert_clean(self) -> None:
        """No script error, no dialog, no request to anybody else."""
        assert self.errors == []
        assert self.dialogs == []
        assert self.foreign == []


PAGES: pytest.StashKey[list[Watched]] = pytest.StashKey()
"""The pages that a test has opened."""


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item):
    """Beside what failed stands what its pages showed then."""
    report = yield
    if report.failed and report.when == "call":
        for watched in item.stash.get(PAGES, []):
            with contextlib.suppress(Exception):
                shown = f"{watched.page.url}\n{watched.page.inner_text('body', timeout=2000)}"
                report.sections.append(("page at the end", shown))
    return report


@pytest.fixture(scope="session")
def kept_context(chromium) -> Iterator:
    """A browser session that keeps the app's scripts: reading them anew costs seconds a test."""
    context = chromium.new_context()
    yield context
    context.close()


@pytest.fixture
def visit(request, chromium, kept_context, server) -> Iterator:
    """Open watched pages, each by a browser that has never been here."""
    contexts = []
    pages = request.node.stash.setdefault(PAGES, [])

    def make(viewport=None, color_scheme: str = "light") -> Watched:
        context = kept_context
        if pages:
            context = chromium.new_context()
            contexts.append(context)
        watched = Watched(context, server)
        pages.append(watched)
        storage = {"origin": server, "storageTypes": "cookies,local_storage,indexeddb"}
        context.new_cdp_session(watched.page).send("Storage.clearDataForOrigin", storage)
        watched.page.set_viewport_size(viewport or {"width": 1280, "height": 800})
        watched.page.emulate_media(color_scheme=color_scheme)
        return watched

    yield make
    for watched in pages:
        watched.page.close()
    for context in contexts:
        context.close()


@pytest.fixture(scope="session")
def solved(chromium, server) -> str:
    """Path of the page of a finished run: the sample that opens by itself, one click."""
    context = chromium.new_context(viewport={"width": 1280, "height": 800})
    watched = Watched(context, server)
    page = watched.open()
    page.get_by_role("button", name="Find an optimal tree").click()
    page.get_by_role("button", name="Explore this tree").wait_for(timeout=SOLVE_MILLISECONDS)
    query = page.url.split("?", 1)[1]
    watched.assert_clean()
    context.close()
    return f"?{query}"
