"""The Teach page through AppTest: lessons from links, steps, and trees from a fake supervisor."""

from __future__ import annotations

import itertools
from dataclasses import replace
from pathlib import Path

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

import dashboard
from dashboard import session
from dashboard.server import jobs
from dashboard.server.job_view import JobView
from dashboard.server.supervisor import Supervisor
from dashboard.teaching import lessons
from dashboard.views.teach import bar as lesson_bar
from octcore.errors import EngineError
from octcore.numerics import kernels
from octcore.search.univariate.warm_up import lane_sets
from octcore.selection.tasks import TASKS
from octcore.solving.solve import solve

APP = str(Path(dashboard.__file__).parent / "app.py")
PATIENCE = 120
WRONG = {"depth": "1e9", "set": "<b>", "show": ",".join(["cart"] * 7)}


@pytest.fixture
def solver(monkeypatch):
    """Solve at once, in this process."""
    views: dict[str, JobView] = {}

    def submit(owner, data, settings, title=""):
        run = solve(data, **settings)
        key = f"run-{len(views)}"
        views[key] = JobView(key, key, settings, "done", data=data, run=run, trace=run.trace)
        return key

    monkeypatch.setattr(jobs, "warm_up", lambda: None)
    monkeypatch.setattr(jobs, "submit", submit)
    monkeypatch.setattr(jobs, "view", views.get)
    yield views
    st.cache_resource.clear()


def open_lesson(**query: str) -> AppTest:
    app = AppTest.from_file(APP, default_timeout=PATIENCE).run()
    app.switch_page("screens/teach.py")
    for name, value in query.items():
        app.query_params[name] = value
    app.run()
    assert not app.exception
    return app


def current(app: AppTest) -> lessons.Lesson:
    return app.session_state["state"].lesson


def at_step(app: AppTest) -> str:
    """Key of the step, which the page makes of its session."""
    state = app.session_state["state"]
    return f"lesson_step:{state.lessons_opened}:{','.join(state.lesson.formulations)}"


def press(app: AppTest, label: str) -> AppTest:
    next(b for b in app.button if b.label == label).click()
    app.run()
    assert not app.exception
    return app


def shown(app: AppTest) -> str:
    parts = [*app.markdown, *app.caption, *app.info, *app.error, *app.warning, *app.header]
    return "\n".join(str(element.value) for element in parts)


def test_a_link_opens_its_lesson_and_the_address_stays_the_lesson(solver):
    app = open_lesson(set="xor", n="40", seed="3", depth="3")
    lesson = current(app)
    assert lesson.key == "xor"
    assert lesson.recipe["n"] == 40
    assert lesson.depth == 3
    assert [title.value for title in app.title] == ["Teach"]
    assert {k: v[0] if isinstance(v, list) else v for k, v in app.query_params.items()} == (
        lessons.to_query(lesson)
    )


@pytest.mark.parametrize(
    ("query", "words"),
    [
        *(({name: value}, "not a lesson") for name, value in WRONG.items()),
        ({"step": "no<b>where"}, "asks for the step “no\\<b\\>where”, which this lesson"),
        ({"step": "margot", "show": "cart"}, "asks for the step “margot”"),
    ],
)
def test_a_wrong_link_is_one_sentence_and_a_lesson_still_opens(solver, query, words):
    app = open_lesson(**query)
    assert len(app.error) == 1
    assert words in app.error[0].value
    assert "108 points" in shown(app)
    assert not app.run().error


def test_what_is_added_to_a_link_is_left_out_of_the_lesson(solver):
    app = open_lesson(set="xor", utm_source="x", dept="3")
    assert current(app).key == "xor"
    assert "left out of the link: dept, utm_source." in shown(app).replace("\\", "")
    assert not app.error
    assert set(app.query_params) == {"set"}
    assert not app.run().info


