"""Floors of recall and parity between groups, counted row by row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np

ROUNDING = 1e-9


def keeps_floors(floors: Mapping[int, float], predicted: np.ndarray, classes: np.ndarray) -> bool:
    """Tell whether every class has its least share of rows right."""
    for label, floor in floors.items():
        rows = classes == label
        if rows.any() and (predicted[rows] == label).mean() < floor - ROUNDING:
            return False
    return True


def keeps_parity(
    name: str,
    limit: Mapping[str, Any],
    columns: Mapping[str, Sequence[Any]],
    favoured: np.ndarray,
    deserving: np.ndarray,
) -> bool:
    """Tell whether the shares of favoured rows differ little enough between groups.

    Parameters
    ----------
    name : str
        Which parity.
    limit : mapping
        ``attribute``, ``max_gap`` and, for conditional parity, ``given``.
    columns : mapping of str to sequence
        Raw columns.
    favoured, deserving : numpy.ndarray
        Rows predicted positive, rows of the positive class.
    """
    groups = np.array(columns[limit["attribute"]])
    everything = np.ones(len(groups), bool)
    parts = {
        "statistical_parity": [everything],
        "equal_opportunity": [deserving],
        "predictive_equality": [~deserving],
        "equalized_odds": [deserving, ~deserving],
    }
    if name == "conditional_parity":
        given = np.array(columns[limit["given"]])
        strata = [given == level for level in set(given.tolist())]
    else:
        strata = parts[name]
    for stratum in strata:
        shares = [
            favoured[stratum & (groups == g)].mean()
            for g in set(groups.tolist())
            if (stratum & (groups == g)).any()
        ]
        for a, b in combinations(shares, 2):
            if abs(a - b) > limit["max_gap"] + ROUNDING:
                return False
    return True
