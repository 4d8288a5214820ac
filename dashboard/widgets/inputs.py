"""Buttons and switches that look the same on every page."""

import io
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import PurePath
from typing import Any, TypeVar

import streamlit as st

from octcore.errors import OctError
from octcore.plotting import text

T = TypeVar("T")
KINDS = {
    ".c": "text/plain",
    ".java": "text/plain",
    ".onnx": "application/octet-stream",
    ".pmml": "application/xml",
    ".r": "text/plain",
    ".tsv": "text/tab-separated-values",
    ".js": "text/plain",
    ".py": "text/plain",
    ".sql": "text/plain",
    ".csv": "text/csv",
    ".dot": "text/vnd.graphviz",
    ".html": "text/html",
    ".json": "application/json",
    ".jsonl": "application/json",
    ".log": "text/plain",
    ".md": "text/markdown",
    ".svg": "image/svg+xml",
    ".txt": "text/plain",
    ".zip": "application/zip",
}


def download(
    label: str, file_name: str, make: Callable[[], str | bytes], key: str, **options: Any
) -> None:
    """Draw the button of a file, which is made when it is asked for; the page stays as it is."""
    look: dict[str, Any] = {"icon": ":material/download:", "width": "stretch", **options}
    kind = KINDS[PurePath(file_name).suffix]
    st.download_button(label, make, file_name, kind, key, on_click="ignore", **look)


def packed(files: Mapping[str, str]) -> bytes:
    """A zip of texts by file name."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, written in files.items():
            archive.writestr(name, written)
    return content.getvalue()


def switch(
    label: str, options: Sequence[str], key: str, words: Mapping[str, str] | None = None
) -> str:
    """Draw a choice among a few views without a label of its own; at first the first of them."""
    return st.segmented_control(
        label,
        options,
        default=options[0],
        required=True,
        format_func=(words or {o: o for o in options}).__getitem__,
        key=key,
        persist_state="session",
        label_visibility="collapsed",
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