@pytest.mark.slow
def test_growing_and_stepping_through_all_trees(solver):
    app = press(open_lesson(), "Grow the trees")
    assert [view.settings["formulation"] for view in solver.values()] == [
        "cart", "path-search", "margot",
    ]  # fmt: skip
    rights = []
    for turn in range(3):
        if turn:  # growing has stepped to the first tree
            press(app, "Next")
        rights.append({m.label: m.value for m in app.metric}["Right"])
    assert rights == ["75.0 %", "91.7 %", "100.0 %"]
    press(app, "Next")
    assert [m.value for m in app.metric if m.label == "Right"] == rights
    assert len(solver) == 3
    press(app, "Back")


def test_trees_that_were_grown_are_one_press_away_from_their_points(solver):
    app = press(open_lesson(show="cart"), "Grow the trees")
    press(press(press(app, "Back"), "Back"), "Grow the trees")  # the next step is the guess
    assert app.session_state[at_step(app)] == "cart"
    assert len(solver) == 1


def test_a_tree_whose_worker_died_can_be_grown_once_more(solver):
    app = press(open_lesson(show="cart"), "Grow the trees")
    died = EngineError("WORKER_DIED", "The worker was ended by signal SIGKILL.")
    solver["run-0"] = replace(solver["run-0"], run=None, state="failed", error=died)
    assert "SIGKILL" in shown(app.run())
    press(app, "Try again")
    assert "Right" in {m.label for m in app.metric}


def test_points_that_come_back_are_solved_anew_where_others_had_stopped_them(solver, monkeypatch):
    def submit(owner, data, settings, title=""):
        key = f"run-{len(solver)}"
        solver[key] = JobView(key, key, settings, "running", data=data)
        return key

    def stop(_, key):
        solver[key] = replace(solver[key], state="stopped")

    monkeypatch.setattr(jobs, "submit", submit)
    monkeypatch.setattr(Supervisor, "stop", stop)
    app = open_lesson(show="margot")
    app.session_state["lesson_live:margot"] = "margot"
    app.run()
    for n in (60, 108):
        next(s for s in app.slider if "Number of points" in s.label).set_value(n).run()
    assert not app.exception
    assert [view.state for view in solver.values()] == ["stopped", "stopped", "running"]


def test_thresholds_that_were_open_stand_below_their_tree(solver):
    kernels.require(*lane_sets(2, True))  # plain operations keep no moments
    app = press(open_lesson(set="xor", depth="3", show="threshold-search"), "Grow the trees")
    assert "Which thresholds were still open" in shown(app)
    moments = next(s for s in app.select_slider if s.label.startswith("Moments of the search"))
    moments.set_value(len(moments.options) - 1).run()
    assert not app.exception
    assert "can begin a better tree any more" in shown(app)


@pytest.mark.long
def test_a_slider_makes_new_points_that_have_no_trees_yet(solver):
    app = press(open_lesson(), "Grow the trees")
    press(press(app, "Back"), "Back")
    next(s for s in app.slider if "Number of points" in s.label).set_value(60).run()
    assert not app.exception
    assert current(app).recipe["n"] == 60
    assert app.query_params["n"] in ("60", ["60"])
    press(app, "Grow the trees")
    assert len(solver) == 6


def test_drawn_points_of_one_class_are_refused_in_words(solver):
    app = open_lesson(set="drawn", points="100-100-0_200-200-0")
    press(app, "Grow the trees")
    assert "both classes" in app.error[0].value
    assert not solver


def test_the_link_to_share_is_the_lesson_that_is_shown_and_its_step(solver):
    app = open_lesson()
    next(s for s in app.slider if "Number of points" in s.label).set_value(60).run()
    assert "n=60" in app.code[0].value
    app.session_state[at_step(app)] = "guess"
    assert "step=guess" in app.run().code[0].value


def test_presentation_hides_the_controls(solver):
    app = open_lesson(set="xor")
    press(app, "Present")
    assert not app.slider
    assert not app.multiselect
    press(app, "Leave")
    assert app.slider
    assert current(app).key == "xor"


@pytest.mark.long
def test_another_set_keeps_the_depth(solver):
    app = open_lesson(depth="3")
    next(s for s in app.selectbox if s.label == "Points").set_value("moons").run()
    assert not app.exception
    assert current(app).key == "moons"
    assert current(app).depth == 3


