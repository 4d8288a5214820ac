"""The first tree of the MARGOT family."""

from __future__ import annotations

import numpy as np
import pytest

from octcore import kernels
from octcore.errors import CancelledError
from octcore.formulations.base import get_formulation
from octcore.program import ENDLESS
from tests.brute import make_problem


@pytest.mark.parametrize("key", ["margot", "hfs-margot"])
def test_the_first_tree_comes_after_its_kernels(key: str, monkeypatch) -> None:
    """They are waited for while the clock stands still, else the first call compiles them on it."""
    random = np.random.default_rng(0)
    X, y = random.random((20, 2)), np.arange(20) % 2
    program = get_formulation(key).build(make_problem(X, y, 2, 2, formulation=key))
    asked: list[str] = []

    def require(*names: str, stop) -> None:
        asked.extend(names)
        raise CancelledError("Stopped while the search was being prepared.")

    monkeypatch.setattr(kernels, "require", require)
    assert list(program.starts(ENDLESS)) == []
    assert tuple(asked) == program.kernels
