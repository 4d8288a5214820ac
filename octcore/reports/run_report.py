"""One run as one HTML file, words first and the technical part folded; and as one slide."""

import re
import textwrap
from collections.abc import Mapping
from datetime import UTC, datetime

from octcore.data.serial import versions
from octcore.errors import OctError
from octcore.formulations.base import get_formulation, loss_words, objective_words
from octcore.plotting import text
from octcore.plotting.gap_plot import convergence_data, convergence_figure
from octcore.plotting.palette import LIGHT
from octcore.plotting.plane_plot import default_axes, plane_data, plane_figure
from octcore.plotting.row_path import value_text
from octcore.reports.charts import figure_svg
from octcore.reports.page import badge, listed, page, pictures, tree_picture, weak
from octcore.reports.page import escaped as _text
from octcore.reports.page import table as _table
from octcore.reports.questionnaire import SCRIPT, questionnaire_html
from octcore.reports.summary import (
    Summary,
    beside_html,
    errors_html,
    headline_words,
    rules_html,
    summary,
)
from octcore.solving.column_values import most_lost, threshold_spans
from octcore.solving.report import export_tree
from octcore.solving.run import Run, SolvedRun
from octcore.tree.export.drawings import MOST_COUNTED
from octcore.tree.wording import split_words

THRESHOLD_SECONDS = 5.0  # for how far all thresholds of a report may move


def report_html(run: Run, name: str, greedy: SolvedRun | None = None) -> str:
    """Write the report of a run."""
    found = summary(run, greedy)
    questions = "" if found is None else questionnaire_html(run.needed, found)
    technical = (_plane(run), _convergence(run), _certificate(run), _numbers(run), _settings(run))
    sections = [
        _head(run, name, found),
        _tree(run),
        *(() if found is None else (questions, rules_html(found), errors_html(found))),
        "" if run.solved is None else _thresholds(run.solved),
        "" if found is None else beside_html(found),
        f"<details><summary>For specialists: proof, settings and data</summary>"
        f"{''.join(technical)}</details>",
        f'<p class="weak">Written {datetime.now(UTC):%Y-%m-%d %H:%M} UTC by octcore. Accuracies '
        "and objective are recomputed by routing every row through the tree.</p>",
    ]
    return page(name, sections, SCRIPT if questions else "")


def _head(run: Run, name: str, found: Summary | None) -> str:
    data = run.about_data
    lead = "" if found is None else f'<p class="lead">{_text(headline_words(found), 2000)}</p>'
    numbers = {
        "accuracy, held out": text.percent(run.test_accuracy),
        "accuracy, training": text.percent(run.accuracy),
        "always the largest class": text.percent(None if found is None else found.guess.share),
        "leaves": "–" if run.tree is None else str(run.tree.n_leaves),
    }
    return (
        f"<h1>{_text(name)}</h1>"
        f"<p>{badge(run)} on {_text(data.get('name', 'data'))}, {run.n_train:,} training rows"
        f", {run.n_test:,} held out</p>{lead}{_cells(numbers)}"
    )


def _numbers(run: Run) -> str:
    numbers = {
        "objective": text.number(run.objective, 6),
        "bound": text.number(run.bound, 6),
        "gap": text.gap(run.gap),
        "time": text.seconds(run.timings.get("total")),
    }
    title = get_formulation(run.formulation).info.title
    return f"<h2>Solve</h2><p>{_text(title)}</p>{_cells(numbers)}"


def _cells(numbers: Mapping[str, str]) -> str:
    cells = "".join(f"<div><dt>{k}</dt><dd>{_text(v)}</dd></div>" for k, v in numbers.items())
    return f'<dl class="numbers">{cells}</dl>'


def _tree(run: Run) -> str:
    if run.tree is None:
        keeps = f": none of depth {run.depth} or less keeps the side constraints"
        why = keeps if run.status == "infeasible" else ""
        return f"<h2>Tree</h2><p>There is no tree{why}.</p>"
    return f"<h2>Tree</h2>{tree_picture(run)}"


def plane_picture(run: SolvedRun) -> tuple[str, str]:
    """Draw the plane of a run as HTML, and say what it shows; both empty without two columns."""
    axes = default_axes(run.tree, run.encoding, run.train)
    if axes is None:
        return "", ""
    record = plane_data(run.tree, run.encoding, run.train, *axes, formulation=run.formulation)
    note = "Errors carry a cross; support vectors are ringed; margins are dashed."
    if record.held:
        held = ", ".join(f"{name} = {value_text(value)}" for name, value in record.held.items())
        note = f"The regions are a slice at {held}. {note}"
    figure, words = plane_figure(record, LIGHT, selected=0), f"Plane of {record.places.words}"
    return pictures([figure_svg(figure, words)]), note


