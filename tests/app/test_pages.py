"""Pages through AppTest: scripts, forms and states, without pixels and without a solver."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

import dashboard
from dashboard.server import jobs
from dashboard.server.job_view import JobView, title_of
from dashboard.server.supervisor import Supervisor
from dashboard.widgets.parameter_form import label_of
from octcore.data.dataset import class_versus_rest
from octcore.data.samples import list_samples, load_sample
from octcore.engines.events import Event
from octcore.formulations.base import list_formulations
from octcore.solving.finish import run_from_incumbent
from octcore.solving.settings import FORMULATION
from octcore.solving.solve import solve

APP = str(Path(dashboard.__file__).parent / "app.py")
PATIENCE = 60
HOSTILE = "<img src=x onerror=alert(1)>$x$[a](http://evil.example)"


class FakeSupervisor:
    """Answers at once with a greedy tree, so that pages meet every state of a run."""

    def __init__(self) -> None:
        self.views: dict[str, JobView] = {}
        self.stopped: list[str] = []


@pytest.fixture
def fake(monkeypatch):
    """Replace the process machinery: the pages' own logic is what is tested here."""
    supervisor = FakeSupervisor()

    def submit(owner, data, settings):
        run = solve(data, **{**settings, "formulation": "cart", "engine": "auto"})
        title = title_of(settings, data.name)
        supervisor.views["run-1"] = JobView(
            "run-1", title, settings, "done", data=data, run=run, trace=run.trace
        )
        return "run-1"

    monkeypatch.setattr(jobs, "warm_up", lambda: None)
    monkeypatch.setattr(jobs, "submit", submit)
    monkeypatch.setattr(jobs, "view", supervisor.views.get)
    monkeypatch.setattr(Supervisor, "stop", lambda _, run_id: supervisor.stopped.append(run_id))
    yield supervisor
    st.cache_resource.clear()


def open_app(page: str = "data") -> AppTest:
    app = AppTest.from_file(APP, default_timeout=PATIENCE).run()
    assert not app.exception
    app.switch_page(f"screens/{page}.py").run()
    assert not app.exception
    return app


def shown(app: AppTest) -> str:
    parts = [*app.markdown, *app.caption, *app.error, *app.warning, *app.info, *app.success]
    return "\n".join(str(element.value) for element in parts)


def button(app: AppTest, label: str):
    return next(b for b in app.button if b.label == label)


def upload(app: AppTest, content: bytes, name: str = "own.csv") -> AppTest:
    app.file_uploader[0].upload(name, content, "text/csv")
    app.run()
    assert not app.exception
    return app


def test_opens_with_a_sample_and_one_button(fake):
    app = open_app()
    assert "iris" in shown(app)
    assert not button(app, "Find an optimal tree").disabled
    assert {m.label: m.value for m in app.metric}["Rows in use"] == "150"


@pytest.mark.long
@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    "page", ["solve", "compare", "tune", "path", "explore", "alternatives", "whatif", "runs"]
)
def test_every_page_opens_while_it_is_not_said_what_is_predicted(fake, page):
    rows = "".join(f"{'xy'[i % 2]},{'abc'[i % 3]},{i * 7 % 37}.5\n" for i in range(40))
    app = upload(open_app(), b"sex,kind,age\n" + rows.encode())
    assert app.session_state["state"].choice.target is None
    app.switch_page(f"screens/{page}.py").run()
    assert not app.exception
    if page in {"solve", "compare", "path"}:
        assert "Say on the Data page first what is predicted." in shown(app)


def test_one_click_leads_to_a_tree(fake):
    app = open_app()
    button(app, "Find an optimal tree").click().run()
    assert not app.exception
    assert fake.views["run-1"].settings["formulation"] == FORMULATION.default
    assert app.query_params["run"] == "run-1"
    app.switch_page("screens/explore.py").run()
    assert not app.exception
    assert re.search(
        r"## A tree with \d questions? .*is right for \d+\xa0% of new rows", shown(app)
    )


def test_what_no_tree_can_be_made_of_is_said_before_the_press(fake):
    app = upload(open_app(), b"a,class\n1,x\n2,y\n")
    assert button(app, "Find an optimal tree").disabled
    assert "no row can be held out" in app.error[0].value


