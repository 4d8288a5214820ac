"""OCT on numbers as they are."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import octcore
from octcore.data.dataset import Dataset


@pytest.mark.parametrize(("scale", "shift"), [(50.0, 0.0), (1.0, -0.5), (1.0, 0.25), (1e300, 0.0)])
def test_numbers_beyond_its_constants_are_refused(scale: float, shift: float) -> None:
    """With these no threshold had a place, so that a single leaf was called optimal."""
    numbers = np.linspace(0.0, 1.0, 6)
    labels = [0, 0, 1, 1, 0, 0]
    beyond = Dataset.from_arrays(pd.DataFrame({"x": scale * numbers + shift}), labels)
    with pytest.raises(octcore.SettingsError, match="from 0 to 1; use encoding scaled"):
        octcore.solve(beyond, "oct", encoding="raw")
    within = Dataset.from_arrays(pd.DataFrame({"x": numbers}), labels)
    asked = ((beyond, "auto"), (within, "raw"))
    runs = [octcore.solve(data, "oct", encoding=encoding) for data, encoding in asked]
    assert [(run.status, run.accuracy) for run in runs] == [("optimal", 1.0)] * 2


def test_a_required_root_parts_the_rows() -> None:
    """With all rows on one side of it the split below would be enough, for 0.02."""
    columns = {"useful": [0, 0, 1, 1] * 2, "required": [0, 1] * 4}
    data = Dataset.from_arrays(pd.DataFrame(columns, dtype=float), columns["useful"])
    asked = {"depth": 2, "constraints": {"root_feature": "required"}, "verify": False}
    run = octcore.solve(data, "oct", **asked)
    assert (run.status, run.objective) == ("optimal", pytest.approx(0.03))
