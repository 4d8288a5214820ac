"""The step between objective values, to which bounds are rounded: one too large proves too much."""

from __future__ import annotations

import numpy as np
import pytest

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
    assert smallest_step(unit, offsets) == pytest.approx(gaps[gaps > 1e-9].min())
