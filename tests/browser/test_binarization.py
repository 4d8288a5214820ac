"""The price of binarization in a real browser: asked for, measured, found from Compare."""

from __future__ import annotations

import pytest

from tests.browser.conftest import SOLVE_MILLISECONDS

pytestmark = [pytest.mark.browser, pytest.mark.long]


def open_encoding(visit, **options):
    watched = visit(**options)
    watched.open("/")
    page = watched.open("/data")
    watched.settle()
    page.get_by_role("tab", name="Encoding").click()
    page.get_by_role("heading", name="What do coarser thresholds cost?").wait_for()
    return watched


@pytest.mark.slow
def test_the_price_of_every_encoding_is_shown(visit):
    watched = open_encoding(visit)
    page = watched.page
    page.get_by_role("button", name="Compare encodings").click()
    page.get_by_text("Where the best tree cuts").wait_for(timeout=SOLVE_MILLISECONDS)
    page.get_by_role("button", name="Stop").wait_for(state="detached", timeout=SOLVE_MILLISECONDS)
    for measure in ("held-out accuracy", "seconds"):
        watched.settle()  # a redraw shows the old choice and the new one for a moment
        page.get_by_role("radio", name=measure).first.click()
        watched.settle()
        page.locator(".st-key-binarization_curves .ytitle").get_by_text(measure).wait_for()
    words = page.locator(".st-key-binarization_histogram .legendtext").all_text_contents()
    assert {"QT-5", "QB-5"} <= set(words)
    page.get_by_text("All encodings in a table").click()
    page.locator("[data-testid=stExpander] [data-testid=stDataFrame]").wait_for()
    watched.assert_clean()


@pytest.mark.slow
def test_compare_leads_there(visit):
    watched = visit()
    watched.open("/")
    page = watched.open("/compare")
    page.get_by_role("button", name="what do coarser thresholds cost").click()
    page.get_by_role("heading", name="What do coarser thresholds cost?").wait_for()
    watched.assert_clean()
