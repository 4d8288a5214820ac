"""What can be asked of a solved tree: the tree under other conditions, and all that are as good."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from octcore.data.dataset import Dataset
from octcore.formulations.base import get_formulation, of_common_objective
from octcore.formulations.shared.constraint_kinds import BY_SUBTREE
from octcore.plotting import text
from octcore.plotting.difference import condition_words
from octcore.selection.near_optimal import FORMULATION, run_of_tree
from octcore.solving.prepare import prepare, split_rows
from octcore.solving.run import Run
from octcore.solving.settings import Asked, check_settings, class_weights
from octcore.tree.constraints import Constraints
from octcore.tree.tree import Tree

MOST_DEPTH = 5  # deeper runs are asked about at this depth, and told so
TIME_LIMIT = 60.0  # a person waits for the answer
REFERENCE_TIME_LIMIT = 30.0
"""Of the values of all root features; those that are not exact by then are bounds."""
ALL_THRESHOLDS, FALLBACK_ENCODING = "raw", "QT-5"
"""What questions about trees of sums of columns work on, and what models of 0/1 columns need."""


def base_settings(run: Run, data: Dataset) -> dict[str, Any]:
    """Settings that the run and its variants share.

    `data`: from `jobs.rows_of`; without the held-out rows nothing is held out again.
    """
    asked, params = run.asked, run.params
    kept = {"leaf_penalty": params["leaf_penalty"] or 0.0} if "leaf_penalty" in params else {}
    if params.get("split_weight") is not None:
        kept = {"split_weight": params["split_weight"]}
    has_all = data.n_samples == run.n_train + run.n_test
    return {
        "encoding": encoding_of(run),
        "depth": min(asked.depth, MOST_DEPTH),
        "params": kept,
        "time_limit": TIME_LIMIT,
        "test_size": asked.test_size if has_all else 0.0,
        "seed": asked.seed,
        "costs": asked.costs,
        "refer": asked.refer,
    }


def on_all_thresholds(run: Run) -> bool:
    """Whether the run searched all thresholds of its columns, for that objective."""
    return run.formulation == FORMULATION


def encoding_of(run: Run) -> str:
    """What questions about the run are asked on."""
    return run.asked.encoding if is_searchable(run) else ALL_THRESHOLDS


def is_searchable(run: Run) -> bool:
    """Whether questions about the run are asked on the columns that it worked on."""
    return on_all_thresholds(run) or run.encoding.is_binary


def is_comparable(run: Run, encoding: str = "") -> bool:
    """Whether the run is a proven optimum that prices count from, of trees on an encoding."""
    is_proven = run.is_proven and has_values(run) and run.depth <= MOST_DEPTH
    return is_proven and is_searchable(run) and encoding in ("", run.asked.encoding)


def has_values(run: Run) -> bool:
    """Whether its objective is that of the exact search: accuracy, or cost, and leaves."""
    return get_formulation(run.formulation).info.has_common_objective or on_all_thresholds(run)


def is_valued(run: Run) -> bool:
    """Whether the columns of a run have values: one column per split, an objective of leaves."""
    return is_searchable(run) and has_values(run) and set(run.constraints) <= BY_SUBTREE


def reference_settings(run: Run, data: Dataset) -> dict[str, Any]:
    """The exact search that values every root feature and is compared with.

    Constraints of the run that the search cannot express are left out.
    """
    settings, left = base_settings(run, data), left_out(run)
    return settings | {
        "formulation": FORMULATION,
        "time_limit": REFERENCE_TIME_LIMIT,
        "params": {**settings["params"], "exact_root_values": True},
        "constraints": {n: value for n, value in run.constraints.items() if n not in left},
    }


def left_out(run: Run) -> dict[str, Any]:
    """Constraints of the run that the search of the root values cannot express."""
    return {name: value for name, value in run.constraints.items() if name not in BY_SUBTREE}


def comparison_settings(run: Run, data: Dataset) -> dict[str, Any] | None:
    """The optimum that prices count from, when neither the run nor the search is one.

    It keeps to all constraints of the run.  None when no formulation can express them.
    """
    able = candidates(run.constraints, min(run.depth, MOST_DEPTH))
    return variant_settings(run, data, {}, able[0]) if able else None


def same_objective(before: Run, after: Run) -> bool:
    """Whether objectives can be subtracted: class weights make them another scale."""
    weights = [run.constraints.get("class_weight") for run in (before, after)]
    return json.dumps(weights[0], default=str) == json.dumps(weights[1], default=str)


def compared_words(
    run: Run, before: Run, after: Run, asked: Mapping[str, Any], is_proven: bool = False
) -> str:
    """Say which two trees are compared, what both keep to, and what is proven, as of the price."""
    if before is run:
        first = f"Compared are your tree ({_proof(before)})"
    else:
        why = "a heuristic's" if run.certificate.method == "heuristic" else "not proven optimal"
        if run.is_optimal:
            why = f"optimal for {run.asked.info.title}"
        if run.depth > MOST_DEPTH:
            why = f"of depth {run.depth}"
        first = (
            f"Your tree is {why}, so the price counts from the best tree of thresholds of depth "
            f"{before.depth} ({_proof(before)})"
        )
    second = _proof(after)
    if is_proven and not after.is_proven:
        second = f"{after.asked.info.title}, as good as the best without it"
    words = f"{first} and the best tree under the condition ({second})."
    kept = {n: v for n, v in run.constraints.items() if n not in asked or n in LISTS}
    if kept:
        words += f" Both keep to what your run asked for: {condition_words(kept)}."
    else:
        words += " Depth, columns, rows and the price of a leaf are the same for both."
    if before.test_accuracy is not None and after.test_accuracy is not None:
        old, new = map(text.percent, (before.test_accuracy, after.test_accuracy))
        words += f" The price counts training rows; of the held-out rows {old} and {new} are right."
    return words


def _proof(run: Run) -> str:
    title = get_formulation(run.formulation).info.title
    if run.is_proven:
        return f"by {title}"
    return f"{title}, not proven: gap {'unknown' if run.gap is None else f'{100 * run.gap:.2g} %'}"


def able_for(run: Run, constraints: Mapping[str, Any]) -> tuple[str, ...]:
    """Formulations that can express all constraints at the depth of a run, best first."""
    able = candidates(constraints, min(run.depth, MOST_DEPTH))
    if not set(constraints) <= get_formulation(FORMULATION).info.constraints:
        return able
    return (*able, FORMULATION) if run.encoding.is_binary else (FORMULATION, *able)


def candidates(constraints: Mapping[str, Any], depth: int) -> tuple[str, ...]:
    """Formulations on 0/1 features that can express all constraints at this depth, best first."""
    return tuple(
        info.key
        for info in of_common_objective()
        if set(constraints) <= info.constraints and depth <= info.max_depth
    )


def variant_settings(
    run: Run, data: Dataset, asked: Mapping[str, Any], formulation: str
) -> dict[str, Any]:
    """Settings of the tree under the asked conditions, besides those that the run had."""
    settings = base_settings(run, data)
    if needs_bins(run, formulation):
        settings["encoding"] = FALLBACK_ENCODING
    return settings | {"formulation": formulation, "constraints": together(run, asked)}


def needs_bins(run: Run, formulation: str) -> bool:
    """Whether a formulation does not work on the columns of the run."""
    return get_formulation(formulation).info.needs_binary_features and not run.encoding.is_binary


LISTS = ("forbidden_features", "forbidden_pairs")


def together(run: Run, asked: Mapping[str, Any]) -> dict[str, Any]:
    """The run's own constraints and the asked ones; lists are joined, floors taken together."""
    given = dict(run.constraints)
    joined = {**given, **asked}
    for name in given.keys() & asked.keys():
        if name in LISTS:
            joined[name] = list(dict.fromkeys((*_entries(given[name]), *_entries(asked[name]))))
        elif name in ("min_recall", "monotone"):
            joined[name] = {**given[name], **asked[name]}
    return joined


