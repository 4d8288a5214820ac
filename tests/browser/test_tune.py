"""Model selection, comparisons and forms in a real browser, on real solves."""

from __future__ import annotations

import re

import pytest

from tests.browser.conftest import SOLVE_MILLISECONDS

pytestmark = [pytest.mark.browser, pytest.mark.long]


@pytest.mark.slow
def test_tuning_fills_its_table_survives_leaving_and_ends_in_the_solve_form(visit):
    watched = visit()
    watched.open("/")
    page = watched.open("/tune")
    page.get_by_text("46 trainings").wait_for(timeout=60_000)
    page.get_by_role("button", name="Try 9 candidates").click()
    page.wait_for_url(re.compile("tuning="), timeout=60_000)
    address = page.url
    page.get_by_role("link", name="Data").click()
    page.get_by_role("heading", name="Data", level=1).wait_for(timeout=60_000)
    second = visit()
    other = second.page
    other.goto(address)
    other.get_by_role("button", name="Solve with the best").wait_for(timeout=SOLVE_MILLISECONDS)
    other.get_by_text("46 trainings in").wait_for(timeout=60_000)
    other.locator(".js-plotly-plot").first.wait_for(timeout=60_000)
    second.settle()
    other.get_by_role("button", name="Solve with the best").click()
    other.get_by_role("heading", name="Solve", level=1).wait_for(timeout=60_000)
    second.settle()
    formulation = other.get_by_role("combobox", name="Formulation")
    assert formulation.input_value() == "Exact search on all thresholds"
    second.assert_clean()
    watched.assert_clean()


@pytest.mark.slow
def test_stop_keeps_what_was_tuned(visit):
    watched = visit(color_scheme="dark", viewport={"width": 1024, "height": 768})
    watched.open("/")
    page = watched.open("/tune")
    page.get_by_role("combobox", name="Protocol").click()
    page.get_by_role("option", name=re.compile("10-fold")).click()
    page.get_by_text("91 trainings").wait_for(timeout=60_000)
    page.get_by_role("button", name="Try 9 candidates").click()
    # On a quick machine it ends before it is seen on its way.
    seen = page.get_by_text(re.compile(r"\d+ of 91|stopped; what was trained is kept|done ·"))
    seen.first.wait_for(timeout=SOLVE_MILLISECONDS)
    stop = page.get_by_role("button", name="Stop")
    ended = page.get_by_text(re.compile("stopped; what was trained is kept|done ·"))
    # It may end, and its button go, while the pointer is on its way.
    watched.until(ended, lambda: stop.evaluate_all("found => found.forEach(b => b.click())"))
    page.get_by_role("button", name="Solve with the best").wait_for(timeout=60_000)
    over = page.evaluate(
        "() => document.querySelector('[data-testid=stMain]').scrollWidth - innerWidth"
    )
    assert over <= 1
    watched.assert_clean()


@pytest.mark.slow
def test_a_comparison_is_taken_away_as_one_file(visit):
    watched = visit()
    watched.open("/")
    page = watched.open("/compare")
    page.get_by_role("combobox", name="What to compare").click()
    page.get_by_role("option", name="Greedy against optimal").click()
    watched.settle()
    page.get_by_role("button", name="Start 2 runs").click()
    page.get_by_role("heading", name="What differs").wait_for(timeout=SOLVE_MILLISECONDS)
    with page.expect_download(timeout=60_000) as waiting:
        page.get_by_role("button", name="Report (HTML)").click()
    written = waiting.value.path().read_text(encoding="utf-8")
    assert waiting.value.suggested_filename == "comparison.html"
    assert "What differs" in written
    assert written.count("<svg") >= 3
    watched.assert_clean()


@pytest.mark.slow
def test_one_class_against_the_rest_is_offered_and_solved(visit):
    watched = visit()
    watched.open("/")
    page = watched.open("/solve")
    page.get_by_role("combobox", name="Formulation").click()
    page.get_by_role("option", name="MARGOT", exact=True).click()
    page.get_by_text("MARGOT separates 2 classes; these data have 3.").wait_for(timeout=60_000)
    watched.settle()
    page.get_by_role("button", name="Find the optimal tree").click()
    page.get_by_text(re.compile("MARGOT on iris: setosa")).first.wait_for(timeout=60_000)
    page.locator(".badge", has_text="proven optimal").wait_for(timeout=SOLVE_MILLISECONDS)
    watched.assert_clean()
