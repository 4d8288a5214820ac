"""Hooks of mkdocs: pages made from the code, and the trees that a page's blocks end with.

A block whose last line is a `Run` shows it below, as a notebook does; everything is computed while
the site is built.
"""

import ast
import contextlib
import io
import re
from typing import Any

from octcore.docs.generated import made_pages
from octcore.solving.run import Run

BLOCK = re.compile(r"```python\n(.*?)```", flags=re.DOTALL)


def on_files(files: Any, config: Any) -> Any:
    """Add the pages that the code makes."""
    from mkdocs.structure.files import File  # pyright: ignore[reportMissingImports]

    for path, text in made_pages().items():
        files.append(File.generated(config, path, content=text))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """Put below a block what it prints, and the run that it ends with."""
    del page, config, files
    return with_results(markdown)


def with_results(markdown: str) -> str:
    """Return a page with the results of its blocks, which share names, if one has a value."""
    if not any(_last_value(block) for block in BLOCK.findall(markdown)):
        return markdown
    names: dict[str, Any] = {"__name__": "page"}
    return BLOCK.sub(lambda found: found[0] + _result(found[1], names), markdown)


def _last_value(block: str) -> ast.expr | None:
    """The last line, if it is there to be shown and not only to do something."""
    last = ast.parse(block).body[-1]
    if not isinstance(last, ast.Expr):
        return None
    call = last.value
    is_print = isinstance(call, ast.Call) and ast.unparse(call.func) == "print"
    return None if is_print else call


def _result(block: str, names: dict[str, Any]) -> str:
    body = ast.parse(block).body
    value = _last_value(block)
    if value is not None:
        body.pop()
    shown = io.StringIO()
    with contextlib.redirect_stdout(shown):
        exec(compile(ast.Module(body, []), "page", "exec"), names)
        result = (
            None if value is None else eval(compile(ast.Expression(value), "page", "eval"), names)
        )
    text = f"\n\n```text\n{shown.getvalue()}```" if shown.getvalue() else ""
    picture = f"\n\n<div>{result._repr_html_()}</div>\n" if isinstance(result, Run) else ""
    return text + picture
