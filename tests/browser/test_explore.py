"""Explore as a person uses it: a row's path, a slice, a second file, the replay that plays."""

from __future__ import annotations

import csv
import io
import re
import zipfile

import pytest

import octcore
from octcore.solving.proving import check_proof
from tests.browser.conftest import SOLVE_MILLISECONDS, Watched

pytestmark = [pytest.mark.browser, pytest.mark.long]


@pytest.fixture
def explore(visit, modelled):
    """Explore of the iris run, with a tab open."""

    def make(tab: str | None = None):
        watched = visit(viewport={"width": 1280, "height": 1300})
        page = watched.open("/explore" + modelled)
        page.locator("g.node").first.wait_for()
        watched.settle()
        if tab:
            page.get_by_role("tab", name=tab).click()
            watched.settle()
        return watched, page

    return make


def marked_edges(page) -> int:
    """Branches drawn in the colour of the selection."""
    return page.locator('.stage path[stroke="#c2185b"]').count()


def test_a_picked_row_is_followed_through_the_tree(explore):
    watched, page = explore()
    page.get_by_text("Path of one row").click()
    page.get_by_text(re.compile("Line .*, a training row, ends in")).wait_for()
    assert marked_edges(page) == 2
    number = page.get_by_role("spinbutton", name=re.compile("Line, 2 to"))
    number.fill("102")
    number.press("Enter")
    page.get_by_text(re.compile("Line 102, a training row, ends in.*virginica")).wait_for()
    assert page.locator('g.node[data-node="7"]').first.get_attribute("aria-selected") == "true"
    page.get_by_role("radio", name="Rows of the node").click()
    page.get_by_text("Tick a row").wait_for()
    watched.settle()
    page.locator("[data-testid=stDataFrame]").nth(1).click(position={"x": 20, "y": 50})
    page.get_by_text(re.compile(r"Line \d+, a training row, ends in.*Wrong")).wait_for()
    watched.assert_clean()


def test_arrow_keys_walk_the_tree_and_leave_the_browser_its_own(explore):
    watched, page = explore()
    page.locator('g.node[data-node="1"]').first.focus()
    walk = {"ArrowDown": "2", "ArrowRight": "3", "Control+ArrowLeft": "3", "Alt+ArrowDown": "3"}
    for key, node in walk.items():
        page.keyboard.press(key)
        assert page.locator("g.node:focus").get_attribute("data-node") == node, key
    page.keyboard.press("Enter")
    page.get_by_text("Reached when").wait_for()
    watched.settle()
    assert page.locator("g.node:focus").get_attribute("data-node") == "3"
    watched.assert_clean()


@pytest.mark.slow
def test_the_legend_stays_above_the_plot_when_the_window_grows(explore):
    _, page = explore()
    legend = page.locator(".js-plotly-plot .legend").first
    plot = page.locator(".js-plotly-plot").filter(has=page.locator(".legend")).first
    for width in (390, 1280, 390, 1000):
        page.set_viewport_size({"width": width, "height": 1300})
        page.wait_for_timeout(1500)
        above, below = legend.bounding_box(), plot.locator(".draglayer rect").first.bounding_box()
        assert above["y"] + above["height"] <= below["y"] + 1, width


@pytest.mark.slow
def test_a_typed_row_changes_its_leaf(explore):
    watched, page = explore()
    page.get_by_text("Path of one row").click()
    page.get_by_text("Typed row").click()
    page.get_by_text(re.compile("The typed row ends in.*setosa")).wait_for()
    width = page.get_by_role("spinbutton", name=re.compile("petal width"))
    width.fill("2.4")
    width.press("Enter")
    page.get_by_text(re.compile("The typed row ends in.*virginica")).wait_for()
    watched.assert_clean()


