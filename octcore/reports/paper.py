"""What a paper needs of runs: references as BibTeX, a table as LaTeX."""

from __future__ import annotations

import re
from collections.abc import Sequence

import pandas as pd

from octcore.formulations.base import Reference, get_formulation
from octcore.serial import versions
from octcore.solving.run import Run

AUTHOR = re.compile(r"[^,.;]+, (?:[A-Z]\.[ -]?)+")
HIGHS = Reference(
    "Huangfu, Q. and Hall, J. A. J.",
    2018,
    "Parallelizing the dual revised simplex method",
    "Mathematical Programming Computation 10, 119-142",
    "10.1007/s12532-017-0130-5",
)
SOLVERS = {
    "highs": HIGHS,
    "branch-and-cut": HIGHS,  # solves its LPs
    "scip": Reference("SCIP", 2024, "The SCIP optimization suite", "https://scipopt.org"),
    "gurobi": Reference("Gurobi Optimization, LLC", 2024, "Gurobi optimizer reference manual"),
}
"""By engine; the other engines are ours."""


def bibtex(runs: Sequence[Run]) -> str:
    """References of the formulations and solvers that runs used, and of this software."""
    used = {run.formulation: get_formulation(run.formulation).info.reference for run in runs}
    used |= {key: SOLVERS[key] for run in runs if (key := run.settings.get("engine")) in SOLVERS}
    keys = {entry.doi or entry.title: key for key, entry in reversed(used.items())}
    own = (
        "@software{octcore,\n"
        "  title = {{octcore: optimal classification trees, trained to proven optimality}},\n"
        f"  version = {{{versions().get('octcore', '')}}},\n}}\n"
    )
    return "\n".join([*(_entry(key, used[key]) for key in reversed(keys.values())), own])


def _entry(key: str, reference: Reference) -> str:
    authors, _, note = reference.authors.partition(";")
    listed = [name.strip() for name in AUTHOR.findall(re.sub(r"(?<=\.) and ", ", ", authors))]
    fields = {
        "author": " and ".join(name.removeprefix("and ") for name in listed) or f"{{{authors}}}",
        "title": f"{{{reference.title}}}",
        "journal": reference.venue,
        "year": str(reference.year),
        "doi": reference.doi,
        "note": note.strip(),
    }
    lines = "".join(f"  {name} = {{{value}}},\n" for name, value in fields.items() if value)
    return f"@{'article' if reference.venue else 'misc'}{{{key},\n{lines}}}\n"


def latex(table: pd.DataFrame) -> str:
    """Write a table for the package booktabs; every special character is escaped."""
    rows = [list(table.columns), *table.astype(str).to_numpy().tolist()]
    head, *body = (" & ".join(map(_latex, row)) + r" \\" for row in rows)
    lines = [r"\begin{tabular}{" + "l" * table.shape[1] + "}", r"\toprule", head, r"\midrule"]
    return "\n".join([*lines, *body, r"\bottomrule", r"\end{tabular}", ""])


def _latex(value: object) -> str:
    text = re.sub(r"([&%$#_{}])", r"\\\1", str(value).replace("\\", "/"))
    return text.replace("~", r"\textasciitilde{}").replace("^", r"\textasciicircum{}")
