"""What one browser session remembers, as one record; its links are kept in the URL as well."""

import re
import uuid
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NoReturn

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from octcore.data.dataset import Dataset
from octcore.data.findings import Head, UnusableTableError
from octcore.data.preparing import names_of_parts
from octcore.data.reading import make_dataset, read_table, table_of
from octcore.data.samples import list_samples, read_sample_table, sample_info
from octcore.data.table import RawTable
from octcore.data.target import is_continuous, likely_target
from octcore.errors import OctError
from octcore.plotting.palette import Palette, palette_for
from octcore.solving.recipe import DataChoice

if TYPE_CHECKING:
    from dashboard.teaching.lessons import Lesson, Points
    from octcore.plotting.row_path import ChosenRow

FIRST_SAMPLE = "iris"
"""Opens by itself: small enough that plain FlowOCT proves depth 2 within seconds."""

RUN_PARAMETER, COMPARE_PARAMETER, TUNING_PARAMETER = "run", "runs", "tuning"
NODE_PARAMETER, DATA_PARAMETER, ANSWER_PARAMETER = "node", "data", "answer"
FORM_PARAMETER = "form"
NODE, ROW, REPLAY = "node", "row", "replay"
SOLVE, TUNE, COMPARE = "solve", "tune", "compare"
TOKEN_COOKIE = "octcore_browser"
MOST_COMPARED = 4


@dataclass
class State:
    """What one session remembers, besides the inputs of its widgets."""

    choice: DataChoice | None = None
    """How the columns are meant; None in a new session, which has neither table nor rows."""
    table: RawTable = field(init=False)
    data: Dataset = field(init=False)  # the rows in use
    content: bytes = b""
    """The file that was uploaded, to be read again; empty for a sample and for rows of a run."""
    problem: str = ""
    """Why the last change of the data was refused, in one sentence; empty if it was not."""
    refused: tuple[bytes, str, Head] | None = None
    """An upload of which only the first lines could be read: its content, its name, and these."""
    aside: dict[Any, str] = field(default_factory=dict)  # kinds of predicted columns, by table
    uploads: int = 0
    forms: dict[str, tuple[int, Mapping[str, Any]]] = field(default_factory=dict)
    """How often the form of a page was filled in, part of the keys of its inputs, and with what."""
    untaken: tuple[dict[str, Any], str] = field(default_factory=lambda: ({}, ""))
    """Settings of the Solve form, and what it said that others asked for and they do not hold."""
    token: str = ""
    run: str | None = None  # the run that is looked at
    runs: tuple[str, ...] = ()  # runs that were started or opened, newest first
    nodes: dict[str, int] = field(default_factory=dict)  # selected node of every run
    rows: "dict[str, ChosenRow]" = field(default_factory=dict)  # chosen row of every run
    panels: dict[str, str] = field(default_factory=dict)
    """What stands under the tree of a run: `NODE`, which it is at first, `ROW` or `REPLAY`."""
    playing: dict[str, tuple[int, float]] = field(default_factory=dict)
    """First tree and start (`time.monotonic`) of a replay that goes on by itself, by run."""
    compared: tuple[str, ...] = ()
    ticked: tuple[str, ...] = ()  # on the page Runs
    tuning: str | None = None
    tunings: tuple[str, ...] = ()  # model selections that were started or opened, newest first
    lesson: "Lesson | None" = None  # what the Teach page shows; None before the page was opened
    lesson_step: str = ""  # the step that was drawn last
    lessons_opened: int = 0
    """Part of the keys of the widgets of a lesson, which start afresh with every one."""
    boards: "dict[str, tuple[int, Points | None]]" = field(default_factory=dict)
    """By origin: number of the last change that a drawing board reported, and its points while one
    is moved; older echoes are stale."""
    answers: dict[str, str] = field(default_factory=dict)
    """The answer that the page What if shows of every run."""
    lesson_runs: dict[str, str] = field(default_factory=dict)
    """Trees of lessons by `run_key`; they do not become the run that is looked at."""
    live_run: str = ""  # the solve for the points that are being moved
    path_step: tuple[str, int] = ("", 0)
    """Encoding and number of leaves that are chosen on the page Size."""


def state() -> State:
    """The record of this session."""
    return st.session_state.setdefault("state", State())


