"""Training on selected rows, and judging the tree on all of them.

Hull vertices of clusters stand for what lies between them.  Clusters are the rows of one class in
one leaf of a heuristic tree, large ones cut at medians: the work grows with the product of a
cluster's rows and vertices.  If a leaf of the new tree holds the vertices of a cluster's hull, it
holds the whole cluster, since leaves of oblique trees are convex.  Bounds of such a solve hold for
the selected rows only.
"""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from joblib import delayed

from octcore.data.dataset import Dataset
from octcore.data.distinct import distinct_rows
from octcore.data.findings import percent
from octcore.data.serial import jsonable
from octcore.errors import CancelledError, SettingsError
from octcore.formulations.base import get_formulation
from octcore.numerics.hulls import HullSplit, balanced_choice, split_hull
from octcore.parameters import FloatRange
from octcore.program import Problem
from octcore.selection.fits import in_parallel, is_here
from octcore.solving.prepare import prepare, split_rows
from octcore.solving.run import STOPPED, Run
from octcore.solving.settings import SELECT_ROUNDS, SELECT_ROWS, check_settings
from octcore.solving.solve import solve
from octcore.tree import metrics
from octcore.tree.tree import Tree
from octcore.warmstart.descent import Descent
from octcore.warmstart.greedy import grow
from octcore.warmstart.points import count_classes, to_tree

LARGEST = {"hull": 1_000, "balanced": 60}
"""Largest cluster by rule; the program of the balanced one has a column per pair of points."""
BALANCED_SECONDS = 5.0  # effort only, for the program of a cluster
DESCENT_SHARE = 0.2  # share of the time that the heuristic tree may take
DESCENT_GAP = 0.02  # width of the empty strips that its planes are to have, for weights of 1-norm 1


@dataclass(frozen=True)
class Thresholds:
    """When which points of a cluster are kept."""

    beta1: float = 0.1
    """In (0, 1).  With a share of at least ``1 - beta1`` inside the hull all vertices are kept."""
    beta2: float = 0.2
    """In (0, 1].  Otherwise up to this share of the cluster: the vertices that matter, then the
    points nearest to the planes around the leaf."""
    epsilon: float = 0.0  # distance, in every column, of a point from the hull that stands for it

    def __post_init__(self) -> None:
        for declared in (
            FloatRange("beta1", 0.1, low=0.0, low_open=True, high=1.0, high_open=True),
            FloatRange("beta2", 0.2, low=0.0, low_open=True, high=1.0),
            FloatRange("epsilon", 0.0, low=0.0),
        ):
            read = declared.check(getattr(self, declared.name))
            object.__setattr__(self, declared.name, read)


@dataclass(frozen=True, eq=False)
class Selection:
    """Rows to train on."""

    rows: np.ndarray  # positions of the selected rows, ascending
    weights: np.ndarray  # weight of every selected row in the objective
    n_samples: int
    clusters: tuple[dict[str, int], ...]
    """Size, points inside, vertices that matter and points kept, by cluster; ``"unfinished"`` where
    the time did not suffice to find them."""

    @property
    def unfinished(self) -> int:
        """Clusters for which the time did not suffice."""
        return sum(record.get("unfinished", 0) for record in self.clusters)

    @property
    def share(self) -> float:
        """Selected share of the rows."""
        return len(self.rows) / self.n_samples


