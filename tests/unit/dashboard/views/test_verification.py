"""The press "Verify": the task runs in a child process, and the run keeps the answer."""

from __future__ import annotations

from pathlib import Path

import pytest

import octcore
from dashboard.server.supervisor import VERIFY_TASK, Supervisor
from dashboard.widgets.proofs import can_be_verified
from octcore.solving.run import JobState
from octcore.store.runs import RunStore


@pytest.mark.slow
def test_a_stored_run_is_verified_at_a_wish_and_keeps_the_answer(tmp_path: Path) -> None:
    data = octcore.load_sample("iris")
    run = octcore.solve(data, "path-search", depth=3, verify=False)
    assert can_be_verified(run)
    store = RunStore(tmp_path / "runs.db")
    run_id = store.begin(data, {"formulation": "path-search", "depth": 3})
    store.append(run_id, run.trace.events)
    store.finish(run_id, JobState.DONE, run)
    store.close()
    supervisor = Supervisor(1, tmp_path / "runs.db")
    try:
        settings = {"run_id": run_id, "run": run.to_dict(), "time_limit": 60.0}
        task = supervisor.submit_task("somebody", data, VERIFY_TASK, settings)
        assert supervisor.wait(task, 120.0)
        loaded = supervisor.load(run_id)
        assert loaded.certificate.verified is True
        assert not can_be_verified(loaded)
        assert supervisor.store is not None
        assert supervisor.store.info(run_id).summary["badge"].endswith(", verified")
    finally:
        supervisor.close()


def test_a_heuristic_is_not_offered() -> None:
    assert not can_be_verified(octcore.solve(octcore.load_sample("iris"), "cart", depth=2))
