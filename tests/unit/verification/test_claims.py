"""True claims are confirmed; a worse tree, a bound too low and a wrong objective are refuted."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from itertools import product

import numpy as np
import pytest

import octcore
from octcore.data.dataset import Dataset
from octcore.engines.events import Event
from octcore.solving.run import Certificate, Run
from octcore.solving.verified import verified
from octcore.tree.tree import Split, Tree
from octcore.verification import Verification
from octcore.verification.base import Guard
from octcore.verification.checking import claim_of
from octcore.verification.claim import route
from octcore.verification.value import node_gaps
from tests.unit.verification.restated import only_bound, restated

N_CASES = 40
PRICE = 0.01


@lru_cache(maxsize=N_CASES)
def case(number: int) -> Run:
    """A proven run on rows of which some contradict each other, without its verification."""
    rng = np.random.default_rng(number)
    n, p = int(rng.integers(12, 40)), int(rng.integers(3, 6))
    X = rng.integers(0, 2, (n, p))
    X[0], X[1] = 0, 1
    y = (X[:, 0] ^ X[:, 1]) ^ (rng.random(n) < 0.25)
    y[:2] = 0, 1
    data = Dataset.from_arrays(X, y.astype(int))
    depth = int(rng.integers(2, 5))
    run = octcore.solve(
        data, "path-search", "none", depth, {"leaf_penalty": PRICE}, time_limit=60, verify=False
    )
    assert run.status == "optimal"
    return run


@lru_cache(maxsize=N_CASES)
def second_best(run: Run) -> tuple[Tree, float]:
    """The best tree of depth two at most that is worse than the optimum, and its objective."""
    assert run.train is not None
    assert run.objective is not None
    X = np.asarray(run.encoding.transform(run.train.frame))
    y, p = np.asarray(run.train.y), X.shape[1]
    found: dict[float, Tree] = {}
    for root, left, right in product(range(p), repeat=3):
        splits = {1: Split.on_feature(root), 2: Split.on_feature(left), 3: Split.on_feature(right)}
        for kept in ((1,), (1, 2), (1, 3), (1, 2, 3)):
            below = {2, 3, 4, 5, 6, 7} - set(kept)
            leaves = [m for m in below if m // 2 in kept]
            tree = Tree({m: splits[m] for m in kept}, dict.fromkeys(leaves, 0), p, 2)
            at = tree.apply(X)
            labels = {m: int(2 * y[at == m].sum() > (at == m).sum()) for m in leaves}
            tree = tree.with_labels(labels)
            worth = float((tree.predict_codes(X) == y).mean() - PRICE * len(leaves))
            if worth < run.objective - 1e-9:
                found[worth] = tree
    best = max(found)
    return found[best], best


def test_proven_runs_are_confirmed() -> None:
    for number in range(N_CASES):
        run = case(number)
        found = run.verify()
        assert found.status == "confirmed"
        assert found.verified is True
        if found.optimum is not None:
            assert found.optimum == pytest.approx(run.objective, abs=1e-9)


@pytest.mark.long
def test_a_tree_that_is_next_to_optimal_is_refuted() -> None:
    for number in range(N_CASES):
        run = case(number)
        tree, worth = second_best(run)
        found = restated(run, tree=tree, objective=worth, bound=worth).verify()
        assert found.status == "refuted"
        assert found.optimum == pytest.approx(run.objective, abs=1e-9)


def test_a_bound_that_is_too_low_by_one_price_is_refuted() -> None:
    for number in range(N_CASES):
        run = case(number)
        assert run.objective is not None
        found = only_bound(run, run.objective - PRICE).verify()
        assert found.status == "refuted"
        assert found.optimum == pytest.approx(run.objective, abs=1e-9)
        assert only_bound(run, run.objective + PRICE).verify().status == "confirmed"


def test_an_optimum_apart_from_its_bound_is_refuted() -> None:
    for number in range(10):
        run = case(number)
        assert run.tree is not None
        assert run.objective is not None
        bound = run.objective + PRICE
        found = restated(run, tree=run.tree, objective=run.objective, bound=bound).verify()
        assert found.status == "refuted"
        assert "beside the bound" in found.statement


def test_a_wrong_objective_is_refuted() -> None:
    for number in range(N_CASES):
        run = case(number)
        assert run.objective is not None
        assert run.bound is not None
        one_row = 1 / run.n_train
        for wrong in (run.objective + one_row, run.objective - one_row, run.objective + PRICE):
            found = replace(run, objective=wrong, bound=wrong).verify()
            assert found.status == "refuted"


def test_claims_that_no_tree_exists() -> None:
    for number in range(20):
        run = case(number)
        found = only_bound(run, None, "infeasible").verify()
        assert found.status == "refuted"
    data = octcore.load_sample("4-partitions")
    impossible = {"forbidden_features": ["x1"], "root_feature": "x1"}
    run = octcore.solve(data, "path-search", depth=2, constraints=impossible)
    assert run.status == "infeasible"
    assert run.certificate.verified is True


def test_a_millionth_is_a_difference() -> None:
    run = case(0)
    assert run.objective is not None
    assert only_bound(run, run.objective - 1e-6).verify().status == "refuted"
    for apart in (-1e-6, 1e-6):
        wrong = run.objective + apart
        assert replace(run, objective=wrong, bound=wrong).verify().status == "refuted"
        assert replace(run, accuracy=(run.accuracy or 0.0) + apart).verify().status == "refuted"


def test_a_split_that_costs_more_than_it_gains_is_not_optimal() -> None:
    """No tree with a split is better than this one; the single leaf is."""
    X, y = np.arange(10)[:, None] == 0, (np.arange(10) == 0).astype(int)
    data = Dataset.from_arrays(X.astype(int), y)
    run = octcore.solve(data, "bend-oct", "none", 1, {"leaf_penalty": 0.2}, verify=False)
    assert (run.status, run.objective) == ("optimal", pytest.approx(0.7))
    split = Tree({1: Split.on_feature(0)}, {2: 0, 3: 1}, 1, 2)
    found = restated(run, tree=split, objective=0.6, bound=0.6).verify()
    assert found.status == "refuted"
    assert found.optimum == pytest.approx(0.7)


@pytest.mark.long
def test_what_a_solver_misses_by_its_tolerance_is_not_verified() -> None:
    data = Dataset.from_arrays([[1, 0], [1, 0], [0, 1]], [0, 0, 1])
    weights = np.array([0.008683454854286217, 0.5743939704055729, 0.0003858574579745582])
    price = {"leaf_penalty": 0.0006612564726122535}  # 7e-8 less than the last row
    run = octcore.solve(data, "path-columns", depth=1, params=price, sample_weight=weights)
    assert run.status == "optimal"
    assert "optimal to within 1e-06 of the total weight of the rows" in run.certificate.statements
    if not run.certificate.verified:
        assert run.certificate.verification is not None
        assert "within the tolerance of the solver" in run.certificate.verification.statement


@pytest.mark.parametrize("key", ["bend-oct", "oct-binary"])
@pytest.mark.parametrize("less", [5e-7, 3e-8])
def test_a_price_next_to_that_of_a_row_is_no_tie(key: str, less: float) -> None:
    """A split that gains next to nothing was left out of what was called the optimum."""
    data = Dataset.from_arrays([[0, 0], [0, 1], [0, 0], [1, 1]], [0, 0, 0, 1])
    price = 0.25 * (1 - less)
    run = octcore.solve(
        data, key, "none", 1, {"leaf_penalty": price}, warm_start="none", verify=False
    )
    assert run.status == "optimal"
    assert "optimal to within 1e-06 of the total weight of the rows" in run.certificate.statements
    if key == "bend-oct" and less > 1e-7:  # what linear programs tell apart
        assert run.objective == pytest.approx(1 - 2 * price, abs=1e-12)


@pytest.mark.long
def test_a_tree_within_the_tolerance_is_not_verified_beside_a_better_one() -> None:
    """One optimum at most is proven and verified: what the search took for equal is said."""
    data = Dataset.from_arrays([[0, 0], [0, 1], [1, 0], [1, 1]], [0, 1, 1, 0])
    for weights in ([1e12, 1.0, 1.0, 1.0], [1.0, 1e-9, 1.0, 1e-9]):
        verified_optima = set()
        for key in ("path-search", "threshold-search", "flow-oct"):
            run = octcore.solve(
                data, key, depth=2, params={"leaf_penalty": 0.0}, sample_weight=np.array(weights)
            )
            assert run.status == "optimal"
            share = "1e-06" if run.model_size else "1e-09"
            assert f"optimal to within {share} of the total weight of the rows" in (
                run.certificate.statements
            )
            assert any("nine decades" in finding for finding in run.findings)
            if run.certificate.verified:
                verified_optima.add(run.objective)
            else:
                assert run.certificate.verification is not None
                assert "within the tolerance" in run.certificate.verification.statement
        assert verified_optima == {1.0}


@pytest.mark.parametrize(
    "constraints",
    [
        {"max_leaves": 2},
        {"min_samples_leaf": 30},
        {"max_features": 1},
        {"forbidden_features": ["petal width (cm)"]},
        {"min_recall": {"versicolor": 0.99}},
    ],
)
def test_a_tree_that_breaks_a_constraint_is_refuted(constraints: dict) -> None:
    run = octcore.solve(octcore.load_sample("iris"), "path-search", depth=3, verify=False)
    assert run.verify().status == "confirmed"
    broken = replace(run, settings={**run.settings, "constraints": constraints})
    found = broken.verify()
    assert found.status == "refuted"
    assert "constraint" in found.statement


def test_s_oct_is_confirmed_by_conflicting_rows_and_gaps() -> None:
    run = octcore.solve(octcore.load_sample("4-partitions"), "s-oct", depth=2, time_limit=20)
    assert run.certificate.method == "conflict-bound"
    assert run.certificate.verified is True
    assert run.tree is not None
    wider = {**run.settings["params"], "epsilon": 0.4}
    found = replace(
        run,
        settings={**run.settings, "params": wider},
        certificate=replace(run.certificate, verification=None),
    ).verify()
    assert found.status == "refuted"
    assert "gap" in found.statement


@pytest.mark.parametrize(("share", "holds"), [(0.9995, True), (0.99, False)])
def test_a_gap_reaches_epsilon_to_a_thousandth(share: float, holds: bool) -> None:
    """``share``: of epsilon, that the thinnest gap reaches."""
    data = Dataset.from_arrays([[0.0], [0.1], [0.5], [1.0]], [0, 1, 1, 0])
    run = octcore.solve(data, "s-oct", depth=2, params={"start_seconds": 0.1}, verify=False)
    claim = claim_of(run, Guard(60.0))
    thinnest = min(node_gaps(claim, route(claim.tree, claim.X)).values())
    params = {**run.settings["params"], "epsilon": thinnest / share}
    asked = replace(
        run,
        settings={**run.settings, "params": params},
        certificate=replace(run.certificate, statements=()),
    )
    found = asked.verify()
    assert found.status == ("confirmed" if holds else "refuted")
    assert holds or "is below epsilon" in found.statement


@pytest.mark.parametrize(
    ("offset", "holds"), [(0.4, False), (0.6, True), (2.4, True), (2.6, False)]
)
def test_planes_of_s_oct_as_solved_part_the_rows_that_thresholds_part(
    offset: float, holds: bool
) -> None:
    """Rows with scores 0 and -0.5 go right, with -2.5 and -5 left."""
    data = Dataset.from_arrays([[0.0], [0.1], [0.5], [1.0]], [0, 0, 1, 1])
    run = octcore.solve(data, "s-oct", depth=1, params={"start_seconds": 0.1}, verify=False)
    tree = Tree({1: Split(((0, -5.0),), -1.5, offset, True)}, {2: 1, 3: 0}, 1, 2)
    assert run.objective == run.bound == 4.0
    found = restated(run, tree=tree, objective=4.0, bound=4.0).verify()
    assert found.status == ("confirmed" if holds else "refuted"), found.statement
    assert holds or "the plane of node 1 as solved parts other rows" in found.statement


@pytest.mark.parametrize("n_rows", [7, 8])
def test_splits_of_nearly_all_the_weight_cancel_but_for_rounding(n_rows: int) -> None:
    """``(1 - w) * right + w - w``: one is added and taken away, and a row is worth 1e-9."""
    data = Dataset.from_arrays(np.arange(n_rows)[:, None] % 2, np.arange(n_rows) % 3 // 2)
    run = octcore.solve(data, "path-search", "none", 1, {"split_weight": 1 - 1e-9}, verify=False)
    assert run.status == "optimal"
    assert run.verify().status == "confirmed"
    assert run.objective is not None
    wrong = run.objective - 1e-9
    assert replace(run, objective=wrong, bound=wrong).verify().status == "refuted"


def test_a_run_that_is_not_optimal_states_no_tolerance_of_an_optimum() -> None:
    asked = {"params": {"leaf_penalty": 1 / 81}, "refer": 0.3, "verify": False}
    run = octcore.solve(octcore.load_sample("iris"), "path-search", "QB-5", 1, **asked)
    (said,) = [text for text in run.certificate.statements if "in the objective" in text]
    assert run.verify().status == "confirmed"
    for statements, status in (((), "confirmed"), ((said,), "refuted")):
        certificate = replace(run.certificate, proven=False, statements=statements)
        open_run = replace(
            run, status="feasible", stop_reason="time_limit", certificate=certificate
        )
        assert open_run.verify().status == status


@pytest.mark.parametrize(
    "limits", [{"max_features": 1}, {"min_recall": {"1": 0.9}}, {"feature_once_per_path": True}]
)
def test_what_side_constraints_cost_is_derived(limits: dict) -> None:
    train = case(0).train
    assert train is not None
    run = octcore.solve(train, "path-columns", "none", 2, constraints=limits, verify=False)
    assert "price" in run.extras
    assert run.verify().status == "confirmed"
    both = "price", "unconstrained_objective"
    # What agrees with itself, and with the sentence to its six digits, is only found by deriving.
    for names, more in ((both[:1], 0.001), (both[1:], 0.001), (both, 4e-8)):
        wrong = {name: run.extras[name] + more for name in names}
        forged = replace(run, extras={**run.extras, **wrong})
        assert forged.verify().status != "confirmed"


def test_planes_for_pictures_send_rows_where_the_tree_does() -> None:
    rng = np.random.default_rng(3)
    X = rng.random((12, 2)).round(2)
    data = Dataset.from_arrays(X, (X.sum(axis=1) > 1).astype(int))
    run = octcore.solve(data, "mm-svm-oct", depth=1, time_limit=10, params={"start_seconds": 0.2})
    assert run.verify().status == "not verified"
    planes = run.extras["recentred"]
    root, *leaves = planes["nodes"]
    moved = {**planes, "nodes": [{**root, "threshold": root["threshold"] + 100.0}, *leaves]}
    found = replace(run, extras={**run.extras, "recentred": moved}).verify()
    assert found.status == "refuted"
    assert "the recentred planes part the rows in another way" in found.statement


def test_what_cannot_be_checked_says_why() -> None:
    iris = octcore.load_sample("iris")
    assert "heuristic" in octcore.solve(iris, "cart", depth=2).verify().statement
    run = octcore.solve(iris, "path-search", depth=4, verify=False)
    assert run.verify(time_limit=1e-4).status == "not verified"
    assert "estimated" in octcore.verify(run, expected=1e-6).statement
    assert run.verify(cancel=lambda: True).statement == "not verified: it was stopped"
    assert replace(run, train=None).verify().status == "not verified"


def test_a_refuted_run_is_not_optimal_and_its_case_is_kept(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("OCTCORE_STORE", str(tmp_path / "runs.db"))
    run = case(0)
    tree, worth = second_best(run)
    lied = verified(restated(run, tree=tree, objective=worth, bound=worth))
    assert (lied.status, lied.stop_reason, lied.bound) == ("feasible", "error", None)
    assert not lied.certificate.proven
    assert lied.certificate.verified is False
    assert lied.certificate.badge == "refuted, not optimal"
    found = lied.certificate.verification
    assert found is not None
    kept = list(tmp_path.glob("refuted-*.json"))
    assert [found.case] == [str(path) for path in kept]
    assert str(kept[0]) in found.statement
    again = Run.from_dict(lied.to_dict(), lied.trace, lied.train)
    assert again.certificate == lied.certificate
    assert verified(again).certificate == lied.certificate


def test_older_runs_know_no_verification() -> None:
    record = Certificate("mip", True).to_dict()
    del record["verified"], record["verification"]
    assert Certificate.from_dict(record).verified is None


def test_the_answer_travels_with_the_trace() -> None:
    run = octcore.solve(octcore.load_sample("iris"), "path-search", depth=2)
    last: Event = run.trace.events[-1]
    assert (last.kind, last.source) == ("verified", "confirmed")
    assert Verification.from_dict(last.details) == run.certificate.verification
    assert "verified independently" in run.to_dict()["certificate"]["verification"]["statement"]


def test_a_defect_of_the_check_does_not_cost_the_run(caplog: pytest.LogCaptureFixture) -> None:
    run = octcore.solve(octcore.load_sample("iris"), "path-search", depth=2, verify=False)
    broken = replace(run, settings={**run.settings, "constraints": {"root_feature": "no such"}})
    found = verified(broken)
    assert found.objective == run.objective
    assert found.certificate.verified is None
    assert found.certificate.verification is not None
    assert "the check itself failed" in found.certificate.verification.statement
    assert "A verification failed." in caplog.text


def test_one_row_counts_however_little_it_costs() -> None:
    y = np.arange(12) // 11
    data, costs = Dataset.from_arrays(y[:, None], y), {k: {1 - k: 1e-8} for k in (0, 1)}
    asked = {"depth": 1, "params": {"leaf_penalty": 0.0}, "costs": costs, "verify": False}
    run = octcore.solve(data, "path-search", "none", **asked)
    assert run.verify().status == "confirmed"
    worth = 1 - 1e-8 / 12
    forged = restated(run, tree=Tree.leaf(0, 1, 2), objective=worth, bound=worth)
    assert forged.verify().status == "refuted"


def test_the_column_that_the_tree_begins_with_is_worth_no_more_than_the_tree() -> None:
    run = octcore.solve(octcore.load_sample("iris"), "path-search", depth=2, verify=False)
    values = list(run.extras["root_values"])
    values[run.tree.splits[1].weights[0][0]] += 0.01
    forged = replace(run, extras={**run.extras, "root_values": values})
    assert octcore.verify(run).status == "confirmed"
    assert octcore.verify(forged).status == "refuted"
