"""The pages of the documentation: those that are written, and those made from the code.

The app shows them offline; ``mkdocs`` makes a site of the same pages (`octcore.docs.site`).
"""

from __future__ import annotations

import importlib
import inspect
import pydoc
import re
from functools import cache
from pathlib import Path

import octcore
from octcore import bench, plotting
from octcore.docs.generated import formulation_page, refresh
from octcore.formulations.base import list_formulations

FOLDER = Path(__file__).parent / "pages"
START = "<!-- generated: names -->"


def written_pages() -> dict[str, str]:
    """Text of the pages in the folder ``pages`` by relative path, the first page first."""
    paths = sorted(FOLDER.rglob("*.md"), key=lambda path: (path.stem != "index", str(path)))
    return {p.relative_to(FOLDER).as_posix(): p.read_text(encoding="utf-8") for p in paths}


@cache
def made_pages() -> dict[str, str]:
    """Text of the pages that the code makes: formulations, and what was measured."""
    pages = {f"formulations/{i.key}.md": formulation_page(i) for i in list_formulations()}
    results = Path(bench.__file__).with_name("RESULTS.md")
    return {"measured.md": results.read_text(encoding="utf-8"), **pages}


def title_of(text: str) -> str:
    """First heading of a page."""
    found = re.search(r"^# (.+)$", text, flags=re.MULTILINE)
    return found.group(1) if found else "octcore"


def public_objects() -> dict[str, str]:
    """Where every public function, class and module is at home, by the name that users import."""
    names = {f"octcore.{name}": getattr(octcore, name) for name in octcore.__all__}
    names |= {f"octcore.plotting.{name}": getattr(plotting, name) for name in plotting.__all__}
    return {
        name: name if inspect.ismodule(value) else f"{value.__module__}.{value.__name__}"
        for name, value in names.items()
        if not isinstance(value, str)  # a constant has no page
    }


def refresh_reference(text: str) -> str:
    """Return the reference page with new headings and directives between its markers."""
    parts = (f"## {name}\n\n::: {home}" for name, home in public_objects().items())
    return refresh(text, START, lambda: "\n" + "\n\n".join(parts) + "\n")


def without_directives(text: str) -> str:
    """Return the text with docstrings in place of the directives for mkdocstrings."""
    return re.sub(r"^::: (\S+)$", lambda found: _docstring(found[1]), text, flags=re.MULTILINE)


def for_reading(text: str) -> str:
    """Return a page as one text without a site around it: no links to other pages, no markers.

    Code has no colours: those of the highlighter are too weak on a light ground.
    """
    text = re.sub(r"<!--.*?-->", "", without_directives(text))
    text = re.sub(r"^```\w+$", "```text", text, flags=re.MULTILINE)
    return re.sub(r"\[([^\]]+)\]\((?![a-z]+://)[^)]*\)", r"**\1**", text)


def _docstring(path: str) -> str:
    module, _, name = path.rpartition(".")
    value = pydoc.locate(path) or getattr(importlib.import_module(module), name)
    try:
        heading = f"{name}{inspect.signature(value)}"  # pyright: ignore[reportArgumentType]
    except (TypeError, ValueError):
        heading = name
    return f"```text\n{heading}\n\n{inspect.getdoc(value) or ''}\n```"


if __name__ == "__main__":
    page = FOLDER / "reference.md"
    page.write_text(refresh_reference(page.read_text(encoding="utf-8")), encoding="utf-8")