def test_a_guess_is_counted_before_the_trees_are_shown(solver):
    app = press(open_lesson(), "Next")
    assert not app.metric
    assert not solver
    next(t for t in app.toggle if t.label == "Show greedy and optimal").set_value(True).run()
    assert not app.exception
    errors = {m.label: int(m.value) for m in app.metric}
    assert errors["Optimal: errors"] == 9
    assert errors["Greedy: errors"] == 27
    assert [view.settings["formulation"] for view in solver.values()] == ["cart", "path-search"]


def test_only_a_proven_tree_is_called_optimal_beside_a_guess(solver, monkeypatch):
    monkeypatch.setattr(lessons, "TIME_LIMIT", 1e-4)
    app = open_lesson(step="guess")
    next(t for t in app.toggle if t.label == "Show greedy and optimal").set_value(True).run()
    assert [run.run.is_optimal for run in solver.values()] == [False, False]
    assert {m.label for m in app.metric} == {"Greedy: errors", "Best found: errors"}


def test_what_is_said_of_optimal_thresholds_is_true_where_others_do_better(solver):
    lesson = lessons.default_lesson("6-partitions")
    data = lessons.lesson_data(lesson)
    asked = [lessons.solve_settings(lesson, key) for key in ("path-search", "threshold-search")]
    chosen, every = (solve(data, **settings, verify=False) for settings in asked)
    assert chosen.is_optimal
    assert every.objective > chosen.objective + 0.01
    said = shown(open_lesson(set="6-partitions", step="path-search"))
    assert "no other such tree of this depth" in said
    assert "between neighbours of different class" in said


@pytest.mark.parametrize(("key", "has_price"), [("s-oct", False), ("margot", True)])
def test_prices_are_offered_for_a_wide_band_where_the_lesson_has_them(solver, key, has_price):
    app = open_lesson(set="drawn", points="100-500-0_900-500-1", show=key, step=key)
    assert "without a band" in shown(app)
    assert ("prices of slack can be changed" in shown(app)) == has_price


@pytest.mark.parametrize(("key", "has_rings"), [("oct-h", False), ("margot", True)])
def test_the_legend_names_support_vectors_where_they_are_ringed(solver, key, has_rings):
    app = open_lesson(set="drawn", points="100-500-0_900-500-1", show=key, step=key)
    assert any("support vector" in part.proto.body for part in app.get("html")) == has_rings


def test_nothing_is_said_of_trees_and_lines_that_are_not_there(solver):
    app = open_lesson(set="drawn", points="500-500-0", step="guess")
    next(t for t in app.toggle if t.label == "Show greedy and optimal").set_value(True).run()
    assert "both classes" in shown(app)
    assert "Both cut" not in shown(app)
    app = open_lesson(set="drawn", points="500-500-0_500-500-1", step="margot")
    assert {m.label: m.value for m in app.metric}["Leaves"] == "1"
    assert "Slanted lines" not in shown(app)


def test_a_line_beside_the_edge_of_the_colours_is_explained(solver):
    app = open_lesson(set="wedges", show="margot", step="margot")
    assert "without a band" not in shown(app)
    assert "Colours change" not in shown(app)
    tree = solver["run-0"].run.tree
    moved = {n: replace(s, threshold=s.threshold + 0.02 * s.norm) for n, s in tree.splits.items()}
    run = replace(solver["run-0"].run, tree=replace(tree, splits=moved))
    solver["run-0"] = replace(solver["run-0"], run=run)
    assert "Colours change" in shown(app.run())


def test_trees_grow_on_the_points_of_now_when_the_page_still_shows_older_ones(solver):
    app = open_lesson(set="drawn", points="200-200-0_300-700-0_800-300-1", show="cart")
    moved = lessons.with_points(current(app), ((200, 200, 0), (300, 700, 0), (700, 600, 1)))
    app.session_state["state"].lesson = moved
    for name, value in lessons.to_query(moved).items():
        app.query_params[name] = value
    press(app, "Grow the trees")
    assert current(app) == moved
    assert len(solver) == 1
    assert "no trees yet" not in shown(app)


