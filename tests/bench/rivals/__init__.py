"""Other people's programs beside ours, and the strength of our models, which no paper measures.

``python -m tests.bench.rivals SUITE`` takes every option of ``octcore bench`` and knows its suites
as well.
"""

from __future__ import annotations

from octcore.bench import suite
from tests.bench.rivals import (
    machines_suite,
    near_optimal_suite,
    peers_suite,
    strength_suite,
    thresholds_suite,
)

_MODULES = (machines_suite, near_optimal_suite, peers_suite, strength_suite, thresholds_suite)
SUITES: tuple[suite.Suite, ...] = tuple(module.SUITE for module in _MODULES)


def register() -> None:
    """Add the suites, or put them in the place of those of the same name."""
    suite.list_suites().update({found.key: found for found in SUITES})