def test_what_now_goes_on_with_the_rows_of_the_run(fake):
    app = open_app()
    button(app, "Find an optimal tree").click().run()
    app.switch_page("screens/data.py").run()
    next(s for s in app.selectbox if s.label == "Sample data").set_value("wine").run()
    app.switch_page("screens/solve.py").run()
    next(b for b in app.button if (b.key or "").startswith("next:")).click().run()
    assert fake.views["run-1"].data.name == "iris"


@pytest.mark.parametrize("page", ["solve", "explore", "about"])
def test_pages_open_empty_and_say_what_to_do(fake, page):
    app = open_app(page)
    assert shown(app).strip()
    if page == "explore":
        assert "no solved tree yet" in shown(app)


@pytest.mark.parametrize("problem", ["", "The history of runs cannot be used: it is damaged."])
def test_unknown_run_in_the_link_is_said_in_words(fake, monkeypatch, problem):
    monkeypatch.setattr(Supervisor, "history_problem", problem)
    app = AppTest.from_file(APP, default_timeout=PATIENCE)
    app.query_params["run"] = "00000000-0000-0000-0000-000000000000"
    app.run()
    assert ("was deleted, or made on another one" in shown(app)) != bool(problem)
    assert ("it is damaged" in shown(app)) == bool(problem)
    app.switch_page("screens/solve.py").run()
    assert not app.exception


def test_upload_is_read_and_another_target_can_be_chosen(fake):
    app = upload(open_app(), b"a,b,c\n1.5,2,x\n2.5,3,y\n3.5,4,x\n4.5,9,y\n")
    assert "own\\.csv" in shown(app)
    target = next(s for s in app.selectbox if s.label == "What is predicted")
    assert target.value == "c"
    target.set_value("b").run()
    assert not app.exception
    assert next(s for s in app.selectbox if s.label == "What is predicted").value == "b"


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    "content", [b"", b"\x89PNG\r\n\x1a\n", b"<html><body>no</body></html>", b"a,a\n1,2\n"]
)
def test_bad_upload_is_one_sentence_and_loses_nothing(fake, content):
    app = open_app()
    button(app, "Find an optimal tree").click().run()
    app.switch_page("screens/data.py").run()
    upload(app, content)
    assert len(app.error) == 1
    assert "Traceback" not in shown(app)
    assert {m.label: m.value for m in app.metric}["Rows in use"] == "150"
    assert "run-1" in fake.views


def test_hostile_names_are_escaped_in_markdown(fake):
    header = HOSTILE.replace(",", ";")
    rows = "".join(f"{i % 7},{'p' if i % 2 else HOSTILE}\n" for i in range(40))
    app = upload(open_app(), f"{header},class\n{rows}".encode())
    button(app, "Find an optimal tree").click().run()
    app.switch_page("screens/explore.py").run()
    assert not app.exception
    text = shown(app)
    assert "](http://evil" not in text
    assert "<img src" not in text.replace("\\<", "")


@pytest.mark.sampled(8)
@pytest.mark.parametrize("key", [info.key for info in list_formulations()])
def test_form_is_drawn_for_every_formulation(fake, key):
    app = open_app("solve")
    next(s for s in app.selectbox if s.label == "Formulation").set_value(key).run()
    assert not app.exception
    info = next(info for info in list_formulations() if info.key == key)
    code = "\n".join(block.value for block in app.code)
    assert f"formulation='{key}'" in code
    assert button(app, "Grow the tree" if key == "cart" else "Find the optimal tree")
    inputs = [*app.number_input, *app.selectbox, *app.toggle, *app.text_input]
    labels = {element.label for element in inputs}
    for parameter in info.hyperparameters:
        assert label_of(parameter) in labels


def test_settings_survive_a_change_of_page_and_reach_the_solve(fake):
    app = open_app("solve")
    next(n for n in app.number_input if n.label == "Depth").set_value(3).run()
    next(n for n in app.number_input if n.label.startswith("Leaf penalty")).set_value(0.05).run()
    app.switch_page("screens/data.py").run()
    app.switch_page("screens/solve.py").run()
    assert next(n for n in app.number_input if n.label == "Depth").value == 3
    button(app, "Find the optimal tree").click().run()
    assert not app.exception
    settings = fake.views["run-1"].settings
    assert settings["depth"] == 3
    assert settings["params"]["leaf_penalty"] == 0.05


