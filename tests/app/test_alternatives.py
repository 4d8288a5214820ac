"""Parts of the page Alternatives through AppTest, on trees that are really counted."""

from __future__ import annotations

import re
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from dashboard.server import jobs
from dashboard.server.job_view import JobView
from dashboard.views.what_if.questions import Conditions, best_settings, search_settings
from octcore.data.dataset import Dataset
from octcore.data.samples import load_sample
from octcore.errors import EngineError
from octcore.plotting.alternatives import features_words
from octcore.selection.alternatives import FeatureUse, alternatives
from octcore.selection.near_optimal import near_optimal
from octcore.selection.tasks import TASKS
from octcore.solving.solve import solve


def _page() -> None:
    from dashboard.views.alternatives import view

    """The filters alone; runs as a script of its own, so its imports are inside."""
    import streamlit as st

    from octcore.data.samples import load_sample
    from octcore.selection.alternatives import alternatives
    from octcore.selection.near_optimal import near_optimal

    data = load_sample("monks-1")
    found = near_optimal(data, depth=2, tolerance=0.03)
    record = alternatives(found, attribute=data.feature_names[0])
    context = view.Context("run", "task", data, data, {}, record)
    shown = view._filters(context)
    gaps = [entry.parity_gap for entry in shown]
    st.text(f"{len(shown)} {max(gaps, default=0)}")


def test_trees_with_a_larger_fairness_gap_are_filtered_out() -> None:
    app = AppTest.from_function(_page, default_timeout=120).run()
    assert not app.exception
    everything, widest = app.text[0].value.split()
    limit = 100 * float(widest) / 2
    gap = next(n for n in app.number_input if n.label == "Fairness gap, at most %")
    gap.set_value(limit).run()
    left, widest = app.text[0].value.split()
    assert 0 < int(left) < int(everything)
    assert float(widest) <= limit / 100


def test_trees_are_counted_at_the_price_of_the_run_beside_class_weights() -> None:
    data, paid = load_sample("monks-1"), {"params": {"split_weight": 0.8}}
    weighted = {"class_weight": {data.classes[0]: 0.1, data.classes[1]: 0.3}}
    run = solve(data, "path-search", depth=2, constraints=weighted, **paid)
    search = search_settings(run, data, 0.01)
    total = float((np.array([0.1, 0.3])[data.codes]).sum())
    optimum = near_optimal(data, **search).optimum
    assert 0.2 * total * optimum + 0.8 == pytest.approx(run.objective)  # the paper's objective


def _rows() -> None:
    """The rows on which good trees disagree; runs as a script of its own."""
    from dashboard.views.alternatives import pictures
    from octcore.data.samples import load_sample
    from octcore.selection.alternatives import alternatives
    from octcore.selection.near_optimal import near_optimal
    from octcore.solving.prepare import split_rows

    train = split_rows(load_sample("iris"), 0.25, 0)[0]
    pictures._rows_table(alternatives(near_optimal(train, depth=2, tolerance=0.02)), train)


def test_rows_on_which_trees_disagree_are_named_by_their_lines() -> None:
    app = AppTest.from_function(_rows, default_timeout=120).run()
    assert not app.exception
    table, data = app.dataframe[0].value, load_sample("iris")
    assert len(table)
    for line, *values in table[["line", *data.feature_names]].itertuples(index=False):
        assert data.frame.iloc[list(data.row_lines).index(line)].tolist() == values


def _shapes() -> None:
    """The shapes alone; runs as a script of its own."""
    from dashboard.views.alternatives import pictures
    from dashboard.views.what_if.questions import Conditions
    from octcore.data.samples import load_sample

    search = {"depth": 2, "tolerance": 0.01}
    pictures.shapes("run", load_sample("iris"), search, Conditions(0.01, max_leaves=3))


def test_shapes_are_found_at_a_press_with_the_thresholds_of_their_trees(monkeypatch) -> None:
    started = {}

    def once(key, owner, data, what, settings, seconds, run=None, is_look=False):
        result = TASKS[what](data, settings, lambda part: None, lambda: False)
        started["t"] = JobView("t", what, settings, "done", data=data, task=what, result=result)
        return "t"

    monkeypatch.setattr(jobs, "followers", dict)
    monkeypatch.setattr(jobs, "once", once)
    monkeypatch.setattr(jobs, "task", started.get)
    app = AppTest.from_function(_shapes, default_timeout=120).run()
    assert not app.exception
    assert not app.dataframe
    app.button[0].click().run()
    assert not app.exception
    table = app.dataframe[0].value
    iris = load_sample("iris")
    good = near_optimal(iris, depth=2, tolerance=0.01).restrict(max_leaves=3)
    assert table["trees"].sum() == good.count > 0
    best = good.trees(1)[0]
    wrong = best.is_wrong(good.encoding.transform(iris.frame), iris.codes)
    assert table["right"][0] == pytest.approx(100 * (1 - wrong.mean()))
    for split in best.splits.values():
        name = good.encoding.names[split.features[0]]
        told = re.search(rf"{re.escape(name)} ([\d.]+)(?:–([\d.]+))?", table["thresholds"][0])
        assert told is not None
        low, high = told.groups()
        assert float(low) <= split.threshold <= float(high or low)


