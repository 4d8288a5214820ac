"""One kind of record for everything that happens during a solve, and the trace of them all."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from octcore.numerics import kernels
from octcore.program import Sense
from octcore.tree.tree import Tree

CLOSED, ROUNDING = 1e-9, 1e-12
"""Shares of the total weight, or of an objective: what counts as equal, and what sums lose."""
CLAIM_TOLERANCE = 1e-6
"""A solver's claim may differ from routing and optimum by its own tolerance, not by more."""


@dataclass(frozen=True)
class Event:
    """One record of a trace."""

    seconds: float  # since encoding began; start-up and the compiling of kernels do not count
    kind: str
    """One of ``"phase"`` (what is being done now), ``"model"`` (its size), ``"incumbent"``,
    ``"bound"``, ``"progress"``, ``"cuts"``, ``"note"``, ``"finished"`` and ``"verified"``."""
    incumbent: float | None = None
    bound: float | None = None
    """`incumbent`, `bound`: best objective and best bound so far, in the formulation's own
    sense."""
    source: str = ""
    """Who found the incumbent ("warm start", "solver", "polish", "search"), or the phase."""
    nodes: int = 0
    cuts: int = 0  # `nodes`, `cuts`: branch-and-bound nodes and cuts so far
    tree: Tree | None = None
    details: Mapping[str, Any] = field(default_factory=dict)
    """Plain data that belongs to the kind: model size, cut counts, text."""

    @property
    def gap(self) -> float | None:
        """Relative gap, None unless there are both an incumbent and a bound."""
        return relative_gap(self.incumbent, self.bound)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for one JSON line."""
        names = ("kind", "incumbent", "bound", "gap", "source", "nodes", "cuts")
        record = {"seconds": round(self.seconds, 6)} | {n: getattr(self, n) for n in names}
        if self.tree is not None:
            record["tree"] = self.tree.to_dict()
        if self.details:
            record["details"] = dict(self.details)
        return record

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> Event:
        """Read an event back from plain data."""
        tree = record.get("tree")
        return cls(
            float(record["seconds"]), str(record["kind"]), record.get("incumbent"),
            record.get("bound"), str(record.get("source", "")),
            nodes=int(record.get("nodes", 0)), cuts=int(record.get("cuts", 0)),
            tree=None if tree is None else Tree.from_dict(tree),
            details=dict(record.get("details", {})),
        )  # fmt: skip


def relative_gap(objective: float | None, bound: float | None) -> float | None:
    """``|bound - objective| / max(1e-10, |objective|)``, None where one is missing."""
    if objective is None or bound is None:
        return None
    return abs(bound - objective) / max(1e-10, abs(objective))


def closing_slack(objective: float, span: float) -> float:
    """Distance of bound and objective that counts as none.

    `span`: objective of the weight of all rows, of which searches keep a share as their tolerance;
    infinite where it counts no rows.
    """
    share = (CLOSED + ROUNDING) * (span if math.isfinite(span) else max(1.0, abs(objective)))
    # Where errors cost next to nothing, the numbers themselves are no finer.
    return max(share, 4 * math.ulp(objective))


def claim_slack(objective: float, span: float) -> float:
    """By how much a solver's claim may miss; no larger share of what errors may cost.

    `span`: as for `closing_slack`.
    """
    return CLAIM_TOLERANCE * min(max(1.0, abs(objective)), span)


def is_denied(distance: float, objective: float, allowed: float, span: float) -> bool:
    """Whether a tree is so far beyond a bound, a negative distance from it, that one is wrong.

    A solver's bound misses by its tolerance, and by what is `allowed` otherwise.
    """
    return distance < -max(allowed, claim_slack(objective, span))


def finite(value: float | None) -> float | None:
    """Map infinities, solver infinities (1e20 and beyond) and NaN to None."""
    if value is None or not math.isfinite(value) or abs(value) >= 1e20:
        return None
    return float(value)


class Clock:
    """Time since the start and time left, in seconds; it stands still while kernels compile."""

    def __init__(self, time_limit: float) -> None:
        self.start = kernels.now()
        self.time_limit = time_limit
        self._spent = kernels.spent()

    @property
    def preparing(self) -> float:
        """Seconds since the start that were spent on compiling or loading kernels."""
        return kernels.spent() - self._spent

    @property
    def elapsed(self) -> float:
        """Seconds since the start without those for kernels."""
        return kernels.now() - self.start

    @property
    def remaining(self) -> float:
        """Seconds left, never negative."""
        return max(0.0, self.time_limit - self.elapsed)


class Recorder:
    """Keeps incumbent and bound monotone and turns them into events.

    `granularity`: smallest positive difference of two objective values; bounds are rounded to it.
    `tolerance`: relative gap that counts as closed, if that is more than `closing_slack`.
    `span`: as for `closing_slack`.
    """

    PROGRESS_SECONDS = 0.25

    def __init__(
        self,
        sense: Sense,
        clock: Clock,
        emit: Callable[[Event], None],
        granularity: float = 0.0,
        tolerance: float = 0.0,
        span: float = math.inf,
    ) -> None:
        self.sense, self.clock, self.granularity, self.span = sense, clock, granularity, span
        self.tolerance = tolerance
        self._emit = emit
        self.state = Event(0.0, "phase")
        self._last_progress = -math.inf

    @property
    def objective(self) -> float | None:
        """Objective of the best tree so far."""
        return self.state.incumbent

    @property
    def best_bound(self) -> float | None:
        """Best bound so far."""
        return self.state.bound

    @property
    def tree(self) -> Tree | None:
        """The best tree so far."""
        return self.state.tree

    def phase(self, name: str, **details: Any) -> None:
        """Say what is being done from now on ("warm start", "build", "compile", "solve", …)."""
        self._send("phase", source=name, details=details)

    def note(self, text: str, **details: Any) -> None:
        """Record a remark for the user."""
        self._send("note", details={"text": text, **details})

    def model(self, details: Mapping[str, Any]) -> None:
        """Record the size of the model."""
        self._send("model", details=details)

    def incumbent(self, objective: float, tree: Tree, source: str, or_equal: bool = False) -> bool:
        """Offer a tree with its recomputed objective; returns whether it is the new incumbent.

        `or_equal`: whether it is where it is as good as the best one but for rounding.
        """
        best = self.state.incumbent
        if best is not None and not self.sense.better(objective, best):
            if not or_equal or abs(best - objective) > closing_slack(best, self.span):
                return False
        self.state = replace(self.state, incumbent=float(objective), tree=tree)
        self._send("incumbent", source=source, tree=tree)
        return True

    def bound(self, value: float | None, nodes: int | None = None) -> None:
        """Offer a proven bound; a weaker one than known changes nothing."""
        value = finite(value)
        if value is None:
            return
        best = self.state.bound
        if best is not None and not self.sense.better(best, value):
            return
        self.state = replace(self.state, bound=value)
        self._count(nodes, None)
        self._send("bound")

    def progress(self, nodes: int | None = None, cuts: int | None = None, **details: Any) -> bool:
        """Record counts at most four times a second; returns whether it did."""
        self._count(nodes, cuts)
        now = self.clock.elapsed
        if now - self._last_progress < self.PROGRESS_SECONDS:
            return False
        self._last_progress = now
        self._send("progress", details=details)
        return True

    def cut_round(self, counts: Mapping[str, int], pictures: tuple[Any, ...] = ()) -> None:
        """Record cuts added, by family, with plain data for pictures of some of them."""
        self._count(None, self.state.cuts + sum(counts.values()))
        self._send("cuts", details={"counts": dict(counts), "pictures": list(pictures)})

    def finished(self, stop_reason: str, **details: Any) -> None:
        """Close the trace."""
        self._send("finished", source=stop_reason, details=details)

    @property
    def is_closed(self) -> bool:
        """Whether bound and incumbent prove optimality, by equality or by granularity.

        A tree beyond the bound proves nothing, see `is_denied`.
        """
        objective, bound = self.state.incumbent, self.state.bound
        if objective is None or bound is None:
            return False
        distance = bound - objective if self.sense is Sense.MAXIMISE else objective - bound
        slack = closing_slack(objective, self.span)
        allowed = max(slack, self.tolerance * abs(objective))
        step = self.granularity * (1 - 1e-6) - slack
        is_wrong = is_denied(distance, objective, allowed, self.span)
        return not is_wrong and distance <= max(allowed, step)

    def _count(self, nodes: int | None, cuts: int | None) -> None:
        self.state = replace(
            self.state,
            nodes=self.state.nodes if nodes is None else int(nodes),
            cuts=self.state.cuts if cuts is None else int(cuts),
        )

    def _send(
        self,
        kind: str,
        source: str = "",
        tree: Tree | None = None,
        details: Mapping[str, Any] | None = None,
    ) -> None:
        news = {"kind": kind, "source": source, "tree": tree, "details": dict(details or {})}
        self._emit(replace(self.state, seconds=self.clock.elapsed, **news))


@dataclass(frozen=True)
class Trace:
    """Events of one solve in the order of time."""

    events: tuple[Event, ...] = ()

    def __iter__(self) -> Iterator[Event]:
        return iter(self.events)

    def __len__(self) -> int:
        return len(self.events)

    @property
    def incumbents(self) -> tuple[Event, ...]:
        """Events that brought a better tree."""
        return tuple(event for event in self.events if event.kind == "incumbent")

    @property
    def phases(self) -> tuple[Event, ...]:
        """Events that started a phase."""
        return tuple(event for event in self.events if event.kind == "phase")

    def to_json_lines(self) -> str:
        """One JSON object a line."""
        return "".join(
            json.dumps(event.to_dict(), allow_nan=False, default=str) + "\n"
            for event in self.events
        )
