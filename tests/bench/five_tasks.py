"""Five tasks as a new user does them, in a real browser: clicks, keys typed and seconds.

Run ``python tests/bench/five_tasks.py [ADDRESS]`` against a running app; without an address it
starts one with a history of its own.  Prints a Markdown table.
"""

from __future__ import annotations

import re
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from octcore.data.samples import sample_bytes
from tests.browser.conftest import ARGUMENTS, SOLVE_MILLISECONDS, running_app

PATIENCE = 90_000
SECTIONS = {"Explore": "Understand", "What if": "Understand", "Size": "Understand"} | dict.fromkeys(
    ("Race", "Tune", "Runs"), "Compare"
)
"""Menu that holds a page."""


class User:
    """Counts what a person does on a page."""

    def __init__(self, page, address: str) -> None:
        self.page, self.address, self.clicks, self.inputs = page, address, 0, 0
        page.set_default_timeout(PATIENCE)
        page.goto(f"{address}/data")
        page.get_by_role("heading", level=1).first.wait_for()
        self.begin = time.perf_counter()

    def click(self, locator) -> None:
        """Click once."""
        locator.click()
        self.clicks += 1

    def pick(self, label: str, option: str | re.Pattern) -> None:
        """Open a list and choose: two clicks."""
        self.click(self.page.get_by_role("combobox", name=label).first)
        self.click(self.page.get_by_role("option", name=option).first)

    def go(self, page: str) -> None:
        """Open a page by the menu."""
        section = SECTIONS.get(page)
        if section:
            self.click(self.page.get_by_text(section, exact=True).first)
        self.click(self.page.get_by_role("link", name=page, exact=True).first)

    def see(self, what: str | re.Pattern, seconds: float = SOLVE_MILLISECONDS / 1000) -> None:
        """Wait for words."""
        self.page.get_by_text(what).first.wait_for(timeout=1000 * seconds)


def own_csv_to_a_proven_tree(user: User) -> None:
    """(a) Upload a CSV file and get a proven tree of it."""
    own = {"name": "own.csv", "mimeType": "text/csv", "buffer": sample_bytes("iris")}
    user.page.locator("input[type=file]").set_input_files(own)
    user.inputs += 1
    user.page.get_by_text("KiB").wait_for()
    user.click(user.page.get_by_role("button", name="Find an optimal tree"))
    user.page.locator(".badge", has_text="proven optimal").wait_for(timeout=SOLVE_MILLISECONDS)


def two_formulations_on_the_same_data(user: User) -> None:
    """(b) FlowOCT against accelerated BendOCT on the same data."""
    user.go("Race")
    user.click(user.page.get_by_role("button", name="Start 3 runs"))
    user.page.get_by_role("heading", name="What differs").wait_for(timeout=SOLVE_MILLISECONDS)


def margins_on_four_partitions(user: User) -> None:
    """(c) MARGOT on 4-partitions, with its margins in the plane."""
    user.pick("Sample data", re.compile("4-partitions|four partitions", re.I))
    user.page.get_by_text("4-partitions").first.wait_for()
    user.click(user.page.get_by_role("button", name="Find a tree with margins"))
    user.click(user.page.get_by_role("button", name="Explore this tree"))
    user.page.locator(".js-plotly-plot").first.wait_for(timeout=SOLVE_MILLISECONDS)


def price_of_dropping_petal_width(user: User) -> None:
    """(d) What does it cost to drop petal width on iris?"""
    user.click(user.page.get_by_role("button", name="Find an optimal tree"))
    user.page.get_by_role("button", name="Explore this tree").wait_for(timeout=SOLVE_MILLISECONDS)
    user.go("What if")
    user.page.locator(".js-plotly-plot").first.wait_for(timeout=SOLVE_MILLISECONDS)
    user.pick("Drop features", re.compile("petal width"))
    user.page.keyboard.press("Escape")
    user.click(user.page.get_by_role("button", name="What does it cost?"))
    user.see(re.compile("costs 3.3 accuracy points"))


def lesson_as_a_link(user: User) -> None:
    """(e) Send a lesson as a link: it opens elsewhere as it was."""
    user.go("Teach")
    user.click(user.page.get_by_role("button", name="Share"))
    link = user.page.locator("code", has_text="http").first
    link.wait_for()
    address = link.inner_text().strip()
    other = user.page.context.browser.new_context()
    page = other.new_page()
    page.goto(f"{address}/data")
    page.get_by_role("button", name="Present").wait_for(timeout=PATIENCE)
    other.close()


TASKS: tuple[Callable[[User], None], ...] = (
    own_csv_to_a_proven_tree,
    two_formulations_on_the_same_data,
    margins_on_four_partitions,
    price_of_dropping_petal_width,
    lesson_as_a_link,
)


@contextmanager
def address_of_app() -> Iterator[str]:
    """A fresh server."""
    with tempfile.TemporaryDirectory() as folder, running_app(Path(folder)) as address:
        yield address


def main() -> None:
    """Do all tasks, each in a browser session of its own."""
    from playwright.sync_api import sync_playwright

    given = nullcontext(sys.argv[1]) if len(sys.argv) > 1 else address_of_app()
    print("| task | clicks | files | seconds |\n|---|---|---|---|")
    with given as address, sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=ARGUMENTS
        )
        for task in TASKS:
            context = browser.new_context(viewport={"width": 1280, "height": 800})
            user = User(context.new_page(), address)
            try:
                task(user)
                seconds = f"{time.perf_counter() - user.begin:.1f}"
            except Exception as error:
                seconds = f"failed: {str(error).splitlines()[0][:80]}"
            words = (task.__doc__ or "").strip()
            print(f"| {words} | {user.clicks} | {user.inputs} | {seconds} |", flush=True)
            context.close()
        browser.close()


if __name__ == "__main__":
    main()
