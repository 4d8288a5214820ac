"""Equations that every model with terminal assignments states about its tree.

OCT, its binary form and BinOCT write them in letters of their own, so the caller passes the
variables and the equation as it stands in the paper.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyomo.environ as pyo

from octcore.formulations.shared.rows import linear
from octcore.formulations.shared.tree_sets import TreeSets


def add_tested_column(model: Any, sets: TreeSets, tests: Any, splits: Any, doc: str) -> None:
    """A branch node that splits tests one column: ``sum_f b[m, f] = d[m]``."""
    model.one_column = pyo.Constraint(
        sets.B,
        rule=lambda _, m: pyo.quicksum(tests[m, f] for f in sets.columns) - splits[m] == 0,
        doc=doc,
    )


def add_split_below_split(model: Any, sets: TreeSets, splits: Any, doc: str) -> None:
    """Nothing splits below a leaf: ``d[m] <= d[parent of m]``."""
    model.split_below_split = pyo.Constraint(
        sets.B[1:], rule=lambda _, m: splits[m] <= splits[m // 2], doc=doc
    )


def add_right_without_split(model: Any, sets: TreeSets, ends: Any, splits: Any, doc: str) -> None:
    """Without a split all rows go right: ``z[i, t] <= d[m]`` where t lies left of m."""
    model.right_without_split = pyo.Constraint(
        sets.I,
        [(t, m) for t, m, side in sets.steps if side == 0],
        rule=lambda _, i, t, m: (None, linear((1.0, -1.0), (ends[i, t], splits[m])), 0.0),
        doc=doc,
    )


def add_one_terminal(model: Any, sets: TreeSets, ends: Any, doc: str) -> None:
    """Every row ends at one terminal node: ``sum_t z[i, t] = 1``."""
    ones = [1.0] * len(sets.L)
    model.one_terminal = pyo.Constraint(
        sets.I, rule=lambda _, i: (1.0, linear(ones, [ends[i, t] for t in sets.L]), 1.0), doc=doc
    )


def add_one_label(
    model: Any, sets: TreeSets, labels: Any, doc: str, used: Any | None = None
) -> None:
    """A terminal node predicts one class, none if unused: ``sum_k c[t, k] = 1`` or ``l[t]``."""
    model.one_label = pyo.Constraint(
        sets.L,
        rule=lambda _, t: (
            pyo.quicksum(labels[t, k] for k in sets.K) == (1 if used is None else used[t])
        ),
        doc=doc,
    )


def add_within(
    model: Any, name: str, values: Any, most: Callable[..., Any], docs: tuple[str, str]
) -> None:
    """``v <= most`` and ``-v <= most`` for all members v, as ``NAME_above`` and ``NAME_below``.

    `most`: what a member, by its index, is limited by.
    """
    for side, sign, doc in zip(("above", "below"), (1.0, -1.0), docs, strict=True):
        rows = pyo.Constraint(
            values.index_set(),
            rule=lambda _, *at, sign=sign: sign * values[at] <= most(*at),
            doc=doc,
        )
        model.add_component(f"{name}_{side}", rows)
