"""What one browser session remembers; the only file that names keys of `st.session_state`."""

from __future__ import annotations

import re
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import streamlit as st

from octcore.data.dataset import Dataset
from octcore.data.reading import make_dataset, read_table, table_of
from octcore.data.samples import list_samples, read_sample_table, sample_info
from octcore.data.table import RawTable
from octcore.data.target import likely_target
from octcore.errors import OctError
from octcore.plotting.palette import Palette, palette_for
from octcore.solving.recipe import DataChoice

if TYPE_CHECKING:
    from dashboard.teaching.lessons import Lesson
    from octcore.plotting.row_path import ChosenRow

FIRST_SAMPLE = "iris"
"""Opens by itself: small enough that plain FlowOCT proves depth 2 within seconds."""

_CHOICE, _TABLE, _DATA, _PROBLEM = "data_choice", "raw_table", "dataset", "data_problem"
_RUN, _RUNS, _NODES, _UPLOADS = "run_id", "run_ids", "selected_nodes", "upload_count"
_TOKEN = "session_token"
_LESSON, _LESSON_OPENED, _SIDE_RUNS = "lesson", "lesson_opened", "side_runs"
_BOARD, _PATH_STEP = "boards", "path_step"
_TUNING, _TUNINGS = "tuning_id", "tuning_ids"
_COMPARED, _REPEATS, _FRAME = "compared_runs", "repeated_splits", "has_frame"
_CHOSEN_ROWS, _PANELS, _PLAYING = "chosen_rows", "panels", "playing"
RUN_PARAMETER, COMPARE_PARAMETER, TUNING_PARAMETER = "run", "runs", "tuning"
NODE_PARAMETER = "node"
NODE, ROW, REPLAY = "node", "row", "replay"
SOLVE, TUNE, COMPARE = "solve", "tune", "compare"
TOKEN_COOKIE = "octcore_browser"
MOST_COMPARED = 4


def note_frame() -> None:
    """Remember that the app itself has run in this session."""
    st.session_state[_FRAME] = True


def has_frame() -> bool:
    """Whether the app itself, which draws what is around every page, has run in this session."""
    return _FRAME in st.session_state


def palette() -> Palette:
    """Palette of the theme that the browser shows."""
    return palette_for(st.context.theme.type)


def choice() -> DataChoice:
    """The current choice; the first sample when the session is new."""
    if _CHOICE not in st.session_state:
        choose_sample(FIRST_SAMPLE)
    return st.session_state[_CHOICE]


def table() -> RawTable:
    """The table that was read last."""
    choice()
    return st.session_state[_TABLE]


def dataset() -> Dataset:
    """The current data set; always one that could be made."""
    choice()
    return st.session_state[_DATA]


def problem() -> str:
    """Why the last change of the data was refused, in one sentence; empty if it was not."""
    return st.session_state.get(_PROBLEM, "")


def choose_sample(name: str) -> None:
    """Load a sample with its own target and kinds."""
    known = [sample.name for sample in list_samples()]
    info = sample_info(name if name in known else known[0])
    chosen = DataChoice(sample=info.name, target=info.target, kinds=dict(info.kinds))
    _load(chosen, read_sample_table(info.name))


def is_new() -> bool:
    """Whether no data have been loaded in this session yet."""
    return _CHOICE not in st.session_state


def adopt(data: Dataset, token: Callable[[Dataset], str]) -> None:
    """Go on with the rows of a run: the sample they are, or a table made of them."""
    if data.name in {sample.name for sample in list_samples()}:
        choose_sample(data.name)
        if token(st.session_state[_DATA]) == token(data):
            return
    read, kinds = table_of(data)
    chosen = DataChoice(file_name=read.file_name, target=data.target_name, kinds=kinds)
    st.session_state.update({_CHOICE: chosen, _TABLE: read, _DATA: data, _PROBLEM: ""})


