"""Contrast of every text by the rule of WCAG AA: 4.5 : 1, large text 3 : 1; light and dark."""

from __future__ import annotations

from pathlib import Path

import pytest

from octcore.plotting.palette import DARK, LIGHT
from tests.browser.states import STATES, at_rest, prepare

PAGES = (
    "start", "data", "solve", "explore-node", "alternatives-features", "whatif-price", "size",
    "compare", "tune", "runs", "teach", "about",
)  # fmt: skip
"""Every page once."""
STATES_OF_PAGES = (
    "data-columns", "data-own-findings", "data-refused", "solve-planes", "explore-row",
    "explore-rules", "explore-score", "alternatives-trees", "compare-empty",
    "compare-certificates", "teach-guess", "teach-beside", "teach-good",
)  # fmt: skip
"""Those of `STATES` with words of their own."""

TOO_WEAK = Path(__file__).with_name("contrast.js").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def prepared(chromium, server):
    return prepare(chromium, server)


@pytest.mark.browser
@pytest.mark.slow
@pytest.mark.parametrize("names", [PAGES, STATES_OF_PAGES], ids=["pages", "states"])
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_every_text_of_every_page_can_be_read(visit, prepared, theme, names):
    found = {}
    for name in names:
        watched = visit(color_scheme=theme, viewport={"width": 1280, "height": 1400})
        page = watched.page
        STATES[name](page, prepared)
        page.mouse.move(1279, 1399)
        at_rest(page)
        weak = page.evaluate(TOO_WEAK)
        if weak:
            found[name] = weak
        watched.assert_clean()
        page.close()
    assert found == {}


def luminance(colour: str) -> float:
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    red, green, blue = (v / 12.92 if v <= 0.03928 else ((v + 0.055) / 1.055) ** 2.4 for v in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(ink: str, ground: str) -> float:
    high, low = sorted((luminance(ink), luminance(ground)), reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("palette", [LIGHT, DARK])
def test_words_in_trees_and_charts_can_be_read(palette):
    for ground in (palette.background, palette.surface):
        for ink in (palette.text, palette.muted, palette.optimum, palette.refuted):
            assert contrast(ink, ground) >= 4.5, (ink, ground)
