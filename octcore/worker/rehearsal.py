"""A tiny solve while the worker is idle, so that no real one waits for what loads on first use."""

from __future__ import annotations

SEED, ROWS, DEPTH, SECONDS = 0, 24, 3, 5.0


def rehearse() -> None:
    """Solve a set of a few rows and throw the result away."""
    import numpy as np

    from octcore.data.dataset import Dataset
    from octcore.serial import jsonable
    from octcore.solving.solve import solve

    rng = np.random.default_rng(SEED)
    X = np.column_stack([rng.random(ROWS), rng.integers(0, 2, (ROWS, 3))])
    data = Dataset.from_arrays(X, rng.integers(0, 2, ROWS), name="rehearsal")
    jsonable(solve(data, formulation="path-search", depth=DEPTH, time_limit=SECONDS).to_dict())