def choose_upload(content: bytes, file_name: str) -> bool:
    """Read an upload; what is loaded stays when it cannot be used.  Returns whether it could."""
    try:
        read = read_table(content, file_name=file_name)
    except OctError as error:
        st.session_state[_PROBLEM] = error.message
        return False
    if _load(DataChoice(file_name=file_name, target=likely_target(read)), read):
        return True
    # The guessed target may be what does not work: load the table so that another can be chosen.
    reason = st.session_state[_PROBLEM]
    loaded = _load(DataChoice(file_name=file_name), read)
    st.session_state[_PROBLEM] = reason
    return loaded


def change_choice(**changes: Any) -> bool:
    """Change how the columns are meant; a refused change leaves everything as it was."""
    changed = replace(choice(), **changes)
    if changed.target is not None:  # what is predicted is neither left out nor a number
        kinds = {name: kind for name, kind in changed.kinds.items() if name != changed.target}
        drop = tuple(name for name in changed.drop if name != changed.target)
        changed = replace(changed, kinds=kinds, drop=drop)
    return _load(changed, table())


def _load(chosen: DataChoice, read: RawTable) -> bool:
    try:
        made = make_dataset(
            read,
            chosen.target,
            chosen.drop,
            chosen.kinds,
            chosen.missing,
            chosen.positive_class,
            chosen.sample or None,
            chosen.merge,
            chosen.target_bins,
        )
    except OctError as error:
        st.session_state[_PROBLEM] = error.message
        return False
    st.session_state.update({_CHOICE: chosen, _TABLE: read, _DATA: made, _PROBLEM: ""})
    return True


def upload_key() -> str:
    """Key of the uploader; changes after every accepted file, so that a new one starts empty."""
    return f"upload_{st.session_state.get(_UPLOADS, 0)}"


def forget_upload() -> None:
    """Empty the uploader at the next run of the page."""
    st.session_state[_UPLOADS] = st.session_state.get(_UPLOADS, 0) + 1


def token() -> str:
    """Name of this browser for queue and history; tells nothing about the person."""
    if _TOKEN not in st.session_state:
        st.session_state[_TOKEN] = known_token() or uuid.uuid4().hex
    return st.session_state[_TOKEN]


def known_token() -> str | None:
    """Name that the browser kept from an earlier visit; None on the first one."""
    kept = str(st.context.cookies.get(TOKEN_COOKIE, ""))
    return kept if re.fullmatch("[0-9a-f]{32}", kept) else None


def run_id() -> str | None:
    """The run that the session looks at; the one in the URL comes first."""
    return _linked(RUN_PARAMETER, _RUN, look_at)


def _linked(parameter: str, key: str, look: Callable[[str], None]) -> str | None:
    """What the session looks at: what the URL names, else what it looked at last, put into it."""
    linked = st.query_params.get(parameter)
    if linked and linked != st.session_state.get(key):
        look(linked)
    current = st.session_state.get(key)
    if current and not linked:
        st.query_params[parameter] = current
    return current


def is_run_linked() -> bool:
    """Whether the link itself names a run; it is the one that is looked at from then on."""
    return RUN_PARAMETER in st.query_params and run_id() is not None


def linked_run() -> str | None:
    """The run that the link names, or the first of those that it compares."""
    linked = st.query_params.get(RUN_PARAMETER)
    return linked or (st.query_params.get(COMPARE_PARAMETER) or "").split(",")[0] or None


def linked_tuning() -> str | None:
    """The model selection that the link names."""
    return st.query_params.get(TUNING_PARAMETER)


def look_at(run: str) -> None:
    """Look at a run from now on, and put it into the URL."""
    if st.query_params.get(RUN_PARAMETER) not in (None, run):
        st.query_params.pop(NODE_PARAMETER, None)
    st.session_state[_RUN] = run
    known = run_ids()
    if run not in known:
        st.session_state[_RUNS] = (run, *known)
    st.query_params[RUN_PARAMETER] = run


