"""Buttons, switches, tabs and inputs that look the same on every page."""

import io
import math
import mimetypes
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

import streamlit as st

from dashboard import session
from octcore.data.dataset import Dataset
from octcore.errors import OctError
from octcore.plotting import text

T = TypeVar("T")


def download(
    label: str, file_name: str, make: Callable[[], str | bytes], key: str, **options: Any
) -> None:
    """Draw the button of a file, which is made when it is asked for; the page stays as it is."""
    look: dict[str, Any] = {"icon": ":material/download:", "width": "stretch", **options}
    kind = mimetypes.guess_type(file_name)[0]  # without one, Streamlit looks at the content
    st.download_button(label, make, file_name, kind, key, on_click="ignore", **look)


def wide_button(
    label: str, icon: str, key: str, place: Any = st, is_first: bool = True, **look: Any
) -> bool:
    """Draw a button as wide as its place; `is_first` is what most people want."""
    look["type"] = "primary" if is_first else "secondary"
    return place.button(label, key, icon=f":material/{icon}:", width="stretch", **look)


def packed(files: Mapping[str, str]) -> bytes:
    """A zip of texts by file name."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, written in files.items():
            archive.writestr(name, written)
    return content.getvalue()


def switch(
    label: str, options: Sequence[str], key: str, words: Mapping[str, str] | None = None, **own: Any
) -> str:
    """Draw a choice among a few views without a label of its own; at first the first of them.

    `**own`: what is otherwise, as `st.segmented_control` takes it.
    """
    usual = {"default": options[0], "label_visibility": "collapsed", "wrap": True}
    told: dict[str, Any] = {"format_func": words.__getitem__} if words else {}
    return st.segmented_control(
        label, options, required=True, **told, **session.kept(key), **(usual | own)
    )


def among(
    label: str, titles: Mapping[str, str], current: str | None, look_at: Callable[[str], None]
) -> str:
    """Draw the choice of a job where several are known; another one is looked at from then on."""
    ids = list(titles)
    chosen = next((key for key in ids if key == current), ids[0])
    if len(ids) > 1:
        key, at = f"{label}:{current}:{len(ids)}", ids.index(chosen)
        picked = st.selectbox(label, ids, at, titles.__getitem__, key)
        if picked != current:
            look_at(picked)
            st.rerun()
    return chosen


def moment(label: str, words: Sequence[str], key: str, **more: Any) -> int:
    """Draw a slider over what came one after the other; returns the place of the chosen one."""
    if len(words) < 2:
        return 0
    return st.select_slider(
        label, range(len(words)), format_func=lambda k: f"{k + 1}: {words[k]}", key=key, **more
    )


def say(error: OctError | str, at_most: int = 500) -> None:
    """Say in a sentence why something cannot be done."""
    words = error if isinstance(error, str) else error.message
    st.error(text.markdown(words, at_most), icon=":material/error:")


@contextmanager
def said() -> Iterator[None]:
    """Say why something cannot be done, and leave the rest of it out."""
    try:
        yield
    except OctError as error:
        say(error)


def tried(make: Callable[[], T]) -> T | None:
    """What a call returns; None after saying why it cannot be done."""
    with said():
        return make()


def change_data(**changes: Any) -> None:
    """Change how the columns are meant, or say why not.

    Refused, an input keeps what was written, to be corrected; a rerun would refuse it again.
    """
    if session.change_choice(**changes):
        st.rerun()
    say(session.state().problem)


def lazy_tabs(
    contents: Mapping[str, Callable[[], None]], key: str, first: str | None = None
) -> None:
    """Draw tabs; switching computes the newly opened one and nothing else of the page."""

    def draw_open() -> None:
        tabs = st.tabs(list(contents), key=key, default=first, on_change="rerun")
        for tab, draw in zip(tabs, contents.values(), strict=True):
            if tab.open:
                with tab:
                    draw()

    st.fragment(draw_open)()


STEPS_ACROSS = 40


def column_input(
    data: Dataset, name: str, value: Any, key: str, on_change: Callable[[], None] | None = None
) -> Any:
    """Draw the input; returns the value, typed as in the data."""
    column = data.column(name)
    label = text.markdown(name, 40)
    if column.kind == "numeric":
        values = data.frame[name].to_numpy(dtype=float)
        low, high = float(values.min()), float(values.max())
        # Crosses the range in some tens of clicks.
        width = high - low
        return st.number_input(
            label,
            value=float(value),
            step=10.0 ** math.floor(math.log10(width / STEPS_ACROSS)) if width > 0 else 1.0,
            format="%g",
            key=key,
            on_change=on_change,
            help=f"In training from {low:.6g} to {high:.6g}.",
        )
    levels = list(column.levels)
    return st.selectbox(
        label,
        levels,
        index=levels.index(value) if value in levels else 0,
        format_func=lambda v: text.printable(f"{v:g}" if isinstance(v, float) else str(v)),
        key=key,
        on_change=on_change,
    )
