"""The kept cases: `tests.mutants` says which fault each of them notices."""

from __future__ import annotations

import pytest

from tests.fuzz import check
from tests.fuzz.kept import CASES

WIDE = {
    "sums-beyond-sixteen-bits", "sums-of-fifty-bits", "a-solver-misses-less-than-its-tolerance",
    "a-light-row-hides-behind-a-heavy-one", "optimum-as-large-as-the-tolerance",
    "margins-missed-by-rounding-at-a-price-of-a-million",
}  # fmt: skip
"""Cases for which kernels are compiled that others do without."""


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=pytest.mark.long if n in WIDE else ()) for n in CASES]
)
def test_kept_case(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OCTCORE_CHECK", "1")
    check(CASES[name])
