"""Of several best trees all searches name the same one, the first by a plain enumeration."""

import numpy as np
import pytest

from octcore.search.univariate import search
from octcore.search.univariate.question import Question


def first(X, y, w, depth: int, price: float, n_classes: int, forced: tuple[int, ...] | None = None):
    """Cost, leaves and splits of the first best tree, by enumeration of all thresholds."""
    counts = np.bincount(y, w, n_classes)
    best = (counts.sum() - counts.max() + price, 1, int(counts.argmax()))
    if forced is not None:
        best = (np.inf, 0, None)
    for levels in range(1, depth + 1):
        found = []
        for f in range(X.shape[1]) if forced is None else sorted(forced):
            for t in np.unique(X[:, f])[:-1]:
                left = X[:, f] <= t
                a = first(X[left], y[left], w[left], levels - 1, price, n_classes)
                b = first(X[~left], y[~left], w[~left], levels - 1, price, n_classes)
                found.append((a[0] + b[0], a[1] + b[1], (f, float(t), a[2], b[2])))
        least = min((one[0] for one in found), default=np.inf)
        if least >= best[0] - 1e-9:
            continue
        close = [one for one in found if one[0] <= least + 1e-9]
        # Below three levels fewer leaves come first; then the order of columns and thresholds.
        best = min(close, key=lambda one: one[1]) if levels < 3 else close[0]
    return best


def splits(tree, X, node: int = 1):
    """The same of a tree of the package, thresholds as the last value on the left."""
    if node not in tree.splits:
        return tree.labels[node]
    split = tree.splits[node]
    f = split.features[0]
    at = float(X[X[:, f] <= split.threshold, f].max())
    left = X[:, f] <= split.threshold
    return f, at, splits(tree, X[left], 2 * node), splits(tree, X[~left], 2 * node + 1)


def joined(nested, is_kept: bool = False):
    """Splits with the same label on both sides dropped, as the searches do but for forced roots."""
    if not isinstance(nested, tuple):
        return nested
    f, t, left, right = nested[0], nested[1], *map(joined, nested[2:])
    return left if left == right and not isinstance(left, tuple) | is_kept else (f, t, left, right)


@pytest.mark.parametrize("seed", range(170))
def test_every_search_names_the_first_best_tree(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(seed)
    depth = 1 + seed % 3
    n, p, k = int(rng.integers(6, 30 if depth < 3 else 12)), int(rng.integers(1, 4)), 2 + seed % 2
    X = rng.integers(0, rng.choice([2, 3, 9]), (n, p)).astype(float)
    y = rng.integers(0, k, n)
    weights = rng.integers(1, 4, n).astype(float) if seed % 4 == 3 else np.ones(n)
    penalty = float(rng.choice([0.0, 1 / weights.sum(), 0.03]))
    roots = (0,) if seed % 5 == 4 and len(np.unique(X[:, 0])) > 1 else None
    question = Question(X, y, k, depth, penalty, weights, roots=roots)
    price = penalty * weights.sum()
    expected = joined(first(X, y, weights, depth, price, k, roots)[2], roots is not None)
    monkeypatch.setattr(search.kernels, "prepare_later", lambda *names: None)
    for ready, by_bits in ((False, False), (True, False), (True, True)):
        if by_bits and (len(np.unique(X)) > 3 or roots is not None):
            continue  # of forced roots they take the smaller column first, whatever the leaves
        with monkeypatch.context() as patch:
            patch.setattr(search.kernels, "are_ready", lambda *names, ready=ready: ready)
            patch.setattr(search, "suits_bits", lambda table, by_bits=by_bits: by_bits)
            found = search.answer(question)
        assert found.plain is not ready
        assert found.tree is not None
        assert splits(found.tree, X) == expected, (ready, by_bits)
