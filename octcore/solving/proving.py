"""A run as a proof in a standard format, for checkers that know nothing of trees."""

import gzip
import math
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import IO, TYPE_CHECKING, cast

import numpy as np

from octcore.data.serial import in_words
from octcore.errors import CancelledError, ProofError, SettingsError, TooLargeError
from octcore.formulations.shared.question import in_copies, leaf_share
from octcore.program import Problem
from octcore.search.near_optimal.instance import common_unit
from octcore.solving.column_values import refuse_other_questions, univariate_question
from octcore.tree.constraints import TOLERANCE
from octcore.tree.tree import Tree
from octcore.verification.certificates.case import Case, Costs, Floor
from octcore.verification.certificates.case import Tree as Nested
from octcore.verification.certificates.checker import Checker
from octcore.verification.certificates.formula import Formula
from octcore.verification.certificates.proof import ExcludedCuts, Proof, root_of, sweeps_of

if TYPE_CHECKING:
    from octcore.solving.run import Run

FORMULA, PROOF, README = "tree.opb", "tree.pbp", "README"
OWN_CHECKER = "checker of the package"
ACCEPTED = "Verification succeeded."
PLAIN_BYTES = 10e6  # estimated bytes from which the proof is compressed
REFUSAL = "No proof can be written"
RECALL, LEAVES = frozenset({"min_recall"}), frozenset({"max_leaves", "max_splits"})
LARGEST_COST = 1 << 58  # of all rows together: sums of a few stay inside 63 bits
BYTES_OF_A_CONSTRAINT = 20.0
"""Estimated, of one that says on which side of a column a pattern goes on."""
DIGITS = 1e-9  # relative; what an objective and the whole numbers of its proof may differ by

README_TEXT = """\
tree.opb describes all trees of depth {depth}{limits}; {name} proves: none costs less than {cost}.
A leaf costs {price}, wrong rows the weights in "min:"; {cost} is the objective {objective:.12g}.
Nodes are numbered from 1, the children of n are 2n and 2n + 1; comments name columns and labels.
u<n>_<j>_<s>: node n splits on column j at one of its first s numbers; rows above it go right.
l<n>: node n is a leaf, p<n>_<k>: with label k; r<x>_<n>: the rows of pattern x arrive at node n.
z<x>_<k>: the rows of pattern x and label k are wrong (with costs: every other answer loses this).
octcore made the formula by these rules, the proof by a search for bounds on parts of the rows.
Check (VeriPB, proof format 1.1): {unpack}veripb --requireUnsat tree.opb tree.pbp
It must say "Verification succeeded." without a warning, and no line of the proof may begin with a.
That the formula is that of the rows "octcore prove RUN --check" says: it makes it again.
"""


@dataclass(frozen=True)
class WrittenProof:
    """A proof on disk."""

    folder: Path
    objective: float  # which no tree exceeds, in the run's own sense
    n_bytes: int  # of formula and proof as written
    accepted_by: str | None
    """`OWN_CHECKER`, or the program that followed it to its end; None if nothing did yet."""
    is_late: bool = False
    """Whether a check was stopped by the time limit: it has neither accepted nor refused it."""


class _Late(Exception):
    """Ends a check whose time is over."""


def prove(
    run: "Run",
    folder: str | Path,
    size_limit: float = 200e6,
    check: bool | str = False,
    cancel: Callable[[], bool] | None = None,
    time_limit: float = 600.0,
) -> WrittenProof:
    """Write a formula and a proof that no tree is better than that of a run.

    `folder`: gets ``tree.opb``, ``tree.pbp`` (or ``tree.pbp.gz``) and ``README``; it is made if
    need be.
    `size_limit`: bytes of formula and proof, before compression.
    `check`: whether the small checker of the package follows the proof to its end; or the name or
    path of a program that does, called as VeriPB is.
    `cancel`: asked often; a true answer ends it with `CancelledError`, and nothing is left.
    `time_limit`: seconds that writing may be estimated to take, and that a check may take; what is
    not checked by then is written all the same, and `WrittenProof.is_late`.

    `SettingsError` if the run is not proven optimal or asks for something that the formula cannot
    say, the folder cannot be written, or there is no such program; `TooLargeError` if the files are
    estimated to be larger, or to take longer, than the limits; `ProofError` if the claim of the run
    is false, or the check refuses the proof.
    """
    guard = _guard(cancel)
    if not (size_limit > 0 and time_limit > 0):
        raise SettingsError("BAD_LIMIT", "A limit needs a positive number.", "size_limit")
    checker = check if isinstance(check, str) else None
    _refuse_missing(checker)
    case, tree = case_of(run)
    _refuse_large(BYTES_OF_A_CONSTRAINT * 2 ** (case.depth + 1) * case.rank.size, size_limit)
    formula, costs = Formula(case), Costs(case, guard)
    text = formula.text()
    n_bytes, seconds = Proof(formula, costs, lambda _: None).estimate(tree)
    estimate = len(text) + n_bytes
    _refuse_large(estimate, size_limit, seconds, time_limit)
    name = PROOF + (".gz" if estimate > PLAIN_BYTES else "")
    with _replaced(Path(folder)) as place:
        (place / FORMULA).write_text(text, encoding="utf-8", newline="\n")
        with _opened(place / name, "wt") as file:
            written = len(text)

            def write(line: str) -> None:
                nonlocal written
                guard()
                written += len(line) + 1
                _refuse_large(written, size_limit)
                file.write(line + "\n")

            Proof(formula, costs, write).prove(tree)
        (place / README).write_text(_readme(run, case, tree, name), encoding="utf-8")
        is_late = bool(check) and not _checked(run, place, guard, checker, time_limit)
        n_bytes = sum((place / part).stat().st_size for part in (FORMULA, name))
    assert run.objective is not None
    accepted_by = (checker or OWN_CHECKER) if check and not is_late else None
    return WrittenProof(Path(folder), run.objective, n_bytes, accepted_by, is_late)


