"""The pages of the documentation inside the app."""

from __future__ import annotations

import re
from urllib.parse import unquote

import pytest

from octcore.docs import generated
from tests.app.history_case import open_page, shown


@pytest.mark.long
def test_every_page_of_the_documentation_can_be_read_in_the_app() -> None:
    app = open_page("about")
    app.session_state["about_tabs"] = "Documentation"
    app.run()
    offered = next(s for s in app.selectbox if s.label == "Page")
    titles = {generated.title_of(text) for text in generated.written_pages().values()}
    assert titles <= set(offered.options)
    pages = generated.written_pages() | generated.made_pages()
    for name in ("reference.md", "tutorials/good-trees.md", "measured.md"):
        title = generated.title_of(pages[name])
        next(s for s in app.selectbox if s.label == "Page").set_value(title).run()
        assert not app.exception
        assert not any(":::" in m.value or ".md)" in m.value for m in app.markdown)
        assert f"## {title}\n" in (page := app.markdown[-1].value)
        assert not re.search("^# ", page, flags=re.MULTILINE)
    assert "Measured results" in shown(app)


@pytest.mark.long
def test_the_links_of_the_documentation_lead_to_its_pagesin_the_app() -> None:
    app = open_page("about", document="octcore")
    links = re.findall(r"\]\(\?(\w+)=([^)]+)\)", app.markdown[-1].value)
    assert len(links) > 30
    for name, title in (links[0], links[-1]):
        app = open_page("about", **{name: unquote(title)})
        assert unquote(title) in {s.options[s.index] for s in app.selectbox}
