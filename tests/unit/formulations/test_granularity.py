"""The step between objective values, to which bounds are rounded: one too large proves too much."""

from __future__ import annotations

import numpy as np
import pytest

import octcore
from octcore.formulations.shared import univariate
from octcore.formulations.shared.univariate import smallest_step, weight_unit


@pytest.mark.parametrize(
    ("weights", "unit"),
    [
        ([1.0, 1.0], 1.0),
        ([2.0, 4.0, 6.0], 2.0),
        ([0.0, 3.0, 9.0], 3.0),
        ([0.5, 1.5], 0.5),
        ([2.0, 3.0], 1.0),
        ([0.5, 0.8], 0.0),
        ([0.0], 0.0),
    ],
)
def test_the_unit_divides_every_weight(weights: list[float], unit: float) -> None:
    assert weight_unit(np.array(weights)) == pytest.approx(unit)


@pytest.mark.parametrize("price", [0.0, 0.3, 0.5, 0.75, 1.0, 2.4])
@pytest.mark.parametrize("unit", [1.0, 0.25])
def test_no_two_values_are_nearer_than_the_step(unit: float, price: float) -> None:
    offsets = [price * leaves for leaves in range(4)]
    values = np.array([unit * k - offset for k in range(30) for offset in offsets])
    gaps = np.abs(values[:, None] - values[None, :])
    assert smallest_step(unit, price, 3) == pytest.approx(gaps[gaps > 1e-9].min())


def test_a_great_depth_costs_no_time_before_the_search() -> None:
    """Every number of leaves up to 2**20 was tried: 6 s where the limit was 1 s."""
    data = octcore.load_sample("iris")
    calls = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(univariate, "smallest_step", lambda *asked: calls.append(asked) or 0.0)
        octcore.solve(data, "path-search", depth=20, time_limit=1.0)
    assert [most for _, _, most in calls] == [len(data.codes) - 1]
