"""Several runs as a table, also in LaTeX, and references for a paper as BibTeX."""

import re
from collections.abc import Sequence

import pandas as pd

from octcore.data.serial import versions
from octcore.formulations.base import Reference, get_formulation
from octcore.solving.report import cut_families
from octcore.solving.run import COST_FIELDS, Run

COLUMNS = {
    "formulation": lambda run: run.formulation,
    "encoding": lambda run: run.encoding.key,
    "status": lambda run: run.status,
    "objective": lambda run: run.objective,
    "bound": lambda run: run.bound,
    "gap": lambda run: run.gap,
    "root_bound": lambda run: run.root_bound,
    "accuracy": lambda run: run.accuracy,
    "test_accuracy": lambda run: run.test_accuracy,
    **{  # where answers have costs; elsewhere the accuracy says it
        name: lambda run, name=name: getattr(run, name) if run.asked.has_task else None
        for name in COST_FIELDS
    },
    "leaves": lambda run: None if run.tree is None else run.tree.n_leaves,
    "features": lambda run: run.tree and len(run.encoding.tested(run.tree.used_features)),
    "seconds": lambda run: round(run.timings["total"], 3),
    "nodes": lambda run: max((event.nodes for event in run.trace), default=0) or None,
    "cuts": lambda run: ", ".join(f"{n:,} {k}" for k, n in cut_families(run).items()) or None,
    "rows": lambda run: run.model_size.get("rows"),
    "binaries": lambda run: run.model_size.get("binaries"),
    "method": lambda run: run.certificate.method,
}


def comparison_table(runs: Sequence[Run]) -> pd.DataFrame:
    """One line per run; columns in which all are empty are left out."""
    table = pd.DataFrame([{name: get(run) for name, get in COLUMNS.items()} for run in runs])
    return table.dropna(axis="columns", how="all")


def repeats_table(runs: Sequence[Sequence[Run]]) -> pd.DataFrame:
    """One line per training: means over its repetitions, and the spread of the test accuracy.

    With costs, accuracies are those of the rows that get a class, so mean costs stand beside them.
    """
    lines, names = [], ("accuracy", "test_accuracy", *COST_FIELDS, "leaves")
    for group in runs:
        scores = [[COLUMNS[name](run) for name in names] for run in group]
        found = pd.DataFrame(scores, columns=names, dtype=float)
        means = found.mean().to_dict()
        lines.append(
            {
                "formulation": group[0].formulation,
                "splits": len(group),
                "proven": sum(run.is_optimal for run in group),
                "accuracy": means.pop("accuracy"),
                "test_accuracy": means.pop("test_accuracy"),
                "spread": found["test_accuracy"].std(ddof=0),
                **means,
                "seconds": round(sum(run.timings["total"] for run in group), 3),
            }
        )
    return pd.DataFrame(lines).dropna(axis="columns", how="all")


AUTHOR = re.compile(r"[^,.;]+, (?:[A-Z]\.[ -]?)+")
HIGHS = Reference(
    "Huangfu, Q. and Hall, J. A. J.", 2018, "Parallelizing the dual revised simplex method",
    "Mathematical Programming Computation 10, 119-142", "10.1007/s12532-017-0130-5",
)  # fmt: skip
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
