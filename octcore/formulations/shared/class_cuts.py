"""The extra inequality of the FlowOCT paper: one leaf is right for one class only.

For a branch node m whose children are terminal, a column f and rows H of pairwise different
classes that all have ``x_f = 1``::

    sum_{i in H} z[i, 2m] <= 1 - b[m, f]

If m tests f, the rows of H go right; otherwise those of H that arrive at 2m share its one label.
The mirror image takes ``x_f = 0`` and the child 2m + 1.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from octcore.formulations.shared.rows import MergedRows
from octcore.numerics.linear import sparse_rows
from octcore.program import Cuts, Point, SearchState

VIOLATION = 1e-4
"""Smaller violations cost more rows than they gain."""


class ClassCuts:
    """Separates the class inequalities exactly.

    `model`: holds ``b[m, f]`` and ``z[i, m]``, indices in order.
    """

    kind = "class"

    def __init__(self, model: Any, rows: MergedRows, columns: list[int], depth: int) -> None:
        self._model, self._rows, self._depth = model, rows, depth
        self._X = rows.X[:, columns].astype(bool)
        self._classes = [np.flatnonzero(rows.y == k) for k in np.unique(rows.y)]

    def separate(self, point: Point, state: SearchState) -> list[Cuts]:
        """Return the most violated inequality for every (node, side, column)."""
        n_branch = 2**self._depth - 1
        b_columns = point.columns.of(self._model.b).reshape(n_branch, -1)
        z_columns = point.columns.of(self._model.z).reshape(len(self._rows), -1)
        b = point.array(self._model.b).reshape(b_columns.shape)
        z = point.array(self._model.z).reshape(z_columns.shape)
        found: list[np.ndarray] = []
        for m in range(2 ** (self._depth - 1), 2**self._depth):
            for child, there in ((2 * m, self._X), (2 * m + 1, ~self._X)):
                best, flow = self._best_rows(z[:, child - 1], there)
                for f in np.flatnonzero(flow > 1 - b[m - 1] + VIOLATION):
                    members = best[:, f][best[:, f] >= 0]
                    found.append(np.append(z_columns[members, child - 1], b_columns[m - 1, f]))
        if not found:
            return []
        matrix = sparse_rows(found, point.columns.n_columns)
        return [Cuts(self.kind, matrix, np.ones(len(found)))]

    def _best_rows(self, z: np.ndarray, there: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Row of the largest flow per (class, column), -1 if it has none; and the sum of flows."""
        best = np.full((len(self._classes), there.shape[1]), -1)
        flow = np.zeros(there.shape[1])
        for k, members in enumerate(self._classes):
            inflow = np.where(there[members], z[members, None], 0.0)
            place = inflow.argmax(axis=0)
            largest = inflow[place, np.arange(inflow.shape[1])]
            best[k] = np.where(largest > 0, members[place], -1)
            flow += largest
        return best, flow