@pytest.mark.slow
def test_the_slice_moves_with_the_values_of_the_other_features(explore):
    watched, page = explore()
    page.get_by_role("combobox", name=re.compile("Across")).click()
    page.get_by_role("option", name="petal length (cm)").click()
    page.get_by_text(re.compile("Regions are a slice at")).wait_for()
    page.get_by_role("button", name="Values of the other features").click()
    value = page.get_by_role("spinbutton", name=re.compile("sepal width|petal width")).first
    value.fill("2.25")
    value.press("Enter")
    page.get_by_text(re.compile(r"slice at .*= 2\.25")).wait_for()
    watched.assert_clean()


@pytest.mark.slow
def test_a_second_file_is_scored_and_saved_with_guarded_cells(explore, tmp_path):
    watched, page = explore("Score a file")
    head = "sepal length (cm),sepal width (cm),petal length (cm),petal width (cm),species,note\n"
    (tmp_path / "new.csv").write_text(
        head + "5,3.5,1.4,0.2,setosa,=1+1\n6.5,3,5.5,2.2,setosa,b\n", encoding="utf-8"
    )
    page.locator("input[type=file]").set_input_files(tmp_path / "new.csv")
    page.get_by_text("Mean confidence").wait_for()
    page.get_by_text("50.0 %").first.wait_for()
    page.get_by_text(re.compile("note.*is not a column of the model")).wait_for()
    with page.expect_download() as waiting:
        page.get_by_role("button", name="Scored rows as CSV").click()
    waiting.value.save_as(tmp_path / "scored.csv")
    text = (tmp_path / "scored.csv").read_text(encoding="utf-8")
    rows = list(csv.DictReader(io.StringIO(text)))
    assert [row["prediction"] for row in rows] == ["setosa", "virginica"]
    assert rows[0]["note"] == "'=1+1"
    assert all(0 < float(row["confidence"]) <= 1 for row in rows)
    (tmp_path / "bad.csv").write_text("a,b\n1,2\n", encoding="utf-8")
    page.locator("input[type=file]").set_input_files(tmp_path / "bad.csv")
    page.get_by_text(re.compile("lack 2 columns")).wait_for()
    watched.assert_clean()


@pytest.mark.slow
def test_replay_plays_to_the_last_tree_by_itself(visit):
    watched = visit(viewport={"width": 1280, "height": 1300})
    page = watched.open()
    page.get_by_role("combobox", name=re.compile("Sample data")).click()
    page.get_by_role("option", name=re.compile("^Four partitions|4-partitions", re.I)).click()
    watched.settle()
    page.get_by_role("link", name="Solve").first.click()
    page.get_by_role("combobox", name="Formulation").click()
    page.get_by_role("option", name=re.compile("^MARGOT")).first.click()
    watched.settle()
    page.get_by_role("button", name="Find the optimal tree").click()
    page.get_by_role("button", name="Explore this tree").click(timeout=SOLVE_MILLISECONDS)
    page.get_by_role("radio", name="Replay").click()
    last = page.get_by_text(re.compile(r"Tree (\d+) of \1,"))
    last.wait_for()
    page.get_by_role("button", name="Play").click()
    # Any but the last: a machine that is slow leaves some out.
    page.get_by_text(re.compile(r"Tree (?!(\d+) of \1,)\d+ of \d+,")).wait_for()
    last.wait_for()
    page.get_by_role("button", name="Play").wait_for()
    assert page.locator("g.node").count() >= 7
    page.get_by_role("button", name="Play").click()
    page.get_by_role("button", name="Pause").wait_for()
    page.get_by_role("radio", name="Rows of the node").click()
    page.get_by_text(re.compile("^Root: all")).wait_for()
    watched.settle()
    drawn = page.evaluate(
        "() => new Promise(done => { let runs = 0; const app = document.querySelector("
        "'[data-test-script-state]'); new MutationObserver(() => runs++).observe(app, "
        "{ attributes: true, attributeFilter: ['data-test-script-state'] });"
        "setTimeout(() => done(runs), 4000); })"
    )
    assert drawn == 0, "nothing moves, but the page is still drawn anew"
    watched.assert_clean()


