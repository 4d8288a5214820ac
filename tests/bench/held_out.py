"""Held-out accuracy: all thresholds beside bins and CART, the price of a leaf chosen by `tune`.

``python -m tests.bench.held_out [--output FILE] [--limit S] [--depth D]``, and again to resume.
Every split gives half of the rows to training, a quarter to the choice and a quarter to the test.
"""

from __future__ import annotations

import argparse
import csv
import statistics
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

from octcore.bench.data_files import data_folder, table
from octcore.bench.suites.thresholds import loader
from octcore.data.dataset import Dataset
from octcore.selection.tuning import tune

PENALTIES = (0.0, 0.005, 0.01, 0.02)
METHODS = {
    "all thresholds": ("threshold-search", "raw"),
    "QT-5": ("path-search", "QT-5"),
    "QB-5": ("path-search", "QB-5"),
    "class-change": ("path-search", "class-change"),
    "CART": ("cart", "auto"),
}
"""Formulation and encoding by the name in the table."""
NAMED = (
    "iris", "wine", "parkinsons", "sonar", "ionosphere", "wdbc", "ILPD", "transfusion", "raisin",
    "banknote", "biodeg", "rice", "wilt", "segment",
)  # fmt: skip
"""Sets of the suite `thresholds`."""
TABLES = {
    "seeds": ("seeds.txt", -1, False, (), r"\s+"),
    "plrx": ("plrx.txt", -1, False, (), r"\s+"),
    "climate": ("climate.dat", -1, True, (0, 1), r"\s+"),
    "wpbc": ("wpbc.data", 1, False, (0,), ","),
    "fertility": ("fertility.txt", -1, False, (), ","),
    "cleveland": ("cleveland.data", -1, False, (), ","),
}
"""File, position of the class, whether it is headed, columns to leave out, separator."""
FIELDS: tuple[str, ...] = (
    "set",
    "method",
    "rows",
    "columns",
    "accuracy",
    "train",
    "leaves",
    "proven",
    "seconds",
)


def loaders(folder: Path) -> dict[str, Callable[[], Dataset]]:
    """Loaders of the sets by name."""
    found = {name: loader(folder, name) for name in NAMED}
    for name, (file, target, headed, drop, separator) in TABLES.items():
        path = folder / "raw" / file
        two = name == "cleveland"
        found[name] = partial(
            table, path, name, target, headed, drop, separator=separator, two_classes=two
        )  # fmt: skip
    return found


def measure(data: Dataset, method: str, depth: int, limit: float) -> dict[str, object]:
    """Means over the five splits of a set."""
    formulation, encoding = METHODS[method]
    result = tune(
        data,
        formulation,
        {"leaf_penalty": PENALTIES},
        "repeated",
        depth=depth,
        encoding=encoding,
        time_limit=limit,
    )
    finals = [fit for fit in result.fits if fit.inner < 0]
    tested = [fit.accuracy for fit in finals if fit.accuracy is not None]
    return {
        "set": data.name,
        "method": method,
        "rows": data.n_samples,
        "columns": data.frame.shape[1],
        "accuracy": round(statistics.fmean(tested), 4),
        "train": round(statistics.fmean(fit.train_accuracy for fit in finals), 4),
        "leaves": round(statistics.fmean(fit.leaves for fit in finals), 1),
        "proven": sum(fit.status == "optimal" for fit in finals),
        "seconds": round(statistics.median(fit.seconds for fit in finals), 3),
    }


def main(arguments: list[str] | None = None) -> int:
    """Measure what the output does not have yet."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.held_out", description=__doc__)
    parser.add_argument("--data")
    parser.add_argument("--output", type=Path, default=Path("held-out.csv"))
    parser.add_argument("--depth", type=int, default=3)
    parser.add_argument("--limit", type=float, default=5.0, help="seconds of one training")
    parser.add_argument("--sets", nargs="*", metavar="SET")
    asked = parser.parse_args(arguments)
    known = loaders(data_folder(asked.data))
    done = set()
    if asked.output.exists():
        with asked.output.open(encoding="utf-8", newline="") as stream:
            done = {(row["set"], row["method"]) for row in csv.DictReader(stream)}
    with asked.output.open("a", encoding="utf-8", newline="") as stream:
        writer = csv.DictWriter(stream, FIELDS)
        if not done:
            writer.writeheader()
        for name in asked.sets or known:
            for method in METHODS:
                if (name, method) not in done:
                    writer.writerow(measure(known[name](), method, asked.depth, asked.limit))
                    stream.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main())
