"""Independent check of the compiled depth-two kernel."""

from __future__ import annotations

import numpy as np


def reference_scores(
    X: np.ndarray, y: np.ndarray, weights: np.ndarray, n_classes: int
) -> tuple[list[float], np.ndarray, np.ndarray]:
    """Compute s_1..s_4 and the leaf and stump scores with plain matrix products.

    The independent check of the compiled kernel: one product per class, Q_k = X_k' W X_k.

    Returns
    -------
    tuple of (list of float, ndarray of shape (2, n_features), ndarray of shape (2, n_features))
        s_1..s_4, the leaf scores (C_0, C_1) and the stump scores (S_L, S_R).
    """
    X = np.asarray(X, float)
    cells = []
    for c in range(n_classes):
        rows, weight = X[y == c], weights[y == c]
        both = (rows * weight[:, None]).T @ rows
        ones = np.diagonal(both)
        first = ones[:, None] - both
        second = ones[None, :] - both
        none = weight.sum() - ones[:, None] - second
        cells.append(np.stack([none, second, first, both]))
    best = np.max(cells, axis=0)
    totals = np.bincount(y, weights, minlength=n_classes)
    ones = np.stack([np.diagonal(cell[3]) for cell in cells])
    leaf = np.stack([(totals[:, None] - ones).max(axis=0), ones.max(axis=0)])
    stump = np.stack([(best[0] + best[1]).max(axis=1), (best[2] + best[3]).max(axis=1)])
    s = [
        float(totals.max()),
        float((leaf[0] + leaf[1]).max()),
        float(max((stump[0] + leaf[1]).max(), (leaf[0] + stump[1]).max())),
        float((stump[0] + stump[1]).max()),
    ]
    return s, leaf, stump
