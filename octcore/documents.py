"""Tables in the documents that come from the declarations; run to bring them up to date.

``python -m octcore.documents README.md`` rewrites what stands between the markers.
"""

from __future__ import annotations

import sys
from pathlib import Path

from octcore.formulations.base import list_formulations

START, END = "<!-- generated: formulations -->", "<!-- end -->"


def formulation_table() -> str:
    """Markdown table of all formulations."""
    lines = ["| key | what it is | splits | source |", "|---|---|---|---|"]
    for info in list_formulations():
        first = info.summary.split(". ")[0].rstrip(".")
        source = f"{info.reference.authors.split(',')[0]} {info.reference.year}"
        lines.append(f"| `{info.key}` | {info.title}: {first} | {info.split_kind} | {source} |")
    return "\n".join(lines)


def refresh(text: str) -> str:
    """Return the text with the table between the markers replaced."""
    head, _, rest = text.partition(START)
    _, _, tail = rest.partition(END)
    return f"{head}{START}\n{formulation_table()}\n{END}{tail}"


if __name__ == "__main__":
    for name in sys.argv[1:]:
        path = Path(name)
        path.write_text(refresh(path.read_text(encoding="utf-8")), encoding="utf-8")