def select_rows(
    data: Dataset,
    depth: int = 2,
    rule: str = "hull",
    thresholds: Thresholds | None = None,
    encoding: str = "scaled",
    seed: int = 0,
    time_limit: float | None = None,
    cancel: Callable[[], bool] | None = None,
    n_jobs: int = 1,
) -> Selection:
    """Select rows for a solve of SVM1-ODT (or any tree of hyperplanes).

    Parameters
    ----------
    data : Dataset
        Rows with a target.
    depth : int
        Depth of the heuristic tree whose leaves make the clusters.
    rule : str
        ``"hull"`` keeps hull vertices, ``"balanced"`` few points whose hull holds many.
    thresholds : Thresholds or None
        Shares of every cluster to keep.
    encoding : str
        Of the features.
    seed : int
        Of the screening directions.
    time_limit : float or None
        Seconds; of clusters that are not finished by then the rows nearest to the planes around
        their leaf are kept, and `Selection.unfinished` counts them.
    cancel : callable or None
        Asked often; a true answer ends the work.
    n_jobs : int
        Clusters that are looked at at once, each in a process of its own; -1 for one per core.

    Returns
    -------
    Selection
        With weights of 1.

    Raises
    ------
    CancelledError
        If it was stopped.
    """
    replace(SELECT_ROWS, name="rule", default="hull").check(rule)
    stop = _Stop(None if time_limit is None else time.monotonic() + time_limit, cancel)
    problem = scaled_problem(data, depth, encoding, seed)
    share = np.inf if time_limit is None else DESCENT_SHARE * time_limit
    tree, X = heuristic_tree(problem, share), np.asarray(problem.X, dtype=np.float64)
    leaves = tree.apply(problem.X)
    clusters = [
        (leaf, part)  # of every class in every leaf, cut at medians where there are many
        for leaf in tree.labels
        for k in range(problem.n_classes)
        for part in _halves(np.flatnonzero((leaves == leaf) & (problem.y == k)), X, LARGEST[rule])
    ]
    asked = stop if is_here(n_jobs, None) else _Stop(stop.deadline, None)  # which can travel
    pick = _Picker(seed, thresholds or Thresholds(), rule, asked)
    calls = (delayed(pick.from_cluster)(tree, leaf, X[rows]) for leaf, rows in clusters)
    kept, records = [], {}
    for k, chosen in in_parallel(calls, n_jobs, None):
        stop.if_cancelled()
        kept.append(clusters[k][1][chosen.rows])
        records[k] = chosen.record
    rows = np.sort(np.concatenate(kept))
    in_order = tuple(records[k] for k in sorted(records))
    return Selection(rows, np.ones(len(rows)), problem.n_samples, in_order)


def scaled_problem(data: Dataset, depth: int, encoding: str = "scaled", seed: int = 0) -> Problem:
    """Rows as the selection sees them."""
    settings = check_settings("svm1-odt", encoding=encoding, depth=depth, seed=seed)
    return prepare(data, settings).problem


def heuristic_tree(problem: Problem, seconds: float = np.inf) -> Tree:
    """The most accurate of a greedy tree and of trees of planes that descended on some rows.

    Rows near its planes are kept, so that planes in the wrong places would keep the wrong rows.
    """
    found = [grow(problem)]
    if problem.n_features:
        points = count_classes(problem.X, problem.y, problem.weights, problem.n_classes)
        rng = np.random.default_rng(problem.seed)
        splits = 2**problem.depth - 1
        descent = Descent(points, problem.depth, splits, DESCENT_GAP, rng)
        trees = descent.trees(time.perf_counter() + seconds)
        found += [to_tree(points, planes) for planes in trees]
    return max(found, key=lambda tree: metrics.accuracy(tree, problem.X, problem.y))


def select_again(
    problem: Problem, tree: Tree, X: np.ndarray, thresholds: Thresholds, time_limit: float
) -> Selection:
    """All errors, and from the correct rows of every leaf those that stand for the others."""
    wrong = np.flatnonzero(tree.predict_codes(X) != problem.y)
    stop = _Stop(time.monotonic() + time_limit, None)
    pick = _Picker(problem.seed, thresholds, "hull", stop, any_multiplier=True)
    kept, heavy, records = [wrong], [np.zeros(len(wrong), dtype=bool)], []
    leaves = tree.apply(X)
    for leaf, label in tree.labels.items():
        own = np.flatnonzero((leaves == leaf) & (problem.y == label))
        for rows in _halves(own, X, LARGEST["hull"]):
            chosen = pick.from_cluster(tree, leaf, X[rows])
            kept.append(rows[chosen.rows])
            heavy.append(chosen.stands_for_others)
            records.append(chosen.record)
    rows, is_heavy = np.concatenate(kept), np.concatenate(heavy)
    weights = np.where(is_heavy, len(wrong) + 1.0, 1.0)
    order = np.argsort(rows)
    return Selection(rows[order], weights[order], problem.n_samples, tuple(records))


