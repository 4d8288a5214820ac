"""A run for people who decide: half a page in words, every number by routing rows; no Streamlit."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from octcore.data.dataset import Dataset
from octcore.formulations.base import baseline
from octcore.plotting import text
from octcore.reports.page import escaped, table
from octcore.selection.repeated_splits import Tally, tally
from octcore.solving.run import Run, SolvedRun
from octcore.solving.solve import solve
from octcore.tree import metrics
from octcore.tree.tree import Tree
from octcore.tree.wording import rules

MOST_CONFUSIONS = 6


@dataclass(frozen=True)
class Score:
    """How many rows a tree gets right."""

    right: int  # correct rows
    rows: int  # all that get a class
    asked: int = 0  # rows that a person is asked about

    @property
    def share(self) -> float | None:
        """Share that is right; None without rows."""
        return self.right / self.rows if self.rows else None


@dataclass(frozen=True)
class LeafCount:
    """One rule with the rows that it gets."""

    leaf: int
    conditions: str  # in words; "always" for a single leaf
    label: object
    train: Score
    test: Score


@dataclass(frozen=True)
class Summary:
    """What the first half page of a report says."""

    tally: Tally  # of the rows that count, with the class that matters
    focus: object  # the class that matters; None for none
    n_questions: int
    silent: tuple[object, ...]  # classes that no leaf gives
    train: Score
    test: Score
    guess: Score
    """Of always giving the largest class of the training rows, on the rows that the tree tells."""
    leaves: tuple[LeafCount, ...]
    confusions: tuple[tuple[object, object, int], ...]
    """True class, given class and rows, the most frequent first; of the rows that count."""
    greedy: "Summary | None" = None
    """What CART says of the same rows, if it is to be compared with."""

    @property
    def has_held_out(self) -> bool:
        """Whether held-out rows count; otherwise training rows do."""
        return self.test.rows + self.test.asked > 0

    @property
    def score(self) -> Score:
        """Of the rows that count."""
        return self.test if self.has_held_out else self.train

    def of(self, leaf: LeafCount) -> Score:
        """Of a rule, on the rows that count."""
        return leaf.test if self.has_held_out else leaf.train


def summary(given: Run, greedy: SolvedRun | None = None) -> Summary | None:
    """Route all rows of a run and count; None without a tree or without its rows."""
    run = given.solved
    if run is None or run.train.y is None:
        return None
    counted = run.train if run.test is None else run.test
    tree, focus = run.tree, run.train.focus
    X = tree.encoded(run.encoding, counted.frame)
    answers = metrics.confusion(tree, X, counted.codes)
    of_largest = answers[int(np.argmax(run.train.class_counts))]
    given_codes = {tree.class_of(label) for label in tree.labels.values()}
    return Summary(
        tally(tree, X, counted, focus),
        focus,
        tree.n_splits,
        tuple(label for k, label in enumerate(counted.classes) if k not in given_codes),
        _score(run, run.train),
        _score(run, run.test),
        Score(*(int(told[..., : counted.n_classes].sum()) for told in (of_largest, answers))),
        _leaves(run, tree),
        _confusions(answers, counted.classes),
        None if greedy is None else summary(replace(greedy, test=run.test)),
    )


def _score(run: SolvedRun, rows: Dataset | None) -> Score:
    if rows is None or rows.y is None:
        return Score(0, 0)
    answers = metrics.confusion(run.tree, run.tree.encoded(run.encoding, rows.frame), rows.codes)
    told = int(answers[:, : rows.n_classes].sum())
    return Score(int(np.trace(answers)), told, rows.n_samples - told)


def _leaves(run: Run, tree: Tree) -> tuple[LeafCount, ...]:
    parts = [
        metrics.node_summaries(tree, tree.encoded(run.encoding, rows.frame), rows.codes)
        if rows is not None and rows.y is not None
        else {}
        for rows in (run.train, run.test)
    ]
    return tuple(
        LeafCount(
            rule.leaf,
            text.words(" and ".join(rule.conditions)) or "always",
            rule.label,
            *(_reached(part.get(rule.leaf), tree, tree.labels[rule.leaf]) for part in parts),
        )
        for rule in rules(tree, run.encoding)
    )


def _reached(rows: metrics.NodeSummary | None, tree: Tree, label: int) -> Score:
    if rows is None:
        return Score(0, 0)
    told = rows.n_samples if label < tree.n_targets else 0
    return Score(rows.right(label), told, rows.n_samples - told)


def _confusions(
    answers: np.ndarray, classes: Sequence[object]
) -> tuple[tuple[object, object, int], ...]:
    found = [
        (true, told, int(answers[i, j]))
        for i, true in enumerate(classes)
        for j, told in enumerate(classes)
        if i != j and answers[i, j]
    ]
    return tuple(sorted(found, key=lambda entry: -entry[2]))


MOST_SILENT = 3
MOST_OF_ANSWER = 4  # letters; as many have "yes", "nein" and "true", which name no rows


def rows_of(label: object) -> str:
    """What the rows of a class are called: by its name, not by a number, a sentence or a "yes"."""
    name = text.printable(label, 30)
    is_name = len(name) > MOST_OF_ANSWER and any(map(str.isalpha, name)) and name.count(" ") < 3
    return name if is_name else f"rows of class {name}"


def answer_words(found: Summary) -> str:
    """The answer in a sentence: the size of the tree, what it finds, how often it is right."""
    n, tally = found.n_questions, found.tally
    which = "new rows" if found.has_held_out else "the rows that it was made from"
    which += " that get a class" * bool(found.score.asked)
    tree = f"A tree with {text.count(n, 'question')}" if n else "A tree that asks nothing"
    if not found.score.rows:
        return f"{tree} leaves every row to a person."
    right = f"is right for {text.percent(found.score.share, 0)} of {which}"
    if tally.named:
        share = text.percent(tally.found / tally.named, 0).removesuffix(" %")
        right = f"finds {share} of 100 {rows_of(found.focus)} and {right}"
    if found.guess.right > found.score.right and not found.score.asked:
        guessed = text.percent(found.guess.share, 0)
        right += f"; always guessing the largest class is right for {guessed}"
    return f"{tree} {right}."


def counts_words(found: Summary) -> str:
    """The counts behind the answer, and the classes that the tree never gives."""
    tally, which = found.tally, "held-out" if found.has_held_out else "training"
    n, told = found.score.rows, " that get a class" * bool(found.score.asked)
    if not n:
        return ""
    verb = "is" if found.score.right == 1 else "are"
    words = [
        f"Of {text.count(n, f'{which} row')}{told} {found.score.right:,} {verb} right; always "
        f"guessing the largest class gets {found.guess.right:,}."
    ]
    if tally.named:
        found_words = f"Of {tally.named:,} {rows_of(found.focus)} it finds {tally.found:,}"
        found_words += f" and leaves {tally.asked:,} to a person" * bool(tally.asked)
        verb = "is" if tally.found == 1 else "are"
        told = f"; of {tally.told:,} that it calls so, {tally.found:,} {verb}" if tally.told else ""
        words.append(f"{found_words}{told}.")
    if found.silent:
        names = text.few([text.printable(label, 30) for label in found.silent], MOST_SILENT)
        words.append(f"It never says {names}.")
    if not found.has_held_out:
        words.append("No rows were held out, so this says little about new rows.")
    return " ".join(words)


def headline_words(found: Summary) -> str:
    """The first paragraph: the answer, the counts behind it, where the tree fails."""
    words = [answer_words(found), counts_words(found)]
    if found.score.asked and found.score.rows:
        words.append(f"A person is asked about {text.count(found.score.asked, 'further row')}.")
    of = found.of  # of equally many errors, those among fewer rows are more often
    worst = max(found.leaves, key=lambda leaf: (of(leaf).rows - of(leaf).right, -of(leaf).rows))
    wrong = of(worst).rows - of(worst).right
    if wrong:
        rows, verb = text.count(of(worst).rows, "row"), "is" if wrong == 1 else "are"
        words.append(
            f"It is wrong most often when {worst.conditions}: there {wrong:,} of {rows} {verb} not "
            f"{worst.label}."
            if len(found.leaves) > 1
            else f"It says {worst.label} for every row."
        )
    elif found.score.rows:
        words.append("It is wrong on none of these rows.")
    return " ".join(words)


def greedy_words(found: Summary) -> str:
    """One sentence on CART beside it; empty where there is none."""
    if found.greedy is None or found.greedy.score.share is None:
        return ""
    other, leaves = found.greedy.score, text.count(len(found.greedy.leaves), "leaf")
    kind = "held-out" if found.has_held_out else "training"
    own, rows = found.score, f"the same {other.rows:,} {kind} rows"
    of = ""
    if own.asked or other.asked:  # they leave other rows to a person
        rows, of = f"{text.count(other.rows, f'{kind} row')} that get a class", f" of {own.rows:,}"
    return (
        f"The usual method (CART, split by split on the same rows) gets {other.right:,} of {rows} "
        f"right with {leaves}; this tree gets {own.right:,}{of} "
        f"with {text.count(len(found.leaves), 'leaf')}."
    )


def rules_html(found: Summary) -> str:
    """The rules with their counts."""
    header = ["if", "then", "training rows", "right"]
    header += ["held-out rows", "right"] if found.has_held_out else []
    rows = []
    for leaf in found.leaves:
        parts = (leaf.train, leaf.test) if found.has_held_out else (leaf.train,)
        counts = [cell for s in parts for cell in (f"{s.rows:,}", text.percent(s.share))]
        rows.append((leaf.conditions, leaf.label, *counts))
    return f'<h2>Rules</h2><div class="rules">{table(header, rows)}</div>'


def errors_html(found: Summary) -> str:
    """What it gets wrong: true class against the class that it gives."""
    which = "held-out" if found.has_held_out else "training"
    if not found.score.rows:
        return ""
    if not found.confusions:
        rows = f"{found.score.rows:,} {which} rows{' that get a class' * bool(found.score.asked)}"
        return f"<h2>What it gets wrong</h2><p>None of the {rows}.</p>"
    shown = found.confusions[:MOST_CONFUSIONS]
    rows = [(true, given, f"{n:,}") for true, given, n in shown]
    rest = sum(n for _, _, n in found.confusions[MOST_CONFUSIONS:])
    more = f'<p class="weak">And {text.count(rest, "row")} more.</p>' if rest else ""
    header = ("really", "the tree says", f"{which} rows")
    return "<h2>What it gets wrong</h2>" + table(header, rows) + more


def beside_html(found: Summary) -> str:
    """Put CART and this tree side by side."""
    if found.greedy is None:
        return ""
    rows = [
        (name, *map(_cell, (of.test, of.train)), len(of.leaves))
        for name, of in (("this tree", found), ("CART", found.greedy))
    ]
    header = ("", "right, held out", "right, training", "leaves")
    words = f"<p>{escaped(greedy_words(found), 900)}</p>"
    return "<h2>CART beside it</h2>" + words + table(header, rows)


def _cell(score: Score) -> str:
    if score.share is None:
        return "–"
    return f"{text.percent(score.share)} ({score.right:,} of {score.rows:,})"


def grown_greedily(run: SolvedRun, encoding: str = "raw") -> SolvedRun:
    """CART on the training rows of a run, of its depth and leaf penalty, to compare with.

    It keeps those side constraints that it can.
    `encoding`: features that CART may split on; ``"raw"`` are all thresholds.
    Raises `OctError` if CART does not take the rows.
    """
    penalty, greedy = run.params.get("leaf_penalty"), baseline()
    return solve(
        run.train, greedy.key, encoding=encoding, depth=run.depth, time_limit=20,
        params={} if penalty is None else {"leaf_penalty": penalty},
        constraints={k: v for k, v in run.constraints.items() if k in greedy.constraints},
        costs=run.asked.costs, refer=run.asked.refer, sample_weight=run.sample_weight,
    ).needed  # fmt: skip
