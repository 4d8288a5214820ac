"""What a run states beside its objective: every number derived again, or held against the others.

A statement of the certificate is known by its words, and its numbers are held to it: a rule is a
pattern, and what must hold of the run; a statement that no rule knows cannot be judged.

Seconds, sizes of models and counts of nodes and cuts say how a solve went; nobody can derive them,
and nothing follows from them about the tree.
"""

import math
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import numpy as np

from octcore.data.findings import listing
from octcore.verification import margot
from octcore.verification.base import Guard, NotProvenError, Proven, WrongError
from octcore.verification.claim import Array, Claim, Routed, encode, route
from octcore.verification.known import Known
from octcore.verification.oblique import largest_norm_reach, leaf_rows, right_distance
from octcore.verification.optimum import SMALLEST_OCT_GAP, derived
from octcore.verification.value import (
    GAP_TOLERANCE,
    OF_A_SOLVER,
    conflict_errors,
    equal_rows,
    node_gaps,
    slack,
    value_of,
    value_of_gains,
)

DIGITS = 1e-9  # relative; what is derived here and there may be added up in another order
SOLVER_TOLERANCE = 1e-6  # of linear programs, relative
THREE_DIGITS, SIX_DIGITS = 5.001e-3, 5e-6  # of a number that is printed with so many of them
HOW_IT_WENT = frozenset(
    {
        "nodes", "linear_programs", "cuts_by_family", "cuts_purged", "columns", "fixing",
        "proof_log", "proof_bytes", "chains", "root_values_exact",
    }
)  # fmt: skip
"""Values that count what was done, or that a proof reads."""
BY_SEARCH = {
    key: {key, "conflict-bound", "near-optimal"}
    for key in ("path-search", "threshold-search", "routing-search", "assignment-search")
}
BY_SEARCH["assignment-search"] |= {"mip"}  # what it leaves open a solver goes on with
SOLVERS = ("highs", "scip", "gurobi", "branch-and-cut", "outer-approximation")
BY_ENGINE: Mapping[str, Collection[str]] = {
    "greedy": {"heuristic"},
    **BY_SEARCH,
    **{key: {"mip", "mip+path-search", "conflict-bound"} for key in SOLVERS},
}
"""What may be named as proving the bound, by engine."""
BY_STATUS = {
    "optimal": {"optimal"},
    "infeasible": {"infeasible"},
    "feasible": {"gap_limit", "time_limit", "node_limit", "cancelled", "error"},
    "no_solution": {"gap_limit", "time_limit", "node_limit"},
    "cancelled": {"cancelled"},
    "interrupted": {"interrupted"},
    "error": {"error"},
}
"""Why a solve with each status can have stopped."""
Check = Callable[..., None]


@dataclass(frozen=True, eq=False)
class Stated:
    """A run beside its claim, as read and routed here."""

    run: Any
    claim: Claim
    known: Known
    routed: Routed | None
    worth: float | None
    """`routed`, `worth`: rows and objective of the tree; None where there is none, or it is
    unknown."""
    guard: Guard

    def excess(self, better: float, worse: float) -> float:
        """By how much one objective is better than another; negative if it is worse."""
        return better - worse if self.known.is_maximised(self.claim) else worse - better


def check_stated(stated: Stated) -> None:
    """Check all that follows from rows and tree alone.

    `WrongError` names what is false; `NotProvenError` if a value is stated that is not known here.
    """
    _check_status(stated)
    _check_encoding(stated)
    _check_tree_record(stated)
    for name, expected in (_numbers(stated) | _held_out(stated)).items():
        _compare(name, getattr(stated.run, name), expected)
    _check_trace(stated)
    for name, value in stated.run.extras.items():
        if name in OF_TREE:
            OF_TREE[name](stated, value)
        elif name not in OF_PROOF and name not in HOW_IT_WENT:
            raise NotProvenError(f"it cannot judge {name}")


