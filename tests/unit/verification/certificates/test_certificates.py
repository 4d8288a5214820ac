"""Proofs against plain enumeration of trees, and forged ones against the small checker."""

from __future__ import annotations

import dataclasses
import itertools
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from octcore.errors import CancelledError, ProofError
from octcore.solving.proving import follow_with
from octcore.verification.certificates.case import IMPOSSIBLE, Case, Costs, Floor, Tree
from octcore.verification.certificates.checker import HEADER, Checker, Constraint, Database
from octcore.verification.certificates.formula import Formula
from octcore.verification.certificates.proof import Proof

Lines = list[str]


def random_case(seed: int, **limits: object) -> Case:
    """A few patterns on a few columns."""
    rng = np.random.default_rng(seed)
    n_labels, n_columns = int(rng.integers(2, 4)), int(rng.integers(1, 4))
    values = rng.integers(0, rng.integers(2, 5), (n_columns, 9))
    values = np.array([np.unique(row, return_inverse=True)[1] for row in values])
    values = values[[bool(row.max()) for row in values]]
    rank, which = np.unique(values, axis=1, return_inverse=True)
    weight = np.zeros((rank.shape[1], n_labels), np.int64)
    label = rng.integers(0, n_labels, 9)
    np.add.at(weight, (which.ravel(), label), rng.integers(0, 4, 9))
    size = np.bincount(which.ravel(), minlength=rank.shape[1])
    depth = int(rng.integers(1, 4)) if len(rank) else 0
    return Case(
        rank, weight, size, depth, int(rng.integers(0, 3)),
        tuple(f"column {j}" for j in range(len(rank))), tuple("abc"[:n_labels]),
        tuple(np.arange(row.max()) for row in rank), **limits,  # type: ignore[arg-type]
    )  # fmt: skip


def best_trees(case: Case, rows: np.ndarray, depth: int, at_root: bool) -> dict[int, tuple]:
    """Least cost and a tree by number of leaves, by trying everything."""
    found: dict[int, tuple] = {}
    if not (at_root and case.roots is not None):
        cost, label = min((case.cost_of(k, rows), k) for k in range(case.n_labels))
        found[1] = cost, label
    columns = range(len(case.rank)) if not at_root or case.roots is None else case.roots
    for j in columns if depth else ():
        for t in range(1, case.n_thresholds[j] + 1):
            left = case.rank[j] < t
            sides = [best_trees(case, rows & part, depth - 1, False) for part in (left, ~left)]
            for a, (cost_a, tree_a) in sides[0].items():
                for b, (cost_b, tree_b) in sides[1].items():
                    if cost_a + cost_b < found.get(a + b, (IMPOSSIBLE,))[0]:
                        found[a + b] = cost_a + cost_b, (j, t, tree_a, tree_b)
    return found


def optimum(case: Case) -> tuple[int, Tree] | None:
    """Least cost and its tree; None where there is none."""
    found = best_trees(case, np.ones(len(case.size), bool), case.depth, True)
    most = case.max_leaves or 2**case.depth
    allowed = [entry for leaves, entry in found.items() if leaves <= most]
    best = min(allowed, key=lambda entry: entry[0], default=(IMPOSSIBLE, 0))
    return best if best[0] < IMPOSSIBLE else None


def prove(case: Case, tree: Tree) -> tuple[str, Lines]:
    lines: Lines = []
    formula = Formula(case)
    Proof(formula, Costs(case, lambda: None), lines.append).prove(tree)
    lines = "\n".join(lines).split("\n")
    # Otherwise VeriPB first looks at what came before under a denial, and misses some of it later.
    begins = (before for before, line in itertools.pairwise(lines) if line.endswith("begin"))
    assert all(before.startswith("u ") for before in begins)
    return formula.text(), lines


LIMITS = [{}, {"max_leaves": 2}, {"max_leaves": 3}, {"max_leaves": 5}, {"min_rows": 2},
          {"min_rows": 3}, {"roots": (0,)}, {"roots": (0,), "max_leaves": 3}]  # fmt: skip


