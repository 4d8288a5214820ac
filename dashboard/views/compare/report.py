"""A comparison to take away: as one self-contained HTML file, and as all that a paper needs."""

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from statistics import fmean, pstdev

from dashboard.views.compare.table import COVERS, comparison_data
from octcore.data.export import frame_to_csv
from octcore.errors import OctError
from octcore.plotting import text
from octcore.plotting.accuracy_plot import spread_data
from octcore.plotting.palette import LIGHT
from octcore.plotting.race import Entrant, known_optimum, race_data, race_figure, ran_together
from octcore.reports.charts import figure_svg
from octcore.reports.page import escaped, page, table
from octcore.reports.run_report import plane_picture
from octcore.reports.tables import bibtex, latex
from octcore.serial import versions
from octcore.solving.model_file import model_files
from octcore.solving.report import export_tree
from octcore.solving.run import Run


def comparison_html(
    entrants: Sequence[Entrant],
    runs: Sequence[Run],
    labels: Sequence[str],
    repeats: Sequence[Sequence[Run]] = (),
    share: float = 0.0,
) -> str:
    """Write the report of a comparison.

    `repeats`: runs on further splits of the rows, one sequence for every run; may be empty.
    `share`: share of the rows that these splits hold out.
    """
    name = "Comparison: " + ", ".join(labels)
    sections = [
        _head(runs, labels),
        _race(entrants),
        _differences(runs, labels),
        _accuracy(repeats, labels, share),
        _pictures(runs, labels),
        _certificates(runs, labels),
        f'<p class="weak">Written {datetime.now(UTC):%Y-%m-%d %H:%M} UTC with '
        f"{escaped(', '.join(f'{k} {v}' for k, v in versions().items()))}. Accuracies and "
        "objectives are recomputed by routing every row through the trees.</p>",
    ]
    return page(name, sections)


def _head(runs: Sequence[Run], labels: Sequence[str]) -> str:
    data = {str(run.about_data.get("name", "data")) for run in runs}
    badges = "".join(
        f"<li><b>{escaped(label)}</b> "
        f'<span class="badge{" proven" if run.is_proven else ""}">'
        f"{escaped(run.badge)}</span></li>"
        for run, label in zip(runs, labels, strict=True)
    )
    return (
        f"<h1>{len(runs)} trees on {escaped(', '.join(sorted(data)))}</h1>"
        f'<ul style="line-height:2">{badges}</ul>'
    )


def _race(entrants: Sequence[Entrant]) -> str:
    races = [race_data(entrants, scale) for scale in ("gap", "objective")]
    pictures = [figure_svg(race_figure(race, LIGHT), f"{race.title} over time") for race in races]
    drawn = [f'<div class="picture chart">{picture}</div>' for picture in pictures if picture]
    if not drawn:
        return ""
    optimum, by = known_optimum(entrants)
    words = [ran_together(entrants)]
    if optimum is not None:
        words.append(f"The optimum {optimum:.5g} is proven by {by}.")
    words.append("Thin lines are bounds; a star at the end of a line is a proof.")
    note = f'<p class="weak">{escaped(" ".join(words), 900)}</p>'
    return "<h2>Race</h2>" + "".join(drawn) + note


def _differences(runs: Sequence[Run], labels: Sequence[str]) -> str:
    record = comparison_data(runs, labels)
    rows = [(fact.name, *fact.values) for fact in record.differing]
    same = [(fact.name, fact.values[0]) for fact in record.in_common]
    return (
        "<h2>What differs</h2>"
        + table(("", *labels), rows)
        + "<h2>The same for all</h2>"
        + table(("", ""), same)
    )


def _accuracy(repeats: Sequence[Sequence[Run]], labels: Sequence[str], share: float) -> str:
    if not any(repeats):
        return ""
    rows = [
        (
            record.label,
            len(record.held_out),
            *(text.percent(of(record.held_out)) for of in (fmean, pstdev, min, max)),
            text.percent(fmean(record.training)),
        )
        for record in spread_data(repeats, labels)
        if record.held_out
    ]
    head = ("", "splits", "held out, mean", "deviation", "worst", "best", "training, mean")
    words = f"Each split holds out {100 * share:.0f} % of the rows; the same splits for all."
    return f'<h2>Accuracy on repeated splits</h2>{table(head, rows)}<p class="weak">{words}</p>'


def _pictures(runs: Sequence[Run], labels: Sequence[str]) -> str:
    return "".join(
        f'<h2>{escaped(label)}</h2><div class="picture">{export_tree(run, "svg")}</div>'
        + ("" if run.solved is None else plane_picture(run.solved)[0])
        for run, label in zip(runs, labels, strict=True)
        if run.tree is not None
    )


def _certificates(runs: Sequence[Run], labels: Sequence[str]) -> str:
    parts = []
    for run, label in zip(runs, labels, strict=True):
        items = "".join(f"<li>{escaped(s, 900)}</li>" for s in run.certificate.sentences)
        parts.append(f"<h3>{escaped(label)}</h3><ul>{items}</ul>")
    return "<h2>What is proven</h2>" + "".join(parts)


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