def test_what_a_browser_says_late_does_not_turn_the_form_back(fake, monkeypatch):
    def submit(owner, data, settings):
        run = solve(data, **{**settings, "formulation": "cart", "engine": "auto"})
        if settings["formulation"] == "flow-oct":
            event = Event(0.1, "incumbent", 0.5, 0.99, "start", tree=run.tree)
            run = run_from_incumbent(
                data,
                {**settings, "encoding": "raw", "formulation": "threshold-search"},
                (event,),
                "time_limit",
                5.0,
            )
            run = replace(
                run, settings={**run.settings, "formulation": "flow-oct", "encoding": "QT-5"}
            )
        key = f"run-{len(fake.views) + 1}"
        fake.views[key] = JobView(key, "", settings, "done", data=data, run=run, trace=run.trace)
        return key

    monkeypatch.setattr(jobs, "submit", submit)
    app = open_app("solve")
    next(s for s in app.selectbox if s.label == "Formulation").set_value("flow-oct").run()
    next(n for n in app.number_input if n.label.startswith("Time limit")).set_value(300.0).run()
    next(n for n in app.number_input if n.label == "Most leaves").set_value(5).run()
    button(app, "Find the optimal tree").click().run()
    late = app._tree.get_widget_states()
    button(app, "Prove it with exact search").click().run()
    app._run(late)  # a part of the page that redraws itself sends what the browser still has
    assert not app.exception
    chosen = next(s for s in app.selectbox if s.label == "Formulation").value
    code = "\n".join(block.value for block in app.code)
    assert chosen == fake.views["run-2"].settings["formulation"] != "flow-oct"
    assert f"formulation='{chosen}'" in code
    assert "time_limit=60.0" in code
    assert "'max_leaves': 5" in code


def test_settings_that_do_not_fit_are_refused_before_the_start(fake):
    app = open_app("solve")
    next(s for s in app.selectbox if s.label == "Encoding").set_value("one-hot").run()
    assert not app.exception
    assert button(app, "Find the optimal tree").disabled
    assert "one-hot" in app.error[0].value.replace("\\", "")


def test_running_solve_shows_numbers_and_can_be_stopped(fake):
    data = load_sample("iris")
    run = solve(data, "cart")
    fake.views["run-2"] = JobView(
        "run-2", "x", {"formulation": "cart"}, "running", "solve", trace=run.trace, data=data
    )
    app = AppTest.from_file(APP, default_timeout=PATIENCE)
    app.query_params["run"] = "run-2"
    app.run()
    app.switch_page("screens/solve.py")
    app.query_params["run"] = "run-2"
    app.run()
    assert not app.exception
    assert {m.label for m in app.metric} >= {"Best tree", "Bound", "Gap"}
    button(app, "Stop").click().run()
    assert fake.stopped == ["run-2"]


def test_failed_run_says_why(fake):
    from octcore.errors import EngineError

    error = EngineError("WORKER_DIED", "The worker was ended by signal SIGKILL; solve again.")
    fake.views["run-3"] = JobView("run-3", "x", {"formulation": "cart"}, "failed", error=error)
    for page in ("solve", "explore"):
        app = AppTest.from_file(APP, default_timeout=PATIENCE)
        app.run()
        app.switch_page(f"screens/{page}.py")
        app.query_params["run"] = "run-3"
        app.run()
        assert not app.exception
        assert "SIGKILL" in shown(app)


@pytest.mark.long
def test_a_sample_of_categories_has_a_plane(fake):
    app = open_app()
    next(s for s in app.selectbox if s.label == "Sample data").set_value("monks-1").run()
    button(app, "Find an optimal tree").click().run()
    app.switch_page("screens/explore.py").run()
    assert not app.exception
    assert next(s for s in app.selectbox if s.label == "Across").options


def test_gaps_cost_as_little_as_possible_and_each_way_says_its_price(fake):
    rows = "".join(
        f"{'' if i % 5 == 0 else 'ab'[i % 2]},{i if i % 3 else ''},{i * 7 % 11},"
        f"{'' if i == 7 else i},{'z' if i == 15 else 'xy'[i % 2]}\n"
        for i in range(40)
    )
    app = upload(open_app(), b"kind,note,size,extra,label\n" + rows.encode())
    assert {m.label: m.value for m in app.metric}["Rows in use"] == "39"
    ways = next(r for r in app.radio if r.label.startswith("Values are missing"))
    assert ways.value == "auto"
    assert [words.replace("\\", "") for words in ways.proto.captions] == [
        "costs 1 row of 40 and 1 column (note)",
        "costs 15 rows of 40 and 1 class (z)",
        "costs 20 rows of 40 and 1 class (z)",
        "costs 3 columns (kind, note, extra)",
    ]
    app.session_state["data_tabs"] = "Findings"
    app.run()
    words = shown(app).replace("\\", "")
    assert words.count("1 row of 40 left out (first in line 9); 1 column left out, whose") == 1
    ways = next(r for r in app.radio if r.label.startswith("Values are missing"))
    ways.set_value("category").run()
    assert not app.exception
    assert "no row is left of 1 class (“z”)" in shown(app).replace("\\", "")
    assert {m.label: m.value for m in app.metric}["Rows in use"] == "25"


