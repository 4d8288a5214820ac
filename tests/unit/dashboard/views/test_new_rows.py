"""The right size in words: the smallest within one standard error of the best."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from dashboard.server import jobs
from dashboard.server.job_view import JobView
from dashboard.views.solve import new_rows
from dashboard.views.solve.new_rows import asked, comparison_words, facts, right_size_words
from octcore.data.samples import load_sample
from octcore.selection.repeated_splits import Size, Split, Tally
from octcore.solving.solve import solve


@pytest.mark.parametrize(
    ("worths", "words"),
    [
        ((0.5, 0.7, 0.9), "3 leaves is the right size: right for 90.0 % of new rows."),
        (
            (0.5, 0.88, 0.9),
            "2 leaves (88.0 % of new rows) are as good as the best size, 3 leaves (90.0 %), "
            "within its standard error of 2.5 points.",
        ),
        (
            (0.89, 0.88, 0.9),
            "1 leaf (89.0 % of new rows) is as good as the best size, 3 leaves (90.0 %), "
            "within its standard error of 2.5 points.",
        ),
    ],
)
def test_the_right_size_is_said_with_what_the_best_one_has(worths, words):
    sizes = [Size(leaves, worth, 0.025) for leaves, worth in enumerate(worths, start=1)]
    assert right_size_words(sizes) == words
    weighed = right_size_words(sizes, {"class_weight"})
    assert weighed == words.replace("% of new", "% of the weight of new")


def tally(right: int) -> Tally:
    return Tally(2, 10, right, right / 10)


def test_the_largest_class_which_may_be_another_on_every_split_is_not_named(monkeypatch):
    shown, run = [], solve(load_sample("iris"), formulation="cart", depth=1).needed
    monkeypatch.setattr(new_rows.st, "table", lambda table, **_: shown.extend(table))
    parts = ({"split": Split(tally(9), tally(5), tally(3), (), 30).to_dict()},)
    new_rows._result(JobView("a", "", {}, "running", parts=parts), JobView("b", "", {}, ""), run)
    assert [line[""] for line in shown][1:] == ["CART", "always the largest class"]


def test_splits_on_which_cart_is_better_are_counted_too():
    splits = [Split(tally(t), tally(5), tally(3), (), 30) for t in (9, 5, 4, 3)]
    assert comparison_words(splits) == (
        "On 4 splits of the rows it is better than CART on 1, as good on 1, worse on 2."
    )
    assert comparison_words(splits[:1]).endswith("better than CART on 1.")


def test_where_classes_have_weights_new_rows_count_by_them():
    tallies, weighted = [Tally(2, 10, 9, 0.6)], {"class_weight"}
    run = SimpleNamespace(train=load_sample("iris"), constraints=weighted)
    assert new_rows._line(tallies, run)["right on new rows, by weight"] == "60.0 %"
    words = comparison_words([Split(tallies[0], tally(7), tally(3), (), 30)], weighted)
    assert words == (
        "On 1 split of the rows it is, classes by their weights, better than CART on 0, worse on 1."
    )


def test_trees_on_other_splits_are_made_like_the_run_or_not_made(monkeypatch):
    server = SimpleNamespace(family=lambda run_id: None)
    monkeypatch.setattr(jobs, "supervisor", lambda: server)
    data = load_sample("iris")
    run = solve(data, depth=2).needed
    view = JobView("a", "", run.settings, "done", data=data, run=run)
    assert asked(view, run) is not None
    assert asked(view, replace(run, settings={**run.settings, "depth": 6})) is None
    assert asked(view, replace(run, sample_weight=np.ones(run.n_train))) is None


def test_a_floor_is_told_on_the_rows_where_it_holds_beside_held_out_rows():
    run = solve(
        load_sample("wdbc"),
        depth=2,
        encoding="QT-5",
        formulation="path-columns",
        constraints={"min_recall": {"malignant": 0.97}},
        test_size=0.25,
    ).needed
    told = facts(run, run)
    for part, rows in (("training", run.train), ("held out", run.test)):
        ill = rows.codes == rows.classes.index("malignant")
        found = int((run.predict(rows.frame) == "malignant")[ill].sum())
        share = f"{100 * found / ill.sum():.1f} %"
        assert told[f"malignant found, {part}"] == f"{share} ({found} of {ill.sum()})"
        assert part != "training" or found >= 0.97 * ill.sum()
    assert not any("benign" in name for name in told)
