"""MARGOT's proof log: right ones are confirmed, wrong ones are refuted."""

from __future__ import annotations

import gzip
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import octcore
from octcore.errors import SettingsError
from octcore.search.margot.records import RoutingProblem
from octcore.search.margot.search import routing_search
from octcore.verification.base import NotProvenError, Verdict, WrongError
from octcore.verification.margot import MargotData, check_log

SEEDS = range(6)


def problem_of(seed: int) -> RoutingProblem:
    """Rows of a grid with noisy labels: equal rows with both labels, slack, several states."""
    rng = np.random.default_rng([3, seed])
    n, depth = (14, 2) if seed % 2 == 0 else (7, 3)
    x = rng.integers(0, 5, (n, 2)) / 4.0
    y = np.where((x[:, 0] > 0.5) ^ (x[:, 1] > 0.5) ^ (rng.random(n) < 0.1), 1.0, -1.0)
    weights = rng.integers(1, 4, n).astype(float)
    return RoutingProblem(x, y, depth, 1.0, 100.0, weights=weights)


def data_of(problem: RoutingProblem) -> MargotData:
    assert problem.weights is not None
    return MargotData(
        problem.x,
        problem.y,
        problem.weights,
        problem.depth,
        problem.c_upper,
        problem.c_last,
        problem.epsilon,
    )


def judged(data: MargotData, log: Path, claimed: float) -> tuple[Verdict, str]:
    """What a log is worth, and in which words."""
    try:
        proven = check_log(data, log, claimed)
    except WrongError as error:
        return Verdict.REFUTED, str(error)
    except NotProvenError as error:
        return Verdict.NOT_VERIFIED, str(error)
    assert proven.bound == pytest.approx(claimed, rel=1e-6)
    return Verdict.CONFIRMED, proven.method


@pytest.fixture(scope="module", params=SEEDS)
def proof(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory):
    """Problem, bound and log of a search."""
    problem = problem_of(request.param)
    path = tmp_path_factory.mktemp("proof") / "log.gz"
    result = routing_search(problem, time_limit=60, proof_log=path)
    assert result.status == "optimal"
    return problem, result.bound, path


def records(path: Path, problem: RoutingProblem) -> tuple[bytes, list[bytearray]]:
    """Head of a log and its states, each as one piece."""
    with gzip.open(path) as stream:
        head = stream.readline() + stream.readline()
        rest = stream.read()
    n = len(np.unique(np.column_stack([problem.x, problem.y]), axis=0))
    nodes, width = 2**problem.depth - 1, (2 * n + 3) // 4
    found, at = [], 0
    while at < len(rest):
        codes = np.frombuffer(rest[at + n : at + n + nodes * width], np.uint8)
        given = sum(int(((codes >> shift) & 3 == 2).sum()) for shift in (0, 2, 4, 6))
        size = n + nodes * width + 8 * given
        found.append(bytearray(rest[at : at + size]))
        at += size
    return head, found


def rewritten(folder: Path, head: bytes, states: list[bytearray]) -> Path:
    path = folder / "changed.gz"
    with gzip.open(path, "wb") as stream:
        stream.write(head + b"".join(states))
    return path


def test_the_log_proves_the_bound(proof):
    problem, bound, path = proof
    status, words = judged(data_of(problem), path, bound)
    assert status == Verdict.CONFIRMED
    assert "cover all routings" in words


def test_the_log_changes_no_result(proof):
    problem, _, path = proof
    plain, logged = routing_search(problem), routing_search(problem, proof_log=path)
    assert logged.objective == pytest.approx(plain.objective, rel=1.1e-4)


def test_a_higher_bound_is_refuted(proof):
    problem, bound, path = proof
    status, words = judged(data_of(problem), path, bound * 1.001)
    assert status == Verdict.REFUTED
    assert "the closed states prove" in words