@pytest.mark.sampled(3)
@pytest.mark.parametrize("limits", LIMITS, ids=str)
@pytest.mark.parametrize("seed", [*range(6), 7, 110])
def test_the_optimum_is_proven(seed: int, limits: dict) -> None:
    case = random_case(seed, **limits)
    found = optimum(case)
    if found is None or not case.depth:
        return
    formula, lines = prove(case, found[1])
    assert Checker(formula).check(lines) == found[0]


@pytest.mark.parametrize("seed", range(6))
def test_a_tree_that_is_not_optimal_is_not_proven(seed: int) -> None:
    case = random_case(seed)
    best, worst = optimum(case), max((case.cost_of(k), k) for k in range(case.n_labels))
    assert best is not None
    assert best[0] < worst[0]
    with pytest.raises(ProofError):
        Checker(Formula(case).text()).check(prove(case, worst[1])[1])


def all_trees(case: Case, rows: np.ndarray, depth: int) -> Iterator[tuple[Tree, int, int]]:
    """Every tree, its cost, and how many rows of the class with a floor it gets wrong."""
    assert case.floor is not None
    for k in range(case.n_labels):
        wrong = int(case.floor.rows[rows].sum()) * (k != case.floor.label)
        yield k, case.cost_of(k, rows), wrong
    for j, size in enumerate(case.n_thresholds if depth else ()):
        for t in range(1, size + 1):
            left = case.rank[j] < t
            sides = [list(all_trees(case, rows & part, depth - 1)) for part in (left, ~left)]
            for a, b in itertools.product(*sides):
                yield (j, t, a[0], b[0]), a[1] + b[1], a[2] + b[2]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("most_wrong", range(4))
@pytest.mark.parametrize("seed", [*range(12), 57])
def test_the_optimum_under_a_floor_is_proven(seed: int, most_wrong: int) -> None:
    case = random_case(seed)
    rows = np.random.default_rng(seed).integers(0, 3, case.weight.shape[0])
    floor = Floor(
        seed % case.n_labels, rows * (case.weight[:, seed % case.n_labels] > 0), most_wrong
    )
    case = dataclasses.replace(case, depth=min(2, case.depth), floor=floor)
    everything = np.ones(len(case.size), bool)
    kept = [t for t in all_trees(case, everything, case.depth) if t[2] <= most_wrong]
    tree, cost, _ = min(kept, key=lambda entry: entry[1])
    formula, lines = prove(case, tree)
    assert Checker(formula).check(lines) == cost
    for other, worse, _ in kept:
        if worse > cost:
            with pytest.raises(ProofError):
                Checker(formula).check(prove(case, other)[1])
            break


def test_rows_without_weight_count_for_the_floor() -> None:
    case = dataclasses.replace(random_case(3), depth=1, price=1)
    weight = case.weight.copy()
    weight[:, 0] = 0  # a leaf of another label is free, but gets these rows wrong
    floor = Floor(0, np.ones(len(case.size), np.int64), 1)
    case = dataclasses.replace(case, weight=weight, floor=floor)
    kept = [t for t in all_trees(case, np.ones(len(case.size), bool), 1) if t[2] <= 1]
    tree, cost, _ = min(kept, key=lambda entry: entry[1])
    assert cost > case.price
    formula, lines = prove(case, tree)
    assert Checker(formula).check(lines) == cost


def test_a_search_can_be_stopped() -> None:
    def stop() -> None:
        raise CancelledError

    case = dataclasses.replace(random_case(3), depth=3)
    with pytest.raises(CancelledError):
        Proof(Formula(case), Costs(case, stop), lambda _: None).estimate(0)


@pytest.fixture(scope="module")
def proven() -> tuple[str, Lines]:
    """A proof with statements, limits on leaves and sweeps."""
    case = dataclasses.replace(random_case(3), depth=3, price=1, max_leaves=4)
    found = optimum(case)
    assert found is not None
    formula, lines = prove(case, found[1])
    assert Checker(formula).check(lines) == found[0]
    assert any(line.endswith("begin") for line in lines)
    assert any("->" in line for line in lines)
    return formula, lines


