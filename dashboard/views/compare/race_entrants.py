"""Solves as the figures of a comparison want them."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
import streamlit as st

from dashboard import cached
from dashboard.server.job_view import JobView
from dashboard.views.compare.presets import flat_settings, short_labels
from octcore.data.dataset import Dataset
from octcore.encoding.base import Encoding
from octcore.formulations.base import objective_words
from octcore.plotting.race import Entrant
from octcore.solving.settings import Asked
from octcore.tree.tree import Tree

COUNTS_FOR_THE_PROBLEM = ("encoding", "depth", "leaf_penalty", "split_weight", "alpha", "test_size")
KEEP = 512


def labels_of(views: Sequence[JobView]) -> tuple[str, ...]:
    """Short names of solves by what differs, the data included."""
    labels = short_labels([view.settings for view in views], _titles(views))
    names = [data_name(view) for view in views]
    if len(set(names)) == 1:
        return labels
    return tuple(f"{label} on {name}" for label, name in zip(labels, names, strict=True))


def _titles(views: Sequence[JobView]) -> dict[int, str]:
    """A tree that somebody kept is none that its formulation's search ended with."""
    words = {"near-optimal": "Near-optimal tree"}
    methods = {i: view.run.certificate.method for i, view in enumerate(views) if view.run}
    return {i: words[method] for i, method in methods.items() if method in words}


def data_name(view: JobView) -> str:
    """Name of the data of a solve."""
    if view.data is not None:
        return view.data.name
    settings = view.settings if view.run is None else view.run.settings
    return str(dict(settings.get("data") or {}).get("name", "data"))


def entrants_of(views: Sequence[JobView], with_accuracy: bool) -> tuple[Entrant, ...]:
    """Turn solves into what the race chart draws.

    Parameters
    ----------
    with_accuracy : bool
        Route the rows through every incumbent, which only the accuracy scale needs.
    """
    return tuple(
        Entrant(
            label,
            view.trace,
            objective_words(view.settings),
            problem_of(view),
            _proven(view),
            _span(view),
            _accuracies(view) if with_accuracy else (),
        )
        for view, label in zip(views, labels_of(views), strict=True)
    )


def _proven(view: JobView) -> float | None:
    run = view.run
    return run.objective if run and run.is_optimal and run.certificate.proven else None


def _span(view: JobView) -> tuple[float, float] | None:
    return None if view.started is None else (view.started, view.finished or time.time())


def problem_of(view: JobView) -> str:
    """Text that is equal for solves of the same problem, whatever the formulation.

    Same rows, same encoded columns, same objective, depth and constraints: the optimum that one
    proves is the optimum of the other.
    """
    flat = flat_settings(view.settings)
    part = _rows(view)
    if part is None:
        return view.id
    train, encoding = part
    record: dict[str, Any] = {name: flat.get(name) for name in COUNTS_FOR_THE_PROBLEM}
    record["objective"] = objective_words(view.settings)
    record["constraints"] = Asked.of(view.settings).constraints
    record["columns"] = list(encoding.names)
    record["rows"] = cached.data_token(train)
    return json.dumps(record, sort_keys=True, default=str)


def _rows(view: JobView) -> tuple[Dataset, Encoding] | None:
    if view.run is not None and view.run.train is not None:
        return view.run.train, view.run.encoding
    if view.data is None:
        return None
    return cached.training_part(view.data, cached.data_token(view.data), view.settings)


def _accuracies(view: JobView) -> tuple[float, ...]:
    part = _rows(view)
    trees = [event.tree for event in view.trace.incumbents if event.tree is not None]
    if part is None:
        return ()
    return tuple(_accuracy(view.id, i, tree, *part) for i, tree in enumerate(trees))


@st.cache_resource(max_entries=KEEP, show_spinner=False)
def _accuracy(run_id: str, index: int, _tree: Tree, _train: Dataset, _encoding: Encoding) -> float:
    predicted = _tree.predict_codes(_encoding.transform(_train.frame))
    return float(np.mean(predicted == _train.y))
