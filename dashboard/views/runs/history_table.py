"""The list of runs, any number of them selected: to open, compare, rename, export, delete."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from statistics import fmean, pstdev

import pandas as pd
import streamlit as st

from dashboard import session
from dashboard.server import jobs
from dashboard.server.job_view import JobView
from dashboard.server.supervisor import Supervisor
from dashboard.views.compare.presets import differences
from dashboard.views.runs import exports
from dashboard.widgets import chart, data_thread, inputs, run_summary
from octcore.errors import OctError
from octcore.plotting import text

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
            "what differs": list(differences([line.entries[0].settings for line in lines])),
        }
    )  # fmt: skip


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


def draw_actions(selected: Sequence[JobView]) -> None:
    """Draw the selected runs: one with its tree, several with what they can do together."""
    if len(selected) == 1:
        _one(selected[0])
    else:
        st.subheader(f"{len(selected)} runs selected", anchor=False)
        left, middle, _ = st.columns([2, 2, 3])
        comparable = [entry for entry in selected if entry.is_final]
        if inputs.wide_button(
            "Compare side by side",
            "compare",
            "compare_selected",
            left,
            disabled=not 2 <= len(comparable) <= session.MOST_COMPARED,
            help=f"Two to {session.MOST_COMPARED} runs that have ended.",
        ):
            session.compare([entry.id for entry in comparable])
            session.open_page("compare")
        if inputs.wide_button("Delete", "delete", "delete_selected", middle, is_first=False):
            _confirm(selected)


def _one(entry: JobView) -> None:
    st.subheader(text.markdown(name_of(entry), 90), anchor=False)
    st.caption(f"{text.markdown(state_words(entry), 100)} · started {when(entry.submitted)} UTC")
    view = None if not entry.is_final else jobs.view(entry.id)
    run = None if view is None else view.run
    solved = None if view is None else view.solved
    first, second, third, fourth = st.columns(4)
    page, label = ("explore", "Open in Explore") if entry.is_final else ("solve", "Watch it")
    if inputs.wide_button(label, "account_tree", "open_run", first):
        session.open_page(page, entry.id)
    with second.popover("Rename", icon=":material/edit:", width="stretch"):
        _rename(entry)
    with third.popover("Export", icon=":material/download:", width="stretch", disabled=not solved):
        if solved is not None:
            exports.draw(entry.id, name_of(entry), solved)
    goes_on = not entry.is_final
    if inputs.wide_button("Delete", "delete", "delete_run", fourth, False, disabled=goes_on):
        _confirm([entry])
    if view is not None:
        data_thread.button(view)
    if entry.error:
        st.warning(text.markdown(entry.error.message, 500), icon=":material/bolt:")
    if run is not None:
        run_summary.headline(entry.id, run)
        if solved is not None:
            run_summary.small_tree(entry.id, solved)
        run_summary.proof(run)


def _rename(entry: JobView) -> None:
    with st.form(session.widget_key("rename", entry.id), border=False):
        name = st.text_input("New name", value=entry.title, max_chars=120)
        if st.form_submit_button("Save", type="primary") and name.strip():
            with inputs.said():
                jobs.supervisor().rename(entry.id, name.strip())
                st.rerun()


@st.dialog("Delete for good?")
def _confirm(selected: Sequence[JobView]) -> None:
    """Ask before anything is deleted."""
    open_runs = [entry for entry in selected if not entry.is_final]
    for entry in selected[:8]:
        st.markdown(f"- {text.markdown(name_of(entry), 80)} · {when(entry.submitted)}")
    if len(selected) > 8:
        st.markdown(f"- and {len(selected) - 8} more")
    if open_runs:
        st.caption("Runs that still go on are kept; stop them first.")
    st.caption("Their trees, traces and, when no other run uses them, their rows are removed.")
    closed = [entry for entry in selected if entry.is_final]
    foreign = [entry for entry in closed if entry.session != session.token()]
    is_sure = all(_named(entry) for entry in foreign)
    left, right = st.columns(2)
    if left.button(
        "Delete",
        key="delete_yes",
        type="primary",
        width="stretch",
        disabled=not is_sure,
        on_click=_delete,
        args=(closed,),
    ):
        st.rerun()
    if right.button("Keep", key="delete_no", width="stretch"):
        st.rerun()


def _named(entry: JobView) -> bool:
    """Ask for the name of a run that another browser made, before it is deleted for all."""
    name = name_of(entry)
    typed = st.text_input(
        f"Another browser made this run. Type its name to delete it: {text.markdown(name, 80)}",
        key=session.widget_key("delete_name", entry.id),
    )
    return typed.strip() == name.strip()


def _delete(entries: Sequence[JobView]) -> None:
    for entry in entries:
        with inputs.said():
            jobs.supervisor().delete(entry.id)
            session.forget_run(entry.id)


def storage_line(supervisor: Supervisor) -> None:
    """Say how much is kept on disk."""
    try:
        size = None if supervisor.store is None else supervisor.store.size()
    except OctError as error:
        st.caption(text.markdown(error.message, 400))
        return
    if size is None:
        st.caption("There is no history on disk; runs are gone when the server stops.")
        return
    st.caption(
        f":material/save: The history of this server keeps {text.count(size.n_runs, 'run')}: "
        f"{_bytes(size.rows_bytes)} of rows, {_bytes(size.file_bytes)} on disk. Only the runs of "
        "this browser are listed; another one opens by its full link."
    )


def _bytes(count: int) -> str:
    return f"{count / 1e6:.1f} MB" if count >= 1e5 else f"{count / 1e3:.0f} kB"