@pytest.mark.slow
def test_a_finger_on_a_chart_moves_the_page_and_on_a_box_folds_nothing(chromium, server, solved):
    phone = {"viewport": {"width": 390, "height": 844}, "is_mobile": True, "has_touch": True}
    agent = "Mozilla/5.0 (Linux; Android 14) AppleWebKit/537.36 Chrome/131.0 Mobile Safari/537.36"
    context = chromium.new_context(**phone, user_agent=agent)
    watched = Watched(context, server)
    page = watched.open("/explore" + solved)
    page.locator(".js-plotly-plot").nth(2).wait_for()
    watched.settle()
    touch = context.new_cdp_session(page)

    def finger(kind: str, *points: tuple[float, float]) -> None:
        at = [{"x": x, "y": y, "radiusX": 10, "radiusY": 10} for x, y in points]
        touch.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": at})

    top = "() => document.querySelector('[data-testid=stMain]').scrollTop"
    for k in range(3):
        chart = page.locator(".js-plotly-plot").nth(k)
        chart.scroll_into_view_if_needed()
        page.wait_for_timeout(500)
        box, before = chart.bounding_box(), page.evaluate(top)
        assert box is not None
        x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
        finger("touchStart", (x, y))
        for step in range(10):
            finger("touchMove", (x, y - 18 * step))
            page.wait_for_timeout(30)
        finger("touchEnd")
        page.wait_for_timeout(500)
        assert page.evaluate(top) > before + 50, f"chart {k} keeps the finger"
    assert not page.locator(".modebar").first.is_visible()
    root = page.locator('g.node[data-node="1"] rect.body')
    root.scroll_into_view_if_needed()
    watched.settle()
    drawn, box = page.locator("g.node").count(), root.bounding_box()
    assert box is not None
    finger("touchStart", (box["x"] + box["width"] / 2, box["y"] + box["height"] - 6))
    finger("touchEnd")
    watched.settle()
    assert page.locator("g.node").count() == drawn > 1, "a tap on the box folds the tree"
    page = watched.open("/teach?set=drawn&points=500-500-0_800-800-1")
    point = page.locator(".octboard g.point").first
    point.scroll_into_view_if_needed()
    watched.settle()
    box = point.bounding_box()
    assert box is not None
    finger("touchStart", (box["x"] + box["width"] / 2, box["y"] + box["height"] / 2))
    page.wait_for_timeout(800)
    finger("touchEnd")
    page.wait_for_url(re.compile("points=800-800-1(&|$)"))
    page = watched.open("/teach?step=margot")
    plane = page.locator(".js-plotly-plot").first
    plane.wait_for()
    box = plane.bounding_box()
    assert box is not None
    assert abs(box["height"] - box["width"]) < 20, "a square, and nothing empty below it"
    watched.assert_clean()
    context.close()


@pytest.mark.slow
@pytest.mark.parametrize("path", ["/path", "/about"])
def test_size_and_formulations_fit_a_phone(visit, path):
    watched = visit(viewport={"width": 390, "height": 844})
    page = watched.open(path)
    watched.settle()
    over = page.evaluate(
        "() => document.querySelector('[data-testid=stMain]').scrollWidth - innerWidth"
    )
    assert over <= 1
    watched.assert_clean()


@pytest.mark.slow
def test_the_proof_of_a_run_is_made_and_can_be_followed(explore, tmp_path):
    watched, page = explore("Download")
    page.get_by_role("button", name="Make a proof file").click()
    download = page.get_by_role("button", name="Download proof")
    download.wait_for(timeout=SOLVE_MILLISECONDS)
    with page.expect_download() as waiting:
        download.click()
    waiting.value.save_as(tmp_path / "proof.zip")
    with zipfile.ZipFile(tmp_path / "proof.zip") as files:
        files.extractall(tmp_path)
    asked = {"formulation": "flow-oct", "encoding": "QT-5", "depth": 2}
    check_proof(octcore.solve(octcore.load_sample("iris"), **asked), tmp_path / "proof")
    watched.assert_clean()
