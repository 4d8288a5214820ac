"""A server with a history of its own, shared by the tests of pages that need one."""

from __future__ import annotations

import pytest
import streamlit as st

from dashboard.server import jobs, supervisor
from octcore.worker.client import WorkerPool
from tests.app.history_case import Server


@pytest.fixture(autouse=True)
def _own_history(monkeypatch, tmp_path) -> None:
    """Nothing of the tests stands in the user's folder, and no page starts workers that wait."""
    monkeypatch.setenv("OCTCORE_STORE", str(tmp_path / "runs.db"))
    monkeypatch.setattr(supervisor, "WorkerPool", lambda idle, niceness: WorkerPool(0))


@pytest.fixture
def server(monkeypatch, tmp_path):
    """Replace the workers, keep supervisor and history."""
    server = Server(tmp_path / "runs.db")
    monkeypatch.setattr(jobs, "warm_up", lambda: None)
    monkeypatch.setattr(jobs, "supervisor", lambda: server.supervisor)
    monkeypatch.setattr(jobs, "submit", server.submit)
    yield server
    server.supervisor.close()
    st.cache_resource.clear()


@pytest.fixture(autouse=True, scope="session")
def _kernels(compiled_kernels) -> None:
    """Lessons solve within short limits; compiling would use them up."""