def test_a_link_opens_a_tree_at_its_step_and_the_address_keeps_the_step(solver):
    app = open_lesson(step="path-search")
    assert {m.label: m.value for m in app.metric}["Right"] == "91.7 %"
    assert [view.settings["formulation"] for view in solver.values()] == ["path-search"]
    press(app, "Back")
    assert app.query_params["step"] in ("cart", ["cart"])


def test_back_of_the_browser_turns_the_steps_and_a_press_comes_before_an_old_address(
    solver, monkeypatch
):
    app = open_lesson(**lessons.to_query(lessons.default_lesson()), step=lesson_bar.POINTS)
    press(app, "Next")
    assert app.query_params["step"] in (lesson_bar.GUESS, [lesson_bar.GUESS])
    app.query_params["step"] = lesson_bar.POINTS
    app.session_state[at_step(app)] = lesson_bar.POINTS
    app.run()  # the board told of a point before the browser had the new address and step
    assert app.session_state[at_step(app)] == lesson_bar.GUESS
    assert app.query_params["step"] in (lesson_bar.GUESS, [lesson_bar.GUESS])
    app.query_params["step"] = lesson_bar.POINTS
    with monkeypatch.context() as patch:
        patch.setattr(session, "went_back", lambda: True)
        app.run()
    assert app.session_state[at_step(app)] == lesson_bar.POINTS
    press(app, "Next")
    app.query_params["step"] = lesson_bar.POINTS  # pressed before the browser had the new address
    press(app, "Next")
    assert app.session_state[at_step(app)] == lessons.default_lesson().formulations[0]
    app.query_params.clear()  # another page, and back by the menu
    app.run()
    assert app.session_state[at_step(app)] == lessons.default_lesson().formulations[0]


def test_points_put_down_a_moment_ago_outlive_an_address_of_before(solver):
    app = open_lesson(set="drawn", points="100-100-0_900-900-1")
    state = app.session_state["state"]
    state.lesson = drawn = lessons.with_points(state.lesson, ((100, 100, 0), (500, 900, 1)))
    app.run()
    assert current(app) == drawn
    assert "500-900-1" in str(app.query_params["points"])


def test_three_lessons_follow_each_other(solver):
    course = lessons.course()
    app = open_lesson(**lessons.to_query(course[0].lesson), step="points", present="1")
    assert course[0].question in shown(app)
    for part in course[1:]:
        lesson_bar_step(app, lesson_bar.PROOF)
        press(app, "Next lesson")
        assert current(app) == part.lesson
        assert part.question in shown(app)
        assert "step" not in app.query_params
    lesson_bar_step(app, lesson_bar.PROOF)
    assert not any(b.label == "Next lesson" for b in app.button)


def lesson_bar_step(app: AppTest, step: str) -> None:
    app.session_state[at_step(app)] = step
    app.run()
    assert not app.exception


@pytest.mark.slow
def test_every_cut_is_excluded_by_an_argument(solver, monkeypatch):
    done = {}

    def once(key, owner, data, what, settings, seconds, run=None, is_look=False):
        result = TASKS[what](data, settings, lambda part: None, lambda: False)
        done[key] = JobView("task", what, settings, "done", data=data, task=what, result=result)
        return key

    monkeypatch.setattr(jobs, "once", once)
    monkeypatch.setattr(jobs, "task", lambda key: done[key])
    app = open_lesson()
    app.session_state[at_step(app)] = lesson_bar.PROOF
    app.run()
    assert not app.exception
    (job,) = done.values()
    cuts = job.result["cuts"]
    points = lessons.lesson_data(lessons.default_lesson()).frame
    for column, name in enumerate(points):
        values = sorted(set(points[name]))
        own = [cut for cut in cuts if cut["column"] == column]
        for low, high in itertools.pairwise(values):
            assert any(cut["low"] <= low and high <= cut["high"] for cut in own)
    assert all(cut["left"] + cut["right"] >= job.result["cost"] - 1e-12 for cut in cuts)
    next(s for s in app.slider if s.label == "Argument").set_value(len(cuts) + 1).run()
    assert any("the optimum is proven" in m.value for m in app.markdown)