def _checked(
    run: "Run", place: Path, guard: Callable[[], None], checker: str | None, time_limit: float
) -> bool:
    """Whether a check ended in its time; raises as `check_proof`."""
    end = time.monotonic() + time_limit

    def limited() -> None:
        guard()
        if time.monotonic() > end:
            raise _Late

    try:
        check_proof(run, place, limited, checker)
    except _Late:
        return False
    return True


def check_proof(
    run: "Run",
    folder: str | Path,
    guard: Callable[[], None] = lambda: None,
    checker: str | None = None,
) -> None:
    """Have a written proof followed to its end; the formula is made again.

    `checker` is a program that is called as VeriPB is, None for the checker of the package, and
    `guard` raises to stop.  `SettingsError` if there is no such program; `ProofError` if the
    formula is not that of the run, or the proof does not prove its optimum; of a program also if it
    warns or the proof has an assumption.
    """
    _refuse_missing(checker)
    case, tree = case_of(run)
    formula, place = Formula(case), Path(folder)
    text = formula.text()
    path = next((place / n for n in (PROOF, PROOF + ".gz") if (place / n).is_file()), place / PROOF)
    try:
        if (place / FORMULA).read_bytes() != text.encode():
            raise ProofError("OTHER_FORMULA", f"{place / FORMULA} is not the formula of this run.")
        if checker is not None:
            with tempfile.TemporaryDirectory() as apart:
                plain = Path(apart) / PROOF
                _copy_proof(path, plain, f"o {formula.solution(tree)}", guard)
                follow_with(checker, place / FORMULA, plain, guard)
            return
        with _opened(path, "rt") as lines:
            found = Checker(text).check(lines, guard)
    except (OSError, EOFError, UnicodeDecodeError) as error:
        raise ProofError("NOT_PROVEN", f"{path} cannot be read: {error}.") from error
    if found != case.cost_of(tree):
        raise ProofError("NOT_PROVEN", f"{path} proves a cost of {found}, not that of the run.")


def _copy_proof(path: Path, plain: Path, tree: str, guard: Callable[[], None]) -> None:
    """Unpack a proof that assumes nothing and is about the tree of the run.

    Checkers take an assumption with no more than a warning, and do not say what tree they read.
    """
    n_trees = 0
    with _opened(path, "rt") as lines, plain.open("w", encoding="utf-8", newline="\n") as copy:
        for number, line in enumerate(lines, start=1):
            guard()
            words = line.split(maxsplit=1)
            if words and words[0] == "a":
                raise ProofError("NOT_PROVEN", f"Line {number} of {path} is an assumption.")
            if words and words[0] == "o":
                n_trees += 1
                if line.rstrip() != tree and not line.startswith(tree + " "):
                    message = f"Line {number} of {path} has another tree than the run."
                    raise ProofError("NOT_PROVEN", message)
            copy.write(line)
    if not n_trees:
        raise ProofError("NOT_PROVEN", f"{path} has no tree.")


def follow_with(checker: str, formula: Path, proof: Path, guard: Callable[[], None]) -> None:
    """Raise `ProofError` unless a program says that it follows a proof, without a warning.

    Its exit status says nothing.
    """
    command = [checker, "--requireUnsat", str(formula), str(proof)]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace"
    ) as process:
        try:
            while True:
                guard()
                try:
                    said = process.communicate(timeout=0.2)[0]
                    break
                except subprocess.TimeoutExpired:
                    continue
        finally:
            process.kill()
    if ACCEPTED not in said or "warning" in said.lower():
        last = (said.strip().splitlines() or ["nothing"])[-1]
        raise ProofError("NOT_PROVEN", f"{checker} does not accept {proof.name}; it says: {last}")


