"""Model selection in the app: values to try, work, standing, chart, and the task itself."""

from __future__ import annotations

import time
from dataclasses import replace

import pytest

from dashboard.server import tunings
from dashboard.server.job_view import JobView
from dashboard.server.supervisor import Supervisor
from dashboard.server.tunings import (
    Plan,
    Standing,
    axes_of,
    first_axes,
    suggested,
    values_of,
    work_of,
)
from dashboard.views.tune.view import progress_words, shown_table, work_words
from octcore.data.samples import load_sample
from octcore.errors import SettingsError
from octcore.formulations.base import get_formulation, list_formulations
from octcore.plotting.accuracy import tuning_data, tuning_figure
from octcore.plotting.palette import LIGHT
from octcore.selection.tuning import Fit, tune
from octcore.solving.run import JobState
from octcore.solving.settings import check_settings
from octcore.worker.client import WorkerPool

GRID = {"depth": (1, 2), "leaf_penalty": (0.0, 0.05)}
PLAN = Plan("path-search", GRID, protocol="3-fold", time_limit=20.0)


@pytest.fixture(scope="module")
def iris():
    return load_sample("iris")


@pytest.mark.parametrize("key", [info.key for info in list_formulations()])
def test_suggested_values_are_allowed_and_what_is_chosen_is_offered(key):
    info = get_formulation(key).info
    axes = {axis.name: axis for axis in axes_of(info)}
    assert set(first_axes(info)) <= set(axes)
    assert "exact_root_values" not in axes  # changes no tree
    for name, axis in axes.items():
        options, first = suggested(axis, info)
        assert set(first) <= set(options)
        values = values_of(axis, first)
        assert len(values) == len(first) >= 1
        if name in {p.name for p in info.hyperparameters}:
            check_settings(key, params={name: values[0]})
        elif name not in {"depth", "encoding"}:
            check_settings(key, constraints={name: values[0]})


def test_a_declared_grid_may_name_words_and_switches():
    info = get_formulation("svm1-odt").info
    declared = {"encoding": ("QB-4", "scaled"), "strict": (True,), "norm_price": (0.3,)}
    info = replace(info, grid=declared)
    axes = {axis.name: axis for axis in axes_of(info)}
    for name, values in declared.items():
        options, first = suggested(axes[name], info)
        assert set(first) <= set(options)
        assert values_of(axes[name], first) == values
    assert suggested(axes["strict"], info)[0] == ("false", "true")


def test_a_typed_value_that_is_not_allowed_is_refused_by_name():
    axis = next(a for a in axes_of(get_formulation("flow-oct").info) if a.name == "leaf_penalty")
    with pytest.raises(SettingsError, match="leaf_penalty must be"):
        values_of(axis, ["7"])
    with pytest.raises(SettingsError, match="at least one value for leaf penalty"):
        values_of(axis, [])


def test_the_work_is_counted_as_the_library_does_it(iris):
    work = work_of(PLAN, iris)
    assert (work.candidates, work.folds, work.finals, work.trainings) == (4, 3, 1, 13)
    assert work.longest == 13 * 20.0
    nested = work_of(Plan("path-search", GRID, protocol="nested"), iris)
    assert nested.trainings == 4 * 6 + 3
    words = work_words(work)
    assert "4 candidates × 3 splits + 1 final training = **13 trainings**" in words


def test_too_much_and_impossible_work_is_refused_in_words(iris, monkeypatch):
    with monkeypatch.context() as patch:  # more than any memory holds are not even made
        patch.setattr(tunings, "expand_grid", lambda grid: pytest.fail("expanded"))
        with pytest.raises(SettingsError, match="1,000,000,000,000 candidates"):
            work_of(Plan("path-search", {f"axis {k}": tuple(range(10)) for k in range(12)}), iris)
    with pytest.raises(SettingsError, match="smallest class has 50 rows"):
        work_of(Plan("path-search", GRID, protocol="60-fold"), iris)


def fit(depth: int, outer: int, inner: int, accuracy: float | None, error: str = "") -> Fit:
    candidate = (("depth", depth), ("leaf_penalty", 0.01))
    return Fit(candidate, outer, inner, accuracy, 0.9, depth, depth + 1, "optimal", 0.0, 0.5, error)


def standing(fits, state: JobState = JobState.RUNNING, result=None, iris=None) -> Standing:
    parts = tuple(
        {"fit": {**vars(f), "candidate": dict(f.candidate)}, "done": i + 1, "total": 9}
        for i, f in enumerate(fits)
    )
    name, settings = "Exact search on iris", PLAN.settings
    view = JobView("x", name, settings, state.value, elapsed=3.0, data=iris, parts=parts,
                   result=result)  # fmt: skip
    return tunings.standing_of(view)