def check_proven(stated: Stated, proven: Proven) -> None:
    """Check what follows from the optimum of all trees only.

    `WrongError` names what is false; `NotProvenError` if the proof does not tell.
    """
    for name, value in stated.run.extras.items():
        if name in OF_PROOF and value is not None:
            OF_PROOF[name](stated, proven, value)


def _check_status(stated: Stated) -> None:
    run, certificate = stated.run, stated.run.certificate
    if run.stop_reason not in BY_STATUS.get(run.status, set()):
        raise WrongError(f"{run.status} is stated, beside a stop by {run.stop_reason}")
    if certificate.proven != (run.status in {"optimal", "infeasible"}):
        raise WrongError(f"{run.status} is stated beside a certificate that says otherwise")
    if (run.tree is not None) != (run.status in {"optimal", "feasible", "interrupted"}):
        raise WrongError(f"{run.status} is stated {'beside a' if run.tree else 'without a'} tree")
    if (run.objective is None) != (run.tree is None):
        raise WrongError("a tree and its objective belong together, and one is missing")
    engine = run.settings.get("engine", "auto")
    if engine != "auto" and engine not in BY_ENGINE:
        raise NotProvenError(f"it cannot judge {engine}")
    if certificate.proven and not (engine == "auto" or certificate.method in BY_ENGINE[engine]):
        raise WrongError(f"{engine} does not prove by {certificate.method}")
    if certificate.method == "heuristic" and (run.bound is not None or certificate.proven):
        raise WrongError("a heuristic proves no bound")


def _check_encoding(stated: Stated) -> None:
    """Hold the scales of the encoding to the rows on which it was fitted, and its key to itself."""
    encoding = stated.run.encoding
    asked, key = (
        re.sub("[-_ ]", "", str(name)).upper()
        for name in (stated.run.settings["encoding"], encoding.key)
    )
    if asked != key:
        raise WrongError(
            f"the encoding {encoding.key} is none by {stated.run.settings['encoding']}"
        )
    for column, values in zip(encoding.to_dict()["columns"], stated.claim.X.T, strict=True):
        kind, raw = column["kind"], column["raw"]
        if kind == "scaled" and (values.min(), values.max()) != (0.0, 1.0):
            raise WrongError(f"{raw} is not scaled to [0, 1]")
        if kind == "value" and {"shift", "scale"} & set(column):
            raise WrongError(f"{raw} is scaled, but said to be as it is")


def _check_tree_record(stated: Stated) -> None:
    tree, run = stated.run.tree, stated.run
    if list(map(str, run.classes)) != list(map(str, stated.claim.classes)):
        raise WrongError("the classes are not those of the rows")
    if tree is None:
        return
    n_answers = stated.claim.costs.shape[1]
    answers = (*map(str, stated.claim.classes), "ask a person")[:n_answers]
    if tree.classes and tuple(map(str, tree.classes)) != answers:
        raise WrongError("the classes of the tree are not those of the rows")
    if (tree.n_features, tree.n_classes) != (stated.claim.X.shape[1], n_answers):
        raise WrongError("the tree is one for other numbers of columns or classes")
    if tree.features and list(tree.features) != list(run.encoding.names):
        raise WrongError("the columns of the tree are not those of the encoding")


def _numbers(stated: Stated) -> dict[str, float | None]:
    """Numbers about the training rows."""
    claim, run = stated.claim, stated.run
    counts = np.bincount(claim.y, minlength=claim.n_classes)
    errors = (claim.y[:, None] != np.arange(claim.n_classes)).astype(float)
    wrong = conflict_errors(claim.X, errors, stated.guard)
    asks = claim.costs.shape[1] > claim.n_classes
    numbers: dict[str, float | None] = {
        "n_train": len(claim.y),
        "majority_accuracy": counts.max() / len(claim.y),
        "accuracy_ceiling": None if asks else 1.0 - wrong / len(claim.y),
        "gap": None,
    }
    if run.objective is not None and run.bound is not None:
        numbers["gap"] = abs(run.bound - run.objective) / max(1e-10, abs(run.objective))
    predicted = None if stated.routed is None else stated.routed.predicted
    return numbers | _scores("", predicted, claim.y, claim)


