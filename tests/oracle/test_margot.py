"""MARGOT through its engines: they agree with each other, with SVC, and with what routing says."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.svm import SVC

import octcore
from octcore.data.dataset import Dataset
from octcore.formulations.base import get_formulation
from octcore.formulations.margot import MargotFamily
from octcore.program import ENDLESS, Patience
from octcore.search.margot.records import Planes
from octcore.search.margot.search import routing_search
from octcore.solving.prepare import prepare
from octcore.solving.run import Run
from octcore.solving.settings import check_settings
from octcore.tree.tree import drop_pass_through
from tests.brute import make_problem
from tests.stages import later

pytestmark = pytest.mark.long

TOLERANCE = 2e-4
"""Both engines close to a relative gap of 1e-4."""


def points(seed: int, n: int = 12, p: int = 2) -> Dataset:
    rng = np.random.default_rng(seed)
    return Dataset.from_arrays(rng.random((n, p)), rng.permutation(np.arange(n) % 2))


def solve(data: Dataset, formulation: str, **settings: object) -> Run:
    params = {"C_upper": 1.0, "C_last": 10.0, **settings.pop("params", {})}  # type: ignore[dict-item]
    return octcore.solve(data, formulation, params=params, time_limit=60, **settings)  # type: ignore[arg-type]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("seed", [0, 1, *later(2, 3)])
@pytest.mark.parametrize("formulation", ["margot", "hfs-margot", "sfs-margot"])
def test_outer_approximation_equals_the_routing_search(formulation: str, seed: int) -> None:
    params = {} if formulation == "margot" else {"budget_upper": 1, "budget_last": 1}
    params |= {"alpha": 0.5} if formulation == "sfs-margot" else {}
    data = points(seed)
    first = solve(data, formulation, params=params, engine="outer-approximation")
    second = solve(data, formulation, params=params, engine="routing-search")
    assert first.status == "optimal"
    assert second.bound is not None
    assert second.objective is not None
    assert second.bound <= first.objective * (1 + TOLERANCE)
    assert second.objective >= first.bound * (1 - TOLERANCE)
    if second.status == "optimal":
        assert second.objective == pytest.approx(first.objective, rel=TOLERANCE)


def test_the_search_begins_with_the_best_start(monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[object] = []

    def spy(*arguments: Any, **named: Any) -> object:
        given.extend(arguments[3:])  # none where kernels are loaded
        return routing_search(*arguments, **named)

    monkeypatch.setattr("octcore.search.margot.search.routing_search", spy)
    run = solve(points(5), "margot", depth=2)
    assert run.tree is not None
    (routing,) = given
    assert set(np.unique(np.asarray(routing))) <= {2, 3}
    given.clear()
    solve(points(5), "margot", depth=2, warm_start="none")
    assert given == [None]


def test_depth_one_is_a_support_vector_machine() -> None:
    data = points(7, n=20)
    run = solve(data, "margot", depth=1)
    X = run.encoding.transform(data.frame)
    assert data.y is not None
    y = 2 * data.y - 1
    machine = SVC(kernel="linear", C=10.0, tol=1e-8).fit(X, y)
    scores = machine.decision_function(X)
    value = machine.coef_[0] @ machine.coef_[0] / 2 + 10 * np.maximum(0, 1 - y * scores).sum()
    assert run.objective == pytest.approx(value, rel=TOLERANCE)


def test_four_partitions_are_proven_and_all_rows_are_right() -> None:
    run = octcore.solve(
        octcore.load_sample("4-partitions"),
        "margot",
        depth=2,
        params={"C_upper": 1, "C_last": 1000},
    )
    assert run.status == "optimal"
    assert run.accuracy == 1.0
    assert run.certificate.method == "routing-search"
    assert run.tree is not None
    assert all(split.unit_margin for split in run.tree.splits.values())


def test_the_l1_norm_is_a_linear_program_for_highs() -> None:
    run = solve(points(1, n=8), "margot", params={"norm": "l1"})
    assert run.settings["engine"] == "highs"
    assert run.status == "optimal"
    assert run.certificate.method == "mip"


def test_unused_branch_nodes_do_not_appear_in_the_tree() -> None:
    data = Dataset.from_arrays(np.linspace(0, 1, 8)[:, None], np.array([0] * 4 + [1] * 4))
    run = solve(data, "margot", params={"C_upper": 1e-3, "C_last": 100.0})
    assert run.tree is not None
    assert all(split.weights for split in run.tree.splits.values())
    assert run.accuracy == 1.0


@pytest.mark.parametrize("formulation", ["hfs-margot", "sfs-margot"])
def test_the_first_tree_asks_whether_to_stop(formulation: str) -> None:
    asked: list[bool] = []

    def stop() -> bool:
        asked.append(True)
        return True

    settings = check_settings(formulation=formulation, depth=2)
    program = get_formulation(formulation).build(prepare(points(3, 60, 5), settings).problem)
    assert list(program.starts(Patience(cancel=stop)))
    assert asked


@pytest.mark.parametrize("formulation", ["margot", "hfs-margot", "sfs-margot"])
def test_starts_satisfy_the_model(formulation: str) -> None:
    """The quadratic program is the definition: values of a tree satisfy every row."""
    import pyomo.environ as pyo

    data = points(3)
    settings = check_settings(formulation=formulation, depth=2)
    program = get_formulation(formulation).build(prepare(data, settings).problem)
    assert program.build is not None
    built = program.build(lambda: None)
    for _, tree in program.starts(ENDLESS):
        for component, values in built.start_values(tree):
            for variable, value in zip(component.values(), np.ravel(values), strict=True):
                variable.set_value(float(value), skip_validation=True)
        worst = max(
            max(0.0, pyo.value(c.lower or -1e99) - pyo.value(c.body), pyo.value(c.body) - (
                pyo.value(c.upper) if c.upper is not None else 1e99))
            for c in built.model.component_data_objects(pyo.Constraint)
        )  # fmt: skip
        assert worst < 1e-5
        assert pyo.value(built.model.objective) == pytest.approx(program.evaluate(tree), rel=1e-6)


def test_a_plane_that_separates_nothing_is_no_split() -> None:
    settings = check_settings(formulation="margot", depth=2)
    problem = prepare(points(7), settings).problem
    weights = np.array([[3.0, 1.0], [1e-10, -2e-10], [1.0, 4.0]])
    tree = MargotFamily(problem, "margot").tree(Planes(weights, np.array([-2.0, 1.0, -2.0])))
    assert sorted(drop_pass_through(tree).splits) == [1, 3]


def test_only_at_an_upper_node_a_row_may_not_lie_in_the_strip() -> None:
    X, epsilon = np.array([[0.0], [0.5], [1.0]]), 1e-3
    params = {"C_upper": 1.0, "C_last": 1.0, "epsilon": epsilon}
    problem = make_problem(X, np.array([0, 1, 1]), 2, 2, params, formulation="margot")
    family = MargotFamily(problem, "margot")
    for root, last, is_tree in ((0.0, 0.0, True), (0.0, epsilon, True), (epsilon, 0.0, False)):
        offsets = np.array([-1.0 - root / 2, -1.0 - last / 2, -1.0 - last / 2])
        tree = family.tree(Planes(np.full((3, 1), 2.0), offsets))
        assert (family.evaluate(tree) is not None) is is_tree
