"""The list of runs, any number of them selected: to open, compare, rename, export, delete."""

from collections.abc import Sequence
from typing import Any

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

FACTS = ["test_accuracy", "accuracy", "n_leaves", "seconds"]
NARROW = 72  # width of a column of numbers, in pixels: all but the last column are seen on 1,024


def name_of(entry: JobView) -> str:
    """Name of a run, made of its settings when it has none."""
    return text.printable(entry.title, 80)


def when(created: float) -> str:
    """Day and time in UTC, as the server does not know the zone of the browser."""
    moment = _moments(created)
    return "on an unknown day" if moment is pd.NaT else f"{moment:%Y-%m-%d %H:%M:%S}"


def _moments(seconds: Any) -> Any:
    """Moments in UTC; no date where a damaged file of runs holds none."""
    return pd.to_datetime(seconds, unit="s", utc=True, errors="coerce")


def state_words(entry: JobView) -> str:
    """Say how a run stands: its proof when it is done."""
    badge = str(entry.summary.get("badge", ""))
    if entry.state == "done" or (entry.state == "stopped" and badge):
        return f"★ {badge}" if badge.lower().startswith("proven") else badge or "done"
    return STATES.get(entry.state, entry.state)


def history_frame(entries: Sequence[JobView]) -> pd.DataFrame:
    """Make one row per run, with numbers as numbers so that columns sort; what matters first."""
    told = iter(differences([entry.settings for entry in entries if entry.settings]))
    facts = pd.DataFrame([entry.summary for entry in entries], columns=FACTS).astype(float)
    return pd.DataFrame(
        {
            "name": [name_of(entry) for entry in entries],
            "state": [state_words(entry) for entry in entries],
            "held out": 100 * facts["test_accuracy"],
            "accuracy": 100 * facts["accuracy"],
            "leaves": facts["n_leaves"],
            "gap": [text.gap(entry.summary.get("gap")) for entry in entries],
            "seconds": facts["seconds"],
            "started (UTC)": _moments([entry.submitted for entry in entries]),
            "data": [text.printable(e.summary.get("data") or "–", 40) for e in entries],
            "what differs": [next(told) if e.settings else "cannot be read" for e in entries],
        }
    )


def draw(entries: Sequence[JobView]) -> list[JobView]:
    """Draw the table; returns the selected runs."""
    share = st.column_config.NumberColumn(format="%.1f %%", width=NARROW)
    frame = history_frame(entries)
    if len(entries) == 1:
        frame = frame.drop(columns="what differs")
    ids = [entry.id for entry in entries]
    ticked = [row for row, key in enumerate(ids) if key in session.state().ticked]
    picked = chart.table(
        frame,
        session.widget_key("history_table", hash(tuple(ids))),  # ticks are of rows by place
        f"History of {len(entries)} runs",
        height=min(420, 38 + 35 * len(entries)),
        placeholder="–",
        on_select="rerun",
        selection_mode="multi-row",
        selection_default={"selection": {"rows": ticked}},
        column_config={
            "name": st.column_config.TextColumn(width=270),
            "held out": share,
            "accuracy": share,
            "leaves": st.column_config.NumberColumn(format="%d", width=60),
            "gap": st.column_config.Column(width=55),
            "seconds": st.column_config.NumberColumn(format="%.2f", width=NARROW),
            "started (UTC)": st.column_config.DatetimeColumn(format="YYYY-MM-DD HH:mm", width=130),
        },
    )
    selected = [entries[row] for row in picked["selection"]["rows"] if row < len(entries)]
    session.state().ticked = tuple(entry.id for entry in selected)
    return selected


def draw_actions(selected: Sequence[JobView]) -> None:
    """Draw the selected runs: one with its tree, several with what they can do together."""
    if len(selected) == 1:
        _one(selected[0])
    else:
        st.header(f"{len(selected)} runs selected", anchor=False)
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
    st.header(text.markdown(name_of(entry), 90), anchor=False)
    view = None if not entry.is_final else jobs.view(entry.id)
    run = None if view is None else view.run
    st.caption(f"{text.markdown(state_words(entry), 100)} · started {when(entry.submitted)} UTC")
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
    if error := entry.error or (view and view.error):
        st.warning(text.markdown(error.message, 500), icon=":material/bolt:")
    if run is not None:
        run_summary.headline(entry.id, run)
        if solved is not None:
            run_summary.small_tree(entry.id, solved)
        run_summary.proof(run)


def _rename(entry: JobView) -> None:
    key = session.widget_key("rename", entry.id)
    typed = session.widget_key(key, "name")

    def save() -> None:
        # Before the page is drawn: a run that is deleted meanwhile has no place on it.
        with inputs.said():
            if name := st.session_state[typed].strip():
                jobs.supervisor().rename(entry.id, name)

    with st.form(key, border=False):
        st.text_input("New name", value=entry.title, max_chars=120, key=typed)
        st.form_submit_button("Save", type="primary", on_click=save)


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
    press: dict[str, Any] = {"disabled": not is_sure, "on_click": _delete, "args": (closed,)}
    if left.button("Delete", key="delete_yes", type="primary", width="stretch", **press):
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
        "this browser are listed, without helpers of What if and Alternatives; another opens by "
        "its full link."
    )


def _bytes(count: int) -> str:
    return f"{count / 1e6:.1f} MB" if count >= 1e5 else f"{count / 1e3:.0f} kB"
