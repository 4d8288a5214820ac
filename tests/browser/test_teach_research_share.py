"""What a teacher, a researcher and a colleague do, with clicks and seconds recorded."""

from __future__ import annotations

import re
import time
import zipfile
from collections.abc import Callable
from io import BytesIO

import highspy
import numpy as np
import pandas as pd
import pytest

import octcore
from dashboard.teaching import lessons
from octcore.store.runs import RunStore
from tests.browser.conftest import SOLVE_MILLISECONDS

pytestmark = [pytest.mark.browser, pytest.mark.long]


@pytest.fixture
def task(record_property, request):
    """Count what a person presses or drags, and how long it takes; printed with ``-rP``."""
    done: list[float] = []
    start = time.perf_counter()

    def press(act: Callable[[], None]) -> None:
        done.append(time.perf_counter())
        act()

    def ended(most: int) -> None:
        seconds = time.perf_counter() - start
        record_property("clicks", len(done))
        record_property("seconds", round(seconds, 1))
        print(f"{request.node.name}: {len(done)} clicks, {seconds:.1f} s")
        assert len(done) <= most

    press.ended = ended  # type: ignore[attr-defined]
    return press


@pytest.mark.slow
def test_another_solver_finds_the_optimum_of_the_model(visit, modelled, task, tmp_path):
    watched = visit()
    page = watched.open("/explore" + modelled)
    task(page.get_by_role("tab", name="Download").click)
    with page.expect_download(timeout=SOLVE_MILLISECONDS) as waiting:
        task(page.get_by_role("button", name="Model for other solvers").click)
    with zipfile.ZipFile(waiting.value.path()) as archive:
        archive.extractall(tmp_path)
    solver = highspy.Highs()
    solver.setOptionValue("output_flag", False)
    assert solver.readModel(str(tmp_path / "model.mps")) == highspy.HighsStatus.kOk
    solver.run()
    task.ended(3)
    head = (tmp_path / "model.mps").read_text().splitlines()[:2]
    scale = float(re.search(r"= (\S+) \* \(objective\)", head[0])[1])
    stated = float(re.search(r"objective (\S+),", head[1])[1])
    found = scale * solver.getInfo().objective_function_value
    run = octcore.solve(octcore.load_sample("iris"), "path-search", encoding="QT-5", depth=2)
    assert found == pytest.approx(stated, abs=1e-6)
    assert found == pytest.approx(run.objective, abs=1e-6)
    watched.assert_clean()


def errors_of(points: np.ndarray, codes: np.ndarray, cuts) -> int:
    """Points that are not of the larger class of their part, by one loop over the points."""
    parts: dict[int, list[int]] = {}
    for point, code in zip(points, codes, strict=True):
        node = 0
        while node < len(cuts):
            axis, place = cuts[node]
            node = 2 * node + (2 if 1000 * point[axis] > place else 1)
        parts.setdefault(node, []).append(code)
    return sum(len(part) - max(np.bincount(part)) for part in parts.values())


