"""The kept cases: `tests.mutants` says which fault each of them notices."""

from __future__ import annotations

import pytest

from tests.fuzz import check
from tests.fuzz.kept import CASES


@pytest.mark.parametrize("name", CASES)
def test_kept_case(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OCTCORE_CHECK", "1")
    check(CASES[name])