def palette() -> Palette:
    """Palette of the theme that the browser shows."""
    return palette_for(st.context.theme.type)


def choice() -> DataChoice:
    """The current choice; the first sample when the session is new."""
    if state().choice is None:
        choose_sample(FIRST_SAMPLE)
    found = state().choice
    assert found is not None
    return found


def table() -> RawTable:
    """The table that was read last."""
    choice()
    return state().table


def dataset() -> Dataset:
    """The current data set; always one that could be made."""
    choice()
    return state().data


def is_measurement(read: RawTable, chosen: DataChoice) -> bool:
    """Whether what is predicted is a column of numbers, cut into classes or not."""
    target = chosen.target
    return target is not None and is_continuous(read.column(target), read.delimiter)


def is_ready() -> bool:
    """Whether there are classes to predict."""
    return dataset().y is not None


def columns_meant(read: RawTable, chosen: DataChoice) -> dict[str, Any]:
    """Keywords of `make_dataset`; numbers to predict that are not cut yet are no classes."""
    if chosen.target_bins is None and is_measurement(read, chosen):
        drop = (*chosen.drop, str(chosen.target))
        chosen = replace(chosen, target=None, positive_class=None, drop=drop)
    return chosen.of_columns


def _take(chosen: DataChoice, read: RawTable, data: Dataset, content: bytes = b"") -> None:
    now = state()
    now.choice, now.table, now.data, now.content = chosen, read, data, content
    now.problem, now.refused = "", None


def choose_sample(name: str) -> None:
    """Load a sample with its own target and kinds."""
    _load(choice_of_sample(name), read_sample_table(name))


def choice_of_sample(name: str) -> DataChoice:
    """How the columns of a sample are meant at first."""
    info = sample_info(name)
    return DataChoice(sample=info.name, target=info.target, kinds=dict(info.kinds))


def adopt(data: Dataset, token: Callable[[Dataset], str]) -> None:
    """Go on with the rows of a run: the sample they are, or a table made of them."""
    if data.name in {sample.name for sample in list_samples()}:
        choose_sample(data.name)
        if token(dataset()) == token(data):
            return
    read, kinds = table_of(data)
    meant = {"target": data.target_name, "missing": "auto", "positive_class": data.positive_class}
    with suppress(OctError):  # a kind that reading finds is no step of preparing
        found = table_of(make_dataset(read, **meant))[1]
        kinds = {name: kind for name, kind in kinds.items() if found.get(name) != kind}
    _take(DataChoice(file_name=read.file_name, kinds=kinds, **meant), read, data)


def choose_upload(
    content: bytes, file_name: str, header: int | None = None, first_row: int | None = None
) -> bool:
    """Read an upload; what is loaded stays when it cannot be used.  Returns whether it could."""
    now = state()
    try:
        read = read_table(content, file_name, header, first_row)
    except OctError as error:
        now.problem = error.message
        head = error.head if isinstance(error, UnusableTableError) else ()
        now.refused = (content, file_name, head) if head and error.code != "NO_TABLE" else None
        return False
    chosen = DataChoice(file_name=file_name, target=likely_target(read), missing="auto")
    chosen = replace(chosen, header=header, first_row=first_row)
    if _load(chosen, read, content):
        return True
    # The guessed target may be what does not work: load the table so that another can be chosen.
    reason = now.problem
    loaded = _load(replace(chosen, target=None), read, content)
    now.problem = reason
    return loaded


def reopen(content: bytes, chosen: DataChoice) -> bool:
    """Read a table again as it was meant; returns whether it could be."""
    try:
        read = (
            read_sample_table(chosen.sample)
            if chosen.sample
            else read_table(content, chosen.file_name, chosen.header, chosen.first_row)
        )
    except OctError as error:
        state().problem = error.message
        return False
    return _load(chosen, read, content)


