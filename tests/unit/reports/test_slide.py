"""The slide of a run: well-formed, inside its frame, with the sentence and names escaped."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

from octcore.data.dataset import Dataset
from octcore.plotting import text
from octcore.reports.run_report import EDGE, HEIGHT, WIDTH, slide_svg
from octcore.reports.summary import headline_words, summary
from octcore.solving.solve import solve
from tests.unit.hostile import HOSTILE

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture
def run(square: Dataset):
    return solve(square, "cart", depth=2, test_size=0.25, seed=0).needed


def test_a_slide_says_the_sentence_the_proof_and_the_rows(run):
    page = ElementTree.fromstring(slide_svg(run, "Who is let in"))
    texts = ["".join(entry.itertext()) for entry in page.findall(f"{SVG}text")]
    assert texts[:2] == [
        "Who is let in",
        f"{run.badge} · square, {run.n_train} training rows, {run.n_test} held out · counts: "
        + " / ".join(text.printable(name, 12) for name in run.train.classes),
    ]
    assert " ".join(texts[2:]) == headline_words(summary(run))
    assert "≤" in "".join(page.find(f"{SVG}svg").itertext())
    assert "<=" not in "".join(page.itertext())


def test_boxes_of_many_classes_say_errors_and_no_counts():
    rows = [[float(k)] for k in range(5) for _ in range(4)]
    labels = ["abcde"[int(value)] for (value,) in rows[:-1]] + ["a"]
    run = solve(Dataset.from_arrays(rows, labels), "cart", depth=3).needed
    page = ElementTree.fromstring(slide_svg(run, "Five letters"))
    assert "counts" not in page.findall(f"{SVG}text")[1].text
    said = [entry.text for entry in page.find(f"{SVG}svg").iter(f"{SVG}text")]
    assert said.count("4 errors") == 1
    assert not any("/" in line for line in said)


def test_words_stand_above_the_tree_and_all_within_the_picture(run):
    page = ElementTree.fromstring(slide_svg(run, HOSTILE))
    assert [float(page.get(name)) for name in ("width", "height")] == [WIDTH, HEIGHT]
    tree = page.find(f"{SVG}svg")
    left, top, wide, high = (float(tree.get(name)) for name in ("x", "y", "width", "height"))
    name, foot, *words = (float(entry.get("y")) for entry in page.findall(f"{SVG}text"))
    assert name < words[0] < words[-1] < top
    assert top + high < foot - 26 < HEIGHT - EDGE
    assert (left, left + wide) == (EDGE, WIDTH - EDGE)
    assert high > HEIGHT / 4
    assert len(tree.findall(f".//{SVG}rect")) == len(run.tree.splits) + len(run.tree.labels)
