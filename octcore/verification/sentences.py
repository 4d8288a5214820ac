"""The statements of a certificate: each is known by its words, and its numbers are held to it.

A rule is a pattern, and what must hold of the run; a statement that no rule knows cannot be judged.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from fractions import Fraction

import numpy as np

from octcore.data.findings import listing
from octcore.verification.base import NotProvenError, WrongError
from octcore.verification.oblique import leaf_rows, right_distance
from octcore.verification.optimum import SMALLEST_OCT_GAP
from octcore.verification.stated import USUAL_GAP, Stated
from octcore.verification.value import OF_A_SOLVER, equal_rows, slack, value_of, value_of_gains

Holds = Callable[..., bool]
"""``holds(stated, *groups)``: whether a statement is true, by what its pattern caught."""
ALL_THRESHOLDS = frozenset({"raw", "scaled", "none", "one-hot"})
"""Encodings under which a split on a column separates its rows anywhere."""
AS_READ = 1e-12
"""Largest relative difference of a number and the fraction that it is read as."""
TWO_DIGITS = 0.051
"""Relative rounding of a number written in two digits."""
STRIP_OF_SHATTERING = 1e-5
"""Of SVM1-ODT."""


def check_sentences(stated: Stated) -> None:
    """Check every statement of a certificate.

    `WrongError` if one is false, `NotProvenError` if one is not known here.
    """
    rules = {**COMMON, **OF_FORMULATION.get(stated.claim.formulation, {})}
    for sentence in stated.run.certificate.statements:
        found = ((re.fullmatch(words, sentence), holds) for words, holds in rules.items())
        known = next(((match, holds) for match, holds in found if match), None)
        if known is None:
            raise NotProvenError(f"it cannot judge the statement '{sentence}'")
        match, holds = known
        if not holds(stated, *match.groups()):
            raise WrongError(f"the statement '{sentence}' is false")


def _is_optimal(stated: Stated) -> bool:
    return stated.run.status == "optimal"


def _on_these_columns(stated: Stated, key: str) -> bool:
    return _is_optimal(stated) and stated.run.encoding.key == key


def _on_all_thresholds(stated: Stated, depth: str, limited: str | None) -> bool:
    """Whether encoded columns tell apart whatever a raw column tells apart."""
    complete = _is_optimal(stated) and stated.run.encoding.key in ALL_THRESHOLDS
    frame, claim = stated.run.train.frame, stated.claim
    for number, raw in enumerate(claim.raw_features):
        told = int(equal_rows(claim.X[:, claim.group == number], stated.guard).max()) + 1
        complete = complete and told == frame[raw].nunique()
    has_limits = bool(set(claim.limits) - {"class_weight"})
    return complete and int(depth) == claim.depth and has_limits == (limited is not None)


def _is_near(stated: Stated, distance: str, optimum: str) -> bool:
    run = stated.run
    apart = abs(run.bound - run.objective) if run.status != "optimal" else 0.0
    return f"{apart:.4g}" == distance and f"{run.bound:.6g}" == optimum


def _price(stated: Stated, free: str, price: str) -> bool:
    values = stated.run.extras
    return (free, price) == tuple(
        f"{values.get(name, np.nan):.6g}" for name in ("unconstrained_objective", "price")
    )


def _smallest_gap(stated: Stated, usual: str, smallest: str) -> bool:
    said = stated.run.extras.get("smallest_gap")
    return float(usual) == USUAL_GAP and said is not None and f"{said:.3g}" == smallest


def _param(name: str) -> Holds:
    """The number is a hyperparameter."""
    return lambda stated, said: f"{float(stated.claim.params[name]):g}" == said


def _is_coded(stated: Stated, negative: str, positive: str) -> bool:
    claim = stated.claim
    classes = claim.classes[1 - claim.positive_class], claim.classes[claim.positive_class]
    return (negative, positive) == tuple(map(str, classes))


def _price_of(name: str) -> Holds:
    """The fraction is what a hyperparameter means, to within rounding."""

    def is_price(stated: Stated, said: str) -> bool:
        given = stated.claim.params.get(name)
        if given is None:
            return False
        read = float(said.removeprefix("the double ")) if "double" in said else Fraction(said)
        return abs(float(read) - given) <= AS_READ * abs(given)

    return is_price


def _asks_for_levels(stated: Stated, named: str) -> bool:
    """Whether these columns, and no others, are told apart level by level."""
    claim, columns = stated.claim, stated.run.train.columns
    kinds = {column.name: column.kind for column in columns}
    several = np.bincount(claim.group, minlength=len(claim.raw_features)) > 1
    unordered = [
        name
        for name, told in zip(claim.raw_features, several, strict=True)
        if told and kinds[name] not in {"numeric", "ordinal"}
    ]
    return named == listing(unordered)


def _is_cost(stated: Stated, true: str, answer: str, said: str) -> bool:
    classes = list(map(str, stated.claim.classes))
    there = true in classes and answer in classes and true != answer
    return there and (f"{stated.claim.costs[classes.index(true), classes.index(answer)]:g}" == said)


def _asks(stated: Stated, said: str) -> bool:
    costs, n_classes = stated.claim.costs, stated.claim.n_classes
    return costs.shape[1] > n_classes and f"{costs[0, n_classes]:g}" == said


def _is_ordinal(stated: Stated) -> bool:
    order = np.arange(stated.claim.n_classes)
    return bool((stated.claim.costs[:, : len(order)] == abs(order[:, None] - order)).all())


def _is_within(stated: Stated, said: str) -> bool:
    """Whether it is the share of all costs up to which searches or solvers close, in two digits."""
    costs = stated.claim.span * abs(value_of(stated.claim).per_error)
    shares = (1e-9 * costs, OF_A_SOLVER * costs)
    return _is_optimal(stated) and any(abs(float(said) - s) <= TWO_DIGITS * s for s in shares)


def _is_reach(stated: Stated) -> bool:
    """Whether the best answers, one for every leaf, are worth the bound; no less if it closed."""
    claim = stated.claim
    value = value_of_gains(claim)
    saved = np.cumsum(np.sort(claim.gains.sum(axis=0))[::-1])[: claim.leaf_limit]
    of_leaves = value.of(claim.span - saved, np.arange(1, len(saved) + 1))
    best = float(of_leaves.max() if value.is_maximised else of_leaves.min())
    beyond = stated.excess(best, claim.bound) if claim.bound is not None else np.nan
    return beyond >= -slack(claim, best) and (_is_optimal(stated) or beyond <= slack(claim, best))


def _always(stated: Stated, *groups: str) -> bool:
    return True


_READ = r"(the double [-+.e\d]+|\d+(?:/[1-9]\d*)?)"
COMMON: Mapping[str, Holds] = {
    r"optimal among trees on the (\S+) features, not among all thresholds": _on_these_columns,
    r"optimal among all axis-parallel trees of depth (\d+) on these rows( that keep the side "
    r"constraints)?": _on_all_thresholds,
    r"closed to a relative gap of (\S+)": lambda stated, gap: float(gap) == stated.known.closed,
    rf"the price of a leaf is {_READ}": _price_of("leaf_penalty"),
    rf"the weight of the splits is {_READ}": _price_of("split_weight"),
    r"questions on (.+) ask for one level at a time": _asks_for_levels,
    r"optimal to within 1e-0[69] of the total weight of the rows": _is_optimal,
    r"optimal to within (\S+) in the objective": _is_within,
    r"a (.+) called (.+) costs (\S+)": _is_cost,
    r"asking a person costs (\S+)": _asks,
    r"a wrong class costs its distance from the right one in the order of the classes": _is_ordinal,
    r"optimal for the training part; the held-out part took no part": lambda stated: (
        _is_optimal(stated) and stated.run.n_test > 0
    ),
    r"proven without search: identical rows with different classes allow no better objective": (
        lambda stated: stated.claim.method == "conflict-bound"
    ),
    r"listed in the order of cost: no cheaper tree keeps the side constraints": _is_optimal,
    r"with a price on what floors demand, no tree is worth more": _is_optimal,
    r"within (\S+) of the proven optimum (\S+), chosen among good trees": _is_near,
    r"searched by plain array operations: the kernels of this machine were not compiled": _always,
    r"optimal on the selected subset of the rows; nothing is proven about the others": _always,
    r"by outer approximation": _always,
    r"the bound is what so many leaves, each of one class, can get right": _is_reach,
}
"""What any run may state."""

_STRIP = r"upper planes keep an empty strip of width (\S+)"
_CODING = r"(.*) is coded -1 \(left leaves\), (.*) \+1 \(right\)"
_ONE_CLASS = r"all rows are (.*)"
_OF_MARGOT: Mapping[str, Holds] = {
    _STRIP: _param("epsilon"),
    _CODING: _is_coded,
    _ONE_CLASS: lambda stated, said: [said] == list(map(str, stated.claim.classes)),
}
OF_FORMULATION: Mapping[str, Mapping[str, Holds]] = {
    "cart": {
        r"a greedy tree: nothing is proven about it": lambda stated: (
            stated.claim.method == "heuristic"
        )
    },
    "path-columns": {
        r"without the side constraints the optimum is (\S+) \(proven by path-search\), so they "
        r"cost (\S+); that price is exact if this tree is proven optimal, and an upper bound "
        r"otherwise": _price
    },
    "oct": {
        r"the price of a split is (.+)": _price_of("alpha"),
        r"Thresholds lie between values of a scaled column that differ by (\S+) at least; closer "
        r"rows count as inseparable\.": lambda stated, gap: float(gap) == SMALLEST_OCT_GAP,
    },
    "s-oct": {
        r"among trees whose node gaps reach epsilon (\S+) \(weights of 1-norm 1, columns in "
        r"\[0, 1\]\)": _param("epsilon"),
        r"cuts were added in rounds at the root; inside the tree the big-M rows stand alone": (
            _always
        ),
        r"rows along lines, whose classes change more often than leaves do, bound all trees": (
            lambda stated: bool(stated.claim.values.get("chains"))
        ),
        r"a tree with (\S+) correct was met whose gaps are thinner than epsilon": (
            lambda stated, said: (
                f"{stated.claim.values.get('correct_with_thinner_gaps', 0.0):g}" == said
            )
        ),
        r"epsilon-feasible: every node gap reaches (\S+) \(smallest (\S+)\)": _smallest_gap,
        r"separable: the smallest node gap is (\S+), below the usual epsilon (\S+)": (
            lambda stated, smallest, usual: _smallest_gap(stated, usual, smallest)
        ),
    },
    "margot": _OF_MARGOT,
    "hfs-margot": _OF_MARGOT,
    "sfs-margot": _OF_MARGOT,
    "mm-svm-oct": {
        **_OF_MARGOT,
        r"relabelling is (allowed|off)": lambda stated, said: (
            (said == "allowed") == bool(stated.claim.params["relabel"])
        ),
    },
    "oct-h": {
        r"every split leaves a strip of width (\S+) empty \(weights of 1-norm 1\): "
        r"epsilon-feasible trees only": _param("epsilon"),
        r"leaves of (\d+) rows at least": lambda stated, said: int(said) == leaf_rows(stated.claim),
    },
    "svm1-odt": {
        r"scores of all rows lie within (\S+), weights within 1000": _param("big_m"),
        r"right-goers keep a distance of (\S+) from the plane": lambda stated, said: (
            f"{right_distance(stated.claim):g}" == said
        ),
        r"splits leave a strip of (\S+) empty \(1-norm 1\)": lambda stated, said: (
            float(said) == STRIP_OF_SHATTERING
        ),
    },
}
"""What runs of one formulation may state."""
