"""Both kinds of kernels answer the questions of these tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from octcore.numerics import kernels
from octcore.search.univariate import warm_up
from tests.fuzz.questions import answered_by


@pytest.fixture(scope="session")
def _compiled() -> None:
    kernels.require(*warm_up.lane_sets(2, True), *warm_up.bit_sets(1, 5))


@pytest.fixture(params=["bits", "lanes"])
def kernel(request: pytest.FixtureRequest, _compiled: None) -> Iterator[str]:
    """Which kernels answer; those on 0/1 columns cannot where rows have no weight."""
    with answered_by(request.param):
        yield request.param
