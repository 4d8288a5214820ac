"""One run as one self-contained HTML file: no script, no network, every name escaped."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from dashboard.reports.charts import convergence_svg, plane_svg
from dashboard.reports.page import escaped as _text
from dashboard.reports.page import page
from dashboard.reports.page import table as _table
from octcore.formulations.base import get_formulation, objective_words
from octcore.plotting import text
from octcore.plotting.gap_plot import convergence_data
from octcore.plotting.plane_plot import default_axes, plane_data
from octcore.reports.tables import export_tree
from octcore.serial import versions
from octcore.solving.run import Run
from octcore.tree.wording import rules


def report_html(run: Run, name: str) -> str:
    """Write the report of a run.

    Parameters
    ----------
    run : Run
        Finished, with or without a tree.
    name : str
        Heading.
    """
    sections = [
        _head(run, name),
        _tree(run),
        _plane(run),
        _convergence(run),
        _rules(run),
        _certificate(run),
        _settings(run),
        f'<p class="weak">Written {datetime.now(UTC):%Y-%m-%d %H:%M} UTC by octcore. Accuracies '
        "and objective are recomputed by routing every row through the tree.</p>",
    ]
    return page(name, sections)


def _head(run: Run, name: str) -> str:
    proven = run.is_optimal and run.certificate.proven
    data = dict(run.settings.get("data") or {})
    numbers = {
        "training accuracy": text.percent(run.accuracy),
        "held-out accuracy": text.percent(run.test_accuracy),
        "always the largest class": text.percent(run.majority_accuracy),
        "leaves": "–" if run.tree is None else str(run.tree.n_leaves),
        "objective": text.number(run.objective, 6),
        "bound": text.number(run.bound, 6),
        "gap": text.gap(run.gap),
        "time": text.seconds(run.timings.get("total")),
    }
    cells = "".join(f"<div><dt>{k}</dt><dd>{_text(v)}</dd></div>" for k, v in numbers.items())
    title = get_formulation(run.formulation).info.title
    return (
        f"<h1>{_text(name)}</h1>"
        f'<p><span class="badge{" proven" if proven else ""}">{_text(run.badge)}</span>'
        f" {_text(title)} on {_text(data.get('name', 'data'))}, {run.n_train:,} training rows"
        f", {run.n_test:,} held out</p>"
        f'<dl class="numbers">{cells}</dl>'
    )


def _tree(run: Run) -> str:
    if run.tree is None:
        return "<h2>Tree</h2><p>There is no tree.</p>"
    return f'<h2>Tree</h2><div class="picture">{export_tree(run, "svg")}</div>'


def _plane(run: Run) -> str:
    if run.tree is None or run.train is None:
        return ""
    axes = default_axes(run.tree, run.encoding, run.train)
    if axes is None:
        return ""
    record = plane_data(run.tree, run.encoding, run.train, *axes, formulation=run.formulation)
    note = "Errors carry a cross; support vectors are ringed; margins are dashed."
    if record.held:
        held = ", ".join(
            f"{name} = {text.number(v) if isinstance(v, float) else v}"
            for name, v in record.held.items()
        )
        note = f"The regions are a slice at {held}. {note}"
    return (
        f'<h2>Plane</h2><div class="picture chart">{plane_svg(record)}</div>'
        f'<p class="weak">{_text(note, 900)}</p>'
    )


def _convergence(run: Run) -> str:
    objective = objective_words(run.settings)
    record = convergence_data(run.trace, "gap", objective, closed=run.is_optimal)
    charts = [convergence_svg(record, absolute) for absolute in (False, True)]
    pictures = "".join(f'<div class="picture chart">{c}</div>' for c in charts if c)
    if not pictures:
        return ""
    spent = ", ".join(f"{k} {text.seconds(v)}" for k, v in run.timings.items())
    return f'<h2>Convergence</h2>{pictures}<p class="weak">Time spent: {_text(spent)}.</p>'


def _rules(run: Run) -> str:
    if run.tree is None or run.train is None or run.train.y is None:
        return ""
    found = rules(run.tree, run.encoding, run.encoding.transform(run.train.frame), run.train.y)
    rows = [
        (
            text.words(" and ".join(rule.conditions)) or "always",
            rule.label,
            f"{rule.n_samples:,}",
            _right(rule.class_counts, run.tree.labels[rule.leaf]),
        )
        for rule in found
    ]
    return "<h2>Rules</h2>" + _table(("if", "then", "rows", "right"), rows)


def _right(counts: Sequence[int], label: int) -> str:
    total = sum(counts)
    return text.percent(counts[label] / total) if total else "–"


def _certificate(run: Run) -> str:
    statements = (*run.certificate.sentences, *run.findings)
    items = "".join(f"<li>{_text(s, 900)}</li>" for s in statements)
    words = f"Method: {_text(run.certificate.method)}. Status: {_text(run.status)}, stopped by "
    return f"<h2>Certificate</h2><p>{words}{_text(run.stop_reason)}.</p><ul>{items}</ul>"


def _settings(run: Run) -> str:
    given = dict(run.settings)
    nested = [dict(given.pop(name, None) or {}) for name in ("params", "constraints", "data")]
    parts = zip(("", "", "data "), nested, strict=True)
    rows = list(given.items())
    rows += [(f"{part}{name}", value) for part, record in parts for name, value in record.items()]
    rows += [(f"model {name}", f"{value:,}") for name, value in run.model_size.items()]
    shown = [(name.replace("_", " "), value) for name, value in rows if value is not None]
    written = ", ".join(f"{name} {number}" for name, number in versions().items())
    return (
        "<h2>Settings and data</h2>"
        + _table(("", ""), shown)
        + f'<p class="weak">This report was written with {_text(written)}.</p>'
    )
