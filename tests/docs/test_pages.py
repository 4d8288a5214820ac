"""The pages under ``octcore/docs``: every block runs, every link and every named object exists."""

from __future__ import annotations

import pydoc
import re
import shlex
from pathlib import Path

import pytest

import octcore
from octcore import plotting
from octcore.cli import main
from octcore.docs.generated import (
    FOLDER,
    made_pages,
    public_objects,
    refresh_reference,
    title_of,
    without_directives,
    written_pages,
)
from octcore.docs.site import with_results

PAGES = [FOLDER / name for name in written_pages()]
LONGER = {"cluster": [pytest.mark.long], "good-trees": [pytest.mark.slow]}
"""Pages whose blocks take a quarter of a minute, and most of one."""


def _blocks(page: Path) -> list[tuple[str, str]]:
    return re.findall(r"```(\w*)\n(.*?)```", page.read_text(encoding="utf-8"), flags=re.DOTALL)


@pytest.mark.long
@pytest.mark.parametrize(
    "page",
    [pytest.param(p, marks=LONGER.get(p.stem, [])) for p in PAGES],
    ids=lambda page: page.stem,
)
def test_every_block_runs(
    page: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Blocks of a page share their names; blocks marked ``sh`` need a machine of their own."""
    monkeypatch.chdir(tmp_path)
    names = {"__name__": page.stem}
    for kind, text in _blocks(page):
        assert kind in {"python", "", "sh", "dockerfile", "text"}
        if kind == "python":
            exec(compile(text, str(page), "exec"), names)
            shown = capsys.readouterr().out
            assert shown.strip() or "print(" not in text
        elif not kind:
            for command in text.splitlines():
                assert main(shlex.split(command)[1:]) == 0, command


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)\)", page.read_text(encoding="utf-8")):
        is_page = target in made_pages() and page.parent == FOLDER
        assert "://" in target or is_page or (page.parent / target).exists(), target


def test_the_reference_has_every_public_name() -> None:
    page = (FOLDER / "reference.md").read_text(encoding="utf-8")
    assert refresh_reference(page) == page, "run python -m octcore.docs.generated README.md"
    assert set(re.findall(r"^## (\S+)$", page, flags=re.MULTILINE)) == set(public_objects())
    for path in re.findall(r"^::: (\S+)$", page, flags=re.MULTILINE):
        assert pydoc.locate(path).__doc__, path
    shown = without_directives(page)
    assert ":::" not in shown
    assert "time_limit" in shown


def test_pages_reach_the_figures_by_the_package_alone() -> None:
    """Where nobody imported them: here everything is imported, so the package is asked itself."""
    assert octcore.__getattr__("plotting").tree is plotting.tree


def test_the_first_page_links_every_other() -> None:
    start = (FOLDER / "index.md").read_text(encoding="utf-8")
    pages = {**written_pages(), **made_pages()}
    for name in pages:
        assert name == "index.md" or f"({name})" in start, name
    assert len({title_of(text) for text in pages.values()}) == len(pages)


def test_a_page_of_the_site_shows_what_its_blocks_print_and_the_run_they_end_with() -> None:
    last = "octcore.solve(octcore.load_sample('iris'), 'cart', depth=1)"
    block = f"import octcore\nprint(2 + 3)\n{{}}{last}"
    page = "# Title\n\n```python\n{}\n```\n"
    shown = with_results(page.format(block.format("")))
    assert "```text\n5\n```" in shown
    assert "<svg" in shown
    unshown = page.format(block.format("run = "))
    assert with_results(unshown) == unshown
