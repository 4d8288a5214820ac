"""One run as one HTML file, words first and the technical part folded; and as one slide.

The tree asks questions there: a reader answers, and the page walks to the leaf, without a network.
Everything of the run stands in escaped text and in attributes; the script is constant, and the
policy of the page allows this script alone, by its hash.
"""

import re
import textwrap
from collections.abc import Mapping
from datetime import UTC, datetime
from html import escape
from pathlib import Path

from octcore.data.serial import versions
from octcore.encoding.base import Encoding
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
from octcore.reports.summary import (
    Summary,
    beside_html,
    errors_html,
    headline_words,
    rules_html,
    summary,
)
from octcore.solving.column_values import most_lost, threshold_spans
from octcore.solving.report import dates, export_tree
from octcore.solving.run import Run, SolvedRun
from octcore.tree.export.drawings import MOST_COUNTED
from octcore.tree.raw_units import RawTerm, left_condition, raw_plane
from octcore.tree.tree import Split
from octcore.tree.wording import condition_words, split_words

SCRIPT = Path(__file__).with_name("questionnaire.js").read_text(encoding="utf-8")
THRESHOLD_SECONDS = 5.0  # for how far all thresholds of a report may move
WIDTH, HEIGHT, EDGE = 1600, 900, 50
LETTERS, LINE = 92, 44  # of a line of words; its height in pixels
SIGNS = re.compile(r" (?=[≤≥<>=%])|(?<=[≤≥<>=]) ")  # spaces at which a line does not end


def questionnaire_html(run: SolvedRun, found: Summary) -> str:
    """Every branch node as a question and every leaf as an answer; without a split nothing."""
    if not run.tree.splits:
        return ""
    parts = [_question(node, split, run.encoding) for node, split in run.tree.splits.items()]
    parts += [_answer(found, leaf.leaf) for leaf in found.leaves]
    return (
        "<h2>Try it: answer the questions</h2>"
        '<noscript><p class="weak">The questions need scripts; the rules say the same.</p>'
        '</noscript><div id="questionnaire" class="card" hidden>'
        + "".join(parts)
        + '<p class="turns"><button type="button" data-back>Back</button> '
        '<button type="button" data-again>Start again</button></p></div>'
        f"<script>{SCRIPT}</script>"
    )


def _question(node: int, split: Split, encoding: Encoding) -> str:
    left, right = 2 * node, 2 * node + 1
    if left_condition(split, encoding) is None:
        body = _plane_question(split, encoding, left, right)
    else:
        worded = split_words(split, encoding)
        yes, no = (left, right) if worded.test == worded.left else (right, left)
        body = (
            f'<p class="question">{_text(text.words(worded.test), 900)}?</p>'
            f'<button type="button" data-next="{yes}">Yes</button> '
            f'<button type="button" data-next="{no}">No</button>'
        )
    return f'<section data-node="{node}" aria-live="polite" hidden>{body}</section>'


def _plane_question(split: Split, encoding: Encoding, left: int, right: int) -> str:
    plane = raw_plane(split, encoding)
    ranks = {c.raw: c.levels for c in encoding.columns if c.levels}
    fields = "".join(_field(term, ranks) for term in plane.terms)
    worded = _text(text.words(split_words(split, encoding).test), 900)
    return (
        f'<p class="question">Fill in the numbers of this row</p>{fields}'
        f'<button type="button" data-threshold="{plane.threshold!r}" data-left="{left}" '
        f'data-right="{right}">Go on</button>'
        "<p data-missing hidden>Fill in a number everywhere, please.</p>"
        f'<p class="weak">It asks whether {worded}.</p>'
    )


def _field(term: RawTerm, ranks: Mapping[str, tuple[object, ...]]) -> str:
    weight = f'data-weight="{term.weight!r}"'
    if term.condition is not None:
        words = _text(text.words(condition_words(term.condition)), 400) + "?"
        options = ((0, "no"), (1, "yes"))
    elif term.raw in ranks:
        words, options = _text(term.raw), tuple(enumerate(ranks[term.raw]))
    else:
        name = escape(term.raw)
        return (
            f'<label>{_text(term.raw)} <input type="number" step="any" {weight} '
            f'data-name="{name}"></label>'
        )
    choices = "".join(
        f'<option value="{value}">{_text(label)}</option>' for value, label in options
    )
    return f"<label>{words} <select {weight}>{choices}</select></label>"


def _answer(found: Summary, node: int) -> str:
    leaf = next(leaf for leaf in found.leaves if leaf.leaf == node)
    score = found.of(leaf)
    kind = "held-out" if found.has_held_out else "training"
    rows = text.count(score.rows, f"{kind} row")
    verb = "was" if score.right == 1 else "were"
    words = f"{score.right:,} of {rows} that came here {verb} of this class."
    if score.asked:
        words = f"{text.count(score.asked, f'{kind} row')} came here."
    elif not score.rows:
        words = f"None of the {kind} rows came here."
    return (
        f'<section data-node="{node}" aria-live="polite" hidden><p class="question">'
        f"{_text(leaf.label)}</p><p>Because {_text(leaf.conditions, 900)}.</p>"
        f'<p class="weak">{words}</p></section>'
    )


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
    days = "; ".join(dates(run))
    return f"<h2>Tree</h2>{tree_picture(run)}{weak(days) if days else ''}"


def plane_picture(run: SolvedRun) -> str:
    """Draw the plane of a run as HTML, and say what it shows; empty without two columns."""
    axes = default_axes(run.tree, run.encoding, run.train)
    if axes is None:
        return ""
    record = plane_data(run.tree, run.encoding, run.train, *axes, formulation=run.formulation)
    note = "Errors carry a cross; support vectors are ringed; margins are dashed."
    if record.held:
        held = ", ".join(f"{name} = {value_text(value)}" for name, value in record.held.items())
        note = f"The regions are a slice at {held}. {note}"
    figure, words = plane_figure(record, LIGHT, selected=0), f"Plane of {record.places.words}"
    picture = pictures([figure_svg(figure, words)])
    return f"{picture}{weak(note)}" if picture else ""


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
    picture = "" if run.solved is None else plane_picture(run.solved)
    return f"<h2>Plane</h2>{picture}" if picture else ""


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
    params, limits, data = (given.pop(k, None) or {} for k in ("params", "constraints", "data"))
    rows = [*given.items(), *params.items(), *limits.items()]
    rows += [(f"data {name}", value) for name, value in data.items()]
    rows += [(f"model {name}", f"{value:,}") for name, value in run.model_size.items()]
    return [(name.replace("_", " "), str(value)) for name, value in rows if value is not None]


def _settings(run: Run) -> str:
    written = ", ".join(f"{name} {number}" for name, number in versions().items())
    return (
        "<h2>Settings and data</h2>"
        + _table(("", ""), settings_rows(run))
        + weak(f"This report was written with {written}.")
    )


def slide_svg(run: SolvedRun, name: str) -> str:
    """Draw the slide; it needs no font file and no network."""
    found = summary(run)
    kept = SIGNS.sub("\N{NO-BREAK SPACE}", headline_words(found) if found else "")
    words = [line.replace("\N{NO-BREAK SPACE}", " ") for line in textwrap.wrap(kept, LETTERS)]
    data = text.printable(run.about_data.get("name", "data"), 60)
    foot = f"{run.badge} · {data}, {run.n_train:,} training rows, {run.n_test:,} held out"
    foot += "".join(f" · {words}" for words in dates(run))
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
