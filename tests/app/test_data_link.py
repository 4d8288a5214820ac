"""A reload of any page finds the table that was loaded, and how its columns are meant."""

from __future__ import annotations

import json

import pytest
from streamlit.testing.v1 import AppTest

from dashboard.server.tables import Tables
from dashboard.views.solve.solve_form import untaken_words
from octcore.data.samples import load_sample
from tests.app.history_case import APP, PATIENCE, open_page, shown

ROWS = "".join(f"{i % 7},{i}.5,{'' if i % 9 == 0 else 'uv'[i % 2]},{'pq'[i % 3 == 0]}\n"
               for i in range(40))  # fmt: skip


def reloaded(app: AppTest, page: str = "data") -> AppTest:
    """The page as another session opens it by its link."""
    link = {name: app.query_params[name] for name in app.query_params}
    fresh = AppTest.from_file(APP, default_timeout=PATIENCE)
    fresh.query_params.update({k: v[0] if isinstance(v, list) else v for k, v in link.items()})
    fresh.run()
    fresh.switch_page(f"screens/{page}.py").run()
    assert not fresh.exception
    return fresh


@pytest.mark.long
def test_an_upload_and_its_preparations_survive_a_reload(server):
    app = open_page("data")
    assert "data" not in app.query_params
    app.file_uploader[0].upload("own.csv", b"a,b,c,label\n" + ROWS.encode(), "text/csv").run()
    app.session_state["data_tabs"] = "Columns"
    app.run()
    next(r for r in app.radio if r.label.startswith("Values are missing")).set_value(
        "drop-columns"
    ).run()
    before = app.session_state["state"]
    after = reloaded(app, "solve").session_state["state"]
    assert after.choice == before.choice
    assert after.choice.missing == "drop-columns"
    assert after.data.frame.equals(before.data.frame)
    assert after.table.sha256 == before.table.sha256


@pytest.mark.parametrize("is_full", [False, True])
def test_a_table_that_a_reload_will_lose_is_said_to_be_lost(server, monkeypatch, is_full):
    if is_full:
        monkeypatch.setattr(Tables, "_write", lambda *_: None)
    app = open_page("data")
    app.file_uploader[0].upload("own.csv", b"a,b,c,label\n" + ROWS.encode(), "text/csv").run()
    assert ("data" in app.query_params) == (not is_full)
    assert ("needs the file again" in shown(app)) == is_full


@pytest.mark.long
def test_another_sample_survives_a_reload(server):
    app = open_page("data")
    next(s for s in app.selectbox if s.label == "Sample data").set_value("wine").run()
    assert reloaded(app).session_state["state"].choice.sample == "wine"


@pytest.mark.long
def test_a_form_that_was_not_solved_survives_a_reload(server):
    app = open_page("solve")
    assert "form" not in app.query_params
    next(n for n in app.number_input if n.label.startswith("Depth")).set_value(1).run()
    next(s for s in app.selectbox if s.label == "Formulation").set_value("bend-oct").run()
    fresh = reloaded(app, "solve")
    assert next(n for n in fresh.number_input if n.label.startswith("Depth")).value == 1
    assert next(s for s in fresh.selectbox if s.label == "Formulation").value == "bend-oct"
    next(b for b in fresh.button if b.label == "Find the optimal tree").click().run()
    assert server.submitted[0]["formulation"] == "bend-oct"
    fresh.query_params["form"] = '{"formulation": "cart", "test_size": 0.9}'
    broken = AppTest.from_file(APP, default_timeout=PATIENCE)
    broken.query_params["form"] = '{"depth": "deep", "x": [1]}'
    assert "cannot be read" in shown(broken.run())


def linked(**form) -> AppTest:
    """The Solve page as a link with settings opens it; it need not name the usual formulation."""
    app = AppTest.from_file(APP, default_timeout=PATIENCE)
    app.query_params["form"] = json.dumps(form)
    app.run()
    assert not app.switch_page("screens/solve.py").run().exception
    return app


