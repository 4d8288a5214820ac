"""What the compact univariate models promise: documented equations, feasible starts, valid cuts."""

from __future__ import annotations

import re

import numpy as np
import pyomo.environ as pyo
import pytest

from octcore.data.dataset import Dataset
from octcore.engines.base import StopReason, TimeUpError
from octcore.engines.highs import compile_model
from octcore.errors import SettingsError
from octcore.formulations.base import get_formulation
from octcore.formulations.bin_oct import BinOCT
from octcore.formulations.flow_oct import ClassCuts, FlowOCT
from octcore.formulations.path_columns.search import ColumnsProblem, ColumnsSearch
from octcore.formulations.shared.tree_model import merge_rows
from octcore.formulations.shared.univariate import (
    UnivariateObjective,
    read_splits,
    smallest_step,
    weight_unit,
)
from octcore.program import ENDLESS, Patience, Point, SearchState
from octcore.solving.settings import check_settings
from octcore.solving.solve import solve
from octcore.tree.tree import Split, Tree, join_equal_leaves
from octcore.warmstart.amending import drop_idle_splits
from octcore.warmstart.greedy import greedy_starts, grow, prune, pruning_sequence, weakest_links
from tests.brute import every_tree, make_problem, random_rows, run
from tests.oracle.side_constraint_cases import CONSTRAINTS, constrained_problem

KEYS = ("flow-oct", "oct-binary", "oct", "bin-oct")
SEED = 511


def feasible_objective(built, program, tree) -> float:
    """Objective of a start in the program's scale, after checking every row and bound."""
    compiled = compile_model(built.model)
    x = compiled.placed(built.start_values(tree), np.full(compiled.columns.n_columns, np.nan))
    assert not np.isnan(x).any()
    activity = compiled.matrix @ x
    assert (activity >= compiled.row_lower - 1e-9).all()
    assert (activity <= compiled.row_upper + 1e-9).all()
    assert (x >= compiled.lower - 1e-9).all()
    assert (x <= compiled.upper + 1e-9).all()
    assert np.allclose(x[compiled.integer], np.round(x[compiled.integer]))
    again = built.read_tree(Point(compiled.columns, x))
    assert program.evaluate(again) is not None
    return program.scale * (float(compiled.cost @ x) + compiled.offset) + program.shift


def test_oct_counts_no_tree_that_parts_rows_which_its_model_cannot():
    X, y = np.repeat([[0.0], [5e-5], [0.7], [1.0]], [5, 5, 1, 1], axis=0), [0, 1, 0, 1]
    problem = make_problem(X, np.repeat(y, [5, 5, 1, 1]), 2, 1, formulation="oct")
    program = get_formulation("oct").build(problem)
    assert program.evaluate(Tree({1: Split.on_feature(0, 2.5e-5)}, {2: 0, 3: 1}, 1, 2)) is None
    _, recorder, _ = run(problem, "oct")
    assert recorder.is_closed
    assert recorder.objective == pytest.approx(5 / 6 + 0.01)


def _starts_cases() -> list[tuple[str, str]]:
    """Formulations with every side constraint that they express, and with none."""
    expressed = {key: get_formulation(key).info.constraints for key in KEYS}
    return [(key, "none") for key in KEYS] + [
        (key, name)
        for key in KEYS
        for name in CONSTRAINTS
        if set(CONSTRAINTS[name]) <= expressed[key]
    ]


@pytest.mark.sampled(9)
@pytest.mark.parametrize(("key", "name"), _starts_cases())
def test_starts_satisfy_every_row_and_have_the_routed_objective(key, name):
    if name == "none":
        X, y = random_rows(np.random.default_rng(SEED))
        problem = make_problem(X, y, 3, 2, formulation=key)
    else:
        problem = constrained_problem(name, SEED, key)
    program = get_formulation(key).build(problem)
    built = program.build(lambda: None)
    trees = [tree for _, tree in program.starts(ENDLESS) if program.evaluate(tree) is not None]
    for tree in trees:
        assert feasible_objective(built, program, tree) == pytest.approx(program.evaluate(tree))
    assert trees


def test_split_weight_starts_satisfy_every_row():
    X, y = random_rows(np.random.default_rng(SEED))
    program = get_formulation("flow-oct").build(make_problem(X, y, 3, 2, {"split_weight": 0.1}))
    built = program.build(lambda: None)
    for _, tree in program.starts(ENDLESS):
        assert feasible_objective(built, program, tree) == pytest.approx(program.evaluate(tree))