def excluded_cuts(
    run: "Run", cancel: Callable[[], bool] | None = None
) -> tuple[float, tuple[ExcludedCuts, ...]]:
    """Tell the proof of a run by the cuts at its root; raises as `prove`.

    Returns what the tree costs, as a share of all weight, and the cuts: every one is in one of the
    `ExcludedCuts`, and the sides of each cost together as much at least.
    """
    case, tree = case_of(run)
    costs = Costs(case, _guard(cancel))
    root, total, found = root_of(costs, tree), float(case.weight.sum()), []
    columns = [run.encoding.names.index(name) for name in case.names]
    X = run.encoding.transform(run.needed.train.frame)
    for j, first, last in sweeps_of(costs, root):
        low, high = case.thresholds[j][first], case.thresholds[j][last]
        rank, values = case.rank[j], X[:, columns[j]]
        sides = root.rows & (rank <= first), root.rows & (rank > last)
        least = min(
            (
                [costs.least(rows, root.depth - 1, limit, root.cost) / total
                 for rows, limit in zip(sides, limits, strict=True)]
                for limits in costs.pairs(sides, root.depth, root.limit)
            ),
            key=sum,
        )  # fmt: skip
        found.append(
            ExcludedCuts(columns[j], float(low), float(values[values > high].min()), *least)
        )
    return root.cost / total, tuple(found)


def case_of(run: "Run") -> tuple[Case, Nested]:
    """Write rows, weights and limits of a run in whole numbers, and its tree beside them.

    `SettingsError` if the run is not proven optimal, or the formula cannot say what it asks for;
    `ProofError` if its tree has another objective than it claims.
    """
    refuse_unproven(run)
    problem, objective, asked = univariate_question(run, REFUSAL, RECALL)
    kept = [
        j
        for j in range(problem.n_features)
        if len(np.unique(problem.X[:, j])) > 1
        and (asked.forbidden is None or not asked.forbidden[j])
    ]
    values = [np.unique(problem.X[:, j]) for j in kept]
    rank = np.array(
        [np.searchsorted(of, problem.X[:, j]) for j, of in zip(kept, values, strict=True)], int
    ).reshape(len(kept), problem.n_samples)
    patterns, pattern = np.unique(rank, axis=1, return_inverse=True)
    whole, _ = common_unit(problem.weights)
    price = in_copies(problem, leaf_share(objective)) * int(whole.sum())
    if price.denominator * (int(whole.sum()) + price * 2**problem.depth) > LARGEST_COST:
        message = f"The price of a leaf, {price}, has too many digits for a proof in whole "
        message += "numbers; round it to a few digits."
        raise SettingsError("TOO_MANY_DIGITS", message, "leaf_penalty")
    weight = np.zeros((patterns.shape[1], problem.n_classes), np.int64)
    np.add.at(weight, (pattern.ravel(), problem.y), whole * price.denominator)
    size = np.bincount(pattern.ravel(), problem.counts, patterns.shape[1]).astype(np.int64)
    names, answers = run.encoding.names, run.needed.tree.classes or run.classes
    roots = None if asked.roots is None else set(asked.roots)
    limits = {
        "roots": None if roots is None else tuple(i for i, j in enumerate(kept) if j in roots),
        "max_leaves": asked.leaf_limit if asked.leaf_limit < 2**asked.depth else None,
        "min_rows": asked.smallest_leaf if asked.smallest_leaf > 1 else None,
        "floor": _floor(problem, pattern.ravel(), patterns.shape[1]),
    }
    case = Case(
        rank=patterns, weight=weight, size=size, depth=problem.depth if kept else 0,
        price=price.numerator, names=tuple(names[j] for j in kept),
        labels=tuple(map(str, answers)), thresholds=tuple(of[:-1] for of in values), **limits,
    )  # fmt: skip
    tree = _nested(run.needed.tree, 1, kept, values)
    missed = Fraction(case.cost_of(tree), price.denominator * int(whole.sum()))
    worth = objective.from_count(float(1 - missed) * objective.weight_right)
    assert run.objective is not None
    if abs(worth - run.objective) > DIGITS * max(1.0, abs(worth)):
        message = f"The run claims an objective of {run.objective:.9g}; its tree is worth "
        message += f"{worth:.9g}."
        raise ProofError("NOT_OPTIMAL", message)
    return case, tree