@dataclass(frozen=True, eq=False)
class _Chosen:
    rows: np.ndarray
    stands_for_others: np.ndarray
    record: dict[str, int]


class _OutOfTime(Exception):
    """The deadline of the selection has passed."""


@dataclass(frozen=True)
class _Stop:
    """Asked between points: raises when the time is over or somebody wants to stop."""

    deadline: float | None
    cancel: Callable[[], bool] | None

    def __call__(self) -> None:
        self.if_cancelled()
        if self.deadline is not None and time.monotonic() > self.deadline:
            raise _OutOfTime

    def if_cancelled(self) -> None:
        """Raise if somebody wants to stop."""
        if self.cancel is not None and self.cancel():
            raise CancelledError("The selection of rows was stopped; no row was chosen.")


@dataclass(frozen=True, eq=False)
class _Picker:
    """Keeps some points of a cluster, by position; of equal points the first one."""

    seed: int
    thresholds: Thresholds
    rule: str
    stop: _Stop
    any_multiplier: bool = False

    def from_cluster(self, tree: Tree, leaf: int, points: np.ndarray) -> _Chosen:
        rows = distinct_rows(points)[0]
        X = points[rows]
        try:
            if self.rule == "balanced":
                return self._balanced(rows, X)
            return self._hull(tree, leaf, rows, X)
        except _OutOfTime:
            return self._nearest(tree, leaf, rows, X)

    def _hull(self, tree: Tree, leaf: int, rows: np.ndarray, X: np.ndarray) -> _Chosen:
        split = split_hull(X, np.random.default_rng(self.seed), self.stop, self.thresholds.epsilon)
        # At most d + 1 multipliers of a point are positive and sum to 1: one is that large.
        least = 0.0 if self.any_multiplier else 1.0 / (X.shape[1] + 1) - 1e-9
        matter = [
            members[shares >= least]
            for members, shares in zip(split.members, split.multipliers, strict=True)
        ]
        J = np.unique(np.concatenate(matter)) if matter else np.zeros(0, dtype=np.int64)
        kept = self._keep(tree, leaf, X, split, J)
        record = {"size": len(rows), "inside": len(split.inner), "matter": len(J)}
        return _Chosen(rows[kept], np.isin(kept, J), {**record, "kept": len(kept)})

    def _nearest(self, tree: Tree, leaf: int, rows: np.ndarray, X: np.ndarray) -> _Chosen:
        """Without knowing the hull: the share of rows nearest to the planes around the leaf."""
        room = int(np.ceil(self.thresholds.beta2 * len(X)))
        kept = np.sort(np.argsort(self._plane_distance(tree, leaf, X), kind="stable")[:room])
        record = {"size": len(rows), "unfinished": 1, "kept": len(kept)}
        return _Chosen(rows[kept], np.zeros(len(kept), dtype=bool), record)

    def _keep(
        self, tree: Tree, leaf: int, X: np.ndarray, split: HullSplit, J: np.ndarray
    ) -> np.ndarray:
        room = int(np.ceil(self.thresholds.beta2 * len(X)))
        if len(split.inner) >= (1 - self.thresholds.beta1) * len(X):
            return split.vertices
        if len(J) >= room:
            return J
        others = np.setdiff1d(split.vertices, J)
        near = np.argsort(self._plane_distance(tree, leaf, X[others]), kind="stable")
        return np.sort(np.concatenate([J, others[near[: room - len(J)]]]))

    def _plane_distance(self, tree: Tree, leaf: int, X: np.ndarray) -> np.ndarray:
        """Euclidean distance to the nearest plane on the path of a leaf."""
        distance = np.full(len(X), np.inf)
        node = leaf // 2
        while node:
            distance = np.minimum(distance, tree.splits[node].distance(X))
            node //= 2
        return distance

    def _balanced(self, rows: np.ndarray, X: np.ndarray) -> _Chosen:
        self.stop()
        found = balanced_choice(X, self.thresholds.epsilon, BALANCED_SECONDS)
        # nothing to gain by any hull: the points stand for themselves
        chosen = found if len(found) else np.arange(len(X))
        record = {"size": len(rows), "kept": len(chosen)}
        return _Chosen(rows[chosen], np.ones(len(chosen), dtype=bool), record)