@pytest.mark.parametrize("key", KEYS)
def test_every_component_says_what_it_is(key):
    X, y = random_rows(np.random.default_rng(SEED))
    model = get_formulation(key).build(make_problem(X, y, 3, 2, formulation=key)).build(
        lambda: None
    ).model  # fmt: skip
    for kind in (pyo.Var, pyo.Constraint, pyo.Objective):
        for component in model.component_objects(kind):
            assert component.doc, component.name


@pytest.mark.parametrize("params", [{}, {"split_weight": 0.1}])
def test_equations_of_flow_oct_have_the_numbers_of_their_papers(params):
    X, y = random_rows(np.random.default_rng(SEED))
    program = get_formulation("flow-oct").build(make_problem(X, y, 3, 2, params))
    model = program.build(lambda: None).model
    docs = [
        c.doc for kind in (pyo.Constraint, pyo.Objective) for c in model.component_objects(kind)
    ]
    numbers = {number for doc in docs for number in re.findall(r"\((\d[^)]*)\)", doc)}
    flow = {"1.4", "1.5", "1.7", "1.8", "1.9"}
    assert numbers == flow | ({"1.1", "1.2", "1.3"} if params else {"3a", "3b", "3c", "3d"})


@pytest.mark.parametrize("key", KEYS)
def test_a_guard_that_raises_ends_the_building(key):
    class StopNowError(Exception):
        pass

    calls = []

    def guard():
        calls.append(1)
        if len(calls) > 3:
            raise StopNowError

    X, y = random_rows(np.random.default_rng(SEED))
    program = get_formulation(key).build(make_problem(X, y, 3, 2, formulation=key))
    with pytest.raises(StopNowError):
        program.build(guard)


@pytest.mark.long
def test_class_cuts_are_violated_by_the_point_and_cut_off_no_tree():
    found = 0
    for seed in range(SEED, SEED + 12):
        rng = np.random.default_rng(seed)
        X, y = random_rows(rng, 10, 3, 2)
        problem = make_problem(X, y, 2, 2)
        flow = FlowOCT(problem, UnivariateObjective(problem))
        built = flow.build(lambda: None)
        compiled = compile_model(built.model)
        x = rng.random(compiled.columns.n_columns)
        state = SearchState(True, False, 0)
        cuts = ClassCuts(built.model, flow.sets.rows, flow.sets.columns, 2).separate(
            Point(compiled.columns, x), state
        )
        for family in cuts:
            assert (family.matrix @ x > family.rhs).all()
            found += len(family.rhs)
            for tree in every_tree(problem)[:: 1 + seed % 3]:
                nothing = np.zeros(compiled.columns.n_columns)
                integral = compiled.placed(built.start_values(tree), nothing)
                assert (family.matrix @ integral <= family.rhs + 1e-9).all()
    assert found > 50


@pytest.mark.parametrize("weights", [None, [0.5, 2.0, 1.0, 1.0, 0.0, 3.0]])
def test_conversions_between_the_published_objectives(weights):
    X, y = random_rows(np.random.default_rng(SEED), 6, 3, 2)
    weights = np.ones(6) if weights is None else np.array(weights)
    total = weights.sum()
    for split_weight in (0.0, 0.1, 0.7):
        paper = UnivariateObjective(
            make_problem(X, y, 2, 2, {"split_weight": split_weight}, weights=weights)
        )
        leaf_penalty = split_weight / (total * (1 - split_weight))
        if leaf_penalty > 1:
            continue
        ours = UnivariateObjective(
            make_problem(X, y, 2, 2, {"leaf_penalty": leaf_penalty}, weights=weights)
        )
        for tree in every_tree(ours.problem)[::7]:
            value = paper.of(tree) / (total * (1 - split_weight)) - leaf_penalty
            assert ours.of(tree) == pytest.approx(value, abs=1e-9)
            assert ours.to_count(ours.of(tree)) == pytest.approx(paper.to_count(paper.of(tree)))
            assert paper.from_count(paper.to_count(paper.of(tree))) == pytest.approx(paper.of(tree))


def test_two_regularisers_are_refused():
    with pytest.raises(SettingsError, match="give one of them"):
        check_settings("flow-oct", {"leaf_penalty": 0.2, "split_weight": 0.2})


