"""Comparing in a real browser, on real solves."""

from __future__ import annotations

import re

import pytest

from tests.browser.conftest import SOLVE_MILLISECONDS

pytestmark = [pytest.mark.browser, pytest.mark.long]


def choose(page, watched, label: str, option: str) -> None:
    page.get_by_role("combobox", name=label).click()
    page.get_by_role("option", name=option).click()
    watched.settle()


def test_a_race_ends_with_trees_side_by_side(visit):
    watched = visit()
    watched.open("/")
    page = watched.open("/compare")
    page.get_by_role("button", name="Start 3 runs").click(timeout=60_000)
    page.get_by_role("button", name="Stop").first.wait_for(timeout=60_000)
    page.get_by_role("heading", name="What differs").wait_for(timeout=SOLVE_MILLISECONDS)
    watched.settle()
    assert len(re.findall(r"[0-9a-f-]{36}", page.url.split("runs=")[1])) == 3
    badges = page.get_by_text(re.compile("proven optimal, verified", re.I))  # of each that found it
    badges.nth(2).wait_for(timeout=60_000)
    page.locator(".js-plotly-plot").first.wait_for(timeout=60_000)
    lines = page.evaluate(
        "() => [...document.querySelectorAll('.js-plotly-plot')][0]._fullData.map(t => t.name)"
    )
    assert lines == ["FlowOCT", "Accelerated BendOCT", "Exact search"]
    page.get_by_text("incumbent and bound", exact=True).click()
    page.locator(".js-plotly-plot .legend", has_text="optimum").wait_for(timeout=60_000)
    for tab in ("Planes", "Features", "Accuracy", "Certificates"):
        page.get_by_role("tab", name=tab).click()
        watched.settle()
    assert page.locator("[data-testid=stException]").count() == 0
    watched.assert_clean()
    second = visit()
    second.open("/")
    again = second.page
    again.goto(page.url)
    again.get_by_role("heading", name="What differs").wait_for(timeout=60_000)
    second.assert_clean()


@pytest.mark.slow
def test_greedy_against_optimal_at_a_projector_in_the_dark(visit):
    watched = visit(color_scheme="dark", viewport={"width": 1024, "height": 768})
    watched.open("/")
    page = watched.open("/compare")
    choose(page, watched, "What to compare", "Greedy against optimal")
    page.get_by_role("button", name="Start 2 runs").click()
    page.get_by_role("heading", name="What differs").wait_for(timeout=SOLVE_MILLISECONDS)
    watched.settle()
    over = page.evaluate(
        "() => document.querySelector('[data-testid=stMain]').scrollWidth - innerWidth"
    )
    assert over <= 1
    with page.expect_download() as waiting:
        page.get_by_role("button", name="For the paper").click()
    assert waiting.value.suggested_filename == "paper.zip"
    watched.assert_clean()
