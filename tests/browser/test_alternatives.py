"""Choosing among near-optimal trees, in a real browser with real counts."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.browser.conftest import SOLVE_MILLISECONDS

pytestmark = [pytest.mark.browser, pytest.mark.long]

HEADLINE = re.compile(r"[\d,]+ trees?.* of the proven optimum")


def opened(watched, query: str, tab: str = ""):
    """The page of a run, counted, with a tab open."""
    page = watched.open("/alternatives" + query)
    page.get_by_text("counted exactly in").wait_for(timeout=SOLVE_MILLISECONDS)
    if tab:
        page.get_by_role("tab", name=tab).click()
    watched.settle()
    return page


def number_of_trees(page) -> int:
    """Count in the headline."""
    words = page.get_by_text(HEADLINE).first.inner_text()
    return int(words.split()[0].replace(",", ""))


def recounted(page, watched, before: int) -> int:
    """Count in the headline once it is another one."""
    page.wait_for_function(
        "before => { const words = document.body.innerText;"
        " return words.includes('of the proven optimum') && !words.includes(before); }",
        arg=f"\n{before:,} tree",
        timeout=SOLVE_MILLISECONDS,
    )
    watched.settle()
    return number_of_trees(page)


def mark_rows(page, watched, *rows: int) -> None:
    """Tick rows of the table: its canvas has the boxes in the first column."""
    for row in rows:
        box = page.locator("[data-testid=stDataFrame] canvas").first.bounding_box()
        page.mouse.click(box["x"] + 18, box["y"] + 35 * (row + 1) + 18)
        watched.settle()


@pytest.mark.slow
def test_moving_the_distance_changes_the_count(visit, solved):
    watched = visit()
    page = opened(watched, solved)
    first = number_of_trees(page)
    thumb = page.get_by_role("slider").first
    thumb.focus()
    thumb.press("ArrowRight")
    page.get_by_text("within 1.5 points").first.wait_for(timeout=SOLVE_MILLISECONDS)
    watched.settle()
    assert number_of_trees(page) > first
    page.locator(".js-plotly-plot").nth(1).wait_for()
    watched.assert_clean()


@pytest.mark.slow
def test_required_and_banned_features_and_leaves(visit, solved):
    watched = visit()
    page = opened(watched, solved)
    everything = number_of_trees(page)
    page.get_by_role("combobox", name="Must not use").click()
    page.get_by_role("option", name=re.compile("petal length")).click()
    page.keyboard.press("Escape")
    without = recounted(page, watched, everything)
    assert 0 < without < everything
    page.get_by_label("Most leaves").fill("3")
    page.get_by_label("Most leaves").press("Enter")
    assert recounted(page, watched, without) < without
    watched.assert_clean()


@pytest.mark.slow
def test_features_paths_and_rows_are_drawn(visit, solved):
    watched = visit()
    page = opened(watched, solved, "Features")
    page.get_by_text(re.compile("In all trees:|No feature is in all")).first.wait_for()
    page.locator(".js-plotly-plot").nth(1).wait_for()
    page.get_by_role("tab", name="Paths").click()
    page.locator("g.sunburstlayer .slice").first.wait_for()
    slices = page.locator("g.sunburstlayer .slice").count()
    page.locator("g.sunburstlayer .slice").nth(1).click()
    page.wait_for_timeout(1500)
    assert page.locator("g.sunburstlayer .slice").count() != slices
    page.get_by_role("tab", name="Rows").click()
    page.get_by_text("get another class from some good tree").wait_for()
    page.locator(".js-plotly-plot .scatterlayer .trace").nth(2).wait_for()
    watched.assert_clean()


@pytest.mark.slow
def test_two_pinned_trees_differ_where_it_is_marked(visit, solved):
    watched = visit()
    page = opened(watched, solved, "Trees")
    mark_rows(page, watched, 0)
    page.get_by_text("Tree 1", exact=True).wait_for()
    mark_rows(page, watched, 1)
    page.get_by_text("Tree 2", exact=True).wait_for()
    page.get_by_text(re.compile("another prediction")).wait_for()
    assert page.locator("g.node text", has_text="≠").count() >= 2
    watched.assert_clean()


@pytest.mark.slow
def test_a_recall_floor_leaves_fewer_listed_trees(visit, solved):
    watched = visit()
    page = opened(watched, solved, "Trees")
    words = page.get_by_text(re.compile("of the .* listed;"))
    everything = words.inner_text()
    page.get_by_role("combobox", name="Recall of").click()
    page.get_by_role("option", name="versicolor").click()
    page.get_by_label("is at least %").fill("98")
    page.get_by_label("is at least %").press("Enter")
    page.wait_for_function(
        "before => !document.body.innerText.includes(before)",
        arg=everything,
        timeout=SOLVE_MILLISECONDS,
    )
    watched.settle()
    numbers = [int(n.replace(",", "")) for n in re.findall(r"[\d,]+", words.inner_text())]
    assert 0 <= numbers[0] < numbers[1]
    watched.assert_clean()


@pytest.mark.slow
def test_the_marked_tree_becomes_a_run_with_its_distance(visit, solved):
    watched = visit()
    page = opened(watched, solved, "Trees")
    mark_rows(page, watched, 5)
    page.get_by_role("button", name="Keep the marked tree as a run").click()
    page.wait_for_url(re.compile("/explore"), timeout=SOLVE_MILLISECONDS)
    page.get_by_text(re.compile(r"Within [\d.]+ points of the proven optimum")).first.wait_for()
    assert page.locator("g.node").count() >= 7
    watched.assert_clean()


@pytest.mark.slow
def test_the_smallest_tree_is_one_press(visit, solved):
    watched = visit()
    page = opened(watched, solved, "Trees")
    page.get_by_role("button", name=re.compile("Smallest within 1 point")).click()
    page.wait_for_url(re.compile("/explore"), timeout=SOLVE_MILLISECONDS)
    page.locator("g.node").first.wait_for(timeout=SOLVE_MILLISECONDS)
    watched.assert_clean()


@pytest.mark.slow
def test_exports_hold_the_listed_trees(visit, solved):
    watched = visit()
    page = opened(watched, solved, "Trees")
    with page.expect_download() as download:
        page.get_by_role("button", name="TimberTrek").click()
    record = json.loads(Path(download.value.path()).read_text())
    assert set(record) == {"trie", "featureMap", "treeMap"}
    listed = len(record["treeMap"])
    assert listed > 10
    with page.expect_download() as download:
        page.get_by_role("button", name="Rules").click()
    lines = Path(download.value.path()).read_text().splitlines()
    assert lines[0].startswith("tree,objective,leaves")
    assert lines[-1].startswith(f"{listed},")
    watched.assert_clean()


@pytest.mark.slow
def test_the_marked_tree_stands_beside_the_optimum_in_compare(visit, solved):
    watched = visit()
    page = opened(watched, solved, "Trees")
    mark_rows(page, watched, 1)
    page.get_by_role("button", name="Compare it with the run").click()
    page.wait_for_url(re.compile("/compare"), timeout=SOLVE_MILLISECONDS)
    page.get_by_role("heading", name="What differs").wait_for(timeout=SOLVE_MILLISECONDS)
    watched.settle()
    assert page.locator("svg g.node").count() >= 6
    watched.assert_clean()
