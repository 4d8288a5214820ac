"""The Compare page through AppTest: form, start, tables, history, repeated splits."""

from __future__ import annotations

import uuid
from dataclasses import replace

import numpy as np
import pytest

from dashboard.server import jobs
from dashboard.server.job_view import JobView
from octcore.data.samples import load_sample
from octcore.selection.tasks import TASKS
from octcore.solving.finish import run_from_incumbent
from octcore.solving.run import JobState
from octcore.solving.solve import solve
from tests.app.history_case import button, open_page, shown

HOSTILE = "<img src=x onerror=alert(1)>$x$[a](http://evil.example)"


def pick(app, label: str, value: str):
    next(s for s in app.selectbox if s.label == label).set_value(value).run()
    assert not app.exception
    return app


def test_empty_page_says_what_to_do_and_offers_a_race(server):
    app = open_page("compare")
    assert "Press **Start**" in shown(app)
    assert not button(app, "Start 3 runs").disabled
    assert "Compare others" not in {fold.label for fold in app.expander}


def test_started_runs_stand_side_by_side(server):
    app = pick(open_page("compare"), "What to compare", "The price of a leaf")
    button(app, "Start 3 runs").click().run()
    assert not app.exception
    assert [s["params"]["leaf_penalty"] for s in server.submitted] == [0.0, 0.01, 0.05]
    assert len({s["test_size"] for s in server.submitted}) == 1
    assert len(app.query_params["runs"].split(",")) == 3
    words = shown(app)
    assert "What differs" in words
    assert "Compare others" in {fold.label for fold in app.expander}
    assert {t.label for t in app.tabs} >= {"Trees", "Planes", "Features", "Accuracy"}


def test_a_tree_that_several_found_bears_the_badge_of_each(server):
    data, settings = load_sample("iris"), {"formulation": "path-search", "depth": 1}
    whole = solve(data, **settings)
    found = [event for event in whole.trace.events if event.kind == "incumbent"]
    early = run_from_incumbent(data, settings, found, "cancelled", 1.0)
    ids = []
    for run, owner in ((whole, "me"), (early, "you")):
        ids.append(server.store.begin(data, settings, "", owner))
        server.store.append(ids[-1], run.trace.events)
        server.store.finish(ids[-1], JobState.DONE, run)
    app = open_page("compare", runs=",".join(ids))
    assert "Both found this tree" in shown(app)
    badges = [m.value for m in app.markdown if "-badge[" in m.value]
    assert ["Proven" in words for words in badges] == [True, False]


def test_an_optimum_of_rows_that_count_alike_is_none_of_weighted_rows(server):
    data, settings = load_sample("iris"), {"formulation": "threshold-search", "depth": 1}
    ids = []
    for weights in (None, np.where(np.arange(data.n_samples) < 20, 3.0, 1.0)):
        run = solve(data, **settings, sample_weight=weights, verify=False)
        ids.append(server.store.begin(data, settings, "", "me"))
        server.store.append(ids[-1], run.trace.events)
        server.store.finish(ids[-1], JobState.DONE, run)
    app = open_page("compare", runs=",".join(ids))
    assert "which solves another problem" in shown(app)
    facts = app.dataframe[0].value.set_index("fact").loc["what is optimised"]
    assert [value.startswith("weighted") for value in facts.tolist()[1:]] == [False, True]
    assert "rows would count alike" in shown(open_page("path", run=ids[1]))


def test_a_run_that_failed_is_started_again_in_its_place(server):
    data = load_sample("iris")
    whole = server.submit("me", data, {"formulation": "cart", "depth": 1})
    failed = server.store.begin(data, {"formulation": "cart", "depth": 2}, "killed", "me")
    why = f"The model would have {'many ' * 50}rows; try again."
    server.store.finish(failed, JobState.FAILED, None, why)
    app = open_page("compare", runs=f"{whole},{failed}")
    assert why in shown(app)  # whole
    button(app, "Try again").click().run()
    assert not app.exception
    first, second = app.query_params["runs"].split(",")
    assert first == whole
    assert second != failed
    assert server.store.load(second).depth == 2
    assert "try again" not in shown(app)


@pytest.mark.long
def test_runs_that_end_while_the_page_is_drawn_still_stand_side_by_side(server, monkeypatch):
    data = load_sample("iris")
    keys = [server.submit("me", data, {"formulation": "cart", "depth": d}) for d in (1, 2)]
    final, asked = jobs.view, []

    def view(key):
        asked.append(key)
        return replace(final(key), state="running") if len(asked) <= len(keys) else final(key)

    monkeypatch.setattr(jobs, "view", view)
    assert "What differs" in shown(open_page("compare", runs=",".join(keys)))


