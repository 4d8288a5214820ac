"""What a condition costs and what another leaf buys, in a real browser with real solves."""

from __future__ import annotations

import re

import pytest

from tests.browser.conftest import PATIENCE, SOLVE_MILLISECONDS

pytestmark = [pytest.mark.browser, pytest.mark.long]


@pytest.mark.slow
def test_what_does_it_cost_to_drop_petal_width(visit, modelled):
    watched = visit()
    page = watched.open("/whatif" + modelled)
    page.get_by_text("Value of every root feature").wait_for(timeout=60_000)
    page.locator(".js-plotly-plot").first.wait_for(timeout=SOLVE_MILLISECONDS)
    watched.settle()
    page.get_by_role("combobox", name="Drop features").click()
    page.get_by_role("option", name=re.compile("petal width")).click()
    page.keyboard.press("Escape")
    watched.settle()
    page.get_by_role("button", name="What does it cost?").click()
    price = page.get_by_role("heading", name=re.compile("costs 3.3 accuracy points"))
    price.wait_for(timeout=SOLVE_MILLISECONDS)
    page.get_by_text("With the condition", exact=True).first.wait_for(timeout=20_000)
    assert page.locator("g.node text", has_text="≠").count() >= 2
    watched.assert_clean()


@pytest.mark.slow
def test_another_leaf_by_clicking_the_chart(visit):
    from playwright.sync_api import expect

    watched = visit()
    page = watched.open("/path")
    page.get_by_role("button", name="Compute").click()
    page.locator(".js-plotly-plot").first.wait_for(timeout=SOLVE_MILLISECONDS)
    watched.settle()

    def click() -> None:
        place = page.evaluate(
            "() => { const p = document.querySelector('.js-plotly-plot'), l = p._fullLayout,"
            " t = p._fullData[0], b = p.getBoundingClientRect();"
            " return [b.x + l.xaxis._offset + l.xaxis.d2p(t.x[1]),"
            " b.y + l.yaxis._offset + l.yaxis.d2p(t.y[1])]; }"
        )
        page.mouse.move(*place)
        page.wait_for_timeout(300)
        page.mouse.click(*place)

    watched.until(page.locator("input[value='All thresholds, 2 leaves']"), click)
    expect(page.locator("g.node")).to_have_count(3, timeout=PATIENCE)
    watched.assert_clean()
