"""What keeps runs and data together: tables of data sets, names of runs, equal trees."""

from __future__ import annotations

import base64
import json
from dataclasses import replace

import pytest

from dashboard import cached
from dashboard.server import history
from dashboard.server.job_view import JobView, setting_words, title_of
from dashboard.views.compare.side_by_side import Finished, same_trees
from octcore.data import reading
from octcore.data.dataset import unpack
from octcore.data.reading import make_dataset, table_of
from octcore.data.samples import load_sample
from octcore.numerics.kernels import PREPARING
from octcore.solving.solve import solve
from octcore.worker.request import Request


@pytest.mark.parametrize("name", ["iris", "finches", "monks-1"])
def test_a_data_set_is_the_same_after_a_way_through_a_table(name):
    data = load_sample(name)
    table, kinds = table_of(data)
    again = make_dataset(table, data.target_name, kinds=kinds, name=data.name)
    assert again.frame.equals(data.frame)
    assert again.classes == data.classes
    assert (again.y == data.y).all()
    assert cached.data_token(again.subset(range(5))) is not None


def test_tasks_do_not_stand_among_the_runs_of_a_browser():
    class Server:
        store = None

        def jobs(self, session: str) -> tuple[JobView, ...]:
            return JobView("a", "path", {}, task="path"), JobView("b", "run", {})

    assert [line.id for line in history.entries(Server(), "me")] == ["b"]


def test_a_run_is_named_by_what_is_not_as_usual():
    settings = {
        "formulation": "path-search", "encoding": "QT-5", "depth": 2,
        "params": {"leaf_penalty": 0.05},
        "constraints": {"forbidden_features": ["capital-gain"], "max_leaves": 3},
    }  # fmt: skip
    assert setting_words(settings) == (
        "depth 2", "leaf penalty 0.05", "dropping capital-gain", "using at most 3 leaves",
    )  # fmt: skip
    assert title_of({"formulation": "threshold-search"}, "iris") == (
        "Exact search on all thresholds on iris, depth 2"
    )


def test_a_clock_that_stands_still_is_not_shown():
    view = JobView("x", "iris", {}, "running", phase=PREPARING, elapsed=0.4)
    assert view.words == f"{PREPARING}; this may take a minute or two"
    assert replace(view, phase="solve").words == "solving, 0.4 s"
    assert replace(view, phase="importing libraries", elapsed=0.0).words == "importing libraries"
    assert replace(view, phase="queued", position=2).words == "waiting, place 2 in the queue"


def test_equal_trees_stand_together_whoever_found_them():
    data = load_sample("iris")
    runs = [solve(data, key, encoding="QT-5", depth=depth) for key, depth in
            (("path-search", 2), ("path-search", 3), ("cart", 1))]  # fmt: skip
    finished = [Finished(str(i), str(i), i, run) for i, run in enumerate((*runs, runs[0]))]
    groups = same_trees(finished)
    assert [entry.id for entry in groups[0]][:1] == ["0"]
    assert "3" in {entry.id for entry in groups[0]}
    assert all(entry.id != "2" for entry in groups[0])


def test_a_data_set_is_hashed_once_however_often_a_page_asks(monkeypatch):
    data, asked, hashed = load_sample("iris").subset(range(90)), [], cached.hash_pandas_object
    monkeypatch.setattr(
        cached, "hash_pandas_object", lambda *a, **k: asked.append(a) or hashed(*a, **k)
    )
    assert len({cached.data_token(data) for _ in range(3)}) == 1
    assert len(asked) == 1


def test_rows_of_a_run_become_a_table_without_being_written_and_read(monkeypatch):
    monkeypatch.setattr(reading, "read_table", None)
    table, _ = table_of(load_sample("finches"))
    assert table.n_rows == load_sample("finches").n_samples


def test_a_worker_is_handed_rows_that_nobody_compressed():
    data = load_sample("iris")
    packed = base64.b64decode(json.loads(Request(data).to_line(0.0))["data"])
    assert packed[1] == 1  # the level, as zlib writes it
    assert unpack(packed).frame.equals(data.frame)
