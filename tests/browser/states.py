"""Every page, and every state of it that looks different, for those that look at all of them."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

SOLVE_MILLISECONDS = 180_000
Show = Callable[[Any, "Prepared"], None]


@dataclass(frozen=True)
class Prepared:
    """What a server has solved before its pages are looked at; queries of the address."""

    address: str
    tree: str
    planes: str
    race: str
    tuning: str


def at_rest(page) -> None:
    """Wait until nothing is drawn any more, and nothing stands for what is still being read."""
    page.wait_for_timeout(500)
    page.wait_for_selector("[data-test-script-state=notRunning]", timeout=SOLVE_MILLISECONDS)
    page.wait_for_function(
        "() => ![...document.querySelectorAll('[data-stale=true], [data-testid=stSkeleton]')]"
        ".some(element => element.checkVisibility())",
        timeout=SOLVE_MILLISECONDS,
    )
    page.wait_for_timeout(300)


def prepare(browser, address: str) -> Prepared:
    """Solve a tree and a tree of planes, race three formulations and tune one."""
    page = browser.new_context(viewport={"width": 1280, "height": 800}).new_page()
    page.set_default_timeout(SOLVE_MILLISECONDS)

    def query_after(path: str, button: str, parameter: str, end: str) -> str:
        page.goto(address + path)
        at_rest(page)
        page.get_by_role("button", name=button).first.click()
        page.wait_for_url(re.compile(f"[?&]{parameter}="), wait_until="commit")
        page.get_by_text(end).first.wait_for()
        return "?" + page.url.split("?", 1)[1]

    tree = query_after("/data", "Find an optimal tree", "run", "Explore this tree")
    race = query_after("/compare", "Start 3 runs", "runs", "What differs")
    tuning = query_after("/tune", re.compile("Try 9"), "tuning", "Solve with the best")  # type: ignore[arg-type]
    page.goto(address + "/data")
    at_rest(page)
    page.get_by_role("combobox", name="Sample data").click()
    page.get_by_role("option", name=re.compile("4-partitions|four partitions", re.I)).click()
    at_rest(page)
    page.get_by_role("button", name="Find a tree with margins").click()
    page.get_by_role("button", name="Explore this tree").wait_for()
    planes = "?" + page.url.split("?", 1)[1]
    page.context.close()
    return Prepared(address, tree, planes, race, tuning)


def _open(path: str, which: str = "", then: Callable[[Any], None] | None = None) -> Show:
    def show(page, prepared: Prepared) -> None:
        query = getattr(prepared, which) if which else ""
        page.goto(prepared.address + path + query)
        page.locator("[data-testid=stMain] button:visible").first.wait_for()
        at_rest(page)
        if then is not None:
            then(page)
            at_rest(page)

    return show


def _tab(name: str) -> Callable[[Any], None]:
    return lambda page: page.get_by_role("tab", name=name).click()


def _step(name: str) -> Callable[[Any], None]:
    return lambda page: page.get_by_role("radio", name=name).click()


def _own_file(page) -> None:
    lines = ["customer,plan,months,churn,since"]
    for i in range(120):
        months, churn = "" if i % 9 == 0 else i * 7 % 48, "yes" if i % 5 < 2 else "no"
        lines.append(f"00{i:03d},{'abc'[i % 3]},{months},{churn},0{1 + i % 9}/02/2024")
    content = ("\n".join(lines) + "\n").encode()
    file = {"name": "customers.csv", "mimeType": "text/csv", "buffer": content}
    page.locator("input[type=file]").set_input_files(file)
    page.get_by_text("KiB").first.wait_for()
    at_rest(page)
    page.get_by_role("tab", name="Findings").click()


def _bad_file(page) -> None:
    file = {"name": "page.csv", "mimeType": "text/csv", "buffer": b"<!doctype html><html></html>"}
    page.locator("input[type=file]").set_input_files(file)
    page.locator("[data-testid=stAlert]").first.wait_for()


def _price(page) -> None:
    page.locator(".js-plotly-plot").first.wait_for()
    at_rest(page)
    page.get_by_role("combobox", name="Drop features").click()
    page.get_by_role("option", name=re.compile("petal width")).click()
    page.keyboard.press("Escape")
    at_rest(page)
    page.get_by_role("button", name="What does it cost?").click()
    page.get_by_text("With the condition", exact=True).first.wait_for()


def _alternatives(tab: str) -> Callable[[Any], None]:
    def act(page) -> None:
        page.get_by_role("tab", name=tab).click()

    return act


def _sizes(page) -> None:
    page.get_by_role("button", name="Compute").click()
    page.locator(".js-plotly-plot").first.wait_for()


def _node(page) -> None:
    page.locator('g.node[data-node="2"]').first.click()
    page.get_by_text("Reached when").first.wait_for()


def _how_far(page) -> None:
    ask = page.get_by_role("button", name="How far may this threshold move?")
    answer = page.get_by_text(re.compile("every threshold costs less than"))
    ask.or_(answer).first.wait_for()
    if ask.is_visible():  # else it was answered for an earlier picture
        ask.click()
    answer.wait_for()


def _row(page) -> None:
    page.get_by_text("Path of one row").click()
    page.get_by_text(re.compile("Line .*, a training row, ends in")).wait_for()


def _grown(then: str) -> Callable[[Any], None]:
    def act(page) -> None:
        page.get_by_role("button", name="Grow the trees").click()
        page.locator("g.node").first.wait_for()
        at_rest(page)
        page.get_by_role("radio", name=then).click()
        at_rest(page)
        growing = page.get_by_text(re.compile("^Growing:")).first
        growing.wait_for(state="detached", timeout=SOLVE_MILLISECONDS)
        page.locator(".js-plotly-plot").first.wait_for()

    return act


def _presented(page) -> None:
    _grown("Side by side")(page)
    at_rest(page)
    page.get_by_role("button", name="Present").click()
    page.get_by_role("button", name="Leave").wait_for()


STATES: dict[str, Show] = {
    "start": _open("/"),
    "data": _open("/data"),
    "data-columns": _open("/data", "", _tab("Columns")),
    "data-encoding": _open("/data", "", _tab("Encoding")),
    "data-own-findings": _open("/data", "", _own_file),
    "data-refused": _open("/data", "", _bad_file),
    "solve-empty": _open("/solve"),
    "solve": _open("/solve", "tree"),
    "solve-planes": _open("/solve", "planes"),
    "explore-empty": _open("/explore"),
    "explore": _open("/explore", "tree"),
    "explore-node": _open("/explore", "tree", _node),
    "explore-how-far": _open("/explore", "tree", _how_far),
    "explore-row": _open("/explore", "tree", _row),
    "explore-planes": _open("/explore", "planes"),
    "explore-replay": _open("/explore", "planes", _step("Replay")),
    "explore-accuracy": _open("/explore", "tree", _tab("Accuracy")),
    "explore-cart": _open("/explore", "tree", _tab("CART beside it")),
    "explore-rules": _open("/explore", "tree", _tab("Rules")),
    "explore-score": _open("/explore", "tree", _tab("Score a file")),
    "explore-card": _open("/explore", "tree", _tab("Model card")),
    "explore-download": _open("/explore", "tree", _tab("Download")),
    "alternatives": _open("/alternatives", "tree", _alternatives("How many")),
    "alternatives-features": _open("/alternatives", "tree", _alternatives("Features")),
    "alternatives-paths": _open("/alternatives", "tree", _alternatives("Paths")),
    "alternatives-trees": _open("/alternatives", "tree", _alternatives("Trees")),
    "alternatives-rows": _open("/alternatives", "tree", _alternatives("Rows")),
    "whatif": _open("/whatif", "tree"),
    "whatif-price": _open("/whatif", "tree", _price),
    "size-empty": _open("/path"),
    "size": _open("/path", "", _sizes),
    "size-of-run": _open("/path", "tree"),
    "compare-empty": _open("/compare"),
    "compare": _open("/compare", "race"),
    "compare-planes": _open("/compare", "race", _tab("Planes")),
    "compare-features": _open("/compare", "race", _tab("Features")),
    "compare-accuracy": _open("/compare", "race", _tab("Accuracy")),
    "compare-certificates": _open("/compare", "race", _tab("Certificates")),
    "tune-empty": _open("/tune"),
    "tune": _open("/tune", "tuning"),
    "runs": _open("/runs", "tree"),
    "teach": _open("/teach"),
    "teach-guess": _open("/teach", "", _step("Your guess")),
    "teach-tree": _open("/teach", "", _grown("MARGOT")),
    "teach-beside": _open("/teach", "", _grown("Side by side")),
    "teach-good": _open("/teach", "", _step("All good trees")),
    "teach-proof": _open("/teach", "", _step("Why no better?")),
    "teach-present": _open("/teach", "", _presented),
    "about": _open("/about"),
    "about-docs": _open("/about", "", _tab("Documentation")),
}
"""How to get to every state, by name."""
