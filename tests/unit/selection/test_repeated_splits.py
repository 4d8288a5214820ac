"""Other splits of the rows: what is counted, and which size is recommended."""

from __future__ import annotations

from dataclasses import asdict, replace

import numpy as np
import pytest

import octcore
from octcore.data.samples import load_sample
from octcore.errors import CancelledError
from octcore.selection import repeated_splits as module
from octcore.selection.repeated_splits import (
    Split,
    Tally,
    recommended,
    repeated_splits,
    sizes_of,
)
from octcore.solving.solve import solve

ASKED = {"depth": 2, "leaf_penalty": 0.01, "test_size": 0.3, "seed": 4}


def test_every_split_counts_what_its_own_solves_say() -> None:
    data, told = load_sample("finches"), []
    focus = data.classes[0]
    splits = repeated_splits(data, focus=focus, n_splits=2, on_split=told.append, **ASKED)
    assert [*splits] == told
    assert [Split.from_dict(asdict(split)) for split in splits] == told
    for number, split in enumerate(splits):
        same = {"depth": 2, "test_size": 0.3, "seed": 4 + number}
        path = octcore.penalty_path(data, **same)  # of several optimal trees it may take another
        run = solve(data, "cart", encoding="raw", params={"leaf_penalty": 0.01}, **same)
        truth = np.array(data.classes)[run.test.y]
        for tally, tree, encoding in (
            (split.tree, path.at(0.01).tree, path.encoding),
            (split.greedy, run.tree, run.encoding),
        ):
            said = tree.predict(encoding.transform(run.test.frame))
            assert tally.leaves == tree.n_leaves
            assert tally.right == (said == truth).sum()
            assert tally.worth == pytest.approx((said == truth).mean())
            assert tally.named == (truth == focus).sum()
            assert tally.told == (said == focus).sum()
            assert tally.found == ((said == focus) & (truth == focus)).sum()
        largest = data.classes[int(np.argmax(run.train.class_counts))]
        assert split.largest.right == (truth == largest).sum()
        assert split.n_train == run.n_train
        assert [size.leaves for size in split.sizes] == [step.leaves for step in path.steps]
        assert [size.worth for size in split.sizes] == pytest.approx(
            [step.test_accuracy for step in path.steps]
        )


def test_weights_of_classes_count_in_the_worth_and_in_cart() -> None:
    data = load_sample("finches")
    # Classes of 60, 60 and 30 rows: balanced weights are few units, which need no other kernels.
    rows = [np.flatnonzero(data.y == k)[:n] for k, n in enumerate((60, 60, 30))]
    data, limits = data.subset(np.concatenate(rows)), {"class_weight": "balanced"}
    (split,) = repeated_splits(data, constraints=limits, n_splits=1, **ASKED)
    run = solve(data, "cart", encoding="raw", depth=2, test_size=0.3, seed=4, constraints=limits)
    assert split.greedy.worth == pytest.approx(run.test_balanced_accuracy)
    assert split.sizes[-1].worth != pytest.approx(split.sizes[-1].right / split.sizes[-1].rows)


@pytest.mark.slow
def test_time_that_is_over_keeps_whole_splits() -> None:
    assert len(repeated_splits(load_sample("iris"), time_limit=1e-3 + 5.0, n_splits=400)) < 400


def test_a_split_that_takes_longer_than_those_before_costs_none_of_them(monkeypatch) -> None:
    given: list[int] = []

    def path(*args, seed, **settings):
        given.append(seed)
        if len(given) > 2:
            raise CancelledError("The best tree of every size takes longer.")
        return octcore.penalty_path(*args, seed=seed, **settings)

    monkeypatch.setattr(module, "penalty_path", path)
    asked = {**ASKED, "cancel": lambda: False}  # as the app asks
    assert len(repeated_splits(load_sample("iris"), n_splits=4, **asked)) == 2
    assert given == [4, 5, 6]
    with pytest.raises(CancelledError):  # nothing is done yet
        repeated_splits(load_sample("iris"), n_splits=4, **ASKED)


def split_of(*worths: float) -> Split:
    sizes = tuple(Tally(leaves, 30, round(30 * w), w) for leaves, w in enumerate(worths, 1))
    return Split(sizes[0], sizes[0], sizes[0], sizes, 90)


def test_the_smallest_size_within_one_standard_error_is_recommended() -> None:
    splits = [split_of(0.5, 0.70, 0.74), split_of(0.5, 0.80, 0.82, 0.9), split_of(0.5, 0.72)]
    sizes = sizes_of(splits)
    assert [size.leaves for size in sizes] == [1, 2, 3, 4]
    values = np.array([0.74, 0.9, 0.72])  # of the last split: its largest tree
    assert sizes[3].worth == pytest.approx(values.mean())
    error = np.sqrt((1 / 3 + 30 / 90) * values.var(ddof=1))
    assert sizes[3].error == pytest.approx(error)
    assert recommended(sizes).leaves == 2
    assert recommended([replace(size, error=0.0) for size in sizes]).leaves == 4
    assert sizes_of(splits[:1]) == ()