def _thresholds(run: SolvedRun) -> str:
    """How far the thresholds of the tree may move; empty where the search cannot be asked that."""
    try:
        spans = threshold_spans(run, THRESHOLD_SECONDS)
    except OctError:  # another objective, or what ties both sides of a split together
        return ""
    rows = []
    for node, span in spans.items():
        told = split_words(run.tree.splits[node], run.encoding)
        ends = "not found in time" if span is None else " to ".join(map(value_text, span))
        rows.append((node, text.words(told.test), ends))
    words = (
        "Every threshold between the two numbers costs less than "
        f"{loss_words(most_lost(run), run.settings)}: the rest of the tree stays, what is below is "
        "searched again and proven."
    )
    found = _table(("node", "question", "threshold may be"), rows)
    told = f'<h2>How far the thresholds may move</h2>{found}<p class="weak">{words}</p>'
    return told if rows else ""


def _plane(run: Run) -> str:
    picture, note = ("", "") if run.solved is None else plane_picture(run.solved)
    return f"<h2>Plane</h2>{picture}{weak(note)}" if picture else ""


def _convergence(run: Run) -> str:
    objective = objective_words(run.settings)
    record = convergence_data(run.trace, objective, closed=run.is_optimal)
    charts = pictures(
        figure_svg(convergence_figure(record, LIGHT, absolute), f"{words} over time")
        for absolute, words in ((False, "relative gap"), (True, objective))
    )
    spent = ", ".join(f"{k.replace('_', ' ')} {text.seconds(v)}" for k, v in run.timings.items())
    return f"<h2>Convergence</h2>{charts}{weak(f'Time spent: {spent}.')}" if charts else ""


def _certificate(run: Run) -> str:
    items = listed((*run.certificate.sentences, *run.findings))
    why = "" if run.stop_reason == run.status else f", stopped by {run.stop_reason}"
    words = f"Method: {run.certificate.method}. Status: {run.status}{why}."
    return f"<h2>Certificate</h2><p>{_text(words, 200)}</p>{items}"


def settings_rows(run: Run) -> list[tuple[str, str]]:
    """Settings, data and size of the model of a run by name; what was not given is left out."""
    given = dict(run.settings)
    nested = [dict(given.pop(name, None) or {}) for name in ("params", "constraints", "data")]
    parts = zip(("", "", "data "), nested, strict=True)
    rows = list(given.items())
    rows += [(f"{part}{name}", value) for part, record in parts for name, value in record.items()]
    rows += [(f"model {name}", f"{value:,}") for name, value in run.model_size.items()]
    return [(name.replace("_", " "), str(value)) for name, value in rows if value is not None]


def _settings(run: Run) -> str:
    written = ", ".join(f"{name} {number}" for name, number in versions().items())
    return (
        "<h2>Settings and data</h2>"
        + _table(("", ""), settings_rows(run))
        + weak(f"This report was written with {written}.")
    )


WIDTH, HEIGHT, EDGE = 1600, 900, 50
LETTERS, LINE = 92, 44  # of a line of words; its height in pixels
SIGNS = re.compile(r" (?=[≤≥<>=%])|(?<=[≤≥<>=]) ")  # spaces at which a line does not end


def slide_svg(run: SolvedRun, name: str) -> str:
    """Draw the slide; it needs no font file and no network."""
    found = summary(run)
    kept = SIGNS.sub("\N{NO-BREAK SPACE}", headline_words(found) if found else "")
    words = [line.replace("\N{NO-BREAK SPACE}", " ") for line in textwrap.wrap(kept, LETTERS)]
    data = text.printable(run.about_data.get("name", "data"), 60)
    foot = f"{run.badge} · {data}, {run.n_train:,} training rows, {run.n_test:,} held out"
    if len(run.train.classes) <= MOST_COUNTED:
        foot += f" · counts: {' / '.join(text.printable(c, 12) for c in run.train.classes)}"
    lines = [_line(EDGE + 44, name, 46, "bold"), _line(HEIGHT - EDGE + 10, foot, 26)]
    lines += [_line(EDGE + 110 + LINE * k, line, 32) for k, line in enumerate(words)]
    top = EDGE + 110 + LINE * len(words)
    place = (
        f'<svg x="{EDGE}" y="{top}" width="{WIDTH - 2 * EDGE}" height="{HEIGHT - EDGE - 40 - top}"'
    )
    tree = re.sub(r'<svg( xmlns="[^"]*") width="\d+" height="\d+"', rf"{place}\1",
                  export_tree(run, "svg"), count=1)  # fmt: skip
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" '
        f'viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" fill="#1b2330">'
        f'<rect width="100%" height="100%" fill="#ffffff"/>{"".join(lines)}{tree}</svg>'
    )


def _line(y: float, words: str, size: int, weight: str = "normal") -> str:
    return (
        f'<text x="{EDGE}" y="{y}" font-size="{size}" font-weight="{weight}">'
        f"{_text(words, 150)}</text>"
    )
