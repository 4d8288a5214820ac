"""Ctrl-C in Python keeps the best tree; twice, it ends the program.

Run by `test_interrupt`, each in a process of its own: an interrupt that comes late ends no session.
"""

from __future__ import annotations

import json
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

import octcore
from octcore.cli import _stop_politely, main
from octcore.cli.output import ProgressLine
from octcore.data.dataset import Dataset
from octcore.engines.events import Event
from octcore.solving import solve as solving


@pytest.fixture(autouse=True)
def hears() -> Iterator[None]:
    """Processes of tests may ignore interrupts."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    solving._last = -solving.AGAIN_SECONDS
    yield
    signal.signal(signal.SIGINT, before)


def hard() -> tuple[np.ndarray, np.ndarray]:
    """Rows on which no search below ends in a minute."""
    rng = np.random.default_rng(0)
    return rng.integers(0, 50, (600, 12)).astype(float), rng.integers(0, 3, 600)


def press(after: float, number: int = signal.SIGINT) -> None:
    threading.Timer(after, signal.raise_signal, [number]).start()


def press_once_there_is(kind: str, presses: int = 1):
    """A listener that interrupts when something has happened."""

    def listen(event: Event) -> None:
        nonlocal presses
        if event.kind == kind and event.source != "warm start" and presses:
            presses -= 1
            press(0.2)

    return listen


@pytest.mark.parametrize("key", ["threshold-search", "path-search", "flow-oct", "s-oct"])
def test_an_interrupt_keeps_the_best_tree(key: str) -> None:
    X, y = hard()
    with pytest.warns(UserWarning, match="was interrupted"):
        run = octcore.solve(
            Dataset.from_arrays(X, y), key, depth=6 if key == "path-search" else 4, time_limit=60,
            on_event=press_once_there_is("phase"),
        )  # fmt: skip
    assert (run.status, run.stop_reason) == ("interrupted", "interrupted")
    assert not run.is_optimal
    assert run.tree is not None
    assert run.timings["total"] < 30
    assert run.verify().verified is not False
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_fit_says_that_it_was_interrupted() -> None:
    X, y = hard()
    press(6.0)
    with pytest.warns(ConvergenceWarning, match="stopped by interrupted"):
        model = octcore.OptimalTreeClassifier(max_depth=4).fit(X, y)
    assert model.status_ == "interrupted"
    assert model.predict(X).shape == y.shape


def test_the_second_interrupt_ends_the_program(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(solving, "AGAIN_SECONDS", 60.0)  # however busy the machine is
    solving._last = -60.0
    X, y = hard()
    data = Dataset.from_arrays(X, y)
    listen = press_once_there_is("phase")
    with pytest.warns(UserWarning, match="was interrupted"):
        octcore.solve(data, "path-search", depth=6, on_event=listen)
    with pytest.raises(KeyboardInterrupt):  # a loop that goes on with the next solve
        octcore.solve(data, "path-search", depth=6, on_event=press_once_there_is("phase"))


def test_whoever_stops_by_himself_hears_the_interrupt() -> None:
    X, y = hard()
    with pytest.raises(KeyboardInterrupt):
        octcore.solve(
            Dataset.from_arrays(X, y), "path-search", depth=6,
            on_event=press_once_there_is("phase"), cancel=lambda: False,
        )  # fmt: skip


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_ends_a_search_over_settings_and_what_is_done_is_written(
    number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    if number == signal.SIGTERM:  # of a command in the background, which ignores Ctrl-C
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        _stop_politely()
    X, y = hard()
    names = ",".join([*(f"x{j}" for j in range(X.shape[1])), "y"])
    file = tmp_path / "hard.csv"
    np.savetxt(file, np.column_stack([X, y]), "%d", ",", header=names, comments="")
    ahead = [1.0]  # in the second training: HiGHS, once it works, may hear nothing for a minute
    during = lambda _, text: ahead and text.startswith("1 of") and press(ahead.pop(), number)  # noqa: E731
    monkeypatch.setattr(ProgressLine, "show", during)
    asked = ["tune", str(file), "--target", "y", "--formulation", "flow-oct", "--protocol"]
    asked += ["2-fold", "--grid", "depth=1,4", "--json", str(tmp_path / "tune.json")]
    begin = time.monotonic()
    assert main([*asked, "--time-limit", "100"]) == 130
    assert time.monotonic() - begin < 90
    assert "stopped after 1 of 5 trainings; no choice was made" in capsys.readouterr().out
    assert len(json.loads((tmp_path / "tune.json").read_text())["fits"]) == 1
