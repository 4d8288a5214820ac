"""Other people's programs on the same data with the same objective; all of them optional.

Every peer is called through its public Python interface in a child process of its own, which is
killed at the limit, and its objective is recomputed by sending the rows through its tree.
"""

from __future__ import annotations

import importlib
import importlib.util
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection
from typing import Any

import numpy as np

from octcore.bench.suite import Instance, Line
from octcore.engines.events import relative_gap
from tests.bench.rivals import programs
from tests.bench.rivals.child import ask_child, isolate
from tests.bench.rivals.programs import Answer, Parity, Question, leaf_count, route

TOLERANCE = 1e-6


@dataclass(frozen=True)
class Peer:
    """A program that may be installed."""

    key: str
    title: str
    module: str
    install: str
    """`key`, `title`, `module`, `install`: name in the table, words, module to look for, and how to
    install it."""
    solve: Callable[[Question], Answer]
    """``Question -> Answer``."""
    needs_parity: bool = False
    """Whether it answers questions with a parity limit, and only those."""

    @property
    def is_installed(self) -> bool:
        """Whether it can be called here."""
        return importlib.util.find_spec(self.module) is not None


_ODTLEARN = ("odtlearn", "pip install odtlearn 'mip<1.16'")
PEERS = {
    peer.key: peer
    for peer in (
        Peer("pystreed", "STreeD", "pystreed", "pip install pystreed", programs.streed),
        Peer("pycontree", "ConTree", "pycontree", "pip install pycontree", programs.contree),
        Peer("pydl8.5", "DL8.5", "pydl85", "pip install pydl8.5", programs.dl85),
        Peer("odtlearn", "ODTLearn FlowOCT, CBC", *_ODTLEARN, programs.flow_oct),
        Peer("odtlearn-benders", "ODTLearn BendersOCT, CBC", *_ODTLEARN, programs.benders_oct),
        Peer("odtlearn-fair", "ODTLearn FairOCT, CBC", *_ODTLEARN, programs.fair_oct, True),
        Peer("sklearn-cart", "CART", "sklearn", "pip install scikit-learn", programs.cart),
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
    question = _question(instance, limit)
    if peer.needs_parity != (question.parity is not None):
        verb = "needs a" if peer.needs_parity else "knows no"
        return replace(blank, status="refused", note=f"{peer.title} {verb} parity limit.")
    reply = ask_child(_call, (peer.key, question), question.limit)
    answer, seconds = reply.answer, round(reply.seconds, 4)
    blank = replace(blank, method="peer", seconds=seconds, cpu_seconds=round(reply.cpu_seconds, 3))
    if isinstance(answer, str):
        return replace(blank, status="no_solution", note=answer)
    if answer.tree is None:
        return replace(blank, status="no_solution", note="no tree within the limit")
    return _judged(blank, question, answer)


def _question(instance: Instance, limit: float) -> Question:
    data = instance.load()
    X = data.frame.to_numpy(dtype=float)
    wanted = instance.settings.get("constraints", {}).get("statistical_parity")
    parity = None
    if wanted is not None:
        groups = data.frame[wanted["attribute"]].to_numpy(dtype=int)
        parity = Parity(groups, data.n_classes - 1, float(wanted["max_gap"]))
    return Question(
        X.astype(np.int64) if np.isin(X, (0, 1)).all() else X,
        data.codes,
        instance.depth,
        float(instance.settings.get("params", {}).get("leaf_penalty", 0.0)),
        limit,
        parity,
    )


def _judged(blank: Line, question: Question, answer: Answer) -> Line:
    """Fill in what the peer's tree is worth to us."""
    assert answer.tree is not None
    predicted = route(answer.tree, question.X)
    accuracy, leaves = float((predicted == question.y).mean()), leaf_count(answer.tree)
    objective = accuracy - question.leaf_penalty * leaves
    bound = objective if answer.proven else answer.bound
    notes = [answer.note, _parity_note(question.parity, predicted)]
    return replace(
        blank,
        status="optimal" if answer.proven else "feasible",
        objective=objective,
        bound=bound,
        gap=None if bound is None else relative_gap(objective, bound),
        solve_seconds=blank.seconds,
        accuracy=accuracy,
        leaves=leaves,
        note="; ".join(note for note in notes if note),
    )


def _parity_note(parity: Parity | None, predicted: np.ndarray) -> str:
    if parity is None:
        return ""
    positive = predicted == parity.positive
    shares = [positive[parity.groups == group].mean() for group in np.unique(parity.groups)]
    gap = float(max(shares) - min(shares))
    words = f"parity gap {gap:.4f}"
    return f"{words}, above the limit" if gap > parity.max_gap + TOLERANCE else words


def _call(channel: Connection, key: str, question: Question) -> None:
    peer = PEERS[key]
    isolate()
    try:
        importlib.import_module(peer.module)
        channel.send("ready")
        start = time.perf_counter()
        answer: Any = peer.solve(question)
        channel.send((answer, time.perf_counter() - start))
    except Exception as error:  # a foreign program may raise anything
        message = " ".join(str(error).split())
        channel.send((f"{type(error).__name__}: {message}", 0.0))
