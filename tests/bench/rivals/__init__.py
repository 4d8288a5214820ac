"""Other people's programs beside ours: ``python -m tests.bench.rivals SUITE`` takes every option
of ``octcore bench`` and knows its suites as well.
"""

from __future__ import annotations

from octcore.bench import suite
from tests.bench.rivals import (
    machines_suite,
    near_optimal_suite,
    peers_suite,
    thresholds_suite,
)

SUITES: tuple[suite.Suite, ...] = tuple(
    module.SUITE for module in (machines_suite, near_optimal_suite, peers_suite, thresholds_suite)
)


def register() -> None:
    """Add the suites, or put them in the place of those of the same name."""
    suite.list_suites().update({found.key: found for found in SUITES})
