"""The first five minutes in numbers, in a real browser; run it on a quiet machine.

``python tests/bench/first_minutes.py [NAME ...] [--times N]`` prints a Markdown line for every
figure, medians of N (5).  ``NAME`` is one of `cold paint trees pages nodes drawing wide history`;
without a name all are measured.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pandas as pd

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
import octcore
from octcore.data.samples import sample_bytes
from octcore.solving.run import JobState
from octcore.store.runs import RunStore
from tests.browser.conftest import launch, running_app

PATIENCE = 120_000
MENU = {"Explore": "Understand", "Size": "Understand", "Runs": "Compare", "Tune": "Compare"}
BUTTON = "[data-testid=stMain] button:visible"
READY = "() => !document.querySelector('[data-testid=stStatusWidget], [data-stale=true]')"


def table(rows: int, numbers: int, texts: int, classes: int, seed: int = 0) -> bytes:
    """CSV file whose class follows a small tree with some noise."""
    chance = np.random.default_rng(seed)
    frame = pd.DataFrame(chance.normal(size=(rows, numbers)).round(3)).add_prefix("x")
    for j in range(texts):
        frame[f"group{j}"] = chance.choice(list("abcd"), rows)
    code = 2 * (frame["x0"] > 0.3) + (frame["x1"] > -0.2)
    code = (code + chance.integers(0, classes, rows) * (chance.random(rows) < 0.1)) % classes
    if classes > 4:
        code = chance.integers(0, classes, rows)
    frame["label"] = [f"class {k:02d}" for k in code]
    return frame.to_csv(index=False).encode()


FILES: dict[str, tuple[float, Callable[[], bytes]]] = {
    "iris": (1.0, lambda: sample_bytes("iris")),
    "penguins-like, 344 rows": (1.0, lambda: table(344, 4, 2, 3)),
    "adult-like, 5,000 rows": (2.0, lambda: table(5_000, 6, 6, 2)),
    "20,000 x 20": (3.0, lambda: table(20_000, 20, 0, 2)),
    "100,000 x 8": (8.0, lambda: table(100_000, 8, 0, 2)),
}
"""Goal in seconds, and what makes the file."""


class Visitor:
    """A fresh browser session."""

    def __init__(self, browser, address: str) -> None:
        self.context = browser.new_context(viewport={"width": 1280, "height": 800})
        self.page, self.address = self.context.new_page(), address
        self.page.set_default_timeout(PATIENCE)

    def open(self, path: str = "/data") -> None:
        """Open a page and wait until it is at rest."""
        self.page.goto(self.address + path)
        self.page.locator(BUTTON).first.wait_for()
        self.rest()

    def rest(self) -> None:
        """Wait until no script runs."""
        self.page.wait_for_timeout(300)
        self.page.wait_for_function(READY)

    def upload(self, name: str, content: bytes) -> None:
        """Give it a file."""
        file = {"name": name, "mimeType": "text/csv", "buffer": content}
        self.page.locator("input[type=file]").set_input_files(file)
        self.page.get_by_text("KiB").first.wait_for()
        self.rest()

    def solve(self) -> float:
        """Press the first button; seconds until a proven tree stands there."""
        begin = time.perf_counter()
        self.page.get_by_role("button", name="Find an optimal tree").click()
        self.page.locator(".badge", has_text="proven optimal").first.wait_for()
        return time.perf_counter() - begin

    def switch(self, name: str, heading: str = "") -> float:
        """Open a page by the menu; seconds until its heading stands there and nothing is stale."""
        if name in MENU:
            self.page.get_by_text(MENU[name], exact=True).first.click()
        role = "menuitem" if name in MENU else "link"
        link = self.page.get_by_role(role, name=name, exact=True).first
        begin = time.perf_counter()
        link.click()
        self.page.get_by_role("heading", name=heading or name, level=1).wait_for()
        self.page.wait_for_function(READY)
        return time.perf_counter() - begin


@contextmanager
def visitors() -> Iterator[Callable[[], Visitor]]:
    """A warm server and a browser; every call gives a fresh session."""
    from playwright.sync_api import sync_playwright

    with tempfile.TemporaryDirectory() as folder, running_app(Path(folder)) as address:
        with sync_playwright() as playwright:
            browser = launch(playwright)
            first = Visitor(browser, address)
            first.open()
            first.solve()
            first.context.close()
            yield lambda: Visitor(browser, address)
            browser.close()


def say(what: str, seconds: list[float], goal: float) -> None:
    """Print a line of the table."""
    middle = statistics.median(seconds)
    spread = f"{min(seconds):.2f} to {max(seconds):.2f}"
    verdict = "yes" if middle <= goal else "**no**"
    print(f"| {what} | {goal:g} s | {middle:.2f} s | {spread} | {verdict} |", flush=True)


def cold(times: int) -> None:
    """The README's example with an empty home folder: nothing compiled, nothing kept."""
    for sample in ("iris", "wine", "monks-1"):
        seconds = []
        for _ in range(times):
            with tempfile.TemporaryDirectory() as home:
                keep = ("NUMBA_CACHE_DIR", "XDG_", "OCTCORE_")
                known = {k: v for k, v in os.environ.items() if not k.startswith(keep)}
                path = Path(home) / f"{sample}.csv"
                path.write_bytes(sample_bytes(sample))
                target = octcore.load_sample(sample).target_name
                command = [sys.executable, "-m", "octcore", "solve", str(path)]
                begin = time.perf_counter()
                subprocess.run(
                    [*command, "--target", str(target), "--depth", "3"],
                    env=known | {"HOME": home},
                    cwd=home,
                    check=True,
                    capture_output=True,
                )
                seconds.append(time.perf_counter() - begin)
        say(f"cold machine to a proven tree, {sample}, depth 3", seconds, 15.0)


