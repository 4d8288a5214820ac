"""A browser session without a browser, over the WebSocket of the app: only the server is measured.

It keeps the elements that a browser would show, presses buttons, sets inputs, changes pages, and
runs fragments again when the app asks for it, as Streamlit's own front end does.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from typing import Any

from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.proto.WidgetStates_pb2 import WidgetState
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection, connect

PATIENCE_SECONDS = 120.0


class AppSession:
    """One session.

    Parameters
    ----------
    address : str
        Such as ``http://localhost:8501``.
    page : str
        Page to open first.
    query : str
        Query of the address.

    Attributes
    ----------
    seconds : list of float
        Time of every rerun of a page, from the request to the end of the script.
    fragment_seconds : list of float
        The same of reruns of fragments.
    exceptions : list of str
        Exceptions that the app showed.
    """

    def __init__(self, address: str, page: str = "", query: str = "") -> None:
        self.page, self.query = page, query
        self.seconds: list[float] = []
        self.fragment_seconds: list[float] = []
        self.exceptions: list[str] = []
        self._elements: dict[tuple[int, ...], Any] = {}
        self._fragments: dict[str, str] = {}
        self._values: dict[str, WidgetState] = {}
        self._pages: dict[str, str] = {}
        self._repeats: dict[str, tuple[float, float]] = {}
        self._finished = threading.Condition()
        self._runs = 0
        self._busy = threading.RLock()
        self._closing = threading.Event()
        self._socket: ClientConnection = connect(
            address.replace("http", "ws", 1) + "/_stcore/stream",
            origin=address,  # type: ignore[arg-type]
            subprotocols=["streamlit"],  # type: ignore[list-item]
            max_size=None,
            open_timeout=PATIENCE_SECONDS,
        )
        threading.Thread(target=self._read, daemon=True).start()
        threading.Thread(target=self._repeat, daemon=True).start()
        self.rerun()

    def rerun(self, pressed: str | None = None, fragment: str = "") -> float:
        """Run the page, or a fragment of it, and wait for the end; returns the seconds."""
        message = BackMsg()
        state = message.rerun_script
        state.query_string = self.query
        state.page_script_hash = self._pages.get(self.page, "")
        if not state.page_script_hash:
            state.page_name = self.page
        state.fragment_id = fragment
        state.context_info.timezone = "UTC"
        state.widget_states.widgets.extend(self._values.values())
        if pressed is not None:
            state.widget_states.widgets.add(id=pressed, trigger_value=True)
        with self._busy:
            before, began = self._runs, time.monotonic()
            if not fragment:
                self._repeats.clear()
            self._socket.send(message.SerializeToString())
            with self._finished:
                done = self._finished.wait_for(lambda: self._runs > before, PATIENCE_SECONDS)
            if not done:
                raise TimeoutError(f"A rerun of {self.page!r} took over {PATIENCE_SECONDS} s.")
            seconds = time.monotonic() - began
        (self.fragment_seconds if fragment else self.seconds).append(seconds)
        return seconds

    def go(self, page: str) -> float:
        """Change the page; what the one before showed goes."""
        self.page = page
        self._elements.clear()
        return self.rerun()

    def press(self, label: str) -> float:
        """Press the first button whose label contains a text."""
        button = self._widget("button", label)
        return self.rerun(button.id, self._fragments.get(button.id, ""))

    def set(self, kind: str, label: str, value: Mapping[str, Any]) -> float:
        """Set an input; `value` has the field of the state that the input uses."""
        widget = self._widget(kind, label)
        self._values[widget.id] = WidgetState(id=widget.id, **value)
        return self.rerun()

    def widgets(self, kind: str) -> list[Any]:
        """Elements of a kind, in the order of the page."""
        found = sorted(self._elements.items())
        return [getattr(e, kind) for _, e in found if e.WhichOneof("type") == kind]

    def text(self) -> str:
        """Everything that the elements say, for a look by a test."""
        return "\n".join(str(element) for _, element in sorted(self._elements.items()))

    def close(self) -> None:
        """Leave."""
        self._closing.set()
        self._socket.close()

    def _widget(self, kind: str, label: str) -> Any:
        for widget in self.widgets(kind):
            if label in widget.label:
                return widget
        shown = [widget.label for widget in self.widgets(kind)]
        raise LookupError(f"No {kind} {label!r} on {self.page!r}; there are {shown}.")

    def _read(self) -> None:
        try:
            for received in self._socket:
                message = ForwardMsg()
                message.ParseFromString(received)  # type: ignore[arg-type]
                self._take(message)
        except ConnectionClosed:
            pass
        with self._finished:
            self._closing.set()
            self._finished.notify_all()

    def _take(self, message: ForwardMsg) -> None:
        kind = message.WhichOneof("type")
        if kind == "delta":
            self._draw(tuple(message.metadata.delta_path), message.delta)
        elif kind == "navigation":
            pages = message.navigation.app_pages
            self._pages = {
                "" if page.is_default else page.url_pathname: page.page_script_hash
                for page in pages
            }
        elif kind == "auto_rerun":
            interval = message.auto_rerun.interval
            self._repeats[message.auto_rerun.fragment_id] = (interval, time.monotonic() + interval)
        elif kind == "page_info_changed":
            self.query = message.page_info_changed.query_string
        elif kind == "script_finished":
            # Another run follows by itself when a page asked for one; its parts are others.
            if message.script_finished == ForwardMsg.FINISHED_EARLY_FOR_RERUN:
                self._repeats.clear()
            else:
                with self._finished:
                    self._runs += 1
                    self._finished.notify_all()

    def _draw(self, path: tuple[int, ...], delta: Any) -> None:
        kind = delta.WhichOneof("type")
        if kind == "new_element":
            self._elements[path] = delta.new_element
            identity = getattr(
                getattr(delta.new_element, delta.new_element.WhichOneof("type")), "id", ""
            )
            if identity:
                self._fragments[identity] = delta.fragment_id
            if delta.new_element.WhichOneof("type") == "exception":
                self.exceptions.append(delta.new_element.exception.message)
        elif kind == "add_block":
            for old in [p for p in self._elements if p[: len(path)] == path]:
                del self._elements[old]

    def _repeat(self) -> None:
        while not self._closing.wait(0.05):
            now = time.monotonic()
            for fragment, (interval, due) in list(self._repeats.items()):
                if now >= due and not self._closing.is_set():
                    self._repeats[fragment] = (interval, now + interval)
                    try:
                        self.rerun(fragment=fragment)
                    except (ConnectionClosed, TimeoutError):
                        return
