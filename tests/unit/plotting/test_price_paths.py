"""The penalty path: record, figures, and the child process that computes it."""

from __future__ import annotations

from itertools import pairwise

import pytest

from dashboard.server.supervisor import Supervisor
from octcore.data.samples import load_sample
from octcore.plotting.palette import LIGHT
from octcore.plotting.price_paths import penalty_path_figure, refer_figure
from octcore.plotting.rows_plot import class_bars, class_bars_figure
from octcore.selection.penalty_path import PenaltyPath, penalty_path
from octcore.selection.refer_path import ReferPoint
from octcore.worker.client import WorkerPool


@pytest.fixture(scope="module")
def paths():
    data = load_sample("iris")
    return {key: penalty_path(data, key, 2, test_size=0.3) for key in ("QT-3", "QB-3")}


def test_record_and_figures_show_every_step(paths):
    leaves = [s.leaves for s in paths["QT-3"].steps]
    assert leaves == sorted(set(leaves))
    figure = penalty_path_figure(paths, LIGHT, ("QT-3", 2))
    assert [t.name for t in figure.data if t.name][:2] == ["QT-3, training", "QT-3, held out"]
    assert figure.layout.xaxis.title.text == "leaves"
    assert tuple(figure.data[0].customdata[0][:2]) == ("QT-3", 1)
    assert figure.layout.yaxis.title.text == "accuracy"


def test_shares_and_costs_of_asking_have_axes_of_their_own():
    points = [ReferPoint(0.1, 0.6, 0.9, 0.2, 2, True), ReferPoint(0.2, 0.1, 0.8, 3.0, 2, False)]
    drawn = {line.name: line for line in refer_figure(points, LIGHT).data}
    assert {name: (line.y, line.yaxis) for name, line in drawn.items()} == {
        "a person is asked": ((0.6, 0.1), "y"),
        "accuracy of the others": ((0.9, 0.8), "y"),
        "mean cost": ((0.2, 3.0), "y2"),
    }
    assert drawn["mean cost"].marker.symbol == ("diamond", "diamond-open")  # the second not proven


def test_shares_of_weights_and_costs_are_not_called_shares_of_rows():
    data, weights = load_sample("iris"), {"class_weight": {"setosa": 3.0}}
    path = penalty_path(data, "QT-3", 2, weights, test_size=0.3)
    figure = penalty_path_figure({"QT-3": path}, LIGHT)
    assert figure.layout.yaxis.title.text == "weighted accuracy"
    assert not any("% of the" in (t.hovertemplate or "") for t in figure.data)
    assert penalty_path(data, "QT-3", 2, weights, refer=0.3).measure == "1 - mean cost"


def test_ranges_meet_at_the_breakpoints(paths):
    winners = [s for s in paths["QT-3"].steps if s.wins]
    assert winners[-1].low == 0
    assert winners[0].high is None
    for smaller, larger in pairwise(winners):
        assert larger.high == pytest.approx(smaller.low)
    assert winners[0].range_words.endswith(f"from {winners[0].low:.4g}")
    assert winners[-1].range_words.endswith(f"from 0 to {winners[-1].high:.4g}")


def test_path_survives_its_plain_data(paths):
    path = paths["QT-3"]
    again = PenaltyPath.from_dict(path.to_dict())
    assert again.steps == path.steps
    assert again.encoding.names == path.encoding.names


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    pool = WorkerPool(idle=0)
    server = Supervisor(cores=1, store=tmp_path_factory.mktemp("paths") / "runs.db", pool=pool)
    yield server
    server.close()


@pytest.mark.long
def test_child_process_gives_the_same_path_and_says_errors_in_words(paths, server):
    data = load_sample("iris")
    settings = {"encoding": "QT-3", "depth": 2, "test_size": 0.3}
    asked = server.submit_task("me", data, "path", settings)
    refused = server.submit_task("me", data, "path", {**settings, "depth": 99})
    assert server.get(refused).position == 1
    assert server.wait(asked, 120)
    assert PenaltyPath.from_dict(server.get(asked).result["path"]).steps == paths["QT-3"].steps
    assert server.wait(refused, 120)
    assert "depth" in server.get(refused).message


@pytest.mark.slow
def test_a_stopped_path_ends_at_once(server):
    settings = {"encoding": "class-change", "depth": 5, "time_limit": 300.0}
    asked = server.submit_task("me", load_sample("wdbc"), "path", settings)
    server.stop(asked)
    assert server.wait(asked, 30)
    assert server.get(asked).result is None
    assert server.get(asked).message == "It was stopped."


def test_one_is_no_plural_where_the_pointer_tells():
    figure = class_bars_figure(class_bars(["a", "b"], [1, 2]), LIGHT)
    assert list(figure.data[0].customdata) == ["1 row", "2 rows"]
