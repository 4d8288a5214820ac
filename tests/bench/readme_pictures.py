"""The pictures of the README, taken of the real app: ``python -m tests.bench.readme_pictures``.

They replace those in ``dashboard/pictures``; look at them before they are committed.
"""

from __future__ import annotations

import io
import re
import tempfile
from pathlib import Path

from PIL import Image

from tests.browser.conftest import launch, running_app
from tests.browser.states import STATES, at_rest, prepare

FOLDER = Path(__file__).resolve().parents[2] / "dashboard" / "pictures"
PICTURES = {"explore": ("explore", 860), "margins": ("teach-tree", 1000), "race": ("compare", 700)}
"""Name of the file: state of the app, height of the window."""
PROVEN = re.compile("proven optimal", re.IGNORECASE)
WIDTH, SCALE, COLOURS = 1280, 1.5, 128


def main() -> None:
    """Take all of them."""
    from playwright.sync_api import sync_playwright

    with tempfile.TemporaryDirectory() as store, running_app(Path(store)) as address:
        with sync_playwright() as playwright:
            browser = launch(playwright)
            prepared = prepare(browser, address)
            for name, (state, height) in PICTURES.items():
                context = browser.new_context(
                    viewport={"width": WIDTH, "height": height}, device_scale_factor=SCALE
                )
                page = context.new_page()
                page.set_default_timeout(120_000)
                STATES[state](page, prepared)
                page.locator(".badge", has_text=PROVEN).first.wait_for()
                at_rest(page)
                picture = Image.open(io.BytesIO(page.screenshot())).convert("RGB")
                small = picture.quantize(COLOURS, dither=Image.Dither.NONE)
                small.save(FOLDER / f"{name}.png", optimize=True)
                context.close()
            browser.close()


if __name__ == "__main__":
    main()
