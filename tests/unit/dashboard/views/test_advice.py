"""What is suggested after a run and before a start; every suggestion can be solved."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from dashboard.views.solve import advice
from dashboard.widgets import run_summary
from dashboard.widgets.start import first_settings
from octcore.data.dataset import Dataset
from octcore.data.samples import load_sample
from octcore.reports.summary import grown_greedily
from octcore.selection.near_optimal import near_optimal
from octcore.solving.run import Run
from octcore.solving.settings import check_against_data, check_settings
from octcore.solving.solve import solve

IRIS = load_sample("iris")


def run_of(**settings: Any) -> Run:
    return solve(IRIS, **{"depth": 2, "test_size": 0.25, **settings})


def labels(found: advice.Advice) -> list[str]:
    for step in found.steps:
        if step.settings is not None:
            check_against_data(check_settings(**step.settings), IRIS)
    return [step.label for step in found.steps]


def unproven(run: Run, stop: str = "time_limit") -> Run:
    assert run.objective is not None
    certificate = replace(run.certificate, proven=False, verification=None)
    return replace(
        run, status="feasible", stop_reason=stop, certificate=certificate,
        bound=run.objective + 0.031, gap=0.031 / run.objective,
    )  # fmt: skip


@pytest.mark.long
def test_a_proven_tree_leads_to_looking_closer_and_to_the_same_proof_by_a_program():
    run = run_of()
    found = labels(advice.after(run, None))
    assert found[0] == "Explore this tree"
    assert found[-1] == "Watch a mixed-integer program prove the same tree"
    program = advice.after(run, None).steps[-1].settings
    assert program is not None
    again = solve(IRIS, **{**program, "time_limit": 600.0})  # a busy machine takes longer
    assert again.is_optimal
    assert again.objective == pytest.approx(run.objective)


def test_no_program_is_said_to_prove_a_tree_that_its_cuts_do_not_have():
    """Cuts between classes reach 9 of these 10 rows at depth 2, the tree of all cuts 10."""
    first, second = [1, 9, 2, 4, 3, 7, 5, 0, 6, 8], [1, 1, 2, 2, 0, 1, 0, 0, 0, 2]
    X = np.column_stack([first, second]).astype(float)
    data = Dataset.from_arrays(X, np.array([1, 1, 1, 0, 0, 1, 1, 0, 1, 0]))
    found = advice.after(solve(data, depth=2, params={"leaf_penalty": 0.001}), None)
    assert all("same tree" not in step.label for step in found.steps)


def test_an_open_gap_is_proven_by_exact_search_first():
    run = unproven(run_of(formulation="path-search", encoding="QT-5"))
    as_program = {"formulation": "flow-oct", "engine": "auto", "params": {"leaf_penalty": 0.01}}
    run = replace(run, settings={**run.settings, **as_program})
    assert run.badge == "Best found, up to 3.1 points better possible"
    found = advice.after(run, None)
    assert labels(found) == [
        "Prove it with exact search", "2 minutes more", "Fewer thresholds", "Depth 1",
        "Explore this tree",
    ]  # fmt: skip
    proof, longer = found.steps[0].settings, found.steps[1].settings
    assert proof is not None
    assert longer is not None
    assert solve(IRIS, **proof).is_optimal
    assert longer["time_limit"] == 180.0


def test_cart_on_numbers_that_wins_over_bins_is_explained_and_all_thresholds_offered():
    run = run_of(formulation="path-search", encoding="QT-5")
    greedy = solve(
        run.train, formulation="cart", encoding="raw", depth=2, params={"leaf_penalty": 0.01}
    )
    assert greedy.accuracy is not None
    assert run.accuracy is not None
    assert greedy.accuracy > run.accuracy
    assert labels(advice.after(run, greedy)) == ["Solve on all thresholds", "Explore this tree"]
    assert "a few thresholds" in advice.gain_words(run, greedy)
    everything = advice.after(run, greedy).steps[0].settings
    assert everything is not None
    better = solve(IRIS, **everything)
    assert better.accuracy is not None
    assert better.accuracy >= greedy.accuracy
    still_open = advice.after(unproven(run), greedy)
    assert "a better tree may exist. CART on the numbers" in still_open.sentence
    assert labels(still_open)[:2] == ["Solve on all thresholds", "2 minutes more"]


def test_what_a_run_was_held_to_is_in_what_is_said_of_it():
    """Without the limit or the weights other trees are right on more rows."""
    x = np.repeat([0.0, 1.0], [64, 36])
    y = np.repeat(["no", "yes"], [84, 16])
    data = Dataset.from_arrays(x[:, None], y)
    run = solve(data, depth=1, constraints={"class_weight": {"yes": 5.0}}).needed
    greedy = grown_greedily(run)
    assert greedy.tree.n_leaves == run.tree.n_leaves == 2  # one leaf would be right more often
    assert "rows, classes by their weights, the price" in advice.after(run, greedy).sentence
    alike = solve(data, formulation="cart", depth=1, params={"leaf_penalty": 0.01})
    assert advice.gain_words(run, alike).endswith("errors count by their weights.")
    rows = solve(data, depth=1, sample_weight=np.repeat([1.0, 5.0], [84, 16])).needed
    assert grown_greedily(rows).tree.n_leaves == 2
    assert "every row by its own weight" in advice.after(rows, alike).sentence
    assert labels(advice.after(rows, alike)) == ["Explore this tree"]
    assert advice.gain_words(rows, alike).endswith("errors count by their weights.")
    held = run_of(constraints={"max_features": 0}, test_size=0.0).needed
    assert "depth that keeps the side constraints does better" in advice.after(held, None).sentence
    assert advice.gain_words(held, grown_greedily(held)).endswith("side constraints of this run.")
    asked = run_of(constraints={"max_leaves": 2}, refer=0.2)
    assert "depth that keeps the side constraints cost less" in advice.after(asked, None).sentence


def test_a_tree_that_does_not_hold_on_new_rows_is_said_to_be_too_large():
    run = replace(run_of(), accuracy=0.99, test_accuracy=0.7)
    assert labels(advice.after(run, None))[:2] == ["Find the right size", "Depth 1"]
    own = run.final_tree.n_leaves
    assert labels(advice.after(run, None, right_leaves=own - 1))[0] == "Find the right size"
    assert labels(advice.after(run, None, right_leaves=own))[0] == "Explore this tree"


def test_a_tree_of_one_question_is_not_told_to_be_smaller():
    run = replace(run_of(depth=1), accuracy=0.99, test_accuracy=0.7)
    assert run.final_tree.n_leaves == 2
    found = advice.after(run, None)
    assert "more rows" in found.sentence
    assert labels(found) == ["Explore this tree", "Alternatives", "What if"]


@pytest.mark.parametrize(
    ("stop", "words"),
    [
        ("time_limit", "The limit ended it"),
        ("cancelled", "It was stopped"),
        ("error", "Its program ended"),
    ],
)
def test_what_ended_a_run_is_named(stop, words):
    assert advice.after(unproven(run_of(), stop), None).sentence.startswith(words)


def test_where_another_run_proves_the_tree_nothing_better_is_searched_for():
    run = unproven(run_of())
    assert run.objective is not None
    known = run.bounded_by(run.objective, "the other")
    assert known.badge == "Best found, none is better"
    assert labels(advice.after(known, None))[0] == "Explore this tree"


def test_a_tree_that_was_chosen_among_good_ones_is_not_said_to_wait_for_a_proof():
    good = near_optimal(load_sample("iris"), depth=2, tolerance=0.02)
    run = good.run_of(good.trees(good.count)[-1])
    words = f"w{run.badge[1:]}."
    assert words.startswith("within 2 points of the proven optimum")
    told = advice.after(run, None)
    assert told.sentence.endswith(words)
    assert labels(told) == [step.label for step in advice.READING]
    assert run_summary.badge_words(run) == run.badge


def test_the_comparison_with_cart_begins_with_rows_that_neither_has_seen():
    assert advice.held_out_words(0.768, 0.782) == (
        "CART is right on 1.4 points more of the held-out rows (78.2 % against 76.8 %)."
    )
    assert advice.held_out_words(0.8, 0.75).startswith("This tree is right on 5.0 points more")
    assert "2.44 points more" in advice.held_out_words(0.50879, 0.48438)  # 50.9 - 48.4 is not 2.4
    assert "equally often" in advice.held_out_words(0.8, 0.8)


def test_a_greedy_tree_leads_to_the_optimal_one():
    assert labels(advice.after(run_of(formulation="cart"), None))[0] == "Find the optimal tree"


def test_the_first_tree_is_smaller_on_many_rows_columns_or_classes():
    def depth(rows: int, columns: int, classes: int) -> int:
        values = np.zeros((rows, columns))
        return first_settings(Dataset.from_arrays(values, np.arange(rows) % classes))["depth"]

    assert depth(1_000, 200, 2) == 3
    assert depth(1_000, 200, 30) == 2
    assert depth(1_000, 20, 30) == 3
    assert depth(2_000, 200, 2) == 2


def test_only_a_start_that_cannot_close_is_warned_of():
    assert advice.before(IRIS, first_settings(IRIS), 4) is None
    program = {"formulation": "flow-oct", "encoding": "QT-5", "depth": 2, "time_limit": 60.0}
    assert advice.before(IRIS, program, 16) is None
    cancer = load_sample("wdbc")
    found = advice.before(cancer, program, 120)
    assert found is not None
    assert [step.label for step in found.steps] == ["Use exact search"]
    assert advice.before(cancer, {**program, "formulation": "cart"}, 120) is None
    margins = {"formulation": "margot", "depth": 3, "time_limit": 60.0}
    margins |= {"test_size": 0.25}  # of 569 rows 143 are held out
    assert "unlikely for 426 rows" in getattr(advice.before(cancer, margins, 30), "sentence", "")


def test_a_class_that_is_not_rare_is_not_said_to_be() -> None:
    run = run_of()
    counts = run.needed.train.class_counts
    most, fewer = (run.classes[counts.index(n)] for n in (max(counts), min(counts)))
    assert max(counts) > min(counts)
    assert "fewer" not in advice.after(run, None, most).sentence
    words = advice.after(run, None, fewer)
    assert "these are fewer. Where all classes count alike" in words.sentence
    assert words.steps[0].label == "Count all classes alike"


def test_what_is_nearly_equal_is_not_called_equal() -> None:
    assert "nearly equally often" in advice.held_out_words(0.8, 0.8002)
    run = run_of()
    other = replace(run, accuracy=(run.accuracy or 0) - 0.0002)
    assert "nearly as many" in advice.gain_words(run, other)
    assert "equally many" in advice.gain_words(run, run)
