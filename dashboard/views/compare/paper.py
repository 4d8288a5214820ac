"""Everything that a paper needs of a comparison, in one archive."""

import json
from collections.abc import Mapping, Sequence

from dashboard.views.compare.table import COVERS, comparison_data
from octcore.data.export import frame_to_csv
from octcore.errors import OctError
from octcore.reports.paper import bibtex, latex
from octcore.serial import versions
from octcore.solving.model_file import model_files
from octcore.solving.report import export_tree
from octcore.solving.run import Run

MOST_ENTRIES = 300_000
"""Of a model that is written while the page waits."""


def paper_files(runs: Sequence[Run], labels: Sequence[str], report: str) -> Mapping[str, str]:
    """Texts by file name: table, references, report, and of every run all it knows."""
    record = comparison_data(runs, labels)
    table = record.frame(only_differences=False)
    told = [fact.name for fact in record.facts if fact.differs or fact.part != "setting"]
    short = table.loc[table["fact"].isin(told) & (table["fact"] != COVERS)]
    files = {
        "comparison.csv": frame_to_csv(table),
        "comparison.tex": latex(short.drop(columns="")),
        "references.bib": bibtex(runs),
        "report.html": report,
    }
    lines = ["What stands here, run by run:", ""]
    for number, (run, label) in enumerate(zip(runs, labels, strict=True), start=1):
        folder = f"{number}-{run.formulation}"
        own = {"run.json": json.dumps(run.to_dict(), indent=1), "solve.log": run.log()}
        own["trace.jsonl"] = run.trace.to_json_lines()
        if run.tree is not None:
            own["tree.svg"] = export_tree(run, "svg")
        why_not = ""
        try:
            models = model_files(run, most_nonzeros=MOST_ENTRIES) if run.train else {}
            own |= {f"model{suffix}": text for suffix, text in models.items()}
        except OctError as error:
            why_not = f"; no model file: {error.message}"
        files |= {f"{folder}/{name}": text for name, text in own.items()}
        seed = run.settings.get("seed")
        lines.append(f"{folder}: {label}; {run.badge}, objective {run.objective}, "
                     f"bound {run.bound}, seed {seed}{why_not}")  # fmt: skip
    used = ", ".join(f"{name} {version}" for name, version in versions().items())
    files["README.txt"] = "\n".join([*lines, "", f"Written with {used}.", ""])
    return files