def added(run: Run, constraints: Mapping[str, Any]) -> dict[str, Any]:
    """What `together` has joined to the run's own constraints."""
    found = {n: value for n, value in constraints.items() if value != run.constraints.get(n)}
    for name in LISTS:
        own = _entries(run.constraints.get(name, ()))
        if rest := [entry for entry in _entries(found.pop(name, ())) if entry not in own]:
            found[name] = rest
    return found


def _entries(value: Sequence[Any]) -> list[Any]:
    return [tuple(entry) if isinstance(entry, list) else entry for entry in value]


@dataclass(frozen=True)
class Conditions:
    """Which of the near-optimal trees are looked at; keywords of `alternatives`."""

    tolerance: float
    with_features: tuple[str, ...] = ()
    without_features: tuple[str, ...] = ()
    max_leaves: int | None = None
    attribute: str | None = None
    gain: bool = False


def foreign_price(run: Run, search: Mapping[str, Any]) -> str:
    """Say what a leaf costs in a search about a run whose own objective has no such price."""
    words = "Every leaf costs {:g} here, whatever the objective of your tree takes for it."
    return words.format(search["params"]["leaf_penalty"]) * ("leaf_penalty" not in run.params)


def search_settings(run: Run, data: Dataset, tolerance: float) -> dict[str, Any]:
    """Keywords of `octcore.near_optimal` for the problem of a run."""
    settings = base_settings(run, data)
    asked = Asked.of(settings)
    penalty = float(asked.params.get("leaf_penalty", 0.01))
    weight = asked.params.get("split_weight")
    if weight is not None:  # the paper's, in weights of rows
        train, *_ = split_rows(data, asked.test_size, asked.seed)
        rows = class_weights(Constraints.parse(run.constraints), train.codes, train.classes)
        penalty = float(weight) / (float(rows.sum()) * (1 - float(weight)))
    return {
        **settings,
        "params": {"leaf_penalty": penalty},
        "constraints": {n: value for n, value in run.constraints.items() if n in BY_SUBTREE},
        "tolerance": tolerance,
    }


def best_settings(search: Mapping[str, Any], conditions: Conditions) -> dict[str, Any] | None:
    """The best of the trees that a search counts under conditions.

    None if there is no constraint for one of them: what a tree must use.
    """
    if conditions.with_features:
        return None
    constraints = dict(search["constraints"])
    if conditions.without_features:
        given = constraints.get("forbidden_features", ())
        constraints["forbidden_features"] = [*given, *conditions.without_features]
    if conditions.max_leaves is not None:
        most = constraints.get("max_leaves", conditions.max_leaves)
        constraints["max_leaves"] = min(most, conditions.max_leaves)
    kept = {name: value for name, value in search.items() if name != "tolerance"}
    return kept | {"formulation": FORMULATION, "constraints": constraints}


def chosen_run(
    data: Dataset, search: Mapping[str, Any], tree: Tree, optimum: float, seconds: float
) -> Run:
    """The run of a chosen tree, on the same rows and columns as the search."""
    given = {name: value for name, value in search.items() if name != "tolerance"}
    settings = check_settings(formulation=FORMULATION, **given)
    return run_of_tree(prepare(data, settings), tree, optimum, seconds)
