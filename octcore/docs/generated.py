"""The documentation: pages that are written, and what comes from the code and the declarations.

``python -m octcore.docs.generated README.md`` rewrites what stands between the markers there and in
the reference; ``octcore describe KEY --markdown`` prints the page of a formulation.  The app shows
pages offline; ``mkdocs`` makes a site of the same pages (`octcore.docs.site`).
"""

import importlib
import inspect
import pydoc
import re
import sys
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path

import octcore
from octcore import bench, plotting
from octcore.formulations.base import FormulationInfo, list_formulations
from octcore.parameters import Parameter
from octcore.plotting.text import markdown_table
from octcore.tree.constraints import ACCEPTED

START, END = "<!-- generated: formulations -->", "<!-- end -->"
SAMPLES = {2: "4-partitions"}  # sample for the example of a page, by the largest number of classes
FOLDER = Path(__file__).parent / "pages"
NAMES = "<!-- generated: names -->"


def formulation_table() -> str:
    """Markdown table of all formulations."""
    rows = [("key", "what it is", "splits", "source")]
    for info in list_formulations():
        first = info.summary.split(". ")[0].rstrip(".")
        source = f"{info.reference.authors.split(',')[0]} {info.reference.year}"
        rows.append((f"`{info.key}`", f"{info.title}: {first}", info.split_kind, source))
    return markdown_table(*rows)


def formulation_page(info: FormulationInfo) -> str:
    """Markdown page of one formulation, all from its declaration."""
    parts = [f"# {info.title}", info.summary]
    if info.good_at:
        parts.append(f"**Good at:** {info.good_at}")
    parts.append(markdown_table(("", ""), *facts(info).items()))
    if info.equations:
        parts.append("## Model")
        parts += [f"$${formula}$$\n\n{words}" for formula, words in info.equations]
    if info.hyperparameters:
        parts += ["## Settings", _settings(info.hyperparameters)]
    able = [parameter for parameter in ACCEPTED if parameter.name in info.constraints]
    if able:
        parts += ["## Side constraints and weights", _settings(able)]
    parts += ["## Example", _example(info), "## Reference", str(info.reference)]
    return "\n\n".join(parts) + "\n"


def facts(info: FormulationInfo) -> dict[str, str]:
    """What a formulation takes and does, by name; words of the command line stand in backticks."""
    classes = "any number" if info.max_classes is None else f"up to {info.max_classes}"
    features = "0 and 1" if info.needs_binary_features else "numbers and 0 and 1"
    return {
        "key": f"`{info.key}`",
        "splits": info.split_kind,
        "encoded features": f"{features}; `{info.default_encoding}` by default",
        "classes": classes,
        "objective": f"{info.sense.name.lower()} {info.objective}",
        "depth": f"up to {info.max_depth}",
        "engines": ", ".join(f"`{key}`" for key in info.engines),
        "side constraints": ", ".join(f"`{n}`" for n in sorted(info.constraints)) or "none",
    }


def _settings(declared: Iterable[Parameter]) -> str:
    rows = [("setting", "symbol", "default", "range", "what it does")]
    for p in declared:
        default = "not used" if p.default is None else f"{p.default}"
        rows.append((f"`{p.name}`", p.symbol, default, p.describe_range(), p.help))
    return markdown_table(*rows)


def _example(info: FormulationInfo) -> str:
    sample = SAMPLES.get(info.max_classes or 0, "iris")
    lines = [
        "import octcore",
        "",
        f'data = octcore.load_sample("{sample}")',
        f'run = octcore.solve(data, formulation="{info.key}", depth=1, time_limit=5)',
        "print(run.status, run.objective, run.accuracy)",
    ]
    return "```python\n" + "\n".join(lines) + "\n```"


def refresh(text: str, start: str = START, made: Callable[[], str] = formulation_table) -> str:
    """Return a text with what stands between two markers made anew."""
    head, _, rest = text.partition(start)
    return f"{head}{start}\n{made()}\n{END}{rest.partition(END)[2]}"


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
        name: name
        if inspect.ismodule(value)
        else f"{inspect.unwrap(value).__module__}.{value.__name__}"
        for name, value in names.items()
        if not isinstance(value, str)  # a constant has no page
    }


def refresh_reference(text: str) -> str:
    """Return the reference page with new headings and directives between its markers."""
    parts = (f"## {name}\n\n::: {home}" for name, home in public_objects().items())
    return refresh(text, NAMES, lambda: "\n" + "\n\n".join(parts) + "\n")


def without_directives(text: str) -> str:
    """Return the text with docstrings in place of the directives for mkdocstrings."""
    return re.sub(r"^::: (\S+)$", lambda found: _docstring(found[1]), text, flags=re.MULTILINE)


def for_reading(text: str, address: Callable[[str], str] = str) -> str:
    """Return a page as one text one heading lower, its links by `address`; no markers.

    Code has no colours: those of the highlighter are too weak on a light ground.
    """
    text = re.sub(r"<!--.*?-->", "", without_directives(text))
    text = re.sub(r"^```.*?^```|^(?=#)", lambda at: at[0] or "#", text, flags=re.M | re.S)
    text = re.sub(r"^```\w+$", "```text", text, flags=re.MULTILINE)
    return re.sub(r"(?<=\]\()(?![a-z]+://)[^)]+", lambda link: address(link[0]), text)


def _docstring(path: str) -> str:
    module, _, name = path.rpartition(".")
    value = pydoc.locate(path) or getattr(importlib.import_module(module), name)
    try:
        heading = f"{name}{inspect.signature(value)}"  # pyright: ignore[reportArgumentType]
    except (TypeError, ValueError):
        heading = name
    return f"```text\n{heading}\n\n{inspect.getdoc(value) or ''}\n```"


if __name__ == "__main__":
    reference = FOLDER / "reference.md"
    for path, made in ((reference, refresh_reference), *((Path(p), refresh) for p in sys.argv[1:])):
        path.write_text(made(path.read_text(encoding="utf-8")), encoding="utf-8")