def test_granularity_is_the_smallest_difference_of_two_objectives():
    X, y = random_rows(np.random.default_rng(SEED), 9, 3, 2)
    for params in ({"leaf_penalty": 0.013}, {"leaf_penalty": 0.0}, {"split_weight": 0.3}):
        objective = UnivariateObjective(make_problem(X, y, 2, 2, params))
        values = np.unique([objective.of(t) for t in every_tree(objective.problem)])
        steps = np.diff(values)
        assert objective.granularity <= steps[steps > 1e-9].min() + 1e-9
        assert objective.granularity > 0


def test_weight_unit_and_smallest_step():
    assert weight_unit(np.array([0.5, 1.5, 0.0])) == pytest.approx(0.5)
    assert weight_unit(np.array([2.0, 4.0])) == 2.0
    assert weight_unit(np.array([1.0, np.pi])) == 0.0
    assert weight_unit(np.array([1.0, 1e-9, 1.0])) <= 1.000001e-9  # a lighter row is seen
    assert smallest_step(1.0, 0.3, 1) == pytest.approx(0.3)
    assert smallest_step(1.0, 3.0, 1) == 1.0
    assert smallest_step(1.0, 3.0 + 5e-7, 1) == pytest.approx(5e-7)
    assert smallest_step(1.0, 3.0 - 5e-7, 1) == pytest.approx(5e-7)
    assert smallest_step(0.0, 0.3, 1) == 0.0


def test_merging_keeps_weights_and_the_way_back():
    X = np.array([[1, 0], [0, 0], [1, 0], [1, 0]], dtype=np.uint8)
    y, weights = np.array([1, 0, 1, 0]), np.array([1.0, 2.0, 3.0, 4.0])
    rows = merge_rows(X, y, weights)
    assert len(rows) == 3
    assert rows.weights.tolist() == [4.0, 2.0, 4.0]
    assert rows.counts.tolist() == [2, 1, 1]
    assert (rows.X[rows.group_of] == X).all()
    assert (rows.y[rows.group_of] == y).all()


def test_tidy_and_idle_splits():
    X = np.array([[0, 1], [1, 1], [0, 1]], dtype=np.uint8)
    problem = make_problem(X, np.array([0, 1, 0]), 2, 2)
    splits = {1: Split.on_feature(1), 3: Split.on_feature(0)}
    tree = Tree(splits, {2: 0, 6: 0, 7: 1}, 2, 2)
    slim = drop_idle_splits(tree, problem)
    assert slim.n_splits == 1
    assert (slim.predict_codes(X) == tree.predict_codes(X)).all()
    assert join_equal_leaves(tree.with_labels({7: 0}), keeps_root=False).n_leaves == 1
    forced = make_problem(X, np.array([0, 1, 0]), 2, 2, None, {"root_feature": "f1"})
    assert drop_idle_splits(tree, forced).n_splits == 2


def test_pruning_removes_splits_that_do_not_pay():
    X, y = random_rows(np.random.default_rng(SEED), 40, 6, 3)
    problem = make_problem(X, y, 3, 3)
    tree = grow(problem)
    prices = [price for price, _ in pruning_sequence(tree, problem)]
    assert prices == sorted(prices)
    sizes = [prune(tree, problem, penalty).n_leaves for penalty in (0.0, 1.0, 4.0, 100.0)]
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[-1] == 1


@pytest.mark.long
def test_the_weakest_link_is_that_of_all_links_counted_anew():
    for seed in range(12):
        rng = np.random.default_rng(seed)
        X, y = random_rows(rng, 50, 6, 3)
        problem = make_problem(X, y, 3, 5, weights=rng.integers(1, 4, 50).astype(float))
        tree, before = grow(problem), 0.0

        for (price, pruned), (_, node) in zip(
            list(pruning_sequence(tree, problem))[1:], weakest_links(tree, problem), strict=True
        ):
            links, right = {}, {}
            for m, rows in tree.node_rows(X).items():
                right[m] = np.bincount(y[rows], problem.weights[rows], 3).max()
            for m in tree.splits:
                leaves = [k for k in tree.walk(m) if k in tree.labels]
                kept = sum(right[leaf] for leaf in leaves)
                links[m] = (kept - right[m]) / (len(leaves) - 1)
            assert links[node] == pytest.approx(min(links.values()))
            assert price == pytest.approx(max(before, links[node]))
            tree, before = tree.collapse(node, 0), price
            assert pruned.splits == tree.splits
            assert prune(grow(problem), problem, price).n_leaves <= pruned.n_leaves
        assert tree.n_leaves == 1


