"""Every page as people see it: light and dark, on four widths, as pictures to look at.

``python tests/bench/screenshots.py FOLDER [--names NAME ...] [--themes light dark]
[--widths 1280 1024 1920 390]`` solves, asks and races once on a server of its own and keeps a
picture of every page and state; no picture is judged here.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from tests.browser.conftest import launch, running_app
from tests.browser.states import STATES, Prepared, prepare

HEIGHTS = {1280: 800, 1024: 768, 1920: 1080, 390: 844}
TALLEST = 4000


def take(page, folder: Path, name: str, theme: str, widths: list[int]) -> None:
    """Keep pictures of what a page shows, as long as it is."""
    for width in widths:
        page.set_viewport_size({"width": width, "height": HEIGHTS[width]})
        page.wait_for_timeout(700)
        tall = page.evaluate("() => document.querySelector('[data-testid=stMain]').scrollHeight")
        page.set_viewport_size({"width": width, "height": min(TALLEST, max(tall + 20, 400))})
        page.wait_for_timeout(500)
        page.screenshot(path=folder / f"{name}-{theme}-{width}.png")


def main() -> None:
    """Take the pictures that are asked for."""
    from playwright.sync_api import sync_playwright

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--names", nargs="*", choices=[*STATES, []], default=[])
    parser.add_argument("--themes", nargs="*", default=["light", "dark"])
    parser.add_argument("--widths", nargs="*", type=int, default=list(HEIGHTS))
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as store, running_app(Path(store)) as address:
        with sync_playwright() as playwright:
            browser = launch(playwright)
            prepared = prepare(browser, address)
            for theme in given.themes:
                for name in given.names or STATES:
                    _one(browser, prepared, STATES[name], (given, name, theme))
            browser.close()


def _one(browser, prepared: Prepared, show: Callable, what: tuple) -> None:
    given, name, theme = what
    context = browser.new_context(viewport={"width": 1280, "height": 800}, color_scheme=theme)
    page = context.new_page()
    page.set_default_timeout(60_000)
    try:
        show(page, prepared)
        take(page, given.folder, name, theme, given.widths)
    except Exception as error:
        print(f"{name}, {theme}: {str(error).splitlines()[0]}", flush=True)
        page.screenshot(path=given.folder / f"{name}-{theme}-failed.png")
    context.close()


if __name__ == "__main__":
    main()