def forget_run(run: str) -> None:
    """Look at this run no more, wherever it was remembered."""
    st.session_state[_RUNS] = tuple(known for known in run_ids() if known != run)
    if st.session_state.get(_RUN) == run:
        del st.session_state[_RUN]
        st.query_params.pop(RUN_PARAMETER, None)
    compared_now = st.session_state.get(_COMPARED, ())
    st.session_state[_COMPARED] = tuple(known for known in compared_now if known != run)


def run_ids() -> tuple[str, ...]:
    """Runs that this session started or opened, newest first."""
    return st.session_state.get(_RUNS, ())


def run_query() -> dict[str, str]:
    """Query parameters that keep the run and its node in the URL when the page changes."""
    current = st.session_state.get(_RUN)
    if not current:
        return {}
    node = selected_node(current)
    return {RUN_PARAMETER: current} | ({NODE_PARAMETER: str(node)} if node != 1 else {})


def compared() -> tuple[str, ...]:
    """Runs that are compared side by side; those in the URL come first."""
    linked = st.query_params.get(COMPARE_PARAMETER)
    if linked:
        compare(linked.split(","))
    elif st.session_state.get(_COMPARED):
        st.query_params[COMPARE_PARAMETER] = ",".join(st.session_state[_COMPARED])
    return st.session_state.get(_COMPARED, ())


def compare(runs: Sequence[str]) -> None:
    """Compare these runs from now on, and put them into the URL."""
    chosen = tuple(dict.fromkeys(runs))[:MOST_COMPARED]
    st.session_state[_COMPARED] = chosen
    if chosen:
        st.query_params[COMPARE_PARAMETER] = ",".join(chosen)
    else:
        st.query_params.pop(COMPARE_PARAMETER, None)


def compare_query() -> dict[str, str]:
    """Query parameters that keep the comparison in the URL when the page changes."""
    chosen = st.session_state.get(_COMPARED, ())
    return {COMPARE_PARAMETER: ",".join(chosen)} if chosen else {}


def repeats(runs: Sequence[str]) -> tuple[float, tuple[tuple[str, ...], ...]] | None:
    """Held-out share and runs on further splits of the rows, one tuple for every compared run."""
    return st.session_state.get(_REPEATS, {}).get(tuple(runs))


def remember_repeats(runs: Sequence[str], share: float, found: Sequence[Sequence[str]]) -> None:
    """Remember the runs on further splits of a comparison; those not started yet are empty."""
    kept = st.session_state.get(_REPEATS, {})
    entry = (share, tuple(tuple(ids) for ids in found))
    st.session_state[_REPEATS] = {**kept, tuple(runs): entry}


def selected_node(run: str) -> int:
    """Node that is selected in a run's tree; at first the one in the link, else the root."""
    known = st.session_state.get(_NODES, {})
    if run in known:
        return known[run]
    linked = st.query_params.get(NODE_PARAMETER, "")
    is_linked = st.query_params.get(RUN_PARAMETER) == run and re.fullmatch(r"[1-9]\d{0,5}", linked)
    return int(linked) if is_linked else 1


def select_node(run: str, node: int) -> None:
    """Select a node; all views of the run follow."""
    st.session_state[_NODES] = {**st.session_state.get(_NODES, {}), run: node}
    if st.query_params.get(RUN_PARAMETER) == run:
        st.query_params[NODE_PARAMETER] = str(node)


def chosen_row(run: str) -> ChosenRow | None:
    """Row whose path is shown in a run's tree; None for none."""
    return st.session_state.get(_CHOSEN_ROWS, {}).get(run) if panel(run) == ROW else None


def choose_row(run: str, row: ChosenRow, leaf: int) -> None:
    """Show the path of a row from now on; its leaf becomes the selected node."""
    st.session_state[_CHOSEN_ROWS] = {**st.session_state.get(_CHOSEN_ROWS, {}), run: row}
    show_panel(run, ROW)
    select_node(run, leaf)


def panel(run: str) -> str:
    """What stands under the tree of a run: `NODE`, `ROW` or `REPLAY`."""
    return st.session_state.get(_PANELS, {}).get(run, NODE)


