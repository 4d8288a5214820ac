"""The studies of the MARGOT suite."""

from __future__ import annotations

from pathlib import Path

import pytest

from octcore.bench.suites.margot import FEATURE_SETS, SUITE


@pytest.mark.reference
def test_features_stand_beside_the_papers_count(reference: Path):
    found = SUITE.instances(reference / "data", "features", SUITE.formulations)
    assert len(found) == 2 * len(FEATURE_SETS)
    assert {i.formulation for i in found} == {"hfs-margot", "sfs-margot"}
    assert all("paper_features=" in i.label for i in found)
    wholesale = next(i for i in found if i.dataset == "Wholesale" and i.formulation[0] == "h")
    assert wholesale.settings["params"]["budget_upper"] == 1


@pytest.mark.reference
def test_depths_repeat_the_hyperparameters(reference: Path):
    found = SUITE.instances(reference / "data", "depths", ("margot",))
    assert sorted({i.depth for i in found}) == [2, 3, 4]
    assert all(i.published.gap is None for i in found if i.depth > 2)
    spectf = [i.settings["params"] for i in found if i.dataset == "SPECTF H."]
    assert spectf[0] == spectf[1] == spectf[2]
