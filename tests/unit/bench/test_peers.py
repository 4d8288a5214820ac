"""Other programs in a child process: their trees, their ends and their price."""

from __future__ import annotations

import functools
import itertools
import os
import time
from dataclasses import replace

import numpy as np
import pytest

from octcore.bench import suite
from octcore.bench.data_files import data_folder
from octcore.bench.suite import Instance, Line
from octcore.cli import main
from octcore.data.dataset import Dataset
from octcore.formulations.base import get_formulation
from octcore.search.univariate import question as univariate
from octcore.search.univariate.search import answer
from tests.bench import rivals
from tests.bench.rivals import child, peers, thresholds_suite
from tests.bench.rivals.peers import PEERS, run_peer
from tests.bench.rivals.peers_suite import FAIR, FAIR_SETS, USUAL, instances
from tests.bench.rivals.programs import Answer, Parity, Question, leaf_count, route

SEED, PENALTY, DEPTH = 5, 0.02, 2
PARITY = {"statistical_parity": {"attribute": "x0", "max_gap": 0.1}}


def rows() -> Dataset:
    rng = np.random.default_rng(SEED)
    X = rng.integers(0, 2, (30, 4))
    y = np.where(rng.random(30) < 0.15, 2, X[:, 0] ^ X[:, 1])
    return Dataset.from_arrays(X, y, name="noisy")


def two_classes() -> Dataset:
    data = rows()
    assert data.y is not None
    return Dataset.from_arrays(data.frame.to_numpy(), np.minimum(data.y, 1), name="two")


def line(key: str, load=rows, penalty: float = PENALTY, limit: float = 20, **settings) -> Line:
    given = {"encoding": "none", "params": {"leaf_penalty": penalty}, **settings}
    asked = Instance("noisy", "none", key, DEPTH, load, given)
    blank = Line("unit", "noisy", "none", key, DEPTH, "", "missing")
    return run_peer(asked, blank, limit)


def optimum(penalty: float = PENALTY) -> float:
    data = rows()
    assert data.y is not None
    X = data.frame.to_numpy(dtype="uint8")
    found = answer(univariate.Question(X, data.y, data.n_classes, DEPTH, penalty))
    assert found.objective is not None
    return found.objective


def needs(key: str) -> None:
    if not PEERS[key].is_installed:
        pytest.skip(PEERS[key].install)


def test_a_foreign_tree_is_routed_by_us():
    X = np.array(list(itertools.product((0, 1), repeat=2)))
    tree = (0, 2, (1, 0, 1))
    assert route(tree, X).tolist() == [2, 2, 0, 1]
    assert leaf_count(tree) == 3
    assert route(1, X).tolist() == [1, 1, 1, 1]


def test_the_weight_of_splits_orders_trees_as_our_objective():
    question = Question(np.zeros((50, 1)), np.zeros(50, dtype=int), 1, 0.03, 1)
    w = question.split_weight
    for correct, leaves in ((40, 3), (43, 5), (20, 1)):
        theirs = (1 - w) * correct - w * (leaves - 1)
        assert theirs / (50 * (1 - w)) - 0.03 == pytest.approx(correct / 50 - 0.03 * leaves)


@pytest.mark.parametrize("key", ["pystreed", "odtlearn"])
def test_exact_programs_find_our_optimum(key: str):
    needs(key)
    entry = line(key)
    assert entry.status == "optimal", entry.note
    assert entry.objective == pytest.approx(optimum(), abs=1e-9)


def test_dl85_answers_the_question_without_a_price():
    needs("pydl8.5")
    entry = line("pydl8.5", penalty=0.0)
    assert entry.status == "optimal"
    assert entry.accuracy == pytest.approx(optimum(0.0), abs=1e-9)
    priced = line("pydl8.5")
    assert priced.status == "feasible"
    assert priced.objective is not None
    assert priced.objective <= optimum() + 1e-9
    assert "cannot express" in priced.note


