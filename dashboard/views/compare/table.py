"""Runs side by side as a table of facts; what is the same for all can be left out."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from dashboard.views.compare.presets import flat_settings
from octcore.formulations.base import get_formulation, objective_words
from octcore.plotting import text
from octcore.reports.tables import comparison_table
from octcore.solving.run import Run

DASH = "–"
PARTS = ("setting", "result", "proof", "effort")
COVERS = "what it covers"
"""Too long for a cell: pages say it in full beside the run."""


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
    table = comparison_table(runs)
    covers = ("; ".join(run.certificate.sentences) for run in runs)
    for part, name, column, show in RESULTS:
        if column in table:
            values = [None if pd.isna(v) else v for v in table[column]]
            facts.append(Fact(part, name, tuple(DASH if v is None else show(v) for v in values)))
    facts += [
        Fact("proof", "certificate", tuple(run.badge for run in runs)),
        Fact("proof", COVERS, tuple(text.printable(words or DASH, 300) for words in covers)),
    ]
    facts = sorted(facts, key=lambda fact: PARTS.index(fact.part))
    return Comparison(tuple(labels), tuple(fact for fact in facts if set(fact.values) != {DASH}))


Show = Callable[[Any], str]

RESULTS: tuple[tuple[str, str, str, Show], ...] = (
    ("result", "accuracy, held out", "test_accuracy", text.percent),
    ("result", "accuracy, training", "accuracy", text.percent),
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


def _settings_facts(runs: Sequence[Run]) -> list[Fact]:
    flat = [flat_settings(run.settings) for run in runs]
    data: list[Mapping[str, Any]] = [run.about_data for run in runs]
    facts = [
        Fact("setting", "data", tuple(text.printable(d.get("name", DASH)) for d in data)),
        Fact("setting", "training rows", tuple(f"{run.n_train:,}" for run in runs)),
        Fact("setting", "what is optimised", tuple(objective_words(run.settings) for run in runs)),
    ]
    names = dict.fromkeys(name for entry in flat for name in entry)
    for name in names:
        values = tuple(_setting(name, entry.get(name)) for entry in flat)
        facts.append(Fact("setting", WORDS.get(name, name.replace("_", " ")), values))
    return facts


WORDS = {"test_size": "held out", "engine": "solver"}

SOLVERS = {"highs": "HiGHS", "scip": "SCIP", "gurobi": "Gurobi"}


def _setting(name: str, value: Any) -> str:
    if value is None:
        return DASH
    if name == "formulation":
        return get_formulation(str(value)).info.title
    if name == "engine":
        return SOLVERS.get(str(value), str(value).replace("-", " "))
    if name == "test_size":
        return f"{100 * value:g} %"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:g}" if isinstance(value, float) else text.printable(value, 80)
