"""Few whole numbers are compared by size: a proven tree of a file is never below a greedy one."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.tree import DecisionTreeClassifier

import octcore

PENALTIES = (0.0, 0.01)


def _table(seed: int) -> pd.DataFrame:
    """Whole numbers of three to ten values, labelled by their halves and by noise."""
    rng = np.random.default_rng(seed)
    n, p = int(rng.integers(40, 200)), int(rng.integers(2, 6))
    X = np.column_stack([rng.integers(0, rng.integers(3, 11), n) for _ in range(p)])
    cuts = X > np.median(X, axis=0)
    weights = 2 ** np.arange(p)
    y = rng.integers(0, rng.integers(2, 5), 2**p)[cuts @ weights]
    noisy = rng.random(n) < 0.15
    y = np.where(noisy, rng.integers(0, 4, n), y)
    return pd.DataFrame(X * rng.integers(1, 4, p)).add_prefix("x").assign(y=y)


def _greedy(frame: pd.DataFrame, depth: int, penalty: float) -> float:
    """Best objective of scikit-learn's tree under any stopping price, without loss beside ours."""
    X, y = frame.drop(columns="y").to_numpy(), frame["y"].to_numpy()
    full = DecisionTreeClassifier(max_depth=depth, random_state=0)
    prices = full.cost_complexity_pruning_path(X, y).ccp_alphas.clip(min=0)
    trees = [DecisionTreeClassifier(max_depth=depth, random_state=0, ccp_alpha=a) for a in prices]
    return max(t.fit(X, y).score(X, y) - penalty * t.get_n_leaves() for t in trees)


@pytest.mark.sampled(9)
@pytest.mark.parametrize("depth", [2, 3])
@pytest.mark.parametrize("seed", range(26))
def test_a_proven_tree_is_never_below_cart(seed: int, depth: int) -> None:
    frame = _table(seed)
    data = octcore.read_csv(frame.to_csv(index=False).encode(), target="y")
    for penalty in PENALTIES:
        run = octcore.solve(data, depth=depth, params={"leaf_penalty": penalty}, verify=False)
        assert run.status == "optimal"
        assert run.objective is not None
        assert run.objective >= _greedy(frame, depth, penalty) - 1e-9


@pytest.mark.parametrize(("depth", "right"), [(2, 448), (3, 484)])
def test_balance_scale_is_proven_on_its_numbers(depth: int, right: int) -> None:
    data = octcore.load_sample("balance-scale")
    frame = data.frame.assign(y=data.codes)
    for encoding in ("auto", "QT-5", "QB-5"):
        key = "threshold-search" if encoding == "auto" else "path-search"
        settings = {"encoding": encoding, "depth": depth, "params": {"leaf_penalty": 0.0}}
        run = octcore.solve(data, key, **settings)
        assert run.status == "optimal"
        assert not any("not among all" in sentence for sentence in run.certificate.statements)
        assert round(625 * (run.accuracy or 0.0)) == right
    assert right / 625 > _greedy(frame, depth, 0.0)


def test_one_cut_explains_rooms() -> None:
    rng = np.random.default_rng(5)
    rooms = np.arange(400) % 9
    y = (rooms >= 4) ^ (rng.random(400) < 0.05)
    text = pd.DataFrame({"rooms": rooms, "y": y.astype(int)}).to_csv(index=False)
    run = octcore.solve(octcore.read_csv(text.encode(), target="y"), depth=2)
    assert run.status == "optimal"
    assert run.final_tree.n_leaves == 2
    assert (run.predict(pd.DataFrame({"rooms": range(9)})) == [0, 0, 0, 0, 1, 1, 1, 1, 1]).all()
    assert not any("one level at a time" in sentence for sentence in run.certificate.statements)


def test_a_certificate_names_what_has_no_order() -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "colour": rng.choice(["red", "green", "blue"], 60),
            "city": rng.choice(["Rome", "Oslo", "Bern"], 60),
            "member": rng.choice(["yes", "no"], 60),
            "rooms": rng.integers(0, 5, 60),
            "y": rng.integers(0, 2, 60),
        }
    )
    data = octcore.read_csv(frame.to_csv(index=False).encode(), target="y")
    named = "questions on “colour”, “city” ask for one level at a time"
    for key, depth in (("threshold-search", 2), ("cart", 2), ("path-search", 1)):
        run = octcore.solve(data, key, depth=depth, verify=False)
        assert named in run.certificate.statements
    plane = octcore.solve(data, "svm1-odt", depth=1, time_limit=1, verify=False)
    assert not any("one level" in sentence for sentence in plane.certificate.statements)
