"""Contrast of every text by the rule of WCAG AA: 4.5 : 1, large text 3 : 1; light and dark."""

from __future__ import annotations

from pathlib import Path

import pytest

from octcore.plotting.palette import DARK, LIGHT

PAGES = ("/", "/data", "/solve", "/explore", "/alternatives", "/whatif", "/compare", "/tune",
         "/runs", "/path", "/teach", "/about")  # fmt: skip

TOO_WEAK = Path(__file__).with_name("contrast.js").read_text(encoding="utf-8")


@pytest.mark.browser
@pytest.mark.long
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_every_text_of_every_page_can_be_read(visit, solved, theme):
    watched = visit(color_scheme=theme, viewport={"width": 1280, "height": 1400})
    found = {}
    for path in PAGES:
        page = watched.page
        page.goto(watched.address + path + ("" if path == "/" else solved))
        page.locator("[data-testid=stMain] button:visible").first.wait_for()
        watched.settle()
        page.mouse.move(1279, 1399)
        # Streamlit fades what a rerun has not drawn again yet.
        page.wait_for_function("() => !document.querySelector('[data-stale=true]')")
        weak = page.evaluate(TOO_WEAK)
        if weak:
            found[path] = weak
    assert found == {}
    watched.assert_clean()


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
