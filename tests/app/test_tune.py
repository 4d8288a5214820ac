"""Tune, and what it brings to the Solve form; classes and rows of the Solve form; column order."""

from __future__ import annotations

import json

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from dashboard.server.job_view import JobView
from octcore.data.samples import load_sample
from octcore.selection.tuning import tune
from tests.app.history_case import APP, PATIENCE, button, open_page, shown


def finished_task(server, monkeypatch):
    """A model selection that has ended, as the supervisor would show it."""
    data, parts = load_sample("iris"), []
    settings = {"formulation": "path-search", "grid": {"depth": [1, 2]}, "protocol": "3-fold",
                "choice": "features", "depth": 2, "encoding": "QT-4",
                "params": {"leaf_penalty": 0.05},
                "time_limit": 10.0, "seed": 0}  # fmt: skip
    done = tune(
        data,
        **settings,
        on_fit=lambda fit, n, total: parts.append(
            {"fit": {**vars(fit), "candidate": dict(fit.candidate)}, "done": n, "total": total}
        ),
    )
    result = json.loads(json.dumps({"chosen": [dict(c) for c in done.chosen]}))
    job = JobView("t", "Exact search on iris", settings, "done", elapsed=2.0, data=data,
                  task="tune", parts=tuple(parts), result=result)  # fmt: skip
    monkeypatch.setattr(server.supervisor, "get", lambda key: job if key == "t" else None)


def test_the_form_counts_the_work_and_starts_it(server, monkeypatch):
    asked = []
    monkeypatch.setattr(
        server.supervisor, "submit_task", lambda *arguments: asked.append(arguments) or "t"
    )
    app = open_page("tune")
    assert "9 candidates × 5 splits + 1 final training = **46 trainings**" in shown(app)
    button(app, "Try 9 candidates").click().run()
    _, data, task, settings, *_ = asked[0]
    assert (data.name, task, settings["formulation"]) == ("iris", "tune", "threshold-search")
    assert settings["grid"] == {"depth": [1, 2, 3], "leaf_penalty": [0.0, 0.01, 0.05]}
    assert "t" in app.query_params["tuning"]


def test_a_value_out_of_range_is_refused_before_the_button(server):
    app = open_page("tune")
    values = next(m for m in app.multiselect if m.label.startswith("Leaf penalty"))
    values.set_value(["0.01", "3"]).run()
    assert "leaf_penalty must be" in shown(app)
    assert not any(b.label.startswith("Try") for b in app.button)


def test_the_best_goes_to_the_solve_form(server, monkeypatch):
    finished_task(server, monkeypatch)
    app = open_page("tune", tuning="t")
    assert "Chosen" in shown(app)
    assert "depth 2" in shown(app)
    button(app, "Solve with the best").click().run()
    assert app.title[0].value == "Solve"
    assert next(s for s in app.selectbox if s.label == "Formulation").value == "path-search"
    assert next(n for n in app.number_input if n.label == "Depth").value == 2


def test_a_link_brings_the_form_of_a_model_selection(server, monkeypatch):
    finished_task(server, monkeypatch)
    app = AppTest.from_file(APP, default_timeout=PATIENCE)
    app.query_params["tuning"] = "t"
    app.run()
    app.switch_page("screens/tune.py").run()
    picked = {box.label: box.value for box in app.multiselect}
    assert picked["Try several values of"] == ["depth"]
    assert picked["Depth"] == ["1", "2"]
    numbers = {box.label: box.value for box in app.number_input}
    assert next(n for label, n in numbers.items() if label.startswith("Time limit")) == 10
    assert next(n for label, n in numbers.items() if label.startswith("Leaf penalty")) == 0.05
    assert {"QT-4", "3-fold"} <= {box.value for box in app.selectbox}
    assert app.session_state["tune:1:choice:path-search"] == "features"


def test_a_formulation_says_how_its_best_is_chosen(server):
    app = open_page("tune")
    assert app.session_state["tune:0:choice:threshold-search"] == "accuracy"
    next(s for s in app.selectbox if s.label == "Formulation").select("svm1-odt").run()
    assert app.session_state["tune:0:choice:svm1-odt"] == "one-error"


def test_a_link_to_a_model_selection_that_is_gone(server):
    assert "is gone from this server" in shown(open_page("tune", tuning="gone"))


@pytest.mark.slow
def test_one_class_against_the_rest_and_one_tree_for_every_class(server):
    app = open_page("solve")
    next(s for s in app.selectbox if s.label == "Formulation").select("margot").run()
    assert "MARGOT separates 2 classes; these data have 3." in shown(app)
    next(s for s in app.selectbox if s.label == "Class").select("virginica").run()
    button(app, "Find the optimal tree").click().run()
    newest = server.store.list()[0]
    assert server.store.load(newest.id).train.classes == ("not virginica", "virginica")
    app.session_state["classes_how"] = "one tree for every class"
    app.run()
    button(app, "Find the optimal tree").click().run()
    assert not app.exception
    assert len(server.submitted) == 4
    assert "Together they are right for" in shown(app)


def test_weights_of_classes_reach_the_solve(server):
    app = open_page("solve")
    next(s for s in app.selectbox if s.label == "Class weights").select("one for every class").run()
    next(n for n in app.number_input if n.label == "Weight of virginica").set_value(3.0).run()
    button(app, "Find the optimal tree").click().run()
    weights = server.submitted[-1]["constraints"]["class_weight"]
    assert weights == {"setosa": 1.0, "versicolor": 1.0, "virginica": 3.0}


def order_page() -> None:
    import streamlit as st

    from dashboard import session
    from dashboard.views.data import column_editor

    if "read" not in st.session_state:
        rows = "".join(f"{s},{i},{'ab'[i % 2]}\n" for i, s in enumerate(["low", "mid", "top"] * 8))
        session.choose_upload(f"size,n,class\n{rows}".encode(), "own.csv")
        session.change_choice(kinds={"size": "ordinal"})
        st.session_state["read"] = True
    column_editor.draw()
    st.text(session.state().problem)


def test_the_order_of_an_ordinal_column_is_stated_in_the_form():
    app = AppTest.from_function(order_page, default_timeout=PATIENCE).run()
    order = app.text_input[0]
    assert order.label == "Order of size, smallest first"
    order.set_value("top < mid < low").run()
    assert app.text_input[0].value == "top < mid < low"
    app.text_input[0].set_value("top < mid").run()
    assert not app.exception
    assert app.text[0].value
    st.cache_resource.clear()
