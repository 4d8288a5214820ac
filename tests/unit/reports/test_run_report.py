"""The report of a run: true numbers in words, escaped names, a questionnaire that routes right."""

from __future__ import annotations

import base64
import hashlib
import re
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest

from octcore.data.dataset import Dataset
from octcore.data.reading import read_csv
from octcore.reports import run_report
from octcore.reports.run_report import SCRIPT, report_html, slide_svg
from octcore.reports.scorer import scorer_html
from octcore.reports.summary import (
    Score,
    answer_words,
    counts_words,
    errors_html,
    headline_words,
    rows_of,
    summary,
)
from octcore.solving.column_values import threshold_spans
from octcore.solving.report import run_report as run_text
from octcore.solving.solve import solve
from tests.unit.hostile import HOSTILE


def table(names=("width", "colour"), classes=("no", "yes")) -> Dataset:
    random = np.random.default_rng(3)
    width = np.round(random.normal(5, 2, 120), 2)
    colour = random.choice(["red", "green", "blue"], 120)
    is_yes = (width > 5) ^ (colour == "red") ^ (random.random(120) < 0.12)
    frame = pd.DataFrame({names[0]: width, names[1]: colour})
    return Dataset.from_arrays(frame, np.array(classes)[is_yes.astype(int)], name="table")


