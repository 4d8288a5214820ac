"""The records of `tests.mutants` without running them: every fault can still be put in."""

from __future__ import annotations

from functools import cache

import pytest

from tests.mutants.records import ROOT, Mutant, mutants
from tests.mutants.sites import sites
from tests.mutants.systematic import equivalents


@pytest.mark.parametrize("mutant", mutants(), ids=lambda mutant: mutant.name)
def test_the_text_stands_once(mutant: Mutant) -> None:
    assert mutant.place(ROOT).is_file()


@cache
def changes_of(file: str) -> set[tuple[str, str]]:
    """Lines of a file and what may become of them."""
    return {(site.text, change) for site in sites(ROOT / file) for change in (site.change, "")}


@pytest.mark.sampled(5)
@pytest.mark.parametrize(("file", "line", "change"), sorted(equivalents()))
def test_a_change_without_result_can_still_be_made(file: str, line: str, change: str) -> None:
    assert (line, change) in changes_of(file)