def test_runs_that_are_deleted_while_the_page_is_drawn_are_said_to_be_gone(server, monkeypatch):
    data = load_sample("iris")
    keys = [server.submit("me", data, {"formulation": "cart", "depth": d}) for d in (1, 2)]
    known, asked = jobs.view, []

    def view(key):
        asked.append(key)
        return known(key) if len(asked) <= len(keys) else None

    monkeypatch.setattr(jobs, "view", view)
    words = shown(open_page("compare", runs=",".join(keys)))
    assert "Of 2 runs in this link, 2 cannot be found, or read, on this server." in words


def test_preset_can_be_changed_before_the_start(server):
    app = pick(open_page("compare"), "What to compare", "QB-5 against QT-5")
    pick(app, "Run 2", "bend-oct")
    button(app, "Start 2 runs").click().run()
    assert [s["formulation"] for s in server.submitted] == ["flow-oct", "bend-oct"]
    assert server.submitted[0]["encoding"] == "QB-5"


def test_settings_that_do_not_fit_keep_the_button_off(server):
    app = pick(open_page("compare"), "What to compare", "Choose yourself")
    pick(app, "Run 1", "margot")  # iris has three classes
    assert button(app, "Start 2 runs").disabled
    assert "Run 1" in app.error[0].value


def test_link_with_unknown_runs_is_said_in_words(server):
    known = server.submit("me", load_sample("iris"), {"formulation": "cart", "depth": 1})
    app = open_page("compare", runs=f"{known},{uuid.uuid4()}")
    assert "Of 2 runs in this link, 1 cannot be found" in shown(app)
    assert "What differs" in shown(app)


def test_link_with_more_runs_than_stand_side_by_side_is_said_in_words(server):
    data = load_sample("iris")
    known = [server.submit("me", data, {"formulation": "cart", "seed": s}) for s in range(5)]
    app = open_page("compare", runs=",".join(["gone", *known]))
    assert "Of 6 runs in this link, 1 cannot be found" in shown(app)
    assert "Of 6 runs in this link, the first 4 found are shown" in shown(app)
    assert known[-1] in app.query_params["runs"]


def test_runs_on_other_data_are_named_by_their_data(server):
    ids = [
        server.submit("me", load_sample(name), {"formulation": "cart", "depth": 2})
        for name in ("iris", "4-partitions")
    ]
    app = open_page("compare", runs=",".join(ids))
    assert "iris" in shown(app)
    assert "What differs" in shown(app)


@pytest.mark.long
def test_every_tab_draws(server):
    data = load_sample("4-partitions")
    ids = [server.submit("me", data, {"formulation": "cart", "depth": d}) for d in (1, 2)]
    for tab in ("Trees", "Planes", "Features", "Accuracy", "Certificates"):
        app = open_page("compare", runs=",".join(ids))
        app.session_state["compare_tabs"] = tab
        app.run()
        assert not app.exception, tab


@pytest.mark.long
def test_repeats_use_the_same_settings_on_other_splits(server, monkeypatch):
    done: dict[tuple[str, str], JobView] = {}

    def once(key, owner, data, what, settings, seconds, run=None, is_look=False):
        parts: list = []
        result = TASKS[what](data, settings, parts.append, lambda: False)
        done[key] = JobView("task", what, settings, "done", parts=tuple(parts), result=result)
        jobs.followers()[key] = key
        return key

    monkeypatch.setattr(jobs, "once", once)
    monkeypatch.setattr(jobs, "task", lambda key: done[key])
    data = load_sample("iris")
    ids = [server.submit("me", data, {"formulation": "cart", "depth": d}) for d in (1, 2)]
    app = open_page("compare", runs=",".join(ids))
    app.session_state["compare_tabs"] = "Accuracy"
    app.run()
    next(n for n in app.number_input if n.label == "Splits").set_value(3).run()
    assert "on average of" not in shown(app)
    button(app, "Repeat: 6 runs").click().run()
    assert not app.exception
    plans = [job.settings["plan"] for job in done.values()]
    assert [plan["depth"] for plan in plans] == [1, 2]
    assert {plan["test_size"] for plan in plans} == {0.25}
    expected = [
        solve(data, "cart", depth=2, seed=seed, test_size=0.25).test_accuracy for seed in (1, 2, 3)
    ]
    assert [part["held_out"] for part in list(done.values())[1].parts] == expected
    assert "on average of 3" in shown(app)


def test_hostile_names_of_data_stay_text(server):
    import pandas as pd

    from octcore.data.dataset import Dataset

    frame = pd.DataFrame({HOSTILE: range(40), "b": [i % 7 for i in range(40)]})
    data = Dataset.from_arrays(frame, ["p", HOSTILE] * 20, name=HOSTILE)
    ids = [server.submit("me", data, {"formulation": "cart", "depth": d}) for d in (1, 2)]
    for tab in ("Features", "Planes"):
        app = open_page("compare", runs=",".join(ids))
        app.session_state["compare_tabs"] = tab
        app.run()
        assert not app.exception
        raw = "\n".join(str(e.value) for e in [*app.markdown, *app.caption])
        assert "](http://evil" not in raw
        assert "<img src" not in raw.replace("\\<", "")
