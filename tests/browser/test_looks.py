"""Themes, narrow screens and hostile names."""

from __future__ import annotations

import pytest

from tests.browser.conftest import SOLVE_MILLISECONDS

pytestmark = [pytest.mark.browser, pytest.mark.long]

HOSTILE = "<img src=https://evil.example/x onerror=alert(1)>"
MARKDOWN = "![x](https://evil.example/y) $\\\\frac{1}{0}$ :red[z] <script>alert(2)</script>"


@pytest.mark.sampled(5)
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("path", ["/", "/solve", "/explore", "/about"])
def test_every_page_draws_in_both_themes(visit, solved, scheme, path):
    watched = visit(color_scheme=scheme)
    page = watched.open(path + (solved if path in {"/solve", "/explore"} else ""))
    watched.settle()
    ground = page.evaluate(
        "() => getComputedStyle(document.querySelector('[data-testid=stApp]')).backgroundColor"
    )
    brightness = sum(int(v) for v in ground.strip("rgba()").split(",")[:3]) / 3
    assert (brightness > 128) == (scheme == "light")
    assert page.locator("[data-testid=stException]").count() == 0
    watched.assert_clean()


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("path", "entry"),
    [
        ("/data", "Data"),
        ("/explore", "Understand"),
        ("/whatif", "Understand"),
        ("/path", "Understand"),
        ("/runs", "Compare"),
        ("/about", "Help"),
    ],
)
def test_the_menu_marks_where_one_is(visit, path, entry):
    watched = visit()
    page = watched.open(path)
    watched.settle()
    names = page.locator("[data-testid=stTopNav] p:visible")
    strong = "els => els.filter(e => getComputedStyle(e).fontWeight >= 600).map(e => e.innerText)"
    assert names.evaluate_all(strong) == [entry]


@pytest.mark.slow
def test_dark_tree_has_light_ink(visit, solved):
    watched = visit(color_scheme="dark")
    page = watched.open("/explore" + solved)
    page.locator("g.node").first.wait_for(timeout=60_000)
    watched.settle()
    ink = page.locator("g.node text").first.get_attribute("fill")
    assert ink == "#e8ecf2"


@pytest.mark.slow
def test_a_page_follows_when_the_theme_changes(visit, solved):
    watched = visit()
    page = watched.open("/explore" + solved)
    page.locator("g.node").first.wait_for(timeout=60_000)
    watched.settle()
    page.emulate_media(color_scheme="dark")
    page.locator('g.node text[fill="#e8ecf2"]').first.wait_for()
    watched.settle()
    caption = page.get_by_test_id("stCaptionContainer").first
    assert caption.evaluate("e => getComputedStyle(e).color") == "rgb(169, 178, 191)"
    watched.assert_clean()


def test_the_keyboard_sees_the_tools_of_a_table_and_stops_at_no_hidden_link(visit, solved):
    watched = visit()
    page = watched.open("/runs" + solved)
    tools = page.get_by_test_id("stElementToolbar").first
    tools.wait_for(state="attached")
    watched.settle()
    assert page.get_by_role("link", name="Link to heading").count() == 0
    tools.get_by_role("button").first.focus()
    page.wait_for_function("e => getComputedStyle(e).opacity === '1'", arg=tools.element_handle())


def test_the_menu_shows_where_the_keyboard_is(visit):
    watched = visit()
    page = watched.open("/about")
    watched.settle()
    page.keyboard.press("Tab")
    for _ in range(2):
        page.keyboard.press("Tab")
        page.wait_for_function("getComputedStyle(document.activeElement).outlineStyle === 'solid'")


@pytest.mark.sampled(2)
@pytest.mark.parametrize("size", [(1024, 768), (390, 844)])
def test_narrow_screens_do_not_scroll_sideways(visit, solved, size):
    watched = visit(viewport={"width": size[0], "height": size[1]})
    for path in ("/", "/solve" + solved, "/explore" + solved, "/teach"):
        page = watched.open(path)
        watched.settle()
        main = page.locator("[data-testid=stMain]")
        assert main.evaluate("e => e.scrollWidth - e.clientWidth") <= 1, path
    watched.assert_clean()


@pytest.mark.slow
def test_hostile_names_stay_text_in_every_view(visit, tmp_path):
    path = tmp_path / "<b>evil.csv".replace("<b>", "b")
    lines = [f'"{HOSTILE}","{MARKDOWN}","class"']
    lines += [f'{i % 8},{i % 5}.5,"{HOSTILE if i % 8 > 3 else MARKDOWN}"' for i in range(64)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    watched = visit()
    page = watched.open()
    page.locator("input[type=file]").set_input_files(path)
    page.get_by_text("KiB").wait_for(timeout=30_000)
    for tab in ("Columns", "Encoding", "Findings"):
        page.get_by_role("tab", name=tab).click()
        watched.settle()
    page.get_by_role("button", name="Find an optimal tree").click()
    page.get_by_role("button", name="Explore this tree").click(timeout=SOLVE_MILLISECONDS)
    page.locator("g.node", has_text="<img src=").first.wait_for(timeout=60_000)
    for tab in ("Accuracy", "CART beside it", "Rules", "Model card", "Download"):
        page.get_by_role("tab", name=tab).click()
        watched.settle()
    assert page.locator("img[src*='evil']").count() == 0
    assert page.locator("a[href*='evil']").count() == 0
    watched.assert_clean()
