"""What a caller of the library is told on standard error while it works."""

from __future__ import annotations

import pytest

import octcore
from octcore.engines.events import Event
from octcore.numerics import kernels
from octcore.search.univariate import plain


@pytest.fixture
def cold(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if nothing was compiled yet, and compiling took no time."""
    monkeypatch.setattr(kernels, "_loaded", set())
    monkeypatch.setattr(kernels, "is_compiled", lambda name: False)
    monkeypatch.setattr(kernels, "compile_apart", lambda names, stop: True)
    monkeypatch.setattr(plain, "suits", lambda inquiry: False)


@pytest.mark.usefixtures("cold")
def test_compiling_is_told_once_where_nobody_hears_events(
    capsys: pytest.CaptureFixture[str],
) -> None:
    data = octcore.load_sample("iris")
    octcore.penalty_path(data, depth=2)
    told = capsys.readouterr().err.splitlines()
    assert told.count(f"octcore: {kernels.PREPARING}; this may take a minute or two") == len(told)
    assert told
    kernels._loaded.clear()
    octcore.solve(data, verify=False, on_event=lambda event: None)
    assert capsys.readouterr().err == ""
    kernels._loaded.clear()
    octcore.OptimalTreeClassifier().fit(data.frame, data.codes)
    assert kernels.PREPARING in capsys.readouterr().err


def test_verbose_tells_how_a_solve_stands(capsys: pytest.CaptureFixture[str]) -> None:
    data = octcore.load_sample("iris")
    heard: list[Event] = []
    run = octcore.solve(data, depth=1, verify=False, on_event=heard.append, verbose=1)
    assert tuple(heard) == run.trace.events
    last = capsys.readouterr().err.splitlines()[-1]
    assert last.endswith(
        f"finished  incumbent {run.objective:.6g}  bound {run.bound:.6g}  gap 0.00%"
    )
    octcore.solve(data, depth=1, verify=False)
    assert capsys.readouterr().err == ""
    octcore.PathSearchClassifier(max_depth=1, verbose=1).fit(data.frame, data.codes)
    assert "finished  incumbent" in capsys.readouterr().err
