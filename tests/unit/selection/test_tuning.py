"""Protocols, choices and the tuning loop."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import octcore
from octcore.cli.tuning import tune_report
from octcore.data.dataset import Dataset
from octcore.errors import CancelledError, SettingsError
from octcore.formulations.base import get_formulation, list_formulations
from octcore.selection import fits as fits_of_tuning
from octcore.selection.protocols import PROTOCOLS, get_protocol
from octcore.selection.tuning import CHOICES, Fit, TuneResult, choose, expand_grid, tune

Y = np.repeat([0, 1, 2], [60, 40, 20])
SIZES = {"k-fold": 1, "repeated": 5, "nested": 3, "75/25": 5, "80/20": 1}


@pytest.mark.parametrize("key", sorted(PROTOCOLS))
def test_protocols_keep_test_rows_out_of_everything_else(key: str) -> None:
    outers = get_protocol(key).make(Y, 3)
    assert len(outers) == SIZES[key]
    assert outers == get_protocol(key).make(Y, 3)
    for outer in outers:
        assert not set(outer.test) & set(outer.train)
        for fit, validate in outer.inner:
            assert not set(fit) & set(validate)
            assert set(fit) | set(validate) <= set(outer.train)
            shares = np.bincount(Y[list(fit)]) / len(fit)
            assert shares == pytest.approx([0.5, 1 / 3, 1 / 6], abs=0.03)


def test_published_shares() -> None:
    (first, *_) = get_protocol("repeated").make(Y, 0)
    ((fit, validate),) = first.inner
    assert (len(fit), len(validate), len(first.test)) == (60, 30, 30)
    (margot,) = get_protocol("80/20").make(Y, 0)
    assert (len(margot.inner), len(margot.test)) == (4, 24)
    assert [len(outer.inner) for outer in get_protocol("nested").make(Y, 0)] == [2, 2, 2]
    for svm1 in get_protocol("75/25").make(Y, 0):
        assert (len(svm1.inner), len(svm1.test)) == (5, 30)
    assert len(get_protocol("7-fold").make(Y, 0)[0].inner) == 7


def test_unknown_protocols_and_small_classes_are_refused() -> None:
    with pytest.raises(SettingsError, match="did you mean nested"):
        get_protocol("nestd")
    for few, rows in ((1, "1 row"), (4, "4 rows")):
        with pytest.raises(SettingsError, match=f"has {rows}, too few for 5 stratified folds"):
            get_protocol("k-fold").make(np.array([0] * 9 + [1] * few), 0)
    assert len(get_protocol("k-fold").make(np.array([0] * 9 + [1] * 5), 0)[0].inner) == 5


def _fit(name: str, accuracy: float, features: int) -> Fit:
    return Fit((("c", name),), 0, 0, accuracy, 1.0, features, 4, "optimal", 0.0, 0.1)


def test_choices() -> None:
    fits = [_fit("wide", 0.90, 9), _fit("narrow", 0.89, 2), _fit("poor", 0.80, 1)]
    assert choose(fits, "accuracy") == (("c", "wide"),)
    assert choose(fits, "features") == (("c", "narrow"),)


@pytest.mark.parametrize("n_rows", range(40, 200, 7))
def test_a_share_of_the_best_accuracy_is_near_it_whatever_rounding_makes_of_it(n_rows: int) -> None:
    for right in range(40, n_rows + 1, 40):
        best, near, poor = right, right * 39 // 40, right * 39 // 40 - 1
        fits = [_fit(str(n), k / n_rows, n) for n, k in ((9, best), (2, near), (1, poor))]
        assert choose(fits, "features") == (("c", "2"),)


def test_fewest_features_are_chosen_where_large_costs_leave_less_than_nothing() -> None:
    """Scores are 1 - mean cost: of -1 the near ones go down to -1.025, and none was near before."""
    dear = {"wide": (2.0, 9), "narrow": (2.02, 2), "poor": (2.1, 1)}
    fits = [replace(_fit(c, 0.5, n), mean_cost=cost) for c, (cost, n) in dear.items()]
    assert choose(fits, "features") == (("c", "narrow"),)


def test_one_error_takes_the_fewest_features_within_what_the_folds_can_tell() -> None:
    folds = {"wide": (0.8, 0.9, 1.0), "narrow": (0.8, 0.9, 0.85), "poor": (0.8, 0.8, 0.8)}
    fits = [
        _fit(name, accuracy, features)
        for (name, found), features in zip(folds.items(), (9, 2, 1), strict=True)
        for accuracy in found
    ]
    # means .9, .85 and .8; the standard error of the first is .0577
    assert choose(fits, "accuracy") == (("c", "wide"),)
    assert choose(fits, "one-error") == (("c", "narrow"),)


def test_what_could_not_be_trained_has_no_size_and_folds_in_another_order_are_a_tie() -> None:
    failed = replace(_fit("b", 0.9, 3), error="no", leaves=0, features=0)
    result = TuneResult("cart", "k-fold", "accuracy", (_fit("a", 0.8, 2), failed), (), (), (), 0)
    table = result.table().set_index("c")
    assert table.loc["a", "leaves"] == 4
    assert np.isnan(table.loc["b", "leaves"])
    assert np.isnan(table.loc["b", "features"])
    folds = (0.1, 0.2, 0.3)
    assert np.mean(folds) != np.mean(folds[::-1])
    fits = [_fit("a", a, 1) for a in folds] + [_fit("b", a, 1) for a in folds[::-1]]
    for order in (fits, fits[::-1], fits[3:] + fits[:3]):
        assert choose(order, "accuracy") == order[0].candidate


def test_a_candidate_that_could_not_be_trained_on_a_fold_is_not_chosen() -> None:
    failed = replace(_fit("best", 1.0, 1), accuracy=None, error="no")
    fits = [_fit("best", 1.0, 1), failed, _fit("whole", 0.5, 2), _fit("whole", 0.6, 2)]
    assert choose(fits, "accuracy") == (("c", "whole"),)
    with pytest.raises(SettingsError, match="No candidate could be trained: no"):
        choose(fits[:2], "accuracy")


@pytest.mark.parametrize("choice", ["features", "one-error"])
def test_of_as_few_features_the_most_accurate_are_chosen(choice: str) -> None:
    folds = {"wide": (0.5, 1.0), "less": (0.5, 0.97), "more": (0.5, 0.98), "last": (0.5, 0.96)}
    fits = [_fit(c, a, 9 if c == "wide" else 2) for c, found in folds.items() for a in found]
    assert choose(fits, choice) == (("c", "more"),)


def test_grid_is_every_combination() -> None:
    assert len(expand_grid({"leaf_penalty": [0.1, 0.2], "depth": [1, 2, 3]})) == 6
    with pytest.raises(SettingsError, match="list of values for depth"):
        expand_grid({"depth": []})


def test_without_a_grid_a_formulation_tries_what_it_declares() -> None:
    data = octcore.load_sample("iris")
    result = tune(data, "cart", protocol="3-fold")
    declared = get_formulation("cart").info.grid
    tried = {name: tuple(dict.fromkeys(result.table()[name])) for name in declared}
    assert tried == declared
    with pytest.raises(SettingsError, match="path-search has no grid"):
        tune(data, "path-search")


def test_without_a_choice_a_formulation_chooses_as_it_declares(monkeypatch) -> None:
    data = octcore.load_sample("iris")
    info = get_formulation("cart").info
    assert tune(data, "cart", {"depth": [1, 2]}, "3-fold").choice == info.choice == "accuracy"
    monkeypatch.setitem(vars(info), "choice", "one-error")
    assert tune(data, "cart", {"depth": [1, 2]}, "3-fold").choice == "one-error"
    assert tune(data, "cart", {"depth": [1, 2]}, "3-fold", "features").choice == "features"
    assert {info.choice for info in list_formulations()} <= set(CHOICES)


def test_tuning_counts_its_fits_and_judges_on_unseen_rows() -> None:
    data = octcore.load_sample("iris")
    seen: list[tuple[int, int]] = []
    result = tune(
        data,
        "cart",
        {"leaf_penalty": [0.0, 0.4], "depth": [1, 2]},
        protocol="repeated",
        on_fit=lambda fit, done, total: seen.append((done, total)),
    )
    assert seen == [(k, 25) for k in range(1, 26)]
    assert len(result.test_accuracies) == len(result.runs) == 5
    assert dict(result.chosen[0]) == {"leaf_penalty": 0.0, "depth": 2}
    best = result.table().set_index(["leaf_penalty", "depth"]).accuracy
    assert best[0.0, 2] > best[0.0, 1] > best[0.4, 2]
    run, split = result.runs[0], result.splits[0]
    rest = data.subset(np.array(split.test))
    assert (run.predict(rest.frame) == np.array(rest.classes)[rest.y]).mean() == pytest.approx(
        result.test_accuracies[0]
    )


def test_where_classes_have_weights_they_decide_unless_the_grid_varies_them() -> None:
    """One leaf has 16 errors of 100 rows; two have 20, but of the class that weighs less."""
    x = np.repeat([0.0, 1.0], [64, 36])
    y = np.repeat([0, 1], [84, 16])
    data = Dataset.from_arrays(pd.DataFrame({"x": x}), np.array(["no", "yes"])[y])

    def tuned(grid: dict, **settings) -> TuneResult:
        return tune(data, "cart", grid, "4-fold", **settings)

    grid = {"max_leaves": [1, 2]}
    weighted = tuned(grid, constraints={"class_weight": {"yes": 5}})
    balanced = tuned(grid, constraints={"class_weight": "balanced"})
    costly = tuned(grid, constraints={"class_weight": {"yes": 5}}, costs={"no": {"yes": 0.9}})
    for result in (weighted, balanced, costly):
        assert dict(result.chosen[0]) == {"max_leaves": 2}
    assert dict(tuned(grid).chosen[0]) == {"max_leaves": 1}
    for result, measure in ((weighted, "weighted accuracy"), (costly, "mean cost")):
        assert tune_report(result).endswith(f"chosen by {measure}: max_leaves=2")
    means = weighted.table().set_index("max_leaves")["weighted accuracy"]
    assert means.to_dict() == pytest.approx({1: 84 / 164, 2: 144 / 164})
    means = balanced.table().set_index("max_leaves")["weighted accuracy"]
    assert means[2] == pytest.approx((64 / 84 + 1) / 2)
    varied = tuned({"class_weight": [None, "balanced"]})
    assert {fit.weighted_accuracy for fit in varied.fits} == {None}


def test_rows_to_judge_on_that_weigh_nothing_are_refused_before_the_first_training(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(fits_of_tuning, "solve", lambda *_, **__: pytest.fail("it was trained"))
    y = np.repeat(["a", "b", "c"], [10, 3, 11])
    data = Dataset.from_arrays(pd.DataFrame({"x": np.arange(24) % 5}), y)
    fits: list[object] = []
    constraints = {"class_weight": {"a": 0, "c": 0}}
    asked = {"protocol": "repeated", "constraints": constraints}
    with pytest.raises(SettingsError, match=r"the 6 rows to train or to judge on .* any weight"):
        tune(data, "cart", {"depth": [1]}, on_fit=lambda *fit: fits.append(fit), **asked)
    assert not fits
    with pytest.raises(SettingsError, match=r"the 2 rows to train or to judge on .* any weight"):
        octcore.penalty_path(data, depth=1, test_size=0.05, seed=1, constraints=constraints)


def test_a_training_under_way_stops_when_asked() -> None:
    asked: list[int] = []

    def cancel() -> bool:
        asked.append(1)
        return len(asked) > 20

    with pytest.raises(CancelledError):
        tune(
            octcore.load_sample("moons"),
            "flow-oct",
            {"depth": [4]},
            params={"leaf_penalty": 0.0},
            time_limit=60,
            cancel=cancel,
        )
    assert len(asked) < 30  # asked again after the first yes only to wind up


def test_an_unknown_backend_is_refused() -> None:
    with pytest.raises(SettingsError, match="backend 'desk' cannot be used"):
        tune(octcore.load_sample("iris"), "cart", {"depth": [1]}, n_jobs=2, backend="desk")


def test_tuning_stops_when_asked_and_refuses_unknown_names() -> None:
    data = octcore.load_sample("iris")
    with pytest.raises(CancelledError):
        tune(data, "cart", {"depth": [1, 2]}, cancel=lambda: True)
    with pytest.raises(SettingsError, match="no setting 'penalty'"):
        tune(data, "cart", {"penalty": [1]})
