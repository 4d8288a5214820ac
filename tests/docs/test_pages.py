"""The pages under ``octcore/docs``: every block runs, every link and every named object exists."""

from __future__ import annotations

import pydoc
import re
import shlex
from pathlib import Path

import pytest

import octcore
from octcore.cli import main

FOLDER = Path(octcore.__file__).parent / "docs" / "pages"
PAGES = sorted(FOLDER.rglob("*.md"))


def _blocks(page: Path) -> list[tuple[str, str]]:
    return re.findall(r"```(\w*)\n(.*?)```", page.read_text(encoding="utf-8"), flags=re.DOTALL)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
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
        assert "://" in target or (page.parent / target).exists(), target


def test_the_reference_names_objects_that_exist() -> None:
    named = re.findall(r"^::: (\S+)$", (FOLDER / "reference.md").read_text(), flags=re.MULTILINE)
    assert len(named) >= 10
    for path in named:
        assert pydoc.locate(path).__doc__, path


def test_the_first_page_links_every_other() -> None:
    start = (FOLDER / "index.md").read_text(encoding="utf-8")
    for page in PAGES:
        relative = page.relative_to(FOLDER).as_posix()
        assert relative == "index.md" or f"({relative})" in start