def first(lines: Lines, start: str, end: str = "") -> int:
    """Place of the first line that begins and ends so."""
    return next(i for i, s in enumerate(lines) if s.startswith(start) and s.endswith(end))


def replaced(start: str, change: Callable[[str], str], end: str = "") -> Callable[[Lines], Lines]:
    """Change the first line that begins and ends so."""

    def forge(lines: Lines) -> Lines:
        at = first(lines, start, end)
        return [*lines[:at], change(lines[at]), *lines[at + 1 :]]

    return forge


def inserted(line: str) -> Callable[[Lines], Lines]:
    """Put a line before the last contradiction."""
    return lambda lines: [*lines[:-1], line, lines[-1]]


def without_body(lines: Lines) -> Lines:
    at = first(lines, "proofgoal")
    body = next(i for i in range(at, len(lines)) if lines[i] == "u >= 1 ;")
    return lines[: at + 1] + lines[body:]


def raised(line: str) -> str:
    head, degree = line.removesuffix(" ; ; begin").rsplit(" ", 1)
    return f"{head} {int(degree) + 1} ; ; begin"


def flipped(line: str, at: int = 1) -> str:
    words = line.split()
    words[at] = words[at][1:] if words[at][0] == "~" else "~" + words[at]
    return " ".join(words)


FORGERIES: dict[str, Callable[[Lines], Lines]] = {
    "another version": replaced("pseudo", lambda s: s.replace("1.1", "2.0")),
    "no version": lambda lines: lines[1:],
    "another number of constraints": replaced("f ", lambda s: f"f {int(s[2:]) - 1}"),
    "no formula": lambda lines: [lines[0], *lines[2:]],
    "the formula twice": inserted("f 1"),
    "an assumption": inserted("a 1 p1_0 >= 1 ;"),
    "an assumption of the contradiction": lambda s: [*s[:2], s[-3], "a >= 1 ;", "c -1"],
    "no solution": lambda lines: [line for line in lines if line[:2] != "o "],
    "a solution that breaks the formula": replaced("o ", flipped),
    "a solution shown that breaks it": replaced("ov ", flipped),
    "a solution that breaks a definition": replaced("o ", lambda s: flipped(s, -1)),
    "a solution with a hole": replaced("o ", lambda s: "o " + s.split(" ", 2)[2]),
    "a solution twice": lambda lines: [*lines[:-2], lines[-3], *lines[-2:]],
    "two things at a node": lambda s: [*s[:3], s[first(s, "del id")], *s[3:]],
    "a contradiction out of nothing": lambda s: [*s[:2], s[-3], "u >= 1 ;", "c -1"],
    "no end": lambda lines: lines[:-1],
    "an end at a constraint that can be": lambda lines: [*lines[:-1], "c 1"],
    "an end at no constraint": lambda lines: [*lines[:-1], "c 99999999"],
    "something after the end": lambda lines: [*lines, "c -1"],
    "a subproof without a body": without_body,
    "a statement that says more": replaced("red", raised, "begin"),
    "a shorter line that says more": lambda lines: [
        raised(line) if i and lines[i - 1].startswith("u 1 ~g") else line
        for i, line in enumerate(lines)
    ],
    "what a subproof deleted is used": lambda s: [
        *s[: first(s, "d ") + 1], f"p {s[first(s, 'd ')].split()[2]}", *s[first(s, "d ") + 1 :]
    ],
    "what a subproof concludes is used after it": lambda s: [
        *s[:-1], f"p {s[first(s, 'd ')].split()[2]}", s[-1]
    ],
    "another goal": replaced("proofgoal", lambda _: "proofgoal #2"),
    "a subproof cut short": lambda lines: lines[: first(lines, "proofgoal") + 2],
    "a subproof without contradiction": lambda lines: [
        line for i, line in enumerate(lines) if i != lines.index("u >= 1 ;")
    ],
    "a factor of zero": inserted("p 1 0 *"),
    "a negative factor": inserted("p 1 -1 *"),
    "a sum that is not whole": inserted("p 1 2"),
    "a sum of nothing": inserted("p 1 +"),
    "a number that is not there": inserted("p 99999999"),
    "a rule of others": inserted("dom 1 p1_0 >= 1 ; p1_0 -> 1"),
    "a division": inserted("p 1 2 d"),
    "a variable of the formula set": inserted("red 1 z0_0 >= 1 ; z0_0 -> 1"),
    "a definition the other way": replaced("red", lambda s: s.replace("-> 1", "-> 0"), "-> 1"),
    "a definition of a negation": replaced("red", lambda s: s.replace("; g", "; ~g"), "-> 1"),
    "a definition of what is known": inserted("red 1 ~g2_1 >= 1 ; g2_1 -> 0"),
    "a line without end": inserted("u 1 p1_0 >= 1"),
    "a negative coefficient": inserted("u -1 p1_0 >= -1 ;"),
    "a clause that does not follow": lambda s: [*s[:3], "u 1 z0_0 >= 1 ;", *s[3:]],
    "the better tree deleted": lambda s: [*s[:-2], f"del id {s[-2].split()[2]}", *s[-2:]],
    "an empty line": inserted(""),
}  # fmt: skip