def change_choice(**changes: Any) -> bool:
    """Change how the columns are meant; a refused change leaves everything as it was."""
    before, aside = choice(), state().aside
    changed = replace(before, **changes)
    # What is predicted is neither left out nor typed; dates that are none, or not used, lack parts.
    names = {*table().names} - {changed.target}
    used = names - {*changed.drop}
    names |= {*names_of_parts({name: k for name, k in changed.kinds.items() if name in used})}
    kinds = {name: kind for name, kind in changed.kinds.items() if name in names}
    if before.target != changed.target:
        aside[table().sha256, changed.target] = before.kinds.get(str(changed.target), "")
        if kind := aside.get((table().sha256, before.target)):
            kinds[str(before.target)] = kind
    drop = tuple(name for name in changed.drop if name in names)
    changed = replace(changed, kinds=kinds, drop=drop)
    if _load(changed, table(), state().content):
        return True
    lost = None if "positive_class" in changes else changed.positive_class
    if lost is None or not _load(replace(changed, positive_class=None), table(), state().content):
        return False
    state().problem = f"The class that mattered, “{lost}”, is gone now; choose one anew."
    return True


def change_lines(**lines: int | None) -> None:
    """Read an upload again with other lines as its header or its first row.

    How its columns are meant stays as it is where they have the same names.
    """
    now, before = state(), choice()
    if now.refused is not None:
        choose_upload(*now.refused[:2], **lines)
        return
    meant, names = replace(before, **lines), now.table.names
    if meant == before or not now.content:
        return
    is_read = choose_upload(now.content, meant.file_name, meant.header, meant.first_row)
    if is_read and now.table.names == names:
        _load(meant, now.table, now.content)


def _load(chosen: DataChoice, read: RawTable, content: bytes = b"") -> bool:
    try:
        made = make_dataset(read, name=chosen.sample or None, **columns_meant(read, chosen))
    except OctError as error:
        state().problem = error.message
        return False
    _take(chosen, read, made, content)
    return True


def token() -> str:
    """Name of this browser for queue and history; tells nothing about the person."""
    now = state()
    if not now.token:
        kept = str(st.context.cookies.get(TOKEN_COOKIE, ""))  # from an earlier visit
        now.token = kept if re.fullmatch("[0-9a-f]{32}", kept) else uuid.uuid4().hex
    return now.token


def run_id() -> str | None:
    """The run that the session looks at; the one in the URL comes first."""
    return linked(RUN_PARAMETER, look_at)


def linked(name: str, look: Callable[[str], None]) -> str | None:
    """What the session looks at: what the URL names, else what it looked at last, put into it."""
    named, known = st.query_params.get(name), getattr(state(), name)
    if not named and went_back():  # to where it looked at nothing
        setattr(state(), name, None)
        return None
    if named != known and (wanted := named or known):
        look(wanted)
    return named or known


def went_back() -> bool:
    """Whether the browser went back or forward: its address then says where to."""
    context = get_script_run_ctx()
    return context is not None and context.is_history_navigation


def look_at(run: str) -> None:
    """Look at a run from now on, and put it into the URL; an empty name for none."""
    if st.query_params.get(RUN_PARAMETER) not in (None, run):
        for name in (RUN_PARAMETER, NODE_PARAMETER, ANSWER_PARAMETER):
            link(name, "")
    now = state()
    now.run = run or None
    if run and run not in now.runs:
        now.runs = (run, *now.runs)
    st.query_params.update(run_query())


def forget_run(run: str) -> None:
    """Look at this run no more, wherever it was remembered."""
    now = state()
    now.runs = tuple(known for known in now.runs if known != run)
    now.compared = tuple(known for known in now.compared if known != run)
    if run in (now.run, st.query_params.get(RUN_PARAMETER)):
        look_at("")


def run_query() -> dict[str, str]:
    """Query parameters that keep the run and its node in the URL when the page changes."""
    current = state().run
    if not current:
        return {}
    node = selected_node(current)
    return {RUN_PARAMETER: current} | ({NODE_PARAMETER: str(node)} if node != 1 else {})


def open_page(name: str, run: str | None = None) -> NoReturn:
    """Open a page with what is looked at in its link; `run`: to be looked at from then on."""
    if run is not None:
        look_at(run)
    # A part of this page that draws itself anew may ask for it while the next page is drawn: the
    # browser would empty that one, to show a part that is gone.  A part that is not known is
    # refused at once.
    if (context := get_script_run_ctx()) is not None:
        context.fragment_storage.clear()
    query = {COMPARE_PARAMETER: ",".join(state().compared)} if name == COMPARE else run_query()
    st.switch_page(f"screens/{name}.py", query_params=query)