def _held_out(stated: Stated) -> dict[str, float | None]:
    """Numbers about the rows that were held out."""
    run, test = stated.run, stated.run.test
    n_test = 0 if test is None else len(test.frame)
    if test is None and run.n_test:
        raise NotProvenError("the rows that were held out are not at hand")
    _compare("n_test", (run.settings.get("data") or {}).get("n_test"), n_test)
    predicted = y = None
    if run.tree is not None and test is not None and test.y is not None:
        predicted = route(run.tree, encode(run.encoding, test.frame, stated.guard)).predicted
        y = np.asarray(test.y)
    return {"n_test": n_test, **_scores("test_", predicted, y, stated.claim)}


def _scores(
    of: str, predicted: Array | None, y: Array | None, claim: Claim
) -> dict[str, float | None]:
    """Cost of the answers, share that a person gets, and shares of the others that are right."""
    names = [f"{of}{name}" for name in ("accuracy", "balanced_accuracy", "mean_cost", "referred")]
    if predicted is None or y is None:
        return dict.fromkeys(names)
    told = predicted < claim.n_classes
    right = (predicted == y)[told]
    by_class = [right[y[told] == k].mean() for k in np.unique(y[told])]
    shares = (right.mean(), np.mean(by_class)) if told.any() else (None, None)
    found = (*shares, claim.costs[y, predicted].mean(), 1.0 - told.mean())
    numbers = (None if value is None else float(value) for value in found)
    return dict(zip(names, numbers, strict=True))


def _compare(name: str, said: Any, expected: Any) -> None:
    """A number may be missing; one that is stated is right."""
    if said is None:
        return
    words = name.replace("_", " ")
    if expected is None:
        raise WrongError(f"{words} {said} is stated where there is none")
    if abs(said - expected) > DIGITS * max(1.0, abs(expected)) or math.isnan(said):
        raise WrongError(f"{words} {said:.9g} is stated, it is {expected:.9g}")


def _check_trace(stated: Stated) -> None:
    """Hold bounds on the way against the tree, and incumbents against the bound."""
    run, objective, bound = stated.run, stated.run.objective, stated.run.bound
    maximised = stated.known.is_maximised(stated.claim)
    moments = [(event.incumbent, event.bound) for event in run.trace.events]
    for moment in run.extras.get("open_thresholds") or ():
        moments.append((moment["value"], moment["bound"]))
    if run.root_bound is not None:  # of a linear program, as exact as its solver
        room = SOLVER_TOLERANCE * max(1.0, abs(run.root_bound))
        moments.append((None, run.root_bound + (room if maximised else -room)))
    for incumbent, at in moments:
        stated.guard()
        if at is not None and objective is not None and _better(stated, objective, at):
            raise WrongError(f"a bound of {at:.9g} is stated, a tree of {objective:.9g} exists")
        if incumbent is not None and bound is not None and _better(stated, incumbent, bound):
            raise WrongError(f"a tree of {incumbent:.9g} is stated beyond the bound {bound:.9g}")


def _better(stated: Stated, better: float, worse: float) -> bool:
    return stated.excess(better, worse) > stated.known.slack(stated.claim, worse)


def _check_intervals(stated: Stated, said: Mapping[Any, Any]) -> None:
    """How far thresholds may move, in raw units."""
    claim, routed = stated.claim, stated.routed
    columns = stated.run.encoding.to_dict()["columns"]
    found = {}
    for node, rows in routed.rows.items() if routed is not None else ():
        j = claim.tree.splits[node].weights[0][0]
        values = claim.X[rows, j]
        right = values * claim.tree.splits[node].weights[0][1] > claim.tree.splits[node].threshold
        if right.any() and not right.all():
            ends = np.array([values[~right].max(), values[right].min()], dtype=float)
            found[str(node)] = columns[j].get("shift", 0.0) + columns[j].get("scale", 1.0) * ends
    said = {str(node): value for node, value in said.items()}
    same = set(said) == set(found) and all(
        np.allclose(said[node], found[node], rtol=DIGITS, atol=1e-12) for node in found
    )
    if not same:
        raise WrongError("the intervals of thresholds are others than stated")


