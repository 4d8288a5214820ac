"""Documents that come from the declarations: the table in the README, a page per formulation.

``python -m octcore.docs.generated README.md`` rewrites what stands between the markers;
``octcore describe KEY --markdown`` prints a page.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from pathlib import Path

from octcore.constraints import ACCEPTED
from octcore.formulations.base import FormulationInfo, list_formulations
from octcore.parameters import Parameter

START, END = "<!-- generated: formulations -->", "<!-- end -->"
SAMPLES = {2: "4-partitions"}
"""Sample for the example of a page, by the largest number of classes."""


def formulation_table() -> str:
    """Markdown table of all formulations."""
    lines = ["| key | what it is | splits | source |", "|---|---|---|---|"]
    for info in list_formulations():
        first = info.summary.split(". ")[0].rstrip(".")
        source = f"{info.reference.authors.split(',')[0]} {info.reference.year}"
        lines.append(f"| `{info.key}` | {info.title}: {first} | {info.split_kind} | {source} |")
    return "\n".join(lines)


def formulation_page(info: FormulationInfo) -> str:
    """Markdown page of one formulation, all from its declaration."""
    parts = [f"# {info.title}", info.summary]
    if info.good_at:
        parts.append(f"**Good at:** {info.good_at}")
    rows = (f"| {name} | {_cell(text)} |" for name, text in facts(info).items())
    parts.append("\n".join(["| | |", "|---|---|", *rows]))
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
    lines = ["| setting | symbol | default | range | what it does |", "|---|---|---|---|---|"]
    for p in declared:
        symbol = f"${p.symbol}$" if p.symbol else ""
        default = "not used" if p.default is None else f"{p.default}"
        cells = [f"`{p.name}`", symbol, default, p.describe_range(), p.help]
        lines.append("| " + " | ".join(_cell(cell) for cell in cells) + " |")
    return "\n".join(lines)


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


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


if __name__ == "__main__":
    for name in sys.argv[1:]:
        path = Path(name)
        path.write_text(refresh(path.read_text(encoding="utf-8")), encoding="utf-8")
