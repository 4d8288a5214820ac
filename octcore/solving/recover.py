"""A run from the trace of a solve that did not end by itself: stopped, killed or interrupted.

Nothing is taken from the dead process but its trees and bounds: rows are routed again, and every
number is recomputed as after an ordinary solve.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from octcore.data.dataset import Dataset
from octcore.engines.base import Outcome, StopReason
from octcore.engines.events import Event, Trace
from octcore.formulations.base import get_formulation
from octcore.program import Program
from octcore.solving.finish import finish
from octcore.solving.prepare import Prepared, prepare, split_rows
from octcore.solving.run import Run
from octcore.solving.settings import Asked, check_settings


def run_from_incumbent(
    data: Dataset,
    settings: Mapping[str, Any],
    events: Sequence[Event],
    stop_reason: StopReason | str,
    seconds: float,
    note: str = "",
    sample_weight: np.ndarray | None = None,
) -> Run:
    """Make the run of a solve that ended early out of what it had sent.

    Its status is ``"feasible"`` when there is a tree.  Without any incumbent a stopped or late
    solve gets the majority leaf if the constraints admit it; a failed one gets no tree.  `data` are
    all rows that were given to the solve, `events` all that arrived, and `note` is a sentence for
    the user about the end, which was "cancelled", "time_limit" or "error".
    """
    reason = StopReason(stop_reason)
    prepared = prepare(data, check_settings(**settings), sample_weight)
    program = get_formulation(prepared.settings.formulation).build(prepared.problem)
    sent = tuple(event for event in events if event.kind != "finished")
    if reason is not StopReason.ERROR and not any(event.tree for event in sent):
        sent += _majority_leaf(prepared, program, sent, seconds)
    last = sent[-1] if sent else Event(0.0, "phase", source="start")
    if note:
        sent += (replace(last, seconds=seconds, kind="note", tree=None, details={"text": note}),)
    sent += (
        replace(last, seconds=seconds, kind="finished", source=reason.value, tree=None, details={}),
    )
    return finish(prepared, sent, Outcome(reason, program.method), seconds, program)


def read_back(record: Mapping[str, Any], data: Dataset, events: Sequence[Event]) -> Run:
    """Join a stored result (`Run.to_dict`) with its events and the rows given to the solve.

    Nothing is solved; the rows are split again by the stored seed.
    """
    asked = Asked.of(record["settings"])
    train, test, _ = split_rows(data, asked.test_size, asked.seed)
    return Run.from_dict(record, Trace(tuple(events)), train, test)


def _majority_leaf(
    prepared: Prepared, program: Program, sent: tuple[Event, ...], seconds: float
) -> tuple[Event, ...]:
    leaf = prepared.problem.majority_leaf
    objective = program.evaluate(leaf)
    if objective is None:
        return ()
    bound = sent[-1].bound if sent else None
    return (Event(seconds, "incumbent", objective, bound, "warm start", tree=leaf),)