def _halves(at: np.ndarray, X: np.ndarray, largest: int) -> Iterator[np.ndarray]:
    """Cut a cluster at medians of its widest column until the parts are small; none if empty."""
    if len(at) <= largest:
        if len(at):
            yield at
        return
    j = int(np.ptp(X[at], axis=0).argmax())
    order = at[np.argsort(X[at, j], kind="stable")]
    half = len(order) // 2
    yield from _halves(order[:half], X, largest)
    yield from _halves(order[half:], X, largest)


CLAIM = "optimal on the selected subset of the rows; nothing is proven about the others"
SELECTION_SHARE = 0.5  # share of the time limit that the selection of rows may take


@dataclass(frozen=True, eq=False)
class SelectedRun:
    """The best tree over all rounds, judged on all rows."""

    run: Run  # solve on the selected rows that gave the tree; its numbers are about those rows
    tree: Tree
    accuracy: float  # share of *all* training rows that the tree classifies correctly
    selection: Selection
    rounds: tuple[float, ...]  # accuracy on all training rows after every round
    seconds: float  # total, selection included
    select_seconds: float = 0.0
    test_accuracy: float | None = None  # on the rows held out, None without any

    @property
    def summary(self) -> str:
        """What was trained on and how good the tree is on all rows, in one sentence."""
        chosen, held_out = self.selection, ""
        if self.test_accuracy is not None:
            held_out = f" and {percent(self.test_accuracy)} of the held-out"
        return (
            f"trained on {len(chosen.rows):,} selected rows of {chosen.n_samples:,}; the tree is "
            f"right on {percent(self.accuracy)} of all{held_out} rows"
        )

    def to_dict(self) -> dict[str, Any]:
        """The run with a record of the selection beside its own fields."""
        own = ("accuracy", "test_accuracy", "rounds", "seconds", "select_seconds")
        record = {
            "rows": len(self.selection.rows),
            "of": self.selection.n_samples,
            **{name: getattr(self, name) for name in own},
            "unfinished_clusters": self.selection.unfinished,
            "clusters": self.selection.clusters,
        }
        return {**self.run.to_dict(), "selection": jsonable(record)}