def compared() -> tuple[str, ...]:
    """Runs that are compared side by side; those in the URL come first."""
    named = st.query_params.get(COMPARE_PARAMETER)
    compare(named.split(",") if named else () if went_back() else state().compared)
    return state().compared


def compare(runs: Sequence[str]) -> None:
    """Compare these runs from now on, and put them into the URL."""
    state().compared = tuple(dict.fromkeys(runs))
    link(COMPARE_PARAMETER, ",".join(state().compared))


def selected_node(run: str) -> int:
    """Node that is selected in a run's tree; the one in the URL comes first, at first the root."""
    if st.query_params.get(RUN_PARAMETER) == run:
        linked = st.query_params.get(NODE_PARAMETER, "")
        state().nodes[run] = int(linked) if re.fullmatch(r"[1-9]\d{0,5}", linked) else 1
    return state().nodes.get(run, 1)


def select_node(run: str, node: int) -> None:
    """Select a node; all views of the run follow."""
    state().nodes[run] = node
    if st.query_params.get(RUN_PARAMETER) == run:
        st.query_params[NODE_PARAMETER] = str(node)


def chosen_row(run: str) -> "ChosenRow | None":
    """Row whose path is shown in a run's tree; None for none."""
    return state().rows.get(run) if panel(run) == ROW else None


def choose_row(run: str, row: "ChosenRow", leaf: int) -> None:
    """Show the path of a row from now on; its leaf becomes the selected node."""
    state().rows[run] = row
    show_panel(run, ROW)
    select_node(run, leaf)


def panel(run: str) -> str:
    """What stands under the tree of a run: `NODE`, `ROW` or `REPLAY`."""
    return state().panels.get(run, NODE)


def show_panel(run: str, name: str) -> None:
    """Show something else under the tree of a run."""
    pause()
    state().panels[run] = name


def pause() -> None:
    """Stop the replay that goes on by itself."""
    state().playing.clear()


def offer(page: str, value: Any) -> None:
    """Have `SOLVE` or `TUNE` open with settings filled in."""
    st.session_state[f"offered_{page}"] = value


def take_offer(page: str) -> Any:
    """What another page offers; None from then on.

    The inputs of the form get new keys, and start from that.  Under the old ones, what a browser
    still sends that asks for a redraw at that moment would be taken for what was chosen, while it
    shows the new values.
    """
    offered = st.session_state.pop(f"offered_{page}", None)
    if offered:
        state().forms[page] = state().forms.get(page, (0, {}))[0] + 1, offered
    return offered


def filled_in(page: str) -> Mapping[str, Any]:
    """Settings that the inputs of a form start from; empty before another page offered some."""
    return state().forms.get(page, (0, {}))[1]


def link(name: str, written: str) -> None:
    """Put something into the URL; take it out where it is empty."""
    if not written:
        st.query_params.pop(name, None)
    elif written != st.query_params.get(name):
        st.query_params[name] = written


def look_at_tuning(tuning: str) -> None:
    """Look at a model selection from now on, and put it into the URL."""
    state().tuning = tuning
    state().tunings = tuple(dict.fromkeys((tuning, *state().tunings)))
    st.query_params[TUNING_PARAMETER] = tuning


def open_lesson(lesson: "Lesson") -> "Lesson":
    """Open a lesson from elsewhere: all its widgets start afresh."""
    state().lesson = lesson
    state().lessons_opened += 1
    return lesson


def answer(run: str) -> str | None:
    """The answer that the page What if shows of a run; at first the one in the link."""
    linked, known = st.query_params.get(ANSWER_PARAMETER), state().answers
    if linked and st.query_params.get(RUN_PARAMETER) == run:
        known.setdefault(run, linked)
    if run in known:
        link(ANSWER_PARAMETER, known[run])
    return known.get(run)


def widget_key(*parts: object) -> str:
    """Key of a widget from its parts; the one place that forms such keys."""
    return ":".join(str(part) for part in parts)


def kept(*parts: object) -> dict[str, Any]:
    """Key of an input from its parts, and that its value stays where it is not drawn."""
    return {"key": widget_key(*parts), "persist_state": "session"}


def form_key(page: str, *parts: object) -> str:
    """Key of an input of the form of a page."""
    return widget_key(page, state().forms.get(page, (0, {}))[0], *parts)
