"""The list of runs: one line each, any number of them selected."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from statistics import fmean, pstdev

import pandas as pd
import streamlit as st

from dashboard.server.job_view import JobView, setting_words
from dashboard.widgets import chart
from octcore.plotting import text
from octcore.solving.settings import Asked

STATES = {
    "queued": "⏳ waiting",
    "running": "▶ running",
    "stopping": "▶ stopping",
    "stopped": "■ stopped",
    "failed": "✗ failed",
    "interrupted": "⚡ interrupted",
}

NARROW = 72
"""Width of a column of numbers, in pixels: all but the last column are seen on 1,024."""

SPLIT = re.compile(r", split \d+$")
"""End of the name of a run that repeats another one on a further split."""


def name_of(entry: JobView) -> str:
    """Name of a run, made of its settings when it has none."""
    return text.printable(entry.title, 80)


def when(created: float) -> str:
    """Day and time in UTC, as the server does not know the zone of the browser."""
    return datetime.fromtimestamp(created, UTC).strftime("%Y-%m-%d %H:%M:%S")


def state_words(entry: JobView) -> str:
    """Say how a run stands: its proof when it is done."""
    badge = str(entry.summary.get("badge", ""))
    if entry.state == "done":
        return f"★ {badge}" if badge.lower().startswith("proven") else badge or "done"
    return STATES.get(entry.state, entry.state)


@dataclass(frozen=True)
class Line:
    """One line of the list: a run, or runs that differ only in the split of their rows."""

    name: str
    entries: tuple[JobView, ...]
    """Newest first."""

    @property
    def is_folded(self) -> bool:
        """Whether it stands for several runs."""
        return len(self.entries) > 1

    @property
    def state(self) -> str:
        """How it stands, or how many of the runs are proven."""
        if not self.is_folded:
            return state_words(self.entries[0])
        proven = sum(state_words(entry).startswith("★") for entry in self.entries)
        return f"{len(self.entries)} splits, {proven} proven"

    def mean(self, fact: str) -> float | None:
        """Mean of a number over the runs that have it."""
        values = self.values(fact)
        return fmean(values) if values else None

    def spread(self, fact: str) -> float | None:
        """Standard deviation of a number over the runs; None for a single one."""
        values = self.values(fact)
        return pstdev(values) if len(values) > 1 else None

    def values(self, fact: str) -> list[float]:
        """Numbers of the runs that have it."""
        found = (entry.summary.get(fact) for entry in self.entries)
        return [float(value) for value in found if value is not None]


def fold(entries: Sequence[JobView]) -> tuple[Line, ...]:
    """Put runs on repeated splits into one line, in the place of the newest."""
    groups: dict[str, list[JobView]] = {}
    for entry in entries:
        groups.setdefault(_group(entry), []).append(entry)
    lines = []
    for members in groups.values():
        name = name_of(members[0])
        lines.append(Line(SPLIT.sub("", name) if len(members) > 1 else name, tuple(members)))
    return tuple(lines)


def _group(entry: JobView) -> str:
    """Equal for runs that differ only in their split; the id for all others."""
    if not SPLIT.search(entry.title):
        return entry.id
    settings = {k: v for k, v in entry.settings.items() if k != "seed"}
    return SPLIT.sub("", entry.title) + json.dumps(settings, sort_keys=True, default=str)


def history_frame(lines: Sequence[Line]) -> pd.DataFrame:
    """Make one row per line, with numbers as numbers so that columns sort; what matters first."""
    leaves = [line.mean("n_leaves") for line in lines]
    return pd.DataFrame(
        {
            "name": [line.name for line in lines],
            "state": [line.state for line in lines],
            "held out": [text.hundredfold(line.mean("test_accuracy")) for line in lines],
            "± held out": [text.hundredfold(line.spread("test_accuracy")) for line in lines],
            "accuracy": [text.hundredfold(line.mean("accuracy")) for line in lines],
            "leaves": leaves,
            "gap": [text.gap(line.mean("gap")) for line in lines],
            "seconds": [line.mean("seconds") for line in lines],
            "started (UTC)": [datetime.fromtimestamp(line.entries[0].submitted, UTC)
                              for line in lines],
            "data": [text.printable(line.entries[0].summary.get("data") or "–", 40)
                     for line in lines],
            "what differs": differences([line.entries[0] for line in lines]),
        }
    )  # fmt: skip


def differences(entries: Sequence[JobView]) -> list[str]:
    """Say for every run what of its settings the others do not share."""
    found = [
        (Asked.of(entry.settings).info.title, *setting_words(entry.settings)) for entry in entries
    ]
    shared = set(found[0]).intersection(*map(set, found)) if len(found) > 1 else set()
    return [", ".join(word for word in words if word not in shared) for words in found]


def draw(entries: Sequence[JobView]) -> list[JobView]:
    """Draw the table; returns the selected runs."""
    lines = fold(entries)
    if len(lines) < len(entries) and not st.toggle(
        "Runs on repeated splits as one line, with the mean over the splits",
        value=True,
        key="history_fold",
        persist_state="session",
    ):
        lines = tuple(Line(name_of(entry), (entry,)) for entry in entries)
    share = st.column_config.NumberColumn(format="%.1f %%", width=NARROW)
    frame = history_frame(lines)
    if not any(line.is_folded for line in lines):
        frame = frame.drop(columns="± held out")
    if len(lines) == 1:
        frame = frame.drop(columns="what differs")
    picked = chart.table(
        frame,
        "history_table",
        f"History of {len(entries)} runs",
        height=min(420, 38 + 35 * len(lines)),
        placeholder="–",
        on_select="rerun",
        selection_mode="multi-row",
        column_config={
            "name": st.column_config.TextColumn(width=220),
            "held out": share,
            "± held out": st.column_config.NumberColumn(format="%.1f", width=NARROW),
            "accuracy": share,
            "leaves": st.column_config.NumberColumn(format="%.3g", width=60),
            "gap": st.column_config.Column(width=55),
            "seconds": st.column_config.NumberColumn(format="%.2f", width=NARROW),
            "started (UTC)": st.column_config.DatetimeColumn(format="YYYY-MM-DD HH:mm", width=130),
        },
    )
    rows = picked["selection"]["rows"]
    return [entry for row in rows if row < len(lines) for entry in lines[row].entries]
