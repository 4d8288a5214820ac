"""One problem through every formulation that can express it: one optimum."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np

import octcore
from tests.fuzz import oblique, univariate
from tests.fuzz.case import STOPPED, Case
from tests.fuzz.failure import must
from tests.referee.convex import Undecided

KEYS = ("agreement",)
BINARY = (
    "path-search",
    "threshold-search",
    "path-columns",
    "flow-oct",
    "bend-oct",
    "accelerated-bend-oct",
    "oct-binary",
)
"""Formulations of accuracy minus a price per leaf."""


def draw(rng: np.random.Generator, key: str) -> Case:
    """Draw a problem of the univariate family, or a MARGOT problem without budgets."""
    if rng.random() < 0.25:
        case = oblique.draw(rng, "margot")
        params = {name: v for name, v in case.params.items() if name not in {"norm", "big_m"}}
        return replace(case, key=key, params=params, kind="planes")
    case = univariate.draw(rng, "path-columns")
    interrupted = {STOPPED, "node_limit", "time_limit"}
    settings = {name: v for name, v in case.settings.items() if name not in interrupted}
    return replace(case, key=key, settings=settings)


REFUSALS = {"LEAF_LARGER_THAN_DATA": "infeasible", "BAD_COSTS": "refused"}
"""What all formulations must say where one refuses the question."""


def forms(case: Case) -> list[Case]:
    """Return the case in every formulation that can express it."""
    if case.kind == "planes":
        p = case.encoded.X.shape[1]
        budgets = {**case.params, "budget_upper": p, "budget_last": p}
        return [
            replace(case, key="margot"),
            replace(case, key="hfs-margot", params=budgets),
            replace(case, key="sfs-margot", params=budgets | {"alpha": 1.0}),
        ]
    able = {f.key: f.constraints for f in octcore.formulations()}
    asked = set(case.constraints)
    found = [replace(case, key=key) for key in BINARY if asked <= able[key]]
    return [replace(c, encoding="raw") if c.key == "threshold-search" else c for c in found]


def check(case: Case) -> None:
    """Solve every form; raises Failure when two optima differ."""
    found: list[tuple[str, str, float | None]] = []
    for form in forms(case):
        try:
            run = form.solve()
        except Undecided:  # this form refuses, the others are compared
            continue
        except octcore.SettingsError as refusal:
            said = REFUSALS.get(refusal.code)
            must(said is not None, f"{form.key} refused: {refusal.message}")
            found.append((form.key, str(said), None))
            continue
        found.append((form.key, run.status, run.objective))
        must(run.status in {"optimal", "infeasible"}, f"{form.key}: {run.status}")
    for (key, status, value), (other, second, objective) in pairwise(found):
        must(status == second, f"{key} is {status}, {other} is {second}")
        if value is not None and objective is not None:
            share = oblique.CLOSED if case.kind == "planes" else 1e-8
            slack = 2 * share * max(1e-6 if case.kind == "planes" else 1.0, abs(value))
            must(abs(value - objective) <= slack, f"{key} {value:.12g}, {other} {objective:.12g}")
