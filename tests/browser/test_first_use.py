"""What a person sees: load, solve, look, stop, come back."""

from __future__ import annotations

import re

import pytest

from tests.browser.conftest import PATIENCE, SOLVE_MILLISECONDS, Watched, running_app

pytestmark = [pytest.mark.browser, pytest.mark.long]


def test_two_clicks_from_opening_to_a_proven_tree(visit):
    watched = visit()
    page = watched.open("/")
    watched.settle()
    outline, focused = "e => getComputedStyle(e).outline", page.locator("button:focus")
    while not focused.count():  # the first section of the menu
        page.keyboard.press("Tab")
    assert "solid 2px" in focused.evaluate(outline)
    start = page.get_by_role("button", name="See a proven tree")
    while not start.evaluate("e => e === document.activeElement"):
        page.keyboard.press("Tab")
    assert start.evaluate(outline).startswith("rgb(27, 35, 48) solid 2px")
    start.click()
    page.get_by_text("What now?").wait_for(timeout=SOLVE_MILLISECONDS)
    watched.settle()
    answer = page.get_by_role("heading", name=re.compile("^A tree with . questions? .* new rows"))
    box = answer.bounding_box()
    assert box is not None
    assert box["y"] < 800
    tree = page.get_by_role("tree").first.bounding_box()
    assert tree is not None
    assert tree["y"] + tree["height"] <= 800
    page.get_by_role("button", name="Explore this tree").click()
    page.get_by_role("heading", name="Explore", level=1).wait_for()
    page.locator(".badge", has_text="proven optimal").first.wait_for()
    assert page.get_by_role("tree").first.locator("g.node").count() == 5
    assert "run=" in page.url
    watched.assert_clean()


def test_a_comma_that_the_browser_drops_from_a_number_is_said(visit):
    watched = visit()
    watched.open("/")
    page = watched.open("/solve")
    watched.settle()
    limit = page.get_by_role("spinbutton", name="Time limit (s)")
    limit.fill("")
    limit.press_sequentially("1,5")
    assert "decimals with a point" in limit.evaluate("e => e.validationMessage")
    limit.press("Tab")
    assert "decimals" not in limit.evaluate("e => e.validationMessage")
    watched.assert_clean()


@pytest.mark.parametrize(
    ("path", "drawn"),
    [
        ("/", "See a proven tree"),
        pytest.param("/explore?run=abc", "Find the optimal tree", marks=pytest.mark.slow),
    ],
)
def test_a_new_server_shows_its_menu_and_what_it_does_while_it_loads(
    chromium, tmp_path, path, drawn
):
    with running_app(tmp_path) as address:
        context = chromium.new_context()
        context.add_init_script(
            "window.octSeen = new Set(); new MutationObserver(() => {"
            "  if (document.querySelector('[data-testid=stSidebarNav]')) octSeen.add('files');"
            "  if (document.querySelector('[data-testid=stSpinner]')) octSeen.add('loading');"
            "}).observe(document, { childList: true, subtree: true });"
        )
        watched = Watched(context, address)
        page = watched.page
        page.goto(address + path)
        page.get_by_text("Teach", exact=True).first.wait_for()
        if "?" in path:  # another page before anything of the link was read
            page.get_by_role("link", name="Solve").click()
        page.get_by_role("button", name=drawn).wait_for(timeout=PATIENCE)
        assert ("run=abc" in page.url) == ("?" in path)
        assert page.evaluate("() => [...octSeen]") == ["loading"]
        watched.assert_clean()
        context.close()


@pytest.mark.slow
def test_a_click_on_a_node_moves_every_view(visit, solved):
    watched = visit()
    page = watched.open("/explore" + solved)
    node = page.locator('g.node[data-node="3"]').first
    node.wait_for(timeout=60_000)
    node.click()
    page.get_by_text(re.compile("^(Node|Leaf) 3")).first.wait_for(timeout=20_000)
    watched.settle()
    assert page.locator('g.node[data-node="3"]').first.get_attribute("aria-selected") == "true"
    page.wait_for_function(
        "() => [...document.querySelectorAll('.js-plotly-plot')].flatMap(p => p._fullData)"
        ".some(t => t.marker && Array.from(t.marker.opacity.length ? t.marker.opacity : [])"
        ".some(v => v < 0.5))",
        timeout=20_000,
    )
    watched.assert_clean()


