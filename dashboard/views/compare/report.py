"""Runs side by side as a table of facts, and the comparison to take away, also for a paper."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from operator import attrgetter
from statistics import fmean, pstdev
from typing import Any

import pandas as pd

from dashboard.views.compare.presets import flat_beside
from octcore.data.export import frame_to_csv
from octcore.data.serial import versions
from octcore.engines.events import relative_gap
from octcore.errors import OctError
from octcore.formulations.base import get_formulation, objective_words
from octcore.plotting import text
from octcore.plotting.accuracy import Spread
from octcore.plotting.gap_plot import Entrant, race_data, race_figure, race_words
from octcore.plotting.palette import LIGHT
from octcore.reports.charts import figure_svg
from octcore.reports.page import badge, escaped, listed, page, pictures, table, tree_picture, weak
from octcore.reports.run_report import plane_picture
from octcore.reports.tables import COLUMNS, bibtex, latex
from octcore.solving.model_file import model_files
from octcore.solving.report import export_tree
from octcore.solving.run import Run

DASH = "–"
PARTS = ("setting", "result", "proof", "effort")


@dataclass(frozen=True)
class Fact:
    """One line: its part of the table, its name, one text per run."""

    part: str
    name: str
    values: tuple[str, ...]

    @property
    def differs(self) -> bool:
        """Whether the runs do not all say the same."""
        return len(set(self.values)) > 1


@dataclass(frozen=True)
class Comparison:
    """The whole table: short names of the runs, and the facts."""

    labels: tuple[str, ...]
    facts: tuple[Fact, ...]

    @property
    def differing(self) -> tuple[Fact, ...]:
        """Only what differs."""
        return tuple(fact for fact in self.facts if fact.differs)

    @property
    def in_common(self) -> tuple[Fact, ...]:
        """What is the same for all, empty lines left out."""
        return tuple(f for f in self.facts if not f.differs and set(f.values) != {DASH})

    def frame(self, only_differences: bool = True) -> pd.DataFrame:
        """One row per fact, one column per run."""
        facts = self.differing if only_differences else self.facts
        columns = {"": [fact.part for fact in facts], "fact": [fact.name for fact in facts]}
        for position, label in enumerate(self.labels):
            name = text.free(text.printable(label), columns)
            columns[name] = [fact.values[position] for fact in facts]
        return pd.DataFrame(columns)


def comparison_data(runs: Sequence[Run], labels: Sequence[str]) -> Comparison:
    """Collect settings, results, size and certificate of every run."""
    facts = _settings_facts(runs)
    has_costs = any(run.asked.has_task for run in runs)
    for part, name, column, show in RESULTS:
        if column == "mean_cost" and not has_costs:
            continue  # of errors it is what the accuracy says
        values = map(OWN.get(column, attrgetter(column)), runs)
        facts.append(Fact(part, name, tuple(DASH if v is None else show(v) for v in values)))
    facts.append(Fact("proof", "certificate", tuple(run.badge for run in runs)))
    facts = sorted(facts, key=lambda fact: PARTS.index(fact.part))
    return Comparison(tuple(labels), tuple(fact for fact in facts if set(fact.values) != {DASH}))


def _own_bound(run: Run) -> float | None:
    """What its own solve proved, as charts draw it; `run.bound` may be the proof of another."""
    return run.bound if run.is_optimal or not len(run.trace) else run.trace.events[-1].bound


OWN = COLUMNS | {
    "bound": _own_bound,
    "gap": lambda run: relative_gap(run.objective, _own_bound(run)),
}
Show = Callable[[Any], str]

RESULTS: tuple[tuple[str, str, str, Show], ...] = (
    ("result", "accuracy, held out", "test_accuracy", text.percent),
    ("result", "accuracy, training", "accuracy", text.percent),
    ("result", "balanced accuracy", "balanced_accuracy", text.percent),
    ("result", "mean cost", "mean_cost", text.number),
    ("result", "leaves", "leaves", lambda v: f"{v:.0f}"),
    ("result", "features used", "features", lambda v: f"{v:.0f}"),
    ("proof", "objective", "objective", text.fixed),
    ("proof", "bound", "bound", text.fixed),
    ("proof", "gap", "gap", text.gap),
    ("proof", "root bound", "root_bound", text.fixed),
    ("effort", "time", "seconds", text.seconds),
    ("effort", "nodes", "nodes", lambda v: f"{v:,.0f}"),
    ("effort", "cuts", "cuts", text.printable),
    ("effort", "model rows", "rows", lambda v: f"{v:,.0f}"),
    ("effort", "binary variables", "binaries", lambda v: f"{v:,.0f}"),
)
"""Part, name, column of a table of runs or property of a run, and how it is written."""


def _settings_facts(runs: Sequence[Run]) -> list[Fact]:
    flat = flat_beside([run.settings for run in runs], of_defaults=True)
    data: list[Mapping[str, Any]] = [run.about_data for run in runs]
    objectives = [objective_words(run.settings) for run in runs]
    facts = [
        Fact("setting", "data", tuple(text.printable(d.get("name", DASH)) for d in data)),
        Fact("setting", "training rows", tuple(f"{run.n_train:,}" for run in runs)),
        Fact("setting", "what is optimised", tuple(map(text.objective, objectives))),
    ]
    for name in dict.fromkeys(name for entry in flat for name in entry):
        values = tuple(_setting(name, entry.get(name)) for entry in flat)
        facts.append(Fact("setting", WORDS.get(name, name.replace("_", " ")), values))
    return facts


WORDS = {"test_size": "held out", "engine": "solver"}


def _setting(name: str, value: Any) -> str:
    if value is None:
        return DASH
    if name == "formulation":
        return get_formulation(str(value)).info.title
    if name == "test_size":
        return f"{100 * value:g} %"
    return text.printable(text.value(value), 80)


def comparison_html(
    entrants: Sequence[Entrant],
    runs: Sequence[Run],
    labels: Sequence[str],
    repeats: Sequence[Spread] = (),
    share: float = 0.0,
) -> str:
    """Write the report; `repeats` are of further splits, each of which holds out a share."""
    name, named = "Comparison: " + ", ".join(labels), [*zip(labels, runs, strict=True)]
    sections = [
        _head(runs, labels),
        _race(entrants),
        _differences(runs, labels),
        _accuracy(repeats, share),
        *(
            f"<h2>{escaped(n)}</h2>{tree_picture(r)}"
            + ("" if r.solved is None else plane_picture(r.solved))
            for n, r in named
            if r.tree is not None
        ),
        "<h2>What is proven</h2>",
        *(f"<h3>{escaped(n)}</h3>{listed(r.certificate.sentences)}" for n, r in named),
        f'<p class="weak">Written {datetime.now(UTC):%Y-%m-%d %H:%M} UTC with '
        f"{escaped(', '.join(f'{k} {v}' for k, v in versions().items()))}. Accuracies and "
        "objectives are recomputed by routing every row through the trees.</p>",
    ]
    return page(name, sections)


def _head(runs: Sequence[Run], labels: Sequence[str]) -> str:
    data = {str(run.about_data.get("name", "data")) for run in runs}
    named = zip(labels, runs, strict=True)
    badges = "".join(f"<li><b>{escaped(name)}</b> {badge(run)}</li>" for name, run in named)
    return (
        f"<h1>{len(runs)} trees on {escaped(', '.join(sorted(data)))}</h1>"
        f'<ul style="line-height:2">{badges}</ul>'
    )


def _race(entrants: Sequence[Entrant]) -> str:
    races = [race_data(entrants, scale) for scale in ("gap", "objective")]
    charts = (figure_svg(race_figure(race, LIGHT), f"{race.title} over time") for race in races)
    drawn = pictures(charts)
    if not drawn:
        return ""
    return f"<h2>Race</h2>{drawn}{weak(race_words(entrants, 'objective'))}"


def _differences(runs: Sequence[Run], labels: Sequence[str]) -> str:
    record = comparison_data(runs, labels)
    rows = [(fact.name, *fact.values) for fact in record.differing]
    return (
        "<h2>What differs</h2>"
        + table(("", *labels), rows)
        + "<h2>The same for all</h2>"
        + table(("", ""), [(fact.name, fact.values[0]) for fact in record.in_common])
    )


def _accuracy(repeats: Sequence[Spread], share: float) -> str:
    rows = [
        (
            record.label,
            len(record.held_out),
            *(text.percent(of(record.held_out)) for of in (fmean, pstdev, min, max)),
            text.percent(fmean(record.training)),
        )
        for record in repeats
        if record.held_out
    ]
    if not rows:
        return ""
    head = ("", "splits", "held out, mean", "deviation", "worst", "best", "training, mean")
    words = f"Each split holds out {text.percent(share, 0)} of the rows; the same splits for all."
    return f"<h2>Accuracy on repeated splits</h2>{table(head, rows)}{weak(words)}"


MOST_ENTRIES = 300_000  # of a model that is written while the page waits


def paper_files(runs: Sequence[Run], labels: Sequence[str], report: str) -> Mapping[str, str]:
    """Texts by file name: table, references, report, and of every run all it knows."""
    record = comparison_data(runs, labels)
    table = record.frame(only_differences=False)
    short = table.loc[[fact.differs or fact.part != "setting" for fact in record.facts]]
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
        seed, bound = run.settings.get("seed"), DASH if run.bound is None else run.bound
        lines.append(f"{folder}: {label}; {run.badge}, objective {run.objective}, "
                     f"bound {bound}, seed {seed}{why_not}")  # fmt: skip
    used = ", ".join(f"{name} {version}" for name, version in versions().items())
    files["README.txt"] = "\n".join([*lines, "", f"Written with {used}.", ""])
    return files