def test_every_state_is_needed(proof, tmp_path):
    problem, bound, path = proof
    head, states = records(path, problem)
    n = len(np.unique(np.column_stack([problem.x, problem.y]), axis=0))
    paths = [bytes(state[:n]) for state in states]
    for missing in range(min(15, len(states))):
        rest = [state for k, state in enumerate(states) if paths[k] != paths[missing]]
        status, words = judged(data_of(problem), rewritten(tmp_path, head, rest), bound)
        assert status == Verdict.NOT_VERIFIED
        assert "incomplete" in words or "no states" in words


def test_other_rows_are_not_confirmed(proof):
    problem, bound, path = proof
    cheaper = replace(data_of(problem), c_upper=0.5, c_last=50.0)
    assert judged(cheaper, path, bound)[0] == Verdict.REFUTED
    swapped = replace(data_of(problem), depth=problem.depth + 1)
    assert judged(swapped, path, bound)[0] == Verdict.NOT_VERIFIED
    fewer = replace(data_of(problem), x=problem.x[:4], y=problem.y[:4], weights=np.ones(4))
    assert judged(fewer, path, bound)[0] == Verdict.NOT_VERIFIED


def test_a_log_that_ends_early_proves_nothing(proof, tmp_path):
    problem, bound, path = proof
    head, states = records(path, problem)
    cut = [*states[:-1], states[-1][:-1]]
    status, _ = judged(data_of(problem), rewritten(tmp_path, head, cut), bound)
    assert status == Verdict.NOT_VERIFIED
    assert judged(data_of(problem), tmp_path / "none.gz", bound)[0] == Verdict.NOT_VERIFIED
    (tmp_path / "text.gz").write_text("no log")
    assert judged(data_of(problem), tmp_path / "text.gz", bound)[0] == Verdict.NOT_VERIFIED
    whole = path.read_bytes()
    (tmp_path / "half.gz").write_bytes(whole[: len(whole) // 2])
    half, _ = judged(data_of(problem), tmp_path / "half.gz", bound)
    assert half == Verdict.NOT_VERIFIED
    damaged = bytearray(whole)
    damaged[len(whole) // 2] ^= 255
    (tmp_path / "damaged.gz").write_bytes(bytes(damaged))
    damaged_says, _ = judged(data_of(problem), tmp_path / "damaged.gz", bound)
    assert damaged_says != Verdict.CONFIRMED


@pytest.mark.parametrize("factor", [-1.0, np.nan])
def test_wrong_multipliers_are_refuted(proof, tmp_path, factor):
    """A multiplier below zero, or none."""
    problem, bound, path = proof
    head, states = records(path, problem)
    n = len(np.unique(np.column_stack([problem.x, problem.y]), axis=0))
    fixed = n + (2**problem.depth - 1) * ((2 * n + 3) // 4)
    tried = 0
    for k, state in enumerate(states):
        given = np.frombuffer(bytes(state[fixed:]), "<f8").copy()
        if not len(given) or given[0] < 1e-6:
            continue
        given[0] *= factor
        changed = [*states[:k], state[:fixed] + bytearray(given.tobytes()), *states[k + 1 :]]
        status, _ = judged(data_of(problem), rewritten(tmp_path, head, changed), bound)
        assert status == Verdict.REFUTED
        tried += 1
        if tried == 10:
            break
    assert tried


def test_slack_is_not_charged_beyond_its_penalty(tmp_path):
    """Two rows at distance 1 cost 2 where slack is dear, here 0.2 at most."""
    data = MargotData(
        np.array([[0.0], [1.0]]), np.array([-1.0, 1.0]), np.ones(2), 1, 1.0, 0.1, 0.01
    )
    head = b'octcore MARGOT proof 1\n{"rows": 2, "depth": 1}\n'
    paths, codes = bytes(2), bytes([2 | 2 << 2])
    for multiplier, claimed, said in ((0.1, 0.19, Verdict.CONFIRMED), (2.0, 2.0, Verdict.REFUTED)):
        state = bytearray(paths + codes + np.full(2, multiplier).astype("<f8").tobytes())
        assert judged(data, rewritten(tmp_path, head, [state]), claimed)[0] == said


def test_slack_is_not_charged_where_the_path_is_open(proof, tmp_path):
    problem, bound, path = proof
    head, states = records(path, problem)
    n = len(np.unique(np.column_stack([problem.x, problem.y]), axis=0))
    width = (2 * n + 3) // 4
    state = bytearray(n) + bytearray((2**problem.depth - 1) * width)
    state[n + width] = 1  # the penalty of row 0 at the second node, which no row is known to pass
    status, words = judged(data_of(problem), rewritten(tmp_path, head, [*states, state]), bound)
    assert status == Verdict.REFUTED
    assert "not known" in words


def test_a_stopped_search_leaves_a_log_of_its_bound(tmp_path):
    problem = problem_of(4)
    path = tmp_path / "log.gz"
    result = routing_search(problem, node_limit=2, proof_log=path)
    assert judged(data_of(problem), path, result.bound)[0] == Verdict.CONFIRMED


def test_budgets_have_no_log(tmp_path):
    problem = replace(problem_of(0), variant="hfs", budget_upper=1, budget_last=1)
    with pytest.raises(SettingsError):
        routing_search(problem, proof_log=tmp_path / "log.gz")


@pytest.fixture
def run():
    """A proven run with its log, whose verification is still to come."""
    data = octcore.load_sample("4-partitions")
    run = octcore.solve(
        data, "margot", depth=2, params={"proof_log": True, "C_upper": 1.0}, verify=False
    )
    assert run.status == "optimal"
    yield run
    Path(str(run.values["proof_log"])).unlink(missing_ok=True)


def test_a_run_is_verified_by_its_log(run):
    assert Path(str(run.values["proof_log"])).stat().st_size == run.values["proof_bytes"]
    found = octcore.verify(run)
    assert found.status == Verdict.CONFIRMED
    assert "closed states" in found.statement
    assert found.estimate is not None


def test_a_run_without_log_is_not_refuted(run):
    Path(str(run.values["proof_log"])).unlink()
    for changed in (run, replace(run, values={})):
        found = octcore.verify(changed)
        assert found.status == Verdict.NOT_VERIFIED
        assert "no log" in found.statement


def test_false_claims_of_a_run_are_refuted(run):
    for change in (
        {"bound": run.bound * 1.01, "objective": None, "tree": None, "status": "no_solution"},
        {"bound": run.objective * 1.01},
        {"objective": run.objective * 0.999, "bound": run.objective * 0.999},
        {"tree": run.tree.with_labels({m: 1 - k for m, k in run.tree.labels.items()})},
    ):
        found = octcore.verify(replace(run, **change))
        assert found.status == Verdict.REFUTED, change


def test_the_tree_of_a_run_is_worth_what_its_planes_say():
    """Also where a branch node that all rows pass is not stored."""
    for seed in range(6):
        problem = problem_of(seed)
        data = octcore.data.dataset.Dataset.from_arrays(problem.x, problem.y.astype(int))
        for params in ({}, {"C_upper": 1.0, "C_last": 0.01}):
            run = octcore.solve(data, "margot", depth=problem.depth, params=params, verify=False)
            found = octcore.verify(run)
            assert found.verified is not False, (seed, params, found.statement)


def test_a_quick_log_is_read_after_the_solve():
    data = octcore.load_sample("4-partitions")
    run = octcore.solve(data, "margot", depth=1, params={"proof_log": True})
    assert run.certificate.verified
    Path(str(run.values["proof_log"])).unlink()


def test_rows_without_weight_are_in_the_log():
    rng = np.random.default_rng(2)
    x, y = rng.random((12, 2)), rng.integers(0, 2, 12)
    data = octcore.data.dataset.Dataset.from_arrays(x, y)
    weights = np.append(np.ones(9), np.zeros(3))
    params = {"proof_log": True, "C_upper": 1.0}
    run = octcore.solve(data, "margot", depth=2, params=params, sample_weight=weights)
    assert run.status == "optimal"
    assert run.certificate.verified, run.certificate.verification
    Path(str(run.values["proof_log"])).unlink()