def solve_selected(
    data: Dataset,
    depth: int = 2,
    rule: str = "hull",
    thresholds: Thresholds | None = None,
    rounds: int = 1,
    time_limit: float = 300.0,
    seed: int = 0,
    formulation: str = "svm1-odt",
    test_size: float = 0.0,
    cancel: Callable[[], bool] | None = None,
    solver: Callable[..., Run] = solve,
    n_jobs: int = 1,
    **settings: Any,
) -> SelectedRun:
    """Select rows, train on them, judge on all rows; further rounds select by the last tree.

    Later rounds follow the iterative training of the paper: misclassified rows are all kept, and
    rows that stand for others weigh more than all errors together; of the other vertices, which the
    paper keeps, those that `thresholds` asks for.  The published claim that accuracy never falls
    needs the rows of one hull in one leaf, which nothing guarantees, so the best tree is returned.

    Parameters
    ----------
    data : Dataset
        Rows with a target.
    depth, rule, thresholds, seed
        As in `select_rows`.
    rounds : int
        Number of solves.
    time_limit : float
        Seconds for everything; the selection may take half of it, and the solves share the rest.
    formulation : str
        Key of a formulation whose splits are hyperplanes.
    test_size : float
        Share of the rows held out, from selection and training alike.
    cancel : callable or None
        Asked often; a true answer stops the selection, or the solve at hand and all later ones.
    solver : callable
        What trains a tree, with the arguments of `octcore.solve`.
    n_jobs : int
        Processes of the first selection, as in `select_rows`.
    **settings
        Further settings of `octcore.solve`.

    Returns
    -------
    SelectedRun
        Certificate: optimal on the selected subset at most.

    Raises
    ------
    SettingsError, DataError
        Before anything is selected, for settings that cannot work.
    CancelledError
        If it was stopped before there was a tree.
    """
    rounds = replace(SELECT_ROUNDS, name="rounds").check(rounds)
    check_formulation(formulation)
    start = time.perf_counter()
    thresholds = thresholds or Thresholds()
    train, test, _ = split_rows(data, test_size, seed)
    problem = scaled_problem(train, depth, seed=seed)
    selection = select_rows(
        train, depth, rule, thresholds, "scaled", seed, SELECTION_SHARE * time_limit, cancel, n_jobs
    )
    select_seconds = time.perf_counter() - start
    best: SelectedRun | None = None
    history: list[float] = []
    for turn in range(rounds):
        left = time_limit - (time.perf_counter() - start)
        if left <= 0 and best is not None:
            break
        weights = {} if turn == 0 else {"sample_weight": selection.weights}
        asked = {"formulation": formulation, "depth": depth, "seed": seed, "cancel": cancel}
        limit = max(1.0, left / (rounds - turn))
        rows = train.subset(selection.rows)
        run = solver(rows, time_limit=limit, **asked, **weights, **settings)
        found = _judged(run, selection, train, test)
        history.append(found.accuracy)
        best = found if best is None or found.accuracy > best.accuracy else best
        if run.stop_reason in STOPPED:
            break
        if turn + 1 < rounds:
            X = np.asarray(run.encoding.transform(train.frame), dtype=float)
            left = time_limit - (time.perf_counter() - start)
            share = max(0.0, SELECTION_SHARE * left)
            selection = select_again(problem, found.tree, X, thresholds, share)
    assert best is not None
    seconds = time.perf_counter() - start
    return replace(best, rounds=tuple(history), seconds=seconds, select_seconds=select_seconds)


def check_formulation(key: str) -> None:
    """Refuse formulations whose splits are no hyperplanes, but test one column at a time."""
    if get_formulation(key).info.split_kind != "oblique":
        raise SettingsError(
            "SELECTION_NEEDS_PLANES",
            f"Selected rows stand for the others only where splits are hyperplanes, but {key} "
            "splits on one column at a time; choose svm1-odt or another oblique formulation.",
            "formulation",
        )


def _judged(run: Run, selection: Selection, train: Dataset, test: Dataset | None) -> SelectedRun:
    tree, accuracy, held_out = run.final_tree, run.accuracy_on(train), run.accuracy_on(test)
    assert accuracy is not None
    notes = [
        f"Trained on {len(selection.rows):,} selected rows of {selection.n_samples:,}; objective, "
        "bound and gap are about those."
    ]
    if selection.unfinished:
        notes.append(
            f"The time did not suffice to find the hulls of {selection.unfinished} of "
            f"{len(selection.clusters)} clusters; of those the rows nearest to a plane were kept."
        )
    certificate = replace(run.certificate, statements=(*run.certificate.statements, CLAIM))
    claimed = replace(run, certificate=certificate, findings=(*run.findings, *notes))
    return SelectedRun(claimed, tree, accuracy, selection, (), 0.0, test_accuracy=held_out)
