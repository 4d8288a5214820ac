"""What asking a person costs: the optimal tree for every price of asking, from free to useless."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from octcore.data.dataset import Dataset
from octcore.data.tasks import COSTS, task_of
from octcore.engines.base import Cancel
from octcore.errors import CancelledError
from octcore.numerics.games import game_value
from octcore.solving.solve import solve

STEPS = 10  # effort only: a solve each


@dataclass(frozen=True)
class ReferPoint:
    """The best tree at one price of asking."""

    refer: float  # cost of leaving a row to a person
    referred: float
    """Share of the rows that are, here and below of the held-out rows where there are some."""
    accuracy: float | None  # share that is right of the others; None where there are none
    mean_cost: float
    leaves: int
    is_proven: bool


def refer_path(
    data: Dataset,
    steps: int = STEPS,
    on_point: Callable[[ReferPoint, int, int], None] | None = None,
    cancel: Callable[[], bool] | None = None,
    **settings: Any,
) -> tuple[ReferPoint, ...]:
    """Solve at evenly spaced prices of asking, up to the largest that any tree would pay.

    `steps`: prices above 0.
    `on_point`: ``(point, done, total)`` after every solve.
    `cancel`: asked often; a true answer ends it with `CancelledError`.
    `**settings`: of `octcore.solve`, with its errors; `refer` is what varies.
    """
    given: Mapping[str, Any] = {name: v for name, v in settings.items() if name != "refer"}
    task = task_of(COSTS.check(given.get("costs")), None, data.classes)  # type: ignore[arg-type]
    points: list[ReferPoint] = []
    for refer in np.linspace(0.0, game_value(task.matrix), steps + 1).tolist():
        # An interrupt ends all solves, not this one.
        run = solve(data, **given, refer=refer, cancel=cancel or Cancel(), verify=False)
        if cancel is not None and cancel():
            raise CancelledError("The curve was stopped.")
        if run.tree is None:
            continue
        of_test = run.n_test > 0
        referred = run.test_referred if of_test else run.referred
        mean_cost = run.test_mean_cost if of_test else run.mean_cost
        accuracy = run.test_accuracy if of_test else run.accuracy
        assert referred is not None
        assert mean_cost is not None
        size, is_proven = run.tree.n_leaves, run.is_optimal
        points.append(ReferPoint(refer, referred, accuracy, mean_cost, size, is_proven))
        if on_point is not None:
            on_point(points[-1], len(points), steps + 1)
    return tuple(points)