def _empty() -> None:
    """What is said where no tree meets the conditions; runs as a script of its own."""
    import streamlit as st

    from dashboard.views.alternatives import view
    from dashboard.views.what_if.questions import Conditions, best_settings
    from octcore.data.samples import load_sample
    from octcore.selection.alternatives import alternatives
    from octcore.selection.near_optimal import near_optimal

    data = load_sample("iris")
    search = {"depth": 2, "encoding": "raw", "constraints": {}, "params": {"leaf_penalty": 0.01}}
    conditions = Conditions(0.01, without_features=st.session_state["without"])
    found = near_optimal(data, depth=2, tolerance=0.01, params=search["params"])
    view._none("run", data, best_settings(search, conditions), alternatives(found))


@pytest.mark.long
def test_where_no_tree_meets_the_conditions_the_best_one_is_told_and_proven(monkeypatch) -> None:
    solved, followers = {}, {}

    def submit(owner, data, settings, title=""):
        key = f"b{len(solved)}"
        run = solve(data, **settings) if solved else None  # the first worker died
        solved[key] = JobView(key, title, settings, "done" if run else "failed", run=run)
        return key

    monkeypatch.setattr(jobs, "followers", lambda: followers)
    monkeypatch.setattr(jobs, "submit", submit)
    monkeypatch.setattr(jobs, "view", solved.get)
    app = AppTest.from_function(_empty, default_timeout=120)
    app.session_state["without"] = ("petal length (cm)", "petal width (cm)")
    app.run()
    app.button[0].click().run()
    assert not app.exception
    data, penalty = load_sample("iris"), {"leaf_penalty": 0.01}
    sepals = Dataset.from_arrays(data.frame.iloc[:, :2].to_numpy(), data.codes)
    best, worse = (solve(rows, depth=2, params=penalty).objective or 0 for rows in (data, sepals))
    loss = 100 * (best - worse)
    told = app.markdown[0].value
    assert "dropping petal length \\(cm\\) and petal width" in told
    assert f"is {loss:.4g} points below the optimum (proven)" in told.replace("\\", "")
    assert loss > 1
    assert app.button[0].label == "Make a proof file"
    assert not app.button[0].disabled


def test_what_must_be_used_is_no_question_of_a_solve() -> None:
    conditions = Conditions(0.01, with_features=("petal length",))
    assert best_settings({"constraints": {}}, conditions) is None
    search = {"depth": 2, "constraints": {"forbidden_features": ["a"], "max_leaves": 3}}
    asked = best_settings(search | {"tolerance": 0.01}, Conditions(0.01, (), ("b",), 4))
    assert asked is not None
    assert asked["constraints"] == {"forbidden_features": ["a", "b"], "max_leaves": 3}
    assert "tolerance" not in asked


def _proof() -> None:
    from dashboard.widgets import run_summary
    from octcore.data.samples import load_sample
    from octcore.selection.near_optimal import near_optimal

    found = near_optimal(load_sample("iris"), depth=2, tolerance=0.01)
    run_summary.proof(found.run_of(found.trees(2)[1]))


def test_a_chosen_tree_names_no_engine() -> None:
    app = AppTest.from_function(_proof, default_timeout=120).run()
    assert not app.exception
    assert [m.label for m in app.metric] == ["Objective", "Bound", "Gap", "Time"]


def _died() -> None:
    """A task whose worker dies while the page waits for it; runs as a script of its own."""
    from dashboard.widgets import live
    from octcore.data.samples import load_sample

    asked = ("alternatives", "rows", load_sample("iris"), {"time_limit": 1.0})
    live.answer(*asked, draw=lambda job: None, at_once=True)


def test_a_task_that_fails_while_the_page_waits_can_be_tried_again(monkeypatch) -> None:
    followers, died = {}, EngineError("WORKER_DIED", "The worker was ended by signal SIGKILL.")
    failed = JobView("t", "", {}, "failed", error=died)
    monkeypatch.setattr(jobs, "followers", lambda: followers)
    monkeypatch.setattr(jobs, "once", lambda key, *_: followers.setdefault(key, "t"))
    monkeypatch.setattr(jobs, "task", lambda _: failed)
    monkeypatch.setattr(jobs, "supervisor", lambda: SimpleNamespace(wait=lambda *_: True))
    app = AppTest.from_function(_died, default_timeout=120).run()
    assert not app.exception
    assert "SIGKILL" in app.warning[0].value
    assert [button.label for button in app.button] == ["Try again"]


def test_long_names_that_no_tree_tests_stay_apart_in_the_sentence() -> None:
    names = [f"lab value {k:02d} from the quarterly screening panel" for k in range(14)]
    record = alternatives(near_optimal(load_sample("monks-1"), depth=1, tolerance=0.0))
    unused = tuple(FeatureUse(name, 0, 0, 0.0, 0.0, True) for name in names)
    words = features_words(replace(record, features=unused)).replace("\\", "")
    assert [part.split(":")[-1].strip()[:12] for part in words.split(",")] == [
        f"lab value {k:02d}" for k in range(12)
    ]
    assert words.endswith(" and 2 more.")
