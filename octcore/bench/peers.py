"""Other people's programs on the same data with the same objective; all of them optional.

Every peer is called through its public Python interface in a child process of its own, and its
objective is recomputed from its predictions and its number of leaves.
"""

from __future__ import annotations

import importlib
import importlib.util
import multiprocessing
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from queue import Empty
from typing import Any

import numpy as np

from octcore.bench.instance import Instance, Line
from octcore.engines.events import relative_gap

GRACE_SECONDS, GRACE_SHARE = 5.0, 0.1


@dataclass(frozen=True)
class Answer:
    """What a peer found.

    Parameters
    ----------
    predicted : numpy.ndarray
        Class index of every row.
    leaves : int
        Leaves of its tree.
    proven : bool
        Whether it claims optimality.
    gap : float or None
        Relative gap that it reports.
    """

    predicted: np.ndarray
    leaves: int
    proven: bool
    gap: float | None = None


@dataclass(frozen=True)
class Peer:
    """A program that may be installed.

    Parameters
    ----------
    key, title, module, install : str
        Name in the table, words, module to look for, and how to install it.
    solve : callable
        ``(X, y, depth, leaf_penalty, limit) -> Answer``.
    """

    key: str
    title: str
    module: str
    install: str
    solve: Callable[[np.ndarray, np.ndarray, int, float, float], Answer]

    @property
    def is_installed(self) -> bool:
        """Whether it can be called here."""
        return importlib.util.find_spec(self.module) is not None


def _streed(X: np.ndarray, y: np.ndarray, depth: int, penalty: float, limit: float) -> Answer:
    from pystreed import STreeDClassifier  # pyright: ignore[reportMissingImports]

    model = STreeDClassifier(
        "cost-complex-accuracy", max_depth=depth, cost_complexity=penalty, time_limit=limit
    )
    model.fit(X, y)
    proven = bool(model.fit_result.is_optimal())
    return Answer(np.asarray(model.predict(X)), model.get_n_leaves(), proven)


def _dl85(X: np.ndarray, y: np.ndarray, depth: int, penalty: float, limit: float) -> Answer:
    from pydl85 import DL85Classifier  # pyright: ignore[reportMissingImports]

    # Its objective knows no price of leaves, so only penalty 0 asks the same question.
    model = DL85Classifier(max_depth=depth, time_limit=int(limit))
    model.fit(X, y)
    leaves = _count_leaves(model.tree_)
    proven = penalty == 0 and not bool(model.timeout_)
    return Answer(np.asarray(model.predict(X)), leaves, proven)


def _count_leaves(node: dict[str, Any]) -> int:
    if "feat" not in node:
        return 1
    return _count_leaves(node["left"]) + _count_leaves(node["right"])


def _odtlearn(X: np.ndarray, y: np.ndarray, depth: int, penalty: float, limit: float) -> Answer:
    import pandas as pd
    from odtlearn.flow_oct import FlowOCT  # pyright: ignore[reportMissingImports]

    # (1 - w) correct - w splits is accuracy - penalty x leaves for w = n penalty / (1 + n penalty)
    weight = len(y) * penalty / (1 + len(y) * penalty)
    model = FlowOCT(solver="cbc", depth=depth, _lambda=weight, time_limit=int(limit))
    model.fit(pd.DataFrame(X), pd.Series(y))
    predicted = np.asarray(model.predict(pd.DataFrame(X)))
    gap = float(model.optim_gap)
    splits = sum(value > 0.5 for value in model.b_value.values())
    return Answer(predicted, splits + 1, gap <= 1e-6, gap)


def _cart(X: np.ndarray, y: np.ndarray, depth: int, penalty: float, limit: float) -> Answer:
    from sklearn.tree import DecisionTreeClassifier

    model = DecisionTreeClassifier(max_depth=depth, ccp_alpha=penalty, random_state=0).fit(X, y)
    return Answer(model.predict(X), int(model.get_n_leaves()), proven=False)


PEERS = {
    peer.key: peer
    for peer in (
        Peer("pystreed", "STreeD", "pystreed", "pip install pystreed", _streed),
        Peer("pydl8.5", "DL8.5", "pydl85", "pip install pydl8.5", _dl85),
        Peer("odtlearn", "ODTLearn FlowOCT, CBC", "odtlearn", "pip install odtlearn", _odtlearn),
        Peer("sklearn-cart", "CART", "sklearn", "pip install scikit-learn", _cart),
    )
}
"""Programs that the suite `peers` can call, by key."""


def run_peer(instance: Instance, blank: Line, limit: float) -> Line:
    """Call a peer in a child process and fill the line."""
    peer = PEERS[instance.formulation]
    if not peer.is_installed:
        return replace(
            blank, status="missing", note=f"{peer.title} is not installed; {peer.install}."
        )
    data = instance.load()
    assert data.y is not None
    X = data.frame.to_numpy(dtype=np.int64)
    penalty = float(instance.settings.get("params", {}).get("leaf_penalty", 0.0))
    answer, seconds = _in_child(peer, (X, data.y, instance.depth, penalty, limit), limit)
    if not isinstance(answer, Answer):
        return replace(
            blank, status="no_solution", seconds=seconds, note=str(answer), method="peer"
        )
    accuracy = float((answer.predicted == data.y).mean())
    objective = accuracy - penalty * answer.leaves
    bound = objective if answer.proven else None
    return replace(
        blank,
        status="optimal" if answer.proven else "feasible",
        objective=objective,
        bound=bound,
        gap=relative_gap(objective, bound) if answer.proven else answer.gap,
        seconds=round(seconds, 4),
        solve_seconds=round(seconds, 4),
        accuracy=accuracy,
        leaves=answer.leaves,
        method="peer",
    )


def _in_child(peer: Peer, arguments: tuple[Any, ...], limit: float) -> tuple[Answer | str, float]:
    context = multiprocessing.get_context("spawn")
    channel: Any = context.Queue()
    child = context.Process(target=_call, args=(peer.key, arguments, channel), daemon=True)
    child.start()
    try:
        channel.get(timeout=60.0)  # imported
        return channel.get(timeout=limit + max(GRACE_SECONDS, GRACE_SHARE * limit))
    except Empty:
        return "ended at the hard deadline without an answer", limit
    finally:
        child.kill()
        child.join()


def _call(key: str, arguments: tuple[Any, ...], channel: Any) -> None:
    peer = PEERS[key]
    importlib.import_module(peer.module)
    channel.put("ready")
    start = time.perf_counter()
    try:
        answer: Answer | str = peer.solve(*arguments)
    except Exception as error:  # a foreign program may raise anything
        answer = f"{type(error).__name__}: {error}"
    channel.put((answer, time.perf_counter() - start))
