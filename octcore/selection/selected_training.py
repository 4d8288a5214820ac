"""Training on selected rows and judging the tree on all of them."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from octcore.data.dataset import Dataset
from octcore.data.findings import percent
from octcore.errors import SettingsError
from octcore.formulations.base import get_formulation
from octcore.selection.data_selection import (
    Selection,
    Thresholds,
    scaled_problem,
    select_again,
    select_rows,
)
from octcore.serial import jsonable
from octcore.solving.prepare import split_rows
from octcore.solving.run import STOPPED, Run
from octcore.solving.solve import solve
from octcore.tree.tree import Tree

CLAIM = "optimal on the selected subset of the rows; nothing is proven about the others"
SELECTION_SHARE = 0.5
"""Share of the time limit that the selection of rows may take."""


@dataclass(frozen=True, eq=False)
class SelectedRun:
    """The best tree over all rounds, judged on all rows."""

    run: Run
    """Solve on the selected rows that gave the tree; its numbers are about those rows."""
    tree: Tree
    accuracy: float
    """Share of *all* training rows that the tree classifies correctly."""
    selection: Selection
    rounds: tuple[float, ...]
    """Accuracy on all training rows after every round."""
    seconds: float
    """Total, selection included."""
    select_seconds: float = 0.0
    test_accuracy: float | None = None
    """On the rows held out, None without any."""

    @property
    def summary(self) -> str:
        """What was trained on and how good the tree is on all rows, in one sentence."""
        chosen = self.selection
        held_out = (
            ""
            if self.test_accuracy is None
            else f" and {percent(self.test_accuracy)} of the held-out"
        )
        return (
            f"trained on {len(chosen.rows)} selected rows of {chosen.n_samples}; the tree is right "
            f"on {percent(self.accuracy)} of all{held_out} rows"
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
    rows that stand for others weigh as much as all errors together.  The published claim that
    accuracy never falls needs the rows of one hull to end in one leaf, which nothing guarantees,
    so the best tree over all rounds is returned.

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
    if rounds < 1:
        raise SettingsError("OUT_OF_RANGE", f"rounds must be at least 1, not {rounds!r}.", "rounds")
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
        run = solver(
            train.subset(selection.rows),
            formulation=formulation,
            depth=depth,
            time_limit=max(1.0, left / (rounds - turn)),
            seed=seed,
            cancel=cancel,
            **weights,
            **settings,
        )
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


def _judged(run: Run, selection: Selection, train: Dataset, test: Dataset | None) -> SelectedRun:
    """One round, judged on all rows."""
    tree, accuracy, held_out = run.final_tree, run.accuracy_on(train), run.accuracy_on(test)
    assert accuracy is not None
    claimed = _with_claim(run, selection)
    return SelectedRun(claimed, tree, accuracy, selection, (), 0.0, test_accuracy=held_out)


def check_formulation(key: str) -> None:
    """Refuse formulations whose splits are no hyperplanes, but test one column at a time."""
    if get_formulation(key).info.split_kind != "oblique":
        raise SettingsError(
            "SELECTION_NEEDS_PLANES",
            f"Selected rows stand for the others only where splits are hyperplanes, but {key} "
            "splits on one column at a time; choose svm1-odt or another oblique formulation.",
            "formulation",
        )


def _with_claim(run: Run, selection: Selection) -> Run:
    notes = [
        f"Trained on {len(selection.rows)} selected rows of {selection.n_samples}; objective, "
        "bound and gap are about those."
    ]
    if selection.unfinished:
        notes.append(
            f"The time did not suffice to find the hulls of {selection.unfinished} of "
            f"{len(selection.clusters)} clusters; of those the rows nearest to a plane were kept."
        )
    certificate = replace(run.certificate, statements=(*run.certificate.statements, CLAIM))
    return replace(run, certificate=certificate, findings=(*run.findings, *notes))