def test_what_costs_as_much_as_leaving_rows_out_is_called_so(fake):
    rows = "".join(f"{'' if i % 5 == 0 else i},{i * 7 % 40},{'xy'[i % 2]}\n" for i in range(40))
    app = upload(open_app(), b"size,age,label\n" + rows.encode())
    ways = next(r for r in app.radio if r.label.startswith("Values are missing"))
    assert ways.options == ["As little as possible", "Leave out the rows with gaps"]


def test_what_costs_most_is_said_first(fake):
    rows = "".join(
        f" p{i},{f'{i * 7 % 37}.5' if i % 4 else 'k.A.'},{'Aa'[i % 2]}x,{i},{'xy'[i % 3 == 0]}\n"
        for i in range(80)
    )
    app = upload(open_app(), b"person,crp,ward,day,label\n" + rows.encode())
    said = [m.value.replace("\\", "") for m in app.markdown if ":material/warning:" in m.value]
    assert [re.search("“(.*?)”", words)[1] for words in said] == ["crp", "person", "ward", "person"]
    assert "Spaces around" in said[-1]
    costs = "As missing values are treated now, that costs 1 column (crp)."
    assert costs in {caption.value.replace("\\", "") for caption in app.caption}
    next(b for b in app.button if b.label == "Read crp as numbers, its words as missing").click()
    app.run()
    words = shown(app).replace("\\", "")
    assert "20 values missing in “crp” (written “k.A.”): 1 column left out, whose gaps" in words


def test_the_same_of_further_columns_is_said_with_what_it_is_the_same_as(fake):
    rows = "".join(
        f"{','.join(['none' if i % 4 else 'abc'[i % 3]] * 8)},{i % 5}.0,{i % 7}.5,{'xy'[i % 2]}\n"
        for i in range(60)
    )
    head = ",".join(f"c{k}" for k in range(8)) + ",few,size,y\n"
    app = upload(open_app(), (head + rows).encode())
    said = [m.value for m in app.markdown if re.match(":material/(warning|info):", m.value)]
    same = next(words for words in said if "c7" in words)
    assert "may mean a missing value" in same
    others = "Likewise, each with its own values: “c2”, “c3”, “c4”, “c5”, “c6”, “c7”."
    assert same.replace("\\", "").endswith(others)


def test_ways_to_treat_gaps_that_cost_the_same_are_offered_once(fake):
    rows = "".join(f"{'' if i == 7 else i},{i % 7}.5,{'xy'[i % 2]}\n" for i in range(40))
    app = upload(open_app(), b"extra,size,y\n" + rows.encode())
    ways = next(r for r in app.radio if r.label.startswith("Values are missing"))
    assert ways.options == ["As little as possible", "Leave out the columns with gaps"]
    ways.set_value("drop-columns").run()
    assert not app.exception
    assert app.session_state["state"].data.n_samples == 40


def test_a_table_without_gaps_is_not_asked_about_them(fake):
    assert not open_app().radio


def test_few_whole_numbers_are_read_as_categories_at_a_press(fake):
    rows = "".join(f"{i % 5},{i}.5,{'ab'[i % 3 == 1]}\n" for i in range(40))
    app = upload(open_app(), b"rooms,x,y\n" + rows.encode())
    app.session_state["data_tabs"] = "Findings"
    app.run()
    assert "questions are like “is 1” instead of “at most 1.5”" in shown(app).replace("\\", "")
    button(app, "Read rooms as categories").click().run()
    assert not app.exception
    assert app.session_state["state"].data.column("rooms").levels == ("0", "1", "2", "3", "4")
    assert "Read rooms as categories" not in {b.label for b in app.button}


