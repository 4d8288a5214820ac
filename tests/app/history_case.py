"""A server without workers: a real history on disk, and solves that are done at once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from streamlit.testing.v1 import AppTest

import dashboard
from dashboard.server.supervisor import Supervisor
from octcore.data.dataset import Dataset
from octcore.engines.events import Event
from octcore.solving.run import JobState
from octcore.solving.solve import solve
from octcore.store.runs import RunStore
from octcore.worker.client import WorkerPool

APP = str(Path(dashboard.__file__).parent / "app.py")
PATIENCE = 120


class Server:
    """Answers every solve with the greedy tree, written into the history.

    Parameters
    ----------
    path : Path
        File of the history.
    """

    def __init__(self, path: Path) -> None:
        self.supervisor = Supervisor(cores=2, store=path, pool=WorkerPool(idle=0))
        self.submitted: list[dict[str, Any]] = []

    @property
    def store(self) -> RunStore:
        """The history."""
        store = self.supervisor.store
        assert store is not None
        return store

    def submit(self, owner: str, data: Dataset, settings: Any, title: str = "") -> str:
        """Solve with CART at once; everything else of the settings stays."""
        self.submitted.append(dict(settings))
        given = {**settings, "formulation": "cart", "engine": "auto", "params": {}}
        run = solve(data, **given)
        run_id = self.store.begin(data, given, title or f"run {len(self.submitted)}", owner)
        self.store.append(run_id, run.trace.events)
        self.store.finish(run_id, JobState.DONE, run)
        return run_id

    def interrupted(self, owner: str, data: Dataset) -> str:
        """A run whose program died after its first tree."""
        settings = {"formulation": "cart", "depth": 1}
        run = solve(data, **settings)
        run_id = self.store.begin(data, settings, "half done", owner)
        tree = Event(0.5, "incumbent", 0.7, source="start", tree=run.tree)
        self.store.append(run_id, (tree,))
        self.store._update(run_id, "owner = ?", '{"host": "gone", "pid": 1, "start": 0}')
        self.store._update(run_id, "heartbeat = ?", 0.0)
        self.store.sweep()
        return run_id


def open_page(page: str, **query: str) -> AppTest:
    """Open a page of the app."""
    app = AppTest.from_file(APP, default_timeout=PATIENCE).run()
    app.switch_page(f"screens/{page}.py")
    for name, value in query.items():
        app.query_params[name] = value
    app.run()
    assert not app.exception
    return app


def shown(app: AppTest) -> str:
    """All words on the page."""
    parts = [*app.markdown, *app.caption, *app.error, *app.warning, *app.info, *app.header]
    return "\n".join(str(element.value) for element in parts).replace("\\", "")


def button(app: AppTest, label: str):
    """Find the button with a label."""
    return next(b for b in app.button if b.label == label)
