"""What the proof of one run of the history says about another that asks the same."""

import contextlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from octcore.engines.events import relative_gap
from octcore.errors import OctError, read_in_words
from octcore.solving.run import BEST_FOUND, Run, best_found, tightened
from octcore.solving.settings import Asked, question
from octcore.store.runs import RunInfo, RunStore

Proofs = Sequence[tuple[RunInfo, Mapping[str, Any]]]  # proven runs, each with what it asks


def as_known(store: RunStore, infos: Iterable[RunInfo]) -> tuple[RunInfo, ...]:
    """Lines of the history, those that are open with the bounds that proofs of others give them."""
    found = [(info, str(info.summary.get("badge")).startswith(BEST_FOUND)) for info in infos]
    # Only for open ones: the list is long, and a page asks for one line again and again.
    sessions = {info.session for info, is_open in found if is_open}
    proofs = [proof for session in sessions for proof in _proofs(store.list(session))]
    return tuple(_tightened(info, proofs) if is_open else info for info, is_open in found)


def proof_of(store: RunStore, run_id: str) -> RunInfo | None:
    """A run of the same session, rows and question that is proven optimal; None without one."""
    own = store.info(run_id)
    return _closing(own, _proofs(store.list(own.session)))


def bounded(store: RunStore, run_id: str, run: Run) -> Run:
    """A run of the history with what `as_known` says of its line."""
    if run.is_optimal or run.certificate.method == "heuristic":
        return run
    found = proof_of(store, run_id)
    return run if found is None else run.bounded_by(found.summary["bound"], f"“{found.name}”")


def _proofs(infos: Iterable[RunInfo]) -> Proofs:
    """What a run asks is worked out once, not for every other run."""
    proven = (i for i in infos if i.summary.get("status") == "optimal")
    asked = ((i, _question(i)) for i in proven if i.summary.get("bound") is not None)
    return [(info, question) for info, question in asked if question is not None]


def _closing(own: RunInfo, proofs: Proofs) -> RunInfo | None:
    asked, place = _question(own), (own.session, own.rows_hash)
    same = (i for i, other in proofs if (i.session, i.rows_hash) == place and other == asked)
    return next(same, None)


def _question(info: RunInfo) -> dict[str, Any] | None:
    """What a run asks; None where rows have weights, and for what is damaged, or too new."""
    if info.summary.get("weighted"):
        return None
    with contextlib.suppress(OctError), read_in_words("BROKEN_RUN", info.id):
        return question(info.settings)
    return None


def _tightened(info: RunInfo, proofs: Proofs) -> RunInfo:
    if (proof := _closing(info, proofs)) is None:
        return info
    asked, objective = Asked.of(info.settings), info.summary["objective"]
    bound = tightened(asked, objective, info.summary["bound"], proof.summary["bound"])
    told = {"bound": bound, "gap": relative_gap(objective, bound)}
    badge = best_found(asked, objective, bound)
    return replace(info, summary={**info.summary, **told, "badge": badge})
