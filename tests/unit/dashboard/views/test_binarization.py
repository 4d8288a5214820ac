"""The price of binarization as a task of the server: told point by point, kept when stopped."""

from __future__ import annotations

import time

import pytest

import octcore
from dashboard.server.supervisor import Supervisor
from dashboard.views.data.encoding_preview import histogram_data, path_of

SETTINGS = {"depth": 4, "leaf_penalty": 0.0, "time_limit": 20.0, "test_size": 0.25, "seed": 0}


@pytest.mark.long
def test_stop_keeps_the_points_that_are_done(tmp_path):
    data = octcore.load_sample("wine")
    supervisor = Supervisor(cores=1, store=tmp_path / "runs.db")
    try:
        task = supervisor.submit_task("me", data, "binarization", SETTINGS)
        end = time.monotonic() + 120
        while not supervisor.get(task).parts and time.monotonic() < end:
            time.sleep(0.02)
        supervisor.stop(task)
        assert supervisor.wait(task, 60)
        view = supervisor.get(task)
        path = path_of(view.parts, data.name, SETTINGS)
        assert path.points[0].encoding == "raw"
        assert 1 <= len(path.points) < view.parts[-1]["total"]
        assert not path.is_complete
        record = histogram_data(path, data, "alcohol")
        assert [name for name, _ in record.others][:2] == ["QT-5", "QB-5"]
        assert record.others[-1][1] == path.best.thresholds.get("alcohol", ())
    finally:
        supervisor.close()