def show_panel(run: str, name: str) -> None:
    """Show something else under the tree of a run."""
    pause()
    st.session_state[_PANELS] = {**st.session_state.get(_PANELS, {}), run: name}


def playing(run: str) -> tuple[int, float] | None:
    """First tree and start (`time.monotonic`) of a replay that goes on by itself, or None."""
    return st.session_state.get(_PLAYING, {}).get(run)


def play(run: str, first: int) -> None:
    """Let the replay of a run go on by itself, from a tree on."""
    st.session_state[_PLAYING] = {run: (first, time.monotonic())}


def pause() -> None:
    """Stop the replay that goes on by itself."""
    st.session_state.pop(_PLAYING, None)


def offer(page: str, value: Any) -> None:
    """Have `SOLVE` or `TUNE` open with settings filled in, or `COMPARE` with a set of runs."""
    st.session_state[f"offered_{page}"] = value


def take_offer(page: str) -> Any:
    """What another page offers; None from then on."""
    return st.session_state.pop(f"offered_{page}", None)


def set_inputs(values: Mapping[str, Any]) -> None:
    """Set inputs by their keys, before they are drawn."""
    st.session_state.update(values)


def tuning_id() -> str | None:
    """The model selection that the session looks at; the one in the URL comes first."""
    return _linked(TUNING_PARAMETER, _TUNING, look_at_tuning)


def look_at_tuning(tuning: str) -> None:
    """Look at a model selection from now on, and put it into the URL."""
    st.session_state[_TUNING] = tuning
    st.session_state[_TUNINGS] = tuple(dict.fromkeys((tuning, *tuning_ids())))
    st.query_params[TUNING_PARAMETER] = tuning


def tuning_ids() -> tuple[str, ...]:
    """Model selections that this session started or opened, newest first."""
    return st.session_state.get(_TUNINGS, ())


def lesson() -> Lesson | None:
    """The lesson that the Teach page shows; None before the page was opened."""
    return st.session_state.get(_LESSON)


def keep_lesson(lesson: Lesson) -> None:
    """Remember a lesson that widgets changed."""
    st.session_state[_LESSON] = lesson


def open_lesson(lesson: Lesson) -> None:
    """Open a lesson from elsewhere: all its widgets start afresh."""
    keep_lesson(lesson)
    st.session_state[_LESSON_OPENED] = lesson_opened() + 1


def lesson_opened() -> int:
    """How many lessons were opened; part of the keys of their widgets."""
    return st.session_state.get(_LESSON_OPENED, 0)


def board(origin: str) -> tuple[int, tuple[tuple[int, int, int], ...] | None]:
    """Number of the last change that a drawing board reported; its points while one is moved."""
    return st.session_state.get(_BOARD, {}).get(origin, (0, None))


def keep_board(origin: str, serial: int, moving: tuple[tuple[int, int, int], ...] | None) -> None:
    """Remember the last change of a drawing board; older echoes are stale."""
    st.session_state[_BOARD] = {origin: (serial, moving)}


def side_run(*key: object) -> str | None:
    """Run that a page other than Solve started for something, by what it is for."""
    return st.session_state.get(_SIDE_RUNS, {}).get(key)


def remember_side_run(run: str, *key: object) -> None:
    """Remember a run under what it is for; it does not become the run that is looked at."""
    st.session_state[_SIDE_RUNS] = {**st.session_state.get(_SIDE_RUNS, {}), key: run}


def path_step() -> tuple[str, int]:
    """Encoding and number of leaves that are chosen on the Path page."""
    return st.session_state.get(_PATH_STEP, ("", 0))


def select_path_step(label: str, leaves: int) -> None:
    """Choose a tree of the penalty path."""
    st.session_state[_PATH_STEP] = (label, leaves)


def widget_key(*parts: object) -> str:
    """Key of a widget from its parts; the one place that forms such keys."""
    return ":".join(str(part) for part in parts)