def test_a_greedy_tree_can_be_stopped():
    """On 3,000 rows at depth 20 growing and pruning took 15 s where the limit was half a second."""
    X, y = random_rows(np.random.default_rng(SEED), 40, 6, 3)
    problem = make_problem(X, y, 3, 5)
    asked = iter([False, False])
    tree = grow(problem, lambda: next(asked, True))
    assert tree.n_splits == 1  # a column later, whatever the rows: the best of two is taken
    assert tree.splits[1].features[0] <= 1 < grow(problem).splits[1].features[0]
    assert grow(problem).n_splits > 2


def test_greedy_respects_what_it_can_see():
    X, y = random_rows(np.random.default_rng(SEED), 40, 6, 3)
    constraints = {
        "forbidden_features": ["f0"],
        "root_feature": "f3",
        "max_features": 2,
        "min_samples_leaf": 3,
        "forbidden_pairs": [["f3", "f5"]],
    }
    problem = make_problem(X, y, 3, 3, None, constraints)
    program = get_formulation("flow-oct").build(problem)
    values = [program.evaluate(tree) for _, tree in greedy_starts(problem, 0.4)]
    assert any(value is not None for value in values)


@pytest.mark.parametrize("key", ["oct", "oct-binary", "bin-oct"])
def test_a_light_row_is_not_lost_beside_heavy_ones(key: str) -> None:
    """The big-M of the errors is the weight of all rows: a light error must not hide behind it."""
    X = np.array([[0, 0], [0, 0], [0, 1], [1, 1]], np.uint8)
    weights = np.array([1181.6, 0.00044, 159.1, 4.4])
    params = {} if key == "bin-oct" else {"alpha" if key == "oct" else "leaf_penalty": 0.0}
    problem = make_problem(
        X, np.array([0, 1, 1, 0]), 2, 2, params, weights=weights, formulation=key
    )
    outcome, recorder, _ = run(problem, key, starts=False)
    assert outcome.stop_reason is StopReason.OPTIMAL
    assert recorder.tree is not None
    wrong = recorder.tree.predict_codes(X) != problem.y
    assert weights[wrong].sum() == pytest.approx(0.00044)


def test_a_split_that_the_solver_leaves_without_rows_on_one_side_is_dropped():
    problem = make_problem(np.array([[0.0, 0.0], [0.0, 1.0]]), np.array([0, 1]), 2, 2)
    tree = read_splits({1: 0, 2: 1}.get, {3: 0, 4: 0, 5: 1}.__getitem__, problem)
    assert tree == Tree({1: Split.on_feature(1)}, {2: 0, 3: 1}, 2, 2)


def test_a_split_costs_less_than_what_a_solver_takes_for_nothing() -> None:
    """HiGHS prunes trees that are better by less than its tolerance, here by a split.

    Weights without a unit have no smallest step of the objective, from which that is known.
    """
    X = np.array([[0.0, 0, 3], [0, 2, 0], [1, 3, 1], [3, 1, 3]])
    weights = np.array([3.55, 5.21, 0.121, 1.35])
    asked = {"params": {"alpha": 1e-7}, "warm_start": "none", "verify": False}
    data = Dataset.from_arrays(X, np.array([1, 1, 0, 1]))
    found = solve(data, "oct", **asked, sample_weight=weights)
    assert found.is_optimal
    assert found.final_tree.n_splits == 1


def test_a_step_of_the_objective_is_noticed_by_a_solver() -> None:
    """A leaf more for nothing was proven optimal."""
    X = np.array([[0, 1, 0, 0], [1, 0, 1, 0], [0, 1, 1, 1], [1, 0, 1, 0]])
    asked = {"params": {"leaf_penalty": 1e-7}, "warm_start": "none", "verify": False}
    found = solve(Dataset.from_arrays(X, np.array([0, 1, 1, 1])), "flow-oct", **asked)
    assert found.is_optimal
    assert found.final_tree.n_leaves == 2


