"""What a search finds when it is asked again to prove the bound of a run: steps to be checked.

The search is not trusted, and knows the claim: it looks for states that cover all trees and reach
the bound.  What it yields is checked by the proofs of its formulation; a tree that it meets and
that is better than the bound refutes the claim.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from octcore.errors import OctError
from octcore.tree.tree import Tree
from octcore.verification.base import Guard, NotProvenError, WrongError
from octcore.verification.claim import Claim, Routed, broken_rules, route

SHARE = 1e-6
"""Relative distance of two objectives that count as one."""


def found_again(
    claim: Claim, guard: Guard, worth: Callable[[Claim, Routed], float], slack: float = 0.0
) -> Iterator[Any]:
    """Yield the steps of the search.

    `NotProvenError` if there is no such search, or it would take too long; `WrongError` if it meets
    a tree that is better than the bound.

    `slack`: by how much two objectives that count as one may differ, if that is more than `SHARE`.
    """
    assert claim.bound is not None
    slack = max(slack, SHARE * abs(claim.bound))
    try:
        steps = iter(()) if claim.prove is None else claim.prove(claim.bound - 0.5 * slack, guard)
        estimate = next(steps, None)
        if estimate is None:
            raise NotProvenError("the search that proves it again is not at hand")
        guard.expects(estimate)
        for step in steps:
            if isinstance(step, Tree):
                value = _value_of(replace(claim, tree=step), worth, guard)
                if value < claim.bound - slack:
                    raise WrongError(
                        f"the bound {claim.bound:.9g} is claimed, a tree of objective {value:.9g} "
                        "exists"
                    )
                return
            yield step
    except OctError as error:
        raise NotProvenError(f"its search cannot be repeated: {error}") from error


def _value_of(claim: Claim, worth: Callable[[Claim, Routed], float], guard: Guard) -> float:
    """What a tree that the search meets is worth; one that may not be refutes nothing."""
    routed = route(claim.tree, claim.X)
    try:
        value = worth(claim, routed)
    except WrongError as error:
        raise NotProvenError(f"its search meets a tree that is none: {error}") from error
    if broken := broken_rules(claim, routed, guard):
        raise NotProvenError(f"its search meets a tree that is none: {broken[0]}")
    return value