@pytest.mark.slow
def test_a_click_on_a_row_selects_its_leaf(visit, solved):
    watched = visit(viewport={"width": 1280, "height": 1000})
    page = watched.open("/explore" + solved)
    page.locator(".js-plotly-plot .scatterlayer .trace path.point").first.wait_for()
    watched.settle()
    place = page.evaluate(
        "() => { const p = [...document.querySelectorAll('.js-plotly-plot')]"
        ".find(p => p._fullData.some(t => t.name === 'setosa')), l = p._fullLayout,"
        " t = p._fullData.find(t => t.customdata), b = p.getBoundingClientRect();"
        " return [b.x + l.xaxis._offset + l.xaxis.d2p(t.x[0]),"
        " b.y + l.yaxis._offset + l.yaxis.d2p(t.y[0])]; }"
    )
    page.mouse.move(*place)
    page.wait_for_timeout(300)
    page.mouse.click(*place)
    page.get_by_text(re.compile(r"leaf \d: predicts", re.IGNORECASE)).first.wait_for()
    watched.assert_clean()


def test_keyboard_moves_selects_and_folds(visit, solved):
    watched = visit()
    page = watched.open("/explore" + solved)
    root = page.locator('g.node[data-node="1"]').first
    root.wait_for(timeout=60_000)
    watched.settle()
    root.focus()
    page.keyboard.press("ArrowDown")
    # Several trees are optimal: either child of the root may be the one that goes on.
    branch = 2 if page.locator('g.node[data-node="4"]').count() else 3
    if branch == 3:
        page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    page.get_by_text(f"Node {branch}", exact=True).wait_for(timeout=20_000)
    watched.settle()
    page.locator(f'g.node[data-node="{branch}"]').first.focus()
    page.keyboard.press("Space")
    assert page.get_by_role("tree").first.locator("g.node").count() == 3
    page.keyboard.press("Space")
    assert page.get_by_role("tree").first.locator("g.node").count() == 5
    watched.assert_clean()


@pytest.mark.slow
def test_reload_and_a_second_session_find_the_run(visit, solved):
    for path in ("/explore", "/solve"):
        watched = visit()
        page = watched.open(path + solved)
        page.locator(".badge", has_text="proven optimal").first.wait_for(timeout=60_000)
        page.reload()
        page.locator(".badge", has_text="proven optimal").first.wait_for(timeout=60_000)
        assert solved[1:] in page.url


def test_stop_keeps_the_best_tree(visit):
    watched = visit()
    page = watched.open()
    page.get_by_role("combobox", name=re.compile("Sample data")).click()
    page.get_by_role("option", name=re.compile("^Breast|cancer|569")).first.click()
    watched.settle()
    page.get_by_role("link", name="Solve").first.click()
    page.get_by_role("combobox", name="Formulation").click()
    page.get_by_role("option", name="FlowOCT", exact=True).click()
    page.get_by_text("is unlikely for").wait_for()
    page.get_by_role("button", name="Use exact search").wait_for()
    page.get_by_role("button", name="Find the optimal tree").click()
    page.locator("g.node").first.wait_for(timeout=SOLVE_MILLISECONDS)
    page.get_by_role("button", name="Stop").click()
    page.get_by_role("button", name="Explore this tree").wait_for(timeout=60_000)
    page.locator(".badge", has_text="stopped early").first.wait_for()
    page.get_by_role("button", name="Prove it with exact search").wait_for()
    assert page.get_by_role("tree").first.locator("g.node").count() >= 1
    watched.assert_clean()