def _check_recentred(stated: Stated, said: Mapping[str, Any]) -> None:
    """Planes for pictures: they send every row where the tree does."""
    claim, routed = stated.claim, stated.routed
    nodes = {n["node"]: n for n in said["nodes"]}
    labels = {m: n["label"] for m, n in nodes.items() if n["kind"] == "leaf"}
    splits = {m: SimpleNamespace(**n) for m, n in nodes.items() if n["kind"] == "branch"}
    planes: Any = SimpleNamespace(splits=splits, labels=labels)
    is_same = routed is not None and labels == dict(claim.tree.labels)
    if routed is None or not is_same or (route(planes, claim.X).leaf != routed.leaf).any():
        raise WrongError("the recentred planes part the rows in another way than the tree")


SEARCHES = frozenset({"path-search", "threshold-search"})
USUAL_GAP = 0.005  # the usual epsilon of S-OCT


def _check_roots(stated: Stated, proven: Proven, said: Any) -> None:
    """Optimum by column at the root: exact, or a bound on it."""
    if not said:  # there was nothing to search
        return
    # A model's search leaves some side constraints out, so that its values are bounds.
    of_search = stated.claim.formulation in SEARCHES or not stated.claim.limits
    exact = stated.run.extras.get("root_values_exact") if of_search else [False] * len(said)
    if len(said) != stated.claim.X.shape[1]:
        raise WrongError("values of other root columns are stated")
    if proven.by_root is None:
        raise NotProvenError("it cannot judge root_values")
    # Of the column that the tree begins with, its own objective tells that there is such a tree.
    sought, first = np.array(exact, bool), stated.run.tree and stated.run.tree.splits.get(1)
    if first and stated.worth is not None and said[j := first.weights[0][0]] is not None:
        sought[j] &= _better(stated, said[j], stated.worth)
    try:
        optima = proven.by_root(np.array([np.nan if v is None else v for v in said]), sought)
    except NotProvenError as error:
        why = f"the values by root column are not verified: {str(error).strip('()')}"
        raise NotProvenError(why) from error
    for j, (value, is_exact, found) in enumerate(zip(said, exact, optima, strict=True)):
        there = not np.isnan(found)
        if value is None:  # no tree, or a column that was not asked about
            wrong = there and "root_feature" not in stated.claim.limits
        elif not there:
            wrong = is_exact
        else:
            wrong = _better(stated, found, value) or (is_exact and _better(stated, value, found))
        if wrong:
            name = stated.run.encoding.names[j]
            raise WrongError(f"the best tree with {name} at the root is worth {found:.9g}")


def _check_free(stated: Stated, proven: Proven, said: float) -> None:
    """Optimum without the side constraints: nothing is better, and something is as good."""
    margin = SOLVER_TOLERANCE * max(1.0, abs(said))
    worse = said - margin if stated.known.is_maximised(stated.claim) else said + margin
    free = replace(stated.claim, limits={}, values={}, bound=worse)
    found = derived(free, stated.guard).bound
    if found is None or abs(said - found) > slack(stated.claim, said):
        _compare("unconstrained_objective", said, found)


def _check_price(stated: Stated, proven: Proven, said: float) -> None:
    """What the side constraints cost, by the optimum without them as it is stated."""
    free = stated.run.extras.get("unconstrained_objective")
    _compare("price", said, None if free is None else max(0.0, free - stated.run.objective))