def paint(times: int) -> None:
    """First meaningful paint and usable button on a warm server."""
    painted, usable = [], []
    with visitors() as visit:
        for _ in range(times):
            visitor = visit()
            begin = time.perf_counter()
            visitor.page.goto(visitor.address)
            visitor.page.get_by_role("heading", level=1).first.wait_for()
            painted.append(time.perf_counter() - begin)
            visitor.page.get_by_role("button", name="See a proven tree").click(trial=True)
            usable.append(time.perf_counter() - begin)
            visitor.context.close()
    say("first meaningful paint, warm server", painted, 1.5)
    say("button usable", usable, 2.0)


def trees(times: int) -> None:
    """From the press to the proven tree on five data sets."""
    with visitors() as visit:
        for name, (goal, content) in FILES.items():
            seconds, made = [], content()
            for _ in range(times):
                visitor = visit()
                visitor.open()
                visitor.upload("own.csv", made)
                seconds.append(visitor.solve())
                visitor.context.close()
            say(f"first proven tree, {name}", seconds, goal)


def pages(times: int) -> None:
    """Page switches with a solved tree."""
    with visitors() as visit:
        _switches(visit, times, None, 0.5, "")


def wide(times: int) -> None:
    """Page switches with 200 columns and 30 classes."""
    with visitors() as visit:
        _switches(visit, times, table(1_000, 200, 0, 30), 1.0, ", 200 columns and 30 classes")


def _switches(visit, times: int, content: bytes | None, goal: float, words: str) -> None:
    visitor = visit()
    visitor.open()
    if content is not None:
        visitor.upload("own.csv", content)
    visitor.page.get_by_role("button", name="Find an optimal tree").click()
    visitor.page.get_by_role("button", name="Explore this tree").wait_for()
    visitor.rest()
    found: dict[str, list[float]] = {}
    for _ in range(times + 1):
        for name in ("Data", "Solve", "Explore", "Runs", "Tune"):
            found.setdefault(name, []).append(visitor.switch(name))
            visitor.rest()
    for name, seconds in found.items():
        say(f"page switch to {name}{words}", seconds[1:], goal)