class Questions(HTMLParser):
    """Attributes of buttons, fields and sections, by node; and every element."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.sections: dict[int, list[tuple[str, dict[str, str | None]]]] = {}
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self._node = 0
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        values = dict(attrs)
        self.elements.append((tag, values))
        if tag == "section":
            self._node = int(values["data-node"])
            self.sections[self._node] = []
        elif self._node:
            self.sections[self._node].append((tag, values))

    def handle_endtag(self, tag):
        if tag == "section":
            self._node = 0


def test_counts_are_named_and_new_rows_come_first():
    run = solve(table(), depth=2, test_size=0.25, time_limit=30)
    assert "The counts are rows of no / yes." in report_html(run, "r")
    held, training = (f"{100 * share:.1f} %" for share in (run.test_accuracy, run.accuracy))
    words = f"right for {held} of 30 held-out rows, {training} of 90 training rows."
    assert words in scorer_html(run.solved, "r").replace("\N{NO-BREAK SPACE}", " ")


def test_every_number_in_words_is_what_routing_says():
    data = replace(table(), positive_class="no")
    run = solve(data, depth=2, test_size=0.25, seed=0, time_limit=30)
    found = summary(run, solve(run.train, "cart", encoding="raw", depth=2))
    assert found is not None
    predicted = run.predict(run.test.frame)
    truth = np.array(run.test.classes)[run.test.y]
    assert found.score == Score(int((predicted == truth).sum()), run.test.n_samples)
    assert found.train.share == pytest.approx(run.accuracy)
    assert found.test.share == pytest.approx(run.test_accuracy)
    largest = np.array(run.train.classes)[np.argmax(run.train.class_counts)]
    assert found.guess.right == (truth == largest).sum()
    for part, whole in (("train", found.train), ("test", found.test)):
        scores = [getattr(leaf, part) for leaf in found.leaves]
        assert sum(s.rows for s in scores) == whole.rows
        assert sum(s.right for s in scores) == whole.right
    assert sum(n for _, _, n in found.confusions) == found.test.rows - found.test.right
    words = headline_words(found)
    assert f"Of {found.test.rows} held-out rows {found.test.right} are right" in words
    named, told = truth == "no", predicted == "no"
    both = (named & told).sum()
    assert f"finds {100 * both / named.sum():.0f} of 100 rows of class no and" in words
    assert f"Of {named.sum()} rows of class no it finds {both}; of {told.sum()} that" in words
    worst = max(leaf.test.rows - leaf.test.right for leaf in found.leaves)
    assert f"there {worst} of" in words
    # Of equally many errors, those among fewer rows: two of eight stood where two of four are more.
    halves = [replace(found.leaves[0], test=Score(rows - 2, rows)) for rows in (8, 4, 5)]
    assert "there 2 of 4 rows" in headline_words(replace(found, leaves=tuple(halves)))


def test_a_tree_that_guessing_beats_says_so_in_its_first_sentence():
    found = summary(solve(table(), depth=2, test_size=0.3, time_limit=30))
    assert found is not None
    rows = found.test.rows
    beaten = replace(found, guess=Score(rows, rows))
    assert answer_words(beaten).endswith("; always guessing the largest class is right for 100 %.")
    assert "guessing" not in answer_words(replace(found, guess=found.test))


def test_a_tree_that_leaves_every_row_to_a_person_counts_no_rows():
    found = summary(solve(table(), depth=1, test_size=0.3, refer=0.0))
    assert found is not None
    assert answer_words(found).endswith("leaves every row to a person.")
    assert headline_words(found).strip() == answer_words(found)
    assert (counts_words(found), errors_html(found)) == ("", "")


def test_thresholds_are_told_with_how_far_they_may_move(monkeypatch):
    monkeypatch.setattr(run_report, "THRESHOLD_SECONDS", 300.0)  # a busy machine takes longer
    run = solve(table(), depth=2, time_limit=30).needed
    page = report_html(run, "run")
    spans = threshold_spans(run)
    assert spans
    for low, high in spans.values():
        assert f"<td>{low:.4g} to {high:.4g}</td>" in page
    limited = solve(table(), depth=2, constraints={"max_leaves": 3}, time_limit=30)
    assert "may move" not in report_html(limited, "a limit ties both sides of a split together")


@pytest.mark.parametrize(
    "settings",
    [{"depth": 2}, {"depth": 2, "formulation": "path-search", "encoding": "QB-4"}],
    ids=["thresholds", "buckets"],
)
def test_the_questionnaire_asks_the_way_of_every_row(settings):
    run = solve(table(), test_size=0.25, seed=0, time_limit=30, **settings)
    page = report_html(run, "run")
    found = Questions(page)
    assert set(found.sections) == set(run.tree.splits) | set(run.tree.labels)
    for node in run.tree.splits:
        ways = [int(v["data-next"]) for tag, v in found.sections[node] if tag == "button"]
        assert sorted(ways) == [2 * node, 2 * node + 1]
    frame = run.train.frame
    leaves = run.tree.apply(run.encoding.transform(frame))
    for row in range(len(frame)):
        node = 1
        while node in run.tree.splits:
            yes, no = (int(v["data-next"]) for t, v in found.sections[node] if t == "button")
            node = yes if is_true(question(page, node), frame.iloc[row]) else no
        assert node == leaves[row]


def question(page: str, node: int) -> str:
    return re.search(
        rf'data-node="{node}"[^>]*><p class="question">(.*?)\?</p>', page
    )[1].replace("&lt;", "<").replace("&gt;", ">").replace("−", "-")  # fmt: skip


def is_true(words: str, row: pd.Series) -> bool:
    """Read a question as a person does."""
    if found := re.fullmatch(r"colour is (not )?(\w+)", words):
        return (row["colour"] == found[2]) != bool(found[1])
    parts = words.replace("≤", "<=").replace("≥", ">=").split(" or ")
    return any(eval(part, {"width": row["width"]}) for part in parts)


def test_hyperplanes_are_asked_by_numbers(oblique):
    tree, encoding, data = oblique
    run = solve(data, "cart", encoding="raw", depth=1)
    found = Questions(report_html(replace(run, tree=tree, encoding=encoding), "run"))
    X = encoding.transform(data.frame)
    oblique_nodes = [node for node, split in tree.splits.items() if len(split.weights) > 1]
    assert oblique_nodes
    for node in oblique_nodes:
        goes_right = tree.splits[node].goes_right(X)
        for row in range(data.n_samples):
            way = answered(found.sections[node], data.frame.iloc[row])
            assert way == 2 * node + int(goes_right[row])


def answered(section, row: pd.Series) -> int:
    """Where a question leads, as the script reads it."""
    button = next(values for _, values in section if "data-threshold" in values)
    fields = [values for _, values in section if "data-weight" in values]
    total = sum(float(v["data-weight"]) * row[v["data-name"]] for v in fields)
    return int(button["data-left" if total <= float(button["data-threshold"]) else "data-right"])


def test_days_of_a_tree_say_since_when():
    rows = "".join(
        f"2023-{1 + i % 12:02d}-05,{'ab'[i % 12 > 6]},{'uvw'[i % 3]}\n" for i in range(48)
    )
    data = read_csv(f"when,y,z\n{rows}".encode(), target="y", kinds={"when": "numeric"})
    run, words = solve(data, depth=1).needed, "“when”: days since 2023-01-05"
    for written in (report_html(run, "r"), slide_svg(run, "r"), run_text(run)):
        assert words in written
    other = solve(data, depth=1, constraints={"root_feature": "z"}).needed
    assert "days since" not in run_text(other) + report_html(other, "r")


def test_only_our_script_runs_and_every_name_is_escaped():
    data = table((f"{HOSTILE}</script>", HOSTILE[::-1]), (f"{HOSTILE}'A", f"{HOSTILE}</section>B"))
    run = solve(data, "cart", encoding="raw", depth=2, test_size=0.25)
    page = report_html(run, f"<b>{HOSTILE}", run)
    found = Questions(page)
    tags = [tag for tag, _ in found.elements]
    assert tags.count("script") == 1
    assert set(tags).isdisjoint({"img", "a", "link", "iframe", "b"})
    assert not any(name.startswith("on") for _, v in found.elements for name in v)
    assert not any(name in {"src", "href"} for _, v in found.elements for name in v)
    digest = base64.b64encode(hashlib.sha256(SCRIPT.encode()).digest()).decode()
    policy = next(v["content"] for t, v in found.elements if "http-equiv" in v)
    assert policy == (
        f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'"
    )
    assert page.count(f"<script>{SCRIPT}</script>") == 1


@pytest.mark.parametrize(
    ("label", "name"),
    [
        (1, "rows of class 1"),
        ("-1", "rows of class -1"),
        ("ja", "rows of class ja"),
        ("malignant", "malignant"),
        ("IIb 2", "IIb 2"),
        ("he came back again", "rows of class he came back again"),
    ],
)
def test_rows_of_a_class_that_is_no_name_are_named_as_such(label, name):
    assert rows_of(label) == name


def test_a_single_leaf_needs_no_questions_and_no_script():
    data = Dataset.from_arrays(pd.DataFrame({"x": [0, 1] * 6}), ["a"] * 9 + ["b"] * 3)
    run = solve(data, "cart", encoding="raw", depth=1, params={"leaf_penalty": 0.5})
    page = report_html(run, "flat")
    assert "<script" not in page
    assert "A tree that asks nothing finds 0 of 100 rows of class b and is right for 75 %" in page
    assert "It never says b." in page
    assert "so this says little about new rows" in page


def test_rows_that_a_person_is_asked_about_are_in_no_number_of_others():
    rng = np.random.default_rng(0)
    x = np.repeat([0.0, 1.0, 2.0], 40)
    y = np.where(x == 1, rng.random(120) < 0.5, x == 2)
    data = Dataset.from_arrays(pd.DataFrame({"x": x}), np.where(y, "yes", "no"))
    run = solve(data, depth=2, refer=0.2, test_size=0.25).needed
    assert run.tree.n_leaves == 3
    told = run.test.frame["x"].to_numpy() != 1
    classes = np.array(run.test.classes)[run.test.codes]
    largest = run.train.classes[int(np.argmax(run.train.class_counts))]
    found = summary(run, run)
    assert (found.score.rows, found.score.asked) == (told.sum(), (~told).sum())
    assert found.guess == Score(int((classes[told] == largest).sum()), int(told.sum()))
    words = headline_words(found)
    assert f"Of {told.sum()} held-out rows that get a class {told.sum()} are right" in words
    asked = (~told & (classes == found.focus)).sum()
    assert asked
    assert f"{found.focus} it finds {found.tally.found} and leaves {asked} to a person" in words
    page = report_html(run, "r", run)
    assert "rows that get a class right with" in page
    assert f"{(~told).sum()} held-out rows came here." in page
    right = f"100.0 % of {told.sum()} held-out rows that get a class"
    assert right in scorer_html(run, "r").replace("\N{NO-BREAK SPACE}", " ")
    everything = replace(found, test=Score(0, 0, 30), tally=replace(found.tally, named=0))
    assert everything.has_held_out
    assert "leaves every row to a person" in headline_words(everything)
    assert "No rows were held out" not in headline_words(everything)


def test_one_wrong_row_is_told_and_makes_no_hundred():
    x = np.arange(400.0)
    y = np.where(x < 300, "yes", "no")
    y[0] = "no"
    data = Dataset.from_arrays(pd.DataFrame({"x": x}), y)
    run = solve(data, depth=1, params={"leaf_penalty": 0.01})
    words = headline_words(summary(run))
    assert "is right for 99.8 % of the rows" in words
    assert "Status: optimal.</p>" in report_html(run, "r")
    assert "there 1 of 300 rows is not yes" in words
    missed = replace(summary(run), tally=replace(summary(run).tally, named=300, found=299))
    assert "finds 99.7 of 100 rows of class yes" in headline_words(missed)
