"""Compare `octcore bench accelerated --study penalties` with an independent derivation.

python -m tests.bench.penalties RESULT.csv [--before OTHER.csv] [--seconds 60]
"""

from __future__ import annotations

import argparse

import numpy as np
import pandas as pd

from octcore.bench.data_files import data_folder
from octcore.verification.base import Guard, NotProvenError
from octcore.verification.optimum import ROUNDING, Task, least_cost
from octcore.verification.sheet import Sheet, make_sheet

TOLERANCE = 1e-7


def main() -> None:
    """Print differences, counts and times."""
    parser = argparse.ArgumentParser()
    parser.add_argument("result")
    parser.add_argument("--before")
    parser.add_argument("--seconds", type=float, default=60.0)
    given = parser.parse_args()
    runs = pd.read_csv(given.result)
    if given.before:
        compare(runs, pd.read_csv(given.before))
    derive(runs, given.seconds)


def compare(runs: pd.DataFrame, before: pd.DataFrame) -> None:
    """Say which objectives changed, and how the times did."""
    keys = ["dataset", "encoding", "depth", "parameters"]
    both = runs.merge(before, on=keys, suffixes=("", "_before"))
    changed = both[(both["objective"] - both["objective_before"]).abs() > TOLERANCE]
    print(f"{len(both)} runs in both files, {len(changed)} objectives changed")
    print(changed[[*keys, "objective_before", "objective"]].to_string(index=False))
    total, old = both["solve_seconds"].sum(), both["solve_seconds_before"].sum()
    ratio = (both["solve_seconds"] / both["solve_seconds_before"]).median()
    print(f"seconds of the searches: {old:.1f} before, {total:.1f} now; median ratio {ratio:.3f}")


def derive(runs: pd.DataFrame, limit: float) -> None:
    """Derive every objective that takes no longer than a limit."""
    folder = data_folder(None) / "encoded"
    wrong, confirmed, left, seconds = [], 0, [], 0.0
    for (name, encoding, depth), own in runs.groupby(
        ["dataset", "encoding", "depth"], dropna=False
    ):
        sheet = _sheet(folder, str(name), encoding)
        n = float(sheet.counts.sum())
        for _, run in own.iterrows():
            price = float(str(run["parameters"]).split("=")[1])
            guard = Guard(limit)
            task = Task(price * n, 1, ROUNDING * n * (1 + price), guard)
            margin = 2 * n * TOLERANCE
            cutoff = n * (1.0 - run["objective"]) + margin
            try:
                best = 1.0 - least_cost(task, sheet, int(depth), 2 ** int(depth), cutoff) / n
            except NotProvenError:
                left.append((name, encoding, depth, price))
                continue
            seconds += guard.elapsed
            if run["status"] == "optimal" and abs(best - run["objective"]) <= TOLERANCE:
                confirmed += 1
            else:
                wrong.append((name, encoding, depth, price, run["status"], run["objective"], best))
    print(f"{confirmed} confirmed, {len(wrong)} different, {seconds:.0f} CPU seconds of derivation")
    for case in wrong:
        print("different:", *case)
    for case in left:
        print("not derived in time:", *case)


def _sheet(folder, name: str, encoding: object) -> Sheet:
    stem = name if encoding == "none" or pd.isna(encoding) else f"{name}_{encoding}"
    (path,) = [p for p in folder.glob("*.csv") if p.stem in {stem, f"{stem}_enc"}]
    table = pd.read_csv(path)
    y = pd.factorize(table["target"], sort=True)[0]
    X = table.drop(columns="target").to_numpy()
    gains, columns = (y[:, None] == np.arange(y.max() + 1)).astype(float), np.arange(X.shape[1])
    return make_sheet(X, gains, columns, columns, Guard(np.inf))[0]


if __name__ == "__main__":
    main()