def test_what_a_table_loses_is_said_above_the_button_with_another_reading_and_back(fake):
    rows = "".join(
        f"{'k.A.' if i % 20 == 5 else f'{i},5'};0{1 + i % 9}.02.2024;{i % 7};{'ab'[i % 3 == 1]}\n"
        for i in range(40)
    )
    app = upload(open_app(), b"bmi;seen;x;y\n" + rows.encode())
    assert {m.label: m.value for m in app.metric}["Rows left out"] == "2"
    said = [m.value.replace("\\", "") for m in app.markdown if ":material/warning:" in m.value]
    assert "“seen” holds dates and is left out" in said[0]
    assert "(written “k.A.”): 2 rows of 40 left out" in said[1]
    assert "2 such values count as missing" in said[2]
    assert "decimal comma" in said[3]
    button(app, "Keep the texts of bmi").click().run()
    button(app, "Read seen as days since the first date").click().run()
    assert not app.exception
    data = app.session_state["state"].data
    assert [c.kind for c in data.columns] == ["categorical", "numeric", "numeric"]
    assert data.n_samples == 40
    assert "Prepared: 2 steps" in shown(app)
    button(app, "Read all as found").click().run()
    assert {m.label: m.value for m in app.metric}["Rows left out"] == "2"
    assert "Prepared" not in shown(app)


def test_the_kinds_of_a_sample_are_its_own(fake):
    app = open_app()
    for name in (s.name for s in list_samples() if s.kinds):
        next(s for s in app.selectbox if s.label == "Sample data").set_value(name).run()
        assert not app.exception
        assert "Prepared" not in shown(app)


def test_a_measurement_is_not_solved_before_it_is_cut_into_classes(fake):
    rows = "".join(f"{i * 7 % 40}.5,{i * 3 % 11},{i * 1.25}\n" for i in range(40))
    app = upload(open_app(), b"a,b,price\n" + rows.encode())
    assert button(app, "Find an optimal tree").disabled
    target = next(s for s in app.selectbox if s.label == "What is predicted")
    assert target.value is None
    target.set_value("price").run()
    assert "regression" in shown(app)
    assert not [f for f in app.session_state["state"].data.findings if "class" in f.message]
    assert "2 features · numbers, no classes yet" in shown(app)
    for page, label in (("start", "See a proven tree"), ("data", "Find an optimal tree")):
        app.switch_page(f"screens/{page}.py").run()
        assert button(app, label).disabled
    app.switch_page("screens/tune.py").run()
    assert "Say on the Data page first" in shown(app)
    app.switch_page("screens/data.py").run()
    next(g for g in app.button_group if g.label == "Classes made of it").set_value(3).run()
    assert not app.exception
    assert not button(app, "Find an optimal tree").disabled
    button(app, "Find an optimal tree").click().run()
    run = fake.views["run-1"].run
    assert len(run.classes) == 3


@pytest.mark.parametrize(("key", "is_warned"), [("cart", True), ("path-search", False)])
def test_no_proof_is_called_unlikely_that_stands_beside_the_form(fake, key, is_warned):
    data = load_sample("iris")
    asked = {"formulation": "oct", "depth": 3, "time_limit": 2.0, "encoding": "auto"}
    run = solve(data, key, depth=2, encoding="QT-5", verify=False)
    assert run.is_proven != is_warned
    fake.views["run-1"] = JobView(
        "run-1", "OCT", asked, "done", data=data, run=run, trace=run.trace
    )
    app = open_app("solve")
    app.query_params["run"], app.session_state["offered_solve"] = "run-1", asked
    app.run()
    assert not app.exception
    assert any("is unlikely for" in warning.value for warning in app.warning) == is_warned


def test_a_run_of_one_class_of_the_loaded_data_is_about_no_other_data(fake):
    data = class_versus_rest(load_sample("iris"), "setosa")
    run = solve(data, "cart", depth=1)
    fake.views["run-1"] = JobView("run-1", "CART", {}, "done", data=data, run=run)
    app = open_app("solve")
    app.query_params["run"] = "run-1"
    assert "Of 50 setosa it finds 50" in shown(app.run())
    assert "This run is about" not in shown(app)
    app.switch_page("screens/data.py").run()
    next(s for s in app.selectbox if s.label == "Sample data").set_value("wine").run()
    app.switch_page("screens/solve.py").run()
    assert "This run is about **iris: setosa** (150 rows)" in shown(app).replace("\\", "")
