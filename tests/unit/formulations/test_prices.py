"""Every formulation of the univariate family reads a price as the same fraction, and says so."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest

import octcore
from octcore.data.dataset import Dataset
from octcore.formulations.base import get_formulation
from octcore.solving.prepare import prepare
from octcore.solving.settings import check_settings

READ = {
    "leaf_penalty": (0.006250000000000001, "the price of a leaf is 1/160"),
    "split_weight": (0.1 + 0.2, "the weight of the splits is 3/10"),
}
FORMS = [
    (info.key, name)
    for info in octcore.formulations()
    for name in READ
    if any(parameter.name == name for parameter in info.hyperparameters)
]


def built(key: str, params: dict[str, Any]) -> Any:
    """The program on 32 rows."""
    rows = [i % 2 for i in range(32)]
    data = Dataset.from_arrays(pd.DataFrame({"a": rows, "b": sorted(rows)}), rows)
    return get_formulation(key).build(prepare(data, check_settings(key, params=params)).problem)


@pytest.mark.parametrize(("key", "name"), FORMS)
def test_the_certificate_names_the_fraction(key: str, name: str) -> None:
    typed, said = READ[name]
    program = built(key, {name: typed})
    assert said in program.claims
    stump = octcore.Tree({1: octcore.Split.on_feature(0)}, {2: 0, 3: 1}, 2, 2)
    value = 1 - 2 / 160 if name == "leaf_penalty" else 0.7 * 32 - 0.3
    assert program.evaluate(stump) == value


def test_all_formulations_are_asked() -> None:
    assert len(FORMS) >= 15


def test_the_price_of_oct_is_read_alike() -> None:
    program = built("oct", {"alpha": 0.1 + 0.2})
    assert "the price of a split is 3/10" in program.claims


def test_a_weight_next_to_one_keeps_its_price() -> None:
    program = built("path-search", {"split_weight": 1 - 1e-13})
    assert program.scale == pytest.approx(32 * 1e-13, rel=1e-3)