def test_a_line_is_dragged_in_a_presentation_and_its_errors_are_counted(visit, task):
    watched = visit()
    page = watched.page
    page.goto(watched.address + "/teach?step=guess")
    grip = page.locator("g.cut[data-cut='0'] circle")
    grip.wait_for()
    points, codes = lessons.lesson_points(lessons.default_lesson())
    errors = page.locator(".octboard .errors")
    before = page.locator(".octboard > svg").bounding_box()
    assert errors.inner_text() == f"Errors: {errors_of(points, codes, lessons.FIRST_GUESS)}"

    def drag() -> None:
        box = grip.bounding_box()
        x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
        page.mouse.move(x, y)
        page.mouse.down()
        for step in range(1, 9):
            page.mouse.move(x - 13 * step, y)
        seen = errors.inner_text()
        page.mouse.up()
        page.wait_for_url(re.compile("guess="), timeout=60_000)
        assert errors.inner_text() == seen

    task(page.get_by_role("button", name="Present").click)
    page.get_by_role("button", name="Leave").wait_for()
    watched.settle()
    task(drag)
    task.ended(2)
    given = re.search(r"guess=([^&]+)", page.url)[1]
    cuts = lessons.guess_from(given, 2)
    assert cuts[0][1] < 450
    assert errors.inner_text() == f"Errors: {errors_of(points, codes, cuts)}"
    steps = page.evaluate("history.length")
    page.locator(".octboard > svg").focus()
    # The second line turned, to the end of its part, and moved from there.
    for key in ("2", "Enter", "Shift+ArrowLeft"):
        page.keyboard.press(key)
        page.wait_for_timeout(300)  # by hand
    page.wait_for_url(re.compile(rf"guess=x\d+_x{cuts[0][1] - 100}_"), timeout=60_000)

    def linked() -> str:
        given = re.search(r"guess=([^&]+)", page.url)
        cuts = lessons.guess_from(given and given[1], 2)
        second = min(cuts[1][1], cuts[0][1]) if cuts[1][0] == 0 else cuts[1][1]
        kept = (cuts[0], (cuts[1][0], second), cuts[2])  # a line stays inside its part
        return f"Errors: {errors_of(points, codes, kept)}"

    assert errors.inner_text() == linked()
    assert page.evaluate("history.length") == steps + 1  # keys in a row are one
    for _ in range(2):  # the browser's Back takes the lines with it
        page.go_back()
        watched.settle()
        assert errors.inner_text() == linked()
    for _ in range(2):
        page.go_forward()
        watched.settle()
    page.wait_for_url(re.compile(rf"guess=x\d+_x{cuts[0][1] - 100}_"), timeout=60_000)
    assert errors.inner_text() == linked()
    page.get_by_role("button", name="Leave").click()
    watched.settle()
    assert page.locator(".octboard > svg").bounding_box()["y"] == pytest.approx(before["y"], abs=2)
    again = visit()
    again.page.goto(page.url)
    again.page.locator("g.cut").first.wait_for(state="attached")
    again.settle()
    assert again.page.locator(".octboard .errors").inner_text() == errors.inner_text()
    watched.assert_clean()


@pytest.mark.slow
def test_a_colleague_gets_a_file_that_scores_rows_and_a_slide(
    visit, solved, task, tmp_path, app_folder
):
    watched = visit()
    page = watched.open("/explore" + solved)
    task(page.get_by_role("button", name="Share").click)
    with page.expect_download(timeout=SOLVE_MILLISECONDS) as waiting:
        task(page.get_by_role("button", name="Scorer for others").click)
    waiting.value.save_as(tmp_path / "scorer.html")
    rows = octcore.load_sample("iris").frame.iloc[::7].head(20)
    rows.to_csv(tmp_path / "rows.csv", index=False)
    colleague = visit()
    colleague.page.goto((tmp_path / "scorer.html").as_uri())
    choose = colleague.page.locator("#rows").set_input_files
    task(lambda: choose(tmp_path / "rows.csv"))
    colleague.page.get_by_text("20 rows scored.").wait_for()
    with colleague.page.expect_download() as saved:
        task(colleague.page.get_by_text("Save the scored rows").click)
    task.ended(4)
    scored = pd.read_csv(saved.value.path())
    store = RunStore(app_folder / "runs.sqlite")
    run = store.load(solved.partition("run=")[2].split("&")[0])
    store.close()
    assert scored["prediction"].tolist() == run.predict(rows).tolist()
    with page.expect_download(timeout=60_000) as picture:
        page.get_by_role("button", name="Picture for a slide").click()
    content = picture.value.path().read_bytes()
    assert content.startswith(b"\x89PNG")
    assert [int.from_bytes(content[k : k + 4]) for k in (16, 20)] == [1600, 900]
    watched.assert_clean()


@pytest.mark.slow
def test_a_comparison_goes_into_a_paper(visit, solved, modelled):
    watched = visit()
    numbers = ",".join(query.partition("run=")[2].split("&")[0] for query in (modelled, solved))
    page = watched.open(f"/compare?runs={numbers}")
    button = page.get_by_role("button", name="For the paper")
    with page.expect_download(timeout=SOLVE_MILLISECONDS) as waiting:
        button.click(timeout=SOLVE_MILLISECONDS)
    with zipfile.ZipFile(BytesIO(waiting.value.path().read_bytes())) as archive:
        texts = {name: archive.read(name).decode() for name in archive.namelist()}
    assert {"comparison.csv", "comparison.tex", "references.bib", "README.txt"} <= set(texts)
    assert "1-flow-oct/model.mps" in texts
    assert "10.1287/opre.2021.0034" in texts["references.bib"]
    assert "seed 0" in texts["README.txt"]
    assert texts["1-flow-oct/solve.log"].count("\n") > 10
    watched.assert_clean()