def test_fair_oct_keeps_the_parity_limit():
    needs("odtlearn-fair")
    entry = line("odtlearn-fair", two_classes, constraints=PARITY)
    assert entry.status == "optimal", entry.note
    assert "parity gap" in entry.note
    assert "above" not in entry.note


def fake(monkeypatch: pytest.MonkeyPatch, key: str) -> None:
    """Put a function of this module in the place of a program; children are forked to see it."""
    monkeypatch.setattr(child.multiprocessing, "get_context", FORK)
    program = replace(PEERS["sklearn-cart"], key="fake", title="Fake", solve=PROGRAMS[key])
    monkeypatch.setitem(PEERS, "fake", program)


FORK = lambda _: __import__("multiprocessing").context.ForkContext()  # noqa: E731
PROGRAMS = {
    "raises": lambda question: 1 // 0,
    "sleeps": lambda question: time.sleep(60),
    "dies": lambda question: os._exit(7),
    "finds nothing": lambda question: Answer(None),
    "unfair": lambda question: Answer((0, 0, 1), True),
}


@pytest.mark.parametrize(
    ("program", "words"),
    [
        ("raises", "ZeroDivisionError: integer division or modulo by zero"),
        ("sleeps", "killed at the limit without an answer"),
        ("dies", "its process ended with code 7 and no answer"),
        ("finds nothing", "no tree within the limit"),
    ],
)
def test_a_program_that_fails_is_a_line(monkeypatch, program: str, words: str):
    monkeypatch.setattr(child, "GRACE_SECONDS", 0.2)
    fake(monkeypatch, program)
    start = time.monotonic()
    entry = line("fake", limit=0.5)
    assert time.monotonic() - start < 10
    assert (entry.status, entry.objective, entry.note) == ("no_solution", None, words)


def test_a_parity_limit_is_asked_only_of_programs_that_know_it(monkeypatch):
    entry = line("sklearn-cart", two_classes, constraints=PARITY)
    assert (entry.status, entry.note) == ("refused", "CART knows no parity limit.")
    fake(monkeypatch, "unfair")
    monkeypatch.setitem(PEERS, "fake", replace(PEERS["fake"], needs_parity=True))
    assert line("fake").note == "Fake needs a parity limit."
    unfair = line("fake", two_classes, constraints=PARITY)
    assert unfair.note == "parity gap 1.0000, above the limit"


def test_the_fair_study_asks_everyone_the_same(tmp_path):
    made = instances(tmp_path, "fair", USUAL)
    assert len(made) == len(FAIR) * len(FAIR_SETS)
    assert {i.formulation for i in made} == set(FAIR)
    assert all("statistical_parity" in i.settings["constraints"] for i in made)
    chosen = instances(tmp_path, "fair", ("path-columns",))
    assert {i.formulation for i in chosen} == {"path-columns"}


def test_parity_counts_the_wanted_class():
    parity = Parity(np.array([0, 0, 1, 1]), 1, 0.5)
    assert peers._parity_note(parity, np.array([1, 0, 1, 0])) == "parity gap 0.0000"


def test_the_suites_of_other_programs_stand_beside_ours(monkeypatch, capsys):
    monkeypatch.setattr(suite, "list_suites", functools.cache(dict))
    rivals.register()
    known = {"near-optimal", "peers", "svm1-odt", "thresholds"}
    assert set(suite.list_suites()) == known
    for found in suite.list_suites().values():
        for key in set(found.formulations) - set(found.programs):
            get_formulation(key)
    assert main(["bench", "peers", "--formulations", "strede", "--data", "."]) == 2
    assert "strede" in capsys.readouterr().err


@pytest.mark.long
@pytest.mark.reference
def test_programs_get_every_set(reference):
    folder = data_folder(str(reference))
    assert len(instances(folder, "depth-4", USUAL)) == 324
    made = thresholds_suite.instances(folder, "depth-2", ("threshold-search", "pystreed"))
    assert {i.encoding for i in made if i.formulation == "pystreed"} == {"QT-5"}
    assert {i.settings.get("encoding") for i in made if i.formulation == "pystreed"} == {None}
