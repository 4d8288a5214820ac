"""Tuning, comparing and a suite on a Dask cluster: a worker killed in the middle loses nothing."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from joblib import delayed

import octcore
from octcore.bench.runner import in_this_process, run_suite
from octcore.bench.suite import Instance, Published
from octcore.errors import EngineError
from octcore.selection.fits import compare, in_parallel
from octcore.selection.tuning import tune

pytestmark = pytest.mark.long


@pytest.fixture
def client() -> Iterator[Any]:
    """Two workers, each a process of its own."""
    distributed = pytest.importorskip("distributed", reason="needs the extra octcore[cluster]")
    with (
        distributed.LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            host="127.0.0.1",
            dashboard_address=None,
            protocol="tcp://",
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


class Kill:
    """Listens to results; at the first one, kills a worker that still has work."""

    def __init__(self, client: Any) -> None:
        self.client, self.killed = client, 0
        self.results: list[Any] = []

    def __call__(self, result: Any, done: int, total: int) -> None:
        """Results come one by one, each once."""
        self.results.append(result)
        assert (done, total) == (len(self.results), total)
        if not self.killed:
            work = self.client.processing()
            nannies = self.client.cluster.workers.values()
            self.killed = next(nanny.pid for nanny in nannies if work.get(nanny.worker_address))
            os.kill(self.killed, signal.SIGKILL)


def test_tuning_chooses_as_in_one_process(client: Any) -> None:
    data, grid = octcore.load_sample("iris"), {"depth": [1, 2], "leaf_penalty": [0.0, 0.4]}
    kill = Kill(client)
    there = tune(data, "cart", grid, n_jobs=-1, backend="dask", on_fit=kill)
    here = tune(data, "cart", grid)
    assert kill.killed
    assert len(kill.results) == 21
    assert there.chosen == here.chosen
    columns = ["depth", "leaf_penalty", "accuracy"]
    assert there.table()[columns].equals(here.table()[columns])
    assert there.runs[0].tree == here.runs[0].tree


@pytest.mark.slow
def test_comparing_finds_the_same_trees(client: Any) -> None:
    data, kill = octcore.load_sample("iris"), Kill(client)
    plans = [
        {"formulation": key, "depth": 2, "test_size": 0.3, "seed": 4}
        for key in ("cart", "path-search")
    ]
    there = compare(data, plans, 6, n_jobs=-1, backend="dask", on_run=kill)
    here = compare(data, plans, 6)
    assert kill.killed
    assert [[r.tree for r in g] for g in there] == [[r.tree for r in g] for g in here]


@pytest.mark.slow
def test_a_suite_writes_the_same_lines_once_and_resumes(client: Any, tmp_path: Path) -> None:
    kill, output = Kill(client), tmp_path / "there.csv"
    load: Callable[[], Any] = partial(octcore.load_sample, "iris")
    entries = [
        Instance(
            dataset="iris", encoding="QT-5", formulation=key, depth=depth, load=load,
            settings={"encoding": "QT-5"}, published=Published(),
        )
        for key in ("cart", "path-search", "flow-oct")
        for depth in (1, 2)
    ]  # fmt: skip
    there = run_suite("unit", entries, 60, output, kill, backend="dask")
    here = run_suite("unit", entries, 60, solver=in_this_process)
    assert kill.killed
    assert len(there) == len(here) == len(output.read_text().splitlines()) - 1
    worth = {line.key: (line.status, line.objective, line.accuracy) for line in there}
    assert worth == {line.key: (line.status, line.objective, line.accuracy) for line in here}
    assert run_suite("unit", entries, 60, output, backend="dask") == []


@pytest.mark.slow
@pytest.mark.parametrize("backend", [None, "dask"])
def test_work_that_ends_every_worker_is_said_in_a_sentence(
    backend: str | None, request: pytest.FixtureRequest
) -> None:
    if backend:
        request.getfixturevalue("client")
    with pytest.raises(EngineError, match="was ended from outside"):
        list(in_parallel([delayed(os._exit)(1)] * 2, 2, backend))