def test_what_a_link_asks_for_and_the_form_cannot_hold_is_said_until_something_is_chosen(server):
    app = linked(time_limit=0.5, test_size=0.9, constraints={"root_feature": "nowhere"})
    said = "This form could not take time limit 0.5, 90 % held out, starting with nowhere;"
    assert said in shown(app)
    assert said in shown(app.run())
    next(n for n in app.number_input if n.label.startswith("Depth")).set_value(1).run()
    assert "could not take" not in shown(app)
    app = linked(time_limit=1e5, test_size=0.33, costs={"setosa": {"virginica": 1, "setosa": 0}})
    assert "could not take" not in shown(app)
    assert "time_limit=100000" in app.code[0].value
    assert "test_size=0.33" in app.code[0].value


def test_constraints_about_columns_stay_when_another_page_was_open(server):
    app = linked(constraints={"root_feature": "petal length (cm)"})
    forbidden = next(m for m in app.multiselect if m.label == "Forbidden features")
    forbidden.set_value(["sepal width (cm)"]).run()
    app.switch_page("screens/about.py").run()
    app.switch_page("screens/solve.py").run()
    asked = app.code[0].value
    assert "root_feature" in asked
    assert "forbidden_features" in asked


def test_a_form_that_asks_for_something_else_than_its_tree_says_so(server):
    asked = {"depth": 3, "time_limit": 60.0, "test_size": 0.25}
    app = open_page("solve", run=server.submit("me", load_sample("iris"), asked))
    said = "The tree beside this form was made with other settings: "
    assert f"{said}CART (greedy baseline)." in shown(app)
    next(s for s in app.selectbox if s.label == "Formulation").set_value("cart").run()
    assert said not in shown(app)
    next(n for n in app.number_input if n.label.startswith("Depth")).set_value(2).run()
    assert f"{said}depth 3." in shown(app)
    next(n for n in app.number_input if n.label == "Smallest leaf (rows)").set_value(5).run()
    assert f"{said}depth 3, not asking for 5 rows in every leaf." in shown(app)


def test_settings_that_are_written_otherwise_are_held():
    asked = {"formulation": "flow-oct", "constraints": {"forbidden_pairs": [["b", "a"]]}}
    held = {"formulation": "flow-oct", "constraints": {"forbidden_pairs": [("a", "b")]}}
    assert untaken_words(asked, {**held, "encoding": "auto", "threads": 1}) == ""
    assert "b together with c" in untaken_words(
        {**asked, "constraints": {"forbidden_pairs": [["b", "c"]]}}, held
    )


@pytest.mark.slow
def test_one_class_against_the_rest_survives_a_reload_with_its_weights(server):
    app = open_page("solve")
    next(s for s in app.selectbox if s.label == "Formulation").set_value("margot").run()
    next(s for s in app.selectbox if s.label == "Class").set_value("versicolor").run()
    next(s for s in app.selectbox if s.label == "Class weights").set_value(
        "one for every class"
    ).run()
    next(n for n in app.number_input if n.label == "Weight of versicolor").set_value(3.0).run()
    fresh = reloaded(app, "solve")
    next(b for b in fresh.button if b.label == "Find the optimal tree").click().run()
    assert server.submitted[0]["constraints"]["class_weight"]["versicolor"] == 3.0


def test_a_table_that_is_gone_is_said(server):
    app = open_page("data")
    next(s for s in app.selectbox if s.label == "Sample data").set_value("wine").run()
    folder = server.store.path.with_name("tables")
    for file in folder.iterdir():
        file.unlink()
    fresh = AppTest.from_file(APP, default_timeout=PATIENCE)
    fresh.query_params["data"] = app.query_params["data"][0]
    fresh.run()
    assert "not on this server any more; load a table" in shown(fresh)


def test_a_lesson_takes_the_link_of_the_data_for_none_of_its_settings(server):
    app = open_page("teach", data="0" * 32)
    assert "not a lesson" not in shown(app)
