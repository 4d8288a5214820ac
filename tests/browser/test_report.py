"""The report in a real browser, without a server: a reader sorts a row by its questionnaire."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest

from octcore.data.dataset import Dataset
from octcore.data.reading import read_csv, read_table
from octcore.reports.run_report import report_html
from octcore.reports.scorer import scorer_html
from octcore.solving.solve import solve
from octcore.store.models import load_model, model_to_dict, score
from octcore.tree import topology
from tests.browser.conftest import SOLVE_MILLISECONDS
from tests.unit.hostile import HOSTILE

pytestmark = [pytest.mark.browser, pytest.mark.long]


@pytest.fixture
def reader(chromium, tmp_path):
    """Open a report as a file; collects script errors and policy violations."""
    context = chromium.new_context()
    page, told = context.new_page(), []
    page.on("pageerror", lambda error: told.append(str(error)))
    page.on("console", lambda message: told.append(message.text))
    page.on("dialog", lambda dialog: (told.append(dialog.message), dialog.dismiss()))

    def open_report(content: str):
        file = tmp_path / "report.html"
        file.write_text(content, encoding="utf-8")
        page.goto(file.as_uri())
        return page

    yield open_report
    context.close()
    assert told == []


def points() -> Dataset:
    random = np.random.default_rng(5)
    frame = pd.DataFrame({"height": random.normal(0, 1, 60), HOSTILE: random.normal(0, 1, 60)})
    total = frame["height"] + frame[HOSTILE]
    return Dataset.from_arrays(frame, np.where(total > 0.2, f"{HOSTILE}</script>", "low"))


def test_yes_and_no_lead_to_the_leaf_of_a_row(reader):
    run = solve(points(), depth=2, test_size=0.25, time_limit=30)
    page = reader(report_html(run, HOSTILE))
    assert page.locator("details").get_attribute("open") is None
    assert run.tree is not None
    assert run.train is not None
    leaf = int(run.tree.apply(run.encoding.transform(run.train.frame))[0])
    for _, child in topology.path(leaf):
        page.locator(f"section:visible button[data-next='{child}']").click()
    assert page.locator("section:visible").get_attribute("data-node") == str(leaf)
    said = page.locator("section:visible .question").inner_text()
    assert said == str(run.predict(run.train.frame.iloc[:1])[0])
    page.get_by_role("button", name="Back").click()
    page.get_by_role("button", name="Start again").click()
    assert page.locator("section:visible").get_attribute("data-node") == "1"


@pytest.mark.slow
def test_numbers_lead_over_a_hyperplane(reader):
    run = solve(points(), "margot", depth=1, time_limit=60)
    page = reader(report_html(run, "margins"))
    assert run.train is not None
    for row in (0, 1, 2, 3, 4):
        page.get_by_role("button", name="Start again").click()
        for field in page.locator("section:visible input").all():
            value = run.train.frame[field.get_attribute("data-name")].iloc[row]
            field.fill(repr(float(value)))
        page.get_by_role("button", name="Go on").click()
        said = page.locator("section:visible .question").inner_text()
        assert said == str(run.predict(run.train.frame.iloc[[row]])[0])


@pytest.mark.slow
def test_an_empty_field_is_asked_for(reader):
    page = reader(report_html(solve(points(), "margot", depth=1, time_limit=60), "margins"))
    page.get_by_role("button", name="Go on").click()
    assert page.get_by_text("Fill in a number everywhere").is_visible()
    assert page.locator("section:visible").get_attribute("data-node") == "1"


@pytest.mark.slow
def test_explore_offers_the_report(visit, solved):
    watched = visit()
    page = watched.open("/explore" + solved)
    page.get_by_role("button", name="Share").click()
    button = page.get_by_role("button", name="Report for others")
    with page.expect_download(timeout=SOLVE_MILLISECONDS) as download:
        button.click()
    content = download.value.path().read_text(encoding="utf-8")
    assert "of new rows" in content
    assert 'id="questionnaire"' in content
    watched.assert_clean()


@pytest.mark.slow
def test_a_press_counts_while_the_page_is_drawn_anew(visit, solved):
    watched, held, told = visit(), [], []

    def between(socket) -> None:
        server = socket.connect_to_server()

        def pass_on(message) -> None:
            if held:
                told.append((socket, message))
            else:
                socket.send(message)

        server.on_message(pass_on)

    watched.page.route_web_socket(re.compile("/_stcore/stream"), between)
    page = watched.open("/explore" + solved)
    page.get_by_text("Rows as CSV").wait_for()
    watched.settle()
    page.get_by_role("button", name="Share").click()
    button = page.get_by_role("button", name="Report for others")
    button.wait_for()
    held.append(True)  # the browser hears nothing, as if it were busy
    page.keyboard.press("r")  # draws the page anew
    page.wait_for_timeout(5000)
    assert told
    with page.expect_download(timeout=SOLVE_MILLISECONDS) as download:
        button.click()
        page.wait_for_timeout(1000)
        held.clear()
        for socket, message in told:
            socket.send(message)
    assert 'id="questionnaire"' in download.value.path().read_text(encoding="utf-8")
    watched.assert_clean()


def scored(page, tmp_path, said: str) -> pd.DataFrame:
    """The file that a scorer makes of ``rows.csv``, after it has said so."""
    page.locator("#rows").set_input_files(tmp_path / "rows.csv")
    page.get_by_text(said).wait_for()
    with page.expect_download() as waiting:
        page.get_by_text("Save the scored rows").click()
    waiting.value.save_as(tmp_path / "scored.csv")
    return pd.read_csv(tmp_path / "scored.csv", sep=";")


def test_a_colleague_scores_rows_from_one_file(reader, tmp_path):
    run = solve(points(), depth=2, test_size=0.0, time_limit=30)
    page = reader(scorer_html(run, HOSTILE))
    assert run.train is not None
    rows = run.train.frame.iloc[:20].assign(note="=1+1")
    rows.to_csv(tmp_path / "rows.csv", index=False, sep=";", decimal=",")
    told = scored(page, tmp_path, "20 rows scored.")
    assert list(told["prediction"]) == [str(label) for label in run.predict(rows)]
    assert set(told["note"]) == {"'=1+1"}
    lacking = rows.astype(str).iloc[:3].assign(note="Größe")
    lacking.iloc[0] = "k.A."
    (tmp_path / "gaps.csv").write_bytes(lacking.to_csv(index=False).encode("cp1252"))
    page.locator("#rows").set_input_files(tmp_path / "gaps.csv")
    page.get_by_text("3 rows scored, 1 of them without a class").wait_for()
    assert page.get_by_role("cell", name="Größe").count() == 2
    for content, said in (("height\n1\n", "has no column"), ("height", "has no column")):
        (tmp_path / "other.csv").write_text(content)
        page.locator("#rows").set_input_files(tmp_path / "other.csv")
        page.get_by_text(said).wait_for()


@pytest.mark.slow
def test_a_colleague_scores_rows_with_titles_dates_and_words_for_gaps(reader, tmp_path):
    wards = ("n/a", "Inner", "inner", "Surgery")
    lines = [
        f"{1 + i % 28:02d}.0{1 + i % 3}.2024;{1 + i % 12}/{1 + i % 28}/2023;{wards[i % 4]};"
        f"{'ab'[i % 7 in (1, 2)]}{'cd'[i % 12 > 6]}{'ef'[i % 4 == 3]}"
        for i in range(168)
    ]
    content = "\n".join(["Report, of 3.1.2024", "", "seen;born;ward;y", *lines])
    data = read_csv(
        content.encode(),
        target="y",
        kinds={"seen": "date", "born": "numeric"},
        na_values={"ward": "n/a"},
        merge=["ward"],
        missing="category",
    )
    run = solve(data, formulation="cart", depth=5, test_size=0.0)
    model = load_model(model_to_dict(run))
    assert {"seen", "born", "ward"} == {column.source for column in model.needed}
    (tmp_path / "rows.csv").write_text(content)
    page = reader(scorer_html(run, "clinic"))
    told = scored(page, tmp_path, "168 rows scored. The first 100 are shown. 1 line above")
    rows = read_table(content.encode()).frame()
    assert list(told["prediction"]) == list(score(model, rows).labels)
    assert told["prediction"].nunique() > 2


def test_a_scorer_takes_words_among_codes_for_gaps_and_no_number_for_a_date(reader, tmp_path):
    days = [f"{1 + i % 28:02d}.0{1 + i % 3}.2024" for i in range(60)]
    content = "seen;ward;y\n" + "\n".join(
        f"{day};{('', 1, 2)[i % 3]};{'ab'[i % 3 == 0]}{'cd'[i % 2]}" for i, day in enumerate(days)
    )
    kinds = {"seen": "numeric", "ward": "categorical"}
    data = read_csv(content.encode(), target="y", kinds=kinds, missing="category")
    run = solve(data, formulation="cart", depth=5, test_size=0.0)
    page, model = reader(scorer_html(run, "clinic")), load_model(model_to_dict(run))
    assert {"seen", "ward"} == {column.source for column in model.needed}
    wards = ("1", "1.00", "2", "NA", "", "4")
    rows = [f"{day};{ward}" for day in days[:6] for ward in wards]
    (tmp_path / "rows.csv").write_text("\n".join(["seen;ward", *rows]))
    told = scored(page, tmp_path, "36 rows scored.")
    frame = read_table((tmp_path / "rows.csv").read_bytes()).frame()
    assert list(told["prediction"]) == list(score(model, frame).labels)
    (tmp_path / "day.csv").write_text("seen;ward\n293;1\n")
    page.locator("#rows").set_input_files(tmp_path / "day.csv")
    page.get_by_text('Row 1: seen needs a date, not "293".').wait_for()


WRITTEN = {
    "dressed": lambda i: f"€ {1 + i % 3} {200 + i},50" if i % 2 else f"€ {i},25",
    "dressed-brackets": lambda i: (f"$({i}.50)", f"(${i}.25)", f"${i}")[i % 3],
    "dressed-comma": lambda i: f"{1 + i % 3}.{200 + i} €" if i % 4 else f"{900 + i} €",
    "decimal-comma": lambda i: f"{1 + i % 4}.{300 + i},75" if i % 5 else f"{1 + i % 4}.{400 + i}",
    "thousands-space": lambda i: f"{1 + i % 5} {100 + i},5",
    "accounting": lambda i: (
        f"({1 + i % 4},{300 + i}.75)" if i % 5 else f"{i}.25-" if i % 2 else f"{i}"
    ),
    "accounting-comma": lambda i: (f"({i},75)", f"1.{300 + i},25-", f"{i}")[i % 3],
    "points": lambda i: f"{1 + i % 3}.{200 + i}" if i % 4 else f"{900 + i}",
}


@pytest.mark.sampled(4)
@pytest.mark.parametrize("number_format", WRITTEN)
def test_a_colleague_scores_numbers_however_they_are_written(reader, tmp_path, number_format):
    write = WRITTEN[number_format]
    content = "v;y\n" + "\n".join(f"{write(i)};{'ab'[i % 7 in (1, 2, 4)]}" for i in range(80))
    data = read_csv(content.encode(), target="y")
    assert data.columns[0].number_format == {
        "points": "decimal-comma",
        "dressed-brackets": "dressed",
    }.get(number_format, number_format)
    run = solve(data, formulation="cart", depth=6, test_size=0.0)
    (tmp_path / "rows.csv").write_text(content)
    page = reader(scorer_html(run, "prices"))
    told = scored(page, tmp_path, "80 rows scored.")
    rows = read_table(content.encode()).frame()
    assert list(told["prediction"]) == list(score(load_model(model_to_dict(run)), rows).labels)
    assert told["prediction"].nunique() == 2


@pytest.mark.parametrize("at_training", [".", ","])
def test_a_colleague_may_have_the_other_decimal_mark(reader, tmp_path, at_training):
    rows = [f"{i % 9}.5;{i % 4 + 1}.250;{'xy'[i % 4 > 1 and i % 9 > 2]}" for i in range(40)]
    text = "a;b;y\n" + "\n".join(rows).replace(".", at_training)
    run = solve(read_csv(text.encode(), target="y"), depth=2, test_size=0.0)
    text = text.replace(at_training, ".,".replace(at_training, ""))
    (tmp_path / "rows.csv").write_text(text)
    told = scored(reader(scorer_html(run, "prices")), tmp_path, "40 rows scored.")
    assert list(told["prediction"]) == [row[-1] for row in rows]
