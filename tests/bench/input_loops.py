"""Loops over bad input and over scikit-learn's own checks."""

from __future__ import annotations

import json
import os
import random
import time
import warnings
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from sklearn.utils.estimator_checks import check_estimator

import octcore
from octcore.data.reading import make_dataset, read_table
from octcore.errors import DataError
from tests.bench.figures import Figure, spread
from tests.estimator_cases import CASES
from tests.property.test_reading_mutations import SEEDS, check, mutate


def _corpus() -> Path | None:
    reference = os.environ.get("OCT_REFERENCE")
    return Path(reference) / "bad_inputs" if reference else None


def files(times: int) -> list[Figure]:
    """Read every file of the reference corpus: class, codes, seconds."""
    folder = _corpus()
    if folder is None:
        return [Figure("bad files", "all as stated", "OCT_REFERENCE is not set", False)]
    entries = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))["files"]
    good, small, big = 0, [0.0], [0.0]
    for entry in entries:
        blob = (folder / "files" / entry["file"]).read_bytes()
        began = time.process_time()
        try:
            table = read_table(blob, file_name=entry["upload_name"])
            data = make_dataset(table, target=entry["target"])
            codes = {f.code for f in data.findings if f.severity == "warning"}
            outcome = "load-with-warning" if codes else "load"
        except DataError as failure:
            outcome, codes = "clear-error", {failure.code}
        (big if entry["big"] else small).append(time.process_time() - began)
        good += outcome == entry["expect"] and set(entry["codes"]) <= codes
    measured = f"{good} of {len(entries)}; at most {max(small):.2f} s, big ones {max(big):.2f} s"
    holds = good == len(entries) and max(small) <= 2.0 and max(big) <= 5.0
    return [Figure("bad files", "all as stated, <= 2 s each, <= 5 s big ones", measured, holds)]


def mutations(times: int) -> list[Figure]:
    """Read files with random changes: a data set or a clear error, nothing else."""
    folder = _corpus()
    blobs = list(SEEDS)
    if folder is not None:
        paths = sorted((folder / "files").iterdir())
        blobs += [path.read_bytes() for path in paths if path.stat().st_size < 30_000]
    chance, loaded, unhandled = random.Random(2026), 0, Counter()
    for _ in range(times):
        try:
            loaded += check(mutate(chance.choice(blobs), chance), chance)
        except Exception as error:
            unhandled[type(error).__name__] += 1
    measured = (
        f"{times} mutations of {len(blobs)} files: {loaded} loaded, {unhandled.total()} unhandled"
    )
    return [Figure("mutated files", "0 unhandled exceptions", measured, not unhandled)]


def checks(times: int) -> list[Figure]:
    """Run scikit-learn's checks of every class; how many passed, failed and do not apply."""
    figures = [_checks("OptimalTreeClassifier", octcore.OptimalTreeClassifier(), {})]
    for case in CASES:
        model = case.model()
        figures.append(_checks(type(model).__name__, model, case.expected))
    for encoder in (octcore.QuantileBuckets(), octcore.QuantileThresholds()):
        figures.append(_checks(type(encoder).__name__, encoder, {}))
    return figures


def _checks(name: str, model, expected: Mapping[str, str]) -> Figure:
    began = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = check_estimator(
            model, expected_failed_checks=expected, on_fail=None, on_skip=None
        )
    counts = Counter(result["status"] for result in results)
    named = [
        f"{result['check_name']} {result['status']}: {str(result['exception'])[:90]}"
        for result in results
        if result["status"] != "passed"
    ]
    measured = f"{counts['passed']} passed, {counts['failed']} failed, {counts['skipped']} skipped"
    measured += f", {counts['xfail']} expected to fail" if counts["xfail"] else ""
    measured += f" in {time.process_time() - began:.0f} s CPU"
    if named:
        measured += "; " + "; ".join(named).replace("|", "/").replace("\n", " ")
    return Figure(f"checks of {name}", "0 failed", measured, not counts["failed"])


__all__ = ["checks", "files", "mutations", "spread"]
