"""The list of runs: one line each, any number of them selected."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

import pandas as pd
import streamlit as st

from dashboard import text
from dashboard.history import Entry

STATES = {
    "queued": "⏳ waiting",
    "running": "▶ running",
    "stopping": "▶ stopping",
    "stopped": "■ stopped",
    "failed": "✗ failed",
    "interrupted": "⚡ interrupted",
}


def name_of(entry: Entry) -> str:
    """Name of a run, made of its settings when it has none."""
    return text.printable(entry.name or str(entry.settings.get("formulation", "run")), 80)


def when(created: float) -> str:
    """Day and time in UTC, as the server does not know the zone of the browser."""
    return datetime.fromtimestamp(created, UTC).strftime("%Y-%m-%d %H:%M:%S")


def state_words(entry: Entry) -> str:
    """Say how a run stands: its proof when it is done."""
    badge = str(entry.summary.get("badge", ""))
    if entry.state == "done":
        return f"★ {badge}" if badge.startswith("proven") else badge or "done"
    return STATES.get(entry.state, entry.state)


def history_frame(entries: Sequence[Entry]) -> pd.DataFrame:
    """Make one row per run, with numbers as numbers so that columns sort."""
    return pd.DataFrame(
        {
            "name": [name_of(e) for e in entries],
            "state": [state_words(e) for e in entries],
            "accuracy": [_percent(e, "accuracy") for e in entries],
            "held out": [_percent(e, "test_accuracy") for e in entries],
            "gap": [text.gap(e.summary.get("gap")) for e in entries],
            "leaves": pd.array([e.summary.get("n_leaves") for e in entries], dtype="Int64"),
            "seconds": [e.summary.get("seconds") for e in entries],
            "started (UTC)": [datetime.fromtimestamp(e.created, UTC) for e in entries],
        }
    )


def _percent(entry: Entry, name: str) -> float | None:
    value = entry.summary.get(name)
    return None if value is None else 100 * float(value)


def draw(entries: Sequence[Entry]) -> list[Entry]:
    """Draw the table; returns the selected runs.

    Parameters
    ----------
    entries : sequence of Entry
        Newest first.
    """
    share = st.column_config.NumberColumn(format="%.1f %%", width="small")
    picked = st.dataframe(
        history_frame(entries),
        hide_index=True,
        height=min(420, 38 + 35 * len(entries)),
        key="history_table",
        on_select="rerun",
        selection_mode="multi-row",
        alt=f"History of {len(entries)} runs",
        column_config={
            "name": st.column_config.TextColumn(width="medium"),
            "accuracy": share,
            "held out": share,
            "seconds": st.column_config.NumberColumn(format="%.2f", width="small"),
            "started (UTC)": st.column_config.DatetimeColumn(format="YYYY-MM-DD HH:mm:ss"),
        },
    )
    rows = picked["selection"]["rows"]
    return [entries[row] for row in rows if row < len(entries)]
