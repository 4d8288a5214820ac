"""The history in a real browser: found again, selected, exported, deleted."""

from __future__ import annotations

import json

import pytest

import octcore
from octcore.solving.run import JobState
from octcore.store.runs import RunStore
from tests.browser.conftest import SOLVE_MILLISECONDS, Watched, running_app

pytestmark = [pytest.mark.browser, pytest.mark.long]

HEADER, ROW = 35, 35
"""Heights in the table, in pixels."""


def solve_two(watched):
    """Two quick runs by the Compare page."""
    page = watched.open("/")
    kinds = page.get_by_role("combobox", name="What to compare")
    watched.until(kinds, lambda: watched.open("/compare"))
    kinds.click()
    page.get_by_role("option", name="Greedy against optimal").click()
    watched.settle()
    page.get_by_role("button", name="Start 2 runs").click()
    page.get_by_role("heading", name="What differs").wait_for(timeout=SOLVE_MILLISECONDS)
    return page


def tick_two(watched) -> None:
    """Tick the first two rows of the history, one after the other."""
    page = watched.page
    page.get_by_text("Tick runs in the first column").wait_for(timeout=60_000)

    def click(row: int) -> None:
        box = page.locator("[data-testid=stDataFrame] canvas").first.bounding_box()
        page.mouse.click(box["x"] + 17, box["y"] + HEADER + ROW * row + ROW // 2)

    watched.until(page.get_by_text("Rename", exact=True), lambda: click(0))
    watched.until(page.get_by_text("2 runs selected"), lambda: click(1))


@pytest.mark.slow
def test_history_survives_the_session_and_compares_and_deletes(visit):
    watched = visit()
    solve_two(watched)
    page = watched.open("/runs")  # A new session of the same browser.
    watched.settle()
    table = page.locator("[data-testid=stDataFrame] .dvn-scroller").first
    assert table.evaluate("e => e.scrollWidth - e.clientWidth") <= 1
    tick_two(watched)
    page.get_by_role("button", name="Compare side by side").click()
    page.get_by_role("heading", name="What differs").wait_for(timeout=60_000)
    page = watched.open("/runs")
    tick_two(watched)
    confirm = page.get_by_role("dialog").get_by_role("button", name="Delete")
    watched.until(confirm, page.get_by_role("button", name="Delete").click)
    confirm.click()
    page.get_by_text("Nothing has been solved from this browser").wait_for(timeout=60_000)
    watched.assert_clean()


def test_a_tick_stays_with_its_run_when_another_run_comes(visit, app_folder):
    watched = visit()
    watched.open("/runs").get_by_text("Nothing has been solved").wait_for()
    watched.settle()
    (cookie,) = (c for c in watched.page.context.cookies() if c["name"] == "octcore_browser")
    data, settings = octcore.load_sample("iris"), {"formulation": "cart", "depth": 1}
    run = octcore.solve(data, **settings)

    def add(title: str) -> None:
        store = RunStore(app_folder / "runs.sqlite")
        store.finish(store.begin(data, settings, title, cookie["value"]), JobState.DONE, run)
        store.close()

    add("older")
    add("newer")
    page = watched.open("/runs")
    page.get_by_role("heading", name="newer").wait_for()
    box = page.locator("[data-testid=stDataFrame] canvas").first.bounding_box()
    x, y = box["x"] + 17, box["y"] + HEADER + ROW + ROW // 2
    watched.until(page.get_by_role("heading", name="older"), lambda: page.mouse.click(x, y))
    watched.settle()  # until then the buttons of both runs stand there
    add("newest")
    page.get_by_role("button", name="Rename").click()
    page.get_by_role("textbox", name="New name").fill("old one")
    page.get_by_role("button", name="Save").click()
    page.get_by_role("heading", name="old one").wait_for()
    watched.settle()
    assert page.get_by_role("heading", name="old one").is_visible()
    watched.assert_clean()


def test_another_browser_sees_a_run_only_by_its_link(visit, solved):
    watched = visit()
    watched.open("/")
    page = watched.open("/runs")
    page.get_by_text("Nothing has been solved from this browser").wait_for(timeout=60_000)
    page = watched.open("/runs" + solved)
    page.get_by_role("button", name="Open in Explore").wait_for(timeout=60_000)
    watched.assert_clean()


def test_exports_and_the_report_needs_no_network(visit, solved, tmp_path):
    watched = visit()
    watched.open("/")
    page = watched.open("/runs" + solved)
    found = {}
    page.get_by_role("button", name="Export").click(timeout=60_000)
    labels = ["Report (HTML)", "Rows (CSV)", "Everything (JSON)", "Tree (SVG)", "Tree (DOT)"]
    for label in [*labels, "Formula (Excel)", "Model (PMML)", "Model (ONNX)"]:
        with page.expect_download(timeout=60_000) as waiting:
            page.get_by_role("button", name=label).click()
        found[label] = tmp_path / waiting.value.suggested_filename
        waiting.value.save_as(found[label])
    assert json.loads(found["Everything (JSON)"].read_text(encoding="utf-8"))["run"]["tree"]
    assert found["Tree (DOT)"].read_text(encoding="utf-8").startswith("digraph")
    assert "=IF(" in found["Formula (Excel)"].read_text(encoding="utf-8")
    assert "<TreeModel" in found["Model (PMML)"].read_text(encoding="utf-8")
    assert found["Model (ONNX)"].read_bytes()
    rows = found["Rows (CSV)"].read_text(encoding="utf-8").splitlines()
    assert len(rows) == 113  # 112 rows trained on, and the header
    watched.assert_clean()
    report = visit()
    report.page.goto(found["Report (HTML)"].as_uri())
    assert report.page.locator("svg").count() >= 2
    assert report.page.get_by_text("proven optimal", exact=False).count() >= 1
    assert report.errors == []
    assert [url for url in report.foreign if not url.startswith("file:")] == []


@pytest.mark.slow
def test_history_and_links_are_there_after_a_restart_of_the_server(chromium, tmp_path):
    context = chromium.new_context(viewport={"width": 1280, "height": 800})
    with running_app(tmp_path) as address:
        watched = Watched(context, address)
        page = solve_two(watched)
        query = page.url.split("?", 1)[1]
        watched.assert_clean()
        page.close()
    with running_app(tmp_path) as address:
        # The very first thing that the new server is asked for is a link into the app.
        watched = Watched(context, address)
        page = watched.open("/compare?" + query)
        page.get_by_role("heading", name="What differs").wait_for(timeout=60_000)
        page = watched.open("/runs")
        page.get_by_text("Tick runs in the first column").wait_for(timeout=60_000)
        page.get_by_text("The history of this server keeps 2 runs").wait_for(timeout=60_000)
        watched.assert_clean()
    context.close()
