"""Bounds by rows along lines: confirmed with their multipliers, not with any others."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import octcore
from octcore.data.dataset import Dataset
from octcore.tree.tree import Tree
from octcore.verification.base import Guard
from octcore.verification.checking import claim_of
from octcore.verification.oblique import fewest_errors
from tests.unit.verification.restated import only_bound, restated

pytestmark = pytest.mark.long  # kernels are compiled that other tests do without


@pytest.fixture(scope="module")
def run():
    """Nine rows of a line, two classes by turns: six right at most with four leaves."""
    data = Dataset.from_arrays(np.arange(9.0)[:, None], np.arange(9) % 2)
    return octcore.solve(data, "s-oct", depth=2, params={"start_seconds": 0.2}, verify=False)


def test_the_optimum_of_alternating_rows_is_confirmed(run):
    assert (run.status, run.objective, run.bound) == ("optimal", 6.0, 6.0)
    assert any("along lines" in statement for statement in run.certificate.statements)
    found = run.verify()
    assert found.status == "confirmed"
    assert "along lines" in found.statement


def test_a_bound_beyond_the_chains_is_not_verified(run):
    assert only_bound(run, 6.0).verify().status == "confirmed"
    assert only_bound(run, 5.0).verify().status == "not verified"


@pytest.mark.parametrize(("multiplier", "errors"), [(0.0, 0), (0.3, 1), (1.0, 3), (4.0, -15)])
def test_a_multiplier_proves_what_weak_duality_says(run, multiplier, errors):
    """At most ``m * 6 + sum max(0, 1 - m)`` rows are right, in whole rows."""
    claim, chain = claim_of(run, Guard(60.0)), {"rows": range(9), "classes": [0, 1] * 4 + [0]}
    assert fewest_errors(claim, [chain | {"multiplier": multiplier}], Guard(60.0)) == errors


def _spoiled(run, **changes):
    chains = [dict(chain) for chain in run.extras["chains"]]
    chains[0] |= {name: change(chains[0][name]) for name, change in changes.items()}
    return replace(run, extras={**run.extras, "chains": chains}).verify()


def test_spoiled_chains_prove_nothing(run):
    assert _spoiled(run, multiplier=lambda m: 4 * m).status == "not verified"
    assert _spoiled(run, multiplier=lambda m: -m).status == "not verified"
    swapped = _spoiled(run, rows=lambda rows: [rows[0], rows[3], rows[2], rows[1], *rows[4:]])
    assert swapped.status == "not verified"  # each with its class, but not in the line's order
    assert _spoiled(run, classes=lambda classes: [classes[1], *classes[1:]]).status == (
        "not verified"
    )


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("multiplier", float("nan")),
        ("multiplier", float("inf")),
        ("multiplier", None),
        ("rows", [*range(8), 9]),
        ("rows", list(range(8))),
        ("classes", [0, 2] * 4 + [0]),
    ],
)
def test_chains_that_make_no_sense_prove_nothing(run, name, value):
    assert _spoiled(run, **{name: lambda _: value}).status == "not verified"


def test_the_last_class_has_no_second_name(run):
    claim = replace(claim_of(run, Guard(60.0)), y=np.ones(9, dtype=int))
    chain = {"rows": range(9), "classes": [1, -1] * 4 + [1], "multiplier": 1.0}
    assert fewest_errors(claim, [chain], Guard(60.0, None)) is None


def test_claims_beyond_the_chains_are_not_verified(run):
    leaf = Tree.leaf(0, 1, 2)
    worse = restated(run, tree=leaf, objective=5.0, bound=5.0)
    assert worse.verify().status == "not verified"
    assert replace(worse, bound=6.0).verify().status == "refuted"  # it says that it is optimal
    assert only_bound(run, float("nan")).verify().status == "not verified"
