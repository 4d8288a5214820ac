"""A clinic's export is put in order on the page Data, survives a reload, and scores its like."""

from __future__ import annotations

import random
import re

import pytest

from tests.browser.conftest import SOLVE_MILLISECONDS

pytestmark = [pytest.mark.browser, pytest.mark.long]

HEADER = "Aufnahme;Alter;Station;CRP;Zuweiser;Verlauf"


def rows(number: int, seed: int) -> list[str]:
    """Rows whose outcome age and CRP decide; "k.A." among numbers, "n/a" among words."""
    draw, made = random.Random(seed), []
    for i in range(number):
        age, crp = draw.randint(20, 95), draw.randint(0, 1999)
        shown = "k.A." if draw.random() < 0.04 else f"{crp / 10:.1f}".replace(".", ",")
        ward = draw.choice(["Innere", "innere ", "Chirurgie"])
        sender = draw.choice(["Hausarzt", "Klinik", "n/a"])
        end = "verstorben" if age > 70 and crp > 800 else "entlassen"
        made.append(f"{1 + i % 28:02d}.{1 + i % 12:02d}.2024;{age};{ward};{shown};{sender};{end}")
    return made


def file(*lines: str) -> dict:
    content = ("\r\n".join(lines) + "\r\n").encode("cp1252")
    return {"name": "klinik.csv", "mimeType": "text/csv", "buffer": content}


EXPORT = file("Auswertung, Stand 3.1.2024", "", HEADER, ";Jahre;;mg/l;;", *rows(300, 1))


def number(page, label: str) -> int:
    """Value of a metric of the page Data."""
    metric = page.get_by_test_id("stMetric").filter(has_text=label)
    return int(metric.get_by_test_id("stMetricValue").inner_text().replace(",", ""))


@pytest.mark.slow
def test_a_clinic_export_is_put_in_order_kept_and_scored(visit):
    watched = visit()
    page = watched.open()

    def press(name: str) -> None:
        page.get_by_role("button", name=name).first.click()
        watched.settle()

    page.locator("input[type=file]").set_input_files(EXPORT)
    page.get_by_text("First lines of the file: 2 left out").wait_for()
    watched.settle()
    names = page.get_by_role("radiogroup", name="Which line names the columns?")
    header = names.locator("label").nth(1)
    assert "3: Aufnahme · Alter" in header.inner_text()
    assert header.locator("input").is_checked()
    assert number(page, "Rows in use") + number(page, "Rows left out") == 300

    names.locator("label").first.click()  # the title as the header: the file cannot be read so
    page.get_by_text("klinik.csv, which is not loaded").wait_for()
    watched.settle()
    names.locator("label").nth(1).click()
    page.get_by_text("Prepared: 1 step").wait_for()
    watched.settle()

    press("Read n/a in Zuweiser as missing")
    press("Merge them in Station")
    press("Read Aufnahme as year, month and weekday")
    page.get_by_text("Prepared: 4 steps").wait_for()
    assert number(page, "Rows in use") + number(page, "Rows left out") == 300
    page.reload()
    page.get_by_text("Prepared: 4 steps").wait_for()
    watched.settle()
    press("Aufnahme: date")
    page.get_by_text("Prepared: 3 steps").wait_for()

    press("Find an optimal tree")
    page.get_by_role("button", name="Explore this tree").wait_for(timeout=SOLVE_MILLISECONDS)
    press("Explore this tree")
    page.get_by_role("tab", name="Score a file").click()
    other = file("Neue Fälle, ohne Gewähr", HEADER, ";Jahre;;mg/l;;", *rows(40, 2))
    page.locator("input[type=file]").set_input_files(other)
    page.get_by_text("1 line above the header left out").wait_for()
    page.get_by_text(re.compile("holds units .*left out")).wait_for()
    page.get_by_text("Mean confidence").first.wait_for()
    watched.assert_clean()
