"""Eight tasks as a new user does them, in a real browser: clicks, keys typed and seconds.

Run ``python tests/bench/five_tasks.py [ADDRESS] [LETTERS]`` against a running app; without an
address it starts one with a history of its own.  ``fgh`` does only those tasks.  Prints a Markdown
table.
"""

from __future__ import annotations

import re
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from octcore.data.samples import sample_bytes
from tests.browser.conftest import SOLVE_MILLISECONDS, launch, running_app

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
        role = "menuitem" if section else "link"
        self.click(self.page.get_by_role(role, name=page, exact=True).first)

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
    user.click(user.page.get_by_role("button", name="What if", exact=True))
    user.page.locator(".js-plotly-plot").first.wait_for(timeout=SOLVE_MILLISECONDS)
    user.pick("Drop features", re.compile("petal width"))
    user.page.keyboard.press("Escape")
    user.click(user.page.get_by_role("button", name="What does it cost?"))
    user.see(re.compile(r"costs (nothing|[\d.]+ accuracy point)"))


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


def own_file_to_an_explained_tree(user: User) -> None:
    """(f) A file with text, gaps and the target in the middle: proven, explained, beside CART."""
    user.page.locator("input[type=file]").set_input_files(analyst_file())
    user.inputs += 1
    user.page.get_by_text("KiB").wait_for()
    if not user.page.get_by_role("button", name="Find an optimal tree").is_enabled():
        user.pick("What is predicted", "churn")
    user.click(user.page.get_by_role("button", name="Find an optimal tree"))
    user.see("Is it luck?")
    user.page.locator(".badge", has_text="verified").wait_for(timeout=SOLVE_MILLISECONDS)
    user.click(user.page.get_by_role("button", name="Explore this tree"))
    user.page.locator("g.node .histogram").first.wait_for(timeout=SOLVE_MILLISECONDS)


def analyst_file() -> dict:
    """A table as analysts have them: text, missing values, the target between the features."""
    lines = ["customer,plan,months,churn,calls,region"]
    for i in range(240):
        plan, months, calls = ("basic", "plus", "pro")[i % 3], i * 7 % 48, i * 5 % 11
        leaves = (calls > 6 and months < 20) or (plan == "basic" and i % 10 < 4)
        region = "" if i % 17 == 0 else ("north", "south", "west")[i % 7 % 3]
        gap = "" if i % 29 == 0 else str(months)
        lines.append(f"c{i:04d},{plan},{gap},{'yes' if leaves else 'no'},{calls},{region}")
    content = ("\n".join(lines) + "\n").encode()
    return {"name": "customers.csv", "mimeType": "text/csv", "buffer": content}


def teacher_with_points_of_their_own(user: User) -> None:
    """(g) From nothing to greedy, optimal and margin trees on drawn points, on the projector."""
    user.go("Teach")
    user.pick("Points", re.compile("drawn|own|hand", re.I))
    board = user.page.locator(".octboard > svg")
    board.wait_for()
    user.page.wait_for_timeout(1000)
    for name, places in (
        ("Class A", ((0.2, 0.2), (0.3, 0.7), (0.25, 0.45), (0.7, 0.85))),
        ("Class B", ((0.8, 0.3), (0.6, 0.2), (0.75, 0.5), (0.35, 0.9))),
    ):
        user.click(user.page.get_by_role("radio", name=name))
        box = board.bounding_box()
        assert box is not None
        for x, y in places:
            user.page.mouse.click(box["x"] + x * box["width"], box["y"] + y * box["height"])
            user.clicks += 1
    user.see("8 points")
    user.click(user.page.get_by_role("button", name="Grow the trees"))
    user.page.locator("g.node").first.wait_for(timeout=SOLVE_MILLISECONDS)
    user.click(user.page.get_by_role("button", name="Present"))
    user.click(user.page.get_by_text("Side by side", exact=True).first)
    user.page.wait_for_function(
        "() => document.querySelectorAll('.js-plotly-plot').length >= 3", timeout=SOLVE_MILLISECONDS
    )


def manager_sorts_people_by_the_report(user: User) -> None:
    """(h) The report sorts five rows by its questionnaire, without the server."""
    user.click(user.page.get_by_role("button", name="Find an optimal tree"))
    user.click(user.page.get_by_role("button", name="Explore this tree"))
    user.click(user.page.get_by_role("button", name="Share"))
    button = user.page.get_by_role("button", name="Report for others")
    button.wait_for(timeout=SOLVE_MILLISECONDS)
    with user.page.expect_download() as waiting:
        user.click(button)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "report.html"
        waiting.value.save_as(file)
        reader = user.page.context.new_page()
        reader.goto(file.as_uri())
        for person in range(5):
            user.click(reader.get_by_role("button", name="Start again"))
            while reader.locator("section:visible button[data-next]").count():
                answers = reader.locator("section:visible button[data-next]")
                user.click(answers.nth(person % 2))
        reader.locator("section:visible .question").wait_for()


TASKS: tuple[Callable[[User], None], ...] = (
    own_csv_to_a_proven_tree,
    two_formulations_on_the_same_data,
    margins_on_four_partitions,
    price_of_dropping_petal_width,
    lesson_as_a_link,
    own_file_to_an_explained_tree,
    teacher_with_points_of_their_own,
    manager_sorts_people_by_the_report,
)


@contextmanager
def address_of_app() -> Iterator[str]:
    """A fresh server."""
    with tempfile.TemporaryDirectory() as folder, running_app(Path(folder)) as address:
        yield address


def main() -> None:
    """Do all tasks, each in a browser session of its own."""
    from playwright.sync_api import sync_playwright

    addresses = [word for word in sys.argv[1:] if word.startswith("http")]
    letters = "".join(word for word in sys.argv[1:] if not word.startswith("http"))
    chosen = [task for letter, task in zip("abcdefgh", TASKS, strict=True)
              if letter in (letters or "abcdefgh")]  # fmt: skip
    given = nullcontext(addresses[0]) if addresses else address_of_app()
    print("| task | clicks | files | seconds |\n|---|---|---|---|")
    with given as address, sync_playwright() as playwright:
        browser = launch(playwright)
        for task in chosen:
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