@pytest.mark.slow
def test_tree_is_saved_as_svg_in_the_browser(visit, solved, tmp_path):
    watched = visit()
    page = watched.open("/explore" + solved)
    page.locator("g.node").first.wait_for(timeout=60_000)
    watched.settle()
    with page.expect_download() as waiting:
        page.get_by_role("button", name="SVG", exact=True).first.click()
    target = tmp_path / "tree.svg"
    waiting.value.save_as(target)
    import xml.etree.ElementTree as ElementTree

    root = ElementTree.fromstring(target.read_text(encoding="utf-8"))
    texts = "".join(root.itertext())
    assert "petal" in texts
    assert "script" not in {element.tag.rsplit("}", 1)[-1] for element in root.iter()}


@pytest.mark.slow
def test_own_file_to_a_tree_in_its_own_words(visit, tmp_path):
    path = tmp_path / "fruit.csv"
    rows = [
        f"{i % 9},{'red' if i % 2 else 'green'},{'ripe' if i % 9 > 4 else 'raw'}" for i in range(60)
    ]
    path.write_text("days on sill,colour,state\n" + "\n".join(rows) + "\n", encoding="utf-8")
    watched = visit()
    page = watched.open()
    page.locator("input[type=file]").set_input_files(path)
    page.get_by_text("fruit.csv").first.wait_for(timeout=30_000)
    watched.settle()
    page.get_by_role("button", name="Find an optimal tree").click()
    page.get_by_role("button", name="Explore this tree").wait_for(timeout=SOLVE_MILLISECONDS)
    page.locator("g.node", has_text="days on sill").first.wait_for()
    watched.assert_clean()


@pytest.mark.slow
def test_a_link_brings_data_and_form_of_a_run_and_its_node(visit, tmp_path):
    path = tmp_path / "plants.csv"
    rows = [f"{i % 9},{i * 7 % 13},{'ripe' if i % 9 > 4 else 'raw'}" for i in range(60)]
    path.write_text("days,weight,state\n" + "\n".join(rows) + "\n", encoding="utf-8")
    watched = visit()
    page = watched.open()
    page.locator("input[type=file]").set_input_files(path)
    page.get_by_text("plants.csv").first.wait_for(timeout=30_000)
    watched.settle()
    page.get_by_role("button", name="Find an optimal tree").click()
    page.get_by_role("button", name="Explore this tree").click(timeout=SOLVE_MILLISECONDS)
    page.get_by_role("heading", name="Explore", level=1).wait_for()
    watched.settle()
    page.locator('g.node[data-node="2"]').first.click()
    page.wait_for_function("() => location.search.includes('node=2')")
    other = visit()
    again = other.open("/explore?" + page.url.split("?", 1)[1])
    again.locator('g.node[data-node="2"][aria-selected="true"]').first.wait_for(timeout=60_000)
    again.get_by_text("plants", exact=True).first.wait_for()
    other.settle()
    assert again.get_by_role("button", name="Load its data").count() == 0
    other.assert_clean()


def test_a_dead_link_says_so(visit):
    page = visit().open("/explore?run=00000000-0000-0000-0000-000000000000")
    page.get_by_text("not in the history of this server").wait_for()


def test_one_step_of_a_person_is_one_step_of_back(visit):
    watched = visit()
    page = watched.open("/")
    places = []

    def act(step) -> None:
        node = "(/node=[0-9]+/.exec(location) || '')"
        places.append(page.evaluate(f"() => location.pathname + {node}"))
        step()
        watched.settle()

    act(page.get_by_role("link", name="Data", exact=True).first.click)
    page.get_by_role("combobox", name=re.compile("Sample data")).click()
    page.get_by_role("option", name=re.compile("wine", re.I)).first.click()
    watched.settle()
    act(page.get_by_role("button", name="Find an optimal tree").click)
    act(lambda: page.get_by_role("button", name="Explore this tree").click(timeout=PATIENCE))
    act(page.locator('g.node[data-node="2"]').first.click)
    page.wait_for_function("() => location.search.includes('node=2')")
    act(page.get_by_role("link", name="Teach", exact=True).first.click)
    assert places == ["/", "/data", "/solve", "/explore", "/explorenode=2"]
    forth, before = [*places], len(places)
    for _ in forth:
        act(page.go_back)
    act(watched.settle)
    assert places[before + 1 :] == forth[::-1]
    watched.assert_clean()
