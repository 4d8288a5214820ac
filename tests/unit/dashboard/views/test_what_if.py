"""What-if: prices, differences, root values, and which formulation answers."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from dashboard.server import jobs
from dashboard.server.job_view import JobView
from dashboard.views.what_if import questions as what_if
from octcore.data.dataset import Dataset
from octcore.data.samples import load_sample
from octcore.encoding.fit import fit_encoding
from octcore.plotting.difference import (
    Price,
    change_words,
    condition_words,
    difference_data,
    price_data,
    price_words,
)
from octcore.plotting.palette import LIGHT
from octcore.plotting.thresholds import measure_of, root_values_data, root_values_figure
from octcore.solving.solve import solve
from octcore.tree.tree import Split, Tree


@pytest.fixture(scope="module")
def iris():
    return load_sample("iris")


@pytest.fixture(scope="module")
def base(iris):
    return solve(iris, "path-search", depth=2, params={"exact_root_values": True})


def test_dropping_the_best_feature_costs_what_it_costs(iris, base):
    settings = what_if.variant_settings(
        base, iris, {"forbidden_features": ["petal width (cm)"]}, "path-search"
    )
    after = solve(iris, **settings)
    price = price_data(base, after)
    assert price.is_proven
    assert price.accuracy == pytest.approx(base.accuracy - after.accuracy)
    assert price.low == pytest.approx(base.objective - after.objective)
    words = price_words(price, change_words(settings["constraints"]))
    assert words.startswith("Dropping petal width (cm) costs 3.3 accuracy points: 94.0 % becomes")
    assert words.endswith("Both trees are proven optimal.")


def test_an_open_gap_is_said(base):
    after = replace(base, status="feasible", accuracy=0.9, objective=0.86, bound=0.89)
    words = price_words(price_data(base, after), "Using at most 1 feature")
    assert "not proven" in words
    assert "at most 4.0 points" in words
    assert "at least 1.0" in words
    counted = {**base.settings, "params": {"split_weight": 0.0}}  # objectives of rows
    counted = replace(base, settings=counted, objective=135.0)
    counts = price_data(counted, replace(after, objective=132.0, bound=133.0))
    words = price_words(counts, "Using at most 1 feature")
    assert "at most 3. It is at least 2 in any case." in words
    unknown = price_data(replace(base, status="feasible"), after)
    assert not unknown.is_proven
    assert "open gap" in price_words(unknown, "X")


def test_a_looser_limit_may_gain_what_a_condition_cannot(base):
    """A tree with more leaves than the run may have was called optimal as it lost nothing."""

    def under(**constraints):
        return replace(base, settings={**base.settings, "constraints": constraints})

    after = replace(under(max_leaves=4), status="feasible", bound=base.objective + 0.05)
    price = price_data(under(max_leaves=3), after)
    assert not price.is_proven
    assert price.low == pytest.approx(-0.05)
    gains = price_data(under(max_leaves=3), replace(after, objective=base.objective + 0.02))
    assert "at most \N{MINUS SIGN}2.0 points." in price_words(gains, "Using at most 4 leaves")
    # As good as the best without the condition, a tree under it is optimal, and no search says so.
    price = price_data(base, after)
    assert price.is_proven
    words = what_if.compared_words(base, base, after, {"max_leaves": 4}, price.is_proven)
    assert "condition (Exact search, as good as the best without it)" in words
    assert price_data(
        under(forbidden_features=["a"]), under(forbidden_features=["a", "b"])
    ).is_proven


def test_nothing_lost_is_said():
    run = solve(load_sample("iris"), "path-search", depth=1)
    assert "costs nothing" in price_words(price_data(run, run), "Keeping it")


def test_a_price_is_neither_rounded_away_nor_below_its_bound(base):
    one_row = Price(0.9, 0.9 - 1 / 5000, 0, 0.0, 0.0)
    words = price_words(one_row, "X")
    assert words.startswith("X costs 0.02 accuracy points: 90.00 % becomes 89.98 %.")
    words = price_words(Price(0.50879, 0.48438, 0, 0.0, 0.0), "X")  # 50.9 - 48.4 is not 2.4
    assert words.startswith("X costs 2.44 accuracy points: 50.88 % becomes 48.44 %.")
    assert "costs nothing" in price_words(replace(one_row, after=0.9), "X")
    assert "paid for with leaves" not in price_words(Price(0.8, 0.9, -1, None, None), "X")
    assert "paid for with leaves" in price_words(Price(0.8, 0.9, 1, None, None), "X")
    words = price_words(Price(0.8, 0.8, 0, 0.00199, 0.00301), "X")
    assert "at most 0.4 points. It is at least 0.1 in any case." in words
    words = price_words(Price(0.8, 0.9, 0, 0.0, 0.25, measure="1 - mean cost"), "X")
    assert "the price in the objective is at most 0.25." in words


def test_trees_of_tiny_thresholds_are_told_apart(iris, base):
    frame = pd.DataFrame({"x": 1e-12 * np.arange(4.0)})
    data = Dataset.from_arrays(frame, [*"aabb"])
    encoding = fit_encoding("raw", data)
    trees = [Tree({1: Split.on_feature(0, t)}, {2: 0, 3: 1}, 1, 2) for t in (5e-13, 1.5e-12)]
    found = difference_data((trees[0], encoding), (trees[1], encoding), data)
    assert "It is the same tree" not in found.words
    assert found.rows == 1


@pytest.mark.parametrize(
    ("constraints", "words"),
    [
        ({"max_leaves": 1}, "Using at most 1 leaf"),
        ({"max_leaves": 3, "root_feature": "a"}, "Using at most 3 leaves and starting with a"),
        ({"min_recall": {"yes": 0.9}}, "Getting at least 90 % of yes right"),
        (
            {"statistical_parity": {"attribute": "sex", "max_gap": 0.1}},
            "Keeping statistical parity of sex within 10 points",
        ),
        ({"min_samples_leaf": 5}, "Asking for 5 rows in every leaf"),
        (
            {"conditional_parity": {"attribute": "sex", "given": "job", "max_gap": 0.1}},
            "Keeping conditional parity of sex at every level of job within 10 points",
        ),
        (
            {"forbidden_pairs": [["a", "b"], ["a", "c"]]},
            "Not using a together with b or a together with c",
        ),
        ({"feature_once_per_path": True}, "Testing no feature twice on a path"),
        ({"class_weight": "balanced"}, "Weighing all classes the same"),
        ({"class_weight": {"yes": 2.0, "no": 1.0}}, "Weighing yes 2 times, no 1 times"),
    ],
)
def test_conditions_in_words(constraints, words):
    assert change_words(constraints) == words


def test_root_values_are_the_best_over_the_columns(base):
    record = root_values_data(base.extras, base.encoding)
    assert [entry.feature for entry in record][:2] == ["petal width (cm)", "petal length (cm)"]
    assert record[0].value == pytest.approx(base.objective)
    assert record[0].loss == 0.0
    assert len(record) == 4
    figure = root_values_figure(record, LIGHT, "petal width (cm)")
    dots = next(t for t in figure.data if t.marker.size == 15)
    assert list(dots.y)[-1] == "petal width (cm)"
    assert figure.layout.xaxis.title.text.startswith("accuracy less the price of leaves")
    assert "best with this feature at the root" in figure.layout.xaxis.title.text
    paid = replace(base, settings={**base.settings, "refer": 0.1})
    figure = root_values_figure(record, LIGHT, measure=measure_of(paid))
    assert figure.layout.xaxis.title.text.startswith("1 - mean cost less the price of leaves")


def test_a_bound_is_no_value(base):
    best = root_values_data(base.extras, base.encoding)[0]
    flags = [column.raw == best.feature for column in base.encoding.columns]
    assert root_values_data({**base.extras, "root_values_exact": flags}, base.encoding) == (best,)
    # It called the best of the others the best, above the tree that begins with another column.
    others = {**base.extras, "root_values_exact": [not flag for flag in flags]}
    first, *_ = root_values_data(others, base.encoding, base.objective)
    assert first.loss == base.objective - first.value > 0
    nothing = {**base.extras, "root_values_exact": [False] * len(flags)}
    assert root_values_data(nothing, base.encoding) == ()


def test_a_column_whose_other_threshold_may_be_better_has_no_value(base):
    best = root_values_data(base.extras, base.encoding)[0]
    own = [j for j, column in enumerate(base.encoding.columns) if column.raw == best.feature]
    values, flags = list(base.extras["root_values"]), [True] * len(base.encoding.columns)
    other = next(j for j in own if values[j] < best.value)
    values[other], flags[other] = best.value + 0.01, False
    record = root_values_data({"root_values": values, "root_values_exact": flags}, base.encoding)
    assert best.feature not in {entry.feature for entry in record}


def test_differences_are_found_by_node_and_row(univariate):
    tree, encoding, data = univariate
    other = Tree(
        {**tree.splits, 2: Split.on_feature(0)},
        tree.labels,
        tree.n_features,
        tree.n_classes,
        tree.classes,
        tree.features,
    )
    same = difference_data((tree, encoding), (tree, encoding), data)
    assert same.words == "It is the same tree."
    assert same.rows == 0
    if tree.splits[2] != other.splits[2]:
        difference = difference_data((tree, encoding), (other, encoding), data)
        assert difference.before == difference.after == {2}
        assert difference.rows > 0


def test_the_quickest_able_formulation_comes_first():
    assert what_if.candidates({"forbidden_features": ["a"]}, 2)[0] == "path-search"
    assert what_if.candidates({"max_features": 2}, 2)[0] == "path-columns"
    assert what_if.candidates({"max_features": 2}, 4)[0] == "accelerated-bend-oct"
    assert what_if.candidates({"nonsense": 2}, 2) == ()


def test_the_run_itself_is_compared_only_when_it_is_a_proven_optimum(iris, base):
    assert what_if.is_comparable(base)
    assert not what_if.is_comparable(solve(iris, "cart", depth=2))
    assert not what_if.is_comparable(replace(base, status="feasible"))
    deep = replace(base, settings={**base.settings, "depth": 6})
    assert not what_if.is_comparable(deep)  # its variants are not as deep
    assert what_if.variant_settings(deep, iris, {}, "path-search")["depth"] == what_if.MOST_DEPTH
    words = what_if.compared_words(deep, base, base, {})
    assert "Your tree is of depth 6, so the price counts from the best tree" in words
    assert "of depth 2 (by" in words


def test_the_price_of_a_leaf_is_said_where_the_run_has_none(iris, base):
    other = solve(iris, "bin-oct", encoding="QT-2", depth=1)
    search = what_if.search_settings(other, iris, 0.01)
    assert other.objective == 50  # errors, and no price
    assert f" {search['params']['leaf_penalty']:g} " in what_if.foreign_price(other, search)
    assert search["params"] == {"leaf_penalty": 0.01}
    assert "Your tree is optimal for BinOCT" in what_if.compared_words(other, base, base, {})
    is_open = replace(other, status="feasible")
    assert "Your tree is not proven optimal" in what_if.compared_words(is_open, base, base, {})
    assert what_if.foreign_price(base, what_if.search_settings(base, iris, 0.01)) == ""


def test_constraints_of_the_run_stay(iris):
    run = solve(
        iris, "path-search", depth=2, constraints={"forbidden_features": ["petal width (cm)"]}
    )
    joined = what_if.together(run, {"forbidden_features": ["petal length (cm)"], "max_leaves": 3})
    assert joined["forbidden_features"] == ["petal width (cm)", "petal length (cm)"]
    settings = what_if.variant_settings(run, iris, {"max_leaves": 3}, "path-search")
    assert settings["constraints"]["max_leaves"] == 3
    assert settings["params"] == {"leaf_penalty": 0.01}
    # It said that the price is of dropping both, and not what both trees keep to.
    asked = what_if.added(run, joined)
    assert asked == {"forbidden_features": ["petal length (cm)"], "max_leaves": 3}
    kept = "Both keep to what your run asked for: dropping petal width (cm)."
    assert kept in what_if.compared_words(run, run, run, asked)


def test_a_price_says_what_both_trees_do_on_held_out_rows(iris):
    before, after = (solve(iris, "path-search", depth=depth, test_size=0.3) for depth in (2, 1))
    truth = np.array(before.test.classes)[before.test.codes]
    right = [np.mean(run.predict(run.test.frame) == truth) for run in (before, after)]
    shares = [f"{100 * share:.1f}" for share in right]
    words = what_if.compared_words(before, before, after, {})
    assert words.endswith(f"of the held-out rows {shares[0]} % and {shares[1]} % are right.")


def test_rows_of_a_run_are_its_training_rows_where_the_history_has_no_others(
    base, iris, monkeypatch
):
    view = JobView("x", "x", {}, "done", run=base)
    monkeypatch.setattr(jobs, "rows", lambda view: iris)
    assert jobs.rows_of(view) is iris
    monkeypatch.setattr(jobs, "rows", lambda view: None)
    assert jobs.rows_of(view) is base.train
    held = replace(base, n_test=50, settings={**base.settings, "test_size": 0.25})
    assert what_if.base_settings(held, base.train)["test_size"] == 0.0


@pytest.mark.slow
def test_the_price_counts_from_an_optimum_with_the_same_constraints(iris):
    limits = {"max_features": 1}
    run = replace(
        solve(iris, "path-columns", depth=2, constraints=limits), status="feasible", gap=0.5
    )
    assert what_if.left_out(run) == limits
    assert "max_features" not in what_if.reference_settings(run, iris)["constraints"]
    settings = what_if.comparison_settings(run, iris)
    assert settings["constraints"] == limits
    assert settings["formulation"] == "path-columns"
    before = solve(iris, **settings)
    after = solve(iris, **what_if.variant_settings(run, iris, {"max_leaves": 2}, "path-columns"))
    assert len({c.raw for c in (after.encoding.columns[j] for j in after.tree.used_features)}) == 1
    assert price_data(before, after).is_proven
    words = what_if.compared_words(run, before, after, {"max_leaves": 2})
    assert "Your tree is not proven optimal" in words
    assert "Both keep to what your run asked for: using at most 1 feature" in words
    assert words.count("(by ") == 2


def test_a_tree_that_no_formulation_can_express_has_no_comparison(iris, base):
    odd = replace(base, settings={**base.settings, "constraints": {"nonsense": 1}})
    assert what_if.comparison_settings(odd, iris) is None
    assert what_if.left_out(base) == {}


def test_class_weights_make_another_objective(iris, base):
    weighted = solve(iris, "path-search", depth=2, constraints={"class_weight": "balanced"})
    assert what_if.same_objective(base, base)
    assert not what_if.same_objective(base, weighted)
    price = price_data(base, weighted, what_if.same_objective(base, weighted))
    assert price.low is None
    assert "each proven optimal for its own weights" in price_words(price, "Weighing")


@pytest.mark.parametrize("task", [{}, {"costs": {"malignant": {"benign": 3}}}])
def test_where_classes_have_weights_a_price_is_told_by_them(task):
    data, weights = load_sample("wdbc"), {"benign": 1, "malignant": 5}
    first, second = (
        solve(data, depth=1, constraints={"class_weight": weights} | limit, **task).needed
        for limit in ({}, {"forbidden_features": ["worst perimeter"]})
    )
    price = price_data(first, second)
    # The objective has the price of leaves besides, and both trees have two.
    lost = (first.objective - second.objective) * (-1 if task else 1)
    assert price.leaves == 0
    assert price.accuracy == pytest.approx(lost)
    words = price_words(price, "X")
    assert words.startswith("X raises the cost" if task else "X costs ")
    assert task or f"{100 * lost:.1f} weighted accuracy points" in words
    open_gap = replace(second, status="feasible", bound=first.objective)
    told = price_words(price_data(first, open_gap), "X")
    assert re.search(r"at most [\d.]+\." if task else r"at most [\d.]+ weighted points\.", told)


def test_lists_and_floors_of_run_and_question_are_joined(base):
    given = {"forbidden_pairs": [["a", "b"]], "min_recall": {"x": 0.5}}
    run = replace(base, settings={**base.settings, "constraints": given})
    joined = what_if.together(run, {"forbidden_pairs": [("a", "b"), ("a", "c")],
                                    "min_recall": {"y": 0.9}})  # fmt: skip
    assert joined["forbidden_pairs"] == [("a", "b"), ("a", "c")]
    assert joined["min_recall"] == {"x": 0.5, "y": 0.9}
    assert what_if.added(run, joined)["forbidden_pairs"] == [("a", "c")]
    run = replace(base, settings={**base.settings, "constraints": {"monotone": {"a": "up"}}})
    ways = {"monotone": {"a": "up", "b": "down"}}
    assert what_if.together(run, {"monotone": {"b": "down"}}) == ways
    words = condition_words({"max_leaves": 3, "root_feature": "age"})
    assert words == "using at most 3 leaves and starting with age"
    names = ["age", "ward", "lactate", "smoker"]
    words = "dropping age, ward, lactate and smoker"
    assert condition_words({"forbidden_features": names}) == words
    assert condition_words({"forbidden_features": names[:2]}) == "dropping age and ward"
