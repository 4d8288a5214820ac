"""From a problem of the package to the question of the exact search, and back."""

import itertools
import math
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from octcore.formulations.shared.constraint_kinds import OF_COLUMNS, recall_floors
from octcore.formulations.shared.univariate import UnivariateObjective
from octcore.parameters import Flag
from octcore.program import Listing, Problem
from octcore.search.near_optimal.floors import FREE, Floors
from octcore.search.near_optimal.instance import Instance, make_instance
from octcore.search.univariate.question import Answer, Question
from octcore.search.univariate.search import answer
from octcore.tree.constraints import BY_SUBTREE
from octcore.warmstart.amending import amended

EXACT_ROOT_VALUES = Flag(
    "exact_root_values",
    False,
    "V(f)",
    "Go on until the value of every root feature is exact, not only an upper bound.",
)
MOST_SETS = 1000
"""Sets of columns that are searched one after the other; listing trees is quicker for more."""


def question_of(
    problem: Problem, objective: UnivariateObjective, bare: bool = False, **settings: Any
) -> Question:
    """Ask the search about the rows and the side constraints of a problem.

    `problem`: rows, weights, depth, and the constraints that hold for every subtree or its root.
    `objective`: price of a leaf.
    `bare`: whether all side constraints are left out; they only remove trees.
    `**settings`: other fields of `Question`, instead of what the problem says.
    """
    all_roots = bool(problem.params.get(EXACT_ROOT_VALUES.name))
    asked: dict[str, Any] = {
        "X": problem.X,
        "y": problem.y,
        "n_classes": problem.n_classes,
        "depth": problem.depth,
        "leaf_penalty": objective.penalty / objective.weight_right,  # as a share, with all copies
        "weights": problem.weights,
        "counts": None if problem.copies is None else problem.counts,
        "all_roots": all_roots and not bare,
    }
    return Question(**asked | ({} if bare else _limits(problem)) | settings)


def _limits(problem: Problem) -> dict[str, Any]:
    """Side constraints in the terms of the search."""
    wanted, roots = problem.constraints, problem.root_columns
    return {
        "min_samples_leaf": wanted.min_samples_leaf or 1,
        "max_leaves": wanted.leaf_limit,
        "forbidden": problem.forbidden_columns,
        "roots": None if roots is None else tuple(np.flatnonzero(roots).tolist()),
    }


def instance_of(
    problem: Problem,
    objective: UnivariateObjective,
    tolerance: Fraction,
    floors: Floors = FREE,
    rounds: bool = False,
) -> Instance:
    """Ask for all trees within a tolerance of the optimum, without what ties subtrees together.

    `floors`: at a price that makes rows weigh more.
    `rounds`: as for `make_instance`, with its `TooManyDigitsError`.
    """
    question = floors.heavier(question_of(problem, objective, all_roots=False))
    # Tolerance and the price of a leaf stay the same weight, a smaller share of heavier rows.
    whole = problem.fraction(objective.weight_right)
    share = whole / (whole + floors.added(question))
    leaf = in_copies(problem, leaf_share(objective))
    return make_instance(question, leaf * share, in_copies(problem, tolerance) * share, rounds)


def leaf_share(objective: UnivariateObjective) -> Fraction:
    """Price of a leaf as a share of the weight of all rows."""
    if objective.split_weight is None:
        return objective.price
    return objective.price / (1 - objective.price) / Fraction(objective.problem.total_weight)


def in_copies(problem: Problem, share: Fraction) -> Fraction:
    """A share of the weight of all rows as a share of the weight that trees may get right."""
    right = problem.fraction(float(problem.weights.sum()))
    return share * problem.fraction(problem.total_weight) / right


def listing_of(problem: Problem, objective: UnivariateObjective) -> Listing | None:
    """How trees are listed until one keeps what ties subtrees together; None if nothing does."""
    coupled = problem.constraints.active - BY_SUBTREE
    if not coupled:
        return None
    return Listing(
        lambda tolerance, floors: instance_of(problem, objective, tolerance, floors, True),
        by_labels=bool(coupled - OF_COLUMNS | coupled & {"monotone"}),
        by_columns=bool(coupled & OF_COLUMNS),
        starts=partial(amended, problem, objective.penalty),
        sets=_column_sets(problem) if coupled & {"max_features", "forbidden_pairs"} else (),
        floors=recall_floors(problem),
    )


def _column_sets(problem: Problem) -> tuple[np.ndarray, ...]:
    """Columns that are left out by every largest allowed set of raw features; none if too many."""
    wanted, context = problem.constraints, problem.context
    usable = sorted(set(problem.groups[~problem.forbidden_columns].tolist()))
    pairs = [{context.raw_index(a), context.raw_index(b)} for a, b in wanted.forbidden_pairs]
    pairs = [pair for pair in pairs if pair <= set(usable)]
    if 2 ** len(pairs) > MOST_SETS:  # before they are made
        return ()
    rests = {frozenset(usable) - set(out) for out in itertools.product(*pairs)}
    most = len(usable) if wanted.max_features is None else wanted.max_features
    if sum(math.comb(len(rest), min(most, len(rest))) for rest in rests) > MOST_SETS:
        return ()
    # A tree with fewer features is one on some largest set.
    sets = {
        frozenset(chosen)
        for rest in rests
        for chosen in itertools.combinations(sorted(rest), min(most, len(rest)))
    }
    return tuple(~np.isin(problem.groups, list(chosen)) for chosen in sorted(map(sorted, sets)))


def guarded_answer(asked: Question, guard: Callable[[], None], seconds: float) -> Answer:
    """Search for a time; an interruption is raised after the search has ended."""
    found = answer(asked, cancel=stopped_by(guard), time_limit=seconds)
    guard()
    return found


def stopped_by(guard: Callable[[], None]) -> Callable[[], bool]:
    """Make the question whether to stop of a guard, which is to raise once that has ended."""

    def cancel() -> bool:
        try:
            guard()
        except Exception:
            return True
        return False

    return cancel