def nodes(times: int) -> None:
    """From the click on a node to its rows in the linked views."""
    cases = (("iris", sample_bytes("iris"), 0.4), ("100,000 x 8", FILES["100,000 x 8"][1](), 0.8))
    with visitors() as visit:
        for name, content, goal in cases:
            visitor = visit()
            visitor.open()
            visitor.upload("own.csv", content)
            visitor.solve()
            visitor.switch("Explore")
            visitor.rest()
            seconds = []
            for turn in range(times + 1):
                node, words = ((2, "Reached when"), (1, "Root: all training rows"))[turn % 2]
                begin = time.perf_counter()
                visitor.page.locator(f'g.node[data-node="{node}"]').first.click()
                visitor.page.get_by_text(words).first.wait_for()
                seconds.append(time.perf_counter() - begin)
                visitor.rest()
            say(f"node click to linked views, {name}", seconds[1:], goal)


def drawing(times: int) -> None:
    """From a move of one of 100 points to the tree that is optimal for it, while it is dragged."""
    left = [f"{20 + 3 * k}-{20 * k}-0" for k in range(49)]
    right = [f"{980 - 3 * k}-{20 * k}-1" for k in range(49)]
    points = "_".join(["300-500-0", "700-500-1", *left, *right])
    margin = "[data-testid=stCaptionContainer]:has-text('narrowest margin')"
    for name, formulation in (("thresholds", "path-search"), ("margins", "margot")):
        with visitors() as visit:
            page = (visitor := visit()).page
            page.goto(f"{visitor.address}/teach?set=drawn&points={points}&show={formulation}")
            page.locator(".octboard > svg").wait_for()
            visitor.rest()
            page.locator("[data-testid=stButtonGroup] button").last.click()
            page.locator(margin).wait_for()
            visitor.rest()
            point = page.locator('.octboard g.point[data-index="1"]').bounding_box()
            board = page.locator(".octboard > svg").bounding_box()
            assert point is not None
            assert board is not None
            x, y = point["x"] + point["width"] / 2, point["y"] + point["height"] / 2
            page.mouse.move(x, y)
            page.mouse.down()
            seconds = []
            for turn in range(times + 1):
                before = page.locator(margin).inner_text()
                begin = time.perf_counter()
                page.mouse.move(x - board["width"] * (0.05 + 0.02 * turn), y)
                page.wait_for_function(
                    "before => ![...document.querySelectorAll("
                    "'[data-testid=stCaptionContainer]')].some(e => e.innerText === before)",
                    arg=before,
                    polling=10,
                )
                seconds.append(time.perf_counter() - begin)
                page.wait_for_timeout(400)
            page.mouse.up()
        say(f"optimal tree of {name} under 100 points while one is dragged", seconds[1:], 0.3)


def history(times: int) -> None:
    """The list of a history of 1,000 runs."""
    from dashboard.server.history import entries
    from dashboard.server.supervisor import Supervisor

    data = octcore.load_sample("iris")
    settings = {"formulation": "cart", "depth": 2}
    run = octcore.solve(data, **settings)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "runs.sqlite"
        store = RunStore(path)
        for number in range(1_000):
            run_id = store.begin(data, settings, f"run {number}", "me")
            store.finish(run_id, JobState.DONE, run)
        store.close()
        supervisor = Supervisor(cores=1, store=path)
        seconds = []
        for _ in range(times):
            begin = time.perf_counter()
            assert len(list(entries(supervisor, "me"))) == 1_000
            seconds.append(time.perf_counter() - begin)
        supervisor.close()
    say("history of 1,000 runs listed (server)", seconds, 1.0)


MEASURES = {f.__name__: f for f in (cold, paint, trees, pages, nodes, drawing, wide, history)}


def main() -> None:
    """Measure what is named."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", choices=[*MEASURES, []])
    parser.add_argument("--times", type=int, default=5)
    given = parser.parse_args()
    print(f"load {os.getloadavg()[0]:.1f}\n\n| what | goal | median | spread | met |")
    print("|---|---|---|---|---|", flush=True)
    for name in given.names or MEASURES:
        MEASURES[name](given.times)


if __name__ == "__main__":
    main()