@pytest.mark.sampled(3)
@pytest.mark.parametrize("kind", FORGERIES)
def test_forged_proofs_are_refused(kind: str, proven: tuple[str, Lines]) -> None:
    formula, lines = proven
    forged = FORGERIES[kind](lines)
    assert forged != lines
    with pytest.raises(ProofError):
        Checker(formula).check(forged)


def test_a_proof_of_another_formula_is_refused(proven: tuple[str, Lines]) -> None:
    formula, lines = proven
    head = formula.splitlines()
    goal = next(line for line in head if line.startswith("min:"))
    dearer = goal.replace("min: ", "min: 1")
    with pytest.raises(ProofError):
        Checker(formula.replace(goal, dearer)).check(lines)


def test_rows_are_not_just_called_wrong() -> None:
    """Between two labels no constraint keeps them from it, but the goal does."""
    seeds = (seed for seed in range(20) if random_case(seed).n_labels == 2)
    case = random_case(next(seeds))
    formula = Formula(case)
    wrong = [name for name in formula.variables if name[0] == "z"]
    lines = [
        HEADER,
        f"f {formula.n_ids}",
        *(f"red 1 {name} >= 1 ; {name} -> 1" for name in wrong),
        f"o {formula.solution(0)}",
        "u >= 1 ;",
        "c -1",
    ]
    with pytest.raises(ProofError, match="a variable of the formula"):
        Checker(formula.text()).check(lines)


@pytest.mark.parametrize("shown", [{1: 1}, {-1: 1}])
def test_what_was_only_tried_is_forgotten(shown: dict[int, int]) -> None:
    database = Database()
    database.add(1, Constraint({1: 1, 2: 1}, 1))
    database.add(2, Constraint({-2: 1}, 1))
    before = set(database.true), database.in_conflict
    assert database.shows(Constraint(shown, 1)) == (1 in shown)
    assert (database.true, database.in_conflict) == before
    database.add(3, Constraint({-1: 1}, 1))
    assert database.in_conflict
    database.remove([2, 3])
    assert (database.true, database.in_conflict) == (set(), False)
    assert not database.shows(Constraint({1: 1}, 1))


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("veripb") is None, reason="veripb is not installed")
@pytest.mark.parametrize("limits", LIMITS, ids=str)
def test_veripb_accepts(limits: dict, tmp_path: Path) -> None:
    for seed in range(4):
        case = random_case(seed, **limits)
        found = optimum(case)
        if found is None or not case.depth:
            continue
        formula, lines = prove(case, found[1])
        (tmp_path / "tree.opb").write_text(formula)
        (tmp_path / "tree.pbp").write_text("\n".join(lines) + "\n")
        follow_with("veripb", tmp_path / "tree.opb", tmp_path / "tree.pbp", lambda: None)
