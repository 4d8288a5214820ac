"""The records of `tests.mutants` without running them: every fault can still be put in."""

from __future__ import annotations

import pytest

from tests.mutants.records import ROOT, Mutant, mutants


@pytest.mark.parametrize("mutant", mutants(), ids=lambda mutant: mutant.name)
def test_the_text_stands_once(mutant: Mutant) -> None:
    assert mutant.place(ROOT).is_file()