def _floor(problem: Problem, pattern: np.ndarray, n_patterns: int) -> Floor | None:
    """How many rows of the class whose recall has a floor may be wrong, as `violations` counts."""
    for label, least in (problem.constraints.min_recall or {}).items():
        k = problem.context.class_index(label)
        counts = np.where(problem.y == k, problem.counts, 0)
        rows = np.bincount(pattern, counts, n_patterns).astype(np.int64)
        n_rows = int(rows.sum())
        wrong = range(n_rows + 1) if n_rows else ()
        allowed = [w for w in wrong if (n_rows - w) / n_rows >= least - TOLERANCE]
        return Floor(k, rows, max(allowed)) if allowed else None
    return None


def refuse_unproven(run: "Run") -> None:
    """Raise `SettingsError` where there is no optimum to be proven, or no formula for it."""
    if not run.is_proven or run.tree is None:
        message = f"A proof needs a run that is proven optimal; this one is {run.badge}."
        raise SettingsError("NOT_OPTIMAL", message)
    refuse_other_questions(run, REFUSAL, RECALL)
    asked, floors = set(run.constraints), run.constraints.get("min_recall") or {}
    if len(floors) > 1 or (floors and asked & LEAVES):
        raise SettingsError(
            "CONSTRAINT_NOT_EXPRESSIBLE",
            f"{REFUSAL} for the recall of several classes, or for recall and a limit on leaves.",
            "min_recall",
        )


def _nested(tree: Tree, node: int, kept: list[int], values: list[np.ndarray]) -> Nested:
    """The tree by columns and thresholds of the case."""
    if node in tree.labels:
        return int(tree.labels[node])
    split, place, number = tree.splits[node], 0, 0
    if split.features[0] in kept:
        place = kept.index(split.features[0])
        number = int(np.searchsorted(values[place], split.threshold, "right"))
    if not number or number == len(values[place]):
        message = f"The split of node {node} parts no training rows, which the formula cannot say; "
        message += "solve with threshold-search or path-search."
        raise SettingsError("IDLE_SPLIT", message, "formulation")
    left, right = (_nested(tree, child, kept, values) for child in (2 * node, 2 * node + 1))
    return place, number, left, right


def _guard(cancel: Callable[[], bool] | None) -> Callable[[], None]:
    def guard() -> None:
        if cancel is not None and cancel():
            raise CancelledError("The proof was stopped.")

    return guard


def _refuse_missing(checker: str | None) -> None:
    if checker is not None and shutil.which(checker) is None:
        message = f"There is no program {checker}; install it, or name its path."
        raise SettingsError("NO_CHECKER", message, "checker")


def _refuse_large(
    n_bytes: float, limit: float, seconds: float = 0.0, time_limit: float = math.inf
) -> None:
    if n_bytes > limit or seconds > time_limit:
        timed = time_limit < math.inf
        duration = f" and {seconds:,.6g} s of writing" if timed else ""
        allowed = f" or {time_limit:,.6g} s" if timed else ""
        raise TooLargeError(
            "PROOF_TOO_LARGE",
            f"The proof would take about {n_bytes / 1e6:,.6g} MB{duration}, more than the "
            f"{limit / 1e6:,.6g} MB{allowed} allowed; take a smaller depth, or give octcore prove "
            f"a larger size limit{' or time limit' if timed else ''}.",
            {"bytes": float(n_bytes), "seconds": seconds},
        )


def _opened(path: Path, mode: str) -> IO[str]:
    if path.suffix == ".gz":
        return cast(IO[str], gzip.open(path, mode, encoding="utf-8", newline="\n"))
    return open(path, mode, encoding="utf-8", newline="\n")


@contextmanager
def _replaced(folder: Path) -> Iterator[Path]:
    """A folder beside, whose files replace those of the folder once all are written."""
    with in_words(folder):
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder, prefix=".proof-") as beside:
            yield Path(beside)
            for name in (FORMULA, PROOF, PROOF + ".gz", README):
                (folder / name).unlink(missing_ok=True)
            for path in Path(beside).iterdir():
                os.replace(path, folder / path.name)


def _readme(run: "Run", case: Case, tree: Nested, name: str) -> str:
    """What the files state, in ten lines."""
    cost = case.cost_of(tree)
    floor, roots = case.floor, ", ".join(map(str, case.roots or ()))
    limits = [
        f"at most {case.max_leaves} leaves" if case.max_leaves else "",
        f"at least {case.min_rows} rows in every leaf" if case.min_rows else "",
        f"at most {floor.most_wrong} wrong rows of label {floor.label}" if floor else "",
        f"a root that tests one of columns {roots}" if case.roots else "",
    ]
    unpack = f"gunzip -k {name}; " if name.endswith(".gz") else ""
    return README_TEXT.format(
        depth=case.depth, limits="".join(f", {limit}" for limit in limits if limit), cost=cost,
        price=case.price, objective=run.objective, name=name, unpack=unpack,
    )  # fmt: skip
