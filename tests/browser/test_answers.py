"""Answers in few clicks: from a table with gaps to a proven tree, its size, prices and reasons.

Clicks and seconds are recorded with every test and printed by ``-rP``; seconds say something on a
quiet machine only.
"""

from __future__ import annotations

import random
import re
import time

import pytest

from tests.browser.conftest import SOLVE_MILLISECONDS

pytestmark = [pytest.mark.browser, pytest.mark.long]


class Counted:
    """A person who counts clicks and seconds."""

    def __init__(self, watched) -> None:
        self.watched, self.page = watched, watched.page
        self.clicks, self.start = 0, time.monotonic()

    def click(self, locator) -> None:
        locator.first.click()
        self.clicks += 1

    def see(self, words) -> None:
        self.page.get_by_text(words).first.wait_for(timeout=SOLVE_MILLISECONDS)

    def done(self, record, at_most: int) -> None:
        """Record and print what it took; no script failed on the way."""
        seconds = round(time.monotonic() - self.start, 1)
        record("clicks", self.clicks)
        record("seconds", seconds)
        print(f"{self.clicks} clicks, {seconds} s")
        assert self.clicks <= at_most
        self.watched.assert_clean()


@pytest.fixture
def person(visit):
    return Counted(visit())


def clinic() -> dict:
    """An export as clinics have them: semicolons, cp1252, decimal commas, "k.A."."""
    draw = random.Random(3)
    lines = ["Aufnahme;Alter;Station;CRP;Laktat;Größe;Verlauf"]
    for i in range(400):
        age, ward = draw.randint(20, 95), draw.choice(["Innere", "innere", "Chirurgie"])
        crp = draw.uniform(0, 200)
        crp_text = "k.A." if draw.random() < 0.25 else f"{crp:.1f}".replace(".", ",")
        lactate, dead = draw.uniform(0, 5), 0
        dead = lactate > 3.8 and age > 60
        dead ^= draw.random() < 0.03
        lactate_text = "k.A." if draw.random() < 0.03 else f"{lactate:.1f}".replace(".", ",")
        day = f"{1 + i % 28:02d}.{1 + i % 12:02d}.2024"
        size, end = f"1,{draw.randint(50, 95)}", "verstorben" if dead else "entlassen"
        lines.append(f"{day};{age};{ward};{crp_text};{lactate_text};{size};{end}")
    content = ("\r\n".join(lines) + "\r\n").encode("cp1252")
    return {"name": "klinik.csv", "mimeType": "text/csv", "buffer": content}


def number(page, label: str) -> int:
    """Value of a metric of the page Data."""
    metric = page.get_by_test_id("stMetric").filter(has_text=label)
    return int(metric.get_by_test_id("stMetricValue").inner_text().replace(",", ""))


def upload(user: Counted) -> None:
    """Load the table of the clinic; choosing a file is a click."""
    user.page.locator("input[type=file]").set_input_files(clinic())
    user.clicks += 1
    user.see(re.compile("KiB"))
    user.watched.settle()


@pytest.mark.slow
def test_a_clinic_table_becomes_a_proven_tree_that_says_its_recall(person, record_property):
    page = person.watched.open()
    upload(person)
    assert number(page, "Rows in use") + number(page, "Rows left out") == 400
    person.click(page.get_by_role("button", name=re.compile("Read CRP as numbers")))
    person.watched.settle()
    person.click(page.get_by_role("button", name="Merge them in Station"))
    person.watched.settle()
    left_out = number(page, "Rows left out")
    assert number(page, "Rows in use") + left_out == 400
    assert not left_out or f"{left_out} rows of 400 left out" in page.inner_text("body")
    person.click(page.get_by_role("button", name="Find an optimal tree"))
    answer = page.get_by_role("heading", name=re.compile("finds .* of 100 verstorben"))
    answer.wait_for(timeout=SOLVE_MILLISECONDS)
    page.locator(".badge", has_text="Proven optimal").first.wait_for()
    said = int(re.search(r"finds (\d+) of 100", answer.inner_text())[1])
    counts = page.get_by_text(re.compile(r"Of \d+ verstorben it finds")).first.inner_text()
    named, found = map(int, re.search(r"Of (\d+) verstorben it finds (\d+)", counts).groups())
    assert said == round(100 * found / named) > 50
    person.done(record_property, at_most=5)


@pytest.mark.slow
def test_the_right_size_is_named_and_used(person, record_property):
    page = person.watched.open()
    page.get_by_role("combobox", name="Sample data").click()
    page.get_by_role("option", name=re.compile("Balance scale", re.I)).click()
    person.watched.settle()
    page.get_by_role("button", name="Find an optimal tree").click()
    use = page.get_by_role("button", name=re.compile(r"Use \d+ lea"))
    person.see(re.compile("over 10 random splits"))
    leaves = int(re.search(r"\d+", use.inner_text())[0])
    person.start = time.monotonic()
    person.click(use)
    questions = re.compile(f"A tree with {leaves - 1} question")
    page.get_by_role("heading", name=questions).wait_for(timeout=SOLVE_MILLISECONDS)
    page.locator(".badge", has_text="Proven optimal").first.wait_for()
    person.done(record_property, at_most=2)


@pytest.mark.slow
def test_the_best_tree_without_a_column_has_its_price(person, solved, record_property):
    page = person.watched.open("/solve" + solved)
    person.click(page.get_by_role("button", name="Explore this tree"))
    person.click(page.get_by_role("button", name=re.compile("Without petal")))
    price = page.get_by_role("heading", name=re.compile("^Dropping petal .* costs"))
    price.wait_for(timeout=SOLVE_MILLISECONDS)
    person.see("With the condition")
    person.done(record_property, at_most=2)
    page.reload()
    price.wait_for(timeout=SOLVE_MILLISECONDS)


@pytest.mark.slow
def test_a_node_says_why_it_splits_so(person, solved, record_property):
    page = person.watched.open("/solve" + solved)
    person.click(page.get_by_role("button", name="Explore this tree"))
    person.see(re.compile(r"Every threshold between [\d.]+ \(line.* and [\d.]+ \(line"))
    person.see(re.compile("The best other column, petal .*(costs|is as good).* This is proven"))
    person.done(record_property, at_most=1)


@pytest.mark.slow
def test_a_reload_loses_neither_table_nor_preparations_nor_tree_nor_node(person, record_property):
    page = person.watched.open()
    upload(person)
    page.get_by_role("button", name=re.compile("Read CRP as numbers")).click()
    prepared = page.get_by_text("Prepared: 1 step")
    prepared.wait_for()
    page.reload()
    prepared.wait_for()
    page.get_by_text("klinik.csv").first.wait_for()
    page.get_by_role("button", name="Find an optimal tree").click()
    answer = page.get_by_role("heading", name=re.compile("of 100 verstorben"))
    answer.wait_for(timeout=SOLVE_MILLISECONDS)
    page.reload()
    answer.wait_for()
    page.get_by_role("button", name="Explore this tree").click()
    page.wait_for_url("**/explore**")  # the page before has a tree, too
    chosen = page.locator('g.node[data-node="2"][aria-selected="true"]')
    person.watched.until(chosen, page.locator('g.node[data-node="2"]').first.click)
    page.wait_for_function("() => location.search.includes('node=2')")
    page.reload()
    chosen.first.wait_for()
    person.watched.go("Understand", "Size")
    use = page.get_by_role("button", name="Use this tree")
    use.wait_for(timeout=SOLVE_MILLISECONDS)
    page.reload()
    use.wait_for()
    person.done(record_property, at_most=1)