def test_flow_rows_are_left_off_as_soon_as_the_guard_says_so(monkeypatch):
    """A model of many rows takes seconds before the arcs, which asked first."""
    made: list[str] = []
    add = pyo.ConcreteModel.add_component

    def added(model, name, part):
        made.append(name)
        add(model, name, part)

    def guard():
        if "flow_conservation" in made:
            raise TimeUpError

    monkeypatch.setattr(pyo.ConcreteModel, "add_component", added)
    problem = make_problem(*random_rows(np.random.default_rng(SEED), 12, 3, 2), 2, 2)
    with pytest.raises(TimeUpError):
        FlowOCT(problem, UnivariateObjective(problem)).build(guard)
    assert "flow_direction" not in made


def test_first_trees_of_exact_columns_end_with_the_time():
    """The search without side constraints went on for up to ten seconds beyond every limit."""
    X, y = random_rows(np.random.default_rng(SEED), 20, 4, 2)
    problem = make_problem(X, y, 2, 2, formulation="path-columns")
    search = ColumnsSearch(ColumnsProblem(problem, UnivariateObjective(problem)))
    assert all(source != "search" for source, _ in search.trees(Patience(left=lambda: 0.0)))
    assert search.unconstrained_objective is None
    assert "unconstrained" not in vars(search)


def test_bin_oct_knows_its_size_without_its_blocks(monkeypatch):
    """Blocks of 5,000 columns took a minute before a model was refused, whatever the limit."""
    X = np.random.default_rng(SEED).random((40, 3))
    model = BinOCT(make_problem(X, np.arange(40) % 2, 2, 2, formulation="bin-oct"))
    blocks = [block for j in model.thresholds for block in model._blocks_of(j)]
    monkeypatch.setattr(BinOCT, "_blocks_of", None)
    with_blocks, size = len(blocks), model.size
    n, leaves, branch = 40, 4, 3
    assert size.rows == with_blocks * branch + n + leaves * 3 + branch
    members = sum(len(block.members) for block in blocks)
    tests = with_blocks * branch * (1 + len(model.bits))
    assert size.nonzeros == members * 4 + tests + leaves * (2 * n + 6)


@pytest.mark.parametrize(("key", "seed"), [("oct", 1003), ("oct", 1077), ("bin-oct", 1007)])
def test_weights_too_far_apart_for_a_solver_are_refused(key, seed):
    """OCT called 0.000116 the optimum of the first, where a tree has 7.3e-8."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(8, 24))
    X, y = rng.integers(0, 5, (n, 2)).astype(float), rng.integers(0, 2, n)
    weights = 10.0 ** rng.uniform(0, rng.choice([6, 8, 9, 10]), n)
    asked = {"depth": 2, "sample_weight": weights, "verify": False}
    asked["params"] = {"alpha": 0.0} if key == "oct" else {}
    with pytest.raises(SettingsError, match="The lightest row has"):
        solve(Dataset.from_arrays(X, y), key, **asked)
    moderate = asked | {"sample_weight": np.maximum(weights, 1e-6 * weights.sum())}
    run = solve(Dataset.from_arrays(X, y), key, **moderate)
    assert run.is_optimal
    assert run.verify().verified


@pytest.mark.parametrize("seed", range(3))
def test_columns_of_depth_three_ask_for_a_feature_once_on_a_path(seed: int) -> None:
    """The root and a stump two levels below it may be on different thresholds of one feature."""
    rng = np.random.default_rng(seed)
    rows = np.stack([rng.integers(0, 4, 40), rng.integers(0, 3, 40)], axis=1)
    data = Dataset.from_arrays(rows.astype(float), rows.sum(axis=1) % 2 ^ (rng.random(40) < 0.1))
    asked = {
        "encoding": "QT-5", "depth": 3, "params": {"leaf_penalty": 0.001},
        "constraints": {"feature_once_per_path": True}, "verify": False,
    }  # fmt: skip
    runs = [solve(data, key, **asked) for key in ("path-columns", "threshold-search")]
    assert [run.status for run in runs] == ["optimal"] * 2
    assert runs[0].objective == pytest.approx(runs[1].objective, abs=1e-9)


@pytest.mark.parametrize("key", ["flow-oct", "accelerated-bend-oct"])
def test_a_value_row_leaves_a_single_leaf_its_value(key: str) -> None:
    data = Dataset.from_arrays(np.array([[0.0], [0.0], [0.0], [1.0]]), [0, 0, 0, 1])
    params = {"leaf_penalty": 0.3, "value_row": True}
    found = solve(data, key, depth=1, params=params, warm_start="none", verify=False)
    assert (found.status, found.objective) == ("optimal", pytest.approx(0.75 - 0.3))