OF_TREE: Mapping[str, Check] = {
    "threshold_intervals": _check_intervals,
    "open_thresholds": lambda stated, said: None,  # with the trace
    "recentred": _check_recentred,
}
OF_PROOF: Mapping[str, Check] = {
    "root_values": _check_roots,
    "unconstrained_objective": _check_free,
    "price": _check_price,
}
Holds = Callable[..., bool]
"""``holds(stated, *groups)``: whether a statement is true, by what its pattern caught."""
ALL_THRESHOLDS = frozenset({"raw", "scaled", "none", "one-hot"})
"""Encodings under which a split on a column separates its rows anywhere."""
AS_READ = 1e-12  # largest relative difference of a number and the fraction that it is read as
TWO_DIGITS = 0.051  # relative rounding of a number written in two digits
STRIP_OF_SHATTERING = 1e-5  # of SVM1-ODT


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


def _smallest_gap(stated: Stated, is_wide: bool, usual: str, said: str) -> bool:
    """Whether it is the gap of the thinnest split, in three digits, and reaches the usual one."""
    gaps = {} if stated.routed is None else node_gaps(stated.claim, stated.routed)
    smallest = min(gaps.values(), default=math.inf)
    is_near = abs(float(said) - smallest) <= THREE_DIGITS * smallest
    reaches = smallest >= USUAL_GAP * (1 - GAP_TOLERANCE)
    return float(usual) == USUAL_GAP and is_near and reaches == is_wide


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
    r"optimal among trees on the (\S+) features, not among all thresholds": (
        lambda stated, key: _is_optimal(stated) and stated.run.encoding.key == key
    ),
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
    r"proven without search: (?:what )?identical rows .* no better objective": (
        lambda stated: stated.claim.method == "conflict-bound"
    ),
    r"listed in the order of cost: no cheaper tree keeps the side constraints": _is_optimal,
    r"with a price on what floors demand, no tree is worth more": _is_optimal,
    r"within (\S+) of the proven optimum (\S+), chosen among good trees": _is_near,
    r"searched by plain array operations: the kernels of this machine were not compiled.*": _always,
    r"optimal on the selected subset of the rows; nothing is proven about the others": _always,
    r"by outer approximation": _always,
    r"the bound is what so many leaves, each of one class, can get right": _is_reach,
}
"""What any run may state."""

_STRIP = r"upper planes keep an empty strip of width (\S+)"
_CODING = r"(.*) is coded -1 \(left leaves\), (.*) \+1 \(right\)"
_ONE_CLASS = r"all rows are (.*)"


def _of_big_m(least: Callable[[Claim, float], float]) -> Mapping[str, Holds]:
    """What is said of the big-M of a model, by the least one that forbids no tree worth having."""

    def beyond(stated: Stated, said: str) -> float:
        """Share by which it is larger than that."""
        objective = stated.claim.objective
        return float(said) / (np.inf if objective is None else least(stated.claim, objective)) - 1.0

    return {
        r"the big-M (\S+) forbids no tree that is at least as good": lambda stated, said: (
            beyond(stated, said) >= -SIX_DIGITS
        ),
        r"the big-M (\S+) may forbid trees as good as this one, so the model proves nothing": (
            lambda stated, said: beyond(stated, said) <= SIX_DIGITS
        ),
    }


_OF_MARGOT: Mapping[str, Holds] = {
    **_of_big_m(margot.reach),
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
        r"epsilon-feasible: every node gap reaches (\S+) \(smallest (\S+)\)": (
            lambda stated, usual, smallest: _smallest_gap(stated, True, usual, smallest)
        ),
        r"separable: the smallest node gap is (\S+), below the usual epsilon (\S+)": (
            lambda stated, smallest, usual: _smallest_gap(stated, False, usual, smallest)
        ),
    },
    "margot": _OF_MARGOT,
    "hfs-margot": _OF_MARGOT,
    "sfs-margot": _OF_MARGOT,
    "mm-svm-oct": {
        **_OF_MARGOT,
        **_of_big_m(largest_norm_reach),
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
