"""A tree as questions: a reader answers, and the page walks to the leaf, without a network.

Everything of the run stands in escaped text and in attributes; the script is constant, and the
policy of the page allows this script alone, by its hash.
"""

from collections.abc import Mapping
from html import escape
from pathlib import Path

from octcore.encoding.base import Encoding
from octcore.plotting import text
from octcore.reports.page import escaped
from octcore.reports.summary import Summary
from octcore.solving.run import SolvedRun
from octcore.tree.raw_units import RawTerm, left_condition, raw_plane
from octcore.tree.tree import Split
from octcore.tree.wording import condition_words, split_words

SCRIPT = Path(__file__).with_suffix(".js").read_text(encoding="utf-8")


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
            f'<p class="question">{escaped(text.words(worded.test), 900)}?</p>'
            f'<button type="button" data-next="{yes}">Yes</button> '
            f'<button type="button" data-next="{no}">No</button>'
        )
    return f'<section data-node="{node}" aria-live="polite" hidden>{body}</section>'


def _plane_question(split: Split, encoding: Encoding, left: int, right: int) -> str:
    plane = raw_plane(split, encoding)
    ranks = {c.raw: c.levels for c in encoding.columns if c.levels}
    fields = "".join(_field(term, ranks) for term in plane.terms)
    worded = escaped(text.words(split_words(split, encoding).test), 900)
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
        words = escaped(text.words(condition_words(term.condition)), 400) + "?"
        options = ((0, "no"), (1, "yes"))
    elif term.raw in ranks:
        words, options = escaped(term.raw), tuple(enumerate(ranks[term.raw]))
    else:
        name = escape(term.raw)
        return (
            f'<label>{escaped(term.raw)} <input type="number" step="any" {weight} '
            f'data-name="{name}"></label>'
        )
    choices = "".join(
        f'<option value="{value}">{escaped(label)}</option>' for value, label in options
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
        f"{escaped(leaf.label)}</p><p>Because {escaped(leaf.conditions, 900)}.</p>"
        f'<p class="weak">{words}</p></section>'
    )