def test_a_candidate_is_not_the_best_so_far_for_being_the_first_on_a_further_split(iris):
    now = standing([fit(1, 0, 0, 0.7), fit(2, 0, 0, 0.9), fit(1, 0, 1, 0.95)], iris=iris)
    assert dict(now.best)["depth"] == 2
    assert now.mean(now.best) == pytest.approx(0.9)
    assert "3 of 9" in progress_words(now)
    assert "about 3.0 s to go" in progress_words(now)
    assert standing([], iris=iris).best is None


def test_the_choice_and_its_settings_for_the_solve_form(iris):
    fits = [fit(1, 0, 0, 0.7), fit(2, 0, 0, 0.9), fit(2, 0, -1, None)]
    chosen = {"chosen": [{"depth": 2, "leaf_penalty": 0.01}]}
    done = standing(fits, JobState.DONE, chosen, iris)
    assert done.job.is_final
    settings = done.solve_settings(done.best)
    assert settings["depth"] == 2
    assert settings["params"] == {"leaf_penalty": 0.01}
    check_settings(**settings)
    table = shown_table(done)
    assert list(table["mean %"]) == pytest.approx([70.0, 90.0])
    assert list(table["proven"]) == ["1 of 1", "1 of 1"]
    assert "error" not in table


def test_a_candidate_that_cannot_be_trained_says_why(iris):
    fits = [fit(1, 0, 0, 0.7), fit(2, 0, 0, None, "Too large.")]
    table = shown_table(standing(fits, iris=iris))
    assert list(table["error"]) == ["", "Too large."]


def test_chart_over_a_number_and_chart_of_words():
    fits = [fit(d, 0, i, 0.6 + d / 10 + i / 100) for d in (1, 2, 3) for i in (0, 1)]
    record = tuning_data(fits, fits[-1].candidate)
    assert record.across == "depth"
    assert record.values == (1, 2, 3)
    figure = tuning_figure(record, LIGHT)
    means = next(t for t in figure.data if t.mode == "lines+markers")
    assert list(means.y) == pytest.approx([0.705, 0.805, 0.905])
    assert list(means.error_y.array) == pytest.approx([0.005] * 3)
    assert figure.data[-1].marker.symbol == "star-open"
    perfect = [fit(d, 0, 0, 1.0) for d in (1, 2)]
    axis = tuning_figure(tuning_data(perfect, None), LIGHT).layout.yaxis
    assert axis.range[0] < 1 <= axis.range[1] < 1.001  # no number above 100 %
    assert axis.tickformat == ".3~p"  # nor one twice
    words = [Fit((("norm", n),), 0, 0, a, 1.0, 1, 2, "optimal", 0.0, 1.0)
             for n, a in (("l1", 0.8), ("l2", 0.9))]  # fmt: skip
    marks = tuning_figure(tuning_data(words, None), LIGHT)
    assert list(marks.layout.yaxis.ticktext) == ["norm l2", "norm l1"]


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    server = Supervisor(cores=1, store=tmp_path_factory.mktemp("tune") / "runs.db",
                        pool=WorkerPool(idle=0))  # fmt: skip
    yield server
    server.close()


@pytest.mark.slow
def test_the_task_gives_what_the_library_gives(server, iris):
    task = server.submit_task("me", iris, "tune", PLAN.settings, "x", 300.0)
    waiting = server.submit_task("me", iris, "tune", PLAN.settings, "y", 300.0)
    assert server.get(waiting).position == 1
    server.stop(waiting)
    assert server.wait(task, 200)
    done = tunings.standing_of(server.get(task))
    assert done.job.state == "done"
    direct = tune(iris, **PLAN.settings)
    assert done.result.chosen == direct.chosen
    assert [f.accuracy for f in done.fits if f.inner >= 0] == [
        f.accuracy for f in direct.fits if f.inner >= 0
    ]
    assert server.get(task).result["splits"][0]["inner"]
    assert server.get(waiting).state == "stopped"


@pytest.mark.long
def test_stop_keeps_what_was_trained(server, iris):
    plan = Plan(
        "path-search", {"depth": (1, 2), "leaf_penalty": tuple(i / 500 for i in range(100))}
    )
    task = server.submit_task("me", iris, "tune", plan.settings, "x", 300.0)
    end = time.monotonic() + 120
    while not server.get(task).parts and time.monotonic() < end:
        time.sleep(0.05)
    server.stop(task)
    assert server.wait(task, 20)
    stopped = tunings.standing_of(server.get(task))
    assert stopped.job.state == "stopped"
    assert 1 <= len(stopped.fits) < 1001
    assert stopped.best is not None
    assert stopped.result.chosen == ()


@pytest.mark.long
def test_a_defect_ends_a_task_with_a_sentence(server, iris):
    task = server.submit_task("me", iris, "tune", {**PLAN.settings, "formulation": "no-such"}, "x")
    assert server.wait(task, 60)
    view = server.get(task)
    assert view.state == "failed"
    assert "no-such" in view.error.message
