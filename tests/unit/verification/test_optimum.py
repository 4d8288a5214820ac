"""The derivation of optima against the referee, which knows nothing of it."""

from __future__ import annotations

import numpy as np
import pytest

import octcore
from octcore.verification.base import Guard
from octcore.verification.claim import Claim
from octcore.verification.optimum import derived as derived_by
from tests.fuzz.case import Case
from tests.fuzz.univariate import draw, expected

FAIRNESS = ("statistical_parity", "equal_opportunity", "predictive_equality", "equalized_odds",
            "conditional_parity")  # fmt: skip


def claim_of_case(case: Case, **claimed) -> Claim:
    """The rules of a case; what is claimed about it is given or left open."""
    asked = case.constraints
    named = [asked[name].get(role) for name in FAIRNESS if name in asked
             for role in ("attribute", "given")]  # fmt: skip
    return Claim(
        **{"status": "optimal", "objective": None, "bound": None, "tree": None} | claimed,
        formulation=case.key,
        method="",
        X=case.encoded.X,
        y=case.codes,
        weights=case.row_weights,
        n_classes=len(case.classes),
        table=case.costs,
        depth=case.depth,
        params=case.params,
        limits=asked,
        group=case.encoded.groups,
        raw_features=tuple(case.columns),
        classes=case.classes,
        positive_class=len(case.classes) - 1,
        attributes={
            name: np.unique(np.array(case.columns[name]).astype(str), return_inverse=True)[1]
            for name in filter(None, named)
        },
    )


def derived(case: Case) -> float | None:
    return derived_by(claim_of_case(case), Guard(60.0)).bound


OF_ACCURACY = [info.key for info in octcore.formulations() if info.has_common_objective]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("key", [*OF_ACCURACY, "threshold-search"])
def test_the_optimum_is_that_of_the_referee(key: str) -> None:
    rng = np.random.default_rng(20261121)
    infeasible = 0
    for _ in range(60):
        case = draw(rng, key)
        if "monotone" in case.constraints:  # which verification does not derive
            continue
        truth = expected(case)
        found = derived(case)
        infeasible += truth.optimum is None
        if truth.optimum is None:
            assert found is None, case
        else:
            assert found == pytest.approx(truth.optimum, abs=truth.slack()), case
    assert infeasible < 30


@pytest.mark.sampled(3)
@pytest.mark.parametrize("depth", [1, 2, 3, 4, 5])
def test_every_depth_leaf_size_and_leaf_limit(depth: int) -> None:
    rng = np.random.default_rng(depth)
    for least in (1, 2, 3):
        for limit in (1, 2, 3, 5, 8, 16):
            case = draw(rng, "path-search")
            asked = {"max_leaves": limit, "min_samples_leaf": least}
            case = Case(
                case.key, case.columns, case.y, depth, case.encoding,
                {"leaf_penalty": 0.01}, asked, {}, case.weights,
            )  # fmt: skip
            truth = expected(case)
            found = derived(case)
            assert (found is None) == (truth.optimum is None)
            if found is not None:
                assert found == pytest.approx(truth.optimum, abs=truth.slack())


def test_what_a_path_tested_above_is_not_tested_again_below() -> None:
    columns = {"b": (0, 0, 0, 0, 1, 1, 1, 1), "x": (0, 1, 2, 3, 0, 1, 2, 3)}
    case = Case(
        "threshold-search", columns, (0, 1, 0, 1, 1, 0, 1, 0), 3, "raw",
        {"leaf_penalty": 0.01}, {"feature_once_per_path": True},
    )  # fmt: skip
    assert derived(case) == pytest.approx(0.75 - 0.04)
